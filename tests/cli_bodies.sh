#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bodies on the command line: env list, show, play, sheets of frames, what is
# refused, and what is said where the MuJoCo library or its models are missing.
# usage: cli_bodies.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
export MIRRORMAP_DATA=$2 # a program that is not in build/ has no models beside it

narrow() {
  test "$(awk '{ if (length > n) n = length } END { print n + 0 }' "$out")" -le 80
}

library=no
if "$program" --version | grep -q 'mujoco [0-9]'; then library=yes; fi
[ $library = yes ] || echo "cli_bodies: built without the MuJoCo library: what needs it is skipped"

brax="Hopper HalfCheetah Ant Walker2d"
gymnasium="Hopper-v4 HalfCheetah-v4 Ant-v4 Walker2d-v4"

# ---------------------------------------------------------------------------------------------
# list and show

run env list
expect_code 0
expect "their group" grep -q '^Continuous control  *trained by pmd-gaussian, preset mujoco$' "$out"
for id in $brax $gymnasium; do
  expect "$id is listed" grep -q "^$id  *[a-zA-Z]" "$out"
done

for id in $brax $gymnasium; do
  run env show "$id"
  expect_code 0
  expect_no_err
  expect "lines of at most 80 columns" narrow
  expect_not "ASCII in the C locale" grep -q '[^ -~]' "$out"
  for fact in observation forms actions reward end limit random flavour physics "trained by"; do
    expect "the fact '$fact'" grep -q "^$fact  *[^ ]" "$out"
  done
  expect "the floor" grep -q "^[-'.#|/\\\\]\{25\}" "$out"
  run env show "$id" --json
  expect_code 0
  expect_json
  expect_out "{\"env\":\"$id\",\"summary\":\""
  expect_out '"limit":1000,'
  case $id in *-v4) expect_out '"flavour":"gymnasium"' ;; *) expect_out '"flavour":"brax"' ;; esac
  expect_out '"physics":"own"}'
done
run env show Hopper --json
expect_out '"observation":{"n":11,"forms":["floats","columns"],'
expect_out '"actions":{"kind":"real","n":3,"low":-1,"high":1},'
run env show HalfCheetah --json
expect_out '"observation":{"n":17,'
expect_out '"n":6,"low":-1'
run env show Ant --json
expect_out '"observation":{"n":27,'
expect_out '"n":8,"low":-1'
run env show Hopper --physics own --json
expect_out '"physics":"own"}'
run env show Hopper --physics=own --help all
expect_out '--physics VALUE'
run env show HalfCheetah --set flavour=gymnasium --json
expect_out '"flavour":"gymnasium"'
run env show HalfCheetah-v4 --set flavour=brax --json
expect_out '"flavour":"brax"'

# ---------------------------------------------------------------------------------------------
# play

play() {
  run env play "$@" --json
  expect_code 0
  expect_no_err
  expect_json
}
engines=own
[ $library = no ] || engines="own mujoco"
for engine in $engines; do
  for id in $brax; do
    play "$id" --set physics="$engine" --keys 'hhll..  r'
    expect_field episode 2
    expect_field steps 0
    play "$id" --set physics="$engine" --keys 'lll'
    expect_field steps 3
    cp "$out" "$work/once"
    play "$id" --set physics="$engine" --keys 'lll'
    expect "the same keys, the same game" cmp -s "$out" "$work/once"
    play "$id" --set physics="$engine" --keys 'lll' --seed 1
    expect_not "another seed, another one" cmp -s <(tail -c 60 "$out") <(tail -c 60 "$work/once")
  done
  # falls soon when it acts at random
  play Hopper --set physics="$engine" --policy random --episodes 20
  expect "20 falls" test "$(grep -o '"terminated":true' "$out" | wc -l)" -eq 20
  play HalfCheetah --set physics="$engine" --policy random
  expect_out '"steps":1000'
  expect_out '"truncated":true'
done
run env play Hopper --keys 'lll'
expect_code 0
expect_out "height"
expect_out "pitch'"
expect_not "the torso stands" grep -q "has ended" "$out"

# ---------------------------------------------------------------------------------------------
# frames

for id in $brax; do
  run env show "$id" --frames "$work/$id.svg" --steps 20 --every 5
  expect_code 0
  expect "a picture of $id" grep -q '</svg>' "$work/$id.svg"
  expect "its title" grep -q "$id, seed 0, random policy" "$work/$id.svg"
  expect "its floor" grep -q '>floor<' "$work/$id.svg"
  expect "a tick at every metre of it" test "$(grep -c '<line .*stroke="#808080"' "$work/$id.svg")" -ge 15
done
run env show HalfCheetah --frames "$work/h.svg" --steps 4 --set flavour=gymnasium --set physics=own
expect "settings in the title" grep -q 'random policy, flavour=gymnasium, physics=own' "$work/h.svg"

# ---------------------------------------------------------------------------------------------
# trained policies: they play the body that they know, unless another is asked for

small=(--map negentropy --set envs=16 --set unroll=8 --set minibatches=2 --set epochs=1 --set hidden=16
  --set steps=512 --quiet)
for engine in $engines; do
  for id in $brax; do
    run train --env "$id" "${small[@]}" --set physics="$engine" --out "$work/$id-$engine"
    expect_code 0
    run env play --policy "$work/$id-$engine" --json
    expect_code 0
    expect_json
    expect_out "\"env\":\"$id\""
  done
  run eval --policy "$work/Hopper-$engine" --episodes 3 --json
  expect_code 0
  expect_json
  expect_out "\"flavour\":\"brax\",\"physics\":\"$engine\",\"unstable\":0,"
  for other in $engines; do
    run eval --policy "$work/Hopper-$engine" --episodes 3 --physics "$other"
    expect_code 0
    case $other in own) expect_out 'flavour, our own engine' ;; *) expect_out 'flavour, the MuJoCo library' ;; esac
  done
done
# the ID of another body says its flavour, that of the training what is not said
run train --env Hopper "${small[@]}" --set flavour=brax --out "$work/flavoured"
run eval --policy "$work/flavoured" --episodes 1 --env Hopper-v4
expect_code 0
expect_out 'physics      gymnasium flavour,'
run env play Hopper-v4 --policy "$work/flavoured"
expect_code 0
expect_not "not the one of the training" grep -q "brax' flavour" "$out"
run eval --policy "$work/flavoured" --episodes 1 --env Hopper-v4 --set flavour=brax
expect_out 'physics      brax flavour,'
run env show Ant --frames "$work/ant.svg" --policy "$work/Ant-own" --steps 12 --every 4 --greedy
expect_code 0
expect "who plays" grep -q 'Ant-own agent 0 (greedy)' "$work/ant.svg"
run train --env HalfCheetah "${small[@]}" --set flavour=gymnasium --set fresh_reset=on --out "$work/g"
expect_code 0
run env play --policy "$work/g"
expect_code 0
expect_out "Gymnasium's flavour"
run env play --policy "$work/g" --set flavour=brax
expect_code 0
expect_out "brax' flavour"

# ---------------------------------------------------------------------------------------------
# refused

refuse "(did you mean 'Hopper'?)" env show Hoper
refuse "(did you mean 'HalfCheetah-v4'?)" env show HalfCheetah-v5
refuse "setting 'physics' is for Hopper, HalfCheetah, Ant and Walker2d" env show CartPole-v1 --set physics=own
refuse "setting 'physics' is for Hopper, HalfCheetah, Ant and Walker2d" env show CartPole-v1 --physics own
refuse "setting 'physics' is for Hopper, HalfCheetah, Ant and Walker2d" train --env Pendulum-v1 --map l2 --physics own
refuse "setting 'rules' is for MinAtar" train --env CartPole-v1 --map l2 --set rules=minatar
refuse "ampo has no setting 'physics'" train --env CartPole-v1 --map l2 --physics own
refuse "option '--physics': unknown value 'bullet'" env show Ant --physics bullet
refuse "setting 'physics': unknown value 'bullet'" train --env Ant --map l2 --physics bullet
refuse "setting 'physics' is given twice" train --env Ant --map l2 --physics own --set physics=own
refuse "option '--physics' is given twice" train --env Ant --map l2 --set physics=own --physics own
refuse "option '--physics' needs a value" train --env Ant --map l2 --physics
refuse "unknown option '--physcs' (did you mean '--physics'?)" train --env Ant --map l2 --physcs own
refuse "unknown option '--steps' (did you mean '--set steps=..'?)" train --env Ant --map l2 --steps 9
refuse "setting 'flavour' is for Hopper, HalfCheetah, Ant and Walker2d" \
  env show GridWorld-dense --set flavour=brax
refuse "setting 'fresh_reset' is for Hopper" env play Breakout-MinAtar --set fresh_reset=on --keys .
refuse "setting 'physics': unknown value 'bullet'" env show Ant --set physics=bullet
refuse "setting 'flavour': unknown value 'v5'" env show Ant --set flavour=v5
refuse "setting 'rules' is for MinAtar" env show Ant --set rules=gymnax
refuse "setting 'gamma' is for Grid-World" env show Hopper --set gamma=0.9
refuse "option '--index' is for Grid-World" env show Hopper --index 1
refuse "option '--physics' is for Hopper, HalfCheetah, Ant and Walker2d" env record CartPole-v1 --physics own
refuse "not a key of Hopper" env play Hopper --keys 'x'

# ---------------------------------------------------------------------------------------------
# the library and its models

if [ $library = no ]; then
  run env show Hopper --physics mujoco
  expect_refusal 1 "libmujoco-dev"
else
  play Hopper --set physics=mujoco --policy random --episodes 3
  cp "$out" "$work/points"
  for comma in $(locale -a 2>/dev/null | grep -iE '^(de_DE|fr_FR)' | head -n 1); do
    LC_ALL=$comma run env play Hopper --set physics=mujoco --policy random --episodes 3 --json
    expect "numbers with a comma are no matter" cmp -s "$out" "$work/points"
  done
  # nothing is written beside the program, as the library likes to
  cd "$work" || exit 1
  run env play Ant --set physics=mujoco --policy random --episodes 5
  expect_code 0
  expect_not "a log of the library's" test -e MUJOCO_LOG.TXT
  mkdir empty
  MIRRORMAP_DATA=$work/empty
  if [ ! -e "$(dirname "$program")/../models" ]; then
    run env show Hopper --set physics=mujoco
    expect_refusal 2 "models/hopper_brax.xml: not found"
  fi
  mkdir -p broken/models
  echo '<mujoco><worldbody></mujoco>' >broken/models/hopper_brax.xml
  MIRRORMAP_DATA=$work/broken
  run env show Hopper --set physics=mujoco
  expect_refusal 2 "broken/models/hopper_brax.xml"
  sed 's/timestep="0.002"/timestep="0.004"/' "$2/models/hopper_brax.xml" >broken/models/hopper_brax.xml
  run env show Hopper --set physics=mujoco
  expect_refusal 2 "a time step of 0.002"
  # our own engine needs no file
  run env show Hopper --set physics=own
  expect_code 0
fi

finish
