#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `learn`: the same bits from any number of threads and after any number of kills; stops and resumes;
# refuses what it should.
# usage: cli_learn.sh PROGRAM SOURCE_DIR
# MM_TEST_LONG=1 makes the search that is killed larger (make check-long).

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
source=$2
cd "$work" || exit 1

small=(--env GridWorld-small --population 8 --set envs=8 --set unroll=8 --set validation_tasks=3 --set validation_every=2)
tiny=("${small[@]}" --set steps=512)

# same RUN RUN: both runs have the same maps and the same rows, timings aside
same() {
  local run
  for run; do
    run export "$run" --jsonl
    [ "$code" -eq 0 ] || return 1
    grep -vE '^\{"table":"(session|timing)"' "$out" >"$work/rows-$run"
  done
  cmp -s "$1/mean.json" "$2/mean.json" && cmp -s "$1/best.json" "$2/best.json" && cmp -s "rows-$1" "rows-$2"
}

# ---------------------------------------------------------------------------------------------
# One run, what it says and leaves behind

run learn "${tiny[@]}" --generations 5 --threads 1 --out one --json
expect_code 0
expect_json
for field in '"run":"one"' '"state":"done"' '"generations":5' '"evaluations":40' '"mean_fitness":' '"best_fitness":null' \
  '"validation":{"learned":{"mean":' '"negentropy":{' '"l2":{' '"random":{' '"initial":{' '"map_file":"one/best.json"' \
  '"env_steps":20480' '"env_steps_per_second":' '"wall_seconds":' '"settings":{' '"learn":{'; do
  expect_out "$field"
done
expect "the run has its files" test -s one/run.db -a -s one/mean.json -a -s one/best.json
for map in mean best; do
  run map check "one/$map.json"
  expect_code 0
done
run map show one/best.json --json
expect_out '"learned_on":["GridWorld-small"]'

# the preset says what is built in, and all of it
run learn "${tiny[@]}" --generations 5 --preset "$2/presets/gridworld.yaml" --out preset --json --quiet
expect_code 0
keys=$(sed -E 's/.*"learn":\{([^}]*)\}.*/\1/' "$out" | grep -oE '"[a-z_]+":' | tr -d '":')
for key in $keys; do
  expect "the preset names $key" grep -q "^$key:" "$2/presets/gridworld.yaml"
done
expect "the preset gridworld is what is built in" same one preset

run learn "${tiny[@]}" --generations 5 --threads 2 --out two --quiet
expect_code 0
expect_no_err
expect_out 'minus l2'
expect "two threads give the same bits" same one two
run learn "${tiny[@]}" --generations 5 --isa portable --out portable --quiet
expect "the portable kernels give the same bits" same one portable
run learn "${tiny[@]}" --generations 5 --seed 1 --out other --quiet
expect_not "another seed gives others" cmp -s one/mean.json other/mean.json

# the table on stderr, one row per validation: 0, 2, 4, 5
run learn "${tiny[@]}" --generations 5
expect_code 0
expect_err 'runs/learn-GridWorld-small-1: 5 generations of 8 training runs, openes, neural maps'
expect "a row per validation" test "$(grep -cE '^ +[0245]/5 ' "$err")" -eq 4
run learn "${tiny[@]}" --generations 1 --quiet
expect "the next folder is used" test -s runs/learn-GridWorld-small-2/run.db

# ---------------------------------------------------------------------------------------------
# Stopping and going on

run learn "${tiny[@]}" --generations 3 --out lines --quiet
run learn --resume lines --generations 6 # validated at 3 so far: rows 4 and 6 follow
expect_code 0
expect "no row without a validation of its own" test "$(grep -oE '^ +[0-9]+/6' "$err" | tr -d ' ' | tr '\n' ' ')" = '4/6 6/6 '
run learn "${tiny[@]}" --generations 3 --out grown --quiet
run learn --resume grown --generations 5 --quiet --threads 2
expect_code 0
expect "a run that was made longer has the same mean" cmp -s one/mean.json grown/mean.json
run learn "${tiny[@]}" --generations 1000 --max-seconds 0.5 --out cut --quiet --json
done=$(field generations)
run learn --resume cut --generations "$((done + 1))" --quiet --json
expect_code 0
expect_field generations "$((done + 1))"
run learn --resume cut --generations "$((done + 1))" --quiet --json
expect_out '"state":"done"'
expect_field final_generation "$((done + 1))"
run runs cut --json
expect_out '"state":"done"'
run learn --resume grown --quiet --json
expect_code 0
expect_out '"state":"done"'

run learn "${small[@]}" --set steps=1048576 --generations 1000 --max-seconds 1 --out stopped
expect_code 0
expect_err "resume with 'learn --resume stopped'"
run runs stopped --json
expect_code 0
expect_out '"state":"stopped"'

# the first validation is of fifteen trainings, which are to end soon
sanitized=no steps=262144
"$program" --version | grep -q sanitizers && sanitized=yes steps=32768 # all takes ten times as long there
for signal in INT TERM HUP; do
  last="mirrormap learn, $signal"
  # the program leaves a SIGHUP alone that was ignored before, as under nohup
  env --default-signal=HUP "$program" learn "${small[@]}" --set "steps=$steps" --generations 1000 --out "by-$signal" \
    >"$out" 2>"$err" </dev/null &
  pid=$!
  for ((i = 0; i < 1200; i++)); do # the controls are in
    [ -s "by-$signal/best.json" ] && break
    sleep 0.05
  done
  interrupt "$pid" "$signal"
  expect_code 130
  expect_no_out
  expect_err "resume with 'learn --resume by-$signal'"
  run runs "by-$signal" --json
  expect_out '"state":"interrupted"'
done

# a limit on the size of files is no crash
last="mirrormap learn, files up to 100 KB"
# shellcheck disable=SC2016 # expanded by the inner shell
bash -c 'ulimit -S -f 100; exec "$@"' - "$program" learn "${small[@]}" --generations 200 --out limited \
  >"$out" 2>"$err" </dev/null
code=$?
expect_code 1
expect_err "limited/run.db' may not become larger"
expect_err "resume with 'learn --resume limited'"
run runs limited --json
expect_code 0

# moved away while it was at work: nothing is there to be resumed
last='mirrormap learn, moved'
"$program" learn "${small[@]}" --generations 100000 --out here >"$out" 2>"$err" </dev/null &
pid=$!
for ((i = 0; i < 1200; i++)); do
  [ -s here/best.json ] && break
  sleep 0.05
done
mv here there
wait "$pid"
code=$?
expect_code 1
expect_err "here/run.db' was removed, moved or replaced"
expect_not "no such hint" grep -q "safe in\|learn --resume here" "$err"
run learn --resume there --max-seconds 0.1 --quiet
expect_code 0

# whose SIGHUP is ignored goes on when the terminal is closed
last='mirrormap learn, under nohup'
(
  trap '' HUP
  exec "$program" learn "${small[@]}" --set "steps=$steps" --generations 1000 --out hardy
) >"$out" 2>"$err" </dev/null &
pid=$!
for ((i = 0; i < 1200; i++)); do
  [ -s hardy/best.json ] && break
  sleep 0.05
done
kill -HUP "$pid"
sleep 0.3
expect "it goes on" kill -0 "$pid"
interrupt "$pid" INT
expect_code 130

# kill -9 at ten moments, then to the end: the same as a run that was left alone
slow=(--env 'GridWorld-small,GridWorld-sparse' --population 8 --set validation_tasks=3 --set validation_every=3
  --set 'schedule=14x8192,10x16384')
if [ $sanitized = yes ]; then
  slow=(--env 'GridWorld-small,GridWorld-sparse' --population 8 --set validation_tasks=3 --set validation_every=3
    --set 'schedule=7x2048,5x4096')
fi
if [ "${MM_TEST_LONG:-0}" = 1 ]; then
  slow=(--env GridWorld-all --population 64 --set validation_tasks=8 --set validation_every=2
    --set 'schedule=12x131072,8x262144')
fi
for es in openes sep-cma-es; do
  more=()
  [ "$es" = openes ] || more=(--kind piecewise --set n=10 --set stages=2 --set search=shape --set search_eta=on --set seeds_per_member=3
    --set controls=full)
  run learn "${slow[@]}" "${more[@]}" --es "$es" --out "calm-$es" --quiet --json
  expect_code 0
  seconds=$(sed 's/.*"wall_seconds":\([0-9.]*\).*/\1/' "$out")
  last="mirrormap learn --es $es, killed"
  kills=0 tries=0
  while [ "$kills" -lt 10 ] && [ "$tries" -lt 60 ]; do
    tries=$((tries + 1))
    if [ -e "killed-$es/run.db" ]; then
      set -- --resume "killed-$es"
    else
      set -- "${slow[@]}" "${more[@]}" --es "$es" --out "killed-$es"
    fi
    "$program" learn "$@" --quiet >"$out" 2>"$err" </dev/null &
    pid=$!
    sleep "$(awk -v r="$RANDOM" -v s="$seconds" 'BEGIN { printf "%.3f", 0.005 + r / 32768 * s / 12 }')"
    # before there is a database nothing can be lost; such a kill does not count
    kill -9 "$pid" 2>"$err" && [ -e "killed-$es/run.db" ] && kills=$((kills + 1))
    wait "$pid" 2>"$err"
  done
  expect "ten kills hit a running process" test "$kills" -eq 10
  run learn --resume "killed-$es" --quiet
  expect_code 0
  expect "$es: ten kills change nothing" same "calm-$es" "killed-$es"
done

# what a search of everything leaves behind: a map with its step size and two anchors, which is used as it is
expect "both in the file" grep -q '"eta"' calm-sep-cma-es/best.json
expect "two anchors" test "$(grep -c '"psi"' calm-sep-cma-es/best.json)" -eq 2
expect "the card says how" grep -q '"search": "shape"' calm-sep-cma-es/best.json
run train --env GridWorld-small --map calm-sep-cma-es/best.json --set steps=4096 --json
expect_code 0
expect_err 'from calm-sep-cma-es/best.json'
run learn "${tiny[@]}" --generations 1 --kind tsallis --set search=scale --out refused
expect_code 2
expect_err "setting 'search': maps of kind tsallis have no scale of their own: expected both or shape"
expect_not "nothing is left behind" test -e refused
run learn "${tiny[@]}" --generations 1 --kind piecewise --set n=10 --init calm-sep-cma-es/best.json --out refused
expect_code 2
expect_err 'a map with stages moves: expected one that does not'
run learn "${tiny[@]}" --generations 1 --set stages=5 --out refused
expect_code 2

# a database of version 1, begun by the program of that time, is listed, exported and goes on
mkdir old && cp "$source/tests/golden/run_version_1.db" old/run.db
run runs old --json
expect_code 0
expect_out '"state":"done","error":null,"command":"learn"'
run export old --jsonl
expect_code 0
expect "three generations and the start" test "$(grep -c '"table":"generation"' "$out")" -eq 4
run learn --resume old --generations 5 --quiet
expect_code 0
run learn "${tiny[@]}" --kind piecewise --es sep-cma-es --set n=10 --generations 5 --out young --quiet
expect "it ends where a new run ends" cmp -s old/mean.json young/mean.json
run learn --resume old --generations 6 --quiet
expect_code 0

# ---------------------------------------------------------------------------------------------
# The other ways to search

run learn "${tiny[@]}" --kind piecewise --es sep-cma-es --set n=10 --generations 2 --out pieces --json --quiet
expect_code 0
expect_not "sep-cma-es has a best fitness" grep -q '"best_fitness":null' "$out"
run learn "${tiny[@]}" --kind piecewise --set n=10 --init pieces/mean.json --generations 1 --out from --quiet
expect_code 0
run learn "${tiny[@]}" --set schedule=2x512,2x1024 --out phases --json --quiet
expect_code 0
expect_out '"env_steps":24576'
run export phases --csv --table score
expect_code 0
# MinAtar has phases of its own, which do not win over steps that were asked for
run learn --env Breakout-MinAtar --population 4 --generations 1 --set steps=64 --set envs=4 --set unroll=16 --set epochs=1 \
  --set validation_tasks=2 --set n=5 --out one-phase --json --quiet
expect_code 0
expect_out '"env_steps":256'
expect_out '"schedule":"-"'
# the hint says what is not the environment's own, which is not the algorithm's default: 8 epochs on MinAtar, not 16
games=(--env Breakout-MinAtar --population 4 --generations 1 --set steps=16 --set envs=4 --set unroll=4 --set hidden=8
  --set validation_tasks=2 --set n=5)
run learn "${games[@]}" --set epochs=16 --out many-epochs --quiet
expect_code 0
expect_out ' --set epochs=16'
expect_not "nothing but what was asked for" grep -q -e '--set lr=' -e '--set minibatches=' -e '--algo' "$out"
run learn "${games[@]}" --set epochs=8 --out usual-epochs --quiet
expect_not "nothing of what is usual" grep -q -e '--set epochs=' "$out"
run learn --env GridWorld-small --algo ampo --population 4 --generations 1 --set steps=16 --set envs=4 --set unroll=4 --set epochs=1 \
  --set validation_tasks=2 --set n=5 --out foreign --quiet
expect_code 0
expect_out ' --envs GridWorld-small --algo ampo --set steps=16'
# every key that help shows is one
run learn --help settings
keys=$(sed -n 's/^  \([a-z_]*\)=.*/\1/p' "$out")
expect "as many keys as the search and the algorithms have" test "$(wc -w <<<"$keys")" -ge 48
for key in $keys; do
  run learn --env GridWorld-small --set "$key="
  expect_err "setting '$key': expected a value"
done
for es in openes:evosax-0.3 sep-cma-es:isotropic sep-cma-es:evosax-0.3 cma-es:lr-adapt; do
  run learn "${tiny[@]}" --kind piecewise --set n=10 --es "$es" --generations 2 --out "es-$es" --quiet
  expect_code 0
done
for setting in common_numbers=off shaping=rank shaping=raw sigma=0.1 es_lr=0.1; do
  run learn "${tiny[@]}" --set "$setting" --generations 5 --out "with-$setting" --quiet
  expect_code 0
  expect_not "$setting makes a difference" cmp -s one/mean.json "with-$setting/mean.json"
done

for fitness in median cvar:0.5; do
  run learn "${tiny[@]}" --set "fitness=$fitness" --set shaping=raw --set seeds_per_member=3 --generations 2 --out "by-$fitness" --quiet
  expect_code 0
done
run learn "${tiny[@]}" --set shaping=raw --set seeds_per_member=3 --generations 2 --out by-mean --quiet
for fitness in median cvar:0.5; do
  expect_not "fitness=$fitness makes a difference" cmp -s <(grep '"w":' by-mean/mean.json) <(grep '"w":' "by-$fitness/mean.json")
done

# a task file travels with the run
printf 'grid: 4\nstart: [0, 0]\nobjects:\n  - {cell: [3, 3], reward: 1, terminate: 1, respawn: 0}\n' >task.yaml

# agents that do not learn: the search does not get anywhere and restarts with twice the candidates; the database, the maps
# and the list of runs know how many there were, and a run that was stopped comes to the same
flat=("${tiny[@]:2}" --env task.yaml --set lr=0 --kind tsallis --es cma-es --set restarts=1)
run learn "${flat[@]}" --generations 18 --out again
expect_code 0
expect_err 'restart 1 of 1 with 16 candidates'
for ((i = 0; i < 20; i++)); do
  if ((i == 0)); then run learn "${flat[@]}" --generations 18 --max-seconds 0.02 --out apart; else run learn --resume apart --max-seconds 0.02; fi
done
run learn --resume apart
expect "the same map after stops around a restart" cmp -s again/mean.json apart/mean.json
{
  timeout -s KILL 0.1 "$program" learn "${flat[@]}" --generations 18 --out slain --quiet
  for ((i = 0; i < 9; i++)); do
    timeout -s KILL 0.04 "$program" learn --resume slain --quiet
  done
} >/dev/null 2>&1
if [ -e slain/run.db ]; then run learn --resume slain --quiet; else run learn "${flat[@]}" --generations 18 --out slain --quiet; fi
expect_code 0
expect "and after kills" cmp -s again/mean.json slain/mean.json
run runs again --json
expect_code 0
expect_out '"evaluations":176'
run map show again/mean.json --json
expect_out '"evaluations":176' # 14 generations of 8 and 4 of 16
run learn "${tiny[@]:2}" --env task.yaml --generations 4 --out maze --quiet
expect_code 0
run learn "${tiny[@]:2}" --env task.yaml --generations 2 --out moved --quiet
rm task.yaml
cp -r moved edited
sed -i 's/3, 3/0, 1/' edited/env-0.yaml
refuse 2 'edited/env-0.yaml' learn --resume edited --generations 4
mkdir elsewhere && mv moved elsewhere/moved && mv elsewhere/moved moved-back
run learn --resume moved-back --generations 4 --quiet
expect_code 0
expect "without the file, in another place, the same bits" cmp -s maze/mean.json moved-back/mean.json

# ---------------------------------------------------------------------------------------------
# Refusals

refuse 2 "a run in 'one' already" learn "${tiny[@]}" --generations 1 --out one
refuse 2 'did you mean' learn "${tiny[@]}" --es openess
refuse 2 'did you mean' learn "${tiny[@]}" --populaton 8
refuse 2 'did you mean' learn --env GridWorld-smal
refuse 2 'expected --env' learn
refuse 2 'has fixed it' learn --resume one --env GridWorld-small
refuse 2 'tune_budget 17919: expected at least 17920 steps' learn "${tiny[@]}" --set controls=full --set tune_budget=17919
refuse 2 'expected at least 35840 steps' learn "${tiny[@]}" --set controls=full --set tune_budget=17920 --set schedule=1x512,1x1024
refuse 2 'no control is tuned' learn "${tiny[@]}" --set tune_budget=1e6
refuse 2 'has fixed its settings' learn --resume one --set sigma=1
refuse 2 'generations already' learn --resume one --generations 2
refuse 2 'of memory needed' learn --env GridWorld-small --population 1000000 --kind piecewise --set n=100000 --out huge
expect_not "and nothing is left" test -e huge
for fitness in best cvar cvar: cvar:0 cvar:1.5 cvar:nan; do
  refuse 2 "setting 'fitness': expected mean, median or cvar:A" learn --env GridWorld-small --set "fitness=$fitness"
done
refuse 2 'racing: runs of pmd have no checkpoints' learn --env GridWorld-small --set racing=on
refuse 2 'racing: openes compares the members of pairs' learn --env CartPole-v1 --es openes --set racing=on
refuse 2 'racing: restarts' learn --env CartPole-v1 --set racing=on --set restarts=1
refuse 2 'restarts = 1: expected 0' learn --env GridWorld-small --set restarts=1
refuse 2 'restarts 1: ranks on several environments' learn --env GridWorld-small,GridWorld-dense --es cma-es --kind tsallis --set restarts=1
refuse 2 "setting 'restarts'" learn --env GridWorld-small --set restarts=-1
refuse 2 'even number' learn --env GridWorld-small --population 7
refuse 2 'schedule' learn --env GridWorld-small --set schedule=5x
refuse 2 'schedule' learn --env GridWorld-small --set schedule=5x512 --generations 3
refuse 2 'schedule' learn --env GridWorld-small --set schedule=5x512 --set generations=3
refuse 2 'schedule=-' learn --env Breakout-MinAtar --generations 3
refuse 2 'steps' learn "${small[@]}" --set schedule=2x512,2x10
refuse 2 'final returns' learn --env GridWorld-small --set curve=exact
refuse 2 'steps' learn --env GridWorld-small --set steps=4
refuse 2 'ppo takes no map' learn --env CartPole-v1 --algo ppo
refuse 2 'nowhere' learn --resume nowhere
expect "nothing was made for what was refused" test ! -e runs/learn-GridWorld-small-3

# a damaged run is refused, and stays as it is
cp -r one torn && truncate -s 10000 torn/run.db
before=$(cksum <torn/run.db)
refuse 2 'torn' learn --resume torn --generations 9
expect "it was not touched" test "$before" = "$(cksum <torn/run.db)"
mkdir text && echo 'no database' >text/run.db
refuse 2 'text' learn --resume text

# racing: any number of threads, and kills at any moment, leave the bits as they are
race=(--env CartPole-v1 --population 6 --kind tsallis --set steps=20480 --set hidden=16 --set epochs=2 --set validation_tasks=2
  --set validation_every=2 --set racing=on --set stages=2 --set search_eta=on --generations 3)
run learn "${race[@]}" --out race --threads 1 --quiet
expect_code 0
run learn "${race[@]}" --out race-2 --threads 2 --quiet
expect "racing on two threads" cmp -s race/mean.json race-2/mean.json
{
  timeout -s KILL 0.3 "$program" learn "${race[@]}" --out race-killed --quiet
  for ((i = 0; i < 4; i++)); do
    timeout -s KILL 0.4 "$program" learn --resume race-killed --quiet
  done
} >/dev/null 2>&1
if [ -e race-killed/run.db ]; then run learn --resume race-killed --quiet; else run learn "${race[@]}" --out race-killed --quiet; fi
expect_code 0
expect "racing after kills" cmp -s race/mean.json race-killed/mean.json
run export race --csv --table job
expect "dropped candidates ended early" test "$(cut -d, -f8 "$out" | sort -u | wc -l)" -eq 4 # three lengths and the header

# candidates whose runs finish no episode have no fitness, and validation no mean: never 0
run learn --env Acrobot-v1 --population 4 --generations 1 --set steps=1024 --set schedule=- --out unfinished --json
expect_code 0
expect_out '"mean_fitness":null,"best_fitness":null'
expect_out '"validation":{"learned":{"mean":null,"sem":null}'
run learn --resume unfinished
expect_not "nan in the table" grep -q nan "$out" "$err"

# tuned controls, with their names whole in the figure
run learn "${tiny[@]}" --set controls=full --set tune_budget=17920 --generations 1 --out tuned
expect_code 0
for control in negentropy:tuned-eta l2:tuned-eta tsallis:tuned-q-eta; do
  expect_err "$control on GridWorld-small: "
  ! command -v gnuplot >/dev/null || expect "the figure has $control" grep -q ">$control<" tuned/search.svg
done

# ---------------------------------------------------------------------------------------------
# Families: Tsallis' q, sums of powers, and starts that are converted into the family

for words in 'tsallis --kind tsallis' 'tsallis --kind tsallis --init l2 --es cma-es' \
  'powers --kind powers --set n=3 --init tsallis:3' 'piecewise --kind piecewise --init l2 --set n=20' \
  'neural --kind neural --init tsallis:3'; do
  read -ra word <<<"$words"
  run learn "${tiny[@]}" "${word[@]:1}" --generations 3 --out family --json
  expect_code 0
  run map show family/best.json
  expect_out "${word[0]}"
  # one that was stopped at once and resumed comes to the same
  run learn "${tiny[@]}" "${word[@]:1}" --generations 3 --max-seconds 0.001 --out parted
  run learn --resume parted
  expect_code 0
  expect "$words: the same map after a stop" cmp -s family/best.json parted/best.json
  rm -rf family parted
done
# a preset says where its search starts; --set says otherwise, and --init has the last word
printf 'algo: pmd\nkind: piecewise\nn: 12\ninit: l2\n' >start.yaml
run learn "${tiny[@]}" --preset start.yaml --generations 1 --out start --quiet
run learn "${tiny[@]}" --kind piecewise --set n=12 --init l2 --generations 1 --out option --quiet
expect_code 0
expect "a preset's start is that of --init" same start option
run learn "${tiny[@]}" --preset start.yaml --set init=tsallis:3 --init l2 --generations 1 --out both --quiet
expect "--init has the last word" same start both
run learn "${tiny[@]}" --preset start.yaml --set init=- --generations 1 --out own --quiet
expect_code 0
expect_not "init=- is the family's own start" cmp -s start/mean.json own/mean.json
refuse 2 "map 'l3': no such name" learn "${tiny[@]}" --set init=l3
# what the family does not have begins at the nearest that it has, and says how near
run learn "${tiny[@]}" --kind powers --set n=2 --init random:1 --generations 1 --out near
expect_code 0
expect_err 'the nearest map of kind powers to one of kind piecewise'
refuse 2 'powers: n = 100: expected 1 to 8 terms' learn "${tiny[@]}" --kind powers
refuse 2 "'tsallis'" learn "${tiny[@]}" --kind tsalis

finish
