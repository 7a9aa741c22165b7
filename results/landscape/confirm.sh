#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The best cell of each landscape in FOLDER on 100 seeds that no landscape has used; they are those
# of ../closed-forms, so that both can be compared seed by seed.
# usage: confirm.sh PROGRAM FOLDER   (runs go to FOLDER/best/ENV-TARGET.csv)
set -eu
program=$1 folder=$2
mkdir -p "$folder/best"
for landscape in "$folder"/*.csv; do
  name=$(basename "$landscape" .csv)
  env=${name%-*} target=${name##*-} out=$folder/best/$name
  [ ! -e "$out.csv" ] || continue
  # shellcheck disable=SC2046 # two words: eta and map of the highest mean
  set -- $(awk -F, '/^[0-9]/ { cell = $1 " " $2; sum[cell] += $5; runs[cell]++ }
    END { for (cell in sum) print sum[cell] / runs[cell], cell }' "$landscape" | sort -g | tail -n 1 | cut -d' ' -f2-)
  "$program" transfer --maps "$2" --envs "$env" --controls none --seeds 100 --seed 20000 --set center=on \
    --set "target=$target" --set "eta=$1" --backend cuda --out "$out"
  {
    sed -n '/^# time/d; s|"/[^"]*/|"|g; /^#/p' "$out/runs.csv"
    echo eta,map,env,seed,final
    grep '^tsallis' "$out/runs.csv" | sed "s/^/$1,/"
  } >"$out.csv"
done
