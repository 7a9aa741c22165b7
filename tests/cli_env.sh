#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The env commands: lists, boards, games, traces.
# usage: cli_env.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
golden=$2/tests/golden/gridworld.json

narrow() {
  test "$(awk '{ if (length > n) n = length } END { print n + 0 }' "$out")" -le 80
}

# ---------------------------------------------------------------------------------------------
# list

run env list
expect_code 0
expect_no_err
expect "lines of at most 80 columns" narrow
ids=$(awk '/^[A-Z]/ && !/  trained by / { print $1 }' "$out")
for name in dense sparse long longer long_dense sixteen_rooms sixteen_rooms_2 labyrinth \
  labyrinth_flipped labyrinth_2 standard_maze standard_maze_2 standard_maze_3 small_corridor all \
  small medium large; do
  expect "GridWorld-$name is listed" grep -qx "GridWorld-$name" <<<"$ids"
done
for name in CartPole-v1 Acrobot-v1 MountainCar-v0 MountainCarContinuous-v0 Pendulum-v1; do
  expect "$name is listed" grep -qx "$name" <<<"$ids"
done
for name in Asterix Breakout Freeway SpaceInvaders Seaquest; do
  expect "$name is listed" grep -qx "$name-MinAtar" <<<"$ids"
  expect "$name is listed by its other rules" grep -qx "MinAtar/$name-v1" <<<"$ids"
done
expect "with a summary" grep -q '^GridWorld-dense  *[^ ]' "$out"
expect "with algorithm and preset" grep -q '^Grid-World  *trained by pmd, preset gridworld$' "$out"
run env list --json
expect_code 0
expect_json
expect "as many in JSON" test "$(grep -o '"id":"[^"]*"' "$out" | wc -l)" -eq "$(wc -l <<<"$ids")"
expect_out '{"id":"GridWorld-dense","algo":"pmd","preset":"gridworld","summary":"'

# ---------------------------------------------------------------------------------------------
# check

run env check CartPole-v1 GridWorld-dense --steps 100
expect_code 0
expect_no_err
expect "a line for each rule" test "$(grep -cE '^  (pass   |not met)  ' "$out")" -eq 18
expect "CartPole is not balanced by chance" grep -q '^  not met  ends  *no episode came to the limit of 500 within 1000 steps' "$out"
expect_out "GridWorld-dense"
run env check --all --steps 60 --json
expect_code 0
expect_json
expect_out '"passed":true}'
for id in $ids; do
  expect "$id is checked" grep -q "\"id\":\"$id\"" "$out"
done
run env check
expect_refusal 2 "--all"
run env check CartPole-v1 --all
expect_refusal 2 "--all"
run env check CartPole-v2
expect_refusal 2 "CartPole-v1"
run env check CartPole-v1 --steps 7
expect_refusal 2 "steps"

# ---------------------------------------------------------------------------------------------
# show: every environment

# shellcheck disable=SC2013 # IDs are single words
for id in $(grep '^GridWorld-' <<<"$ids"); do
  run env show "$id"
  expect_code 0
  expect_no_err
  expect "lines of at most 80 columns" narrow
  expect_out "$id  seed 0, index 0"
  expect "one start on the board" test "$(grep -c '|.*S.*|' "$out")" -eq 1
  expect_out "reachable"
  cp "$out" "$work/plain"
  run env show "$id" --seed 0 --index 0
  expect "the same instance by its full name" cmp -s "$out" "$work/plain"
  run env show "$id" --optimal --index 3
  expect_code 0
  expect_out "arrows: optimal"
  expect "arrows on the board" grep -q '[<>^v]' "$out"
  run env show "$id" --json
  expect_code 0
  expect_json
done

# an index beyond those there are
run env show GridWorld-all --index 4294967295
expect_code 0
for words in "show" "play --keys ."; do
  # shellcheck disable=SC2086 # words
  run env $words GridWorld-all --index 4294967296
  expect_refusal 2 "index 4294967296" "at most 4294967295"
done

# instances follow seed and index
for words in "--seed 1" "--index 1" "--seed 18446744073709551615"; do
  read -ra words <<<"$words"
  run env show GridWorld-labyrinth
  cp "$out" "$work/one"
  run env show GridWorld-labyrinth "${words[@]}"
  expect_code 0
  expect_not "another instance with ${words[*]}" cmp -s "$out" "$work/one"
done
run env show GridWorld-labyrinth --seed 18446744073709551615 --json
expect_out '"seed":18446744073709551615,'

# ---------------------------------------------------------------------------------------------
# show: a task file, its picture and its golden values

cat >"$work/room.yaml" <<'YAML'
grid: 4
walls: [[1, 1], [1, 2], [3, 3]]
start: [0, 0]
objects:
  - {cell: [2, 1], reward: 1, terminate: 0, respawn: 0}
  - {cell: [3, 0], reward: -0.5, terminate: 1, respawn: 0.25}
YAML
run env show "$work/room.yaml"
expect_code 0
cat >"$work/picture" <<'TEXT'
    0
  +---------+      cell         reward terminate   respawn
0 | S . . . |   S  (0, 0)        start
  | .#### . |   A  (2, 1)            1         0         0
  | . A . . |   B  (3, 0)         -0.5         1      0.25
  | B . .###|
  +---------+   value at start       absorb     restart
TEXT
expect "the picture of a small room" cmp -s "$work/picture" <(sed -n 2,8p "$out")
run env show "$work/room.yaml" --json
expect_out '"grid":4,"walls":[[1,1],[1,2],[3,3]],"start":[0,0],"objects":[{"cell":[2,1],"reward":1,"terminate":0,"respawn":0},{"cell":[3,0],"reward":-0.5,"terminate":1,"respawn":0.25}]'
expect_out '"states":52,'

# up, down, left, right, stay; the lowest of the best ones; the object's corner is entered by staying
cat >"$work/tiny.yml" <<'YAML'
{grid: 4, walls: [], start: [0, 0], objects: [{cell: [3, 3], reward: 1, terminate: 0.5, respawn: 0.1}]}
YAML
run env show "$work/tiny.yml" --optimal --json
expect_out '"actions":[[1,1,1,1],[1,1,1,1],[1,1,1,1],[3,3,3,1]]'
expect_field absorb 1.7277759053 1
expect_field restart 11.9361992538 1
expect_field absorb 0.8259019702 2
expect_field restart 1.3970432545 2
expect_field reachable_states 32
run env show "$work/tiny.yml" --optimal
for row in '0 |Sv v v v |' '  | v v v v |' '  | > > >Av |'; do
  expect_out "$row"
done

cat >"$work/dense.yaml" <<'YAML'
grid: 11
walls: []
start: [0, 0]
objects:
  - {cell: [1, 3], reward: 1, terminate: 0, respawn: 0.05}
  - {cell: [3, 7], reward: 1, terminate: 0, respawn: 0.05}
  - {cell: [8, 7], reward: -1, terminate: 0.5, respawn: 0.1}
  - {cell: [9, 2], reward: -1, terminate: 0, respawn: 0.5}
YAML
run env show "$work/dense.yaml" --json
expect_field absorb 9.4903723530 1
expect_field restart 9.4903723530 1
expect_field absorb 0.6434146582 2
expect_field restart 0.6889627861 2
run env show "$work/dense.yaml" --json --set gamma=0
expect_field absorb 0 1 # nothing next to the start

# a small reward at hand is worth it only when the game goes on from the start
cat >"$work/choice.yaml" <<'YAML'
{grid: 4, walls: [], start: [0, 0], objects: [{cell: [0, 1], reward: 0.5, terminate: 1, respawn: 0}, {cell: [3, 2], reward: 1, terminate: 1, respawn: 0}]}
YAML
run env show "$work/choice.yaml" --optimal --json
expect_out '"termination":"absorb","actions":[[1,'
run env show "$work/choice.yaml" --optimal --json --set termination=restart
expect_out '"termination":"restart","actions":[[3,'

# what cannot be reached says so, and has no arrow
cat >"$work/closed.yaml" <<'YAML'
{grid: 4, walls: [[0, 2], [1, 2], [2, 2], [3, 2]], start: [0, 0], objects: [{cell: [1, 0], reward: 1, terminate: 1, respawn: 0}, {cell: [0, 3], reward: 1, terminate: 0, respawn: 0}]}
YAML
run env show "$work/closed.yaml" --optimal
expect_code 0
expect_out "B  (0, 3)            1         0         0  out of reach"
expect_out "0 |Sv v## B |"

# a trained policy: the run of train with the same seed
run env show GridWorld-small --seed 3 --map negentropy --json
expect_code 0
expect_json
trained=$(field v_trained)
expect_out '"policy":"negentropy","termination":"absorb"'
run train --env GridWorld-small --map negentropy --seed 3 --json
expect_code 0
expect "its value is that of train" test "$(field finals)" = "$trained"
run env show GridWorld-small --seed 3 --map negentropy
expect_code 0
expect_out "trained policy"
expect_out "arrows: PMD with negentropy"
refuse "did you mean 'negentropy'?" env show GridWorld-small --map negentrpy
refuse "not both" env show GridWorld-small --map l2 --optimal

# boards that are too wide for two characters a cell, or altogether
big_task() {
  printf '{grid: %d, walls: [], start: [5, 9], objects: [{cell: [6, 12], reward: 1, terminate: 1, respawn: 0}]}\n' "$1"
}
big_task 50 >"$work/g50.yaml"
run env show "$work/g50.yaml"
expect "lines of at most 80 columns" narrow
expect "every row is there" test "$(grep -c '|.*|$' "$out")" -eq 50
big_task 150 >"$work/g150.yaml"
run env show "$work/g150.yaml"
expect "lines of at most 80 columns" narrow
expect_out "of a board of 150 x 150"
expect "no more rows than look well" test "$(wc -l <"$out")" -lt 60
expect "open to the right" grep -q '^ *5 |[.S]*:$' "$out"

# beyond 300000 states values are computed when asked for
big_task 400 >"$work/g400.yaml"
run env show "$work/g400.yaml"
expect_code 0
expect_out "320000 states: --exact computes values"
run env show "$work/g400.yaml" --json
expect_json
expect_out '"states":320000,"reachable_states":null,"gamma":0.99,"v_star":null,"v_uniform":null}'
run env show "$work/g400.yaml" --json --exact --set gamma=0.5
expect_code 0
expect_err "solving 320000 states exactly"
expect_field absorb 0.125 # four steps to the goal

# ---------------------------------------------------------------------------------------------
# characters and colours

escape=$'\033'
run env show GridWorld-dense --optimal
expect_not "no escapes in a file" grep -q "$escape" "$out"
odd=$work/$(printf 'a\033[31mb').yaml
cp "$work/tiny.yml" "$odd"
run env show "$odd"
expect_out 'a\x1b[31mb.yaml'
expect_not "nor of a file's name" grep -q "$escape" "$out"
run env show GridWorld-dense --optimal
expect_not "ASCII in the C locale" grep -q '[^ -~]' "$out"
for locale in C.UTF-8 C.utf8 en_US.UTF-8; do
  [ "$(LC_ALL=$locale locale charmap 2>/dev/null)" = UTF-8 ] || continue
  LC_ALL=$locale run env show "$work/tiny.yml" --optimal
  expect_out "│ → → →A↓ │"
  LC_ALL=$locale run env show "$work/room.yaml"
  expect_out "│ ·████ · │"
  break
done

# ---------------------------------------------------------------------------------------------
# play with --keys

play() {
  local file=$1
  shift
  run env play "$file" --json --keys "$@"
  expect_code 0
  expect_no_err
}

play "$work/room.yaml" jjl
expect_out '"cell":[2,1],"present":[false,true],"steps":3,"last_reward":1,"return":1,"discounted_return":0.9801,"collected":1,"respawns":0,"endings":0,"ended":false'
play "$work/room.yaml" ssd
expect_out '"cell":[2,1],"present":[false,true],"steps":3'
play "$work/room.yaml" "${escape}[B${escape}OB${escape}[1;5C"
expect_out '"cell":[2,1],"present":[false,true],"steps":3'
play "$work/room.yaml" "khjljl " # edges and walls: the moves are steps, the cell stays
expect_out '"cell":[2,1],"present":[false,true],"steps":7,"last_reward":0,"return":1,'
expect_field discounted_return 0.9509900499
play "$work/room.yaml" jjjkkk # the trap ends it: the rest is ignored
expect_out '"cell":[3,0],"present":[true,false],"steps":3,"last_reward":-0.5,"return":-0.5,"discounted_return":-0.49005,"collected":1,"respawns":0,"endings":1,"ended":true'
play "$work/room.yaml" jjjrj
expect_out '"cell":[1,0],"present":[true,true],"steps":1,"last_reward":0,"return":0,'
play "$work/room.yaml" jjjj --set termination=restart
expect_out '"cell":[1,0],"present":[true,true],"steps":4,"last_reward":0,"return":-0.5,'
expect_out '"endings":1,"ended":false'
play "$work/room.yaml" jqj
expect_out '"steps":1,'
play "$work/room.yaml" jjl --set gamma=0.5
expect_out '"discounted_return":0.25,'

# an object that always comes back: away in the step that takes it, there again in the next
sed 's/respawn: 0}/respawn: 1}/' "$work/room.yaml" >"$work/again.yaml"
play "$work/again.yaml" jjl
expect_out '"present":[false,true],'
play "$work/again.yaml" 'jjl '
expect_out '"present":[true,true],"steps":4,"last_reward":0,"return":1,"discounted_return":0.9801,"collected":1,"respawns":1,'
play "$work/again.yaml" 'jjl  '
expect_out '"present":[false,true],"steps":5,"last_reward":1,"return":2,'

# chance follows the seed, and nothing else
keys=$(printf 'jkl h%.0s' {1..100})
play GridWorld-dense "$keys" --seed 5
cp "$out" "$work/one"
play GridWorld-dense "$keys" --seed 5
expect "the same game again" cmp -s "$out" "$work/one"
play GridWorld-dense "$keys" --seed 6
expect_not "another game with another seed" cmp -s "$out" "$work/one"
# of a task file only the chance depends on the seed: how often the object has come back
for seed in 1 2 3 4; do
  play "$work/dense.yaml" "jlll$(printf '%200s' '')" --seed "$seed"
  field collected
done >"$work/collected"
expect "chance differs between seeds" test "$(sort -u "$work/collected" | wc -l)" -gt 1

run env play "$work/room.yaml" --keys jjl
expect_code 0
expect_no_err
expect "the board and the return" grep -q '^  | . @ . . | ' "$out"
expect_out "return                      1"
expect_out "a  (2, 1)            1         0         0"
expect_out "B  (3, 0)         -0.5         1      0.25"
expect_not "no escapes" grep -q "$escape" "$out"
cp "$out" "$work/final"
run env play "$work/room.yaml" --keys jjj
expect_out "The episode has ended."
refuse "'--keys', byte 3: not a key" env play GridWorld-dense --keys jjx
refuse "'--json' needs '--keys'" env play GridWorld-dense --json
refuse "needs a terminal" env play GridWorld-dense

# ---------------------------------------------------------------------------------------------
# play on a terminal

# until_shown TEXT: waits for it to appear in the pane
until_shown() {
  local i
  for i in {1..100}; do
    tmux -L mirrormap capture-pane -p -t play >"$out" 2>/dev/null
    grep -qF -e "$1" "$out" && return 0
    sleep 0.05
  done
  return 1
}

until_file() {
  local i
  for i in {1..100}; do
    test -s "$1" && return 0
    sleep 0.05
  done
  return 1
}

# play_in_terminal COLUMNS LINES: the game in a terminal of its own; $work/pid is its process,
# $work/code its exit code, $work/before and after the terminal's modes
play_in_terminal() {
  last="mirrormap env play room.yaml (on a terminal of $1 x $2)"
  rm -f "$work"/{pid,code,before,after}
  cat >"$work/play" <<SH
trap : INT # of the terminal: meant for the game
stty -g >"$work/before"
sh -c 'echo \$\$ >"$work/pid"; exec "$program" env play "$work/room.yaml"'
code=\$?
stty -g >"$work/after"
echo \$code >"$work/code"
echo "code \$code."
sleep 100
SH
  tmux -L mirrormap -f /dev/null new-session -d -s play -x "$1" -y "$2" "sh $work/play" 2>/dev/null
}

# expect_ended CODE: the game has ended so, and left the terminal as it found it
expect_ended() {
  expect "the game has ended" until_file "$work/code"
  code=$(cat "$work/code")
  expect_code "$1"
  expect "the terminal's modes are as before" cmp -s "$work/before" "$work/after"
  expect "back on the first screen" until_shown "code $1."
  expect_not "no rest of the game" grep -q "arrows, hjkl" "$out"
  tmux -L mirrormap kill-session -t play
}

export TMUX_TMPDIR=$work
unset TMUX
trap 'tmux -L mirrormap kill-server 2>/dev/null; rm -rf "$work"' EXIT
# a second session keeps the server alive between games
if command -v tmux >/dev/null 2>&1 &&
  tmux -L mirrormap -f /dev/null new-session -d -s keep "sleep 1000" 2>/dev/null &&
  play_in_terminal 80 24; then
  expect "the first board" until_shown "0 | @ . . . |"
  expect_out "arrows, hjkl or wasd move"
  tmux -L mirrormap send-keys -t play Down s l
  expect "the board after three keys" until_shown "return                      1"
  expect "as --keys prints it" cmp -s <(head -13 "$out") <(head -13 "$work/final")
  tmux -L mirrormap resize-window -t play -x 30 -y 14 2>/dev/null
  expect "a short panel on a small terminal" until_shown "return 1, discounted 0.9801"
  tmux -L mirrormap send-keys -t play r
  expect "restarted" until_shown "steps 0"
  tmux -L mirrormap send-keys -t play j j j
  expect "the end" until_shown "ended: r or q"
  tmux -L mirrormap send-keys -t play q
  expect_ended 0

  play_in_terminal 80 24
  expect "the first board" until_shown "0 | @ . . . |"
  tmux -L mirrormap send-keys -t play C-c
  expect_ended 130
  for signal in TERM:143 HUP:129 ABRT:134; do
    play_in_terminal 80 24
    expect "the first board" until_shown "0 | @ . . . |"
    kill -s "${signal%:*}" "$(cat "$work/pid")"
    expect_ended "${signal#*:}"
  done
else
  echo "no terminal to play on: tmux is missing or does not work here"
fi

# ---------------------------------------------------------------------------------------------
# replay

run env replay GridWorld "$golden"
expect_code 0
expect_no_err
expect_out "3000 of 3000 transitions match"
run env replay GridWorld "$golden" --json
expect_code 0
expect_json
expect_out '{"env":"GridWorld","transitions":3000,"matched":3000,"mismatched":0,"max_abs_error":0,"first_mismatch":null}'

# one changed number is found, wherever it stands
tamper() {
  sed "s/$1/$2/" "$golden" >"$work/tampered.json"
  expect_not "the trace has changed" cmp -s "$golden" "$work/tampered.json"
  run env replay GridWorld "$work/tampered.json" --json
  expect_code 1
  expect_json
  expect_out '"matched":2999,"mismatched":1,'
  expect_out "\"first_mismatch\":{\"trajectory\":0,\"t\":6,\"field\":\"$3\",\"expected\":$4,\"got\":$5}}"
}
line='\[6,73,14,4,0.0,73,15,0,0,9,0,0.0,1888\]'
tamper "$line" '[6,73,14,4,0.5,73,15,0,0,9,0,0.0,1888]' reward 0.5 0
tamper "$line" '[6,73,14,4,0.0,74,15,0,0,9,0,0.0,1888]' next_pos 74 73
tamper "$line" '[6,73,14,4,0.0,73,14,0,0,9,0,0.0,1888]' next_exists_bits 14 15
tamper "$line" '[6,73,14,4,0.0,73,15,0,1,9,0,0.0,1888]' 'done' 1 0
tamper "$line" '[6,73,14,4,0.0,73,15,0,0,9,0,0.0,1887]' next_obs_index 1887 1888
run env replay GridWorld "$work/tampered.json"
expect_code 1
expect_out "2999 of 3000 transitions match"
expect_out "first mismatch: trajectory 0, t 6, next_obs_index: expected 1887, got 1888"

head -c 5000 "$golden" >"$work/broken.json"
refuse "broken.json:1:" env replay GridWorld "$work/broken.json"
refuse "missing.json" env replay GridWorld "$work/missing.json"
refuse "$work" env replay GridWorld "$work"
echo '{"levels": "none"}' >"$work/other.json"
refuse "other.json" env replay GridWorld "$work/other.json"
echo '[]' >"$work/list.json"
refuse "list.json" env replay GridWorld "$work/list.json"

# ---------------------------------------------------------------------------------------------
# mistakes

refuse "did you mean 'env'?" evn list
refuse "did you mean 'replay'?" env reply GridWorld x
refuse "did you mean 'GridWorld-labyrinth'?" env show GridWorld-labrinth
refuse "did you mean 'GridWorld-dense'?" env play dense --keys j
refuse "did you mean 'GridWorld'?" env replay Gridword "$golden"
refuse "the ID is 'GridWorld', not 'GridWorld-dense'" env replay GridWorld-dense "$golden"
refuse "no traces of 'zzz'" env replay zzz "$golden"
refuse "did you mean '--optimal'?" env show GridWorld-dense --optimum
refuse "did you mean 'restart'?" env show GridWorld-dense --set termination=restarts
refuse "gamma" env show GridWorld-dense --set gamma=1
refuse "expected ID" env show
refuse "expected ID TRACE.json" env replay GridWorld
refuse "missing.yaml" env show "$work/missing.yaml"
printf 'grid: 4\nstart: [0, 0]\nobjects: [{cell: [0, 0], reward: 1, terminate: 0, respawn: 0}]\n' >"$work/clash.yaml"
refuse "clash.yaml" env show "$work/clash.yaml"

finish
