#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The frame of the program: help, version, spelling, options, exit codes, streams, terminals.
# usage: cli_frame.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
export MIRRORMAP_DATA=$2 # a program that is not in build/ has no maps and presets beside it

# ---------------------------------------------------------------------------------------------
# help and version

# names COMMAND...: the commands that its --help lists
names() {
  "$program" "$@" --help | awk '/^commands$/ { on = 1; next } /^$/ { on = 0 } on && /^  [a-z]/ { print $1 }'
}

expect "all commands are listed" test "$(names | tr '\n' ' ')" = "map env preset train eval learn transfer compare tune reproduce theory runs report export bench devices help "
n_help=0
for command in $(names | grep -v '^help$'); do
  paths=$command
  for subcommand in $(names "$command"); do
    paths="$paths:$command $subcommand"
  done
  IFS=:
  for path in $paths; do
    IFS=' '
    read -ra words <<<"$path"
    run "${words[@]}" --help
    expect_code 0
    expect_no_err
    expect_out "mirrormap $path: "
    expect_out "usage"
    expect "lines of at most 80 columns" awk 'length > 80 { exit 1 }' "$out"
    expect "one screen" test "$(wc -l <"$out")" -le 40
    expect "whole parentheses" awk '/^options$/ { on = 1 } on { n += gsub(/\(/, "") - gsub(/\)/, "") } END { exit n != 0 }' "$out"
    cp "$out" "$work/help"
    run help "${words[@]}"
    expect "the same text by 'help $path'" cmp -s "$out" "$work/help"
    run "${words[@]}" -h
    expect "the same text by -h" cmp -s "$out" "$work/help"
    n_help=$((n_help + 1))
  done
  unset IFS
done
expect "help of all commands was seen" test "$n_help" -ge 10

run --help
expect_code 0
cp "$out" "$work/help"
run help
expect "help is --help" cmp -s "$out" "$work/help"
run -h
expect "-h is --help" cmp -s "$out" "$work/help"
run map project --map l2 --nonsense --help
expect_code 2
run map project --help --nonsense
expect_code 0
for word in --map --scores --scores-file --precision --set --json --isa --quiet; do
  expect_out "$word"
done
run map project --help settings
expect_code 0
expect_out "projection=exact"
cp "$out" "$work/help"
run help map project settings
expect "the same text" cmp -s "$out" "$work/help"
run transfer --help
expect_out "more: --tune-seeds --tune-budget"
expect_not "rare options are left out" grep -q '^  --devices' "$out"
expect_not "settings too" grep -q 'gae_lambda=' "$out"
expect_not "an option's text ends at its semicolon" grep -q 'results are the same' "$out"
expect "examples go on behind a backslash" grep -q '^  mirrormap transfer --maps tsallis:0.5,random:1 \\$' "$out"
run transfer --help all
expect "all of it" grep -q '^  --devices' "$out"
expect "whole texts" grep -q 'results are the same' "$out"
expect "all examples" grep -q '^  mirrormap transfer --resume' "$out"
expect_out "--physics VALUE"
expect_not "but settings" grep -q 'gae_lambda=' "$out"
run transfer --help settings
expect_out "gae_lambda="
expect "lines of at most 80 columns" awk 'length > 80 { exit 1 }' "$out"

run --version
expect_code 0
expect "name, version, build" grep -Eq '^mirrormap [0-9]+\.[0-9]+\.[0-9]+ \(.+\)$' "$out"

# ---------------------------------------------------------------------------------------------
# spelling and other mistakes: exit 2, one line

refuse "expected a command" # no words at all
refuse "did you mean 'map'?" mpa
refuse "did you mean 'map'?" help mpa
refuse "did you mean 'bench'?" bnech
refuse "did you mean 'map project'?" project
refuse "did you mean '--version'?" --versoin
refuse "unknown option '--json'" --json map show l2
refuse "expected a subcommand" map
refuse "did you mean 'show'?" map shwo l2
refuse "did you mean 'compare'?" help map compre
refuse "did you mean '--scores'?" map project --map l2 --score 1,2
refuse "did you mean '--scores'?" map project --map l2 --scoers=1,2
refuse "did you mean '--json'?" map project --map l2 --scores 1,2 -json
refuse "did you mean 'projection'?" map project --map l2 --scores 1,2 --set projektion=exact
refuse "did you mean 'bisect10'?" map project --map l2 --scores 1,2 --set projection=bisect
refuse "did you mean 'float'?" map project --map l2 --scores 1,2 --precision flaot
refuse "one of double, float" map project --map l2 --scores 1,2 --precision 64
refuse "did you mean 'avx2'?" map project --map l2 --scores 1,2 --isa axv2
refuse "did you mean 'negentropy'?" map show negentrpy
refuse "did you mean 'gridworld'?" map show gridwrld
refuse "did you mean 'tsallis:1.5'?" map show tsalis:1.5
refuse "did you mean 'random:1'?" map show randm
refuse "did you mean 'piecewise'?" map new picewise
refuse "did you mean 'project'?" map proj # a beginning rather than the nearest word
refuse "did you mean '--threads'?" train --thr 3
refuse "unknown value 'gpu' (one of auto, cpu, cuda)" train --backend gpu
refuse "did you mean 'ampo'?" train --algo amp
refuse "did you mean 'lr'?" train --set lerning_rate=1 # what other libraries call it
refuse "did you mean 'policy_clip'?" train --set clip_range=0.2
refuse "did you mean 'minatar'?" train --env CartPole-v1 --map l2 --preset minatr
refuse "expected bcs, bcs-fast, cartpole-quick, gridworld, gridworld-fast, " train --env CartPole-v1 --map l2 --preset foo
refuse "did you mean 'policy'?" map plot l2 --what phi,polic --out "$work/x.svg"
refuse "did you mean 'map'?" bench mpa
refuse "unknown option '--zzzzz'" map project --zzzzz
refuse "unknown subcommand 'zzzzz'" map zzzzz

refuse "'--map' is required" map project --scores 1,2
refuse "'--scores' needs a value" map project --map l2 --scores
refuse "'--scores' needs a value" map project --scores --map l2
refuse "'--json' takes no value" map project --map l2 --scores 1,2 --json=yes
refuse "'--map' is given twice" map project --map l2 --map l2 --scores 1,2
refuse "'--json' is given twice" map project --map l2 --scores 1,2 --json --json
refuse "setting 'projection' is given twice" map project --map l2 --scores 1,2 --set projection=exact --set projection=exact
refuse "expected KEY=VALUE" map project --map l2 --scores 1,2 --set projection
refuse "setting 'projection': expected a value" map project --map l2 --scores 1,2 --set projection=
refuse "'--scores': expected a value, found nothing" map project --map l2 --scores ""
refuse "'--scores', entry 2: expected a value" map project --map l2 --scores 1,
refuse "'--scores', entry 1: expected a value" map project --map l2 --scores ,1
refuse "entry 2: '2x' is not a finite number" map project --map l2 --scores 1,2x
refuse "entry 1: '0x10' is not a finite number" map project --map l2 --scores 0x10,1
refuse "entry 2: 'nan' is not a finite number" map project --map l2 --scores 1,nan
refuse "entry 1: '-inf' is not a finite number" map project --map l2 --scores -inf,1
refuse "entry 1: '1e999' is not a finite number" map project --map l2 --scores 1e999,1
refuse "entry 1: '1;2' is not" map project --map l2 --scores "1;2"
refuse "entry 2: 1.5 must be at least 0 and at most 1" map eval --map l2 --p 1,1.5
refuse "entry 1: -1e-300 must be at least 0" map bregman --map l2 --p -1e-300 --q 0
refuse "either '--x' or '--p'" map eval --map l2
refuse "either '--x' or '--p'" map eval --map l2 --x 1 --p 1
refuse "either '--scores' or" map project --map l2
refuse "differ in length: 2 and 3" map bregman --map l2 --p 0,1 --q 0,0,1
refuse "unexpected argument 'extra'" map project --map l2 --scores 1,2 extra
refuse "no help on 'extra'" help map new extra
refuse "no help on 'setings' (did you mean 'settings'?)" train --help setings
refuse "expected KIND" map new
refuse "expected MAP..." map show
refuse "'--n': '-3' is not a whole number" map new piecewise --n -3
refuse "'--n': '1e3' is not a whole number" map new piecewise --n 1e3
refuse "'--n': 0 must be at least 1" map new piecewise --n 0
refuse "'--seed': 18446744073709551616 is too large" map new random --seed 18446744073709551616
refuse "'--eta': 0 must be greater than 0" map compare l2 --eta 0
refuse "'--out' is required" map plot l2
refuse "does not end in .svg, .pdf or .png" map plot l2 --out "$work/x.gif"
refuse "unknown option '--'" map show --=1
refuse 'a\x0ab' map show $'a\nb'

# ---------------------------------------------------------------------------------------------
# forms of options

run map project --map=l2 --scores=-1,-2e-1,+3,.5 --json
expect_code 0
first=$(cat "$out")
run map project --json --scores '-1, -0.2 ,3,0.5' --map l2 --set projection=exact
expect "'=', blanks, signs and order make no difference" test "$(cat "$out")" = "$first"
cd "$work" || exit 1
run map new l2 --out=--l2.json
expect_code 0
run map show -- --l2.json
expect_code 0
expect_out "--l2.json"
cd "$OLDPWD" || exit 1

# ---------------------------------------------------------------------------------------------
# --json, --quiet, --isa

while read -r line; do
  read -ra words <<<"$line"
  run map "${words[@]}" --json
  expect_code 0
  expect_no_err
  expect_json
done <<'LINES'
show neural
show l2 random:7 tsallis:0.5
check l2
check l2 negentropy
eval --map l2 --x 1,2
eval --map tsallis:0.5 --p 0,1
project --map random:1 --scores 1,2,3
bregman --map negentropy --p 1,0 --q 0,1
compare l2 negentropy
LINES

run map eval --map negentropy --p 0 --json
expect_out '"phi_inv":["-inf"]'
run map bregman --map negentropy --p 1,0 --q 0,1 --json
expect_out '"divergence":"inf"'

run map new l2 --out "$work/quiet.json"
expect_code 0
expect_err "wrote"
expect_no_out
run map new l2 --out "$work/quiet2.json" --quiet
expect_code 0
expect_no_err
run map new l2 --out "$work/quiet2.json" --quiet
expect_refusal 2 "quiet2.json"
run map new l2 --out "$work/quiet3.json" --json
expect_json
expect_out '"kind":"l2"'

for isa in auto avx2 avx512 portable; do
  run map project --map random:2 --scores 1,2,3,4 --isa "$isa" --json
  if [ "$code" -eq 0 ]; then
    cp "$out" "$work/isa.$isa"
    expect "the same bits with --isa $isa" cmp -s "$work/isa.auto" "$out"
  else
    expect_refusal 1 "$isa" # this processor lacks it
  fi
done
expect "portable works everywhere" test -e "$work/isa.portable"

# ---------------------------------------------------------------------------------------------
# streams

# /dev/full: every write fails
if [ -w /dev/full ]; then
  for words in "--help" "map show l2" "map show neural --json" "map new neural" "map compare l2 negentropy"; do
    read -ra words <<<"$words"
    last="mirrormap ${words[*]} > /dev/full"
    "$program" "${words[@]}" >/dev/full 2>"$err"
    code=$?
    : >"$out"
    expect_refusal 1 "standard output: No space left on device"
  done
fi

# closed stdout
last="mirrormap map show l2 >&-"
"$program" map show l2 2>"$err" >&-
code=$?
expect_refusal 1 "standard output"
# ... and a file written meanwhile receives nothing else
last="mirrormap map new l2 --out closed.json --json >&-"
"$program" map new l2 --out "$work/closed.json" --json 2>/dev/null >&-
run map check "$work/closed.json"
expect_code 0
last="mirrormap map new l2 --out f <&- >&- 2>&-"
"$program" map new l2 --out "$work/closed2.json" <&- >&- 2>&-
expect "works with all streams closed" test $? -eq 0
run map check "$work/closed2.json"
expect_code 0

# a reader that leaves early, with SIGPIPE as usual and ignored
run map new piecewise --n 100000 --out "$work/long.json"
for handling in default ignored; do
  last="mirrormap map show long.json --json | head -c 10 ($handling)"
  (
    [ "$handling" = ignored ] && trap '' PIPE
    set +o pipefail
    "$program" map show "$work/long.json" --json 2>"$err"
    echo $? >"$work/pipe_code"
  ) | head -c 10 >/dev/null
  code=$(cat "$work/pipe_code")
  : >"$out"
  expect_code 0
  expect_no_err
done

# ---------------------------------------------------------------------------------------------
# terminals: colours and the bar appear on one only, and NO_COLOR is honoured

escape=$'\033'
csi=$escape'['
run map show l2
expect_not "no escapes in a file" grep -q "$escape" "$out"
run map show nonsense-name
expect_not "no escapes in a file" grep -q "$escape" "$err"

# on_terminal ENVIRONMENT ARGS...: output of the program on a terminal of its own
on_terminal() {
  local setting=$1
  shift
  last="$setting mirrormap $* (on a terminal)"
  env "$setting" script -qec "$(printf '%q ' "$program" "$@")" /dev/null >"$out" 2>"$err" </dev/null
  code=$?
}
if command -v script >/dev/null 2>&1 && script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
  on_terminal TERM=xterm map check l2
  expect_code 0
  expect_out "$csi"
  on_terminal NO_COLOR=1 map check l2
  expect_not "no colours under NO_COLOR" grep -qF "$csi" "$out"
  on_terminal TERM=dumb map check l2
  expect_not "no colours on a dumb terminal" grep -qF "$csi" "$out"
  on_terminal TERM=xterm map show l2 --json
  expect_not "no colours in JSON" grep -qF "$csi" "$out"
  on_terminal TERM=xterm map show nonsense-name
  expect_code 2
  expect_out "${csi}31mmirrormap:${csi}0m"
else
  echo "no terminal to test on: script(1) is missing or does not work here"
fi

finish
