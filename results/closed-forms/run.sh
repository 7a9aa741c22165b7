#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Closed forms of the potential on the paper's five environments: 100 seeds a cell.
# usage: run.sh PROGRAM FOLDER TARGET   (TARGET: paper or code; a table in FOLDER/TARGET)
# Stopped by Ctrl-C, it goes on when it is called again.
set -eu
program=$1 out=$2/$3 target=$3
[ ! -e "$out/run.db" ] || exec "$program" transfer --resume "$out" --backend cuda
exec "$program" transfer --maps negentropy,l2,tsallis:1.5,tsallis:2.5,tsallis:3,tsallis:4 \
  --envs CartPole-v1,Acrobot-v1,Asterix-MinAtar,Freeway-MinAtar,SpaceInvaders-MinAtar \
  --controls none --seeds 100 --seed 20000 --set center=on --set "target=$target" \
  --backend cuda --out "$out"
