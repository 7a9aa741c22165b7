#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Final returns on the rows of docs/calibration.md, 7 seeds (classic control) and 2 (MinAtar) each.
# usage: run.sh PROGRAM FOLDER >FILE   (runs go to FOLDER)
set -eu
program=$1 folder=$2
row() { # ENV MAP TARGET SEEDS
  printf '%s %s %s ' "$1" "$2" "$3"
  "$program" train --env "$1" --map "$2" --set "target=$3" --seeds "$4" --seed 1000 --backend cpu \
    --json --quiet --out "$folder/$1-$2-$3" | jq -c .finals
}
for target in paper code; do
  row CartPole-v1 negentropy $target 7
  row Acrobot-v1 negentropy $target 7
done
row CartPole-v1 l2 paper 7
row Acrobot-v1 l2 paper 7
for game in Asterix Freeway SpaceInvaders; do
  for map in negentropy l2; do
    row $game-MinAtar $map paper 2
  done
done
