#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What commands do with devices, on the mock of mock_cuda.c: nothing is learned there, but all
# that the host does for a device is done.
# usage: check_commands.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/../cli.bash"
export MIRRORMAP_DATA=$2
cd "$work" || exit 1
unset MOCK_DEVICES MOCK_DUMB MOCK_OLD MOCK_BROKEN

# threads of the processor that work for devices: as many as --threads says, all devices together, one
# for each at least (networks are taken by whichever device is first, so one alone is looked at)
grid="train --env GridWorld-dense --map negentropy --seeds 8 --set steps=8192 --json --backend cuda"
cart="train --env CartPole-v1 --map l2 --seeds 8 --set steps=2560 --json --backend cuda"
for case in 1:1:"$grid" 1:3:"$grid" 2:4:"$grid" 2:1:"$grid" 1:1:"$cart" 1:3:"$cart"; do
  IFS=: read -r devices threads command <<<"$case"
  # shellcheck disable=SC2086 # words
  MOCK_DEVICES=$devices run $command --threads "$threads" --out "threads-$n_checked"
  expect_code 0
  expect "on devices" grep -q '"backend":"cuda","devices":\["Mock 0"' "$out"
  expect_field threads $((threads < devices ? devices : threads))
done

# a device that cannot be used: `devices` and `auto` agree about what is left
for trouble in MOCK_DUMB=1:"uncorrectable ECC error" MOCK_OLD=1:"compute capability 7.5"; do
  export "${trouble%%:*}"
  run devices --json
  expect_code 0
  expect_json
  expect "the first can be used" grep -q '"devices":\[{"device":0,"name":"Mock 0"' "$out"
  expect "the second says why not" grep -q "{\"device\":1,\"unusable\":\"CUDA device 1: .*${trouble#*:}" "$out"
  expect "auto takes the first" grep -q '"no_devices":null,"auto":"cuda"' "$out"
  run devices
  expect "in words" grep -q "^device 1     cannot be used: CUDA device 1: .*${trouble#*:}" "$out"
  expect "one has tiles" test "$(grep -c ' tiles: ' "$out")" -eq 1
  run train --env CartPole-v1 --map l2 --seeds 8 --set steps=2560 --out "auto-$n_checked" --json
  expect_code 0
  expect "auto took the first alone" grep -q '"backend":"cuda","devices":\["Mock 0"\]' "$out"
  run train --env CartPole-v1 --map l2 --devices 0,1
  expect_refusal 1 "--devices '0,1': CUDA device 1: " "${trouble#*:}"
  export MOCK_DEVICES=1 "${trouble%%=*}=0"
  run devices --json
  expect "none is left" grep -q "\"devices\":\[\],\"no_devices\":\"backend 'cuda': CUDA device 0: .*\",\"auto\":\"cpu\"" "$out"
  run train --env CartPole-v1 --map l2 --backend cuda
  expect_refusal 1 "backend 'cuda': CUDA device 0: " "${trouble#*:}" "use --backend cpu"
  unset MOCK_DEVICES "${trouble%%=*}"
done
expect "nothing was begun" test ! -e runs

# an environment without a kernel: refused in one line, for the processor by `auto`; others are not
for env in CartPole-v1 Asterix-MinAtar; do
  sizes="--set envs=4 --set unroll=16 --set steps=128"
  # shellcheck disable=SC2086 # words
  MOCK_LACKS=0 run train --env "$env" --map l2 --seeds 2 $sizes --backend cuda
  expect_refusal 2 "this environment runs on the CPU only"
  # shellcheck disable=SC2086 # words
  MOCK_LACKS=0 run train --env "$env" --map l2 --seeds 2 $sizes --json --out "lacking-$env"
  expect_code 0
  expect "auto takes the processor" grep -q '"backend":"cpu"' "$out"
  MOCK_LACKS=0 run devices
  expect "no tile for it" test "$(grep -c "$env" "$out")" -eq 0
done
MOCK_LACKS=0 run train --env Acrobot-v1 --map l2 --set steps=2560 --json --out lacking-none
expect "others have theirs" grep -q '"backend":"cuda"' "$out"

# a map that breaks in its first iteration is counted, and the measurement goes on
MOCK_BROKEN=4 run bench ampo --backend cuda --json
expect_code 0
expect_no_err
expect_json
for env in CartPole-v1 Acrobot-v1 Asterix-MinAtar Breakout-MinAtar Freeway-MinAtar SpaceInvaders-MinAtar \
  Seaquest-MinAtar; do
  expect "$env: those that broke" grep -Eq "\"cuda/$env/4/broken\",\"value\":1,\"unit\":\"trainings\"" "$out"
  expect "$env: and the rest" grep -Eq "\"cuda/$env/128/steps\",\"value\":[1-9]" "$out"
done

# Gaussian policies at one population
MOCK_BROKEN=4 run bench gaussian --backend cuda --quick --json
expect_code 0
expect_no_err
expect_json
for env in Hopper HalfCheetah Ant Walker2d; do
  expect "$env: those that broke" grep -Eq "\"cuda/$env/128/broken\",\"value\":[1-9]" "$out"
  expect "$env: and the rest" grep -Eq "\"cuda/$env/128/steps\",\"value\":[1-9]" "$out"
  expect "$env: where the time goes" grep -q "\"cuda/$env/actor-adam\"" "$out"
done

# bodies on the device come after those of the processor
run bench physics --backend cuda --json
expect_code 0
expect_no_err
expect_json
for body in Hopper HalfCheetah Ant Walker2d; do
  expect "$body" grep -q "\"physics/$body/portable\"" "$out"
  for n in 2048 16384 131072 1048576; do
    expect "$body: $n on the device" grep -Eq "\"physics/$body/cuda/$n\",\"value\":[1-9]" "$out"
  done
done

# networks that begin alike are made once for a list, and are those that each training has alone
for env in CartPole-v1 Asterix-MinAtar; do
  sizes="--set envs=4 --set unroll=16 --set steps=128 --backend cuda --json"
  # shellcheck disable=SC2086 # words
  MOCK_DEVICES=1 run transfer --maps l2,negentropy,tsallis:0.5 --controls none --envs "$env" --seeds 2 \
    --out "together-$env" $sizes
  expect_code 0
  for map in l2 negentropy tsallis:0.5; do
    for seed in 0 1; do
      # shellcheck disable=SC2086
      MOCK_DEVICES=1 run train --env "$env" --map "$map" --seed "$seed" --seeds 1 \
        --out "alone-$env-$map-$seed" $sizes
      expect_code 0
      expect "$env, $map, seed $seed" grep -qxF "$map,$env,$seed,$(field finals)" "together-$env/runs.csv"
    done
  done
done

# Gaussian policies: all that the host does for them
for env in Pendulum-v1 MountainCarContinuous-v0 Hopper HalfCheetah Ant Walker2d Walker2d-v4; do
  sizes="--set envs=32 --set unroll=4 --set minibatches=4 --set hidden=16 --set steps=512 --seeds 3"
  for algo in "--map neural" "--algo ppo"; do
    # shellcheck disable=SC2086 # words
    run train --env $env $algo $sizes --backend cuda --json --out "real-$env-$n_checked"
    expect_code 0
    expect "$env on devices" grep -q '"backend":"cuda"' "$out"
  done
done
run train --env Hopper --map l2 --set physics=mujoco --backend cuda
expect_refusal 2 "backend 'cuda': physics=mujoco runs on the CPU only (use --backend cpu)"
run reproduce mujoco --scale smoke --physics mujoco --backend cuda
expect_refusal 2 "backend 'cuda': Hopper: physics=mujoco runs on the CPU only (use --backend cpu)"
run train --env Ant-v4 --map l2 --backend cuda
expect_refusal 2 "backend 'cuda': this body in this flavour runs on the CPU only (use --backend cpu)"
run train --env Hopper --map l2 --set hidden=257 --backend cuda
expect_refusal 2 "backend 'cuda': networks of continuous actions have at most 256 hidden units there"

# log=on: refused, and for the processor by `auto`
sizes="--set envs=8 --set unroll=16 --set hidden=16 --set steps=512 --set minibatches=4 --set log=on"
for agent in "CartPole-v1 --map l2" "Asterix-MinAtar --map l2" "Pendulum-v1 --map l2" "Pendulum-v1 --algo ppo"; do
  # shellcheck disable=SC2086 # words
  run train --env $agent $sizes --backend cuda
  expect_refusal 2 "backend 'cuda': log=on runs on the CPU only (use --backend cpu)"
  # shellcheck disable=SC2086
  run train --env $agent $sizes --json --out "log-$n_checked"
  expect_code 0
  expect "auto takes the processor" grep -q '"backend":"cpu"' "$out"
done

# maps that move: each iteration has the map that it has on the CPU, its own between the anchors, and all
# that depends on it
map_file() { echo "{\"format\": \"mirrormap/1\", $2}" >"$1.json"; }
two_anchors() { echo "{\"format\": \"mirrormap/2\", \"stages\": [{$2}, {$3}]}" >"$1.json"; }
means() { grep -o '"curve":[^]]*' "$out" | grep -o '"mean":[^,]*' >"$1"; }
# one of the last three, to ten digits: where a table's values are solved for depends on those before
mean() { tail -"$1" "$2.means" | head -1 | cut -c1-17; }
check_moving() {
  local env=$1 kind=$2 map k=3
  map_file first "$3"
  map_file middle "$4"
  map_file last "$5"
  two_anchors moving "$3" "$5"
  two_anchors equal "$4" "$4"
  for map in first middle last moving equal; do
    # shellcheck disable=SC2086 # words
    MOCK_DEVICES=1 run train --env $env --map $map.json --seeds 2 --backend cuda --json --out "moving-$n_checked"
    expect_code 0
    expect "$env on devices" grep -q '"backend":"cuda"' "$out"
    means "$map.means"
  done
  expect "$env, $kind: equal anchors are the plain map" cmp -s middle.means equal.means
  for map in first middle last; do
    expect "$env, $kind: $map" test "$(mean $k $map)" = "$(mean $k moving)"
    k=$((k - 1))
  done
  expect_not "$env, $kind: it moves" cmp -s middle.means moving.means
}
for env in 'GridWorld-small --set steps=6144 --set curve=exact' \
  'CartPole-v1 --set envs=4 --set unroll=32 --set steps=384' \
  'Asterix-MinAtar --set envs=4 --set unroll=32 --set steps=384 --set minibatches=4 --set center=on' \
  'Pendulum-v1 --set envs=32 --set unroll=4 --set minibatches=4 --set hidden=16 --set steps=384'; do
  check_moving "$env" tsallis '"kind": "tsallis", "q": 3' '"kind": "tsallis", "q": 2.25' '"kind": "tsallis", "q": 1.5'
  check_moving "$env" powers '"kind": "powers", "w": [1], "a": [0]' '"kind": "powers", "w": [0.5, 1], "a": [0, 2]' \
    '"kind": "powers", "w": [2], "a": [2]'
  check_moving "$env" piecewise '"kind": "piecewise", "psi": [1, 2, 1, 4]' '"kind": "piecewise", "psi": [2, 1.5, 1, 3]' \
    '"kind": "piecewise", "psi": [3, 1, 1, 2]'
done
# a neural map's table is another in each iteration, and a long run has its maps in many launches
for seed in 1 2; do
  run map new random-neural:$seed --out neural-$seed.json
  expect_code 0
  sed -n '/"kind"/,$p' neural-$seed.json | sed '$d' >anchor-$seed
done
two_anchors moving "$(<anchor-1)" "$(<anchor-2)"
for env in 'GridWorld-small --set steps=204800' \
  'CartPole-v1 --set envs=4 --set unroll=8 --set minibatches=2 --set steps=9600' \
  'Pendulum-v1 --set envs=32 --set unroll=1 --set minibatches=4 --set hidden=16 --set steps=3200'; do
  for map in moving neural-2; do
    # shellcheck disable=SC2086 # words
    MOCK_DEVICES=1 run train --env $env --map $map.json --seeds 1 --backend cuda --json --out "neural-$n_checked"
    expect_code 0
    field finals >$map.final
  done
  expect "$env: the last map is the last anchor" cmp -s moving.final neural-2.final
done
# the units' kinks lie outside [0, 1] at both anchors and inside between them, where those of the logarithms
# are sharp: there the table is larger than the room that was made for those of the anchors
row() { awk 'BEGIN { for (i = 0; i < 126; i++) { w = i >= 84 && i < 105 ? 1e6 : 1; printf "%s%.10g", i ? ", " : "", '"$1"' } }'; }
smooth() { echo "\"kind\": \"neural\", \"w\": [$(row w)], \"c\": [$(row "w * ($1 - 0.007 * i)")], \"u\": [$(row 1)], \"a\": 1, \"b\": 0"; }
map_file last "$(smooth 1.2)"
two_anchors moving "$(smooth -1.2)" "$(smooth 1.2)"
for map in moving last; do
  MOCK_DEVICES=1 run train --env GridWorld-small --map $map.json --set steps=40960 --backend cuda --json --out "grown-$n_checked"
  expect_code 0
  field finals >$map.final
done
expect "the room grows" cmp -s moving.final last.final
for env in GridWorld-small CartPole-v1 Pendulum-v1; do
  run learn --env $env --population 4 --generations 1 --set stages=2 --set steps=40960 --set validation_tasks=2 \
    --backend cuda --json --out "moving-learn-$env"
  expect_code 0
  expect "$env on devices" grep -q '"backend":"cuda"' "$out"
done

# what devices cannot do is refused in one line before anything begins
# candidates with their own step size, and maps of a fixed scale, are not
run learn --env CartPole-v1 --population 4 --generations 1 --set steps=64 --set envs=4 --set unroll=8 --set n=5 \
  --set validation_tasks=2 --set search_eta=on --set search=shape --backend cuda --json --out own-eta
expect_code 0
printf 'method: grid\nparameters:\n  hidden: {choice: [16, 128]}\n' >wide.yaml
printf 'method: grid\nparameters:\n  hidden: {integer: [32, 64], points: 2}\n' >narrow.yaml
printf 'method: cma-es\nparameters:\n  lr: {log: [1e-4, 1e-2]}\n  hidden: {integer: [16, 65]}\n' >range.yaml
small="--set envs=2 --set unroll=8 --set steps=32 --set minibatches=2"
tune="tune --env CartPole-v1 --map l2 --seeds 1 --validate 0 --trials 4 $small"
for space in wide range; do
  # shellcheck disable=SC2086 # words
  run $tune --space $space.yaml --backend cuda
  expect_refusal 2 "backend 'cuda': networks have at most 64 hidden units there (use --backend cpu)"
done
for artefact in control minatar transfer all; do
  run reproduce $artefact --scale smoke --set hidden=65 --backend cuda
  expect_refusal 2 "backend 'cuda': " "networks have at most 64 hidden units there (use --backend cpu)"
done
expect "nothing was begun" test ! -e runs
# shellcheck disable=SC2086
run $tune --space narrow.yaml --backend cuda --out narrow --json
expect_code 0
expect "on devices" grep -q '"backend":"cuda"' "$out"
# a search that fits in parts is the processor's as a whole on auto
# shellcheck disable=SC2086
run $tune --space wide.yaml --out wide --json
expect_code 0
expect "on the processor" grep -q '"backend":"cpu","threads"' "$out"

# .. nor does such a run go on: its sessions stay as they were
sessions() { "$program" runs "$1" --json | grep -o '"outcome":' | wc -l; }
# shellcheck disable=SC2086
{
  run train --env CartPole-v1 --algo ppo --seeds 2 $small --backend cpu --out no-train
  expect_code 0
  run learn --env CartPole-v1 $small --set hidden=65 --set population=4 --set generations=1 \
    --set validation_tasks=2 --backend cpu --out no-learn
  expect_code 0
  run transfer --maps l2 --envs CartPole-v1 --seeds 2 $small --set bootstrap_on_timeout=on --backend cpu \
    --out no-transfer
  expect_code 0
}
cp -r wide no-tune
for command in train learn transfer tune; do
  before=$(sessions "no-$command")
  expect "a session is there" test "$before" -gt 0
  run $command --resume "no-$command" --backend cuda
  expect_refusal 2 "backend 'cuda': " "(use --backend cpu)"
  expect "no other session" test "$(sessions "no-$command")" -eq "$before"
  run $command --resume "no-$command"
  expect_code 0
done
run reproduce control --scale smoke --set hidden=65 --max-seconds 0.01 --out no-reproduce
expect_code 0
run reproduce --resume no-reproduce --backend cuda
expect_refusal 2 "backend 'cuda': CartPole-v1: networks have at most 64 hidden units"

finish
