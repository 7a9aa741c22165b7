#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The landscape of Tsallis' q and the step size eta on one environment: 8 x 7 cells, 32 seeds each.
# usage: run.sh PROGRAM FOLDER ENV TARGET
# A study for each eta goes to FOLDER/ENV-TARGET/eta-ETA; all runs end up in FOLDER/ENV-TARGET.csv.
# Stopped by Ctrl-C, it goes on when it is called again.
set -eu
program=$1 folder=$2 env=$3 target=$4
all=$folder/$env-$target
for eta in 0.1 0.2 0.45 0.9 1.8 3.6 8; do
  out=$all/eta-$eta
  [ ! -e "$out/runs.csv" ] || continue
  if [ -e "$out/run.db" ]; then
    "$program" transfer --resume "$out" --backend cuda
  else
    "$program" transfer \
      --maps tsallis:1.1,tsallis:1.25,tsallis:1.5,tsallis:2,tsallis:2.5,tsallis:3,tsallis:4,tsallis:6 \
      --envs "$env" --controls none --seeds 32 --seed 30000 --set center=on --set "target=$target" \
      --set "eta=$eta" --backend cuda --out "$out"
  fi
done
# the settings of the first study stand for all: they differ in eta alone
{
  sed -n '/^# time/d; s|"/[^"]*/|"|g; /^#/p' "$all/eta-0.1/runs.csv"
  echo eta,map,env,seed,final
  for eta in 0.1 0.2 0.45 0.9 1.8 3.6 8; do
    grep '^tsallis' "$all/eta-$eta/runs.csv" | sed "s/^/$eta,/"
  done
} >"$all.csv"
