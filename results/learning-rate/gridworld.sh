#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Strategies on a search of ours with room to climb: Grid-World at half the paper's eta, from the
# negative entropy cut into 20 steps, 40 generations of 32 candidates, three searches each. The means
# they end with are judged on 256 tasks that no search has seen, beside the start and l2.
# usage: gridworld.sh PROGRAM FOLDER [OPTION..]   (options of `learn` and `transfer`, as --threads 8)
set -eu
program=$1 folder=$2
shift 2
mkdir -p "$folder"
maps=
for seed in 1 2 3; do
  for es in openes sep-cma-es cma-es cma-es:lr-adapt; do
    out=$folder/$es-$seed
    [ -e "$out.json" ] || {
      "$program" learn --env GridWorld-all --kind piecewise --es $es --population 32 --generations 40 \
        --set eta=0.05 --set n=20 --set sigma=0.5 --set es_lr=0.1 --set shaping=raw --set validation_every=40 \
        --set validation_tasks=8 --seed $seed --backend cpu --quiet --out "$out" "$@"
      cp "$out/mean.json" "$out.json"
    }
    maps=$maps,$out.json
  done
done
"$program" transfer --maps "${maps#,},negentropy,l2" --envs GridWorld-all --controls none --set eta=0.05 --seeds 256 \
  --seed 1000000 --backend cpu --quiet --out "$folder/table" "$@"
sed '/^# time/d; s|"/[^"]*/|"|g' "$folder/table/runs.csv" | sed "s|$folder/||g" >"$folder/gridworld.csv"
