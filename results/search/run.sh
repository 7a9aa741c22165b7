#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One search for a map that wins: a piecewise map of 20 steps that starts at l2, every candidate
# trained to the end, target=paper.
# usage: run.sh PROGRAM FOLDER ENV SEED
# The run goes to FOLDER/ENV-SEED. Stopped by Ctrl-C or a crash, it goes on when it is called again.
set -eu
program=$1 folder=$2 env=$3 seed=$4
out=$folder/$env-$seed
case $env in
  *MinAtar) size="--generations 20 --set schedule=- --set steps=10000000 --set validation_every=5" ;;
  # the returns of short runs scatter: four seeds a candidate
  *) size="--generations 60 --set seeds_per_member=4 --set validation_every=10 --set validation_tasks=32" ;;
esac
mkdir -p "$folder"
[ -e "$folder/start.json" ] || "$program" map new piecewise --from l2 --n 20 --out "$folder/start.json"
if [ -e "$out/run.db" ]; then
  "$program" learn --resume "$out" --backend cuda
else
  # shellcheck disable=SC2086 # size is a list of words
  "$program" learn --env "$env" --init "$folder/start.json" --set n=20 --set sigma=0.5 --set center=on \
    --population 128 $size --seed "$seed" --backend cuda --out "$out"
fi
