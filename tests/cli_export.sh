#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `export --tensorboard`: which folders there are, that nothing is overwritten, runs that are damaged
# or going on; and, where Python has it, what TensorBoard itself reads.
# usage: cli_export.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
export MIRRORMAP_DATA=$2 # a program that is not in build/ has no presets beside it
cd "$work" || exit 1

small=(--env GridWorld-small --kind piecewise --es openes --population 4 --set steps=256 --set envs=8
  --set unroll=16 --set n=10 --set validation_tasks=2 --set validation_every=2)
run learn "${small[@]}" --generations 4 --quiet --out search
expect_code 0
run train --env CartPole-v1 --map negentropy --seeds 3 --seed 5 --set steps=4096 --quiet --out agents
expect_code 0

subs() { find "$1" -mindepth 1 -type d -printf '%P\n' | sort | tr '\n' ' '; }
# shellcheck disable=SC2329 # called through expect
one_file_each() { # FOLDER: in every sub-folder one event file that is not empty, and nothing else
  test "$(find "$1" -type f | wc -l)" -eq "$(find "$1" -mindepth 1 -type d | wc -l)" &&
    test "$(find "$1" -type f -size +50c -path '*/*/events.out.tfevents.[0-9]*' | wc -l)" -eq \
      "$(find "$1" -type f | wc -l)"
}

# ---------------------------------------------------------------------------------------------
# folders

for form in --tensorboard --csv; do # parents are made as other commands make them
  run export search $form --out "deep/er$form/logs"
  expect_code 0
done
run report search --no-figures --out deep/page/here
expect_code 0
run export search --tensorboard
expect_code 0
expect_no_out
expect_err "wrote search/tensorboard (6 event files, "
expect "a folder for each curve" test "$(subs search/tensorboard)" = \
  "search validation-initial validation-l2 validation-learned validation-negentropy validation-random "
expect "a file in each" one_file_each search/tensorboard
run export agents/run.db --tensorboard --out logs --quiet
expect_code 0
expect_no_err
expect "a folder for each seed" test "$(subs logs)" = "mean seed-5 seed-6 seed-7 "
expect "a file in each" one_file_each logs
name=$(basename "$(find logs/mean -type f)")
expect "named after the run" test "$(find logs -name "$name" | wc -l)" -eq 4

# ---------------------------------------------------------------------------------------------
# nothing is overwritten

cp -r logs before
run export agents --tensorboard --out logs
expect_refusal 2 "logs exists already (--force replaces what is in it)"
run export search --tensorboard
expect_refusal 2 "search/tensorboard exists already"
echo old >"logs/mean/$name"
run export agents --tensorboard --out logs --force
expect_code 0
expect "the same bytes" diff -r before logs
run export search --tensorboard --out logs --force
expect_refusal 2 "is of another run" "choose another folder"
expect "as it was" diff -r before logs
mkdir empty
run export agents --tensorboard --out empty
expect_code 0
expect "an empty folder is filled" diff -r before empty
echo text >file
for force in "" --force; do
  run export agents --tensorboard --out file $force
  expect_refusal 2 "cannot make the folder 'file'"
done
expect "the file is as it was" grep -qx text file
if [ "$(id -u)" -ne 0 ]; then
  mkdir closed
  chmod 500 closed
  run export agents --tensorboard --out closed
  expect_code 1
  expect_err "cannot make the folder 'closed/"
fi

# ---------------------------------------------------------------------------------------------
# rliable: for each map its final returns, runs x environments

run transfer --maps tsallis:0.5,l2 --controls none --envs GridWorld-small,GridWorld-sparse --seeds 3 --seed 5 \
  --set steps=1024 --set envs=8 --set unroll=16 --out table --quiet
run export table --rliable
expect_code 0
expect_no_err
expect_json
returns() { # MAP: [[..],..] as runs.csv has them
  awk -F, -v map="$1" '
    $1 == map { row[$3] = row[$3] (row[$3] == "" ? "" : ",") $4; if (!seen[$3]++) order[++n] = $3 }
    END { for (i = 1; i <= n; i++) printf("%s[%s]", (i > 1 ? "," : ""), row[order[i]]) }' table/runs.csv
}
expect "layout" test "$(cat "$out")" = \
  "{\"envs\":[\"GridWorld-small\",\"GridWorld-sparse\"],\"seeds\":[5,6,7],\"scores\":{\"tsallis:0.5\":[$(returns tsallis:0.5)],\"l2\":[$(returns l2)]}}"
run export table/run.db --rliable --out scores.json --quiet
expect_code 0
expect_no_out
expect "the same in a file" parse_json scores.json
run export table --rliable --out scores.json
expect_refusal 2 "scores.json" "exists already"
run export table --rliable --out scores.json --force
expect_code 0
run export search --rliable
expect_refusal 2 "'search' is a run of learn: --rliable is for transfer studies"
run export table --rliable --table curve
expect_refusal 2 "'--table' is for --csv and --jsonl"
# a run that ended before its first episode has none
run transfer --maps l2 --controls none --envs Acrobot-v1 --seeds 1 --set steps=128 --set envs=4 --set unroll=32 --out none --quiet
run export none --rliable
expect_out '"scores":{"l2":[[null]]}'
# a study that has not ended has no such table, neither here nor for compare
"$program" transfer --maps l2,tsallis:3 --controls none --envs GridWorld-small --seeds 100000 --out open --quiet \
  >"$out" 2>"$err" </dev/null &
interrupt $! INT
run export open --rliable
expect_refusal 2 "open: expected the folder of a transfer study that ended, found " " of 200000 runs"
run compare open
expect_refusal 2 "open: expected the folder of a transfer study that ended, found no runs.csv"

# ---------------------------------------------------------------------------------------------
# usage

run export agents --tensorboard --csv
expect_refusal 2 "expected one of --csv, --jsonl, --tensorboard, --rliable and --map FILE"
run export agents --tensorboard --table curve
expect_refusal 2 "'--table' is for --csv and --jsonl"
run export agents --tensorboard --generation 1
expect_refusal 2 "'--generation' is for --map"
run export agents --map x.json --out y
expect_refusal 2 "'--out' is for --csv, --jsonl, --tensorboard and --rliable"

# ---------------------------------------------------------------------------------------------
# going on, damaged

"$program" learn "${small[@]}" --generations 1000000 --quiet --out live >/dev/null 2>&1 &
pid=$!
for _ in $(seq 600); do
  run runs live --json
  case $(field generations 2>/dev/null) in [1-9]*) break ;; esac
  sleep 0.05
done
run export live --tensorboard --out growing
expect_code 0
first=$(find growing/search -type f -printf '%s')
run export live --tensorboard --out growing --force
expect_code 0
expect "more of it" test "$(find growing/search -type f -printf '%s')" -ge "$first"
kill -9 $pid
wait $pid 2>/dev/null

run learn "${small[@]}" --generations 12 --quiet --out damaged
size=$(wc -c <damaged/run.db)
dd if=/dev/zero of=damaged/run.db bs=4096 count=1 seek=$((size / 8192)) conv=notrunc 2>/dev/null
run export damaged --tensorboard --out part --quiet
expect_code 1
expect_err "is damaged"
expect_err "only what is intact was written"
expect "one line on stderr" test "$(wc -l <"$err")" -eq 1
expect "what is intact" one_file_each part

# ---------------------------------------------------------------------------------------------
# TensorBoard reads the numbers that CSV has

cat >read.py <<'EOF'
import csv, struct, sys
from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer

def single(text):
    return struct.unpack("f", struct.pack("f", float(text)))[0]

def scalars(folder, run, tag):
    logs = EventMultiplexer(size_guidance={"scalars": 0})
    logs.AddRunsFromDirectory(folder)
    logs.Reload()
    return [(e.step, e.value) for e in logs.Scalars(run, tag)]

rows = list(csv.DictReader(open("generation.csv")))
for column in ["fitness_mean", "fitness_sd", "sigma"]:
    known = [(int(r["generation"]), single(r[column])) for r in rows if r[column]]
    assert known and scalars("search/tensorboard", "search", "search/" + column) == known, column
rows = [r for r in csv.DictReader(open("score.csv")) if r["map"] == "learned"]
steps = sorted({int(r["generation"]) for r in rows})
means = []
for step in steps:
    values = [float(r["value"]) for r in rows if int(r["generation"]) == step]
    means.append((step, single(sum(values) / len(values))))
assert means and scalars("search/tensorboard", "validation-learned", "validation/value") == means
rows = list(csv.DictReader(open("curve.csv")))
for job in range(3):
    known = [(int(r["step"]), single(r["value"])) for r in rows if r["job"] == str(job) and r["value"]]
    assert known and scalars("logs", "seed-%d" % (5 + job), "return") == known, job
EOF
if python3 -c 'import tensorboard' >/dev/null 2>&1; then
  for table in generation score; do
    run export search --csv --table $table --out $table.csv --quiet
    expect_code 0
  done
  run export agents --csv --table curve --out curve.csv --quiet
  expect_code 0
  last="python3 read.py"
  python3 read.py >"$out" 2>"$err"
  code=$?
  expect_code 0
else
  echo "SKIPPED: python3 has no module tensorboard, so its own reader was not asked"
fi

finish
