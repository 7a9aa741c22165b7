#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two builds of the program give the same numbers: small runs of all commands with both, then every
# JSON, table, export, map file and figure compared byte by byte, without what a clock, a path or a
# build's name says. For changes that must not change results: build the tree before and after.
# usage: same_numbers.sh OLD_PROGRAM NEW_PROGRAM SOURCE_DIR   (exit 1: something differs; with KEEP=1
# in the environment the outputs stay below TMPDIR)
set -euo pipefail
[ $# -eq 3 ] || { echo "usage: same_numbers.sh OLD_PROGRAM NEW_PROGRAM SOURCE_DIR" >&2; exit 2; }
old=$(realpath "$1") new=$(realpath "$2")
MIRRORMAP_DATA=$(realpath "$3")
export MIRRORMAP_DATA LC_ALL=C TERM=dumb NO_COLOR=1 CUDA_VISIBLE_DEVICES=
work=$(mktemp -d)
[ -n "${KEEP-}" ] || trap 'rm -rf "$work"' EXIT

net=(--set steps=2048 --set epochs=2)
grid=(--set steps=2048 --set envs=8 --set unroll=16)
gauss=(--set steps=512 --set envs=2 --set unroll=32 --set minibatches=4 --set epochs=1 --set hidden=16)

# Every line is one command; what it prints becomes a file. Run folders have names of their own.
commands() {
  cat <<EOF
map show l2
map show acrobot --json
map eval --map tsallis:1.5 --p 0.1,0.5,1 --json
map eval --map random:3 --x -1,0,0.5 --json
map project --map random-neural:1 --scores 1,2,3 --json
map project --map acrobot --scores 1,2,3 --json
map bregman --map tsallis:3 --p 0.2,0.3,0.5 --q 0.3,0.3,0.4 --json
map check $MIRRORMAP_DATA/maps/acrobot.json --json
map new piecewise --from l2 --n 20 --out l2p20.json
map compare l2 negentropy tsallis:3 --json
map plot acrobot --out acrobot.svg
env list --json
env show CartPole-v1
env show GridWorld-sparse
env record Acrobot-v1 --steps 40 --out acrobot-trace.json
env replay Acrobot-v1 acrobot-trace.json --json
env record Hopper --steps 20 --out hopper-trace.json
train --env GridWorld-small --map l2 --seeds 3 --out pmd ${grid[*]} --json
train --env CartPole-v1 --map tsallis:3 --seeds 2 --out cart ${net[*]} --json
train --env Asterix-MinAtar --map acrobot --seeds 1 --out asterix --set steps=65536 --set epochs=1 --json
train --env CartPole-v1 --algo ppo --seeds 2 --out ppo ${net[*]} --json
train --env Hopper --map l2 --seeds 2 --out hopper ${gauss[*]} --json
train --env Ant --map negentropy --seeds 1 --out ant ${gauss[*]} --json
train --env Pendulum-v1 --map random-neural:1 --seeds 1 --out pendulum ${gauss[*]} --json
eval --policy cart --episodes 4 --json
eval --policy hopper --episodes 2 --json
learn --env GridWorld-small --generations 3 --population 4 --set validation_tasks=2 --out learn-grid ${grid[*]} --json
learn --env CartPole-v1 --generations 2 --population 4 --set schedule=- --set validation_tasks=2 --out learn-cart ${net[*]} --json
learn --env CartPole-v1,Acrobot-v1 --generations 1 --population 4 --set schedule=- --set validation_tasks=2 --out learn-two --set steps=4096 --set epochs=1 --json
transfer --maps tsallis:3,random:1 --envs CartPole-v1,Acrobot-v1 --seeds 3 --out table ${net[*]} --json
transfer --maps l2 --envs GridWorld-small --seeds 4 --controls full --out full ${grid[*]} --json
tune --env GridWorld-small --map l2 --space space.yaml --seeds 2 --validate 2 --out tune ${grid[*]} --json
theory --env GridWorld-small --map l2 ${grid[*]} --json
reproduce phi --scale smoke --out phi --json
reproduce control --scale smoke --seeds 2 --set steps=2048 --set hidden=8 --set epochs=1 --out control --json
export learn-grid --jsonl
export learn-cart --jsonl
export learn-two --csv
export learn-grid --map learn-grid.json
export cart --jsonl
export hopper --jsonl
export table --jsonl
export tune --jsonl
runs . --json
report learn-grid table cart tune --out report
EOF
}

# Without what differs between two runs of the same program.
plain() {
  sed -E 's/"([a-z_]*(seconds|per_second|seconds_jobs|seconds_validation|started|finished|ended|updated|heard|time|date|rollout|update|value)|pid|process|host|version|build|commit)": ?("[^"]*"|[-0-9.e+]+|null)/"\1":0/g
    s/^# (mirrormap|time).*//; s/^speed.*//; s/20[0-9]{2}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+Z?( UTC)?/DATE/g
    s/mirrormap [0-9.]+ \([^)]*\)/BUILD/g; s/[0-9.]+ (ms|s|([kMG] )?steps\/s)\b/CLOCK/g'
}

perform() { # PROGRAM FOLDER
  local program=$1 n=0 line
  mkdir -p "$2" && cd "$2"
  printf 'parameters:\n  eta: {log: [0.05, 0.4]}\n' >space.yaml
  while read -r line; do
    n=$((n + 1))
    # shellcheck disable=SC2086 # words of a line
    "$program" $line >"$(printf 'out-%02d.txt' $n)" 2>"$(printf 'err-%02d.txt' $n)" </dev/null ||
      echo "exit $?" >>"$(printf 'out-%02d.txt' $n)"
  done < <(commands)
}
(perform "$old" "$work/old")
(perform "$new" "$work/new")

different=0 compared=0
cd "$work/old"
while IFS= read -r -d '' file; do
  case $file in *.pdf | *.db | *.db-* | */err-*) continue ;; esac
  compared=$((compared + 1))
  if ! cmp -s <(plain <"$file") <(plain <"$work/new/$file" 2>/dev/null); then
    different=$((different + 1))
    echo "differs: $file"
    diff <(plain <"$file") <(plain <"$work/new/$file" 2>/dev/null) | cut -c1-300 | head -n 6 || true
  fi
done < <(find . -type f -print0 | sort -z)
failures=$(grep -l '^exit' out-*.txt || true)
echo "same numbers: $compared files, $different differ"
[ -z "$failures" ] || echo "commands that failed: $failures"
[ "$different" -eq 0 ] && [ -z "$failures" ]
