#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Environments with continuous actions from end to end: train with pmd-gaussian and ppo, the same bits on
# any number of threads, after an interruption and in every build; policies played; refusals.
# usage: cli_gaussian.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
export MIRRORMAP_DATA=$2 # a program that is not in build/ has no presets beside it
cd "$work" || exit 1

short=(--env Pendulum-v1 --set envs=8 --set unroll=16 --set minibatches=4 --set epochs=2 --set hidden=24)

# without what a clock says and where it ran
timeless() {
  sed -E 's/"(env_steps_per_second|wall_seconds)":[^,}]*/"\1":0/g; s/"threads":(null|[0-9]+)/"threads":0/
    s/"isa":"[a-z0-9]+"/"isa":""/' "$1"
}

# ---------------------------------------------------------------------------------------------
# The environment's own algorithm, every kind of map

for map in negentropy l2 tsallis:0.5 piecewise random-neural:1; do
  run train "${short[@]}" --map "$map" --set steps=2560 --out "run-$map" --json --quiet
  expect_code 0
  expect_json
  expect_out '"env":"Pendulum-v1","algo":"pmd-gaussian"'
  expect_out '"density_scale":1'
  expect_out '"samples":{"least_ess":'
  expect_out '"normalise_observation":"on","scale_reward":"on"'
done
expect "the policy" test -s run-l2/policy.safetensors
run export run-l2 --csv --table measure
expect_code 0
for measure in ess log_ratio_max divergence clamped capped nonfinite unstable; do
  expect "$measure at each of twenty updates" test "$(grep -c ",$measure," "$out")" -eq 20
done
expect "its own numbers" grep -aq '"actor.log_std"' run-l2/policy.safetensors
expect "what observations are scaled by" grep -aq '"input.variance"' run-l2/policy.safetensors

# threads, builds
run train "${short[@]}" --map l2 --set steps=2560 --seeds 3 --threads 1 --isa portable --out one --quiet
expect_code 0
run train "${short[@]}" --map l2 --set steps=2560 --seeds 3 --threads 2 --out two --quiet
expect_code 0
expect "other threads and kernels, the same bits" cmp -s one/policy.safetensors two/policy.safetensors

# nothing ended, so nothing is known
run train "${short[@]}" --map l2 --set steps=1280 --out endless
expect_code 0
expect_err 'Pendulum-v1: 1280 steps of 8 environments are 160 of each, and an episode has 200: none will end'
expect_out 'recent       unknown'
expect_out 'samples      at least '
run learn --env Pendulum-v1 --preset mujoco-quick --set steps=2048 --generations 1 --population 4 --out endless-search
expect_code 0
expect_err 'none will end'
run transfer --maps l2 --envs Pendulum-v1 --seeds 2 "${short[@]:2}" --set steps=1280 --out endless-table
expect_code 0
expect_err 'none will end'
run train "${short[@]}" --map l2 --set steps=5120 --out ends
expect_code 0
expect_not "enough steps are no matter" grep -q 'none will end' "$err"
expect_out ' over the episodes of the last tenth'

# in the middle
steps=131072
"$program" --version | grep -q sanitizers && steps=16384 # each takes ten times as long there
long=("${short[@]}" --map random-neural:1 --set "steps=$steps" --seeds 2 --threads 2 --quiet)
run train "${long[@]}" --out whole
expect_code 0
"$program" train "${long[@]}" --out cut >"$out" 2>"$err" </dev/null &
interrupt $! INT
last="an interrupted training"
expect_code 130
run train --resume cut --threads 1 --quiet
expect_code 0
expect "taken up again, the same bits" cmp -s whole/policy.safetensors cut/policy.safetensors

# ppo
run train "${short[@]}" --algo ppo --set steps=2560 --out ppo --json --quiet
expect_code 0
expect_out '"algo":"ppo"'
expect_out '"entropy_coef":0,' # as the preset of these environments has it

# presets
run train --env Pendulum-v1 --map negentropy --preset mujoco-quick --set steps=4096 --out quick --quiet
expect_code 0
run train --env MountainCarContinuous-v0 --algo ppo --preset ppo-mujoco --set envs=32 --set minibatches=2 \
  --set steps=640 --out car --quiet
expect_code 0
expect_out "MountainCarContinuous-v0, ppo: 1 run of 640 steps"

# walls: a car that swings meets the left one
car=(train --env MountainCarContinuous-v0 --map negentropy --set envs=32 --set unroll=250 --set steps=32000
  --set minibatches=4 --set hidden=8 --json --quiet)
for walls in off on; do
  run "${car[@]}" --set epochs=1 --set gymnasium_walls=$walls --out "walls-$walls"
  expect_code 0
  expect_out "\"gymnasium_walls\":\"$walls\""
  run export "walls-$walls" --csv --table curve
  cp "$out" "walls-$walls.csv"
  # the same networks, as nothing is learned, but each between the walls of its training
  run "${car[@]}" --set epochs=0 --set normalise_observation=off --set gymnasium_walls=$walls --out "same-$walls"
  run eval --policy "same-$walls" --episodes 100 --json
  expect_code 0
  field mean_return >"same-$walls.return"
done
expect_not "walls change the curve" cmp -s walls-off.csv walls-on.csv
expect_not "policies are evaluated between the walls of their training" cmp -s same-off.return same-on.return
run env show MountainCarContinuous-v0 --policy walls-on --frames walls.svg --steps 2
expect_code 0
expect "a policy plays by the walls it was trained with" grep -q 'gymnasium_walls=on' walls.svg
refuse 2 "setting 'gymnasium_walls' is for MountainCarContinuous-v0" \
  train --env Pendulum-v1 --map l2 --set gymnasium_walls=on

# ---------------------------------------------------------------------------------------------
# Policies

for kind in run-random-neural:1 ppo one; do
  run eval --policy "$kind" --episodes 5 --json
  expect_code 0
  expect_json
  timeless "$out" >first
  run eval --policy "$kind" --episodes 5 --json --threads 1 --isa portable
  timeless "$out" >second
  expect "the same episodes" cmp -s first second
done
run eval --policy run-l2 --episodes 5 --greedy
expect_code 0
run env play --policy run-l2 --episodes 1 --json
expect_code 0

# a body, elsewhere too
run train --env Hopper --map negentropy --set envs=16 --set minibatches=4 --set hidden=32 --set steps=640 --out hop --quiet
expect_code 0
run eval --policy hop --episodes 3
expect_code 0
run eval --policy hop --episodes 3 --set physics=own --json
expect_code 0
expect_json

# ---------------------------------------------------------------------------------------------
# A search on a body: the same bits on any number of threads, after kills and when it grows

search=(--env Hopper --preset mujoco-laptop --set steps=1024 --set envs=8 --set minibatches=4 --set hidden=16
  --population 6 --set validation_every=2 --set validation_tasks=2 --quiet)
maps() { # FOLDER FOLDER
  cmp -s "$1/best.json" "$2/best.json" && cmp -s "$1/mean.json" "$2/mean.json"
}
run learn "${search[@]}" --generations 4 --out search --json
expect_code 0
expect_json
expect_out '"env":["Hopper"],"algo":"pmd-gaussian"'
expect "a neural map" grep -q '"neural"' search/best.json
run learn "${search[@]}" --generations 4 --threads 1 --isa portable --out search-one
expect "one thread and plain kernels, the same maps" maps search search-one
run learn "${search[@]}" --generations 2 --out search-grown
run learn --resume search-grown --generations 4 --quiet
expect_code 0
expect "grown, the same mean" cmp -s search/mean.json search-grown/mean.json
"$program" learn "${search[@]}" --generations 4 --out search-killed >"$out" 2>"$err" </dev/null &
pid=$!
for ((i = 0; i < 1200; i++)); do # on a busy machine it may take a while to begin
  [ -s search-killed/run.db ] && break
  sleep 0.05
done
for pause in 0.05 0.1 0.2 0.3; do
  sleep $pause
  kill -9 "$pid" 2>/dev/null
  wait "$pid" 2>/dev/null
  "$program" learn --resume search-killed --quiet >"$out" 2>"$err" </dev/null &
  pid=$!
done
kill -9 "$pid" 2>/dev/null
wait "$pid" 2>/dev/null
run learn --resume search-killed --quiet
expect_code 0
expect "killed and taken up, the same maps" maps search search-killed
run train --env Ant --map search/best.json --set envs=8 --set minibatches=4 --set hidden=16 --set steps=1024 --out learned --quiet
expect_code 0

# ---------------------------------------------------------------------------------------------
# Refusals

refuse 2 'has continuous actions: ampo takes discrete ones' train --env Pendulum-v1 --map l2 --algo ampo
refuse 2 "'CartPole-v1' has 2 discrete actions" train --env CartPole-v1 --map l2 --algo pmd-gaussian
refuse 2 "'density_scale'" train --env Pendulum-v1 --map l2 --set density_scale=0
refuse 2 "has no setting 'target'" train --env Pendulum-v1 --map l2 --set target=code
refuse 2 "has no setting 'density_scale'" train --env CartPole-v1 --map l2 --set density_scale=2
refuse 2 'expected negentropy' train --env Pendulum-v1 --map l2 --algo ppo
refuse 2 'has discrete actions' eval --policy run-l2 --env CartPole-v1
refuse 2 "'physics' is for Hopper, HalfCheetah, Ant and Walker2d" eval --policy run-l2 --set physics=own
refuse 2 'has 2 inputs and 1 actions' eval --policy run-l2 --env MountainCarContinuous-v0

finish
