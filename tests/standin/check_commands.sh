#!/usr/bin/env bash
# What commands do with devices, on the stand-in of cuda_standin.c: nothing is learned there, but all
# that the host does for a device is done.
# usage: check_commands.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/../cli.bash"
export MIRRORMAP_DATA=$2
cd "$work" || exit 1
unset STANDIN_DEVICES STANDIN_DUMB STANDIN_OLD STANDIN_BROKEN

# threads of the processor that work for devices: as many as --threads says, all devices together, one
# for each at least (networks are taken by whichever device is first, so one alone is looked at)
grid="train --env GridWorld-dense --map negentropy --seeds 8 --set steps=8192 --json --backend cuda"
cart="train --env CartPole-v1 --map l2 --seeds 8 --set steps=2560 --json --backend cuda"
for case in 1:1:"$grid" 1:3:"$grid" 2:4:"$grid" 2:1:"$grid" 1:1:"$cart" 1:3:"$cart"; do
  IFS=: read -r devices threads command <<<"$case"
  # shellcheck disable=SC2086 # words
  STANDIN_DEVICES=$devices run $command --threads "$threads" --out "threads-$n_checked"
  expect_code 0
  expect "on devices" grep -q '"backend":"cuda","devices":\["Stand-in 0"' "$out"
  expect_field threads $((threads < devices ? devices : threads))
done

# a device that cannot be used: `devices` and `auto` agree about what is left
for trouble in STANDIN_DUMB=1:"uncorrectable ECC error" STANDIN_OLD=1:"compute capability 7.5"; do
  export "${trouble%%:*}"
  run devices --json
  expect_code 0
  expect_json
  expect "the first can be used" grep -q '"devices":\[{"device":0,"name":"Stand-in 0"' "$out"
  expect "the second says why not" grep -q "{\"device\":1,\"unusable\":\"CUDA device 1: .*${trouble#*:}" "$out"
  expect "auto takes the first" grep -q '"no_devices":null,"auto":"cuda"' "$out"
  run devices
  expect "in words" grep -q "^device 1     cannot be used: CUDA device 1: .*${trouble#*:}" "$out"
  expect "one has tiles" test "$(grep -c ' tiles: ' "$out")" -eq 1
  run train --env CartPole-v1 --map l2 --seeds 8 --set steps=2560 --out "auto-$n_checked" --json
  expect_code 0
  expect "auto took the first alone" grep -q '"backend":"cuda","devices":\["Stand-in 0"\]' "$out"
  run train --env CartPole-v1 --map l2 --devices 0,1
  expect_refusal 1 "--devices '0,1': CUDA device 1: " "${trouble#*:}"
  export STANDIN_DEVICES=1 "${trouble%%=*}=0"
  run devices --json
  expect "none is left" grep -q "\"devices\":\[\],\"no_devices\":\"backend 'cuda': CUDA device 0: .*\",\"auto\":\"cpu\"" "$out"
  run train --env CartPole-v1 --map l2 --backend cuda
  expect_refusal 1 "backend 'cuda': CUDA device 0: " "${trouble#*:}" "use --backend cpu"
  unset STANDIN_DEVICES "${trouble%%=*}"
done
expect "nothing was begun" test ! -e runs

# a map that breaks in its first iteration is counted, and the measurement goes on
STANDIN_BROKEN=4 run bench ampo --backend cuda --json
expect_code 0
expect_no_err
expect_json
for env in CartPole-v1 Acrobot-v1 Asterix-MinAtar Breakout-MinAtar Freeway-MinAtar SpaceInvaders-MinAtar \
  Seaquest-MinAtar; do
  expect "$env: those that broke" grep -Eq "\"cuda/$env/4/broken\",\"value\":1,\"unit\":\"trainings\"" "$out"
  expect "$env: and the rest" grep -Eq "\"cuda/$env/128/steps\",\"value\":[1-9]" "$out"
done

# networks that begin alike are made once for a list, and are those that each training has alone
for env in CartPole-v1 Asterix-MinAtar; do
  sizes="--set envs=4 --set unroll=16 --set steps=128 --backend cuda --json"
  # shellcheck disable=SC2086 # words
  STANDIN_DEVICES=1 run transfer --maps l2,negentropy,tsallis:0.5 --controls none --envs "$env" --seeds 2 \
    --out "together-$env" $sizes
  expect_code 0
  for map in l2 negentropy tsallis:0.5; do
    for seed in 0 1; do
      # shellcheck disable=SC2086
      STANDIN_DEVICES=1 run train --env "$env" --map "$map" --seed "$seed" --seeds 1 \
        --out "alone-$env-$map-$seed" $sizes
      expect_code 0
      expect "$env, $map, seed $seed" grep -qxF "$map,$env,$seed,$(field finals)" "together-$env/runs.csv"
    done
  done
done

finish
