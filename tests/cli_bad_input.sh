#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Broken and hostile map files through every command that reads one: exit 2, one line on stderr that
# names the file, nothing on stdout, nothing written.
# usage: cli_bad_input.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
bad=$work/bad
mkdir "$bad"

write() {
  printf '%s' "$2" >"$bad/$1.json"
}

# ---------------------------------------------------------------------------------------------
# the files

mkdir "$bad/folder.json"
write empty ''
write blank ' '
write not_json 'hello'
write truncated '{"format": "mirrormap/1", "kind": "piecewise", "psi": [1, 2'
write trailing '{"format": "mirrormap/1", "kind": "l2"} {}'
write array '[1, 2, 3]'
write no_format '{"kind": "l2"}'
write other_format '{"format": "mirrormap/3", "kind": "l2"}'
write format_number '{"format": 1, "kind": "l2"}'
write no_kind '{"format": "mirrormap/1"}'
write unknown_kind '{"format": "mirrormap/1", "kind": "picewise", "psi": [1]}'
write kind_null '{"format": "mirrormap/1", "kind": null}'
write unknown_key '{"format": "mirrormap/1", "kind": "piecewise", "psi": [1], "phi": [1]}'
write key_of_other_kind '{"format": "mirrormap/1", "kind": "l2", "psi": [1]}'
write duplicate_key '{"format": "mirrormap/1", "kind": "piecewise", "psi": [1], "psi": [2]}'
write duplicate_escaped '{"format": "mirrormap/1", "kind": "piecewise", "psi": [1], "\u0070si": [2]}'
write duplicate_meta '{"format": "mirrormap/1", "kind": "l2", "meta": {"a": 1, "a": 2}}'
write missing_psi '{"format": "mirrormap/1", "kind": "piecewise"}'
write psi_empty '{"format": "mirrormap/1", "kind": "piecewise", "psi": []}'
write psi_object '{"format": "mirrormap/1", "kind": "piecewise", "psi": {}}'
write psi_text '{"format": "mirrormap/1", "kind": "piecewise", "psi": [1, "2"]}'
write psi_null '{"format": "mirrormap/1", "kind": "piecewise", "psi": [1, null]}'
write psi_nan '{"format": "mirrormap/1", "kind": "piecewise", "psi": [1, NaN]}'
write psi_nan_text '{"format": "mirrormap/1", "kind": "piecewise", "psi": [1, "nan"]}'
write psi_infinity '{"format": "mirrormap/1", "kind": "piecewise", "psi": [1, Infinity]}'
write psi_overflow '{"format": "mirrormap/1", "kind": "piecewise", "psi": [1, 1e999]}'
write psi_zero '{"format": "mirrormap/1", "kind": "piecewise", "psi": [1, 0]}'
write psi_small '{"format": "mirrormap/1", "kind": "piecewise", "psi": [1, 0.99e-8]}'
write psi_large '{"format": "mirrormap/1", "kind": "piecewise", "psi": [1, 1.01e6]}'
write psi_negative '{"format": "mirrormap/1", "kind": "piecewise", "psi": [1, -1]}'
write psi_nested '{"format": "mirrormap/1", "kind": "piecewise", "psi": [[1]]}'
write comma '{"format": "mirrormap/1", "kind": "piecewise", "psi": [1, 2,]}'
write leading_zero '{"format": "mirrormap/1", "kind": "piecewise", "psi": [01]}'
write plus '{"format": "mirrormap/1", "kind": "piecewise", "psi": [+1]}'
write comment '{"format": "mirrormap/1", "kind": "l2"} // a comment'
write meta_text '{"format": "mirrormap/1", "kind": "l2", "meta": "me"}'
write q_missing '{"format": "mirrormap/1", "kind": "tsallis"}'
write q_one '{"format": "mirrormap/1", "kind": "tsallis", "q": 1}'
write q_negative '{"format": "mirrormap/1", "kind": "tsallis", "q": -0.5}'
write q_text '{"format": "mirrormap/1", "kind": "tsallis", "q": "2"}'
write neural_missing '{"format": "mirrormap/1", "kind": "neural", "a": 1, "b": 1}'
printf '{"format": "mirrormap/1", "kind": "l2", "meta": {"name": "\xff\xfe"}}' >"$bad/not_utf8.json"
printf '{"format": "mirrormap/1", "kind": "l2", "meta": {"name": "\xed\xa0\x80"}}' >"$bad/surrogate.json"
printf '\xef\xbb\xbf{"format": "mirrormap/1", "kind": "l2"}' >"$bad/byte_order_mark.json"
printf '{"format": "mirrormap/1", "kind": "l2"}\0' >"$bad/zero_byte.json"

# 100 000 arrays within each other; a file larger than any map (sparse, so it costs no disk)
awk 'BEGIN { printf "{\"format\": \"mirrormap/1\", \"kind\": \"piecewise\", \"psi\": "
             for (i = 0; i < 100000; i++) printf "[" }' >"$bad/deep.json"
truncate -s 8G "$bad/huge.json" 2>/dev/null || write huge '{'

# neural: a length of 125, and a negative kernel
neural() {
  awk -v n="$1" -v w="$2" -v u="$3" -v b="$4" 'BEGIN {
    for (j = 0; j < n; j++) ws = ws (j ? "," : "") (j == 3 ? w : 1)
    for (j = 0; j < 126; j++) { cs = cs (j ? "," : "") 0; us = us (j ? "," : "") (j == 5 ? u : 0.1) }
    printf "{\"format\":\"mirrormap/1\",\"kind\":\"neural\",\"w\":[%s],\"c\":[%s],\"u\":[%s],\"a\":0,\"b\":%s}", ws, cs, us, b
  }'
}
neural 126 1 0.1 1 >"$work/good_neural.json"
neural 125 1 0.1 1 >"$bad/neural_125.json"
neural 127 1 0.1 1 >"$bad/neural_127.json"
neural 126 -1 0.1 1 >"$bad/neural_w_negative.json"
neural 126 1 -0.1 1 >"$bad/neural_u_negative.json"
neural 126 1 0.1 -1 >"$bad/neural_b_negative.json"
neural 126 null 0.1 1 >"$bad/neural_w_null.json"
run map check "$work/good_neural.json"
expect_code 0

# unreadable for others than root
cp "$bad/no_kind.json" "$bad/locked.json"
chmod 000 "$bad/locked.json"

# ---------------------------------------------------------------------------------------------
# every file through every command

printf 'precious' >"$work/old.svg"
good=$work/good.json
run map new l2 --out "$good"
before=$(ls "$work" "$bad")
n_file=0
for file in "$bad"/*.json "$bad/missing.json" "$bad/none/missing.json"; do
  name=$(basename "$file")
  run map check "$file"
  expect_refusal 2 "$name"
  run map check "$good" "$file" --json
  expect_refusal 2 "$name"
  run map show "$file" --json
  expect_refusal 2 "$name"
  run map eval --map "$file" --x 1
  expect_refusal 2 "$name"
  run map project --map "$file" --scores 1,2 --json
  expect_refusal 2 "$name"
  run map bregman --map "$file" --p 1,0 --q 0,1
  expect_refusal 2 "$name"
  run map compare "$good" "$file"
  expect_refusal 2 "$name"
  run map plot "$good" "$file" --out "$work/old.svg"
  expect_refusal 2 "$name"
  run map new piecewise --from "$file" --out "$work/new.json"
  expect_refusal 2 "$name"
  n_file=$((n_file + 1))
done
expect "all files were tried" test "$n_file" -ge 55
expect "old.svg is as it was" test "$(cat "$work/old.svg")" = precious
expect "no file appeared" test "$(ls "$work" "$bad")" = "$before"

# what the line says, for a few
says() {
  run map show "$bad/$1.json"
  shift
  expect_refusal 2 "$@"
}
says truncated "truncated.json:1:"
says unknown_kind "did you mean 'piecewise'?"
says unknown_key "'phi'"
says duplicate_key "'psi'"
says psi_null "'psi'" "null"
says psi_zero "psi"
says neural_125 "'w'" "125" "126"
says missing_psi "'psi'"

# the same from stdin
for name in empty truncated duplicate_key psi_zero not_utf8 deep; do
  run_stdin "$bad/$name.json" map show -
  expect_refusal 2 "stdin"
done

# ---------------------------------------------------------------------------------------------
# score files

scores() {
  printf '%b' "$2" >"$work/scores.csv"
  run map project --map l2 --scores-file "$work/scores.csv" --json
  expect_refusal 2 "$1"
}
scores "scores.csv: expected scores" ''
scores "scores.csv: expected scores" '# nothing\n\n'
scores "scores.csv:2: 2 scores where the lines before have 3" '1,2,3\n1,2\n'
scores "scores.csv:1: 'nan' is not a finite number" '1,nan\n'
scores "scores.csv:3: '1e999'" '1,2\n\n1e999,1\n'
scores "scores.csv:1: 'x'" 'x\n'
scores "scores.csv:1: a zero byte" '1,2\00003\n'
run map project --map l2 --scores-file "$work/none.csv"
expect_refusal 2 "none.csv"
run map project --map l2 --scores-file "$work"
expect_refusal 2 "$work"
# what has no end, or none that the machine could hold
run map project --map l2 --scores-file /dev/zero
expect_refusal 2 "/dev/zero" "expected a file, found a device"
last='endless scores'
for size in $((128 << 20)) $((129 << 20)); do
  head -c "$size" /dev/zero | "$program" map project --map l2 --scores-file - >"$out" 2>"$err"
  code=$?
  text='stdin:1: a zero byte'
  [ "$size" -eq $((128 << 20)) ] || text="'stdin' is too large: expected at most 134217728 bytes"
  expect_refusal 2 "$text"
done
yes 1 | head -n $(((1 << 22) + 1)) >"$work/many.csv"
run map project --map l2 --scores-file "$work/many.csv"
expect_refusal 2 "many.csv:4194305: expected at most 4194304 scores in all"
rm "$work/many.csv"
run map project --map l2 --scores 1e300,0 --precision float
expect_refusal 2 "1e+300"

# ---------------------------------------------------------------------------------------------
# map new

while IFS='|' read -r words text; do
  read -ra words <<<"$words"
  run map new "${words[@]}" --out "$work/new.json"
  expect_refusal 2 "$text"
  expect "nothing written" test ! -e "$work/new.json"
done <<'LINES'
tsallis|needs its order
tsallis --q 1|1
tsallis --q -1|-1
tsallis --q nan|'nan' is not a finite number
tsallis:x|tsallis:x
tsallis:0.5 --q 0.5|cannot be combined
piecewise --psi 1,0|entry 2: 0 must be at least 1e-08
piecewise --psi 2e6|entry 1: 2e6 must be
piecewise --psi 1 --n 1|cannot be combined
piecewise --psi 1 --from l2|cannot be combined
piecewise --n 1000001|1000001 must be
piecewise:0|piecewise:0
l2 --q 2|'--q' does not apply to kind 'l2'
negentropy --n 3|'--n' does not apply
random --n 3|'--n' does not apply
random --seed -1|'-1' is not a whole number
random:x|random:x
neural --from tsallis:x|tsallis:x
l2 --from piecewise|'--from' does not apply to kind 'l2'
l2 --meta x|expected KEY=VALUE
l2 --meta =x|expected KEY=VALUE
l2 --meta a=1 --meta a=2|'a' is given twice
good.json|unknown kind
LINES
run map new l2 --meta $'a=\xff' --out "$work/new.json"
expect_refusal 2 "--meta" "UTF-8"

run map new l2 --out "$good"
expect_refusal 2 "good.json" "exists already"
run map new l2 --out "$bad/folder.json" --force
expect_refusal 2 "folder"
ln -s nowhere "$work/dangling.json"
run map new l2 --out "$work/dangling.json"
expect_refusal 2 "exists already"
run map new l2 --out "$work/none/new.json"
expect_refusal 2 "none/new.json"
run map plot l2 --out "$bad/folder.svg/"
expect_refusal 2 "does not end in"
chmod 600 "$bad/locked.json"

# ---------------------------------------------------------------------------------------------
# names and contents that would drive a terminal: ESC, CSI as UTF-8 and as a byte, what is no UTF-8

# shows TEXT: the error quotes it so, in ASCII; other characters of UTF-8 stay as they are
shows() {
  expect_refusal "${2-2}" "$1"
  expect_not "nothing but text" grep -q '[^ -~]' "$err"
}
hostile=$(printf 'a\033[31m\302\2332J\2332J\377\342\202z')
shown='a\x1b[31m\xc2\x9b2J\x9b2J\xff\xe2\x82z'
cd "$work" || exit 1
for command in "map show" "train --map l2 --env" "train --env CartPole-v1 --map l2 --preset" "train --resume" \
  "transfer --envs CartPole-v1 --maps" "runs" "export --csv" "env show" "eval --policy" "map project --map l2 --scores 1,2 --set"; do
  # shellcheck disable=SC2086 # words
  run $command "$hostile"
  shows "$shown"
done
run "$hostile"
shows "$shown"
run train "--$hostile"
shows "$shown"
run train --env CartPole-v1 --map l2 --seeds "$hostile"
shows "$shown"
for kind in 'a\u001b[2J' 'a\u009b2J'; do
  printf '{"format": "mirrormap/1", "kind": "%s"}' "$kind" >"$work/kind.json"
  run map show "$work/kind.json"
  case $kind in *1b*) shows "'a\\x1b[2J'" ;; *) shows "'a\\xc2\\x9b2J'" ;; esac
done
cp "$work/kind.json" "$work/$hostile.json"
run map show "$hostile.json"
shows "$shown.json: field 'kind': 'a\\xc2\\x9b2J'"
valid=$(printf 'caf\303\251-\342\202\254-\360\237\230\200')
run map show "$valid"
expect_refusal 2 "'$valid'"
# what the database's own library quotes of a damaged schema
if python3 -c 'import sqlite3' >/dev/null 2>&1; then
  run train --env GridWorld-small --map l2 --set steps=2048 --out "$work/run" --quiet
  expect_code 0
  python3 - "$work/run/run.db" <<'EOF'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA writable_schema=1")
db.execute("UPDATE sqlite_master SET sql = replace(sql, 'CREATE TABLE batch', 'CREATE TABLE ' || char(27) || 'batch')")
db.commit()
EOF
  run train --resume "$work/run"
  shows '\x1b' 2
fi

finish
