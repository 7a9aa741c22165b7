#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Closed forms at the preset eta on three environments on which nothing was chosen, 48 seeds.
# usage: run.sh PROGRAM FOLDER
set -eu
"$1" transfer --maps negentropy,l2,tsallis:2.5,tsallis:3,tsallis:4 --envs MountainCar-v0,Breakout-MinAtar,Seaquest-MinAtar \
  --controls none --seeds 48 --seed 40000 --set center=on --backend cuda --out "$2"
