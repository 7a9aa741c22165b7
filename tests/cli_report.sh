#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `report`: the page and its figures, refreshed; runs that go on, are damaged or are none; files that
# are never overwritten; the page watched over HTTP, from this machine only.
# usage: cli_report.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
export MIRRORMAP_DATA=$2 # a program that is not in build/ has no presets beside it
cd "$work" || exit 1

train=(--env GridWorld-small --map tsallis:0.5 --set steps=512 --set envs=8 --set unroll=8 --set curve=exact)
learn=(--env GridWorld-small --kind piecewise --population 4 --set steps=256 --set envs=8 --set unroll=16
  --set n=10 --set validation_tasks=2 --set validation_every=2)
data() { sed -n 's/.*<script type="application\/json" id="report-data">\(.*\)<\/script>$/\1/p' "$1"; }

# shellcheck disable=SC2329 # called below
well_formed() {
  ! command -v python3 >/dev/null || python3 -c 'import sys, xml.dom.minidom as d; d.parse(sys.argv[1])' "$1"
}

# shellcheck disable=SC2329 # called through expect
is_picture() { # the file is what its ending says
  case $1 in
    *.svg) head -c 5 "$1" | grep -q '<?xml' && tail -c 10 "$1" | grep -q '</svg>' && well_formed "$1" ;;
    *.pdf) head -c 5 "$1" | grep -q '%PDF-' && tail -c 8 "$1" | grep -q '%%EOF' ;;
    *.png) [ "$(head -c 8 "$1" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] ;;
  esac
}

# ---------------------------------------------------------------------------------------------
# what is none

run report
expect_refusal 2 "report"
run report nowhere
expect_refusal 2 "no run 'nowhere'"
mkdir empty
run report empty
expect_refusal 2 "there is no run.db in it"
run report "$program"
expect_code 2
run report empty --port 1
expect_refusal 2 "'--port' is for --watch"
run report empty --watch --out x
expect_refusal 2 "--watch writes nothing"
run report empty --watch --json
expect_refusal 2 "'--json'"
run report empty --watch --port 70000
expect_code 2
run report --help
expect_code 0
expect_out "--no-figures"

# ---------------------------------------------------------------------------------------------
# one run

run train "${train[@]}" --seeds 3 --out train --quiet
expect_code 0
run report trian --no-figures
expect_refusal 2 "no run 'trian'" "did you mean 'train'?"
mkdir runs
cp -r train runs/train-GridWorld-small-1
run report "$work/runs/train-GridWorld-1/"
expect_refusal 2 "did you mean '$work/runs/train-GridWorld-small-1'?"
run report train-GridWorld-small-1
expect_refusal 2 "did you mean 'runs/train-GridWorld-small-1'?"
rm -r runs
run report train --no-figures
expect_code 0
expect_no_out
expect_err "wrote train/report.html"
expect "no figures" test ! -e train/figures
expect "a page" grep -q '^<!DOCTYPE html>$' train/report.html
expect "its data on one line" test "$(data train/report.html | wc -l)" -eq 1
expect "nothing but the page" test "$(find train -newer train/run.db -name '*.tmp*' | wc -l)" -eq 0
data train/report.html >data.json
if [ -n "$json_parser" ]; then
  expect "data that $json_parser reads" parse_json data.json
fi
expect "the format" grep -q '"format":"mirrormap-report/1"' data.json
expect "no address but this machine's own" test -z "$(grep -oE '(src|href)="?(https?:)?//[^"]*' train/report.html)"
for part in '"state":"done"' '"watch":false' '"curves":\[{' '"again":\["mirrormap train --env GridWorld-small'; do
  expect "data with $part" grep -q "$part" data.json
done

# what it says how to make again, in a folder of its own, is the same run
config() { "$program" export "$1" --csv --table meta; }
again() { # RUN TABLE
  # shellcheck disable=SC2016 # the script's own variable
  data "$1/report.html" | sed 's/.*"again":\["mirrormap \(.*\)"\],"damage.*/"$program" \1/
    s/\\u003c/</g; s/\\u003e/>/g; s/\\u0026/\&/g; s/\\"/"/g; s/\\\\/\\/g' >again.sh
  rm -rf elsewhere
  mkdir elsewhere
  cp ./*.yaml elsewhere/ 2>/dev/null
  last="the command of $1"
  (cd elsewhere && program=$program bash -e ../again.sh) >"$out" 2>"$err"
  code=$?
  expect_code 0
  expect "the same plan as $1" test "$(config "$1")" = "$(config "elsewhere/$1")"
  run export "$1" --csv --table "$2"
  cp "$out" first.csv
  run export "elsewhere/$1" --csv --table "$2"
  expect "the same rows as $1" cmp -s first.csv "$out"
}
again train training

# words that mean something to a shell, to a terminal or to nobody
# shellcheck disable=SC2016 # not to be expanded
odd='<b>"$(touch hurt)`touch hurt`'\''\&'
for name in "$odd" $'esc\e[31m\'\\' $'bytes-\xff\xfe' $'turn\xe2\x80\xae' 'grün'; do
  run train "${train[@]}" --seeds 1 --out "$name" --quiet
  expect_code 0
  run report "$name" --no-figures --quiet
  expect_code 0
  again "$name" training
  expect_not "a command in it" test -e elsewhere/hurt
done
expect "bytes that are no text, escaped" grep -qFe "--out \$'bytes-\\\\xff\\\\xfe'" $'bytes-\xff\xfe/report.html'
run export train --jsonl --table meta
expect_not "the command line in an export" grep -q command_line "$out"

# refreshed, from another folder, by its database
before=$(cat train/report.html)
sleep 1.1
run report train/run.db --no-figures --quiet
expect_code 0
expect_no_err
expect "a new page" test "$before" != "$(cat train/report.html)"

# somebody else's files
mkdir other
cp -r train/run.db other/
echo '<p>precious</p>' >other/report.html
run report other --no-figures
expect_refusal 2 "other/report.html" "will not be overwritten"
expect "it is still there" grep -q precious other/report.html
rm other/report.html
mkdir other/figures
echo precious >other/figures/phi.svg
run report other
expect_refusal 2 "other/figures/phi.svg" "--out"
expect "it is still there" grep -q precious other/figures/phi.svg
expect "no page" test ! -e other/report.html

# ---------------------------------------------------------------------------------------------
# figures

run learn "${learn[@]}" --generations 4 --out learn --quiet
expect_code 0
if command -v gnuplot >/dev/null; then
  run report learn --json
  expect_code 0
  expect_json
  expect_out '"page":"learn/report.html"'
  for name in search phi policy; do
    for ending in svg pdf png; do
      expect "learn/figures/$name.$ending" is_picture "learn/figures/$name.$ending"
      expect_out "learn/figures/$name.$ending"
    done
  done
  expect "no others" test "$(find learn/figures -type f | wc -l)" -eq 9
  run report learn # once more over its own
  expect_code 0
  run report train learn --out both
  expect_code 0
  expect_err "wrote both/report.html and figures in both/figures"
  for name in curves-1 search-2 phi policy; do
    expect "both/figures/$name.svg" is_picture "both/figures/$name.svg"
  done
  expect "nothing to compare" test ! -e both/figures/comparison.svg
  # runs of train in one picture, by what tells them apart
  run train "${train[@]}" --seeds 3 --set lr=10 --out slow --quiet
  run train "${train[@]/tsallis:0.5/l2}" --seeds 2 --set lr=10 --out other-map --quiet
  expect_code 0
  run train "${train[@]/small/sparse}" --seeds 3 --out other-env --quiet
  expect_code 0
  run report train slow other-map other-env train --out compared
  expect_code 0
  expect "compared/figures/comparison.svg" is_picture compared/figures/comparison.svg
  for text in 'mean of 2 to 3 runs' 'tsallis:0.5, lr=40<' 'tsallis:0.5, lr=10<' 'l2, lr=10<' 'GridWorld-sparse<' \
    'tsallis:0.5, lr=40, train<'; do
    expect "its text '$text'" grep -q "$text" compared/figures/comparison.svg
  done
  # algorithms have settings that others lack, and PPO no use for its map
  for algo in "ampo --map l2" ppo "ppo --set lr=0.01"; do
    # shellcheck disable=SC2086 # words
    run train --env CartPole-v1 --algo $algo --set steps=2048 --seeds 2 --out "algo-${algo##*[ =]}" --quiet
    expect_code 0
  done
  run report algo-* --out algos
  expect_code 0
  for text in '>ampo, lr=0.004<' '>ppo, lr=0.00025<' '>ppo, lr=0.01<'; do
    expect "its text '$text'" grep -q "$text" algos/figures/comparison.svg
  done
  run report algo-ppo
  expect "a curve of PPO goes by its name" grep -q '>ppo<' algo-ppo/figures/curves.svg
  expect_not "and by no map" grep -q '>negentropy<' algo-ppo/figures/curves.svg
fi
run report learn --no-figures
expect_code 0
again learn generation
run report train learn
expect_refusal 2 "several runs needs --out DIR"
run report train learn --out both/deep/er
expect_code 0
touch plain
run report train learn --out plain/er
expect_refusal 2 "plain"
mkdir bare
PATH=$work/bare run report learn --out alone
expect_code 0
expect_err "no figures: "
expect "one line about it" test "$(grep -c gnuplot "$err")" -eq 1
expect "a page all the same" test -s alone/report.html

# a table
run transfer --maps l2 --envs GridWorld-small,GridWorld-sparse --seeds 3 --set steps=512 --set envs=8 \
  --set unroll=8 --out transfer --quiet
expect_code 0
run report transfer --no-figures
expect_code 0
data transfer/report.html >data.json
expect "a table" grep -q '"table":{"baseline":"negentropy","envs":\["GridWorld-small","GridWorld-sparse"\]' data.json
if [ "$json_parser" = jq ]; then
  expect "the numbers of table.json" test \
    "$(jq -c '.runs[0].table.cells | map(map([.mean, .sem, .difference, .difference_sem, .wins, .iqm, .low, .high]))' data.json)" = \
    "$(jq -c '[.mean, .sem, .difference, .difference_sem, .wins, .iqm, .iqm_low, .iqm_high] | transpose | map(transpose)' transfer/table.json)"
  # scores, win rates and profiles are those of `compare`
  run compare transfer --json
  expect_code 0
  # shellcheck disable=SC2016 # jq's variables
  expect "the numbers of compare" jq -e --slurpfile report data.json 'def four: (. * 1e4 | round) / 1e4; def every_other: [.[range(0; length; 2)] | four];
    .baseline as $base | $report[0].runs[0].scores as $s | $s.baseline == $base and $s.envs == 2 and ($s.tau | length) == 101 and $s.tau == (.tau | every_other) and ($s.maps | length) == 2 and
    [.maps[] | [.map, .runs, .failures, .iqm, .iqm_low, .iqm_high, .against[$base].win_rate, (.profile.share, .profile.low, .profile.high | every_other)]] ==
    [$s.maps[] | [.map, .runs, .failures, .iqm, .low, .high, .wins, .share, .share_low, .share_high]]' "$out"
fi

again transfer training

# a map has one colour in the figures of tables and of maps
if command -v gnuplot >/dev/null; then
  run transfer --maps tsallis:3,piecewise,l2,tsallis:0.5 --envs GridWorld-small --seeds 1 --set steps=512 --set envs=8 \
    --set unroll=8 --set curve=exact --controls none --out coloured --quiet
  expect_code 0
  run report coloured
  expect_code 0
  colours() { # of lines: NAME COLOUR, sorted
    awk 'match($0, /<title>[^<]*/) { name = substr($0, RSTART + 7, RLENGTH - 7) }
      name != "" && match($0, /stroke=.rgb[^)]*\)/) { print name, substr($0, RSTART + 8, RLENGTH - 8); name = "" }' "$1" | grep -E '^(tsallis|piecewise|l2)' | sort -u
  }
  colours coloured/figures/curves.svg >curves.txt
  colours coloured/figures/phi.svg >phi.txt
  expect "colours of four maps" test "$(wc -l <curves.txt)" -eq 4
  expect "and the same ones" cmp curves.txt phi.txt
fi

# trials
printf '%s\n' 'method: grid' parameters: '  lr: {log: [1, 100], points: 2}' \
  '  normalise_advantage: {choice: [on, off]}' >trials.yaml
run tune --env GridWorld-small --map l2 --space trials.yaml --seeds 2 --validate 2 --prune off --set steps=512 \
  --set envs=8 --set unroll=8 --out tune --quiet
expect_code 0
run report tune
expect_code 0
data tune/report.html >data.json
expect "parameters" grep -q '"tuning":{"parameters":\[{"name":"lr","scale":"log","low":1,"high":100}' data.json
expect "four trials and the own values" test "$(grep -o '"trial":' data.json | wc -l)" -eq 5
expect "choices by their words" grep -q '"values":\[100,"off"\]' data.json
if command -v gnuplot >/dev/null; then
  expect "tune/figures/tuning.svg" is_picture tune/figures/tuning.svg
fi
again tune training

# names that try to break out
# shellcheck disable=SC2016 # not to be expanded
evil='<b>"$(touch hurt)`touch hurt`'\''&'
cp -r train "$evil"
rm -r "$evil/report.html"
run report "$evil"
expect_code 0
expect "a page" test -s "$evil/report.html"
expect "no tag" test "$(grep -c '<b>' "$evil/report.html")" -eq 0
expect "no command was run" test ! -e hurt
expect "no command was run" test ! -e "$evil/hurt"

# ---------------------------------------------------------------------------------------------
# going on, damaged

"$program" train --env CartPole-v1 --map l2 --seeds 64 --set steps=20000 --threads 1 --out busy --quiet \
  >busy.out 2>&1 </dev/null &
pid=$!
for ((i = 0; i < 600; i++)); do
  run export busy --csv
  [ "$code" -eq 0 ] && [ "$(wc -l <"$out")" -gt 2 ] && break
  sleep 0.1
done
run report busy --no-figures
expect_code 0
data busy/report.html >data.json
expect "it goes on" grep -q '"state":"going on"' data.json
expect "with curves" grep -q '"curves":\[{"env":"CartPole-v1"' data.json
interrupt "$pid" INT
expect_code 130
run report busy --no-figures
expect_code 0
data busy/report.html >data.json
expect "it was interrupted" grep -q '"state":"interrupted"' data.json

if command -v python3 >/dev/null; then
  cp -r train hurt
  python3 - <<'EOF'
import sqlite3
db = sqlite3.connect("hurt/run.db")
db.execute("UPDATE training SET final = 99 WHERE job = 1")
db.commit()
EOF
  run report hurt --no-figures --quiet
  expect_code 1
  expect_err "is damaged"
  data hurt/report.html >data.json
  expect "nor is it done" grep -q '"state":"damaged"' data.json
  expect "the page says so" grep -q '"damage":"' data.json
  expect "the others are there" grep -q '"n":2,"planned":3' data.json
fi
head -c 5000 train/run.db >empty/run.db # what is left can be read
run report empty --no-figures
expect_code 1
expect_err "is damaged"
rm empty/report.html
echo 'no database' >empty/run.db
run report empty --no-figures
expect_refusal 2 "empty"

# ---------------------------------------------------------------------------------------------
# watched

last="mirrormap report train learn --watch --port 0"
: >"$err" # the program opens it only in a moment
"$program" report train learn --watch --port 0 >"$out" 2>"$err" </dev/null &
pid=$!
for ((i = 0; i < 600; i++)); do
  grep -q . "$err" && break
  sleep 0.1
done
if grep -q 'this build cannot watch' "$err"; then
  wait "$pid"
  code=$?
  expect_refusal 1 "libmicrohttpd"
  finish
fi
expect "its address" grep -q '^watching http://127\.0\.0\.1:[0-9]*/' "$err"
port=$(sed 's/.*127\.0\.0\.1:\([0-9]*\).*/\1/' "$err")
cp "$err" watching
# on the loopback interface and nowhere else (local addresses as the kernel writes them)
hex=$(printf '%04X' "$port")
expect "one listener" test "$(awk -v p=":$hex" '$4 == "0A" && $2 ~ p"$" { print $2 }' /proc/net/tcp)" = "0100007F:$hex"
expect "none on other addresses" test -z "$(awk -v p=":$hex" '$4 == "0A" && $2 ~ p"$"' /proc/net/tcp6 2>/dev/null)"

if command -v curl >/dev/null; then
  url=http://127.0.0.1:$port
  get() { # sets $status; the body is in $out, the header in header
    last="curl $*"
    status=$(curl -s --max-time 20 -o "$out" -D header -w '%{http_code}' "$@")
  }
  expect_status() { expect "status $1, got $status" test "$status" = "$1"; }
  get "$url/"
  expect_status 200
  expect "a page" grep -q '^<!DOCTYPE html>' "$out"
  expect "that asks again" grep -q '"watch":true' "$out"
  expect "as HTML" grep -qi '^content-type: text/html; charset=utf-8' header
  expect "not to be kept" grep -qi '^cache-control: no-store' header
  get "$url/data.json?t=1"
  expect_status 200
  [ -z "$json_parser" ] || expect "JSON" parse_json "$out"
  expect_out '"format":"mirrormap-report/1"'
  expect "as JSON" grep -qi '^content-type: application/json' header
  get "http://localhost:$port/data.json"
  expect_status 200
  get -I "$url/"
  expect_status 200
  # what is not there
  for path in /report.html /run.db /train/run.db /../run.db /%2e%2e/run.db //etc/passwd /data.json/ /figures; do
    get --path-as-is "$url$path"
    expect_status 404
  done
  for method in POST PUT DELETE OPTIONS PATCH; do
    get -X "$method" "$url/"
    expect_status 405
  done
  # a long body is not read to its end: who still sends may lose the connection before the answer
  get --data-binary "@$program" -H 'Expect:' "$url/"
  expect "a long body is refused, got $status" test "$status" = 405 -o "$status" = 000
  get "$url/"
  expect_status 200
  # other hosts
  for host in evil.example "evil.example:$port" "127.0.0.1:1" "127.0.0.1.evil.example:$port" "" "[::1]:$port"; do
    get -H "Host: $host" "$url/"
    expect "host '$host' is refused, got $status" test "$status" = 403 -o "$status" = 400
    expect_not "no data for it" grep -q mirrormap-report "$out"
  done
  get -H "Host: evil.example" "$url/"
  expect_out "ask for 127.0.0.1:$port"
  get -0 -H 'Host:' "$url/"
  expect "no host is refused" test "$status" = 403 -o "$status" = 400

  # it follows the run
  run train --env GridWorld-small --map l2 --seeds 2 --set steps=512 --set envs=8 --set unroll=8 --out train2 --quiet
  rm train/run.db
  sleep 1.1
  get "$url/data.json"
  expect_status 503
  expect_out "train"
  mv train2/run.db train/run.db
  sleep 1.1
  get "$url/data.json"
  expect_status 200
  expect_out '"map":"l2"'

  # what cannot be read is tried once a second as well: some time two requests come within one
  for ((i = 0; i < 20; i++)); do
    mv train/run.db kept.db
    sleep 1.1
    get "$url/data.json"
    mv kept.db train/run.db
    expect_status 503
    get "$url/data.json"
    [ "$status" = 503 ] && break
  done
  expect_status 503
  expect_out "train"

  # more connections than it has places for, none of which ever asks: each sends a byte now and then
  last="a request beside idle connections"
  (
    trap '' PIPE
    lines=()
    for ((i = 0; i < 200; i++)); do
      { exec {line}<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null && lines+=("$line")
      [ $((i % 2)) -eq 0 ] || printf 'GET / HTTP/1.1\r\nX: ' >&"$line"
    done
    echo "${#lines[@]}" >opened
    while :; do
      for line in "${lines[@]}"; do printf x >&"$line"; done
      sleep 0.5
    done
  ) 2>/dev/null &
  idle=$!
  for ((i = 0; i < 600; i++)); do
    [ -s opened ] && break
    sleep 0.1
  done
  expect "many connections" test "$(cat opened)" -gt 150
  for ((i = 0; i < 5; i++)); do
    get "$url/none"
    expect_status 404
  done
  kill "$idle"
  wait "$idle" 2>/dev/null
fi

# a port that is taken, then the end
run report learn --watch --port "$port"
expect_refusal 1 "cannot listen on 127.0.0.1:$port"
interrupt "$pid" INT
last="mirrormap report train learn --watch"
expect_code 0
expect "one line in all" test "$(wc -l <watching)" -eq 1

finish
