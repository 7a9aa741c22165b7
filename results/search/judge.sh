#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The maps that searches ended in, ENV-SEED.json in FOLDER, on 100 seeds that no search has used.
# usage: judge.sh PROGRAM FOLDER ENV   (runs go to FOLDER/fresh/ENV.csv)
set -eu
program=$1 folder=$2 env=$3
maps=$(printf '%s\n' "$folder/$env"-[0-9]*.json | paste -sd,)
"$program" transfer --maps "$maps" --envs "$env" --controls none --seeds 100 --seed 40000 --set center=on \
  --backend cuda --out "$folder/fresh/$env"
sed '/^# time/d; s|"/[^"]*/|"|g' "$folder/fresh/$env/runs.csv" >"$folder/fresh/$env.csv"
