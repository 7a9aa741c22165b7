#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the maps of the searches are held against, on their 100 fresh seeds: Tsallis with q and eta
# tuned (the best cell of ../landscape), l2 and negentropy with eta tuned, and both at the preset's
# eta. l2 takes the best eta of the landscape's row q = 2; negentropy is tuned here as the landscapes
# were made, 32 seeds for each eta.
# usage: controls.sh PROGRAM FOLDER ENV [ETAS]   (ETAS of negentropy; 0.1,0.2,0.45,.. without)
# Runs go to FOLDER/fresh/controls-ENV.csv, the tuning of negentropy to FOLDER/fresh/tune-ENV.csv.
set -eu
program=$1 folder=$2 env=$3 etas=${4:-0.1,0.2,0.45,0.9,1.8,3.6,8,16,32,64}
out=$folder/fresh/controls-$env landscape=$(dirname "$0")/../landscape/$env-paper.csv
best() { # rows "ETA,MAP,ENV,SEED,FINAL" to "ETA MAP" of the highest mean
  awk -F, '{ cell = $1 " " $2; sum[cell] += $5; runs[cell]++ }
    END { for (cell in sum) print sum[cell] / runs[cell], cell }' | sort -g | tail -n 1 | cut -d' ' -f2-
}
mkdir -p "$out"
cat >"$out/etas.yaml" <<END
method: grid
parameters:
  eta: {choice: [$etas]}
END
# one grid and one table, so that all their runs share the device
[ -e "$out/tune/trials.csv" ] || "$program" tune --env "$env" --map negentropy --space "$out/etas.yaml" \
  --seeds 32 --prune off --validate 0 --seed 30000 --set center=on --backend cuda --quiet --out "$out/tune"
sed '/^# time/d; s|"/[^"]*/|"|g' "$out/tune/trials.csv" >"$folder/fresh/tune-$env.csv"
# columns: trial, state, generation, eta, score, sem, seeds, mean
tuned=$(grep '^[0-9]' "$out/tune/trials.csv" | sort -t, -k8,8g | tail -n 1 | cut -d, -f4)
{
  printf 'tsallis:tuned-q-eta %s\n' "$(grep '^[0-9]' "$landscape" | best)"
  printf 'l2:tuned-eta %s\n' "$(grep '^[0-9.]*,tsallis:2,' "$landscape" | best)"
  printf 'negentropy:tuned-eta %s negentropy\nl2 0.9 l2\nnegentropy 0.9 negentropy\n' "$tuned"
} >"$out/rows"
maps=
while read -r name eta map; do
  file=$out/$(echo "$name" | tr : -).json
  "$program" map new "$map" --eta "$eta" --force --quiet --out "$file"
  maps=$maps${maps:+,}$file
done <"$out/rows"
[ -e "$out/table/runs.csv" ] || "$program" transfer --maps "$maps" --envs "$env" --controls none \
  --seeds 100 --seed 40000 --set center=on --backend cuda --quiet --out "$out/table"
{
  sed -n '/^# time/d; s|"/[^"]*/|"|g; /^#/p' "$out/table/runs.csv"
  echo control,eta,map,env,seed,final
  while read -r name eta map; do
    # columns: map, env, seed, final
    grep "^$(echo "$name" | tr : -)," "$out/table/runs.csv" | cut -d, -f2- | sed "s/^/$name,$eta,$map,/"
  done <"$out/rows"
} >"$out.csv"
