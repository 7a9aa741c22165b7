#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/main-job, what `make run` does, with a search of two generations: its files, its verdict, and
# that a second call shows the same and trains nothing.
# usage: cli_main_job.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
cd "$work" || exit 1

# the data of the program with a smaller preset
export MIRRORMAP_DATA=$work/data SEEDS=4 TUNE_BUDGET=20000
mkdir -p data && cp -r "$2/maps" "$2/presets" data/
sed -i -e 's/^steps: .*/steps: 1024/' -e 's/^population: .*/population: 4/' -e 's/^generations: .*/generations: 2/' \
  -e 's/^validation_every: .*/validation_every: 1/' -e 's/^validation_tasks: .*/validation_tasks: 2/' data/presets/cartpole-quick.yaml

job() {
  last="main-job $*"
  "$2/scripts/main-job" "$program" "${@:3}" >"$out" 2>"$err" </dev/null
  code=$?
}

job x "$2" quick 5
expect_code 0
expect_err "learning a map on CartPole-v1"
expect "all rows" test "$(grep -Ec '^(best|negentropy|l2|negentropy:tuned-eta|l2:tuned-eta) ' quick/fresh.txt)" -ge 5
expect_out "On 4 fresh seeds the learned map, minus"
expect "a line for each control" test "$(grep -Ec '^  (negentropy|l2)(:tuned-eta)? +[-+0-9.]+ \[[-+0-9., ]+\] [ *] [0-9]+ %$' "$out")" -eq 4
expect "a verdict" grep -Eq '^(The learned map wins against all four|It is not shown to be better than )' "$out"
for file in best.json search.svg map.svg fresh/table.csv page/report.html; do
  expect "$file" test -s "quick/$file"
done
expect "the seed is the search's" grep -q '"seed": *"5"' quick/best.json
cp "$out" first
before=$(cksum <quick/fresh/run.db)
job x "$2" quick
expect_code 0
expect "the same verdict" cmp -s <(sed -n '/fresh seeds/,$p' first) <(sed -n '/fresh seeds/,$p' "$out")
expect "nothing was trained again" test "$before" = "$(cksum <quick/fresh/run.db)"

finish
