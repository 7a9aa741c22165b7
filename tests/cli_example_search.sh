#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# examples/08_search_and_compare.c against `mirrormap learn` and `mirrormap transfer`: the same map, and the
# same return in every run of the table, also when the program is stopped and started again.
# usage: cli_example_search.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
export MIRRORMAP_DATA=$2
here=$(cd "$(dirname "$0")" && pwd)
example=$(dirname "$program")/examples/08_search_and_compare
cd "$work" || exit 1
generations=2 steps=1024 seeds=3

run learn --env CartPole-v1 --population 16 --generations "$generations" --set steps="$steps" \
  --set seeds_per_member=2 --set validation_tasks=16 --set validation_every=5 --out search --quiet
expect_code 0
run transfer --maps search/best.json --envs CartPole-v1,Acrobot-v1 --seeds "$seeds" --seed 1000000 \
  --set steps="$steps" --controls full --out table --quiet
expect_code 0

# killed in the middle of the search, it goes on where it stood
"$example" my-search my-table "$generations" "$steps" "$seeds" >"$out" 2>"$err" &
example_pid=$!
for ((i = 0; i < 1200; i++)); do
  grep -q 'generations' "$out" && break
  kill -0 "$example_pid" 2>/dev/null || break
  sleep 0.05
done
kill -KILL "$example_pid" 2>/dev/null
wait "$example_pid" 2>/dev/null
last=$example
"$example" my-search my-table "$generations" "$steps" "$seeds" >"$out" 2>"$err"
code=$?
expect_code 0
expect "nothing on stderr" test ! -s "$err"
expect_out 'my-search: 2 of 2 generations'
expect_out 'tsallis:tuned-q-eta      Acrobot-v1'

# the files of both; a row is labelled by its map's name
expect "there are 10 maps x 2 environments x 3 seeds" test "$(grep -vc '^#' table/runs.csv)" -eq 61
same_map() { cmp -s "$1/best.json" "$2/best.json" && cmp -s "$1/mean.json" "$2/mean.json"; }
plain() { grep -v '^#' "$1" | sed 's|my-search/best.json|best|'; }
expect "the search found the same map" same_map search my-search
expect "every run has the same return" test "$(plain table/runs.csv)" = "$(plain my-table/runs.csv)"
expect "the tables are the same" test "$(plain table/table.csv)" = "$(plain my-table/table.csv)"

# dealt out among processes: the same map (mpi.bash knows how to start them, if there is MPI)
if "$program" --version | grep -q ', mpi' && command -v mpirun >/dev/null; then
  . "$here/mpi.bash"
  mkdir bin
  cp "$example" bin/search
  ln -s "$(dirname "$program")/mirrormap_mpi.so" bin/
  last='mpirun -n 2 search'
  timeout 240 mpirun -n 2 bin/search two-search two-table "$generations" "$steps" "$seeds" >"$out" 2>"$err" </dev/null
  code=$?
  expect_code 0
  expect "two processes find the same map" same_map search two-search
  plain two-table/runs.csv | sed 's|two-search/best.json|best|' >two.csv
  expect "and come to the same returns" test "$(plain table/runs.csv)" = "$(cat two.csv)"
  mpirun -n 2 bin/search >"$out" 2>"$err" </dev/null
  expect "the code of the first is that of all" test $? -eq 2
fi

# mistakes end in a sentence
"$example" my-search >"$out" 2>"$err"
expect "a missing folder is a mistake of usage" test $? -eq 2
"$example" my-search my-table 2 1024 0 >"$out" 2>"$err"
expect "what is there is taken as it is" test $? -eq 0
"$example" my-search other-table 2 1024 0 >"$out" 2>"$err"
expect "no seeds are refused" test $? -eq 1
expect_err 'expected 1 to 1000000 seeds'
finish
