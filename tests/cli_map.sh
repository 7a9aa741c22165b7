#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the map commands do with good input.
# usage: cli_map.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"

# ---------------------------------------------------------------------------------------------
# new and show: files keep every bit

for kind in negentropy l2 tsallis:0.3 piecewise piecewise:1 piecewise:7 neural random:5 random-neural:5 powers powers:5 \
  random-powers:5 random-tsallis:5; do
  file=$work/${kind/:/-}.json
  run map new "$kind" --out "$file"
  expect_code 0
  expect_err "wrote $file"
  run map new "$kind"
  expect "stdout gets the same text" test "$(cat "$out")" = "$(cat "$file")"
  run map show "$kind" --json
  sed 's/"map":"[^"]*"//' "$out" >"$work/by_name"
  run map show "$file" --json
  sed 's/"map":"[^"]*"//' "$out" >"$work/by_file"
  expect "$kind: the file holds the same map to the bit" cmp -s "$work/by_name" "$work/by_file"
  run_stdin "$file" map show - --json
  sed 's/"map":"[^"]*"//' "$out" >"$work/by_stdin"
  expect "$kind: the same from stdin" cmp -s "$work/by_name" "$work/by_stdin"
done

# other ways to the same maps
same_map() {
  local name=$1
  shift
  run map new "$name"
  cp "$out" "$work/one"
  run map new "$@"
  expect_code 0
  expect "'map new $*' is $name" cmp -s "$work/one" "$out"
}
same_map tsallis:0.3 tsallis --q 0.3
same_map piecewise:7 piecewise --n 7
same_map powers:5 powers --n 5
same_map powers:3 powers
same_map random:5 random --seed 5
same_map random-powers:5 random-powers --seed 5
same_map random-tsallis:0 random-tsallis
same_map random:0 random
same_map random-neural:18446744073709551615 random-neural --seed 18446744073709551615
same_map piecewise piecewise:100
same_map piecewise:7 piecewise --from piecewise:7
same_map neural neural --from "$work/neural.json"
run map new random:5
cp "$out" "$work/one"
run map new random:6
expect_not "seeds make a difference" cmp -s "$work/one" "$out"

# a map's step size: shown, kept by a copy and by a conversion, replaced by --eta
run map new piecewise --from l2 --n 4 --eta 0.45 --out "$work/eta.json"
expect_code 0
expect "format 2" grep -q '"mirrormap/2"' "$work/eta.json"
run map show "$work/eta.json"
expect_out '  eta                   0.45'
run map show "$work/eta.json" --json
expect_out '"eta":0.45'
run map new piecewise --from "$work/eta.json" --n 8
expect_out '"eta": 0.45'
run map new piecewise --from "$work/eta.json" --eta 2
expect_out '"eta": 2'
run map show l2 --json
expect_not "no eta where none is known" grep -q '"eta"' "$out"
run map new l2 --eta 0
expect_code 2

# --psi: as typed
run map new piecewise --psi 0.1,1e-8,1e6,0.30000000000000004
expect_out '[0.1, 1e-08, 1000000, 0.30000000000000004]'

# --from: l2 at n equal steps is the same map below W; the negative entropy gives the initial psi
run map new piecewise --from l2 --n 4
expect_out '[0.25, 0.25, 0.25, 0.25]'
run map new piecewise --from l2 --n 64 --out "$work/l2-64.json"
run map new neural --from l2 --out "$work/l2-neural.json"
run map new neural --from negentropy --out "$work/negentropy-neural.json"
run map new piecewise --from negentropy --out "$work/from-negentropy.json"
run map compare l2 "$work/l2-64.json" "$work/l2-neural.json" --json
expect_out '"same_policies":[[0,1],[0,2],[1,2]]'
run map compare negentropy "$work/negentropy-neural.json" l2 --json
expect_out '"same_policies":[[0,1]]'
# what the kind has it becomes, of others the nearest, which is said
same_map tsallis:2 tsallis --from l2
run map new powers --n 1 --from tsallis:3
expect_no_err
expect_out '"a": [2]'
run map new tsallis --from random-powers:3
expect_code 0
expect_err 'the nearest map of kind tsallis to one of kind powers'
run map new tsallis --q 2 --from l2
expect_refusal 2 "'--q' cannot be combined with '--from'"
run map new powers:9
expect_refusal 2 "map 'powers:9': expected powers or powers:N with N from 1 to 8 terms"
run map compare piecewise "$work/from-negentropy.json"
expect_out "same policies: piecewise and from-negentropy"
run map compare negentropy piecewise
expect_not "near is not the same" grep -q "same policies" "$out"

# --meta
run map new l2 --meta author=me --meta score=12.5 --meta good=true --meta id=007 --meta 'text=a "b" = c' --out "$work/meta.json"
run map show "$work/meta.json" --json
expect_out '"meta":{"author":"me","score":12.5,"good":true,"id":"007","text":"a \"b\" = c"}'
run map new piecewise --psi 1,2 --meta author=me --meta n=1 --out "$work/meta2.json"
run map new piecewise --from "$work/meta2.json" --meta n=2
expect_out '"author": "me"'
expect_out '"n": 2'
run map new piecewise --from "$work/meta2.json" --n 4
expect_out '"psi": [0.5, 0.5, 1, 1]'
run map show l2 --json
expect_out '"meta":null'

# --force
run map new negentropy --out "$work/meta.json" --force
expect_code 0
run map show "$work/meta.json" --json
expect_out '"kind":"negentropy"'

# ---------------------------------------------------------------------------------------------
# show for people: braille only where the locale has it

run map show piecewise:5 random-neural:1
expect_code 0
expect_out "piecewise, n = 5"
expect_out "error at most"
expect_not "plain ASCII in the C locale" grep -q "[^ -~]" "$out"
expect "a drawing" grep -q "'" "$out"
if locale -a 2>/dev/null | grep -qi '^C.utf-\?8$'; then
  LC_ALL=C.UTF-8 "$program" map show l2 >"$out"
  expect "braille in a UTF-8 locale" grep -q $'\xe2\xa3\x80' "$out"
fi
# the decimal point stays a point in any locale
for locale in $(locale -a 2>/dev/null | grep -i '^de_.*utf' | head -1); do
  LC_ALL=$locale "$program" map eval --map l2 --x 0.5 --json >"$out"
  expect_out '"phi":[0.5]'
done

# ---------------------------------------------------------------------------------------------
# check

run map check l2 --json
expect_code 0
expect_out '"valid":true,"failures":[]'
run map check negentropy neural random:3 --json
expect_code 0
expect_out '"valid":true,"failures":[],"maps":[{'
# maps of this project are found by their names, and are what their files say
export MIRRORMAP_DATA=$2 # a program that is not in build/ has no maps beside it
for file in "$2"/maps/*.json; do
  name=$(basename "$file" .json)
  run map check "$name" "$file" --json
  expect_code 0
  expect_out '"valid":true,"failures":[]'
  run map eval --map "$name" --x 0.25,1,2 --json
  sed 's/"map":"[^"]*"//' "$out" >"$work/by_name"
  run map eval --map "$file" --x 0.25,1,2 --json
  sed 's/"map":"[^"]*"//' "$out" >"$work/by_file"
  expect "$name: the map of its file" cmp -s "$work/by_name" "$work/by_file"
done
unset MIRRORMAP_DATA
# phi^-1 = 0 everywhere is no potential
awk 'BEGIN {
  for (j = 0; j < 126; j++) s = s (j ? "," : "") 0
  printf "{\"format\":\"mirrormap/1\",\"kind\":\"neural\",\"w\":[%s],\"c\":[%s],\"u\":[%s],\"a\":0,\"b\":0}", s, s, s
}' >"$work/flat.json"
run map check "$work/flat.json" --json
expect_code 1
expect_json
expect_no_err
expect_out '"valid":false,"failures":["'
run map check l2 "$work/flat.json" --json
expect_code 1
expect_out "\"valid\":false,\"failures\":[\"$work/flat.json: "
run map check "$work/flat.json"
expect_code 1
expect_out "not a valid potential"
expect_out "  fails: "
expect_no_err
run map show "$work/flat.json"
expect_code 0
# ---------------------------------------------------------------------------------------------
# eval, project, bregman for people

run map eval --map negentropy --p 0,1
expect_out "-inf"
run map project --map l2 --scores 0.3,-0.5,1.2,0,0.9
expect_out "lambda  -0.55"
run map bregman --map l2 --p 1,0,0 --q 0.5,0.5,0
expect_out "sum"
expect_out "0.25"
run map project --map l2 --scores 7 --json
expect_out '"probs":[1]'
printf '1,2\n3,4\n' >"$work/rows"
run_stdin "$work/rows" map project --map l2 --scores-file -
expect "a table of rows" test "$(wc -l <"$out")" -eq 3

# ---------------------------------------------------------------------------------------------
# compare

run map compare negentropy l2 --actions 4 --c 1
expect_out "never"
expect_out "policies at c = 1"
expect_out "largest total variation"
run map compare negentropy l2 --scores 3,1 --eta 1 --c 0.25 --json
expect_field probs "0.622459331202 0.377540668798" 1
expect_field probs "0.750000000000 0.250000000000" 2
expect_field zero_at "0.500000000000" 2
run map compare l2 --scores 1,1 --json
expect_field zero_at inf

# ---------------------------------------------------------------------------------------------
# plot

run map plot l2 --out "$work/plot.svg"
if [ "$code" -eq 1 ] && grep -q gnuplot "$err"; then
  expect_refusal 1 gnuplot
  echo "gnuplot is missing: pictures are not tested"
else
  expect_code 0
  expect "an SVG file" grep -q '</svg>' "$work/plot.svg"
  run map plot negentropy l2 random:1 --what phi,policy --actions 5 --eta 1 --c-max 2 --out "$work/plot.pdf"
  expect_code 0
  expect "a PDF file" test "$(head -c 5 "$work/plot.pdf")" = "%PDF-"
  run map plot neural --what simplex --out "$work/plot.png" --json
  expect_code 0
  expect_json
  expect "a PNG file" test "$(head -c 4 "$work/plot.png" | tail -c 3)" = "PNG"
  expect "no other files" test "$(find "$work" -name '*plot*' | wc -l)" -eq 3
fi

# a map that moves shows and draws its anchors
cat >"$work/moving.json" <<'JSON'
{"format": "mirrormap/2", "stages": [{"kind": "piecewise", "psi": [1, 2]}, {"kind": "piecewise", "psi": [0.5, 0.25]}]}
JSON
run map show "$work/moving.json"
expect_code 0
expect_out 'piecewise, n = 2, 2 stages'
expect_out 'anchor                1 of 2: piecewise, n = 2'
expect_out 'anchor                2 of 2: piecewise, n = 2'
run map show "$work/moving.json" --json
expect_json
expect_out '"stages":[{"n":2,"psi":[1,2]},{"n":2,"psi":[0.5,0.25]}]'
run map check "$work/moving.json" --json
expect_code 0
expect_out '"valid":true'
run map eval --map "$work/moving.json" --p 0.5,1 --json
expect_out '"phi_inv":[0.5,0.75]'
if command -v gnuplot >/dev/null; then
  run map plot "$work/moving.json" --what phi --out "$work/moving.svg" --quiet
  expect_code 0
  expect "both anchors" grep -q 'moving 2 of 2' "$work/moving.svg"
fi
run map new piecewise --from "$work/moving.json"
expect_code 2
expect_err 'a map with stages moves: expected one that does not'
for bad in '[]' '[{"kind": "l2"}]' '[{"kind": "l2"}, {"kind": "negentropy"}]' '[{"kind": "l2"}, 3]'; do
  echo "{\"format\": \"mirrormap/2\", \"stages\": $bad}" >"$work/bad-stages.json"
  run map show "$work/bad-stages.json"
  expect_code 2
  expect "one line" test "$(wc -l <"$err")" -eq 1
  expect_err "$work/bad-stages.json: "
done

# names and cards that somebody else made do not act on the terminal
odd=$work/$(printf 'a\033[31mb').json
printf '{"format":"mirrormap/1","kind":"l2","meta":{"x":"\xc2\x9b31m \xe2\x80\xae evil"}}' >"$odd"
for command in show check; do
  run map $command "$odd"
  expect_code 0
  expect_out 'a\x1b[31mb'
  expect_not "no escape" grep -q "$(printf '\033')" "$out"
  expect_not "no second page of controls, no turn of the direction" grep -qaP '\xc2\x9b|\xe2\x80\xae' "$out"
done
run map show "$odd"
expect_out '\xc2\x9b31m \xe2\x80\xae evil'
cp "$odd" "$work/]]>.json"
if command -v gnuplot >/dev/null && command -v xmllint >/dev/null; then
  run map plot "$work/]]>.json" --out "$work/cdata.svg" --quiet
  expect "well-formed, whatever a map is called" xmllint --noout "$work/cdata.svg"
fi

# ---------------------------------------------------------------------------------------------
# lists

export MIRRORMAP_DATA=$2
run map list
expect_code 0
expect_no_err
expect "80 columns" awk 'length > 80 { exit 1 }' "$out"
for name in negentropy tsallis:Q random:SEED; do
  expect_out "$name"
done
for file in "$MIRRORMAP_DATA"/maps/*.json; do
  name=$(basename "$file" .json)
  expect "$name is listed" grep -q "^$name " "$out"
done
expect "what its search has found" grep -Eq '^freeway +Freeway-MinAtar +\+7\.89 \+- 0\.76 +\+5\.42 \+- 0\.57$' "$out"
run map list --json
expect_code 0
expect_json
expect_out '{"families":[{"name":"negentropy","usage":null,"random":null,"about":"phi(x) = exp x'
expect_out '{"name":"freeway","kind":"piecewise","eta":null,"learned_on":["Freeway-MinAtar"],"validation":{"tasks":16,'
run preset list
expect_code 0
expect "80 columns" awk 'length > 80 { exit 1 }' "$out"
for file in "$MIRRORMAP_DATA"/presets/*.yaml; do
  expect "$(basename "$file") is listed" grep -q "^$(basename "$file" .yaml) " "$out"
done
run preset list --json
expect_json
expect_out '{"name":"gridworld","algo":"pmd","about":"Tabular policy mirror descent on Grid-World, and the search for its mirror map, with the settings of the paper."}'
run preset show gridworld-quick
expect "the file" cmp -s "$out" "$MIRRORMAP_DATA/presets/gridworld-quick.yaml"
run preset show gridworld-quick --json
expect_json
expect_out '"algo":"pmd","settings":{"steps":262144,'
expect_out '"generations":64,'
run preset show gridwrld-quick
expect_refusal 2 "did you mean 'gridworld-quick'?"
run preset lst
expect_refusal 2 "did you mean 'list'?"
echo 'steps: 5' >"$work/none.yaml"
run preset show "$work/none.yaml" --json
expect_refusal 2 "expected algo: NAME"

finish
