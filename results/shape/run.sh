#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Scale or shape? The maps that searches ended in (../search/ENV-SEED.json), each with its own tuned
# step size: seven values, 32 seeds each, as ../search/controls.sh tunes l2. The best is judged on
# the 100 fresh seeds of ../search/fresh. Rescaling phi^-1 acts like dividing eta, so what is left
# between these rows and l2 with tuned eta is shape.
# usage: run.sh PROGRAM FOLDER ENV [OPTION..]
# Runs go to FOLDER/ENV.csv, the tuning to FOLDER/tune-ENV.csv. Options are of `transfer` and `tune`.
set -eu
program=$1 folder=$2 env=$3
shift 3
search=$(dirname "$0")/../search
mkdir -p "$folder/$env"
cat >"$folder/$env/etas.yaml" <<'YAML'
method: grid
parameters:
  eta: {choice: [0.1, 0.2, 0.45, 0.9, 1.8, 3.6, 8]}
YAML
: >"$folder/$env/rows"
: >"$folder/$env/trials"
for file in "$search/$env"-[0-9]*.json; do
  name=$(basename "$file" .json)
  out=$folder/$env/$name
  [ -e "$out/tune/trials.csv" ] || "$program" tune --env "$env" --map "$file" --quiet \
    --space "$folder/$env/etas.yaml" --seeds 32 --prune off --validate 0 --seed 30000 \
    --set center=on --out "$out/tune" "$@"
  # columns: trial, state, generation, eta, score, sem, seeds, mean
  grep '^[0-9]' "$out/tune/trials.csv" | sed "s/^/$name,/" >>"$folder/$env/trials"
  eta=$(grep '^[0-9]' "$out/tune/trials.csv" | sort -t, -k8,8g | tail -n 1 | cut -d, -f4)
  [ -e "$out/table/runs.csv" ] || "$program" transfer --maps "$file" --envs "$env" --quiet \
    --controls none --seeds 100 --seed 40000 --set center=on --set "eta=$eta" --out "$out/table" "$@"
  grep "^$name," "$out/table/runs.csv" | sed "s/^/$eta,/" >>"$folder/$env/rows"
done
{
  sed -n '/^# time/d; s|"/[^"]*/|"|g; /^#/p' "$out/table/runs.csv"
  echo eta,map,env,seed,final
  cat "$folder/$env/rows"
} >"$folder/$env.csv"
{
  sed -n '/^# time/d; s|"/[^"]*/|"|g; /^#/p' "$out/tune/trials.csv"
  echo map,trial,state,generation,eta,score,sem,seeds,mean
  cat "$folder/$env/trials"
} >"$folder/tune-$env.csv"
