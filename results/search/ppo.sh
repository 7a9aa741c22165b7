#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# PPO at its preset on the first 32 of the fresh seeds, on CPU.
# usage: ppo.sh PROGRAM FOLDER ENV [OPTION..]   (runs go to FOLDER/fresh/ppo-ENV.csv)
# Options are of `train`. Stopped, it resumes when it is called again.
set -eu
program=$1 env=$3 out=$2/fresh/ppo-$3
shift 3
if [ -e "$out/run.db" ]; then
  "$program" train --resume "$out" --backend cpu "$@"
else
  "$program" train --env "$env" --algo ppo --seeds 32 --seed 40000 --backend cpu --out "$out" "$@"
fi
{
  "$program" --version | sed "s/^/# /; s/$/: train --algo ppo/"
  "$program" export "$out" --csv
} >"$out.csv"
