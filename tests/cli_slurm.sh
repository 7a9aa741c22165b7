#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The batch script of examples/slurm, with stand-ins for Slurm's commands: it begins, stops in time,
# asks to be queued again, resumes, and ends when the search is done.
# usage: cli_slurm.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
. "$(dirname "$0")/mpi.bash"
script=$2/examples/slurm/learn.sbatch
cd "$work" || exit 1

mkdir bin
cat >bin/srun <<'END'
#!/bin/sh
while case $1 in --*) true ;; *) false ;; esac do shift; done
echo "$*" >>steps
exec mpirun -n 2 "$@"
END
cat >bin/scontrol <<'END'
#!/bin/sh
echo "$*" >>queue
END
cat >bin/squeue <<'END'
#!/bin/sh
cat end
END
chmod +x bin/*
export PATH=$work/bin:$PATH PROGRAM=$program RUN=search SLURM_JOB_ID=42 RESERVE=0

batch() { # SECONDS: as long as the job has
  last="learn.sbatch, $1 s"
  SLURM_JOB_END_TIME=$(($(date +%s) + $1)) bash "$script" >"$out" 2>"$err" </dev/null
  code=$?
}

export SEARCH="--env GridWorld-small --population 8 --generations 4 --set steps=4096 --set validation_tasks=2"
read -ra search <<<"$SEARCH"
run learn "${search[@]}" --out whole --quiet
expect_code 0

# no time for more than a beginning: a generation is tried, then it stops
export SEARCH="--env CartPole-v1 --population 4 --generations 3 --set steps=300000 --set validation_tasks=2"
batch 2
expect_code 0
expect_out 'in the queue again'
expect "it asks to be queued again" grep -qx 'requeue 42' queue
expect "it began" grep -q 'learn --env' steps

# the next time it resumes; what is wrong is said and not tried again
batch 2
expect "it resumed" grep -q 'learn --resume search' steps
rm -rf search
SEARCH="--env NoSuchWorld" batch 2
expect_code 2
expect "a mistake is not queued again" test "$(grep -c requeue queue)" -eq 2

# with time enough it comes to its end
SEARCH="--env GridWorld-small --population 8 --generations 4 --set steps=4096 --set validation_tasks=2" batch 3600
expect_code 0
expect_out 'done: search'
expect "the same as without Slurm" cmp -s whole/best.json search/best.json
expect "and its numbers" grep -q '"state":"done"' search.json
expect "nothing is queued any more" test "$(grep -c requeue queue)" -eq 2

# it gives up some time
rm -rf search
SLURM_RESTART_COUNT=100 batch 1
expect_code 1
expect_err 'given up'

# where Slurm does not say in the environment when the job ends, it is asked; a job may have no end
last="learn.sbatch without SLURM_JOB_END_TIME"
export SEARCH="--env GridWorld-small --population 4 --generations 1 --set steps=2048 --set validation_tasks=2"
for end in "$(date -d '+1000 seconds' +%FT%T)" N/A; do
  rm -rf search
  echo "$end" >end
  bash "$script" >"$out" 2>"$err" </dev/null
  code=$?
  expect_code 0
  limit=$(tail -n 1 steps | sed -n 's/.*--max-seconds \([0-9]*\).*/\1/p')
  case $end in
    N/A) expect "no limit" test -z "$limit" ;;
    *) expect "the job's time: ${limit:-none}" test "${limit:-0}" -gt 900 -a "${limit:-0}" -le 1000 ;;
  esac
done

finish
