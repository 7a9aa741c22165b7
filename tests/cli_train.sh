#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `train`: the form of its JSON, the same bits on any number of threads, settings and presets, bad
# input, interruption. Runs are kept short by --set.
# usage: cli_train.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
export MIRRORMAP_DATA=$2 # a program that is not in build/ has no presets beside it
cd "$work" || exit 1

short=(--set steps=1024 --set envs=8 --set unroll=16)
train() { run train --env GridWorld-small --map l2 "$@"; }

# without what a clock says: everything else must be the same
timeless() {
  sed -E 's/"(env_steps_per_second|wall_seconds|rollout|update|value)":[^,}]*/"\1":0/g; s/"threads":[0-9]+/"threads":0/; s/"isa":"[a-z0-9]+"/"isa":""/' "$1"
}

# ---------------------------------------------------------------------------------------------
# JSON

train --seeds 3 --seed 5 --threads 2 --json "${short[@]}"
expect_code 0
expect_no_err
expect_json
for name in env algo map seed seeds steps final_mean final_sem finals curve numeric_failures \
  env_steps_per_second wall_seconds thread_seconds backend threads isa settings; do
  expect "field $name" grep -qF "\"$name\":" "$out"
done
expect_out '"env":"GridWorld-small","algo":"pmd","map":"l2"'
expect_out '"backend":"cpu"'
expect_field seed 5
expect_field seeds 3
expect_field steps 1024
expect_field threads 2
expect_field numeric_failures 0
expect_out '"curve":[{"step":1024,"mean":'
expect_not "one point only" grep -q '"curve":\[{[^]]*},{' "$out"
expect_out '"settings":{"steps":1024,"envs":8,"unroll":16,"epochs":32,"lr":40,"critic_lr":4,"eta":0.1,"gamma":0.99,"gae_lambda":0.95,"termination":"absorb","normalise_advantage":"on","curve":"final","eta_schedule":"none"}'
expect "the speed is a positive number" awk -v x="$(field env_steps_per_second)" 'BEGIN { exit !(x + 0 > 0) }'
finals=$(field finals)
expect "mean and standard error of the finals" awk -v x="$finals" -v mean="$(field final_mean)" -v sem="$(field final_sem)" '
  BEGIN {
    n = split(x, v, " ")
    for (i = 1; i <= n; i++) m += v[i] / n
    for (i = 1; i <= n; i++) s += (v[i] - m) ^ 2
    e = sqrt(s / (n - 1) / n)
    exit !(n == 3 && e > 0 && (m - mean) ^ 2 < 1e-20 && (e - sem) ^ 2 < 1e-20)
  }'

# entry i is seed S + i, and a run does not depend on its neighbours
train --seed 6 --json "${short[@]}"
expect_code 0
expect "the second of the three" test "$(field finals)" = "$(echo "$finals" | cut -d' ' -f2)"
expect_out '"final_sem":null'
expect_out '"sem":null}]'
expect_field threads 1

# 64-bit seeds to the last digit
train --seed 18446744073709551615 --json "${short[@]}"
expect_code 0
expect_out '"seed":18446744073709551615,'
train --seed 18446744073709551615 --seeds 2 "${short[@]}"
expect_refusal 2 "--seed" "18446744073709551615"

# steps are cut to whole iterations
train --json --set steps=1100 --set envs=8 --set unroll=16
expect_field steps 1024
expect_out '"settings":{"steps":1100,'

# the exact curve begins before the first step and ends with the final value
train --seeds 2 --json --set curve=exact "${short[@]}"
expect_code 0
expect "nine points" test "$(grep -o '"step":' "$out" | wc -l)" -eq 9
expect_field step 0 1
expect_field step 128 2
expect_field step 1024 9
expect "the last point is the final value" test "$(field mean 9)" = "$(field final_mean)"
exact=$(field finals)
train --seeds 2 --json "${short[@]}"
# (the solver starts from another guess there, hence not the same bits)
expect "measuring does not change training" awk -v a="$(field finals)" -v b="$exact" '
  BEGIN {
    n = split(a, x, " ")
    split(b, y, " ")
    for (i = 1; i <= n; i++) bad = bad || (x[i] - y[i]) ^ 2 > 1e-18
    exit n != 2 || bad
  }'

# ---------------------------------------------------------------------------------------------
# the same bits

many=(--env GridWorld-all --map random:2 --seeds 12 --json --set curve=exact --set steps=4096)
run train "${many[@]}" --threads 1
expect_code 0
timeless "$out" >"$work/one"
for threads in 2 8; do
  run train "${many[@]}" --threads $threads
  expect_code 0
  expect_field threads $threads
  timeless "$out" >"$work/more"
  expect "the same on $threads threads" cmp -s "$work/one" "$work/more"
done
run train "${many[@]}" --isa portable
timeless "$out" >"$work/more"
expect "the same with portable kernels" cmp -s "$work/one" "$work/more"
run train "${many[@]}" --seed 1
timeless "$out" >"$work/more"
expect_not "other seeds differ" cmp -s "$work/one" "$work/more"

# ---------------------------------------------------------------------------------------------
# for people

train --seeds 2 "${short[@]}"
expect_code 0
expect_no_err
expect_out "GridWorld-small, pmd, map l2: 2 runs of 1.02 k steps"
expect "value with its error" grep -Eq '^final return -?[0-9.e-]+ \+- [0-9.e-]+ \(standard error\)$' "$out"
expect "the speed" grep -Eq '^speed  .* steps/s: .* s on [12] threads?, (portable|avx2|avx512)$' "$out"
expect "the split" grep -Eq '^time  .*% rollouts, .*% updates, .*% exact values$' "$out"
expect_not "no curve of one point" grep -q '^curve' "$out"
train "${short[@]}" --quiet
expect_code 0
expect_no_err
expect "no error of a single run" grep -Eq '^final return -?[0-9.e-]+$' "$out"
train --set curve=exact "${short[@]}"
expect "a curve" grep -Eq '^curve  .*  from -?[0-9.e-]+ to -?[0-9.e-]+$' "$out"

# ---------------------------------------------------------------------------------------------
# presets

train --json --seeds 2 --set steps=4096
timeless "$out" >"$work/built-in"
train --json --seeds 2 --preset gridworld --set steps=4096
expect_code 0
timeless "$out" >"$work/preset"
expect "the preset gridworld is what is built in" cmp -s "$work/built-in" "$work/preset"
for key in $(sed -E 's/.*"settings":\{([^}]*)\}.*/\1/' "$out" | grep -oE '"[a-z_]+":' | tr -d '":'); do
  expect "the preset names $key" grep -q "^$key:" "$2/presets/gridworld.yaml"
done

preset() { printf '%b' "$1" >"$work/own.yaml"; }
preset 'algo: pmd\nsteps: 2048\nenvs: 8\nunroll: 16\neta: 0.5 # larger\ntermination: restart\n'
train --json --preset own.yaml
expect_code 0
expect_out '"settings":{"steps":2048,"envs":8,"unroll":16,"epochs":32,"lr":40,"critic_lr":4,"eta":0.5,'
expect_out '"termination":"restart"'
train --json --preset "$work/own.yaml" --set eta=0.25 --set steps=1024
expect_code 0
expect_out '"settings":{"steps":1024,"envs":8,'
expect_out '"eta":0.25'
train --json --set eta=0.25 --preset own.yaml
expect_out '"eta":0.25'

refuse_preset() { # TEXT EXPECTED...
  preset "$1"
  shift
  train --preset own.yaml
  expect_refusal 2 own.yaml "$@"
}
refuse_preset 'algo: pmd\nunrol: 3\n' "unknown key 'unrol'" "did you mean 'unroll'"
refuse_preset 'algo: pmd\nsteps: many\n' "setting 'steps'" "'many' is not a whole number"
refuse_preset 'algo: pmd\nsteps: 10.5\n' "'10.5' is not a whole number"
refuse_preset 'algo: pmd\nlr: [1, 2]\n' "expected a single value, found a list" "'lr'"
refuse_preset 'algo: pmd\nlr:\n' "setting 'lr'" "found nothing"
refuse_preset 'algo: pmd\nlr: .nan\n' "'.nan' is not a number"
refuse_preset 'algo: pmd\ngamma: 1\n' "setting 'gamma'" "at most 0.999999"
refuse_preset 'algo: pmd\ncurve: true\n' "setting 'curve'" "final, exact"
refuse_preset 'algo: pmd\nlr: 1\nlr: 2\n' "'lr' is given twice"
refuse_preset 'algo: ppo\n' "'ppo'" "'pmd'"
refuse_preset 'algo: ppo\npolicy_clip: 0.1\n' "'ppo'" "'pmd'"
refuse_preset 'algo: pmd\npolicy_clip: 0.1\n' "pmd has no setting 'policy_clip'"
refuse_preset 'lr: 1\n' "'algo' is missing"
refuse_preset '' "found nothing"
refuse_preset '# nothing but words\n' "found nothing"
refuse_preset -- "own.yaml"
refuse_preset 'algo: pmd\n---\nlr: 1\n' "expected one document"
refuse_preset 'algo: "pmd\n' "own.yaml"
refuse_preset '\0377\0376\0001' "own.yaml"
train --preset missing.yaml
expect_refusal 2 "missing.yaml"
train --preset gridwrld
expect_refusal 2 "gridwrld" "did you mean 'gridworld'"
train --preset ../presets/gridworld
expect_refusal 2 "../presets/gridworld"
train --preset "$work/"
expect_refusal 2 "directory"

# ---------------------------------------------------------------------------------------------
# bad usage

run train --map l2
expect_refusal 2 "'--env' is required"
run train --env GridWorld-small
expect_refusal 2 "'--map' is required"
run train --env GridWorld-smal --map l2
expect_refusal 2 "GridWorld-smal" "did you mean 'GridWorld-small'"
run train --env GridWorld-small --map l3
expect_refusal 2 "l3" "did you mean 'l2'"
train --set stepz=5
expect_refusal 2 "unknown setting 'stepz'" "did you mean 'steps'"
train --set steps
expect_refusal 2 "KEY=VALUE"
train --set steps=
expect_refusal 2 "steps"
train --set steps=1 --set steps=2
expect_refusal 2 "given twice"
train --set eta=-1
expect_refusal 2 "setting 'eta'" "at least 0"
train --set eta=inf
expect_refusal 2 "setting 'eta'"
train --set envs=2.5
expect_refusal 2 "setting 'envs'" "not a whole number"
train --set termination=stop
expect_refusal 2 "setting 'termination'" "absorb, restart"
for algo in ampo ppo; do # their episodes end
  run train --env GridWorld-small --algo $algo --map negentropy --set termination=restart
  expect_refusal 2 "$algo has no setting 'termination' (only pmd)"
done
train --set steps=100
expect_refusal 2 "steps = 100" "2048"
train --seeds 4 --set steps=100
expect_refusal 2 "steps = 100"
train --seeds 0
expect_refusal 2 "--seeds"
train --seeds 2.5
expect_refusal 2 "--seeds"
train --threads 0
expect_refusal 2 "--threads"
train --threads -1
expect_refusal 2 "--threads"
run train --env CartPole-v1 --algo ppo --set steps=2048 --out "$work/ppo" --json
expect_code 0
expect_out '"algo":"ppo","map":null'
expect_out '"recent_mean":'
# a task file is a Grid-World, whatever comes last in the list of environments
# every thread has tables of its own for a task: here 2 GB
{
  printf 'grid: 128\nstart: [0, 0]\nobjects:\n'
  for i in 1 2 3 4 5 6 7 8; do
    printf '  - {cell: [3, %s], reward: 1, terminate: 1, respawn: 0}\n' $i
  done
} >"$work/large.yaml"
run train --env "$work/large.yaml" --map l2 --seeds 4096 --threads 4096
expect_refusal 2 "4096 training runs at a time" "of memory needed"

printf 'grid: 4\nstart: [0, 0]\nobjects:\n  - {cell: [3, 3], reward: 1, terminate: 1, respawn: 0}\n' >"$work/task.yaml"
run train --env "$work/task.yaml" --map l2 --set steps=1024 --set envs=8 --set unroll=16 --json
expect_code 0
expect_out '"algo":"pmd","map":"l2"'
train --algo sarsa
expect_refusal 2 "--algo" "ppo"
train --algorithm pmd
expect_refusal 2 "--algorithm"
train --backend gpu
expect_refusal 2 "--backend" "gpu"
train --backend cuda
expect_refusal 1 "cuda" "backend 'cuda'"
train stray
expect_refusal 2 "stray"

# ---------------------------------------------------------------------------------------------
# interruption: hours of work end within moments

last="mirrormap train ... and SIGINT"
for options in "--seeds 100000" "--seeds 1 --set steps=1e12"; do
  # shellcheck disable=SC2086 # two or four words
  "$program" train --env GridWorld-dense --map l2 --json $options >"$out" 2>"$err" </dev/null &
  interrupt $! INT
  expect_refusal 130 "interrupted after"
done

# a run without a finished episode has no return: not 0, which would be the best of Acrobot
run train --env Acrobot-v1 --map negentropy --seeds 4 --set steps=1024 --json
expect_code 0
expect_json
expect_out '"final_mean":null,"final_sem":null,"unfinished":4,'
expect_out '"finals":[null,null,null,null]'
expect_out '"mean":null,"sem":null}]'
expect_err '4 of 4 runs finished no episode in 1024 steps: they have no return'
run train --env Acrobot-v1 --map negentropy --seeds 4 --set steps=1024
expect_out 'final return - (4 of 4 runs finished no episode)'

# ---------------------------------------------------------------------------------------------
# A map's own step size is used and named; --set eta overrides it

run map new piecewise --from l2 --n 5 --eta 0.45 --out "$work/eta.json" --quiet
run map new piecewise --from l2 --n 5 --out "$work/plain.json" --quiet
short=(--env GridWorld-small --set steps=4096 --json)
run train "${short[@]}" --map "$work/eta.json" --preset gridworld
expect_code 0
expect_err "eta 0.45 from $work/eta.json"
expect_out '"eta":0.45'
own=$(grep -o '"finals":[^]]*' "$out")
run train "${short[@]}" --map "$work/plain.json" --set eta=0.45
expect_no_err
expect "the same run" test "$own" = "$(grep -o '"finals":[^]]*' "$out")"
run train "${short[@]}" --map "$work/eta.json" --set eta=0.1
expect_no_err
expect_out '"eta":0.1,'
expect_not "another run" test "$own" = "$(grep -o '"finals":[^]]*' "$out")"
run train --env CartPole-v1 --algo ppo --map negentropy --set steps=1024 --out "$work/no-eta" --json
expect_code 0

# a run keeps it when it is resumed, and its policy shows it
run train --env CartPole-v1 --map "$work/eta.json" --set steps=4096 --out "$work/eta-run" --json
expect_out '"eta":0.45'
run train --resume "$work/eta-run" --json
expect_out '"eta":0.45'
run eval --policy "$work/eta-run" --episodes 2 --json
expect_out '"eta":0.45'
run eval --policy "$work/eta-run" --episodes 2
expect_out 'eta          0.45 from the map'

# ---------------------------------------------------------------------------------------------
# Maps that move: with equal anchors the same bits as the plain map, with others not; killed runs resume to
# the same bits; theory is about maps that do not move

plain='"kind": "piecewise", "psi": [0.2, 0.4, 0.1, 0.3]'
echo "{\"format\": \"mirrormap/1\", $plain}" >"$work/still.json"
echo "{\"format\": \"mirrormap/2\", \"stages\": [{$plain}, {$plain}, {$plain}]}" >"$work/equal.json"
echo "{\"format\": \"mirrormap/2\", \"stages\": [{$plain}, {\"kind\": \"piecewise\", \"psi\": [3, 0.1, 0.1, 0.1]}]}" \
  >"$work/moving.json"
sums() { grep -o '"curve":[^]]*' "$out" | cksum; }
n=0
for env in 'GridWorld-small --set curve=exact --set steps=8192' 'CartPole-v1 --set steps=8192' 'CartPole-v1 --set steps=8192 --set center=on --set target=code' \
  'Pendulum-v1 --set steps=4096 --set envs=8 --set unroll=64 --set minibatches=4 --set hidden=16'; do
  n=$((n + 1))
  for map in still equal moving; do
    # shellcheck disable=SC2086 # words
    run train --env $env --map "$work/$map.json" --seeds 2 --json --quiet --out "$work/$map-$n"
    expect_code 0
    sums >"$work/$map.sum"
  done
  expect "$env: equal anchors change nothing" cmp -s "$work/still.sum" "$work/equal.sum"
  expect_not "$env: others do" cmp -s "$work/still.sum" "$work/moving.sum"
done
run eval --policy "$work/moving-2" --episodes 2
expect_out 'map piecewise, n = 4, 2 stages'
run theory --env GridWorld-small --map "$work/moving.json"
expect_code 2
expect_err 'Theorem 1 is about maps that do not move'

long=(--env CartPole-v1 --map "$work/moving.json" --set steps=65536 --json --quiet)
run train "${long[@]}" --out "$work/calm"
sums >"$work/calm.sum"
run train "${long[@]}" --out "$work/cut" --max-seconds 0.05
run train --resume "$work/cut" --max-seconds 0.1 --quiet --json
run train --resume "$work/cut" --quiet --json
expect_out '"state":"done"'
sums >"$work/cut.sum"
expect "stopped and resumed: the same bits" cmp -s "$work/calm.sum" "$work/cut.sum"

finish
