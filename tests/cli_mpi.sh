#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Under mpirun: the same bits for any number of ranks, with every command that trains; ranks that are
# killed, stopped, misspelt; no MPI where there is one process.
# usage: cli_mpi.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
. "$(dirname "$0")/mpi.bash"
if "$program" --version | grep -q sanitizers; then
  echo "skipped: minutes with sanitizers; the suite ranks and cli_mpi_hosts execute the same code there"
  exit 77
fi
export MIRRORMAP_DATA=$2 # a program that is not in build/ has no presets and models beside it
cd "$work" || exit 1

tiny=(--env GridWorld-small --population 8 --kind piecewise --set n=16 --set envs=8 --set unroll=8 --set steps=256
  --set validation_tasks=2 --generations 2 --quiet)

# ---------------------------------------------------------------------------------------------
# The same bits

for es in openes sep-cma-es; do
  run learn "${tiny[@]}" --es "$es" --out "$es"
  expect_code 0
  for n in 1 2 3 4; do
    ranks "$n" learn "${tiny[@]}" --es "$es" --threads $((1 + n % 2)) --out "$es-$n" --json
    expect_code 0
    expect_json
    [ "$n" -eq 1 ] || expect_out "\"ranks\":$n"
    expect "$es on $n ranks gives the same bits" same "$es" "$es-$n"
  done
done

# networks, states and curves travel too
train=(train --env CartPole-v1 --map negentropy --seeds 3 --set steps=8192 --quiet)
run "${train[@]}" --out one
cp "$out" one.txt
ranks 3 "${train[@]}" --out three
expect_code 0
expect "policies are the same to the byte" cmp -s one/policy.safetensors three/policy.safetensors

body=(train --env Hopper --map neural --seeds 3 --set envs=8 --set unroll=8 --set minibatches=2 --set hidden=16 --set steps=2048 --quiet)
run "${body[@]}" --out body
ranks 2 "${body[@]}" --out body-2
expect_code 0
expect "those of a body too" cmp -s body/policy.safetensors body-2/policy.safetensors
for folder in body body-2; do
  run export $folder --csv --table measure
  cp "$out" "$folder.csv"
done
expect "and its measures" cmp -s body.csv body-2.csv
expect "which are there" grep -q ',divergence,' body.csv

table=(transfer --maps "l2,tsallis:0.5" --envs "GridWorld-small,GridWorld-dense" --seeds 3 --set steps=512 --set envs=8 --set unroll=8 --quiet)
run "${table[@]}" --out table
ranks 2 "${table[@]}" --out table-2
expect_code 0
same_table() { # FILE FILE: but for the remarks, which say how long it took
  diff <(grep -v '^#' "$1") <(grep -v '^#' "$2") >/dev/null && [ "$(grep -vc '^#' "$1")" -gt 1 ]
}
expect "a table is the same" same_table table/table.csv table-2/table.csv

printf 'method: grid\nparameters:\n  eta: {log: [0.01, 1], points: 3}\n' >space.yaml
tune=(tune --env GridWorld-small --map negentropy --space space.yaml --seeds 4 --validate 4 --set steps=512 --set envs=8 --set unroll=8 --quiet)
run "${tune[@]}" --out tuned
expect_code 0
ranks 2 "${tune[@]}" --out tuned-2
expect_code 0
expect "a tuning is the same" same_table tuned/trials.csv tuned-2/trials.csv

run reproduce mujoco --scale smoke --out figure --quiet
expect_code 0
ranks 2 reproduce mujoco --scale smoke --out figure-2 --quiet
expect_code 0
for file in table.csv raw.csv; do
  expect "a reproduction is the same: $file" same_table figure/$file figure-2/$file
done
expect "its map too" cmp -s figure/learn-Hopper/best.json figure-2/learn-Hopper/best.json

# ---------------------------------------------------------------------------------------------
# One terminal

ranks 3 learn --env NoSuchWorld
expect_code 2
expect "one line of ours" test "$(grep -c '^mirrormap: ' "$err")" -eq 1
expect_no_out
ranks 3 learn --env GridWorld-small --popluation 3
expect_code 2
expect "one line of ours" test "$(grep -c '^mirrormap: ' "$err")" -eq 1
ranks 3 map show l2
expect_code 0
expect "commands that train nothing run once" test "$(grep -c 'essentially smooth' "$out")" -eq 1
ranks 2 train --help
expect "help is printed once" test "$(grep -c 'job-timeout' "$out")" -eq 1

# MPI is not loaded where there is one process
loads_mpi() { # COMMAND...
  LD_DEBUG=files "$@" >"$out" 2>"$err" </dev/null
  grep -q 'libmpi' "$err"
}
tiny_train=(train --env GridWorld-small --map l2 --set steps=64 --set envs=8 --set unroll=8)
last="which libraries are loaded"
expect_not "alone" loads_mpi "$program" "${tiny_train[@]}"
expect_not "as the only rank" loads_mpi mpirun -n 1 env -u LD_DEBUG LD_DEBUG_OUTPUT=alone LD_DEBUG=files "$program" "${tiny_train[@]}"
expect_not "as the only rank, in what the rank loads" grep -q libmpi alone.*
mpirun -n 2 env LD_DEBUG_OUTPUT=two LD_DEBUG=files "$program" "${tiny_train[@]}" >"$out" 2>"$err"
expect "but as one of two" grep -q libmpi two.*

# what a rank lacks is said with its name: one that finds no models
if "$program" --version | grep -q 'mujoco [0-9]'; then
  mkdir -p bare/bin
  cp "$program" "$(dirname "$program")/mirrormap_mpi.so" bare/bin/
  models=("${body[@]}" --physics mujoco --out models)
  last="a rank without models"
  mpirun -n 1 "$program" "${models[@]}" : -n 1 env -u MIRRORMAP_DATA bare/bin/mirrormap \
    "${models[@]}" >"$out" 2>"$err" </dev/null
  code=$?
  if [ "$code" -eq 0 ]; then
    echo "cli_mpi: models are installed where every program finds them: nothing to miss"
  else
    expect_code 2
    expect_err 'rank 1 ('
    expect_err 'models/hopper_brax.xml: not found'
    run train --resume models --quiet
    expect_code 0
  fi
fi

# mpirun gives its ranks a terminal; what they write goes on to a file
for n in 1 2; do
  ranks "$n" "${tiny_train[@]}"
  expect_code 0
  expect_out 'final return'
  expect_not "no colours from $n ranks" grep -q $'\033' "$out"
done

# a build without MPI says so, once, and works alone
without=$(dirname "$program")/mirrormap_without_mpi
if [ -x "$without" ]; then
  "$without" "${tiny_train[@]}" >"$out" 2>"$err"
  code=$?
  expect_code 0
  timeout 60 mpirun -n 2 "$without" "${tiny_train[@]}" >"$out" 2>"$err"
  code=$?
  expect_code 1
  expect "one line of ours" test "$(grep -c '^mirrormap: ' "$err")" -eq 1
  expect_err 'this build has no MPI'
fi

# ---------------------------------------------------------------------------------------------
# Ranks that die

slow=(learn --env CartPole-v1 --population 6 --set validation_tasks=2 --generations 1 --threads 1 --quiet)
steps=40960 # of a training, half a second
run "${slow[@]}" --set steps=$steps --out whole
expect_code 0

victim=
for victim in 1 0; do
  start_ranks 3 "${slow[@]}" --set steps=$steps --out "killed-$victim"
  expect "the generation begins" wait_until in_generation "killed-$victim"
  process=$(rank_process "$victim")
  expect "rank $victim is there" test -n "$process"
  kill -9 "$process"
  wait "$launcher"
  code=$?
  expect "a killed rank is a failure" test "$code" -ne 0
  expect_err "rank $victim"
  expect_err 'signal 9'
  expect "the others leave" wait_until test -z "$(rank_process 2)"
  if [ "$victim" -eq 1 ]; then
    ranks 2 learn --resume killed-1 --quiet
  else
    run learn --resume killed-0 --quiet
  fi
  expect_code 0
  expect "a run whose rank $victim was killed goes on to the same bits" same whole "killed-$victim"
done

# an interrupt ends all of them, in order
start_ranks 2 "${slow[@]}" --set steps=10000000 --out stopped
has_first() { [ -n "$(rank_process 0)" ] && [ -e stopped/run.db ]; }
expect "it begins" wait_until has_first
kill -INT "$(rank_process 0)"
wait "$launcher"
code=$?
expect_code 130
expect_err "resume with 'learn --resume stopped'"

# ---------------------------------------------------------------------------------------------
# Jobs that take too long

ranks 2 "${slow[@]}" --set steps=10000000 --job-timeout 0.5 --out late
expect_code 1
expect_err 'not done after 0.5 s'
expect_err "learn --resume late"
run "${slow[@]}" --set steps=10000000 --job-timeout 0.5 --out late-alone
expect_refusal 1 'not done after 0.5 s' 'learn --resume late-alone'

finish
