#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trained policies on the command line: eval, env play --policy, env show --frames --policy.
# usage: cli_eval.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
# shellcheck disable=SC2016 # the dollars are awk's
. "$(dirname "$0")/cli.bash"

make_policy=$(dirname "$program")/mirrormap_make_policy
if [ ! -x "$make_policy" ]; then
  echo "skipped: mirrormap_make_policy was not built"
  exit 77
fi

# without the fields that tell of time and place
timeless() { sed 's/,"env_steps_per_second":.*//' "$out"; }

mkdir "$work/run"
pole=$work/run/policy.safetensors
asterix=$work/asterix.safetensors
grid=$work/grid.safetensors
ppo=$work/ppo.safetensors
expect "a CartPole policy" "$make_policy" CartPole-v1 l2 ampo 2 5 "$pole" steps=20000
expect "an Asterix policy" "$make_policy" Asterix-MinAtar random:1 ampo 1 0 "$asterix" steps=2048 hidden=16
expect "a Grid-World policy" "$make_policy" GridWorld-dense negentropy ampo 2 3 "$grid" steps=2048 hidden=16
expect "a policy of PPO" "$make_policy" Acrobot-v1 negentropy ppo 1 0 "$ppo" steps=2048 hidden=16

# ---------------------------------------------------------------------------------------------
# eval

run eval --policy "$work/run" --json
expect_code 0
expect_no_err
expect_json
expect_out '{"env":"CartPole-v1","policy":"'
expect_out '"trained_on":"CartPole-v1","algo":"ampo","map":"l2","eta":0.9,"actions":"sample","rules":"id","seed":0,"episodes":100,'
expect_out '"agents":[{"agent":0,"seed":5,"final":'
expect_out '{"agent":1,"seed":6,'
expect "better than chance" awk '{ exit !($1 > 40) }' <<<"$(field mean_return)"
expect "its standard error" awk '{ exit !($1 > 0) }' <<<"$(field sem_return)"
expect "least and greatest" awk '{ exit !($1 >= 5 && $1 <= $2 && $2 <= $3 && $3 <= 500) }' \
  <<<"$(field min_return) $(field median_return) $(field max_return)"
expect "a step pays 1" test "$(field mean_return)" = "$(field mean_length)"
expect "200 ends" awk '{ exit !($1 + $2 == 200 && $3 == 0) }' \
  <<<"$(field terminated) $(field truncated) $(field cut)"
timeless >"$work/one"
mean=$(field mean_return)

for words in "--threads 1" "--threads 3" "--sample" "--isa portable" "--isa avx2" "--isa avx512"; do
  read -ra more <<<"$words"
  run eval --policy "$pole" --json "${more[@]}"
  [ "$code" -eq 1 ] && [ "${more[0]}" = --isa ] && continue # this processor lacks it
  expect "the same numbers with $words" \
    cmp -s <(timeless | sed 's/"policy":[^,]*,//') <(sed 's/"policy":[^,]*,//' "$work/one")
done
run eval --policy "$work/run" --json --seed 1
expect_not "another seed has other episodes" test "$(field mean_return)" = "$mean"
second=$(grep -o '{"agent":1,[^}]*}' "$work/one")
run eval --policy "$work/run" --json --agent 1
expect_out "$second"
expect "only this agent" test "$(grep -o '"agent":' "$out" | wc -l)" -eq 1
run eval --policy "$work/run" --json --greedy --episodes 3
expect_out '"actions":"greedy"'
expect_field episodes 3
run eval --policy "$work/run" --json --max-steps 7
expect_field cut 200
expect_field mean_return 7

run eval --policy "$work/run"
expect_code 0
expect_no_err
expect_out "CartPole-v1, ampo, map l2: 2 agents, 100 episodes each, sampled actions"
expect_out "(standard error over agents)"
expect "a table of agents" grep -Eq '^ +1 +6 ' "$out"
run eval --policy "$ppo" --episodes 5
expect_out "Acrobot-v1, ppo: 1 agent, 5 episodes, sampled actions"
run eval --policy "$ppo" --episodes 5 --json
expect_out '"algo":"ppo","map":null'
run eval --policy "$ppo" --episodes 5
expect_out "(standard error over episodes)"

# MinAtar: the rules of the ID, of the setting, of the training
run eval --policy "$asterix" --json --episodes 20
expect_out '"rules":"id"'
timeless >"$work/one"
run eval --policy "$asterix" --json --episodes 20 --set rules=gymnax
expect "gymnax's are the default" test "$(field mean_length)" = "$(out=$work/one field mean_length)"
run eval --policy "$asterix" --json --episodes 20 --set rules=minatar
length=$(field mean_length)
expect_not "other rules, other episodes" test "$length" = "$(out=$work/one field mean_length)"
run eval --policy "$asterix" --json --episodes 20 --env MinAtar/Asterix-v1
expect_out '{"env":"MinAtar/Asterix-v1",'
expect "by the ID" test "$(field mean_length)" = "$length"
expect "a policy trained by the original's rules" \
  "$make_policy" Asterix-MinAtar l2 ampo 1 0 "$work/original.safetensors" steps=512 hidden=4 rules=minatar
run eval --policy "$work/original.safetensors" --json --episodes 2
expect_out '"rules":"minatar"'
run eval --policy "$work/original.safetensors" --json --episodes 2 --env Asterix-MinAtar
expect_out '"rules":"minatar"'

# Grid-World: each agent on its own instance, and no limit but ours
run eval --policy "$grid" --json --episodes 10 --max-steps 50
expect_code 0
expect_out '"env":"GridWorld-dense"'

# ---------------------------------------------------------------------------------------------
# what is refused

refuse "'--policy' is required" eval
refuse "option '--policy': cannot read '$work/none'" eval --policy "$work/none"
run learn --env GridWorld-small --generations 1 --population 4 --set validation_tasks=2 --set steps=512 --set envs=4 \
  --set unroll=16 --out "$work/search" --quiet
expect_code 0
refuse "is a search for a mirror map and has no policy; train agents with its map first" eval --policy "$work/search"
run train --env GridWorld-small --map l2 --set steps=512 --set envs=4 --set unroll=16 --out "$work/table" --quiet
refuse "has no policy.safetensors" eval --policy "$work/table"
mkdir "$work/empty"
refuse "policy.safetensors" eval --policy "$work/empty"
refuse "not both" eval --policy "$pole" --sample --greedy
refuse "agent 2: the policy has agents 0 to 1" eval --policy "$pole" --agent 2
refuse "option '--episodes': 0 must be" eval --policy "$pole" --episodes 0
refuse "did you mean 'CartPole-v1'?" eval --policy "$pole" --env CartPol-v1
refuse "environment 'Acrobot-v1' has 6 inputs and 3 actions; the policy, of 'CartPole-v1', has 4 and 2" \
  eval --policy "$pole" --env Acrobot-v1
refuse "has continuous actions" eval --policy "$pole" --env Pendulum-v1
refuse "setting 'rules' is for MinAtar" eval --policy "$pole" --set rules=gymnax
refuse "setting 'rules': unknown value" eval --policy "$asterix" --set rules=atari

# damaged files: of the corpus, and of this one
for file in "$2"/tests/fuzz/corpus/policy/bad_*; do
  refuse "$file" eval --policy "$file"
done
head -c 1000 "$pole" >"$work/cut.safetensors"
refuse "cut.safetensors" eval --policy "$work/cut.safetensors"
refuse "expected a safetensors file" eval --policy "$0"
: >"$work/nothing"
refuse "expected a safetensors file, found 0 bytes" eval --policy "$work/nothing"
refuse "expected a file, found a" eval --policy /dev/null
# an environment that is not there
sed 's/CartPole-v1/CartPole-v9/' "$pole" >"$work/v9.safetensors"
refuse "did you mean 'CartPole-v1'?" eval --policy "$work/v9.safetensors"
run eval --policy "$work/v9.safetensors" --env CartPole-v1 --episodes 2
expect_code 0

# ---------------------------------------------------------------------------------------------
# env play, env show

run env play --policy "$work/run" --episodes 3 --json
expect_code 0
expect_json
expect_out '{"env":"CartPole-v1","seed":0,"policy":"'
expect_out '"agent":0,"actions":"sample","mean_return":'
expect "three episodes" test "$(grep -o '"steps":' "$out" | wc -l)" -eq 3
expect "better than chance" awk '{ exit !($1 > 40) }' <<<"$(field mean_return)"
cp "$out" "$work/one"
run env play CartPole-v1 --policy "$work/run" --episodes 3 --json
expect "the same with the ID" cmp -s "$out" "$work/one"
run env play --policy "$work/run" --episodes 3 --json --agent 1 --greedy
expect_out '"agent":1,"actions":"greedy"'
run env play --policy "$work/run"
expect_out "CartPole-v1  seed 0, $work/run agent 0"
expect "a table" grep -Eq '^ +1 ' "$out"
run env play MinAtar/Asterix-v1 --policy "$asterix" --episodes 2
expect_out "MinAtar/Asterix-v1  seed 0, original rules, $asterix agent 0"
run env play --policy "$work/original.safetensors"
expect_out "Asterix-MinAtar  seed 0, original rules"

refuse "expected ID" env play
refuse "expected ID" env play --policy random
refuse "environment 'Acrobot-v1' has 6 inputs" env play Acrobot-v1 --policy "$pole"
refuse "environment 'GridWorld-dense' has" env play GridWorld-dense --policy "$pole"
refuse "option '--policy' is for classic control, locomotion tasks and MinAtar" env play --policy "$grid"
refuse "option '--agent': $pole has agents 0 to 1" env play --policy "$pole" --agent 2
refuse "'--agent' needs '--policy'" env play CartPole-v1 --agent 1
refuse "'--greedy' needs '--policy'" env play CartPole-v1 --policy random --greedy
refuse "not both" env play --policy "$pole" --keys l
refuse "bad_nan" env play --policy "$2/tests/fuzz/corpus/policy/bad_nan.safetensors"

refuse "'--agent' needs '--frames'" env show CartPole-v1 --agent 1
refuse "'--greedy' needs '--policy'" env show CartPole-v1 --greedy --frames "$work/a.svg"
refuse "environment 'Acrobot-v1' has 6 inputs" env show Acrobot-v1 --policy "$pole" --frames "$work/a.svg"
refuse "a trained policy plays in classic control, locomotion tasks and MinAtar" \
  env show GridWorld-dense --policy "$grid" --frames "$work/a.svg"
expect "nothing was drawn" test ! -e "$work/a.svg"
run env show CartPole-v1 --policy "$work/run" --frames "$work/a.svg" --json
if [ "$code" -eq 0 ]; then
  expect "longer than chance" awk '{ exit !($1 > 30) }' <<<"$(field steps)"
  expect "the policy is named" grep -q "run agent 0" "$work/a.svg"
else
  expect_refusal 1 "gnuplot" # it is missing here
fi

# ---------------------------------------------------------------------------------------------
# on a terminal

until_shown() {
  local i
  for i in {1..1200}; do
    tmux -L mirrormap capture-pane -p -t play >"$out" 2>/dev/null
    grep -q -e "$1" "$out" && return 0
    sleep 0.05
  done
  return 1
}

on_terminal() {
  last="mirrormap $* (on a terminal)"
  # the interrupt of the terminal is meant for the program
  printf '%s\n' 'trap : INT' "\"$program\" $*" 'echo "code $?."' 'sleep 100' >"$work/play"
  tmux -L mirrormap -f /dev/null new-session -d -s play -x 80 -y 24 "sh $work/play" 2>/dev/null
}

send() { tmux -L mirrormap send-keys -t play "$@"; }

export TMUX_TMPDIR=$work
unset TMUX
trap 'tmux -L mirrormap kill-server 2>/dev/null; rm -rf "$work"' EXIT
if command -v tmux >/dev/null 2>&1 &&
  tmux -L mirrormap -f /dev/null new-session -d -s keep "sleep 1000" 2>/dev/null &&
  on_terminal env play --policy "$asterix" --fps 0.2; then
  expect "a state is seen" until_shown "step  *0 of 1000"
  expect "bars of its actions" grep -Eq '(none|left|up|right|down) +#* +[01]\.[0-9]{3}$' "$out"
  expect "that sum to 1" awk '$NF ~ /^[01]\.[0-9][0-9][0-9]$/ { sum += $NF; n++ }
    END { exit !(n == 5 && sum > 0.99 && sum < 1.01) }' "$out"
  send p
  expect "a pause" until_shown "Paused: \. is one step, p goes on"
  send .
  expect "a single step" until_shown "step  *1 of 1000"
  send . .
  expect "two more" until_shown "step  *3 of 1000"
  send q
  expect "left with code 0" until_shown "code 0\."
  tmux -L mirrormap kill-session -t play

  on_terminal env play --policy "$work/run" --episodes 1 --fps 1000
  expect "one episode, then its table" until_shown "code 0\."
  expect_out "agent 0"
  tmux -L mirrormap kill-session -t play

  on_terminal eval --policy "$grid" --episodes 100000 --threads 1
  expect "progress" until_shown "eval.*%"
  send C-c
  expect "interrupted" until_shown "code 130\."
else
  echo "no terminal to play on: tmux is missing or does not work here"
fi

finish
