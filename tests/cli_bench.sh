#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The form of `bench`; its figures are for `make bench`. The suite of measurements takes some seconds.
# usage: cli_bench.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"

run bench map --json --isa portable
expect_code 0
expect_no_err
expect_json
expect_out '{"results":[{"name":"'
expect_out '"isa":"portable"'
entry='{"name":"[^"]+","value":[0-9.e+-]+,"unit":"[^"]+","limit":([0-9.e+-]+|null),"fraction":([0-9.e+-]+|null)}'
expect "all entries have the five fields" grep -Eq "\"results\":\\[$entry(,$entry)*\\]" "$out"
for kind in negentropy l2 tsallis piecewise neural; do
  expect "phi of $kind" grep -q "/phi/$kind" "$out"
  expect "the projection of $kind" grep -q "/project-[0-9]*/$kind" "$out"
done

sanitized=no # everything takes ten times as long there
"$program" --version | grep -q sanitizers && sanitized=yes
if [ $sanitized = no ]; then
  run bench gridworld --json
  expect_code 0
  expect_no_err
  expect_json
  expect "all entries have the five fields" grep -Eq "\"results\":\\[$entry(,$entry)*\\]" "$out"
  for configuration in all dense sparse long sixteen_rooms labyrinth; do
    for map in negentropy l2 neural; do
      for part in run rollout update value steps; do
        expect "$configuration, $map, $part" grep -q "\"gridworld/$configuration/$map/$part\"" "$out"
      done
    done
  done

  run bench env --json
  expect_code 0
  expect_no_err
  expect_json
  for id in CartPole-v1 Acrobot-v1 MountainCar-v0 MountainCarContinuous-v0 Pendulum-v1; do
    for form in single batched-floats batched-columns; do
      expect "$id, $form" grep -q "\"env/$id/$form\"" "$out"
    done
  done
  for id in Asterix-MinAtar Breakout-MinAtar Freeway-MinAtar SpaceInvaders-MinAtar Seaquest-MinAtar GridWorld-dense; do
    for form in single batched-bits batched-list; do
      expect "$id, $form" grep -q "\"env/$id/$form\"" "$out"
    done
  done
  expect "a reference where one is known" grep -q '"env/CartPole-v1/batched-columns",[^}]*"reference":20000000' "$out"
fi

export MIRRORMAP_DATA=$2 # a program that is not in build/ has no models beside it
if [ $sanitized = no ]; then
  run bench physics --json
  expect_code 0
  expect_no_err
  expect_json
  for body in Hopper HalfCheetah Ant Walker2d Hopper-v4 HalfCheetah-v4 Ant-v4 Walker2d-v4; do
    expect "$body" grep -q "\"physics/$body/portable\"" "$out"
    if "$program" --version | grep -q mujoco; then
      expect "$body, mujoco" grep -q "\"physics/$body/mujoco\"" "$out"
      expect "$body, ratio" grep -q "\"physics/$body/times-mujoco\"" "$out"
    fi
  done
fi

# trainings: minutes with sanitizers
if [ $sanitized = no ]; then
  run bench ampo --quick --json
  expect_code 0
  expect_no_err
  expect_json
  expect "all entries have the five fields" grep -Eq "\"results\":\\[$entry(,$entry)*\\]" "$out"
  expect "the limit" grep -q '"ampo/fma-peak"' "$out"
  for part in steps rate rollout values update; do
    expect "training, $part" grep -q "\"ampo/train/Asterix-MinAtar/piecewise/$part\"" "$out"
  done
  expect "scaling" grep -q '"ampo/train/scaling"' "$out"
  for shape in cartpole acrobot minatar-400-16 minatar-700-17 minatar-600-45 minatar-1000-45; do
    for part in update rows gather layer1 layer2 loss back grad2 grad1 adam scores values; do
      expect "$shape, $part" grep -q "\"ampo/$shape/$part\"" "$out"
    done
  done

  run bench gaussian --quick --json
  expect_code 0
  expect_no_err
  expect_json
  for shape in hopper half-cheetah ant; do
    for part in update rows gather layer1 layer2 loss back grad2 grad1 adam means values; do
      expect "$shape, $part" grep -q "\"gaussian/$shape/$part\"" "$out"
    done
  done
  for map in negentropy l2 tsallis:1.5 piecewise neural; do
    expect "weigh, $map" grep -q "\"gaussian/weigh/$map\"" "$out"
  done
  for part in steps rollout values update; do
    expect "training, $part" grep -q "\"gaussian/train/Hopper/neural/$part\"" "$out"
  done

  run bench learn --quick --json
  expect_code 0
  expect_no_err
  expect_json
  for part in generation outside-training schedule steps evolution-and-database database-growth; do
    expect "$part" grep -q "\"learn/$part\"" "$out"
  done
fi

# devices: only the form, where there is one
see_devices
run bench map --backend cuda
expect_refusal 2 "benchmark 'map' has nothing to measure with --backend cuda"
run bench cuda --backend cpu
expect_refusal 2 "benchmark 'cuda' has nothing to measure with --backend cpu"
if "$program" devices --json | grep -q '"devices":\[\]'; then
  for words in "cuda" "--backend cuda" "ampo --backend cuda" "physics --backend cuda" "learn gridworld --backend cuda" "map cuda"; do
    # shellcheck disable=SC2086 # words
    run bench $words
    expect_refusal 1 "backend 'cuda'"
  done
else
  run bench cuda --json
  expect_code 0
  expect_no_err
  expect_json
  expect "all entries have the five fields" grep -Eq "\"results\":\\[$entry" "$out"
  for name in warm-up fp32-fma fp16-tensor gridworld/generation learn/generation CartPole-v1/128/steps \
    Seaquest-MinAtar/128/sparse-of-fp32 Asterix-MinAtar/rollout CartPole-v1/forward-and-back Asterix-MinAtar/memory; do
    expect "$name" grep -q "\"cuda/$name\"" "$out"
  done
  for body in Hopper HalfCheetah Ant; do
    expect "$body" grep -q "\"physics/$body/portable\"" "$out"
    expect "$body on the device" grep -q "\"physics/$body/cuda/131072\"" "$out"
  done
  expect "the reference where one is known" grep -q '"cuda/CartPole-v1/128/steps",[^}]*"reference":3980000' "$out"
  expect "its name" grep -q '"device":"[^"]\+"' "$out"
fi

finish
