#!/bin/sh
# What the maps of the searches are held against, on their 100 fresh seeds: Tsallis with q and eta
# tuned (the best cell of ../landscape), l2 and negentropy with eta tuned, and both at the preset's
# eta. l2 takes the best eta of the landscape's row q = 2; negentropy is tuned here, 16 seeds for
# each eta.
# usage: controls.sh PROGRAM FOLDER ENV   (runs go to FOLDER/fresh/controls-ENV.csv)
set -eu
program=$1 folder=$2 env=$3
out=$folder/fresh/controls-$env landscape=$(dirname "$0")/../landscape/$env-paper.csv
etas="0.1 0.2 0.45 0.9 1.8 3.6 8"
train() { # MAP ETA SEED SEEDS OUT
  [ -e "$5/runs.csv" ] || "$program" transfer --maps "$1" --envs "$env" --controls none --seeds "$4" \
    --seed "$3" --set center=on --set "eta=$2" --backend cuda --quiet --out "$5"
}
best() { # rows "ETA,MAP,ENV,SEED,FINAL" to "ETA MAP" of the highest mean
  awk -F, '{ cell = $1 " " $2; sum[cell] += $5; runs[cell]++ }
    END { for (cell in sum) print sum[cell] / runs[cell], cell }' | sort -g | tail -n 1 | cut -d' ' -f2-
}
for eta in $etas; do
  train negentropy "$eta" 30000 16 "$out/tune-$eta"
done
tuned=$(for eta in $etas; do grep '^negentropy,' "$out/tune-$eta/runs.csv" | sed "s/^/$eta,/"; done | best)
{
  printf 'tsallis:tuned-q-eta %s\n' "$(grep '^[0-9]' "$landscape" | best)"
  printf 'l2:tuned-eta %s\n' "$(grep '^[0-9.]*,tsallis:2,' "$landscape" | best)"
  printf 'negentropy:tuned-eta %s\nl2 0.9 l2\nnegentropy 0.9 negentropy\n' "$tuned"
} >"$out/rows"
while read -r name eta map; do
  train "$map" "$eta" 40000 100 "$out/$name"
done <"$out/rows"
{
  grep '^#' "$out/negentropy/runs.csv" | grep -v '^# time'
  echo control,eta,map,env,seed,final
  while read -r name eta map; do
    grep "^$map," "$out/$name/runs.csv" | sed "s/^/$name,$eta,/"
  done <"$out/rows"
} >"$out.csv"
