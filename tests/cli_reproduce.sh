#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `reproduce`: every artefact at the smallest scale, its files and labels; killed and interrupted in
# the middle and taken up again it ends with the same numbers; refuses what it should.
# usage: cli_reproduce.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
export MIRRORMAP_DATA=$2 # a program that is not in build/ has no presets beside it
cd "$work" || exit 1

# ten times as slow with sanitizers: smaller networks and shorter runs do there
iterations=8
grid=()
nets=()
sanitized=no
if "$program" --version | grep -q sanitizers; then
  sanitized=yes
  iterations=1
  grid=(--set steps=2048)
  nets=(--set hidden=8 --set epochs=1)
fi

figures=no
command -v gnuplot >/dev/null 2>&1 && figures=yes

refuse() { # CODE TEXT ARGS...
  local expected=$1 text=$2
  shift 2
  run reproduce "$@"
  expect_refusal "$expected" "$text"
}

# numbers FOLDER: all tables without remarks, in which times are
numbers() {
  cat "$1"/raw.csv "$1"/aggregate.csv "$1"/table.csv | grep -v '^#'
}

same_numbers() {
  numbers "$1" >"$work/numbers-1" && numbers "$2" >"$work/numbers-2" || return 1
  test -s "$work/numbers-1" && cmp -s "$work/numbers-1" "$work/numbers-2"
}

# pictures FOLDER NAME...: each in three formats
pictures() {
  local folder=$1 name ending
  shift
  [ $figures = yes ] || return 0
  for name; do
    for ending in svg pdf png; do
      test -s "$folder/$name.$ending" || return 1
    done
  done
}

# ---------------------------------------------------------------------------------------------
# Mistakes, before anything is made

refuse 2 "did you mean 'gridworld'" gridword --scale smoke
refuse 2 'expected what to reproduce'
refuse 2 "setting 'target' is for control, minatar, transfer, not for 'mujoco'" mujoco --scale smoke --set target=code
for artefact in gridworld control minatar transfer; do
  refuse 2 "setting 'physics' is for mujoco, not for '$artefact'" $artefact --scale smoke --physics mujoco
done
refuse 2 "setting 'physics': 'phi' trains nothing" phi --physics own
refuse 2 "setting 'physics': unknown value 'bullet'" mujoco --scale smoke --physics bullet
refuse 2 '--scale' gridworld --scale big
refuse 2 'target' gridworld --scale smoke --set target=code
refuse 2 'stepps' control --scale smoke --set stepps=4
refuse 2 'steps' control --scale smoke --set steps=few
refuse 2 'less than one iteration' gridworld --scale smoke --set steps=100
refuse 2 'trains nothing' phi --set steps=100
refuse 2 '--seeds' control --scale smoke --seeds 1
refuse 2 'for '\''transfer'\' control --scale smoke --maps-from .
refuse 2 'cannot read folder' transfer --scale smoke --maps-from nowhere
refuse 2 'no run' transfer --scale smoke --maps-from .
refuse 2 'can have 503 bytes' all --scale smoke --out "runs/$(printf '%0250d/%0250d' 0 0)"
refuse 2 'nowhere' --resume nowhere
refuse 2 'unexpected argument' phi --resume nowhere
refuse 2 '--scale' --resume nowhere --scale smoke
expect "no folder is left behind" test -z "$(ls -A runs)"

# ---------------------------------------------------------------------------------------------
# phi

run reproduce phi --json
expect_code 0
expect_json
expect_out '"artefact":"phi"'
expect_out '"folder":"runs/reproduce-phi-1"'
expect "its picture" pictures runs/reproduce-phi-1 phi_param
refuse 2 'phi-1' phi --out runs/reproduce-phi-1
mkdir taken && echo mine >taken/table.csv
refuse 2 'new or an empty folder' phi --out taken
expect "what was there stays alone" test "$(ls -A taken) $(cat taken/table.csv)" = "table.csv mine"
mkdir empty
run reproduce phi --out empty --quiet
expect_code 0
run reproduce phi --quiet
expect_code 0
expect_no_err
expect "a folder of its own" test -s runs/reproduce-phi-2/summary.json

# ---------------------------------------------------------------------------------------------
# Grid-World

run reproduce gridworld --scale smoke "${grid[@]}" --threads 2 --out grid
expect_code 0
expect_out 'reduced: smoke scale, 3 runs instead of the paper'\''s 256'
expect_out 'GridWorld-labyrinth (mean optimum '
expect_out 'estimation error: learned > l2'
expect_out 'negentropy:tuned-eta'
# nine runs beside the 2 x 8 of the search
expect_out "times 0.1, on 1 seed of their own; for each map and environment 9 runs, $(awk "BEGIN { printf \"%.3g\", 9 * 2048 * $iterations }") steps: 56.2 %"
expect "what tuning took" grep -Eq '"tuning": *\{"eta": *0.1,"seeds": *1,' <(tr -d '\n\t ' <grid/summary.json)
expect "its picture" pictures grid gridworld
for file in raw.csv aggregate.csv table.csv; do
  expect "$file has its label" grep -q '^# reduced: smoke scale' "grid/$file"
  expect "$file has its build" grep -q '^# mirrormap [0-9].*: reproduce gridworld --scale smoke$' "grid/$file"
  expect "$file has its settings" grep -q '^# settings: {"GridWorld":{.*"normalise_advantage":"on"' "grid/$file"
  expect "$file has its seeds" grep -q '^# seeds: 0 to 2$' "grid/$file"
done
# six columns with nine maps, nine more configurations with three; a value more than iterations
expect "all cells" test "$(grep -vc '^#' grid/table.csv)" -eq $((1 + 6 * 9 + 9 * 3))
expect "all runs" test "$(grep -vc '^#' grid/raw.csv)" -eq $((1 + 3 * (6 * 9 + 9 * 3)))
expect "values" test "$(grep -c ',value,' grid/aggregate.csv)" -eq $((6 * 9 * (iterations + 1) + 9 * 3))
expect "errors" test "$(grep -c ',estimation_error,' grid/aggregate.csv)" -eq $((6 * 3 * iterations))
expect "distances" test "$(grep -c ',update_distance,' grid/aggregate.csv)" -eq $((6 * 9 * iterations))
# the same instances and random numbers as `train` has; exact values are solved for from elsewhere
run train --env GridWorld-sparse --map l2 --seeds 3 --set steps=$((2048 * iterations)) --json
rounded=$(awk -F, '$1 == "GridWorld-sparse" && $3 == "l2" { printf "%.9f ", $5 }' grid/raw.csv)
expect_field finals "$rounded"
run runs grid grid/learn-GridWorld-all grid/table-GridWorld-longer --json
expect_code 0
for command in reproduce learn transfer; do
  expect "a run of $command" grep -q "\"state\":\"done\",\"error\":null,\"command\":\"$command\"" "$out"
done

# killed again and again
run_in_background() {
  "$program" "$@" >/dev/null 2>&1 </dev/null &
  pid=$!
}
run_in_background reproduce gridworld --scale smoke "${grid[@]}" --threads 1 --out killed
for ((i = 0; i < 1200; i++)); do # on a busy machine it may take a while to begin
  [ -s killed/run.db ] && break
  sleep 0.05
done
for pause in 0.3 0.5 0.7; do
  sleep $pause
  kill -9 "$pid" 2>/dev/null
  wait "$pid" 2>/dev/null
  run_in_background reproduce --resume killed --threads 1
done
kill -9 "$pid" 2>/dev/null
wait "$pid" 2>/dev/null
run reproduce --resume killed --quiet
expect_code 0
expect_no_err
expect "the same numbers after kills" same_numbers grid killed
run reproduce --resume killed --quiet --json # nothing is left: what this process cost is said to be its own
expect_code 0
expect_out '"session":{"env_steps":0,'
expect_out '"env_steps_per_second":null'
expect_not "no cost without its owner" grep -q '"env_steps":0,.*"session":' "$out"
expect "a result's steps stay" test "$(field result_env_steps)" -gt 0

# ---------------------------------------------------------------------------------------------
# AMPO

run reproduce control --scale smoke "${nets[@]}" --out control --json
expect_code 0
expect_json
for text in '"label":"reduced: smoke scale' '"target":"paper"' '"target":"code"' '"paper":359.14' '"iqm":' \
  '"map":"l2:tuned-eta"' '"map":"random"' '"map":"initial"' '"map":"tsallis:1.5"' '"build":'; do
  expect_out "$text"
done
expect "its pictures" pictures control control-paper control-code
expect "knots" test "$(grep -vc '^#' control/knots.csv)" -eq $((1 + 4 * 100))
expect "policies" test "$(grep -vc '^#' control/policies.csv)" -eq $((1 + 2 * 3 * 401 * (2 + 3)))
for file in knots.csv policies.csv; do
  expect "$file has its label" grep -q '^# reduced: smoke scale' "control/$file"
  expect "$file has its build" grep -q '^# mirrormap [0-9].*: reproduce control --scale smoke$' "control/$file"
  expect "$file has its settings" grep -q '^# settings: {"Acrobot-v1, target=paper":{' "control/$file"
  expect "$file has its seeds" grep -q '^# seeds: 0 to 2$' "control/$file"
  expect "$file has its speed" grep -q '^# time: .* environment steps per second' "control/$file"
done
# scores 0.9 c (1, 2) at c = 1
expect "a policy" grep -Eq '^CartPole-v1,code,l2,1,1,0\.0(5|49999|50000)' control/policies.csv
run runs control/learn-CartPole-v1-code control/table-CartPole-v1-code
expect_code 0

# interrupted in a search or a table, resumed
"$program" reproduce control --scale smoke "${nets[@]}" --set target=code --out stopped >"$out" 2>"$err" </dev/null &
pid=$!
sleep 1
interrupt "$pid" INT
last='mirrormap reproduce control, interrupted'
if [ "$code" -ne 0 ]; then # a machine that is fast enough is done
  expect_code 130
  expect_err "resume with 'reproduce --resume stopped'"
fi
run reproduce --resume stopped --quiet
expect_code 0
grep -v '^#' stopped/aggregate.csv >part
grep -v '^#' control/aggregate.csv | grep -v -e '-v1,paper,' >whole
expect "the numbers of the uninterrupted one" cmp -s part whole

run reproduce control --scale smoke --max-seconds 0.05 --out late --json
expect_code 0
expect_err "resume with 'reproduce --resume late'"
expect_json
expect_out '{"run":"late","state":"stopped","artefact":"control","scale":"smoke","parts":[]}'

# a setting that only some of the artefacts have does not stop the others
run reproduce all --scale smoke --set target=code --set termination=restart --max-seconds 0.05 --out every
expect_code 0
expect_err "resume with 'reproduce --resume every'"
expect "Grid-World is begun" test -s every/gridworld/run.db

# ---------------------------------------------------------------------------------------------
# MinAtar and the table

run reproduce minatar --scale smoke "${nets[@]}" --set target=code --out games --quiet
expect_code 0
expect_out 'SpaceInvaders-MinAtar, target=code'
expect_out 'learned more than twice negentropy'
expect_out 'runs finished no episode, so there is no mean' # an episode of Freeway has 2500 steps
expect "their number" grep -qE '"unfinished": ?[1-9]' games/summary.json
expect "its picture" pictures games minatar-code
expect_not "one target only" grep -q -e '-MinAtar,paper,' games/table.csv

# maps of another scale, none at all
refuse 2 'of smoke scale, where this is of laptop scale' transfer --maps-from control
refuse 2 'no learned map' transfer --scale smoke --maps-from grid
refuse 2 'no learned map' transfer --scale smoke --set target=paper --maps-from games

run reproduce transfer --scale smoke "${nets[@]}" --set target=code --seeds 2 --maps-from control,games --out table --quiet --max-seconds 0.01
expect_code 0
# from another directory, before the maps were copied: their owners are still found
rm -f table/learn-*.json
mkdir elsewhere && cd elsewhere || exit 1
run reproduce --resume ../table --quiet
cd .. || exit 1
expect_code 0
expect "how a map was learned" grep -q 'learn-Freeway-MinAtar-code: from another reproduction, generation [01] of 1' "$out"
expect_not "all with the same settings" grep -q 'other settings' "$out"
expect_out 'on MinAtar: reduced: smoke scale, 2 runs'
expect "both labels in the file" grep -q '^# on MinAtar: reduced: smoke scale' table/table.csv
[ $figures = no ] || expect "both labels in the picture, to their ends" \
  test "$(grep -o -e 'smoke scale' -e 'target=code<' table/transfer-code.svg | sort | uniq -c | tr -s ' \n' ' ')" = " 2 smoke scale 2 target=code< "
expect_out 'in the paper in'
expect_out '144.01'
expect "its picture" pictures table transfer-code
expect "maps of the others" cmp -s control/learn-Acrobot-v1-code/best.json table/learn-Acrobot-v1-code.json
expect "five columns of eight rows" test "$(grep -vc '^#' table/table.csv)" -eq $((1 + 5 * 8))
expect "no searches" test ! -e table/learn-Acrobot-v1-code

# ---------------------------------------------------------------------------------------------
# Bodies

run reproduce mujoco --scale smoke --out bodies
expect_code 0
for text in 'reduced: smoke scale, 2 runs instead of the paper'\''s 8' 'moved by our own engine' \
  'final return: learned > negentropy' 'negentropy:tuned-eta' 'times 0.5, on 1 seed of their own'; do
  expect_out "$text"
done
expect "its picture" pictures bodies mujoco
expect "three bodies with nine maps" test "$(grep -vc '^#' bodies/table.csv)" -eq $((1 + 3 * 9))
expect "two runs of each" test "$(grep -vc '^#' bodies/raw.csv)" -eq $((1 + 2 * 3 * 9))
expect "no run without a value" test "$(grep -v '^#' bodies/raw.csv | awk -F, 'NR > 1 && $5 == ""' | wc -l)" -eq 0
expect "its label" grep -q '^# reduced: smoke scale' bodies/aggregate.csv
expect "its settings" grep -q '^# settings: {"Hopper":{.*"algo":"pmd-gaussian"' bodies/table.csv
# the same numbers as `train` has
run train --env Ant --map l2 --seeds 2 --set steps=2048 --set envs=2 --set unroll=64 --set minibatches=4 \
  --set epochs=1 --set hidden=16 --json
expect_field finals "$(awk -F, '$1 == "Ant" && $3 == "l2" { printf "%.9f ", $5 }' bodies/raw.csv)"
run runs bodies/learn-Hopper bodies/table-HalfCheetah
expect_code 0

# stopped and taken up again and again
run reproduce mujoco --scale smoke --out bodies-parts --max-seconds 0.05 --quiet
for seconds in 0.1 0.2 0.4; do
  run reproduce --resume bodies-parts --max-seconds $seconds --threads 1 --quiet
  expect_code 0
done
run reproduce --resume bodies-parts --quiet
expect_code 0
expect "the same numbers in parts" same_numbers bodies bodies-parts

# in the MuJoCo library, if there is one: shorter, since it is slower
library=(mujoco --scale smoke --physics mujoco --set steps=256 --set unroll=32)
if "$program" --version | grep -q 'mujoco [0-9]'; then
  run reproduce "${library[@]}" --out library
  expect_code 0
  expect_out 'moved by the MuJoCo library'
  expect "the engine in its label" grep -q '^# reduced: smoke scale.*physics=mujoco' library/table.csv
  run train --env Ant --map l2 --seeds 2 --physics mujoco --set steps=256 --set envs=2 --set unroll=32 \
    --set minibatches=4 --set epochs=1 --set hidden=16 --json
  expect_field finals "$(awk -F, '$1 == "Ant" && $3 == "l2" { printf "%.9f ", $5 }' library/raw.csv)"
  # it goes on in the library, and nowhere else
  run reproduce "${library[@]}" --out library-parts --max-seconds 0.2 --quiet
  expect_code 0
  refuse 2 'has fixed its settings' --resume library-parts --physics own
  MIRRORMAP_DATA=/nowhere
  if [ ! -e "$(dirname "$program")/../models" ]; then
    refuse 2 'models/hopper_brax.xml: not found' --resume library-parts
    refuse 2 'models/hopper_brax.xml: not found' "${library[@]}" --out never
    expect "no folder is left behind" test ! -e never
  fi
  MIRRORMAP_DATA=$2
  run reproduce --resume library-parts --quiet
  expect_code 0
  expect_out 'moved by the MuJoCo library'
  expect "the same numbers in parts" same_numbers library library-parts
else
  refuse 1 'libmujoco-dev' "${library[@]}" --out never
  expect "no folder is left behind" test ! -e never
fi

# ---------------------------------------------------------------------------------------------
# All of them, each with the settings that its trainings have; with sanitizers each was done above

[ $sanitized = no ] || finish
run reproduce all --scale smoke --seeds 2 --set target=code --set termination=restart --set steps=2048 \
  --set hidden=8 --set epochs=1 --json --out all
expect_code 0
expect_json
for artefact in phi gridworld control minatar transfer mujoco; do
  expect_out "\"artefact\":\"$artefact\""
  expect "a folder for $artefact" test -s "all/$artefact/run.db" -a -s "all/$artefact/summary.json"
done
expect "the switch of the Grid-Worlds" grep -q '"termination":"restart"' all/gridworld/table.csv
expect "maps of the others in the table" test -s all/transfer/learn-Freeway-MinAtar-code.json
run reproduce --resume all --quiet
expect_code 0
expect_no_err

finish
