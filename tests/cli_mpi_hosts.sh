#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Several hosts on one machine: ranks in network namespaces of their own, with their own addresses and
# host names, complete a search over TCP to the same bits.
# usage: cli_mpi_hosts.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
. "$(dirname "$0")/mpi.bash"
cd "$work" || exit 1

skip() {
  echo "skipped: $1"
  exit 77
}
[ "$(id -u)" -eq 0 ] || skip "network namespaces need root"
command -v ip >/dev/null || skip "no ip (iproute2) here"
command -v unshare >/dev/null || skip "no unshare here"

# two hosts and a wire between them
a=mma$$ b=mmb$$
remove_hosts() {
  ip netns del "$a" 2>/dev/null
  ip netns del "$b" 2>/dev/null
  rm -rf "$work"
}
trap remove_hosts EXIT
make_hosts() {
  ip netns add "$a" && ip netns add "$b" &&
    ip link add "$a" netns "$a" type veth peer name "$b" netns "$b" &&
    ip -n "$a" addr add 10.213.77.1/30 dev "$a" && ip -n "$b" addr add 10.213.77.2/30 dev "$b" &&
    ip -n "$a" link set "$a" up && ip -n "$b" link set "$b" up &&
    ip -n "$a" link set lo up && ip -n "$b" link set lo up &&
    ip netns exec "$a" unshare --uts true
}
make_hosts 2>"$err" || skip "no network namespaces here: $(head -n 1 "$err")"

# in place of ssh: HOST COMMAND, on the second host
cat >agent <<END
#!/bin/sh
shift
exec ip netns exec $b unshare --uts sh -c 'hostname $b; exec sh -c "\$0"' "\$*"
END
chmod +x agent

tiny=(learn --env GridWorld-small --population 8 --set envs=8 --set unroll=8 --set steps=512 --set validation_tasks=3
  --generations 3 --quiet)
run "${tiny[@]}" --out one
expect_code 0

bytes_sent() { ip netns exec "$a" cat "/sys/class/net/$a/statistics/tx_bytes"; }

last="mpirun over two hosts"
# shellcheck disable=SC2016 # the dollars are for the shells on the hosts
timeout 90 ip netns exec "$a" unshare --uts sh -c 'hostname "$0"; exec "$@"' "$a" \
  mpirun --mca plm_rsh_agent "$work/agent" --mca btl tcp,self --mca btl_tcp_if_include 10.213.77.0/30 \
  --mca oob_tcp_if_include 10.213.77.0/30 --host 10.213.77.1:1,10.213.77.2:2 -n 3 \
  sh -c 'hostname >host-$OMPI_COMM_WORLD_RANK; exec "$0" "$@"' "$program" "${tiny[@]}" --out hosts --json \
  >"$out" 2>"$err" </dev/null
code=$?
expect_code 0
expect_out '"ranks":3'
expect "rank 0 is on the first host" grep -qx "$a" host-0
expect "rank 1 and 2 are on the second" test "$(cat host-1 host-2 2>/dev/null | sort -u)" = "$b"
expect "they talk over the wire" test "$(bytes_sent)" -gt 10000
expect "same mean" cmp -s one/mean.json hosts/mean.json
expect "same best" cmp -s one/best.json hosts/best.json

finish
