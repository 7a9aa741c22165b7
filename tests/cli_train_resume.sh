#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `train` with a run folder: killed, interrupted, out of time, out of space, taken up again on other
# numbers of threads, it ends with the same numbers and the same policies; refuses what it should.
# usage: cli_train_resume.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
export MIRRORMAP_DATA=$2 # a program that is not in build/ has no presets beside it
cd "$work" || exit 1

short=(--env CartPole-v1 --map l2 --set envs=4 --set unroll=32 --set hidden=24)
brief=("${short[@]}" --set epochs=2)
sanitized=no # everything takes ten times as long there
"$program" --version | grep -q sanitizers && sanitized=yes

# without what a clock or the place of a run says: everything else must be the same
timeless() {
  sed -E 's/"(env_steps_per_second|wall_seconds|rollout|update|value)":[^,}]*/"\1":0/g
    s/"threads":(null|[0-9]+)/"threads":0/; s/"isa":"[a-z0-9]+"/"isa":""/; s/"(run|policy)":"[^"]*"/"\1":""/g' "$1"
}

# same RUN RUN: the same results, rows and policies
same() {
  same_runs train "$@" && cmp -s "$1/policy.safetensors" "$2/policy.safetensors"
}

# ---------------------------------------------------------------------------------------------
# One run, what it says and leaves behind

run train "${brief[@]}" --set steps=2560 --seeds 3 --seed 4 --threads 2 --out one --json
expect_code 0
expect_json
expect_err 'one: 3 runs of 2.56 k steps'
for text in '"run":"one"' '"state":"done"' '"env":"CartPole-v1","algo":"ampo","map":"l2"' '"seeds_done":3' \
  '"policy":"one/policy.safetensors"' '"optimal_mean":null' '"step":2560,'; do
  expect_out "$text"
done
finals=$(field finals)
expect "files" test -s one/run.db -a -s one/policy.safetensors -a "$(find one -type f | wc -l)" -eq 2
run train "${brief[@]}" --set steps=2560 --seeds 3 --seed 4 --threads 1 --isa portable --out two --quiet
expect_code 0
expect_no_err
expect_out 'policy       two/policy.safetensors'
expect "other threads and kernels, the same bits" same one two
run train "${brief[@]}" --set steps=2560 --seeds 3 --seed 5 --out other --quiet
expect_not "other seeds differ" same one other

run train "${short[@]}" --set steps=2560 --quiet
expect_code 0
run train --env MinAtar/Breakout-v1 --map l2 --set steps=2048 --set envs=8 --quiet
expect_code 0
run train "${short[@]}" --set steps=2560 --quiet
expect "folders of their own" test -s runs/train-CartPole-v1-1/run.db -a -s runs/train-CartPole-v1-2/run.db \
  -a -s runs/train-Breakout-v1-1/policy.safetensors

run runs . --json
expect_code 0
expect_out '"run":"./one","state":"done","error":null,"command":"train","env":["CartPole-v1"],"generations":0,"planned":null,"evaluations":0,"env_steps":7680,"best_validation":null,"best_generation":null,"trainings":3,"seeds":3,'
run runs one
expect "a line of the list" grep -Eq '^one +done +3/3 +7\.68 k +- +20' "$out"
run export one --csv
expect_code 0
expect "a row for each seed" test "$(wc -l <"$out")" -eq 4
expect "the finals" test "$(awk -F, 'NR > 1 { print $4 }' "$out" | tr '\n' ' ')" = "$finals "
run export one --csv --table curve
expect "twenty points each" test "$(wc -l <"$out")" -eq 61

# tables are kept only on demand
run train --env GridWorld-small --map l2 --set steps=1024 --set envs=8 --set unroll=16 --json
expect_code 0
expect_out '"run":null,"state":"done"'
plain=$(field finals)
expect "no folder" test ! -e runs/train-GridWorld-small-1
run train --env GridWorld-small --map l2 --set steps=1024 --set envs=8 --set unroll=16 --seeds 4 --out table --json --quiet
expect_code 0
expect "the same value" test "$(field finals | cut -d' ' -f1)" = "$plain"
timeless "$out" >first
run train --resume table --json --quiet
expect_code 0
timeless "$out" >second
expect "the same again from the database" cmp -s first second
expect "no policy of a table" test ! -e table/policy.safetensors

# a map and a task file travel with the run
printf 'grid: 4\nstart: [0, 0]\nobjects:\n  - {cell: [3, 3], reward: 1, terminate: 1, respawn: 0}\n' >task.yaml
run map new random:3 --out map.json --quiet
steps=409600 # some seconds, so that what follows stops in the middle
[ $sanitized = no ] || steps=25600
task=(--env task.yaml --algo ampo --map map.json --set envs=4 --set unroll=32 --set hidden=24 --set "steps=$steps" --set log=on)
run train "${task[@]}" --out maze --quiet
expect_code 0
run train "${task[@]}" --max-seconds 0.3 --save-seconds 0.05 --out moved --json --quiet
expect_code 0
expect_out '"state":"stopped"'
rm task.yaml map.json
mv moved elsewhere
run train --resume elsewhere --quiet
expect_code 0
expect "without the files, in another place, the same bits" same maze elsewhere

# ---------------------------------------------------------------------------------------------
# Out of time, interrupted, killed

long=("${short[@]}" --set steps=1e8)
run train "${long[@]}" --seeds 3 --threads 2 --max-seconds 0.5 --out late --json
expect_code 0
expect_json
expect_out '"state":"stopped"'
expect_out '"finals":[null,null,null]'
expect_out '"final_mean":null'
expect_err "stopped after 0 of 3 runs; resume with 'train --resume late'"
run runs late --json
expect_out '"state":"stopped"'
run train --resume late --max-seconds 0.3
expect_code 0
expect_out '0 of 3 runs'
expect_interrupts train 'after 0 of 1 runs' "${long[@]}"

# kill -9 at ten moments, then to the end: the same as a run that was left alone
wanted=10 steps=51200
[ $sanitized = no ] || wanted=3 steps=12800
slow=("${short[@]}" --set "steps=$steps" --set log=on --seeds 4)
for algo in ampo ppo; do
  wild=("${slow[@]}" --algo "$algo")
  [ $algo = ampo ] || wild=(--env Breakout-MinAtar --map negentropy --algo ppo --set envs=8 --set "steps=$steps" --seeds 4)
  run train "${wild[@]}" --out "calm-$algo" --quiet --json
  expect_code 0
  seconds=$(field wall_seconds)
  last="mirrormap train --algo $algo, killed"
  kills=0 tries=0
  while [ "$kills" -lt "$wanted" ] && [ "$tries" -lt 100 ]; do
    tries=$((tries + 1))
    if [ -e "killed-$algo/run.db" ]; then
      set -- --resume "killed-$algo"
    else
      set -- "${wild[@]}" --out "killed-$algo"
    fi
    "$program" train "$@" --quiet --save-seconds 0.02 --threads $((1 + tries % 3)) >"$out" 2>"$err" </dev/null &
    pid=$!
    sleep "$(awk -v r="$RANDOM" -v s="$seconds" 'BEGIN { printf "%.3f", 0.01 + r / 32768 * s / 8 }')"
    # before there is a database nothing can be lost; such a kill does not count
    kill -9 "$pid" 2>"$err" && [ -e "killed-$algo/run.db" ] && kills=$((kills + 1))
    wait "$pid" 2>"$err"
  done
  expect "$wanted kills hit a running process" test "$kills" -eq "$wanted"
  run train --resume "killed-$algo" --quiet
  expect_code 0
  expect "$algo: $wanted kills change nothing" same "calm-$algo" "killed-$algo"
done

# ---------------------------------------------------------------------------------------------
# Out of space: by a limit on the size of files, which everybody may set

last="mirrormap train, files up to 60 KB"
# shellcheck disable=SC2016 # expanded by the inner shell
bash -c 'ulimit -S -f 60; exec "$@"' - "$program" train "${slow[@]}" \
  --save-seconds 0.05 --threads 1 --out full >"$out" 2>"$err" </dev/null
code=$?
expect_code 1
expect_no_out
expect_err "continuing without it"
expect_err "is safe"
expect_err "resume with 'train --resume full'"
run train --resume full --quiet
expect_code 0
expect "with space again, the same bits" same calm-ampo full

# ---------------------------------------------------------------------------------------------
# Progress of a single long run: a line now and then without a terminal, and in the list of runs

long=(train --env CartPole-v1 --map l2 --set steps=1e8 --set unroll=16 --threads 1)
run "${long[@]}" --max-seconds 11 --out watched
expect_code 0
expect "a line after ten seconds" grep -Eq \
  '^mirrormap: train: [0-9]+ %, [0-9.]+( [kM])? steps/s, [0-9]+:[0-9:]+ left, iteration [1-9][0-9]*/1562500$' "$err"
expect "one line only" test "$(grep -c 'steps/s' "$err")" -eq 1
run runs watched
expect "no run is done, but some of it" grep -Eq '^watched +stopped +0/1, [0-9]+ % +[1-9][0-9.]* [kM] ' "$out"
run runs watched --json
expect "steps of the checkpoint" grep -Eq '"checkpointed_env_steps":[1-9]' "$out"
expect "as many as the plan says" test "$(grep -o '"planned_env_steps":[0-9.e+]*' "$out")" = '"planned_env_steps":100000000'
if command -v script >/dev/null 2>&1 && script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
  last="train --resume watched (on a terminal)"
  script -qec "$(printf '%q ' "$program" train --resume watched --threads 1 --max-seconds 3)" /dev/null >"$out" 2>"$err" </dev/null
  expect "the bar moves within a run" test "$(grep -o 'iteration [0-9]*/1562500' "$out" | sort -u | wc -l)" -ge 2
  expect_not "from where it was" grep -q 'iteration [0-9]/1562500' "$out"
fi

# ---------------------------------------------------------------------------------------------
# Refusals

refuse 2 "a run in 'one' already" train "${short[@]}" --out one
for option in '--env CartPole-v1' '--map l2' '--algo ampo' '--seeds 4' '--seed 1' '--out x' '--preset bcs'; do
  # shellcheck disable=SC2086 # two words
  refuse 2 'has fixed it' train --resume one $option
done
refuse 2 'has fixed its settings' train --resume one --set lr=1
refuse 2 'nowhere' train --resume nowhere
refuse 2 "'--env' is required" train
refuse 2 '--max-seconds' train --env GridWorld-small --map l2 --max-seconds 5
refuse 2 'negentropy' train --env CartPole-v1 --map l2 --algo ppo
refuse 2 'less than one iteration' train "${short[@]}" --set steps=10
refuse 2 'has continuous actions' train --env Pendulum-v1 --map l2 --algo ampo
expect "nothing was made for what was refused" test ! -e runs/train-CartPole-v1-3 -a ! -e runs/train-Pendulum-v1-1
run learn --env GridWorld-small --generations 1 --population 4 --set steps=512 --set envs=8 --set unroll=8 \
  --set validation_tasks=2 --out search --quiet
expect_code 0
refuse 2 "a run of 'learn', not of 'train'" train --resume search
refuse 2 "not of 'learn'" learn --resume one

# a database of version 2, begun by the program of that time, goes on
mkdir old && cp "$MIRRORMAP_DATA/tests/golden/run_version_2.db" old/run.db
run train --resume old --json --quiet
expect_code 0
expect_out '"finals":[266.32421875,349.6953125,307.5390625]'

# damaged runs are refused and stay as they are; what is intact can be exported
cp -r late torn && truncate -s 20000 torn/run.db
cp -r late flipped && size=$(wc -c <flipped/run.db)
# some bytes of every page behind the first two: a single one might be out of use
for ((at = 2 * 4096 + 2000; at < size; at += 4096)); do
  printf 'damage' | dd of=flipped/run.db bs=1 seek="$at" conv=notrunc 2>/dev/null
done
before=$(cksum <torn/run.db)
for name in torn flipped; do
  refuse 2 'is damaged' train --resume $name --max-seconds 30
  run export $name --jsonl
  expect_code 1
  expect_err 'is damaged'
done
expect "what was torn was not touched" test "$before" = "$(cksum <torn/run.db)"
mkdir text && echo 'no database' >text/run.db
refuse 2 'text' train --resume text

finish
