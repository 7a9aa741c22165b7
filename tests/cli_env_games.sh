#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Classic control and MinAtar on the command line: env show, env play, sheets of frames.
# usage: cli_env_games.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
# shellcheck disable=SC2016 # the dollars are awk's
. "$(dirname "$0")/cli.bash"

narrow() {
  test "$(awk '{ if (length > n) n = length } END { print n + 0 }' "$out")" -le 80
}

classic="CartPole-v1 Acrobot-v1 MountainCar-v0 MountainCarContinuous-v0 Pendulum-v1"
minatar=
for name in Asterix Breakout Freeway SpaceInvaders Seaquest; do
  minatar="$minatar $name-MinAtar MinAtar/$name-v1"
done

# ---------------------------------------------------------------------------------------------
# show

for id in $classic $minatar; do
  run env show "$id"
  expect_code 0
  expect_no_err
  expect "lines of at most 80 columns" narrow
  expect_not "ASCII in the C locale" grep -q '[^ -~]' "$out"
  for fact in observation forms actions reward end limit random rules "trained by"; do
    expect "the fact '$fact'" grep -q "^$fact  *[^ ]" "$out"
  done
  run env show "$id" --json
  expect_code 0
  expect_json
  expect_out "{\"env\":\"$id\",\"summary\":\""
done
run env show CartPole-v1 --json
expect_out '"observation":{"n":4,"forms":["floats","columns"],'
expect_out '"actions":{"kind":"discrete","n":2,"names":["left","right"]},"limit":500,'
run env show Pendulum-v1 --json
expect_out '"actions":{"kind":"real","n":1,"low":-2,"high":2},"limit":200,'
run env show SpaceInvaders-MinAtar --json
expect_out '"observation":{"n":600,"forms":["floats","bits","list"],"shape":[10,10,6],'
expect_out '"names":["none","left","right","fire"]},"limit":1000,'
expect_out '"rules":"gymnax"}'
run env show SpaceInvaders-MinAtar --set rules=minatar --json
expect_out '"limit":null,'
expect_out '"rules":"minatar"}'
cp "$out" "$work/one"
run env show MinAtar/SpaceInvaders-v1 --json
expect "the ID says the same as the setting" \
  cmp -s <(sed 's/"env":[^}]*"algo"//' "$out") <(sed 's/"env":[^}]*"algo"//' "$work/one")
run env show MinAtar/Freeway-v1 --json
expect_out '"limit":2501,'
run env show MountainCarContinuous-v0 --set gymnasium_walls=on
expect_out "Gymnasium's walls"

# the first board: 28 aliens by the one, 24 by the other rules
run env show SpaceInvaders-MinAtar
expect "28 aliens" test "$(grep '^|' "$out" | cut -c1-23 | tr -cd '<' | wc -c)" -eq 28
expect "the cannon" grep -q '^| \. \. \. \. \. C \. \. \. \. |' "$out"
run env show MinAtar/SpaceInvaders-v1
expect "24 aliens" test "$(grep '^|' "$out" | cut -c1-23 | tr -cd '<' | wc -c)" -eq 24
run env show Breakout-MinAtar
expect "30 bricks, less the one that the ball starts on" \
  test "$(grep '^|' "$out" | cut -c1-23 | tr -cd '#' | wc -c)" -eq 29
expect_out "P  paddle"
for seed in 1 2 3 4 5 6 7 8; do
  run env show Breakout-MinAtar --seed "$seed"
  grep -c '^| O' "$out"
done >"$work/sides"
expect "the ball comes from both sides" test "$(sort -u "$work/sides" | wc -l)" -eq 2

refuse "(did you mean 'CartPole-v1'?)" env show CartPol-v1
refuse "setting 'rules' is for MinAtar" env show CartPole-v1 --set rules=gymnax
refuse "setting 'rules' is for MinAtar" env show GridWorld-dense --set rules=gymnax
refuse "setting 'rules': unknown value 'atari'" env show Asterix-MinAtar --set rules=atari
refuse "setting 'gymnasium_walls' is for MountainCarContinuous-v0" \
  env show MountainCar-v0 --set gymnasium_walls=on
refuse "setting 'gamma' is for Grid-World" env show CartPole-v1 --set gamma=0.9
refuse "option '--optimal' is for Grid-World" env show CartPole-v1 --optimal
refuse "option '--map' is for Grid-World" env show CartPole-v1 --map l2
refuse "option '--index' is for Grid-World" env show CartPole-v1 --index 1

# ---------------------------------------------------------------------------------------------
# play with --keys

play() {
  local id=$1
  shift
  run env play "$id" --json --keys "$@"
  expect_code 0
  expect_no_err
}

# SpaceInvaders is the same every time: the scripts of its specification, by their keys
repeated() { # TEXT N
  local i text=
  for ((i = 0; i < $2; i++)); do text=$text$1; done
  printf '%s' "$text"
}
play SpaceInvaders-MinAtar "$(repeated ' ' 40)"
expect_out '"episode":1,"steps":18,"last_reward":'
expect_field return 3
expect_out '"ended":true,"terminated":true,"truncated":false}'
play SpaceInvaders-MinAtar "$(repeated . 40)"
expect_field steps 17
expect_field return 0
play SpaceInvaders-MinAtar "$(repeated '.hl ' 10)"
expect_field steps 18
expect_field return 2
escape=$'\033'
play SpaceInvaders-MinAtar "$(repeated ".${escape}[D${escape}OC " 10)"
expect_field steps 18
expect_field return 2
play SpaceInvaders-MinAtar "$(repeated ' ' 18)r.."
expect_out '"episode":2,"steps":2,"last_reward":0,"return":0,'
expect_out '"ended":false,"terminated":false,"truncated":false}'
play SpaceInvaders-MinAtar '..r...'
expect_out '"episode":2,"steps":3,'
play SpaceInvaders-MinAtar '..q...'
expect_field steps 2
play SpaceInvaders-MinAtar q
expect_field steps 0

# of the board the inputs that are on
play Asterix-MinAtar 'wa' # player at row 4, column 4
expect_out '"active":[176],'
play Asterix-MinAtar 'wasd '
expect_out '"active":[220],'

# classic control: a push holds, space lets go
play MountainCar-v0 'l...'
cp "$out" "$work/one"
play MountainCar-v0 'llll'
expect "a push holds" cmp -s "$out" "$work/one"
play MountainCar-v0 'l   '
expect_not "until space" cmp -s "$out" "$work/one"
play MountainCar-v0 '....'
cp "$out" "$work/one"
play MountainCar-v0 '    '
expect "at first there is none" cmp -s "$out" "$work/one"
play CartPole-v1 "$(repeated l 20)"
expect_out '"ended":true,"terminated":true,"truncated":false}'
expect "the pole has fallen to the left" \
  awk '{ exit !($3 < -0.2) }' <<<"$(field observation)"
play Pendulum-v1 "$(repeated l 201)"
expect_out '"steps":200,'
expect_out '"ended":true,"terminated":false,"truncated":true}'

# continuous actions: the bounds; MountainCarContinuous pays 0.1 a^2 for each
play MountainCarContinuous-v0 'hl h'
expect_field return -0.30
expect_field last_reward -0.10
keys=$(repeated l 20)$(repeated h 40) # leans on the left wall, where the rules differ
play MountainCarContinuous-v0 "$keys"
expect "gymnax's left wall lets the speed be" awk '{ exit !($1 < -1.19 && $2 < 0) }' <<<"$(field observation)"
cp "$out" "$work/one"
play MountainCarContinuous-v0 "$keys" --set gymnasium_walls=off
expect "by default" cmp -s "$out" "$work/one"
play MountainCarContinuous-v0 "$keys" --set gymnasium_walls=on
expect "Gymnasium's has stopped it" awk '{ exit !($2 > -0.02) }' <<<"$(field observation)"

# chance follows the seed, and nothing else
for id in CartPole-v1 Asterix-MinAtar Seaquest-MinAtar; do
  keys=$(repeated 'ahdl..' 8)
  [ "$id" != CartPole-v1 ] || keys=llh.h
  play "$id" "$keys" --seed 5
  cp "$out" "$work/one"
  play "$id" "$keys" --seed 5
  expect "the same game again" cmp -s "$out" "$work/one"
  play "$id" "$keys" --seed 6
  expect_not "another game with another seed" cmp -s "$out" "$work/one"
done

# sticky actions: the original's games differ from gymnax's and between seeds
for seed in 1 2 3 4; do
  play MinAtar/SpaceInvaders-v1 hlhlhlhlhlhlhlhl --seed "$seed"
  field active
done >"$work/sticky"
expect "sticky actions" test "$(sort -u "$work/sticky" | wc -l)" -gt 1
play SpaceInvaders-MinAtar hlhlhlhl --set rules=minatar --seed 3
cp "$out" "$work/one"
play MinAtar/SpaceInvaders-v1 hlhlhlhl --seed 3
expect "the setting is the ID" cmp -s <(sed 's/"env":"[^"]*"//' "$out") <(sed 's/"env":"[^"]*"//' "$work/one")

run env play Freeway-MinAtar --keys '....w'
expect_code 0
expect_no_err
cat >"$work/picture" <<'TEXT'
+---------------------+   episode             1
TEXT
expect "letters where there are no colours" cmp -s "$work/picture" <(sed -n 2p "$out")
expect "the chicken has left its place" grep -q '^| \. \. \. \. \. ' <(sed -n 12p "$out")
expect "for the row above" grep -q '^|........ C ' <(sed -n 11p "$out")
expect_out "X  car"
expect_not "no escapes" grep -q "$escape" "$out"
run env play SpaceInvaders-MinAtar --keys "$(repeated ' ' 40)"
expect_out "The episode has ended (terminated)."

refuse "'--keys', byte 3: not a key of CartPole-v1" env play CartPole-v1 --keys 'llk'
refuse "'--keys', byte 1: not a key of CartPole-v1" env play CartPole-v1 --keys ' '
refuse "'--keys', byte 2: not a key of Freeway-MinAtar" env play Freeway-MinAtar --keys '.h'
refuse "'--keys', byte 1: not a key of Asterix-MinAtar" env play Asterix-MinAtar --keys x
refuse "'--keys', byte 1: not a key of Asterix-MinAtar" env play Asterix-MinAtar --keys p
refuse "'--json' needs '--keys' or '--policy'" env play CartPole-v1 --json
refuse "needs a terminal" env play CartPole-v1
refuse "not both" env play CartPole-v1 --keys l --policy random
refuse "'--episodes' needs '--policy'" env play CartPole-v1 --episodes 3
refuse "option '--episodes': 0 must be" env play CartPole-v1 --policy random --episodes 0
refuse "option '--policy': cannot read 'greedy'" env play CartPole-v1 --policy greedy
refuse "option '--fps': 0 must be" env play CartPole-v1 --fps 0
refuse "option '--index' is for Grid-World" env play CartPole-v1 --index 2 --keys l
refuse "option '--policy' is for classic control, locomotion tasks and MinAtar" env play GridWorld-dense --policy random
refuse "option '--fps' is for classic control, locomotion tasks and MinAtar" env play GridWorld-dense --fps 3 --keys l
refuse "setting 'termination' is for Grid-World" \
  env play CartPole-v1 --keys l --set termination=absorb
refuse "setting 'rules' is for MinAtar" env play Pendulum-v1 --keys l --set rules=minatar
refuse "unknown setting 'rule'" env play Asterix-MinAtar --keys l --set rule=minatar

# ---------------------------------------------------------------------------------------------
# play by a policy

run env play CartPole-v1 --policy random --episodes 200 --json
expect_code 0
expect_no_err
expect_json
expect "200 episodes" test "$(grep -o '"steps":' "$out" | wc -l)" -eq 200
# 22.36 with a standard deviation of 11.9 is what a uniform policy gets: within 5 standard errors
expect "the return of a uniform policy" awk '{ exit !($1 > 18.1 && $1 < 26.6) }' <<<"$(field mean_return)"
cp "$out" "$work/one"
run env play CartPole-v1 --policy random --episodes 200 --json
expect "the same episodes again" cmp -s "$out" "$work/one"
run env play CartPole-v1 --policy random --episodes 200 --json --seed 1
expect_not "other episodes with another seed" cmp -s "$out" "$work/one"
run env play CartPole-v1 --policy random --episodes 3
expect_code 0
expect_no_err
expect "a row for each episode" test "$(grep -c 'terminated$' "$out")" -eq 3
expect_out "mean return "
for id in $classic $minatar; do
  run env play "$id" --policy random --json
  expect_code 0
  expect_json
  expect_out '"sem_return":null,'
  expect "one episode that has ended" test "$(grep -c '"terminated":true\|"truncated":true' "$out")" -eq 1
done
run env play Freeway-MinAtar --policy random --json
expect_out '"steps":2500,'
expect_out '"terminated":false,"truncated":true}]}'

# ---------------------------------------------------------------------------------------------
# frames

frames() { # FILE ARGS...
  local file=$1
  shift
  rm -f "$file"
  run env show "$@" --frames "$file"
  expect_code 0
  expect_err "wrote $file"
  expect_no_out
}

count() { grep -o -e "$2" "$1" | wc -l; }

frames "$work/a.svg" Breakout-MinAtar --every 1
steps=$(sed -n 's/.* frames of \([0-9]*\) steps$/\1/p' "$err")
expect "an SVG" grep -q '^<svg xmlns=' "$work/a.svg"
expect "complete" test "$(tail -n 1 "$work/a.svg")" = "</svg>"
expect "a frame for every step and the start" test "$(count "$work/a.svg" '>step [0-9]')" -eq $((steps + 1))
expect "its end" grep -q ">step $steps: terminated<" "$work/a.svg"
expect "29 bricks at the start" test "$(count "$work/a.svg" 'fill="#0087af"')" -ge 29
for name in paddle ball brick "trail of the ball"; do
  expect "$name in the legend" grep -q ">$name</text>" "$work/a.svg"
done
if command -v xmllint >/dev/null; then
  expect "well-formed" xmllint --noout "$work/a.svg"
fi
cp "$work/a.svg" "$work/b.svg"
frames "$work/a.svg" Breakout-MinAtar --every 1
expect "the same sheet again" cmp -s "$work/a.svg" "$work/b.svg"
run env show Breakout-MinAtar --every 1 --seed 1 --frames "$work/a.svg" # replaces the old one
expect_code 0
expect_not "another with another seed" cmp -s "$work/a.svg" "$work/b.svg"
frames "$work/a.svg" Acrobot-v1 --steps 100 --every 30
expect "frames at 0, 30, 60, 90 and the last" test "$(count "$work/a.svg" '>step [0-9]*<')" -eq 5
expect "the last step" grep -q '>step 100<' "$work/a.svg"
expect "links and joints" test "$(count "$work/a.svg" '<circle')" -eq 10
for id in $classic $minatar GridWorld-dense GridWorld-labyrinth; do
  frames "$work/a.svg" "$id" --steps 50
  expect "at most 25 frames" test "$(count "$work/a.svg" '>step [0-9]')" -le 25
  expect "the title" grep -q ">${id}[ ,]" "$work/a.svg"
done
run env show CartPole-v1 --frames "$work/a.svg" --json --quiet
expect_code 0
expect_no_err
expect_json
expect_out "{\"env\":\"CartPole-v1\",\"file\":\"$work/a.svg\",\"frames\":"

# a task file: its agent, objects and walls
cat >"$work/room.yaml" <<'YAML'
{grid: 4, walls: [[1, 1], [1, 2]], start: [0, 0], objects: [{cell: [3, 3], reward: 1, terminate: 0, respawn: 0}]}
YAML
frames "$work/a.svg" "$work/room.yaml" --steps 2 --every 1
expect "the agent in three frames and the legend" test "$(count "$work/a.svg" '>@</text>')" -eq 4
expect "the object too" test "$(count "$work/a.svg" '>A</text>')" -eq 4
expect_not "an object without a letter" grep -q '>B</text>' "$work/a.svg"

# PNG by gnuplot: its size is that of the sheet, two pixels a unit
if command -v gnuplot >/dev/null; then
  for id in CartPole-v1 Seaquest-MinAtar GridWorld-dense; do
    frames "$work/a.svg" "$id" --steps 20
    frames "$work/a.png" "$id" --steps 20
    expect "PNG's magic" test "$(head -c 8 "$work/a.png" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a
    size=$(od -An -tu1 -j16 -N8 "$work/a.png" |
      awk '{ print ($1 * 16777216 + $2 * 65536 + $3 * 256 + $4) / 2, ($5 * 16777216 + $6 * 65536 + $7 * 256 + $8) / 2 }')
    expect "PNG's size" grep -q "viewBox=\"0 0 ${size}\"" "$work/a.svg"
  done
  mkdir "$work/empty"
  PATH=$work/empty run env show CartPole-v1 --frames "$work/b.png"
  expect_code 1
  expect_err "gnuplot"
  PATH=$work/empty run env show CartPole-v1 --frames "$work/c.svg"
  expect_code 0
fi

# films by ffmpeg: of every environment, as long as the episode, twice alike
mkdir -p "$work/empty"
for ending in gif mp4; do
  PATH=$work/empty run env show CartPole-v1 --frames "$work/b.$ending"
  expect_code 1
  expect_err "ffmpeg"
  expect "nothing was written" test ! -e "$work/b.$ending"
done
if command -v ffmpeg >/dev/null; then
  # frames of a film, or why it cannot be read
  length() { ffmpeg -nostdin -i "$1" -f null - 2>&1 | tr '\r' '\n' | sed -n 's/^frame= *\([0-9]*\).*/\1/p' | tail -n 1; }
  for id in $classic $minatar GridWorld-dense Hopper; do
    frames "$work/a.gif" "$id" --steps 6
    expect "a GIF" test "$(head -c 6 "$work/a.gif")" = GIF89a
  done
  frames "$work/a.mp4" CartPole-v1
  expect "an MP4" grep -q ftyp <(head -c 32 "$work/a.mp4")
  n=$(sed -n 's/.*: \([0-9]*\) frames of .*/\1/p' "$err")
  expect "all frames, and the last for a second" test "$(length "$work/a.mp4")" -eq $((n + 30))
  cp "$work/a.mp4" "$work/b.mp4"
  frames "$work/a.mp4" CartPole-v1
  expect "the same film again" cmp -s "$work/a.mp4" "$work/b.mp4"
  # ffmpeg goes away in the middle: the old film stays
  mkdir "$work/broken"
  printf '#!/bin/sh\nhead -c 1000 >/dev/null; echo "no more" >&2; exit 3\n' >"$work/broken/ffmpeg"
  chmod +x "$work/broken/ffmpeg"
  PATH=$work/broken:$PATH run env show CartPole-v1 --frames "$work/a.mp4"
  expect_code 1
  expect_err "ffmpeg failed: no more"
  expect "what was there" cmp -s "$work/a.mp4" "$work/b.mp4"
else
  echo "no films without ffmpeg"
fi

refuse "does not end in .gif, .mp4, .svg, .png or .pdf" env show CartPole-v1 --frames "$work/a.webm"
refuse "does not end in" env show CartPole-v1 --frames .svg
mkdir "$work/folder.svg"
refuse "is a folder" env show CartPole-v1 --frames "$work/folder.svg"
refuse "'--steps' needs '--frames'" env show CartPole-v1 --steps 3
refuse "'--every' needs '--frames'" env show CartPole-v1 --every 3
refuse "'--policy' needs '--frames'" env show CartPole-v1 --policy random
refuse "expected at most 400 frames" env show Freeway-MinAtar --every 1 --frames "$work/d.svg"
expect "nothing was written" test ! -e "$work/d.svg"
refuse "option '--every': 0 must be" env show CartPole-v1 --every 0 --frames "$work/d.svg"
refuse "not both" env show GridWorld-dense --optimal --frames "$work/d.svg"
sed 's/grid: 4/grid: 65/' "$work/room.yaml" >"$work/wide.yaml"
refuse "a board of at most 64 x 64" env show "$work/wide.yaml" --frames "$work/d.svg"
run env show CartPole-v1 --frames "$work/none/a.svg"
expect_not "a folder that is not there fails" test "$code" -eq 0
expect_err "none"

# ---------------------------------------------------------------------------------------------
# on a terminal

until_shown() {
  local i
  for i in {1..200}; do
    tmux -L mirrormap capture-pane -p -t play >"$out" 2>/dev/null
    grep -q -e "$1" "$out" && return 0
    sleep 0.05
  done
  return 1
}

# on_terminal COLUMNS LINES WORDS...: the program with these words on a terminal of its own, after the
# shell's commands in $shell_settings
shell_settings=
on_terminal() {
  local size=("$1" "$2")
  shift 2
  last="mirrormap $* (on a terminal of ${size[0]} x ${size[1]})"
  cat >"$work/play" <<SH
trap : INT # of the terminal: meant for the game
$shell_settings
stty -g >"$work/before"
"$program" $*
code=\$?
stty -g >"$work/after"
echo "code \$code."
sleep 100
SH
  tmux -L mirrormap -f /dev/null new-session -d -s play -x "${size[0]}" -y "${size[1]}" \
    "sh $work/play" 2>/dev/null
}

# leave CODE: the program has ended so, and left the terminal as it found it
leave() {
  expect "exit code $1 on the first screen" until_shown "code $1\."
  expect "the terminal's modes are as before" cmp -s "$work/before" "$work/after"
  tmux -L mirrormap kill-session -t play
}

send() { tmux -L mirrormap send-keys -t play "$@"; }

export TMUX_TMPDIR=$work
unset TMUX
trap 'tmux -L mirrormap kill-server 2>/dev/null; rm -rf "$work"' EXIT
if command -v tmux >/dev/null 2>&1 &&
  tmux -L mirrormap -f /dev/null new-session -d -s keep "sleep 1000" 2>/dev/null &&
  on_terminal 80 24 env play SpaceInvaders-MinAtar --fps 50; then
  expect "it waits for a key" until_shown "A move begins the game"
  expect_out "left and right, hl or ad move   space fires"
  expect "at step 0" grep -q '^ *step  *0 of 1000' "$out"
  tmux -L mirrormap capture-pane -e -p -t play >"$out"
  expect "aliens in colour" grep -q "$escape\[48;5;121m" "$out"
  send . # a single step
  expect "one step, then a pause" until_shown "step  *1 of 1000"
  expect_out "Paused"
  send Right
  expect "a key is a step while it pauses" until_shown "step  *2 of 1000"
  send p # and the clock goes on: nobody shoots, so step 17 is the end
  expect "the end" until_shown "The episode has ended (terminated)\. r begins the next one"
  send r
  expect "the next episode" until_shown "episode  *2"
  expect_out "A move begins the game"
  send q
  leave 0

  shell_settings="NO_COLOR=1; export NO_COLOR"
  on_terminal 80 24 env play SpaceInvaders-MinAtar
  expect "letters without colours" until_shown '^| \. \. < < < < < < < \. |'
  expect_out "<  alien, going left"
  send q
  leave 0
  shell_settings=

  on_terminal 60 20 env play CartPole-v1
  expect "a picture of lines" until_shown "A move begins the game"
  expect_out "left and right, hl or ad push"
  send h # it falls
  expect "the end" until_shown "The episode has ended (terminated)"
  send C-c
  leave 130

  on_terminal 80 24 env play CartPole-v1 --policy random --episodes 2 --fps 1000
  expect "two episodes, then their table" until_shown "^mean return "
  leave 0
else
  echo "no terminal to play on: tmux is missing or does not work here"
fi

finish
