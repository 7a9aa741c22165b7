#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `train --set log=on`: what it records and where it is found again; the same run with and without it, on any
# number of threads and in pieces; who refuses it.
# usage: cli_train_log.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
# shellcheck disable=SC2016 # fields of awk
. "$(dirname "$0")/cli.bash"
export MIRRORMAP_DATA=$2 # a program that is not in build/ has no presets beside it
cd "$work" || exit 1

all="approx_kl clip_fraction entropy explained_variance policy_loss support value_loss"
cart=(--env CartPole-v1 --set envs=4 --set unroll=32 --set hidden=24 --set steps=2560 --seeds 2)
pole=(--env Pendulum-v1 --set envs=8 --set unroll=16 --set hidden=24 --set steps=2560 --set minibatches=4 --set epochs=2 --seeds 2)

# rows RUN TABLE FILE
rows() { "$program" export "$1" --csv --table "$2" >"$3" 2>"$err"; }

# networks alone: settings are in the head of the file
networks() { tail -c +$((9 + $(od -An -tu8 -N8 "$1/policy.safetensors"))) "$1/policy.safetensors"; }

# check RUN NAMES..: these measures and no others, at each of twenty updates of two seeds
check() {
  local run=$1 name
  shift
  last="export $run --csv --table measure"
  rows "$run" measure "$run.csv"
  expect "$run: so many" test "$(wc -l <"$run.csv")" -eq $((1 + 40 * $#))
  for name in "$@"; do
    expect "$run: $name at every update" test "$(grep -Ec "^[01],$name,[0-9]+,-?[0-9.e+-]+\$" "$run.csv")" -eq 40
  done
}

# both RUN ARGS..: trained with log=on and off, to the same returns and networks
both() {
  local name=$1
  shift
  run train "$@" --set log=on --out "$name" --quiet --threads 2
  expect_code 0
  expect_no_err
  run train "$@" --out "$name-off" --quiet --threads 1 --isa portable
  expect_code 0
  rows "$name" curve on.csv
  rows "$name-off" curve off.csv
  expect "$name: the same returns" cmp -s on.csv off.csv
  expect "$name: the same networks" cmp -s <(networks "$name") <(networks "$name-off")
}

# ---------------------------------------------------------------------------------------------
# What is recorded, by whom

both ampo "${cart[@]}" --map l2
check ampo approx_kl entropy explained_variance policy_loss support value_loss
rows ampo-off measure none.csv
expect "nothing by default" test "$(wc -l <none.csv)" -eq 1
both ppo "${cart[@]}" --algo ppo
# shellcheck disable=SC2086 # words
check ppo $all
seven="capped clamped ess log_ratio_max nonfinite unstable"
both gaussian "${pole[@]}" --map l2
# shellcheck disable=SC2086
check gaussian $seven divergence approx_kl entropy explained_variance policy_loss value_loss
# shellcheck disable=SC2086
check gaussian-off $seven divergence
both ppo-gaussian "${pole[@]}" --algo ppo
# shellcheck disable=SC2086
check ppo-gaussian $seven approx_kl clip_fraction entropy explained_variance policy_loss value_loss

# first policies are uniform
expect "an entropy of at most log 2" awk -F, '$2 == "entropy" && !($4 > 0 && $4 < 0.69315) { bad = 1 } END { exit bad }' ampo.csv
expect "one or two actions" awk -F, '$2 == "support" && !($4 >= 1 && $4 <= 2) { bad = 1 } END { exit bad }' ampo.csv
expect "a critic that learns" awk -F, '
  $2 == "explained_variance" && $1 == 0 { if (!n++) first = $4; final = $4 }
  END { exit !(first < 0.5 && final > first) }' ampo.csv

run train "${cart[@]}" --map l2 --set log=on --json
expect_code 0
expect_json
expect_out '"log":"on"'
expect_not "no samples of a density" grep -q '"samples"' "$out"

# other threads and kernels, and in pieces
run train "${cart[@]}" --map l2 --set log=on --threads 1 --isa portable --out alone --quiet
expect_code 0
rows alone measure alone.csv
expect "other threads and kernels, the same bits" cmp -s ampo.csv alone.csv
slow=("${cart[@]/steps=2560/steps=51200}" --map l2 --set log=on)
run train "${slow[@]}" --out calm --quiet
expect_code 0
run train "${slow[@]}" --max-seconds 0.1 --save-seconds 0.02 --out pieces --quiet
for _ in 1 2 3; do
  expect_code 0
  run train --resume pieces --max-seconds 0.1 --save-seconds 0.02 --quiet
done
run train --resume pieces --quiet
expect_code 0
rows calm measure calm.csv
rows pieces measure pieces.csv
expect "in pieces, the same bits" cmp -s calm.csv pieces.csv
expect "all of them" test "$(wc -l <calm.csv)" -eq $((1 + 6 * 2 * 400))

# ---------------------------------------------------------------------------------------------
# Where it is found again

run export ppo --jsonl
expect_code 0
expect "JSON lines" grep -Eq '^\{"table":"measure","job":1,"name":"explained_variance","step":2560,"value":' "$out"
run export ppo --tensorboard --out events --quiet
expect_code 0
for name in $all; do
  for folder in seed-0 seed-1 mean; do
    expect "$name of $folder for TensorBoard" grep -aqrF "$name" "events/$folder"
  done
done
run report ppo --no-figures
expect_code 0
sed -n 's/.*<script type="application\/json" id="report-data">\(.*\)<\/script>$/\1/p' ppo/report.html >data.json
for name in $all; do
  expect "$name on the page" grep -qF "{\"name\":\"$name\",\"step\":[128,256," data.json
done
if command -v python3 >/dev/null; then
  # means and standard errors of the page against the rows
  cat >means.py <<'EOF'
import csv, json, math
rows = list(csv.DictReader(open("ppo.csv")))
measures = json.load(open("data.json"))["runs"][0]["curves"][0]["measures"]
assert sorted(m["name"] for m in measures) == sorted({r["name"] for r in rows})
for m in measures:
    own = [[float(r["value"]) for r in rows if r["name"] == m["name"] and r["job"] == job] for job in "01"]
    assert len(m["step"]) == len(own[0]) == 20
    for a, b, mean, sem in zip(*own, m["mean"], m["sem"]):
        assert math.isclose(mean, (a + b) / 2, rel_tol=1e-12, abs_tol=1e-15), (m["name"], a, b, mean)
        assert math.isclose(sem, abs(a - b) / 2, rel_tol=1e-9, abs_tol=1e-12), (m["name"], a, b, sem)
EOF
  last="python3 means.py"
  python3 means.py >"$out" 2>"$err"
  code=$?
  expect_code 0
fi
run report ampo-off --no-figures
expect_code 0
expect "a run without any" grep -qF '"measures":[]' ampo-off/report.html

# ---------------------------------------------------------------------------------------------
# Refusals, before there is a run

only="setting 'log': only train keeps what it records: expected off"
refuse "$only" learn --env CartPole-v1 --set log=on
refuse "$only" transfer --maps l2 --envs CartPole-v1 --set log=on
printf 'method: grid\nparameters:\n  lr: {choice: [0.001, 0.01]}\n' >space.yaml
refuse "$only" tune --env CartPole-v1 --map l2 --space space.yaml --set log=on
refuse "$only" reproduce control --scale smoke --set log=on
printf 'method: grid\nparameters:\n  log: {choice: [off, on]}\n' >space.yaml
refuse "it changes nothing in a training" tune --env CartPole-v1 --map l2 --space space.yaml
refuse "pmd has no setting 'log' (only ampo, pmd-gaussian, ppo)" train --env GridWorld-small --map l2 --set log=on
refuse "setting 'log': unknown value 'yes' (one of off, on)" train "${cart[@]}" --map l2 --set log=yes
expect "nothing but the run without --out was made" test "$(find runs -mindepth 1 -maxdepth 1 | wc -l)" -eq 1

run train --help settings
expect_out 'log=off|on'

finish
