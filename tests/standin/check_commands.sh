#!/usr/bin/env bash
# What commands do with devices, on the stand-in of cuda_standin.c: nothing is learned there, but all
# that the host does for a device is done.
# usage: check_commands.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/../cli.bash"
export MIRRORMAP_DATA=$2
cd "$work" || exit 1
unset STANDIN_DEVICES STANDIN_DUMB STANDIN_OLD STANDIN_BROKEN

# threads of the processor that work for devices: as many as --threads says, all devices together, one
# for each at least (networks are taken by whichever device is first, so one alone is looked at)
grid="train --env GridWorld-dense --map negentropy --seeds 8 --set steps=8192 --json --backend cuda"
cart="train --env CartPole-v1 --map l2 --seeds 8 --set steps=2560 --json --backend cuda"
for case in 1:1:"$grid" 1:3:"$grid" 2:4:"$grid" 2:1:"$grid" 1:1:"$cart" 1:3:"$cart"; do
  IFS=: read -r devices threads command <<<"$case"
  # shellcheck disable=SC2086 # words
  STANDIN_DEVICES=$devices run $command --threads "$threads" --out "threads-$n_checked"
  expect_code 0
  expect "on devices" grep -q '"backend":"cuda","devices":\["Stand-in 0"' "$out"
  expect_field threads $((threads < devices ? devices : threads))
done

finish
