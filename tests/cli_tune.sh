#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `tune`: a grid and CMA-ES on real trainings; killed, interrupted and out of time it ends with the same
# table; its preset can be used and is never written over; refuses what it should.
# usage: cli_tune.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
export MIRRORMAP_DATA=$2 # a program that is not in build/ has no presets beside it
cd "$work" || exit 1

cat >grid.yaml <<'END'
method: grid
parameters:
  lr: {log: [4, 400], points: 3}
  eta: {log: [0.01, 1], points: 3}
END
cat >cart.yaml <<'END'
parameters:
  lr: {log: [1e-4, 1e-1]}
  epochs: {integer: [1, 4]}
  activation: {choice: [tanh, relu]}
END
small=(--env 'GridWorld-small,GridWorld-dense' --map l2 --space grid.yaml --set steps=1024 --set envs=8 --set unroll=16
  --seeds 4)
shape=(--env CartPole-v1 --map negentropy --space cart.yaml --set hidden=16 --seeds 4 --validate 4)
cart=("${shape[@]}" --set steps=2560 --trials 21)
source=$2

# without what a clock or the place of a run says: everything else must be the same
timeless() {
  sed -E 's/"(env_steps_per_second|wall_seconds)":[^,}]*/"\1":0/g
    s/"threads":(null|[0-9]+)/"threads":0/; s/"isa":"[a-z0-9]+"/"isa":""/; s/"(run|preset)":"[^"]*"/"\1":""/g' "$1"
}

# same RUN RUN: the same results, tables and rows
same() {
  same_runs tune "$@" && cmp -s "$1/trials.csv" "$2/trials.csv" &&
    cmp -s "$1/preset.yaml" "$2/preset.yaml"
}

# ---------------------------------------------------------------------------------------------
# A grid

run tune "${small[@]}" --validate 4 --threads 2 --out one --json
expect_code 0
expect_json
expect_err 'one: a grid of 9 trials, up to 4 seeds each on 2 environments'
for text in '"env":["GridWorld-small","GridWorld-dense"],"algo":"pmd","map":"l2","method":"grid","seed":0' \
  '"state":"done"' '"preset":"one/preset.yaml"' '"parameters":[{"name":"lr","scale":"log","low":4,"high":400}' \
  '{"trial":0,"values":[40,0.1],"mean":0,"sem":0,"n":4,"pruned":false' '"importance":[{"name":"lr","share":'; do
  expect_out "$text"
done
files=(run.db trials.csv tune.json preset.yaml)
! command -v gnuplot >/dev/null || files+=(tune.svg tune.png)
for name in "${files[@]}"; do
  expect "file $name" test -s "one/$name"
done
expect "no other files" test "$(find one -type f | wc -l)" -eq "${#files[@]}"
! command -v gnuplot >/dev/null ||
  expect "the figure of two parameters is a heat map" grep -q 'not shown to be worse' one/tune.svg
expect "a line for each trial" test "$(grep -c '^[0-9]' one/trials.csv)" -eq 9
if command -v gnuplot >/dev/null; then
  printf 'method: grid\nparameters: {lr: {log: [4, 400], points: 16}, eta: {log: [0.01, 1], points: 2}}\n' >wide.yaml
  run tune --env GridWorld-small --map l2 --space wide.yaml --set steps=256 --set envs=8 --seeds 2 --validate 2 --prune off \
    --out wide --quiet
  expect "narrow cells have their errors too" grep -q '± 0\.' wide/tune.svg
fi
run tune "${small[@]}" --validate 4 --threads 1 --isa portable --out two
expect_code 0
for text in '9 trials (grid)' 'baseline' 'on 4 fresh seeds' 'importance: lr' 'preset: two/preset.yaml'; do
  expect_out "$text"
done
expect "other threads and kernels, the same bits" same one two
run tune "${small[@]}" --validate 4 --seed 1 --out other --quiet
expect_code 0
expect_not "other seeds differ" same one other
run tune "${small[@]}" --prune off --validate 0 --out all --json --quiet
expect_code 0
expect_out '"trials_stopped":0'
expect_out '"validation":null'
expect_out '"trainings":72'

# the preset serves other commands; settings of --set come on top
best=$(sed -n 's/^lr: \([^ ]*\).*/\1/p' one/preset.yaml)
run train --env GridWorld-small --map l2 --preset one/preset.yaml --set eta=0.5 --json --quiet
expect_code 0
expect_out "\"lr\":$best,"
expect_out '"steps":1024,'
expect_out '"eta":0.5,'
run learn --env GridWorld-small --preset one/preset.yaml --generations 1 --population 4 --set validation_tasks=2 \
  --out learned --quiet
expect_code 0

# what somebody made of it stays
echo '# mine' >>one/preset.yaml
run tune --resume one
expect_code 0
expect_err 'one/preset.yaml was there already and stays as it is'
expect "it does" test "$(tail -n 1 one/preset.yaml)" = '# mine'
cp two/preset.yaml one/preset.yaml

# other commands see the run
run runs one --json
expect_code 0
expect_out '"state":"done"'
expect_out '"command":"tune","env":["GridWorld-small","GridWorld-dense"]'
run report one --no-figures --out page --quiet
expect_code 0
expect "its page has the trials" grep -q '"tuning":{"parameters":\[{"name":"lr","scale":"log","low":4,"high":400}' page/report.html
expect "and the winner beside the own settings" grep -q '"map":"l2","role":"validation"' page/report.html

# ---------------------------------------------------------------------------------------------
# CMA-ES, its own folder, PPO without a map

run tune "${cart[@]}" --quiet
expect_code 0
expect "a folder of its own" test -s runs/tune-CartPole-v1-1/preset.yaml
expect_out '(cma-es)'
! command -v gnuplot >/dev/null ||
  expect "other figures have slices" grep -q 'with all seeds' runs/tune-CartPole-v1-1/tune.svg
run tune --env CartPole-v1,Acrobot-v1 --algo ppo --space cart.yaml --set steps=4096 --seeds 1 --validate 0 --trials 6 \
  --population 4 --json
expect_code 0
expect_err 'cma-es, 1 generations of 4 trials'
expect_err '--trials 6: cma-es tries whole generations of 4, so 4 trials'
expect_out '"algo":"ppo","map":null'
expect_out '"candidates":4'

# settings that do not go together are trials without a value
printf 'method: grid\nparameters: {envs: {choice: [4, 64]}}\n' >envs.yaml
run tune --env CartPole-v1 --map l2 --space envs.yaml --set steps=512 --set unroll=16 --seeds 2 --validate 0 --json --quiet
expect_code 0
expect_out '"trials_failed":1'
expect_out '"best":{"trial":0,'

# a map and a task file travel with the run, whatever they are called
printf 'grid: 4\nstart: [0, 0]\nobjects:\n  - {cell: [3, 3], reward: 1, terminate: 1, respawn: 0}\n' >task.yaml
evil="a'; DROP TABLE training; --\`touch gone\`\$(touch gone)\"%s{x}"$'\n'"lr: 7.json"
run map new random:3 --out map.json --quiet
mv map.json "$evil"
run tune --env task.yaml --map "$evil" --space grid.yaml --set steps=512 --set envs=8 --set unroll=16 --seeds 2 \
  --validate 2 --out hostile --json --quiet
expect_code 0
expect_out '"env":["task.yaml"],"algo":"pmd"'
cp hostile/tune.json before.json
cp hostile/preset.yaml before.yaml
expect "nothing got out" test ! -e gone -a ! -e hostile/gone
best=$(sed -n 's/^lr: \([^ ]*\).*/\1/p' hostile/preset.yaml)
expect "one value of lr, and it is the search's" test "$best" = 4 -o "$best" = 40 -o "$best" = 400
rm task.yaml "$evil" hostile/tune.json hostile/preset.yaml
mv hostile elsewhere
run tune --resume elsewhere --quiet
expect_code 0
expect "without the files, in another place, the same" cmp -s before.json elsewhere/tune.json
expect "and the same preset" cmp -s before.yaml elsewhere/preset.yaml
run train --env GridWorld-small --map l2 --preset elsewhere/preset.yaml --quiet
expect_code 0

# ---------------------------------------------------------------------------------------------
# Out of time, interrupted, killed

long=("${shape[@]}" --set steps=1e8)
run tune "${long[@]}" --max-seconds 0.5 --out late --json
expect_code 0
expect_json
expect_out '"state":"stopped"'
expect_out '"preset":null'
expect_err "stopped in trial 0; resume with 'tune --resume late'"
expect "no files yet" test ! -e late/preset.yaml -a ! -e late/trials.csv
run runs late --json
expect_out '"state":"stopped"'
expect_interrupts tune 'in trial 0' "${long[@]}"

# kill -9 at some moments, then to the end: the same as a run that was left alone
wanted=8
"$program" --version | grep -q sanitizers && wanted=3 # each takes ten times as long there
run tune "${cart[@]}" --out calm --quiet --json
expect_code 0
seconds=$(field wall_seconds)
last="mirrormap tune, killed"
kills=0 tries=0
while [ "$kills" -lt "$wanted" ] && [ "$tries" -lt 100 ]; do
  tries=$((tries + 1))
  if [ -e killed/run.db ]; then
    set -- --resume killed
  else
    set -- "${cart[@]}" --out killed
  fi
  "$program" tune "$@" --quiet --save-seconds 0.02 --threads $((1 + tries % 2)) >"$out" 2>"$err" </dev/null &
  pid=$!
  sleep "$(awk -v r="$RANDOM" -v s="$seconds" 'BEGIN { printf "%.3f", 0.01 + r / 32768 * s / 5 }')"
  # before there is a database nothing can be lost; such a kill does not count
  kill -9 "$pid" 2>"$err" && [ -e killed/run.db ] && kills=$((kills + 1))
  wait "$pid" 2>"$err"
done
expect "$wanted kills hit a running process" test "$kills" -eq "$wanted"
run tune --resume killed --quiet
expect_code 0
expect "$wanted kills change nothing" same calm killed

# ---------------------------------------------------------------------------------------------
# Parameters of maps, several maps

cat >map.yaml <<'END'
method: grid
parameters:
  map.scale: {log: [0.5, 2], points: 3}
  eta: {log: [0.05, 0.2], points: 2}
END
sed 's/map.scale.*/map.q: {linear: [1, 3], points: 3}/' map.yaml >q.yaml
maps=(--env GridWorld-small --set steps=1024 --set envs=8 --set unroll=16 --seeds 2 --validate 2)
run tune "${maps[@]}" --map negentropy,l2 --space map.yaml --out maps
expect_code 0
expect_out 'GridWorld-small negentropy  GridWorld-small l2'
expect "the winner's maps" test -s maps/map-1.json -a -s maps/map-2.json
run tune "${maps[@]}" --map negentropy,l2 --space map.yaml --out maps-cut --max-seconds 0.001
run tune --resume maps-cut
expect_code 0
expect "several maps resume to the same results" same maps maps-cut
run tune "${maps[@]}" --map tsallis:2 --space q.yaml --out q
expect_code 0
expect "the winner's map" test -s q/map.json
run tune "${maps[@]}" --map tsallis:2,l2 --space q.yaml --out never
expect_code 2
expect_err "map 'l2' has no parameter q"
expect "nothing was written" test ! -e never

# ---------------------------------------------------------------------------------------------
# Successive halving: of a grid, and of trials that are drawn

sed 's/method: grid/method: halving/' grid.yaml >halving.yaml
half=(--env GridWorld-small --map l2 --set steps=1024 --set envs=8 --set unroll=16 --seeds 4 --validate 2)
run tune "${half[@]}" --space halving.yaml --out half
expect_code 0
expect_err 'half: halving, a grid of 9 trials, up to 4 seeds each on 1 environment'
for text in '9 trials (halving), 6 dropped, 0 failed; 22 training runs' 'dropped after 1 seed' 'dropped after 2 seeds'; do
  expect_out "$text"
done
expect "the file says who was dropped" test "$(grep -c ',dropped,' half/trials.csv)" -eq 6
expect "so does JSON" grep -q '"n": *1,.*"state": *"dropped"' <(tr -d '\n' <half/tune.json)
run tune "${half[@]}" --space grid.yaml --method halving --out half-option --quiet
expect_code 0
expect "the option does what the file does" same half half-option
run tune --env CartPole-v1 --map negentropy --space cart.yaml --set hidden=16 --seeds 4 --validate 0 --set steps=1280 \
  --method halving --trials 12 --out drawn --json
expect_code 0
expect_err 'drawn: halving, a sample of 12 trials'
expect_out '"method":"halving"'
expect_out '"candidates":12'
set -- --env CartPole-v1 --map negentropy --space cart.yaml --set hidden=16 --seeds 4 --validate 0 --set steps=1280 \
  --method halving --trials 12 --out drawn-cut
for seconds in 0.02 0.05 0.1; do
  run tune "$@" --max-seconds $seconds --save-seconds 0.01 --quiet
  expect_code 0
  set -- --resume drawn-cut
done
run tune --resume drawn-cut --quiet
expect_code 0
expect "halving resumes to the same results" same drawn drawn-cut
refuse 2 '9 points, more than the 8 trials' tune "${half[@]}" --space halving.yaml --trials 8 --out never

# ---------------------------------------------------------------------------------------------
# Refusals

refuse 2 "'--env' is required" tune
refuse 2 "'--map' is required" tune --env CartPole-v1
refuse 2 "'--space' is required" tune --env CartPole-v1 --map l2
refuse 2 'nowhere.yaml' tune --env CartPole-v1 --map l2 --space nowhere.yaml
refuse 2 "did you mean 'CartPole-v1'" tune --env CartPole-v2 --map l2 --space cart.yaml
refuse 2 'a run in' tune "${small[@]}" --out learned
refuse 2 'has a preset.yaml already' tune "${small[@]}" --out one
mkdir taken && echo mine >taken/preset.yaml
refuse 2 'has a preset.yaml already' tune "${small[@]}" --out taken
expect "it is as it was" test "$(cat taken/preset.yaml)" = mine -a "$(find taken -type f | wc -l)" -eq 1
for bad in 'parameters: {critic_lr: {log: [1, 2]}}' 'parameters: {lrr: {log: [1, 2]}}' 'parameters: {lr: {log: [0, 2]}}' 'parameters: {lr: {log: [1e-3, 1e9]}}' \
  'method: random' 'parameters: {steps: {log: [1, 2]}}' '['; do
  echo "$bad" >bad.yaml
  refuse 2 'bad.yaml' tune --env CartPole-v1 --map l2 --space bad.yaml
done
echo 'parameters: {epoch: {integer: [1, 2]}}' >bad.yaml
refuse 2 "did you mean 'epochs'" tune --env CartPole-v1 --map l2 --space bad.yaml
refuse 2 '9 points, more than the 8 trials' tune "${small[@]}" --trials 8
refuse 2 'one generation of 7 candidates' tune "${shape[@]}" --trials 3
refuse 2 'one algorithm' tune --env GridWorld-small,CartPole-v1 --map l2 --space grid.yaml
refuse 2 'less than one iteration' tune "${shape[@]}" --set steps=10
refuse 2 "'grdi'" tune "${small[@]}" --method grdi
refuse 2 'population' tune "${cart[@]}" --population 3
expect "nothing was made for what was refused" test ! -e runs/tune-GridWorld-small-1 -a ! -e runs/tune-CartPole-v1-4
for option in '--env CartPole-v1' '--map l2' '--space grid.yaml' '--algo ampo' '--seeds 4' '--seed 1' '--out x' \
  '--preset bcs' '--method grid' '--trials 9' '--population 9' '--prune on' '--validate 1'; do
  # shellcheck disable=SC2086 # two words
  refuse 2 'has fixed it' tune --resume one $option
done
refuse 2 'has fixed its settings' tune --resume one --set lr=1
refuse 2 'nowhere' tune --resume nowhere
refuse 2 "a run of 'learn', not of 'tune'" tune --resume learned
refuse 2 "a run of 'tune', not of 'train'" train --resume one

# damaged runs are refused and stay as they are
cp -r late torn && truncate -s 20000 torn/run.db
before=$(cksum <torn/run.db)
refuse 2 'is damaged' tune --resume torn --max-seconds 30
expect "what was torn was not touched" test "$before" = "$(cksum <torn/run.db)"

# the examples that come with the program are spaces
for file in tune-bcs tune-ppo; do
  algo=ampo
  [ $file = tune-bcs ] || algo=ppo
  run tune --env CartPole-v1 --map negentropy --algo $algo --space "$source/examples/$file.yaml" --set steps=4096 \
    --seeds 1 --validate 0 --max-seconds 0.5 --out "example-$file" --quiet
  expect_code 0
done

finish
