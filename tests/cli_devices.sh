#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `devices`, and what the commands say about devices: with and without one.
# usage: cli_devices.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
export MIRRORMAP_DATA=$2 # a program that is not in build/ has no presets beside it
cd "$work" || exit 1
see_devices

run devices
expect_code 0
expect_no_err
expect "the cores" grep -Eq '^CPU +[0-9]+ cores?, instruction set (portable|avx2|avx512)$' "$out"
expect "one line for the CPU, one for the choice" \
  test "$(grep -Ec '^(CPU|--backend) ' "$out")" -eq 2

run devices --isa portable --json
expect_code 0
expect_no_err
expect_json
expect_out '"isa":"portable"'
expect "as many cores as the system gives" test "$(field cores)" -eq "$(nproc)"

run devices GPU
expect_refusal 2 "unexpected argument 'GPU'"
run devices --help
expect_code 0
expect_out "--devices counts them"

run devices --json
if grep -q '"devices":\[\]' "$out"; then
  echo "cli_devices: no CUDA device here: $(sed 's/.*"no_devices":"\([^"]*\)".*/\1/' "$out")"
  expect "the reason, and what auto means" grep -q '"no_devices":"[^"]\+","auto":"cpu"' "$out"
  run devices
  expect "the reason in words" grep -q '^no devices   backend .cuda.' "$out"
  for command in "train --env CartPole-v1 --map l2" "learn --env CartPole-v1" \
    "transfer --maps l2 --envs CartPole-v1" "reproduce control --scale smoke"; do
    # shellcheck disable=SC2086 # words
    run $command --backend cuda
    expect_refusal 1 "backend 'cuda'" "use --backend cpu"
    # shellcheck disable=SC2086
    run $command --devices 0
    expect_refusal 1 "backend 'cuda'" "use --backend cpu"
  done
  expect "nothing was begun" test ! -e runs
else
  expect "it has a name, and no reason" grep -q '"devices":\[{"device":0,"name":"[^"]\+".*"no_devices":null,"auto":"cuda"' "$out"
  for key in compute_capability multiprocessors memory_bytes shared_memory_bytes clock_mhz driver runtime; do
    expect "$key" grep -q "\"$key\":" "$out"
  done
  for env in CartPole-v1 Acrobot-v1 MountainCar-v0 Asterix-MinAtar Breakout-MinAtar Freeway-MinAtar \
    SpaceInvaders-MinAtar Seaquest-MinAtar; do
    expect "a tile for $env" grep -Eq "\"env\":\"$env\",\"rows\":(128|64|32)," "$out"
  done
  run train --env CartPole-v1 --map l2 --backend cuda --devices 63
  expect_refusal 2 "--devices '63'"
  run train --env CartPole-v1 --algo ppo --backend cuda
  expect_refusal 2 "ppo runs on the CPU only" "use --backend cpu"
  expect "nothing was begun" test ! -e runs
  run train --env CartPole-v1 --map l2 --backend cuda --seeds 2 --set steps=5120 --json
  expect_code 0
  expect_json
  expect "what ran" grep -q '"thread_seconds":null,"backend":"cuda","devices":\["[^"]\+"' "$out"
  run train --env CartPole-v1 --algo ppo --seeds 2 --set steps=5120 --json
  expect_code 0
  expect "auto took the processor for ppo" grep -q '"backend":"cpu","threads"' "$out"
  run learn --env GridWorld-dense --preset gridworld-quick --population 8 --generations 2 --out moved \
    --backend cuda --max-seconds 600
  expect_code 0
  run learn --resume moved --generations 3 --backend cpu --json
  expect_code 0
  expect "it went on elsewhere" grep -q '"backend":"cpu"' "$out"
  run runs moved
  expect "both are listed" grep -q ' cuda, cpu ' "$out"
fi

run train --env CartPole-v1 --map l2 --backend cpu --devices 0
expect_refusal 2 "--devices: these are for --backend cuda"
for list in a 0,0 '0,' 0,,1 64 -1; do
  run train --env CartPole-v1 --map l2 --devices "$list"
  expect_refusal 2 "expected different numbers of devices"
done

finish
