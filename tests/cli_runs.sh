#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `runs` and `export`: what they show of runs that are done, running, killed, damaged or of another
# version; the forms of their output; files that are never overwritten.
# usage: cli_runs.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
export MIRRORMAP_DATA=$2 # a program that is not in build/ has no presets beside it
cd "$work" || exit 1

small=(--env GridWorld-small --kind piecewise --es openes --population 4 --set steps=256 --set envs=8
  --set unroll=16 --set n=10 --set validation_tasks=2 --set validation_every=2)
learn() { run learn "${small[@]}" --quiet "$@"; }

# shellcheck disable=SC2329 # called through expect
same_csv() { # FILE LINES HEADER: that many lines, the header first, all with as many commas
  test "$(wc -l <"$1")" -eq "$2" && test "$(head -n 1 "$1")" = "$3" &&
    awk -F, 'NR == 1 { n = NF } NF != n { bad = 1 } END { exit bad }' "$1"
}

# ---------------------------------------------------------------------------------------------
# nothing there

run runs
expect_code 0
expect_no_out
expect_err "no runs found"
run runs --json
expect_code 0
expect_json
expect_out '{"runs":[]}'
run runs nowhere
expect_refusal 2 "nowhere"
run runs "$program"
expect_refusal 2 "cannot open the folder"
run export nowhere --csv
expect_refusal 2 "no run 'nowhere'"
mkdir empty
run export empty --csv
expect_refusal 2 "there is no run.db in it"

# ---------------------------------------------------------------------------------------------
# a list

learn --generations 4
expect_code 0
learn --generations 3 --seed 1
expect_code 0
learn --generations 2 --out runs/deeper/other
expect_code 0
for i in 3 4 5 6 7 8 9 10; do
  mkdir "runs/learn-GridWorld-small-$i"
done
learn --generations 2
expect_code 0
run runs
expect_code 0
expect_no_err
expect "four lines and a header" test "$(wc -l <"$out")" -eq 5
expect "in order, numbers by their value" test "$(awk 'NR > 1 { printf "%s ", $1 }' "$out")" = \
  "runs/deeper/other runs/learn-GridWorld-small-1 runs/learn-GridWorld-small-2 runs/learn-GridWorld-small-11 "
expect_out "4/4"
expect_out "GridWorld-small"
expect "when they were at work" test "$(grep -Ec ' 20[0-9-]+ [0-9:]+$' "$out")" -eq 4
expect "80 columns" awk 'length > 80 { exit 1 }' "$out"
expect "only the database is left" test "$(find runs -name 'run.*' | sort | uniq | grep -vc 'run.db$')" -eq 0
run runs --json
expect_code 0
expect_json
for name in run state error command env generations planned evaluations env_steps best_validation \
  best_generation seconds started last sessions; do
  expect "field $name" grep -qF "\"$name\":" "$out"
done
expect_out '"run":"runs/learn-GridWorld-small-1","state":"done","error":null,"command":"learn","env":["GridWorld-small"],"generations":4,"planned":4,"evaluations":16,"env_steps":4096,'
expect "who worked on it" grep -Eq '"sessions":\[\{"started":"[^"]+Z","ended":"[^"]+Z","outcome":"done","host":"[^"]*","backend":"cpu"\}\]' "$out"
run runs runs/learn-GridWorld-small-1/ --json
expect_code 0
expect_out '{"runs":[{"run":"runs/learn-GridWorld-small-1",'
expect "one" test "$(grep -o '"run":' "$out" | wc -l)" -eq 1

# phases add up
run learn "${small[@]}" --set schedule=2x256,3x512 --quiet --out phases
expect_code 0
run runs phases --json
expect_out '"generations":5,"planned":5,"evaluations":20,'

# ---------------------------------------------------------------------------------------------
# export: CSV

one=runs/learn-GridWorld-small-1
run export $one --csv
expect_code 0
expect_no_err
expect "rows 0 to 4 of generation" same_csv "$out" 6 \
  generation,phase,sigma,fitness_mean,fitness_sd,fitness_best,nonfinite,env_steps,jobs
expect "row 0 is the start" grep -q '^0,0,[0-9.]*,,,,0,0,0$' "$out"
expect "generation 4" grep -q '^4,0,[0-9.e-]*,[0-9.e-]*,[0-9.e-]*,,0,1024,4$' "$out"
run export $one/run.db --csv --table job
expect_code 0
expect "jobs" same_csv "$out" 17 generation,member,task,env,seed,value,status,env_steps
cp "$out" jobs.csv
# shellcheck disable=SC2016 # awk's dollars
expect "seeds are positive" awk -F, 'NR > 1 && $5 !~ /^[0-9]+$/ { exit 1 }' "$out"
run export $one --csv --table meta
expect_out 'command,learn'
expect "a text with quotes and commas is quoted" grep -q '^config,"{""command"":""learn"",' "$out"
run export $one --csv --table session
expect_out 'session,started,ended,outcome,host,pid,backend,isa,threads,version,build'
expect_out ',done,'
run export $one --csv --out tables
expect_code 0
expect_no_out
for table in meta generation job score timing session; do
  expect "$table.csv" test -s "tables/$table.csv"
done
expect "as on stdout" cmp -s tables/job.csv jobs.csv
expect "nothing else" test "$(find tables -type f | wc -l)" -eq 10
run export $one --csv --out tables
expect_refusal 2 "tables/meta.csv exists already (--force replaces it)"
run export $one --csv --out tables --table score
expect_refusal 2 "tables/score.csv exists already"
run export $one --csv --out tables --force
expect_code 0
run export $one --csv --out other.csv --table timing --quiet
expect_code 0
expect_no_err
expect "timing" same_csv other.csv 5 generation,session,finished,seconds,seconds_jobs,seconds_validation
run export $one --csv --out other.csv
expect_refusal 2 "other.csv exists already"
run export $one --csv --out no/such/folder/x.csv
expect_code 1
expect_err "cannot write 'no/such/folder/x.csv'"

# the same search gives the same rows, but for times
learn --generations 4 --out again --threads 1
run export again --csv --table job
expect "the same jobs" cmp -s "$out" jobs.csv

# ---------------------------------------------------------------------------------------------
# export: JSON lines

run export $one --jsonl
expect_code 0
expect_no_err
cp "$out" all.jsonl
expect "tables in order" test "$(sed 's/^{"table":"\([a-z]*\)".*/\1/' all.jsonl | uniq | tr '\n' ' ')" = \
  "meta generation job score timing session "
expect "null for what is not defined" grep -q '"table":"generation","generation":0,.*"fitness_mean":null' all.jsonl
if [ -n "$json_parser" ]; then
  while read -r line; do
    printf '%s\n' "$line" >line.json
    parse_json line.json || break
    line=
  done <all.jsonl
  expect "every line is an object" test -z "$line"
fi
run export $one --jsonl --table score --out scores.jsonl
expect_code 0
expect "only that table" test "$(grep -c '^{"table":"score",' scores.jsonl)" -eq "$(wc -l <scores.jsonl)"
run export $one --jsonl --out tables
expect_refusal 2 "is a folder"
"$program" export $one --jsonl | head -n 1 >first
expect "a reader that goes away" test "$(wc -l <first)" -eq 1

# ---------------------------------------------------------------------------------------------
# export: maps

run export $one --map last.json
expect_code 0
expect_no_out
expect_err "generation 4"
psi() { tr -d ' \n' <"$1" | sed 's/.*"psi":\(\[[^]]*\]\).*/\1/'; }
expect "the mean that learn left" test "$(psi last.json)" = "$(psi $one/mean.json)"
run export $one --map first.json --generation 0 --quiet
expect_code 0
expect_no_err
expect "another map" test "$(psi first.json)" != "$(psi last.json)"
run map check first.json
expect_code 0
run export $one --map last.json
expect_refusal 2 "exists already"
run export $one --map new.json --generation 5
expect_refusal 2 "no generation 5"
expect_not "nothing written" test -e new.json

# ---------------------------------------------------------------------------------------------
# usage

run export $one
expect_refusal 2 "expected one of --csv, --jsonl, --tensorboard, --rliable and --map"
run export $one --csv --jsonl
expect_refusal 2 "expected one of"
run export $one --csv --generation 3
expect_refusal 2 "'--generation' is for --map"
run export $one --map x.json --table job
expect_refusal 2 "'--table' is for"
run export $one --csv --table jobs
expect_refusal 2 "did you mean 'job'?"
run export --csv
expect_refusal 2 "expected RUN"

# ---------------------------------------------------------------------------------------------
# running, killed

"$program" learn "${small[@]}" --generations 1000000 --quiet --out live >/dev/null 2>&1 &
pid=$!
for _ in $(seq 600); do
  run runs live --json
  case $(field generations 2>/dev/null) in [1-9]*) break ;; esac
  sleep 0.05
done
expect_out '"state":"running"'
run export live --csv
expect_code 0
expect_no_err
expect "rows so far" test "$(wc -l <"$out")" -ge 2
run learn --resume live
expect_refusal 1 "belongs to process $pid on"
kill -9 $pid
wait $pid 2>/dev/null
run runs live --json
expect_code 0
expect_out '"state":"killed"'
run export live --jsonl --out killed.jsonl
expect_code 0

# ---------------------------------------------------------------------------------------------
# damaged, foreign

mkdir bad
learn --generations 12 --out bad/damaged
cp -r bad/damaged bad/short
cp -r bad/damaged bad/text
echo hello >bad/text/run.db
size=$(wc -c <bad/damaged/run.db)
# a page in the middle, and the end
dd if=/dev/zero of=bad/damaged/run.db bs=4096 count=1 seek=$((size / 8192)) conv=notrunc 2>/dev/null
truncate -s $((size * 3 / 4)) bad/short/run.db
for name in damaged short; do
  run export bad/$name --jsonl
  expect_code 1
  expect_err "is damaged"
  expect "one line on stderr" test "$(wc -l <"$err")" -eq 1
  expect "what is intact" test "$(grep -c '"table":"generation"' "$out")" -ge 1
  cp "$out" part.jsonl
  # both in one file: whole lines, in the order in which they were said
  "$program" export bad/$name --jsonl >both 2>&1 </dev/null
  expect "the message comes last, on a line of its own" cmp -s both <(cat part.jsonl "$err")
  run export bad/$name --csv --out "csv-$name"
  expect_code 1
  expect "files all the same" test "$(find "csv-$name" -name '*.csv' | wc -l)" -eq 10
  run learn --resume bad/$name
  expect_refusal 2 "is damaged" "mirrormap export"
done
run export bad/text --csv
expect_refusal 2 "expected an SQLite file"
run runs bad --quiet
expect_code 1
expect_out "unreadable"
expect "the others say damaged" test "$(grep -c ' damaged ' "$out")" -eq 2
expect_err "bad/text"
expect "all three are listed" test "$(wc -l <"$out")" -eq 4
run runs bad --json
expect_code 1
expect_json
expect_out '"state":"unreadable"'

# one bit: rows that a page hides have no checksum
learn --generations 5 --out bits
mkdir flipped
pages=$(($(wc -c <bits/run.db) / 4096))
byte_at() { od -An -tu1 -j "$1" -N 1 bits/run.db | tr -d ' '; }
hidden=0
for ((page = 1; page < pages; page++)); do
  place=$((page * 4096 + 4)) # how many rows the page has
  kind=$(byte_at $((page * 4096)))
  rows=$(byte_at "$place")
  [ "$rows" -gt 0 ] || continue
  [[ "$kind" == 13 || "$kind" == 10 ]] || continue # leaves
  low=$((rows & -rows))
  cp bits/run.db flipped/run.db
  # shellcheck disable=SC2059 # the escape is the byte
  printf "\\x$(printf %x $((rows ^ low)))" |
    dd of=flipped/run.db bs=1 seek="$place" conv=notrunc 2>/dev/null
  hidden=$((hidden + 1))
  run runs flipped --quiet
  expect_code 1
  expect_err "flipped: "
  expect_out " damaged "
  run report flipped --no-figures --quiet
  expect_code 1
  expect_err "is damaged (its pages do not fit together"
  for way in "--csv" "--map flipped/map.json --force"; do
    # shellcheck disable=SC2086 # words
    run export flipped $way --quiet
    expect_code 1
    expect_err "is damaged (its pages do not fit together"
  done
  expect "no map" test ! -e flipped/map.json
done
expect "pages with rows" test "$hidden" -gt 5
# a map that is asked for by its number is the right one
run export bits --map right.json --generation 3
expect_code 0
run export flipped --map flipped/map.json --generation 3
expect_code 1
expect "the same map" cmp right.json flipped/map.json
rm -r flipped

# names that could drive a terminal
mkdir -p "odd/$(printf 'a\033[31mb')"
cp $one/run.db "odd/$(printf 'a\033[31mb')"
run runs odd
expect_code 0
expect_not "no escape sequences" grep -q "$(printf '\033')" "$out"

# help says for every command that makes runs that it goes on
run runs --help
for command in learn train transfer tune reproduce; do
  expect "help of runs has $command" grep -qw "$command" "$out"
done

finish
