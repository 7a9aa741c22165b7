#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which shaping of fitness finds the Grid-World map with the better mean: pair ranks (the paper's),
# ranks, or raw returns. Three searches each, four times as long as gridworld-quick; every map on 256
# tasks that no search has seen, beside l2 and negentropy at six step sizes.
# usage: run.sh PROGRAM FOLDER [OPTION..]   (options of `learn` and `transfer`, as --threads 8)
set -eu
program=$1 folder=$2
shift 2
mkdir -p "$folder"
maps=
for seed in 1 2 3; do
  for shaping in pair rank raw; do
    out=$folder/$shaping-$seed
    [ -e "$out.json" ] || {
      "$program" learn --env GridWorld-all --preset gridworld-quick --generations 256 \
        --set shaping=$shaping --set validation_every=32 --set validation_tasks=256 --seed $seed \
        --backend cpu --quiet --out "$out" "$@"
      cp "$out/best.json" "$out.json"
    }
    maps=$maps,$out.json
  done
done
table() { # NAME MAPS OPTION..
  name=$1 list=$2
  shift 2
  "$program" transfer --maps "$list" --envs GridWorld-all --controls none --seeds 256 --seed 1000000 \
    --backend cpu --quiet --out "$folder/$name" "$@"
}
table learned "${maps#,},l2,negentropy" "$@"
for eta in 0.025 0.05 0.2 0.4 0.8; do
  table "eta-$eta" l2,negentropy --set eta=$eta "$@"
done
{
  sed -n '/^# time/d; s|"/[^"]*/|"|g; /^#/p' "$folder/learned/runs.csv"
  echo eta,map,env,seed,final
  for name in learned eta-0.025 eta-0.05 eta-0.2 eta-0.4 eta-0.8; do
    case $name in learned) eta=0.1 ;; *) eta=${name#eta-} ;; esac
    grep -v -e '^#' -e '^map,' "$folder/$name/runs.csv" | sed "s/^/$eta,/"
  done
} >"$folder/runs.csv"
