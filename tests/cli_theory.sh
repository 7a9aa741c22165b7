#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `theory`: golden values of task files, the form of its output, refusals, pictures.
# usage: cli_theory.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
golden=$2/tests/golden/gridworld

# ---------------------------------------------------------------------------------------------
# Golden values: V* and the uniform policy's value, absorbing and restarting

# close EXPECTED GOT: within 1e-8
close() {
  awk -v e="$1" -v g="$2" 'BEGIN { d = e - g; exit !(g != "" && d <= 1e-8 && d >= -1e-8) }'
}

# values FILE MODE V_STAR V_UNIFORM
values() {
  run theory --env "$1" --map l2 --set steps=2048 --set termination="$2" --json
  expect_code 0
  expect_no_err
  expect "$2: V* = $3, got $(field v_star)" close "$3" "$(field v_star)"
  expect "$2: uniform value $4, got $(field value)" close "$4" "$(field value)"
}

n_task=0
while read -r task absorb_best absorb_uniform restart_best restart_uniform; do
  case $task in '#'*) continue ;; esac
  values "$golden/$task.yaml" absorb "$absorb_best" "$absorb_uniform"
  values "$golden/$task.yaml" restart "$restart_best" "$restart_uniform"
  n_task=$((n_task + 1))
done <"$golden/values.txt"
expect "seven tasks" test "$n_task" -eq 7

# the same for a task written here
cat >"$work/mine.yaml" <<'END'
grid: 4
start: [0, 0]
objects:
  - {cell: [3, 3], reward: 1, terminate: 0.5, respawn: 0.1}
END
values "$work/mine.yaml" absorb 1.7277759053 0.8259019702
values "$work/mine.yaml" restart 11.9361992538 1.3970432545

# ---------------------------------------------------------------------------------------------
# JSON

small="--set steps=8192 --set envs=16 --set unroll=32" # 16 iterations
# shellcheck disable=SC2086
run theory --env GridWorld-small --map l2 --seed 7 $small --json
expect_code 0
expect_no_err
expect_json
for name in env map seed v_star final_value average_gap convergence_bound rate_term floor_term violations \
  optimal_divergence reward_range bound_with_range effective_eta bound_with_effective_eta settings iterations; do
  expect "field $name" grep -q "\"$name\":" "$out"
done
expect_not "no list of maps for one" grep -q '"maps":' "$out"
expect_out '"env":"GridWorld-small"'
expect_out '"seed":7'
expect_out '"map":"l2"'
expect "all iterations" test "$(grep -o '"t":' "$out" | wc -l)" -eq 16
entry='{"t":0,"step":0,"value":[^,]*,"value_change":[^,]*,"estimation_error":[^,]*,"estimation_error_sampled":[^,]*,"update_distance":[^,]*,"monotone_bound":[^,]*,'
expect "the fields of an iteration" grep -q "\"iterations\":\\[$entry" "$out"
expect "bound = rate + floor" close 0 "$(echo "$(field convergence_bound) $(field rate_term) $(field floor_term)" | awk '{ printf "%.12f", $1 / ($2 + $3) - 1 }')"
cp "$out" "$work/one"

# the changes add up to the final value, and the average gap is what it says
# shellcheck disable=SC2016
expect "numbers fit together" awk '
  { text = text $0 }
  function number(name, from) {
    at = index(substr(text, from), "\"" name "\":")
    if (at == 0) return "none"
    place = from + at + length(name) + 2
    return substr(text, place) + 0
  }
  END {
    first = index(text, "\"iterations\":"); from = first
    while (number("value", from) != "none") {
      v = number("value", from); c = number("value_change", from)
      e = number("estimation_error", from); u = number("update_distance", from); b = number("monotone_bound", from)
      if (n++ == 0) start = v
      sum += v; change += c
      if ((b + e * u / 0.01) ^ 2 > 1e-16) bad = 1
      if (b > 0 || u > 2 || e < number("estimation_error_sampled", from)) bad = 1
      from = place + 1
      at = index(substr(text, from), "{\"t\":")
      if (at == 0) break
      from += at
    }
    gap = number("v_star", 1) - sum / n - number("average_gap", 1)
    end = start + change - number("final_value", 1)
    exit !(n == 16 && !bad && gap * gap < 1e-18 && end * end < 1e-18)
  }' "$out"

# the same again, and on other instruction sets
# shellcheck disable=SC2086
run theory --env GridWorld-small --map l2 --seed 7 $small --json --isa portable
expect "same bits from the portable kernels" cmp -s "$work/one" "$out"

# several maps: the first one's fields, and all of them in `maps`
# shellcheck disable=SC2086
run theory --env GridWorld-small --map l2 --map negentropy --map random:1 --seed 7 $small --json
expect_code 0
expect_json
expect "all iterations of all" test "$(grep -o '"t":' "$out" | wc -l)" -eq 64
expect_out '"maps":[{"map":"l2",'
expect_out '{"map":"negentropy",'
expect_out '{"map":"random:1",'
expect "the first one's fields on top" test "$(field final_value 1)" = "$(field final_value 2)"
expect_not "maps differ" test "$(field final_value 2)" = "$(field final_value 3)"
expect "V* does not" test "$(field v_star 2)" = "$(field v_star 3)"
expect_field optimal_divergence "$(field optimal_divergence 1)" 2

# the values are those of train
# shellcheck disable=SC2086
run theory --env GridWorld-small --map l2 --seed 7 $small --json
theory_final=$(field final_value)
# shellcheck disable=SC2086
run train --env GridWorld-small --map l2 --seed 7 $small --json
expect "train ends there too" close "$theory_final" "$(field final_mean)"

# ---------------------------------------------------------------------------------------------
# For people

run theory --env GridWorld-dense --map negentropy
expect_code 0
expect_no_err
expect "a line for every eighth of 128 iterations" test "$(grep -Ec '^ *[0-9]+ +[0-9]+ ' "$out")" -eq 17
expect_out "GridWorld-dense, seed 0: 128 iterations of 2048 steps"
expect_out "convergence bound"
expect_out "Vacuous"
expect_out "effective eta"
# shellcheck disable=SC2086
run theory --env GridWorld-small --map l2 --map negentropy --every 4 $small
expect_code 0
expect "a line for every fourth, twice" test "$(grep -Ec '^ *[0-9]+ +[0-9]+ ' "$out")" -eq 10
expect "a column for each" grep -Eq '^ +l2 +negentropy$' "$out"
expect_not "plain ASCII" grep -q '[^ -~]' "$out"

# overshooting steps on exact estimates break the bound
run theory --env "$golden/square.yaml" --map negentropy --set gamma=0 --set epochs=2 --set lr=40 --set steps=8192 --seed 5
expect_code 0
expect "a marked line" grep -Eq '^ *0 .* violated$' "$out"
expect "and why" grep -Eq '^violations +negentropy at t = 0' "$out"
run theory --env "$golden/square.yaml" --map negentropy --set gamma=0 --set epochs=2 --set lr=40 --set steps=8192 --seed 5 --json
expect_not "some violations" test "$(field violations)" = 0

# nothing to collect: V* = 0
cat >"$work/walled.yaml" <<'END'
grid: 3
walls: [[0, 1], [1, 1], [2, 1]]
start: [0, 0]
objects:
  - {cell: [0, 2], reward: 1, terminate: 0.5, respawn: 0.1}
END
run theory --env "$work/walled.yaml" --map l2 --set steps=4096
expect_code 0
expect_not "no nan" grep -q nan "$out"
run theory --env "$work/walled.yaml" --map l2 --set steps=4096 --json
expect_field v_star 0
expect_field violations 0

# ---------------------------------------------------------------------------------------------
# Refusals

run theory
expect_refusal 2 --env
run theory --env GridWorld-dense
expect_refusal 2 --map
run theory --env GridWorld-dens --map l2
expect_refusal 2 GridWorld-dense
run theory --env "$work/none.yaml" --map l2
expect_refusal 2 none.yaml
run theory --env GridWorld-dense --map l3
expect_refusal 2 l3
run theory --env GridWorld-dense --map l2 --map "$work/none.json"
expect_refusal 2 none.json
run theory --env GridWorld-dense --map l2 --set stepz=5
expect_refusal 2 stepz steps
run theory --env GridWorld-dense --map l2 --set steps=100
expect_refusal 2 steps
run theory --env GridWorld-dense --map l2 --set gamma=1
expect_refusal 2 gamma
run theory --env GridWorld-dense --map l2 --every 0
expect_refusal 2 --every
run theory --env GridWorld-dense --map l2 --seed -1
expect_refusal 2 --seed
run theory --env GridWorld-dense --map l2 --out "$work/picture.gif"
expect_refusal 2 --out .svg
run theory --env GridWorld-dense --map l2 --out "$work"
expect_refusal 2 folder
run theory --env GridWorld-dense --map l2 extra
expect_refusal 2 extra

# ---------------------------------------------------------------------------------------------
# Interrupted

"$program" theory --env GridWorld-dense --map l2 --set steps=1e9 >"$out" 2>"$err" &
last="theory, interrupted"
interrupt $! INT
expect_refusal 130 interrupted

# ---------------------------------------------------------------------------------------------
# Pictures

# shellcheck disable=SC2086
run theory --env GridWorld-small --map l2 --map negentropy $small --out "$work/picture.svg"
if [ "$code" -eq 1 ] && grep -q gnuplot "$err"; then
  expect_refusal 1 gnuplot
  echo "gnuplot is missing: pictures are not tested"
else
  expect_code 0
  expect_err "wrote $work/picture.svg"
  expect "an SVG file" grep -q '</svg>' "$work/picture.svg"
  for text in 'GridWorld-small, seed 0' l2 negentropy 'environment steps'; do
    expect "the picture says $text" grep -q "$text" "$work/picture.svg"
  done
  # shellcheck disable=SC2086
  run theory --env "$work/mine.yaml" --map "random:1" $small --out "$work/picture.pdf" --json --quiet
  expect_code 0
  expect_no_err
  expect_json
  expect "a PDF file" test "$(head -c 5 "$work/picture.pdf")" = "%PDF-"
  run theory --env "$work/walled.yaml" --map l2 --set steps=2048 --out "$work/picture.png"
  expect_code 0
  expect "a PNG file" test "$(head -c 4 "$work/picture.png" | tail -c 3)" = "PNG"
  expect "no other files" test "$(find "$work" -name '*picture*' | wc -l)" -eq 3
  nine=
  for i in 1 2 3 4 5 6 7 8 9; do nine="$nine --map random:$i"; done
  # shellcheck disable=SC2086
  run theory --env GridWorld-small $nine $small --out "$work/nine.svg"
  expect_refusal 2 "at most 8"
fi

finish
