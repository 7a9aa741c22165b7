#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `transfer`: its tables, JSON and files, controls and labels, the same bits on any number of
# threads, bad input, interruption. Runs are kept short by --set.
# usage: cli_transfer.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
export MIRRORMAP_DATA=$2 # a program that is not in build/ has no presets beside it
cd "$work" || exit 1

short=(--set steps=1024 --set envs=8 --set unroll=16)
transfer() { run transfer --envs GridWorld-small,GridWorld-sparse "$@" "${short[@]}"; }

# without what a clock says: everything else must be the same
timeless() {
  sed -E 's/"(env_steps_per_second|wall_seconds)": ?[^,}]*/"\1":0/g; s/"threads": ?[0-9]+/"threads":0/; s/^# time: .*//; s/^speed .*//' "$1"
}

has_gnuplot() { command -v gnuplot >/dev/null; }

# ---------------------------------------------------------------------------------------------
# A row trains with the step size that its map brings, the others with the settings'

run map new piecewise --from l2 --n 5 --eta 0.45 --out eta.json --quiet
transfer --maps eta.json,tsallis:1.5 --controls none --seeds 2 --json --out own
expect_code 0
expect_err 'eta 0.45 from eta.json'
expect_out '"eta":[[0.45,0.45],[0.1,0.1]]'
own=$(grep -o '"mean":\[\[[^]]*' "$out")
run transfer --resume own --json
expect_out '"eta":[[0.45,0.45],[0.1,0.1]]'
transfer --maps eta.json,tsallis:1.5 --controls none --seeds 2 --json --set eta=0.45
expect_no_err
expect_out '"eta":[[0.45,0.45],[0.45,0.45]]'
expect "the same runs as with that eta" test "$own" = "$(grep -o '"mean":\[\[[^]]*' "$out")"

# ---------------------------------------------------------------------------------------------
# JSON

transfer --maps tsallis:0.5,random:1 --seeds 3 --seed 5 --threads 2 --json
expect_code 0
expect_no_err
expect_json
for name in maps labels controls envs algos steps seed seeds mean sem baseline difference difference_sem \
  difference_l2 difference_l2_sem optimal_mean n failures numeric_failures cvar ci_low ci_high win_rate p_holm comparisons finals env_steps \
  env_steps_per_second wall_seconds backend threads isa settings version build; do
  expect "field $name" grep -qF "\"$name\":" "$out"
done
expect_out '"maps":["tsallis:0.5","random:1","negentropy","l2","random:0"]'
expect_out '"controls":["negentropy","l2","random:0"]'
expect_out '"envs":["GridWorld-small","GridWorld-sparse"]'
expect_out '"baseline":"negentropy"'
expect_out '"settings":[{"steps":1024,"envs":8,"unroll":16,'
expect_not "no curves" grep -qF '"curves"' "$out"
expect_field steps "1024 1024"
expect_field seed 5
expect_field seeds 3
cp "$out" "$work/first.json"

# rows [map][env] against train
rows() { # FIELD: its rows, one per line
  sed -E "s/.*\"$1\":\[\[([^\"]*)\]\],?\".*/\1/; s/\],\[/\n/g" "$work/first.json" | tr ',' ' '
}
n_row=0
for map in tsallis:0.5 random:1 negentropy l2 random:0; do
  n_row=$((n_row + 1))
  run train --env GridWorld-sparse --map "$map" --seeds 3 --seed 5 --json "${short[@]}"
  expect "mean of $map" test "$(field final_mean)" = "$(rows mean | sed -n ${n_row}p | cut -d' ' -f2)"
  expect "sem of $map" test "$(field final_sem)" = "$(rows sem | sed -n ${n_row}p | cut -d' ' -f2)"
done
expect "five rows of means" test "$(rows mean | wc -l)" -eq 5
expect "the baseline does not differ from itself" test "$(rows difference | sed -n 3p)" = "0 0"
expect "nor l2 from itself" test "$(rows difference_l2 | sed -n 4p)" = "0 0"
expect "differences are those of the means" awk -v m="$(rows mean | tr '\n' ' ')" -v d="$(rows difference | tr '\n' ' ')" '
  BEGIN {
    n = split(m, x, " ")
    split(d, y, " ")
    for (i = 1; i <= n; i++) {
      e = x[i] - x[5 + (i + 1) % 2] - y[i]
      bad = bad || e > 1e-12 || e < -1e-12
    }
    exit n != 10 || bad
  }'

# a single run has no standard error
transfer --maps l2 --seeds 1 --json --controls none
expect_code 0
expect_out '"maps":["l2"]'
expect_out '"sem":[[null,null]]'
expect_out '"baseline":null'
expect_out '"difference":[[null,null]]'
expect_out '"difference_l2":[[0,0]]'

# ---------------------------------------------------------------------------------------------
# the same bits

many=(--maps "random-neural:2,l2" --seeds 6 --set curve=exact)
transfer "${many[@]}" --threads 1 --json
expect_code 0
expect_out '"curves":[[{"step":[0,128,'
timeless "$out" >"$work/one"
for option in "--threads 2" "--threads 8" "--isa portable"; do
  # shellcheck disable=SC2086 # two words
  transfer "${many[@]}" $option --json
  expect_code 0
  timeless "$out" | sed -E 's/"isa":"[a-z0-9]+"/"isa":"portable"/' >"$work/more"
  sed -E 's/"isa":"[a-z0-9]+"/"isa":"portable"/' "$work/one" >"$work/reference"
  expect "the same with $option" cmp -s "$work/reference" "$work/more"
done
transfer "${many[@]}" --threads 1
timeless "$out" >"$work/one"
transfer "${many[@]}" --threads 2
timeless "$out" >"$work/more"
expect "the same text" cmp -s "$work/one" "$work/more"

# ---------------------------------------------------------------------------------------------
# controls and labels

maps_of() { sed -E 's/.*"maps":\[([^]]*)\].*/\1/; s/"//g' "$out"; }
labels_of() { sed -E 's/.*"labels":\[([^]]*)\].*/\1/; s/"//g' "$out"; }
expect_maps() { # OPTIONS EXPECTED
  # shellcheck disable=SC2086 # several words
  transfer $1 --seeds 1 --json
  expect_code 0
  expect "maps $2, got $(maps_of)" test "$(maps_of)" = "$2"
}
expect_maps "--maps l2" l2,negentropy
expect_maps "--maps tsallis:2" tsallis:2,negentropy,l2
expect_maps "--maps piecewise,l2,piecewise" piecewise,l2,negentropy,random:0
expect_maps "--maps random:0" random:0,negentropy,l2
expect_maps "--maps neural,piecewise" neural,piecewise,negentropy,l2,random-neural:0
expect_maps "--maps neural --controls none" neural
expect_maps "--maps neural,tsallis:1.5 --controls full" \
  neural,tsallis:1.5,negentropy,l2,random-neural:0,tsallis:0.5,negentropy:tuned-eta,l2:tuned-eta,tsallis:tuned-q-eta
expect_maps "--maps random:4 --controls full" \
  random:4,negentropy,l2,random:0,tsallis:0.5,tsallis:1.5,piecewise,negentropy:tuned-eta,l2:tuned-eta,tsallis:tuned-q-eta
run transfer --maps "negentropy, l2" --envs "GridWorld-small, GridWorld-small" --seeds 1 --json "${short[@]}"
expect_out '"maps":["negentropy","l2"]'
expect_out '"envs":["GridWorld-small"]'

mkdir -p x y/x y/z
for file in x/best.json y/x/best.json y/z/best.json l2.json; do
  printf '{"format": "mirrormap/1", "kind": "piecewise", "psi": [1, 1, 1]}\n' >$file
done
transfer --maps x/best.json,y/x/best.json,y/z/best.json,l2.json --seeds 1 --json
expect_code 0
labels=$(labels_of)
expect "distinct labels, got $labels" test "$(echo "$labels" | tr ',' '\n' | sort | uniq -d | wc -l)" -eq 0
expect "labels tell what they are, got $labels" \
  test "$labels" = "x/best.json,y/x/best,z/best,l2.json,negentropy,l2,random:0"
transfer --maps x/best.json --seeds 2
expect "a label of its own is short" grep -Eq '^best +' "$out"

# ---------------------------------------------------------------------------------------------
# the algorithm that was asked for

nets=(--algo ampo --seeds 2 --seed 3 --set steps=1024 --set envs=4 --set unroll=32)
run transfer --maps l2 --envs GridWorld-sparse,CartPole-v1 --controls none "${nets[@]}" --out nets --json --quiet
expect_code 0
expect_out '"algos":["ampo","ampo"]'
read -r sparse cart < <(field mean)
run train --env GridWorld-sparse --map l2 "${nets[@]}" --json --quiet
expect "networks on a Grid-World, as of train" test "$(field final_mean)" = "$sparse"
run train --env CartPole-v1 --map l2 "${nets[@]}" --json --quiet
expect "and on CartPole" test "$(field final_mean)" = "$cart"
run transfer --resume nets --json --quiet
expect_code 0
expect_out '"algos":["ampo","ampo"]'
expect_field mean "$sparse $cart"
run transfer --resume nets --algo pmd
expect_refusal 2 "--algo" "fixed"
run report nets --no-figures --out nets-page
expect_code 0
expect "how to make it again" grep -q "transfer --maps l2 .*--algo ampo" nets-page/report.html
run transfer --maps l2 --envs GridWorld-small --preset bcs "${nets[@]}" --out preset-nets --json --quiet
expect_code 0
expect_out '"algos":["ampo"]'
# none of its runs came to an end: it is not done
run transfer --maps l2 --envs CartPole-v1 --controls none --seeds 2 --set steps=1e9 --job-timeout 0.01 --out nothing --quiet
expect_code 1
expect_err "--job-timeout"
run runs nothing --json
expect_out '"state":"failed"'
run transfer --maps l2 --envs GridWorld-small --preset bcs --out never
expect_refusal 2 "preset for the algorithm 'ampo', not for 'pmd'"
run transfer --maps l2 --envs CartPole-v1 --algo ppo --out never
expect_refusal 2 "'--algo'" "ppo takes no map"
run transfer --maps l2 --envs CartPole-v1 --algo sarsa --out never
expect_refusal 2 "'--algo'" "sarsa" "pmd-gaussian"
run transfer --maps l2 --envs GridWorld-small,CartPole-v1 --algo pmd --out never
expect_refusal 2 "'CartPole-v1' is not a Grid-World"
run transfer --maps l2 --envs CartPole-v1,Pendulum-v1 --algo ampo --out never
expect_refusal 2 "'Pendulum-v1' has continuous actions"
run transfer --maps l2 --envs CartPole-v1 --algo pmd-gaussian --out never
expect_refusal 2 "'CartPole-v1' has 2 discrete actions"
expect "no folder is left behind" test ! -e never

# ---------------------------------------------------------------------------------------------
# for people

transfer --maps random:1 --seeds 4
expect_code 0
expect_no_err
expect_out "final return: mean +- standard error of 4 runs with the same seeds for each map"
expect "a header" grep -Eq '^map +GridWorld-small +GridWorld-sparse$' "$out"
expect "a row" grep -Eq '^random:1( +-?[0-9.e-]+ \+- [0-9.e-]+ \(-?[0-9.e-]+\)){2}$' "$out"
expect_out "minus negentropy, paired by seed: mean [95 % interval], * excludes 0; win rate"
expect_out "minus l2, paired by seed"
expect "a difference with its mark" grep -Eq '^random:1 +-[0-9.]+ \[-[0-9.]+, -[0-9.]+\] \* +0 %' "$out"
expect "the speed" grep -Eq '^speed .* steps/s: 32 runs in .* s on [0-9]+ threads?, ' "$out"
expect_not "no colours in a file" grep -q "$(printf '\033')" "$out"
run transfer --maps l2 --envs GridWorld-small,GridWorld-sparse,GridWorld-dense,GridWorld-long,GridWorld-longer,GridWorld-all \
  --seeds 2 "${short[@]}"
expect_code 0
expect "no more than 80 columns" awk 'length > 80 { exit 1 }' "$out"
expect "in blocks" test "$(grep -c '^map ' "$out")" -ge 6

# ---------------------------------------------------------------------------------------------
# files

transfer --maps tsallis:0.5 --seeds 3 --set curve=exact --out "$work/a/b"
expect_code 0
files="curves.csv run.db runs.csv table.csv table.json"
if has_gnuplot; then
  files="curves.csv curves.png curves.svg run.db runs.csv table.csv table.json transfer.png transfer.svg"
  expect_err "wrote tables and figures to $work/a/b"
fi
expect "the files" test "$(cd "$work/a/b" && echo ./*)" = "./${files// / ./}"
for file in table.csv runs.csv curves.csv; do
  for text in "# mirrormap " "# seeds: 0 to 2" "# maps: {" "# settings: {" "# time: "; do
    expect "$file has $text" grep -qF "$text" "$work/a/b/$file"
  done
done
expect "the table's header" grep -qx \
  'map,env,n,mean,sem,optimal_mean,diff_negentropy,diff_negentropy_sem,wins_negentropy,diff_l2,diff_l2_sem,wins_l2,failures,eta,iqm,iqm_low,iqm_high,unfinished,cvar,ci_low,ci_high,diff_iqm,diff_iqm_low,diff_iqm_high,win_rate,win_rate_low,win_rate_high,p,p_holm,ci_low_l2,ci_high_l2,p_holm_l2,q' "$work/a/b/table.csv"
expect "a row for each cell" test "$(grep -Ec '^[^#].*,0,0.1(,-?[0-9.e-]+){3},0(,-?[0-9.e-]*){15}$' "$work/a/b/table.csv")" -eq 6
expect "a row for each run" test "$(grep -c '^[a-z0-9:.]*,GridWorld-[a-z]*,[0-9]*,' "$work/a/b/runs.csv")" -eq 18
expect "a row for each point" test "$(grep -c ',GridWorld-sparse,' "$work/a/b/curves.csv")" -eq 27
if [ -n "$json_parser" ]; then
  expect "table.json is JSON" parse_json "$work/a/b/table.json"
fi
# the table follows from the runs
# shellcheck disable=SC2016 # the dollars are awk's
expect "means of the runs" awk -F, '
  /^#/ || FNR == 1 { next }
  FILENAME ~ /runs/ { sum[$1 $2] += $4 / 3; next }
  $1 != "map" { e = sum[$1 $2] - $4; n++; bad = bad || e > 1e-12 || e < -1e-12 }
  END { exit bad || n != 6 }' "$work/a/b/runs.csv" "$work/a/b/table.csv"

transfer --maps tsallis:0.5 --seeds 2 --out "$work/c" --quiet --json
expect_code 0
expect_no_err
expect_json
expect "no curves without them" test ! -e "$work/c/curves.csv"

# nothing is overwritten, and this is known before any work
before=$(ls -l --time-style=full-iso "$work/a/b" 2>/dev/null || ls -l "$work/a/b")
run transfer --maps l2 --envs GridWorld-dense --seeds 100000 --out "$work/a/b"
expect_refusal 2 "--out" "$work/a/b" "already"
expect "untouched" test "$before" = "$(ls -l --time-style=full-iso "$work/a/b" 2>/dev/null || ls -l "$work/a/b")"
mkdir run && touch run/run.db
run transfer --maps l2 --envs GridWorld-dense --seeds 100000 --out run
expect_refusal 2 "there is a run in 'run' already"
touch plain
run transfer --maps l2 --envs GridWorld-dense --seeds 100000 --out plain
expect_refusal 2 "plain"
run transfer --maps l2 --envs GridWorld-dense --seeds 100000 --out plain/below
expect_refusal 2 "plain"
run transfer --maps l2 --envs GridWorld-dense --seeds 100000 --out /proc/absent
expect_refusal 2 "/proc/absent"
if [ "$(id -u)" -ne 0 ]; then
  mkdir locked && chmod a-w locked
  run transfer --maps l2 --envs GridWorld-dense --seeds 100000 --out locked
  expect_refusal 1 "locked"
fi
# an old folder with other things in it will do
mkdir mine && touch mine/notes.txt
transfer --maps l2 --seeds 1 --out mine/ --quiet
expect_code 0
expect "the table beside the notes" test -s mine/table.csv -a -e mine/notes.txt

# without gnuplot there are tables, and a word about the figures
PATH=/nowhere run transfer --maps l2 --envs GridWorld-small --seeds 1 --out bare "${short[@]}"
expect_code 0
expect_err "no figures"
expect "the table" test -s bare/table.csv
expect "no picture" test ! -e bare/transfer.svg

# ---------------------------------------------------------------------------------------------
# q and eta tuned, budgets of tuning

tuned=(--maps "tsallis:tuned-q-eta,l2:tuned-eta" --envs GridWorld-small --seeds 2 --controls none "${short[@]}")
run transfer "${tuned[@]}" --tune-seeds 2 --json
expect_code 0
expect "eta of both rows" grep -qE '"eta":\[\[[0-9.]+\],\[[0-9.]+\]\]' "$out"
expect "q of one row" grep -qE '"q":\[\[[0-9.]+\],\[null\]\]' "$out"
run transfer "${tuned[@]}" --tune-budget 73728 --out budget # 72 runs
expect_code 0
expect "what was chosen" grep -qE '^tsallis:tuned-q-eta: GridWorld-small q [0-9.]+, eta [0-9.]+$' "$out"
expect "what tuning may take" grep -q "successive halving on seeds of its own, at most 73.7 k for each map" <(tr '\n' ' ' <"$out")
expect "in the table too" grep -qE '^tsallis:tuned-q-eta,.*,[0-9.]+$' budget/table.csv
run transfer "${tuned[@]}" --tune-budget 73728 --out budget-cut --max-seconds 0.02 --quiet
run transfer --resume budget-cut --quiet
expect_code 0
expect "a budget resumes to the same numbers" cmp -s <(grep -v '^#' budget/table.csv) <(grep -v '^#' budget-cut/table.csv)
run transfer --resume budget --tune-budget 1e6
expect_refusal 2 "--tune-budget" "fixed"
run transfer "${tuned[@]}" --tune-budget 35839
expect_refusal 2 "--tune-budget" "expected at least 35840 steps"
run transfer --maps l2:tuned-q-eta --envs GridWorld-small
expect_refusal 2 "l2:tuned-q-eta"
run transfer --maps l2 --envs GridWorld-small --controls cheap --tune-budget 1e6
expect_refusal 2 "--tune-budget" "no row is tuned"
# a file in a folder with a long name; its own eta is not what a tuned row trains with
long=$(printf 'x%.0s' {1..60})
mkdir "$long" && cp eta.json "$long"
run transfer --maps "$long/eta.json:tuned-eta" --envs GridWorld-small --seeds 2 --controls none --tune-seeds 1 "${short[@]}" --json
expect_code 0
expect_no_err
run transfer --maps "$(printf 'y%.0s' {1..512}):tuned-eta" --envs GridWorld-small
expect_refusal 2 "expected fewer than 512"
# a learned map brings the steps of its search: here 3 generations of 40 runs
cat >card.json <<'END'
{"format": "mirrormap/1", "kind": "piecewise", "psi": [1, 1, 1], "meta": {"generation": 2, "evaluations": 80,
  "settings": {"steps": 1024}, "search": {"population": 40, "generations": 3, "seeds_per_member": 1, "schedule": "-"}}}
END
card=(--maps "card.json,l2:tuned-eta" --envs GridWorld-small --seeds 2 --controls none "${short[@]}")
run transfer "${card[@]}"
expect_code 0
expect_err "each tuned control has 123 k steps in each environment, as many as the search of card"
run transfer "${card[@]}" --tune-seeds 1
expect_code 0
expect_out "tuning took 9.22 k steps (1 runs for each of 9 values"

# ---------------------------------------------------------------------------------------------
# stopped, killed, gone on with

numbers() { grep -v '^# time' "$1/table.csv" && grep -v '^# time' "$1/runs.csv"; }
steps=6144 epochs=16
"$program" --version | grep -q sanitizers && steps=1024 epochs=4 # each takes ten times as long there
slow=(--maps random:1 --envs "CartPole-v1,GridWorld-small" --seeds 3 --controls full --tune-seeds 2
  --set "steps=$steps" --set "epochs=$epochs" --set envs=4 --set unroll=32)
run transfer "${slow[@]}" --out calm --quiet
expect_code 0
run transfer "${slow[@]}" --threads 1 --out late --max-seconds 0.5 --json # still tuning eta
expect_code 0
expect_err "resume with 'transfer --resume late'"
expect_out '{"run":"late","state":"stopped","runs":60,"runs_done":0}'
expect_not "no table yet" test -e late/table.csv
run runs late
expect_code 0
expect_out "stopped"
"$program" transfer "${slow[@]}" --out killed --quiet >"$out" 2>"$err" </dev/null &
pid=$!
for ((i = 0; i < 100; i++)); do
  if [ -e killed/run.db ]; then break; fi
  sleep 0.1
done
sleep 0.5
kill -9 "$pid"
wait "$pid" 2>"$err"
for name in late killed; do
  run transfer --resume $name --threads 2 --quiet
  expect_code 0
  expect "$name: the same numbers" test "$(numbers calm)" = "$(numbers $name)"
done
run transfer --resume calm --json --quiet
expect_code 0
expect_json
# nothing was left to be done, which had no speed; the steps of the runs are as they were
for text in '"session_env_steps":0,"env_steps_per_second":null,' '"threads":null'; do
  expect_out "$text"
done
expect_not "steps" grep -q '"env_steps":0,' "$out"
expect "no speed in the tables" grep -q '^# time: nothing was trained in the last session$' calm/table.csv
run export calm --jsonl
expect_code 0
expect "a batch for each eta, for each q and eta, and each cell" test "$(grep -c '"table":"batch"' "$out")" -eq $((4 * 9 + 2 * 35 + 2 * 10))
run transfer --maps l2 --envs CartPole-v1 --seeds 1 --controls none --set steps=512 --quiet
expect_code 0
expect "networks are kept" test -s runs/transfer-CartPole-v1-1/run.db
# runs without a value fail the command, also when they were stored before
broken=(--set steps=5120 --set lr=1000 --set eta=1000000 --set max_grad_norm=0 --set value_coef=1000000 --set activation=relu)
run transfer --maps negentropy --envs CartPole-v1 --controls none --seeds 2 "${broken[@]}" --out broken --quiet
expect_code 1
run transfer --resume broken --quiet
expect_refusal 1 "it broke down when it was trained before"
run transfer --maps l2 --resume calm
expect_refusal 2 "--maps" "fixed"
run transfer --resume calm --set eta=1
expect_refusal 2 "--set" "fixed"
run transfer --resume nowhere
expect_refusal 2 "nowhere"
run train --resume calm
expect_refusal 2 "a run of 'transfer', not of 'train'"
run transfer --maps l2 --envs GridWorld-small --max-seconds 1
expect_refusal 2 "--max-seconds" "--out"

# ---------------------------------------------------------------------------------------------
# bad usage

run transfer --maps l2
expect_refusal 2 "'--envs' is required"
run transfer --envs GridWorld-small
expect_refusal 2 "'--maps' is required"
transfer --maps l2,,negentropy
expect_refusal 2 "--maps" "entry 2"
transfer --maps l2,
expect_refusal 2 "--maps" "entry 2"
run transfer --maps l2 --envs ,GridWorld-small
expect_refusal 2 "--envs" "entry 1"
transfer --maps l2,negentrpy
expect_refusal 2 "negentrpy" "did you mean 'negentropy'"
transfer --maps l2,absent.json
expect_refusal 2 "absent.json"
run transfer --maps l2 --envs GridWorld-small,GridWorld-dens
expect_refusal 2 "GridWorld-dens" "did you mean 'GridWorld-dense'"
transfer --maps l2 --controls some
expect_refusal 2 "--controls" "some"
transfer --maps l2 --seeds 0
expect_refusal 2 "--seeds"
transfer --maps l2 --seeds 2 --seed 18446744073709551615
expect_refusal 2 "--seed"
transfer --maps l2 --set stepz=4
expect_refusal 2 "stepz" "did you mean 'steps'"
run transfer --maps l2 --envs GridWorld-small --set steps=100 --out never
expect_refusal 2 "steps = 100"
expect "no folder is left behind" test ! -e never
transfer --maps l2 --backend cuda
expect_refusal 1 "cuda" "backend 'cuda'"
transfer --maps l2 stray
expect_refusal 2 "stray"

# ---------------------------------------------------------------------------------------------
# interruption

last="mirrormap transfer ... and SIGINT"
"$program" transfer --maps l2,random:1 --envs GridWorld-dense,GridWorld-all --seeds 100000 --out gone --json --quiet \
  >"$out" 2>"$err" </dev/null &
interrupt $! INT
expect_refusal 130 "interrupted after" "resume with 'transfer --resume gone'"
expect "what was done is kept" test -s gone/run.db

# a cell with runs that finished no episode has no mean; such a run loses against every finite one
run transfer --maps l2 --envs Acrobot-v1 --seeds 3 --set steps=1024 --out unfinished --json
expect_code 0
expect_out '"mean":[[null],[null]]'
expect_out '"unfinished":[[3],[3]]'
expect_out '"finals":[[[null,null,null]],'
expect_out '"wins":[[0.5],[0.5]]'
expect "empty fields in runs.csv" grep -qE '^l2,Acrobot-v1,0,$' unfinished/runs.csv
expect "empty fields in table.csv" grep -qE '^l2,Acrobot-v1,0,,,,' unfinished/table.csv
run transfer --maps l2 --envs Acrobot-v1 --seeds 3 --set steps=1024
expect_out 'l2 on Acrobot-v1: 3 of 3 runs have no return, so there is no mean'
expect_not "nan in the table" grep -q nan "$out"

finish
