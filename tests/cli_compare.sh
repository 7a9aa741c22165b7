#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `compare`: tables of transfer studies put together, its numbers against those of `transfer`, its
# files and figures, bad input.
# usage: cli_compare.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
export MIRRORMAP_DATA=$2
cd "$work" || exit 1

short=(--set steps=1024 --set envs=8 --set unroll=16 --seeds 12 --seed 5 --quiet)
has_gnuplot() { command -v gnuplot >/dev/null; }

run transfer --maps tsallis:0.5,random:1 --envs GridWorld-small,GridWorld-sparse --out both --json "${short[@]}"
expect_code 0
cp "$out" both.json

# ---------------------------------------------------------------------------------------------
# The same numbers as the table itself

run compare both --json
expect_code 0
expect_no_err
expect_json
expect_field comparisons "$(awk -v RS=, -F: '/"comparisons"/ { print $2 }' both.json)"
expect_out '"baseline":"negentropy"'
expect_out '"zero_map":"random:1"'
expect_out '"one_map":"l2"'
# map by map: those of both environments
flat() { sed -E "s/.*\"$1\":\[\[([^\"]*)\]\],?\".*/\1/; s/\],\[/ /g; s/,/ /g" both.json; }
cells() { grep -oE "\"$1\":[^,}]*" "$out" | cut -d: -f2 | tr '\n' ' '; }
expect "differences" same_digits "$(flat difference | cut -d' ' -f1-4)" "$(cells difference | cut -d' ' -f1-4)"
expect "their lower bounds" same_digits "$(flat ci_low | cut -d' ' -f1-4)" "$(cells ci_low | cut -d' ' -f1-4)"
expect "means" same_digits "$(flat mean)" "$(cells mean)"
expect "p-values" same_digits "$(flat p_holm | cut -d' ' -f1-4)" "$(cells p_holm | cut -d' ' -f1-4)"
cp "$out" first.json
run compare both/runs.csv --json
expect "a folder stands for its runs.csv" cmp -s "$out" first.json
run compare both both/runs.csv --json
expect "the same runs twice are the same runs" cmp -s "$out" first.json

# two studies of the same maps, each on one environment: the same runs as in the table of both
for env in small sparse; do
  run transfer --maps tsallis:0.5,random:1 --envs "GridWorld-$env" --out "one-$env" "${short[@]}"
done
run compare one-small one-sparse --json
expect_code 0
expect "tables put together" cmp -s "$out" first.json

# ---------------------------------------------------------------------------------------------
# Text

run compare both --power
expect_code 0
expect_no_err
expect "on 80 columns" awk 'length > 80 { exit 1 }' "$out"
expect_out '5 maps on 2 environments, 120 runs'
expect_out 'GridWorld-sparse, minus negentropy:'
expect_out 'needed'
expect_out 'concluded at 5 % (8 comparisons):'
run compare both
expect_not "no power" grep -q needed "$out"
run compare both --baseline l2 --baseline negentropy
expect_out 'GridWorld-small, minus l2:'

# what has score 0
echo '{"GridWorld-small": -100, "GridWorld-sparse": -50.5, "CartPole-v1": 20}' >random.json
run compare both --random random.json --json
expect_out '"zero":-50.5'
expect_out '"zero_map":null'
run compare both --random tsallis:0.5 --json
expect_code 0
grep -v '^random' both/runs.csv >bare.csv
run compare bare.csv
expect_out 'lowest and highest mean of the maps'

# runs without a return count as the worst, maps without an environment have no IQM
{ grep -v '^l2,GridWorld-sparse' both/runs.csv | sed 's/^\(tsallis:0.5,GridWorld-small,[0-9]*\),.*/\1,/'; } >holes.csv
run compare holes.csv
expect_code 0
expect "lost every comparison" grep -qE '^tsallis:0.5 +- +0 %' "$out"
expect "so many failed" grep -qE '^tsallis:0.5 .* 24 +12$' "$out"
expect_out '1 map without a run in one of the environments: no IQM, no win rate'

# in each environment only seeds count that all maps have
grep -vE '^(l2,GridWorld-sparse,(5|6|7)|tsallis:0.5,GridWorld-sparse,5),' both/runs.csv >short.csv
run compare short.csv
expect_out 'GridWorld-sparse: 9 of 12 seeds count, those that all maps have; l2 has the'
expect_out '105 runs'
run compare short.csv --json
expect_out '"seeds":{"GridWorld-small":{"common":12,"left_out":0},"GridWorld-sparse":{"common":9,"left_out":3}}'
grep -E '^(#|map|.*,(5|6|7|8|9|10|11),)' both/runs.csv >first.csv
grep -vE ',(5|6|7|8|9|10|11),' both/runs.csv | grep -v '^[^#m]*,GridWorld-sparse' | sed 's/^l2,/l3,/' | grep -E '^(map|l3,)' >second.csv
refuse "for all maps on 'GridWorld-small', found no seed that all have ('l3' has the fewest)" compare first.csv second.csv

# few failures leave a mean whose interval has no lower end, and the arm of it in the figure
{
  echo map,env,seed,final
  for ((i = 1; i <= 8; i++)); do printf 'random:1,E,%d,0\nl2,E,%d,1\nmine,E,%d,%s\n' $i $i $i "$([ $i -gt 2 ] && echo 1.$i)"; done
} >failures.csv
run compare failures.csv --out arms
expect "a lower end" grep -qE '^mine +1\.[0-9]+ \[-inf, 1\.[0-9]+\]' "$out"
expect "in JSON" grep -q '"iqm_low": "-inf"' arms/compare.json
expect_not "nan" grep -q nan "$out"

# one run says nothing about its spread
printf 'map,env,seed,final\nrandom:1,E,1,0\nl2,E,1,4\nrandom:1,F,1,0\nl2,F,1,5\n' >single.csv
run compare single.csv --out single
expect_code 0
expect "no interval" grep -qE '^l2 +1  ' "$out"
expect "none in JSON" grep -q '"iqm_low": null' single/compare.json

# scores that are all the same, returns of any size
printf 'map,env,seed,final\nnegentropy,E,1,500\nl2,E,1,500\nnegentropy,E,2,500\nl2,E,2,500\n' >saturated.csv
echo '{"E": 20}' >policy.json
run compare saturated.csv --random policy.json --out saturated
expect_code 0
expect "a figure" parse_json saturated/compare.json
printf 'map,env,seed,final\na,E,1,9e99\na,E,2,-9e99\nb,E,1,0\nb,E,2,-1\n' >huge.csv
run compare huge.csv --baseline b
expect_code 0
expect "no wider" awk 'length > 100 { exit 1 }' "$out"

# names from a file cannot act on the terminal
printf 'map,env,seed,final\n\033[31ma,E,1,1\nb,E,1,2\n' >colour.csv
run compare colour.csv
expect_out '\x1b[31ma'

# ---------------------------------------------------------------------------------------------
# Files

run compare both --out drawn --quiet
expect_code 0
expect_no_err
files="compare.json"
has_gnuplot && files="compare.json intervals.png intervals.svg profiles.png profiles.svg wins.png wins.svg"
expect "the files" test "$(find drawn -type f -printf '%f\n' | sort | tr '\n' ' ')" = "$files "
expect "an object" parse_json drawn/compare.json
if has_gnuplot; then
  # a map has one colour in all figures
  colours() { grep -oE "stroke='rgb[^']*'" "$1" | sort -u; }
  expect "five maps, an axis and a grid" test "$(colours drawn/intervals.svg | wc -l)" -ge 7
  expect "colours of the intervals are those of the profiles" \
    test -z "$(comm -23 <(colours drawn/intervals.svg) <(colours drawn/profiles.svg))"
  expect "a letter that browsers have" grep -q 'score above τ<' drawn/profiles.svg
  expect "win rates in cells" grep -qE '>(50|[0-9]{1,3})<' drawn/wins.svg
fi
refuse "drawn has a compare.json already" compare both --out drawn

# what cannot be drawn is said all the same, and can be tried again
mkdir bin
printf '#!/bin/sh\nexit 1\n' >bin/gnuplot
chmod +x bin/gnuplot
for _ in 1 2; do
  PATH=$PWD/bin:$PATH run compare both --out undrawn
  expect_code 1
  expect_out 'over all environments'
  expect "nothing half done" test -z "$(ls undrawn)"
done

# ---------------------------------------------------------------------------------------------
# Tables that do not fit together

for map in tsallis:3 random:4; do
  mkdir "of-$map"
  run map new "$map" --out "of-$map/best.json"
  expect_code 0
done
run transfer --maps of-tsallis:3/best.json --controls none --envs GridWorld-small --out three "${short[@]}"
run transfer --maps of-random:4/best.json --controls none --envs GridWorld-sparse --out four "${short[@]}"
refuse "three and four: map 'best' is not the same: of-tsallis:3/best.json and of-random:4/best.json" compare three four
cp of-tsallis:3/best.json elsewhere.json
mkdir moved
mv elsewhere.json moved/best.json
run transfer --maps moved/best.json --controls none --envs GridWorld-sparse --out moved-run "${short[@]}"
run compare three moved-run
expect_code 0
expect_out '1 map on 2 environments, 24 runs'
# tables of earlier programs say files alone
for table in three moved-run; do grep -v '^# fingerprints' "$table/runs.csv" >"$table.csv"; done
refuse "map 'best' is not the same" compare three.csv moved-run.csv
# a file that was written over
cp of-random:4/best.json moved/best.json
run transfer --maps moved/best.json --controls none --envs GridWorld-small --out over "${short[@]}"
refuse "map 'best' is not the same" compare moved-run over

run transfer --maps tsallis:1.5 --controls none --envs GridWorld-small --seeds 12 --seed 5 --quiet --out longer \
  --set steps=2048 --set envs=8 --set unroll=16
refuse "both and longer: GridWorld-small: setting 'steps' is 1024 and 2048" compare both longer
run transfer --maps tsallis:1.5 --controls none --envs GridWorld-small --set eta=0.2 --out slower "${short[@]}"
run compare both slower
expect_code 0
expect_out '6 maps on 2 environments'
run transfer --maps tsallis:0.5 --controls none --envs GridWorld-small --set eta=0.2 --out slower-still "${short[@]}"
refuse "map 'tsallis:0.5' on GridWorld-small: setting 'eta' is 0.1 and 0.2" compare both slower-still

# ---------------------------------------------------------------------------------------------
# Bad input

sed 's/\(l2,GridWorld-small,5,\).*/\10.25/' both/runs.csv >other.csv
refuse "map 'l2' on GridWorld-small, seed 5, has different returns" compare both other.csv
refuse "expected TABLE" compare
refuse "'absent'" compare absent
mkdir empty
refuse "empty: expected the folder of a transfer study that ended" compare empty
refuse "'l3' is no map of the tables (did you mean 'l2'?)" compare both --baseline l3
refuse "'random:2' is no map of the tables and no file (did you mean 'random:1'?)" compare both --random random:2
echo '{"GridWorld-small": 1}' >part.json
refuse "part.json: field 'GridWorld-sparse'" compare both --random part.json
refuse "found no 'map'" compare both/table.json
refuse "did you mean '--power'" compare both --powr
refuse "did you mean 'compare'" compere both

run compare --help
expect_code 0
expect "one screen" test "$(wc -l <"$out")" -le 48

finish
