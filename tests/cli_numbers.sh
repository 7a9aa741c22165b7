#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The numbers of golden/cli_numbers.txt through the command line, and policies on common scores
# through `map compare`.
# usage: cli_numbers.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
table=$2/tests/golden/cli_numbers.txt

# ---------------------------------------------------------------------------------------------
# maps that have no name: files made here

# the initial psi scaled to W = 1, and psi_i = 1/n
"$program" map show piecewise --json >"$out" || exit 1
psi=$(field psi | awk '{
  for (i = 1; i <= NF; i++) sum += $i
  for (i = 1; i <= NF; i++) printf "%s%.17g", (i > 1 ? "," : ""), $i / sum }')
run map new piecewise --psi "$psi" --out "$work/initial-w1.json"
expect_code 0
run map new piecewise --psi "$(awk 'BEGIN { for (i = 1; i <= 100; i++) printf "%s0.01", (i > 1 ? "," : "") }')" \
  --out "$work/equal-steps.json"
expect_code 0

# the first unit of each block of 21
awk 'BEGIN {
  for (j = 0; j < 126; j++) {
    comma = j > 0 ? "," : ""
    w = w comma 1
    c = c comma (j % 21 == 0 ? -0.25 : 0)
    u = u comma (j % 21 == 0 ? 0.05 : 0)
  }
  printf "{\"format\":\"mirrormap/1\",\"kind\":\"neural\",\"w\":[%s],\"c\":[%s],\"u\":[%s],\"a\":0.1,\"b\":0.8}", w, c, u
}' >"$work/units.json"

# ---------------------------------------------------------------------------------------------

n_row=0
while IFS='|' read -r map words name numbers; do
  case $map in '' | '#'*) continue ;; esac
  map=${map%% *}
  case $map in initial-w1 | equal-steps | units) map=$work/$map.json ;; esac
  read -ra words <<<"$words"
  if [ "${words[0]}" = show ]; then
    run map show "$map" --json
  else
    run map "${words[0]}" --map "$map" "${words[@]:1}" --json
  fi
  expect_code 0
  expect_no_err
  expect_json
  expect_field "${name// /}" "$numbers"
  n_row=$((n_row + 1))
done <"$table"
expect "every row of the table was read" test "$n_row" -eq "$(grep -c '^[a-z]' "$table")"

# compare multiplies by eta and c itself
run map compare negentropy l2 --actions 3 --c 0.5,1 --json
expect_json
expect_field probs ".198890 .311921 .489189" 1
expect_field probs ".105161 .258654 .636186" 2
expect_field probs "0 .275000000000 .725000000000" 3
expect_field probs "0 .050000000000 .950000000000" 4
# l2: the worst of three gets 0 from 0.9 c (0 + 1 + 2) = 1 on
expect_field zero_at inf 1
expect_field zero_at "0.370370370370370" 2
expect_field width "1.098612288668110" 1
expect_field width "0.666666666666667" 2
expect_field divergence "1.098612288668110" 1
expect_field divergence "0.333333333333333" 2
run map compare l2 --actions 2 --c 1 --json
expect_field zero_at "1.111111111111111"

# a float comes out as the double it is, near the exact one; ten bisections are an approximation
run map project --map tsallis:1.5 --scores 0.3,-0.5,1.2,0,0.9 --precision float --json
expect_field probs ".137968 .010977 .450832 .073680 .326544"
run map project --map negentropy --scores 0.3,-0.5,1.2,0,0.9 --set projection=bisect10 --json
expect_field probs ".15 .07 .38 .11 .28"
expect_out '"projection":"bisect10"'
expect "its lambda lies above the exact one by at most ln 5 / 1024" \
  awk -v l="$(field lambda)" 'BEGIN { d = l + 2.167464953; exit !(d > 1e-7 && d < 0.00158) }'

# rows of a file: the same numbers as one by one
printf '0.3,-0.5,1.2,0,0.9\n# a comment\n\n1 2 3\t4 5\r\n' >"$work/rows.csv"
run map project --map tsallis:1.5 --scores-file "$work/rows.csv" --json
expect_json
file_lambda=$(field lambda)
file_probs=$(sed 's/.*"probs":\[\[//; s/\]\].*//; s/\],\[/ /; s/,/ /g' "$out")
run map project --map tsallis:1.5 --scores 0.3,-0.5,1.2,0,0.9 --json
one_probs=$(field probs)
one_lambda=$(field lambda)
run map project --map tsallis:1.5 --scores 1,2,3,4,5 --json
expect "rows as one by one" test "$file_probs" = "$one_probs $(field probs)"
expect "rows as one by one" test "$file_lambda" = "$one_lambda $(field lambda)"
run_stdin "$work/rows.csv" map project --map tsallis:1.5 --scores-file - --json
expect "the same from stdin" test "$(field lambda)" = "$file_lambda"
run map project --map tsallis:1.5 --scores-file <(cat "$work/rows.csv") --json
expect "the same from a pipe" test "$(field lambda)" = "$file_lambda"

finish
