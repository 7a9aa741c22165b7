# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced, after cli.bash, by the tests that start the program with mpirun.

# shellcheck disable=SC2034,SC2154 # cli.bash sets program, out, err and reads last, code
"$program" --version | grep -q ', mpi' || { echo "skipped: built without MPI"; exit 77; }
command -v mpirun >/dev/null || { echo "skipped: no mpirun here"; exit 77; }

# containers run as root; more ranks than cores; nothing outside this machine is looked for
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_mpi_yield_when_idle=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

# With the leak checker: what Open MPI itself leaves behind is passed over, by its libraries' names alone,
# which therefore must stay loaded and be found in whole stacks.
keep=$(dirname "$program")/keep_loaded.so
if [ -e "$keep" ]; then
  here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
  export LSAN_OPTIONS=suppressions=$here/openmpi.supp:print_suppressions=0
  export ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0:fast_unwind_on_malloc=0
  mkdir "$work/launcher"
  printf '#!/bin/sh\nexec %s -x LD_PRELOAD=%s -x LSAN_OPTIONS -x ASAN_OPTIONS "$@"\n' \
    "$(command -v mpirun)" "$keep" >"$work/launcher/mpirun"
  chmod +x "$work/launcher/mpirun"
  PATH=$work/launcher:$PATH
fi

# ranks N ARGS...: the program as so many ranks; as `run`
ranks() {
  local n=$1
  shift
  last="mpirun -n $n mirrormap $*"
  timeout 120 mpirun -n "$n" "$program" "$@" >"$out" 2>"$err" </dev/null
  code=$?
}

# start_ranks N ARGS...: the same in the background; sets $launcher
start_ranks() {
  local n=$1
  shift
  last="mpirun -n $n mirrormap $* &"
  timeout 120 mpirun -n "$n" "$program" "$@" >"$out" 2>"$err" </dev/null &
  launcher=$!
}

# all processes below PID
below() {
  local child
  # shellcheck disable=SC2013 # words are what is there
  for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
    echo "$child"
    below "$child"
  done
}

# rank_process K: of the ranks that $launcher started, the process that is rank K
rank_process() {
  local process
  for process in $(below "$launcher"); do
    [ "/proc/$process/exe" -ef "$program" ] || continue
    tr '\0' '\n' <"/proc/$process/environ" 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$1" && echo "$process"
  done
}

# wait_until COMMAND...: until it succeeds, half a minute at most, or $patience tenths of a second
wait_until() {
  local i
  for ((i = 0; i < ${patience:-300}; i++)); do
    "$@" && return 0
    sleep 0.1
  done
  return 1
}

# same RUN RUN: both runs have the same maps and the same rows, timings aside
same() {
  local run
  for run; do
    run export "$run" --jsonl
    [ "$code" -eq 0 ] || return 1
    grep -vE '^\{"table":"(session|timing)"' "$out" >"$work/rows-$run"
  done
  cmp -s "$1/mean.json" "$2/mean.json" && cmp -s "$1/best.json" "$2/best.json" && cmp -s "rows-$1" "rows-$2"
}

# in_generation RUN: its controls are stored, so the population is being trained
in_generation() {
  "$program" export "$1" --jsonl 2>/dev/null | grep -q '"table":"score"'
}
