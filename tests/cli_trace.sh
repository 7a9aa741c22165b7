#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Traces: env replay and env record. (Grid-World's replay: cli_env.sh.)
# usage: cli_trace.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
golden=$2/tests/golden

# ---------------------------------------------------------------------------------------------
# replay: the golden files

classic=(CartPole-v1:classic_cartpole:2862 Acrobot-v1:classic_acrobot:2778
  MountainCar-v0:classic_mountain_car:2193 Pendulum-v1:classic_pendulum:1760)
minatar=(Asterix-MinAtar:minatar_asterix:2592 Breakout-MinAtar:minatar_breakout:2312
  Freeway-MinAtar:minatar_freeway:4100 SpaceInvaders-MinAtar:minatar_space_invaders:1940
  Seaquest-MinAtar:minatar_seaquest:1469)

for entry in "${classic[@]}" "${minatar[@]}" GridWorld:gridworld:3000; do
  IFS=: read -r id name n <<<"$entry"
  run env replay "$id" "$golden/$name.json"
  expect_code 0
  expect_no_err
  expect_out "$n of $n transitions match"
  run env replay "$id" "$golden/$name.json" --json
  expect_code 0
  expect_json
  expect_out "{\"env\":\"$id\",\"transitions\":$n,\"matched\":$n,\"mismatched\":0,\"max_abs_error\":"
  expect_out '"first_mismatch":null}'
done
# bodies: recorded with the MuJoCo library or Gymnasium, which are not needed here
for entry in Hopper:hopper:55 Hopper-v4:hopper_v4:46 HalfCheetah:half_cheetah:40 HalfCheetah-v4:half_cheetah_v4:40 \
  Ant:ant:40 Ant-v4:ant_v4:40 Walker2d:walker2d:37 Walker2d-v4:walker2d_v4:37; do
  IFS=: read -r id name n <<<"$entry"
  run env replay "$id" "$golden/body_$name.json"
  expect_code 0
  expect_no_err
  expect_out "$n of $n transitions match"
done
for entry in "${minatar[@]}"; do
  IFS=: read -r id name n <<<"$entry"
  run env replay "$id" "$golden/$name.json" --json
  expect_out '"max_abs_error":0,'
done

# ---------------------------------------------------------------------------------------------
# replay: one changed number in a copy of each

# tamper ID NAME FROM TO T FIELD EXPECTED GOT: the first FROM of the file becomes TO
tamper() {
  sed "s/$3/$4/" "$golden/$2.json" >"$work/tampered.json"
  expect_not "the trace has changed" cmp -s "$golden/$2.json" "$work/tampered.json"
  run env replay "$1" "$work/tampered.json" --json
  expect_code 1
  expect_no_err
  expect_json
  expect_out "\"first_mismatch\":{\"trajectory\":0,\"t\":$5,\"field\":\"$6\",\"expected\":"
  expect_field expected "$7"
  expect_field got "$8"
  run env replay "$1" "$work/tampered.json"
  expect_code 1
  expect_out "first mismatch: trajectory 0, t $5, $6: expected "
}
tamper CartPole-v1 classic_cartpole '"rewards":\[1.0,' '"rewards":[1.0001,' 0 rewards 1.0001 1
tamper CartPole-v1 classic_cartpole '"times":\[0,1,2' '"times":[0,1,3' 1 times 3 2
tamper Acrobot-v1 classic_acrobot -0.016160285 -0.016260285 0 joint_angle2 -0.01626 -0.01616
tamper MountainCar-v0 classic_mountain_car '"truncated":\[0,0' '"truncated":[0,1' 1 truncated 1 0
tamper Hopper body_hopper '"truncated":\[0,0' '"truncated":[0,1' 1 truncated 1 0
tamper Pendulum-v1 classic_pendulum '"terminated":\[0' '"terminated":[1' 0 terminated 1 0
tamper Asterix-MinAtar minatar_asterix '"states":\[\[5,5,0,10,10' '"states":[[5,5,0,10,11' 0 'start spawn_timer' 11 10
tamper Asterix-MinAtar minatar_asterix '"obs":\[\[220\],\[224' '"obs":[[220],[225' 0 'obs[0]' 225 224
tamper Breakout-MinAtar minatar_breakout '\[4,1,2,3,0,' '[4,1,2,2,0,' 0 pos 2 3
tamper Breakout-MinAtar minatar_breakout ',376\],' ',376,399],' 0 'start obs[33]' 399 null
tamper Freeway-MinAtar minatar_freeway '\[9,2,1,0,\[0,1,3,-4' '[9,2,1,0,[0,1,3,-5' 0 'cars[3]' -5 -4
tamper SpaceInvaders-MinAtar minatar_space_invaders '"rewards":\[0,0' '"rewards":[0,1' 1 rewards 1 0
tamper Seaquest-MinAtar minatar_seaquest '"draws":\[\[1,1,0,3' '"draws":[[1,1,0,4' 20 'e_fish[1]' 3 4
tamper GridWorld gridworld '\[6,73,14,4,0.0,73' '[6,73,14,4,0.0,74' 6 next_pos 74 73

# ---------------------------------------------------------------------------------------------
# record, and replay of it

ids=(CartPole-v1 Acrobot-v1 MountainCar-v0 MountainCarContinuous-v0 Pendulum-v1
  {Asterix,Breakout,Freeway,SpaceInvaders,Seaquest}-MinAtar
  MinAtar/{Asterix,Breakout,Freeway,SpaceInvaders,Seaquest}-v1
  {Hopper,HalfCheetah,Ant}{,-v4} GridWorld-dense GridWorld-labyrinth GridWorld-all)
for id in "${ids[@]}"; do
  file=$work/${id//\//_}.json
  trace=$id
  case $id in GridWorld-*) trace=GridWorld ;; esac
  run env record "$id" --seed 3 --episodes 3 --steps 300 --out "$file"
  expect_code 0
  expect_no_out
  expect_err "$file: "
  cp "$file" "$work/first.json"
  run env replay "$trace" "$file" --json
  expect_code 0
  expect_json
  expect_out '"mismatched":0,"max_abs_error":0,"first_mismatch":null}'
  n=$(field transitions)
  expect "some transitions" test "$n" -ge 3

  # to stdout the same, byte by byte; another seed plays another game
  run env record "$id" --seed 3 --episodes 3 --steps 300
  expect_code 0
  expect_no_err
  expect_json
  expect "the same trace again" cmp -s "$out" "$file"
  run env record "$id" --seed 4 --episodes 3 --steps 300
  expect_not "another seed, another trace" cmp -s <(sed 's/.*uniformly//' "$out") <(sed 's/.*uniformly//' "$file")

  # a file is never replaced
  refuse "$file exists already" env record "$id" --out "$file"
  expect "the file is as before" cmp -s "$work/first.json" "$file"
  run env record "$id" --seed 3 --episodes 3 --steps 300 --out "$work/again.json" --json
  expect_code 0
  expect_no_err
  expect_out "{\"env\":\"$id\",\"seed\":3,\"episodes\":3,\"transitions\":$n,\"file\":\"$work/again.json\"}"
  expect "the same trace again" cmp -s "$work/again.json" "$file"
  rm "$work/again.json"
done
expect "nothing else in the folder" test "$(find "$work" -name '.mm-*' | wc -l)" -eq 0

# the rule sets are different environments
run env record MinAtar/Asterix-v1 --episodes 1
expect_out '"env":"MinAtar/Asterix-v1","rules":"minatar","params":{"max_steps_in_episode":0,'
expect_out '"sticky":['
expect_out '"terminal","last_action","entities"]'
run env record Asterix-MinAtar --episodes 1
expect_not "no rules beside gymnax's" grep -q '"rules"\|"sticky"\|last_action' "$out"
refuse "field 'env': expected 'Asterix-MinAtar', found 'MinAtar/Asterix-v1'" \
  env replay Asterix-MinAtar "$work/MinAtar_Asterix-v1.json"
refuse "field 'env': expected 'MinAtar/Asterix-v1', found 'Asterix-MinAtar'" \
  env replay MinAtar/Asterix-v1 "$golden/minatar_asterix.json"

# a task file; the dense level of the golden trace has its optimal return
cat >"$work/dense.yaml" <<'YAML'
grid: 11
start: [7, 10]
objects:
  - {cell: [7, 9], reward: 1, terminate: 0, respawn: 0.05}
  - {cell: [10, 3], reward: 1, terminate: 0, respawn: 0.05}
  - {cell: [1, 0], reward: -1, terminate: 0.5, respawn: 0.1}
  - {cell: [5, 9], reward: -1, terminate: 0, respawn: 0.5}
YAML
run env record "$work/dense.yaml" --steps 500 --episodes 1
expect_code 0
expect_json
expect_field optimal_return 16.7675
expect_field optimal_return_horizon 200
cp "$out" "$work/task.json"
run env replay GridWorld "$work/task.json"
expect_code 0

# `env play --policy random` plays the episodes that `env record` writes, continuous actions too
for id in CartPole-v1 Pendulum-v1 MinAtar/Breakout-v1; do
  run env record "$id" --seed 7 --episodes 2
  recorded=$(grep -o '"rewards":\[[^]]*\]' "$out" | sed 's/.*\[//; s/\]//' |
    awk -F, '{ sum = 0; for (i = 1; i <= NF; i++) sum += $i; printf " %d %.3f", NF, sum }')
  run env play "$id" --seed 7 --policy random --episodes 2 --json
  played=$(grep -o '"steps":[0-9]*,"return":[-0-9.e]*' "$out" |
    awk -F'[:,]' '{ printf " %d %.3f", $2, $4 }')
  expect "$id: played$played, recorded$recorded" test "$played" = "$recorded"
done

# a limit of steps that the file names is the one that counts
sed 's/"max_steps_in_episode":500/"max_steps_in_episode":2/' "$work/CartPole-v1.json" >"$work/short.json"
run env replay CartPole-v1 "$work/short.json" --json
expect_code 1
expect_out '"first_mismatch":{"trajectory":0,"t":1,"field":"truncated","expected":0,"got":1}'

# ---------------------------------------------------------------------------------------------
# files that are no traces of that environment

trace=$work/CartPole-v1.json
refuse "not a trace of CartPole-v1: field 'env': expected 'CartPole-v1', found 'Acrobot-v1'" \
  env replay CartPole-v1 "$golden/classic_acrobot.json"
refuse "not a trace of CartPole-v1: it has the levels of Grid-Worlds" \
  env replay CartPole-v1 "$golden/gridworld.json"
refuse "not a Grid-World trace" env replay GridWorld "$trace"
refuse "missing.json" env replay CartPole-v1 "$work/missing.json"
refuse "$work" env replay CartPole-v1 "$work"
head -c 3000 "$trace" >"$work/broken.json"
refuse "broken.json:1:" env replay CartPole-v1 "$work/broken.json"
for text in '' '[]' '{}' 'null' '3' '{"env":"CartPole-v1"}' '{"env":["CartPole-v1"]}'; do
  echo "$text" >"$work/other.json"
  refuse "other.json" env replay CartPole-v1 "$work/other.json"
  refuse "other.json" env replay Seaquest-MinAtar "$work/other.json"
done

# damage FROM TO ERROR: in a copy of the recording of $id
damage() {
  sed "s/$1/$2/" "$work/${id//\//_}.json" >"$work/damaged.json"
  expect_not "the trace has changed" cmp -s "$work/${id//\//_}.json" "$work/damaged.json"
  refuse "damaged.json: $3" env replay "$id" "$work/damaged.json"
}
id=CartPole-v1
damage '"actions":\[[01]' '"actions":[7' "trajectory 0, t 0: field 'actions': expected a whole number from 0 to 1, found 7"
damage '"rewards":\[1.0' '"rewards":[null' "trajectory 0, t 0: field 'rewards': expected a number within the range of float32, found null"
damage '"times":\[0,' '"times":[' "trajectory 0: field 'times': expected "
damage '"gravity":9.8' '"gravity":1.62' "field 'params.gravity': this environment has 9.8"
id=Pendulum-v1
damage '"actions":\[' '"actions":[1e99,' "trajectory 0: field 'states': expected "
id=MinAtar/Breakout-v1
damage '"sticky":\[0' '"sticky":[9' "episode 0, t 0: field 'sticky': expected a whole number from 0 to 1, found 9"
damage '"rules":"minatar"' '"rules":"gymnax"' "field 'rules': expected 'minatar', found 'gymnax'"
id=Freeway-MinAtar
damage '"states":\[\[9,3,0,0,\[' '"states":[[9,3,0,0.5,[' "episode 0, t 0: field 'terminal': expected a whole number"
id=Asterix-MinAtar
damage '"draws":\[\[' '"draws":[[1,' "episode 0, t 10: field 'draws': expected 6 numbers, found 7"

# ---------------------------------------------------------------------------------------------
# mistakes

refuse "did you mean 'CartPole-v1'?" env replay CartPole-v0 "$trace"
refuse "did you mean 'MinAtar/Seaquest-v1'?" env replay MinAtar/Seaqest-v1 "$trace"
refuse "did you mean 'GridWorld'?" env replay Gridworld "$trace"
refuse "did you mean 'Asterix-MinAtar'?" env replay asterix "$trace"
refuse "did you mean 'GridWorld'?" env replay dense "$trace"
refuse "no traces of 'zzz'" env replay zzz "$trace"
refuse "did you mean 'CartPole-v1'?" env record Cartpole-v1
refuse "did you mean 'Asterix-MinAtar'?" env record Asterix-MiniAtar
refuse "did you mean 'MinAtar/Freeway-v1'?" env record MinAtar/Freway-v1
refuse "did you mean 'GridWorld-labyrinth'?" env record GridWorld-labrinth
refuse "missing.yaml" env record "$work/missing.yaml"
refuse "did you mean 'record'?" env recrd CartPole-v1
refuse "expected ID" env record
refuse "episodes" env record CartPole-v1 --episodes 0
refuse "steps" env record CartPole-v1 --steps 0
refuse "policy" env record CartPole-v1 --policy best
refuse "'--json' needs '--out'" env record CartPole-v1 --json
refuse "is a folder" env record CartPole-v1 --out "$work"
refuse "nowhere" env record CartPole-v1 --out "$work/nowhere/x.json"
ln -s "$work/target.json" "$work/link.json"
refuse "exists already" env record CartPole-v1 --out "$work/link.json"

finish
