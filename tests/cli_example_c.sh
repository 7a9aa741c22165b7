#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The examples as the build made them: 01_project.c says what `mirrormap map project` says,
# 02_evolve.c finds the minimum, 03_environments.c plays as random policies do, 04_own_loop.c improves.
# usage: cli_example_c.sh PROGRAM SOURCE_DIR
set -euo pipefail

program=$1
examples=$(dirname "$program")/examples
example=$examples/01_project

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$program" map new random:3 --quiet --out "$folder/map.json"

fail() {
  echo "$*" >&2
  exit 1
}

# the numbers of either, one a line, in the form that the example prints
from_example() {
  "$example" "$@" | sed -n -e 's/.*probability //p' -e 's/^lambda //p'
}
from_program() {
  local map=$1
  shift
  "$program" map project --map "$map" --scores="$(IFS=,; echo "$*")" --json |
    sed -e 's/.*"probs":\[\([^]]*\)\],"lambda":\([^,}]*\).*/\1,\2/' | tr ',' '\n' |
    while read -r number; do printf '%.6f\n' "$number"; done
}
for map in negentropy l2 "$folder/map.json"; do
  expected=$(from_program "$map" 0.3 -0.5 1.2 0 0.9)
  found=$(from_example "$map" 0.3 -0.5 1.2 0 0.9)
  [ "$(wc -l <<<"$found")" -eq 6 ] || fail "$map: expected 5 probabilities and lambda: $found"
  [ "$expected" = "$found" ] || fail "$map: expected $expected, found $found"
done

# mistakes end in a sentence and a code, not in a crash
code=0
"$example" "$folder/absent.json" 1 2 2>"$folder/message" || code=$?
if [ "$code" -ne 1 ] || ! grep -q 'absent.json' "$folder/message"; then fail "a missing map: code $code"; fi
code=0
"$example" l2 1 two 2>"$folder/message" || code=$?
if [ "$code" -ne 2 ] || ! grep -q 'two' "$folder/message"; then fail "not a number: code $code"; fi
code=0
"$example" l2 1 nan 2>"$folder/message" || code=$?
[ "$code" -eq 1 ] || fail "a score that is no number: code $code"

# the search ends at 1, 2, 3, ... before its generations run out, and twice alike
"$examples/02_evolve" >"$folder/search"
grep -q '^generation  50 ' "$folder/search" || fail "no progress: $(cat "$folder/search")"
grep -qE '^found in [0-9]+ generations: 1.0000 2.0000 3.0000 4.0000 5.0000 6.0000 7.0000 8.0000 9.0000 10.0000$' \
  "$folder/search" || fail "not the minimum: $(cat "$folder/search")"
"$examples/02_evolve" | cmp - "$folder/search" || fail "two searches differ"

# random play on CartPole: 22.4 steps an episode, here over some 360,000 of them
"$examples/03_environments" >"$folder/environments"
grep -q '^4096 environments, 4 inputs, 2 actions, 65536 bytes of observations$' "$folder/environments" ||
  fail "not what was asked for: $(cat "$folder/environments")"
awk '/mean return/ { for (i = 1; i < NF; i++) if ($i == "return") mean = $(i + 1) }
  END { exit !(mean > 22.0 && mean < 22.7) }' "$folder/environments" ||
  fail "not random play: $(cat "$folder/environments")"

# an own training loop: with exact values every step of mirror descent improves, for every map
for map in negentropy l2 tsallis:0.5 "$folder/map.json"; do
  "$examples/04_own_loop" "$map" >"$folder/loop"
  awk '{ value = $4 } NR == 1 { worst = value } value < last { exit 1 } { last = value }
    END { exit !(NR == 9 && worst == 0.6259 && last > 5 * worst && last <= 11.9919) }' "$folder/loop" ||
    fail "$map does not improve: $(cat "$folder/loop")"
done
code=0
"$examples/04_own_loop" absent.json 2>"$folder/message" || code=$?
if [ "$code" -ne 2 ] || ! grep -q 'absent.json' "$folder/message"; then fail "a missing map: code $code"; fi
