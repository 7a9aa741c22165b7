#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Plug-ins: the names of examples/05 to 07 wherever names count, runs that know which plug-in they
# need, devices and ranks; a faulty plug-in for each rule of `env check` and of `map check`, and what
# cannot be loaded.
# usage: cli_plugin.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
export MIRRORMAP_DATA=$2
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$(dirname "$program")" && pwd)
windy=$build/examples/05_own_environment.so
softline=$build/examples/06_own_potential.so
reinforce=$build/examples/07_own_learner.so
faults=$build/tests/plugins
[ -e "$windy" ] || { echo "skipped: no plug-ins beside the program"; exit 77; }
cd "$work" || exit 1
cp "$windy" windy.so
cp "$softline" softline.so

# ---------------------------------------------------------------------------------------------
# An environment

run env list --json --plugin windy.so
expect_code 0
expect_out '{"id":"WindyPole","algo":"ampo","preset":"bcs","summary":"balance a pole on a cart in the wind"}'
run env list --plugin windy.so
expect_out 'Plug-ins'
run env list
expect_code 0
expect_not "only with the option" grep -q Windy "$out"
MIRRORMAP_PLUGINS=:$work/softline.so:$work/windy.so run env check WindyPole --steps 1200
expect_code 0
expect "all rules hold" test "$(grep -cE '^  (pass   |not met)  ' "$out")" -eq 9
run env show WindyPole --plugin=windy.so
expect_code 0
expect_out '5 inputs: cart, pole and the force of the wind'
expect_out 'the cart leaves the track'
run env show WindyPole --json --plugin windy.so
expect_json
run env show WindyPole --frames windy.svg --plugin windy.so
expect_code 0
expect "frames" grep -q '<svg' windy.svg
run env show WindyPol --plugin windy.so
expect_refusal 2 "did you mean 'WindyPole'"
run env record WindyPole --out trace.json --plugin windy.so
expect_refusal 2 "no traces of 'WindyPole'"

brief=(--env WindyPole --map l2 --set envs=4 --set unroll=32 --set epochs=2 --set hidden=16 --plugin windy.so)
run train "${brief[@]}" --set steps=5120 --seeds 3 --threads 2 --out whole --json --quiet
expect_code 0
expect_no_err
finals=$(field finals)
run train "${brief[@]}" --set steps=5120 --seeds 3 --threads 1 --isa portable --out again --json --quiet
expect "any number of threads, any kernels" test -n "$finals" -a "$(field finals)" = "$finals"
expect "the same policies" cmp -s whole/policy.safetensors again/policy.safetensors
run eval --policy whole --episodes 4 --plugin windy.so --json
expect_code 0
expect_json
run train --env WindyPole --algo pmd-gaussian --map l2 --plugin windy.so --quiet --set steps=5120 --set minibatches=4
expect_refusal 2 'has 2 discrete actions'
run env show WindyPole --rules minatar --plugin windy.so
expect_code 2

# stopped and taken up again: only with the plug-in, in its version
run train "${brief[@]}" --set steps=512000 --seeds 2 --max-seconds 1 --out half --quiet
for seconds in 1 2; do
  run train --resume half --max-seconds "$seconds" --quiet
  expect_refusal 2 "half/run.db: config: begun with plug-in 'windy' 1.0: expected --plugin FILE with it"
done
sed 's/"1\.0"/"1.1"/' "$2/examples/05_own_environment.c" >newer.c
if command -v cc >/dev/null 2>&1; then
  cc -std=c17 -shared -fPIC -I"$2/include" newer.c -o newer.so -lm
  run train --resume half --plugin newer.so
  expect_refusal 2 "begun with plug-in 'windy' 1.0: expected this version, loaded is 1.1"
fi
run train --resume half --max-seconds 1 --plugin windy.so --quiet
expect "goes on" test "$code" -eq 0 -o "$code" -eq 130

run learn --env WindyPole --kind piecewise --population 4 --generations 2 --plugin windy.so --out learned --quiet \
  --set n=8 --set steps=1024 --set envs=4 --set unroll=32 --set epochs=1 --set hidden=8 --set validation_tasks=2
expect_code 0
run learn --resume learned --generations 3 --quiet
expect_refusal 2 "begun with plug-in 'windy' 1.0"
run learn --resume learned --generations 3 --plugin windy.so --quiet
expect_code 0
run learn --resume learned --generations 4 --quiet
expect_refusal 2 "begun with plug-in 'windy' 1.0"
run transfer --maps l2,negentropy --envs WindyPole,CartPole-v1 --seeds 2 --plugin windy.so --out table --quiet \
  --set steps=1024 --set envs=4 --set unroll=32 --set epochs=1 --set hidden=8
expect_code 0
expect_out WindyPole
printf 'method: grid\nparameters:\n  lr: {choice: [0.001, 0.01]}\n' >space.yaml
run tune --env WindyPole --map l2 --space space.yaml --seeds 2 --plugin windy.so --out tuned --quiet \
  --set steps=1024 --set envs=4 --set unroll=32 --set epochs=1 --set hidden=8
expect_code 0
run report learned --out page --plugin windy.so --quiet
expect_code 0
expect "a page" grep -q WindyPole page/report.html

# a run that has nothing of a plug-in does not ask for it
run train --env GridWorld-small --map l2 --set steps=512 --set envs=8 --set unroll=8 --out plain --quiet --plugin windy.so
run train --resume plain --quiet
expect_code 0

# ---------------------------------------------------------------------------------------------
# A potential

run map check softline softline:0.2,3 --plugin softline.so
expect_code 0
run map show softline:0.2,3 --plugin softline.so --json
expect_json
expect_out '"kind":"softline"'
expect_field knee 0.2
run map show softline:0.2,3 --plugin softline.so
expect_out 'softline, knee = 0.2, weight = 3'
run map new softline --n 4 --plugin softline.so
expect_refusal 2 "option '--n' does not apply to kind 'softline'"
run map project --map softline:10,1 --scores 0,1,3 --plugin softline.so --json
logarithm=$(field probs)
run map project --map negentropy --scores 0,1,3 --json
expect "a logarithm as far as the knee" test "${logarithm:0:12}" = "$(field probs | head -c 12)"
run map new softline:0.2,3 --out own.json --plugin softline.so --quiet
expect_code 0
run map eval --map own.json --p 0.1,0.5 --plugin softline.so
expect_code 0
run map check own.json
expect_refusal 2 "own.json: field 'kind': 'softline': expected negentropy"
run map plot softline negentropy --out maps.svg --plugin softline.so
expect_code 0
run learn --help --plugin softline.so
expect_out '|powers|softline'
run learn --env GridWorld-small --kind softlin --plugin softline.so
expect_refusal 2 "did you mean 'softline'"
tiny=(--env GridWorld-small --population 8 --kind softline --set envs=8 --set unroll=8 --set steps=256
  --set validation_tasks=2 --plugin softline.so --quiet)
run learn "${tiny[@]}" --generations 3 --threads 1 --out found
expect_code 0
expect "its own file" grep -q '"kind": "softline"' found/best.json
run learn "${tiny[@]}" --generations 2 --threads 2 --out resumed
run learn --resume resumed --generations 3 --threads 1 --quiet --plugin softline.so
expect_code 0
expect "resumed, the same bits" cmp -s <(sed 's/"meta".*//' found/best.json) <(sed 's/"meta".*//' resumed/best.json)
run report resumed --out searched --plugin softline.so --quiet
expect_code 0
expect "a page of the search" grep -q softline searched/report.html
run learn --resume resumed --generations 4 --quiet
expect_refusal 2 "begun with plug-in 'softline' 1.0"
run train --env Pendulum-v1 --map found/best.json --set steps=2048 --set envs=4 --set hidden=8 --set minibatches=4 \
  --set epochs=1 --plugin softline.so --out dense --quiet
expect_code 0
run train --env CartPole-v1 --map softline --set steps=2048 --set hidden=8 --set epochs=1 --backend cuda \
  --plugin softline.so
expect_code 1

# ---------------------------------------------------------------------------------------------
# A learner

cp "$reinforce" reinforce.so
run train --help --plugin reinforce.so
expect_out '|ppo|reinforce'
run train --env CartPole-v1 --algo reinforce --seeds 4 --set steps=100000 --threads 2 --plugin reinforce.so --out rein \
  --json --quiet
expect_code 0
finals=$(field finals)
expect "it learns: random play has 22" awk -v finals="$finals" \
  'BEGIN { n = split(finals, f, " "); for (i in f) sum += f[i]; exit !(n == 4 && sum / n > 60) }'
expect "no networks" test ! -e rein/policy.safetensors
run train --env CartPole-v1 --algo reinforce --seeds 4 --set steps=100000 --threads 1 --plugin reinforce.so --json --quiet
expect "any number of threads" test "$(field finals)" = "$finals"
run train --env WindyPole --algo reinforce --set steps=2000 --set lr=0.001 --plugin windy.so --plugin reinforce.so --quiet
expect_code 0
run train --env CartPole-v1 --algo reinforce --set hidden=8 --plugin reinforce.so
expect_refusal 2 "reinforce has no setting 'hidden'"
run train --env CartPole-v1 --algo reinforce
expect_refusal 2 "unknown value 'reinforce'"
run train --env Pendulum-v1 --algo reinforce --plugin reinforce.so
expect_refusal 2 'reinforce takes discrete ones'
run learn --env CartPole-v1 --algo reinforce --plugin reinforce.so
expect_refusal 2 'reinforce takes no map'
run train --resume rein --quiet
expect_refusal 2 "begun with plug-in 'reinforce' 1.0"
run train --resume rein --plugin reinforce.so --quiet
expect_code 0
# one that says what its state is: stopped, killed and resumed to the same bits
climb=(--env CartPole-v1 --algo climber --seeds 2 --threads 2 --quiet)
run train "${climb[@]}" --set steps=3000000 --plugin "$faults/climber.so" --out climbed --json
expect_code 0
finals=$(field finals)
run train "${climb[@]}" --set steps=3000000 --plugin "$faults/climber.so" --out stopped --max-seconds 0.2 --save-seconds 0.05
run runs stopped --json
expect "it is checkpointed" grep -q '"checkpointed_env_steps":[1-9]' "$out"
"$program" train --resume stopped --plugin "$faults/climber.so" --save-seconds 0.05 --quiet >killed.out 2>&1 &
sleep 0.3
kill -KILL $! 2>/dev/null
wait $! 2>/dev/null
run train --resume stopped --plugin "$faults/climber.so" --json --quiet
expect_code 0
expect "the same bits" test -n "$finals" -a "$(field finals)" = "$finals"
run train "${climb[@]}" --set steps=3000 --plugin "$faults/climber.so" --json
finals=$(field finals)
run train "${climb[@]}" --set steps=3000 --plugin "$faults/older_climber.so" --json
expect_code 0
expect "a plug-in from before there were states" test -n "$finals" -a "$(field finals)" = "$finals"
# one with maps is searched for: the policy of its map is all that it learns
run learn --env CartPole-v1 --algo chooser --kind tsallis --population 8 --generations 3 --seed 1 --out chosen --quiet \
  --set validation_tasks=2 --set steps=100 --plugin "$faults/none.so"
expect_code 0
expect "a map" grep -q '"kind": "tsallis"' chosen/best.json
run transfer --maps negentropy,l2 --envs CartPole-v1 --algo chooser --seeds 2 --set steps=100 --out choices --json --quiet \
  --plugin "$faults/none.so"
expect_code 0
expect "softmax of 0 and 0.5, and of l2" grep -q '0.622459.*0.75' "$out"
run train --env CartPole-v1 --algo chooser --map l2 --set steps=100 --set fail=1 --plugin "$faults/none.so"
expect_code 1
expect_err 'chooser: its numbers came to nothing'
printf 'method: grid\nparameters:\n  lr: {choice: [0.001, 0.01]}\n' >lr.yaml
run tune --env CartPole-v1 --algo reinforce --space lr.yaml --seeds 2 --plugin reinforce.so --out rates --quiet \
  --set steps=2000
expect_code 0
run transfer --maps l2 --envs CartPole-v1 --seeds 2 --plugin reinforce.so --algo reinforce --out none --quiet
expect_code 2
run report rein --out learner --plugin reinforce.so --quiet
expect_code 0

# ---------------------------------------------------------------------------------------------
# Faults

for rule in determinism finite bounds ends autoreset state independence seeds; do
  name=${rule/state/save-load}
  run env check Walk --plugin "$faults/$rule.so"
  expect_code 1
  expect "$rule is found out" grep -q "^  FAIL  *$name" "$out"
done
# what happens late, or is not as it is said to be
for fault in late:bounds chance:chance nothing:chance; do
  run env check Walk --plugin "$faults/${fault%:*}.so"
  expect_code 1
  expect "$fault is found out" grep -q "^  FAIL  *${fault#*:} " "$out"
  expect "$fault breaks one rule" [ "$(grep -c '^  FAIL' "$out")" -eq 1 ]
done
run env check Walk --plugin "$faults/late.so" --most-steps 2000
expect_code 0
expect "an end that was not waited for" grep -q '^  not met  ends  *no episode came to the limit of 3000 within 2000 steps' "$out"
run env check Walk --plugin "$faults/endless.so" --json
expect_code 0
expect_out '"rule":"autoreset","passed":true,"met":false,"why":"no episode ended within 11000 steps"'
expect "all else is met" [ "$(grep -o '"met":false' "$out" | wc -l)" -eq 1 ]
run env check Walk --plugin "$faults/still.so"
expect_code 0
expect "no chance, and it says so" grep -q '^  pass  *chance' "$out"
run env check Walk --plugin "$faults/none.so"
expect_code 0
for fault in falling slope integral; do
  run map check straight --plugin "$faults/$fault.so"
  expect_code 1
done
expect_out 'the integral from p'
run map check straight --plugin "$faults/none.so"
expect_code 0

refused() { # FAULT TEXT
  run env list --plugin "$faults/$1.so"
  expect_refusal 2 "$1.so" "$2"
}
refused crash 'crashed while it was loaded (Aborted)'
refused exit 'ended the process while it was loaded'
refused hang 'did not load within 10 seconds'
refused missing 'there_is_no_such_function'
refused symbol 'expected a definition of mirrormap_plugin'
refused interface 'interface 0: expected 1'
refused size 'mm_plugin: size'
refused name 'expected a name and a version'
refused taken "environment 'CartPole-v1': there is one of that ID"
refused lack "environment 'Walk': expected a summary, reset, step and observe"
run env list --plugin "$faults/none.so" --plugin "$faults/none.so"
expect_code 0
run env list --plugin "$faults/none.so" --plugin "$faults/version.so"
expect_refusal 2 "'walk' is there already"
run env list --plugin absent.so
expect_refusal 2 'absent.so' 'No such file'
run env list --plugin "$2/README.md"
expect_refusal 2 'README.md'
run env list --plugin
expect_refusal 2 "option '--plugin' needs a value"
MIRRORMAP_PLUGINS=absent.so run env list
expect_refusal 2 'MIRRORMAP_PLUGINS' 'absent.so'

# ---------------------------------------------------------------------------------------------
# Ranks: each loads them, and one without them is another program

if "$program" --version | grep -q ', mpi' && command -v mpirun >/dev/null; then
  . "$here/mpi.bash"
  ranks 2 train "${brief[@]}" --set steps=5120 --seeds 3 --out ranked --quiet
  expect_code 0
  expect "the same policies on two ranks" cmp -s whole/policy.safetensors ranked/policy.safetensors
  last="mpirun, one rank without the plug-in"
  timeout 120 mpirun -n 1 "$program" train "${brief[@]}" --set steps=5120 --quiet : \
    -n 1 "$program" train --env WindyPole --map l2 --quiet >"$out" 2>"$err" </dev/null
  code=$?
  expect_code 2
  expect_err 'runs another program'
  expect_err 'plug-ins windy 1.0'
fi

finish
