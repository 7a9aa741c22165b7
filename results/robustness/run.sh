#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Does a learned map still win away from the settings it was learned with? A map of ../search beside
# Tsallis, l2 and negentropy at their tuned step sizes (../search/fresh/controls-ENV.csv), with one
# setting changed at a time; 64 seeds of their own.
# usage: run.sh PROGRAM FOLDER MAP SETTING.. [-- OPTION..]
# MAP is ENV-SEED, SETTING is key=value, or as-is for none. Runs go to FOLDER/MAP.csv; a row that is
# there already is not run again. Options are of `transfer`.
set -eu
program=$1 folder=$2 map=$3
shift 3
env=${map%-*}
search=$(dirname "$0")/../search
out=$folder/$map
mkdir -p "$out"
cp "$search/$map.json" "$out/learned.json"
maps=$out/learned.json
for control in tsallis:tuned-q-eta l2:tuned-eta negentropy:tuned-eta; do
  # columns: control, eta, map, env, seed, final
  row=$(grep -m 1 "^$control," "$search/fresh/controls-$env.csv" || true)
  [ -n "$row" ] || continue
  file=$out/$(echo "${control%-eta}" | tr : -).json
  "$program" map new "$(echo "$row" | cut -d, -f3)" --eta "$(echo "$row" | cut -d, -f2)" \
    --force --quiet --out "$file"
  maps=$maps,$file
done
settings=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  settings="$settings $1"
  shift
done
[ $# -eq 0 ] || shift
for setting in $settings; do
  case $setting in as-is) change= ;; *) change="--set $setting" ;; esac
  # shellcheck disable=SC2086 # no setting, or two words
  [ -e "$out/$setting/runs.csv" ] || "$program" transfer --maps "$maps" --envs "$env" --quiet \
    --controls none --seeds 64 --seed 50000 --set center=on $change --out "$out/$setting" "$@"
done
{
  for table in "$out"/*/runs.csv; do
    sed -n '/^# time/d; s|"/[^"]*/|"|g; /^#/p' "$table"
  done | awk '!seen[$0]++'
  echo setting,map,env,seed,final
  for table in "$out"/*/runs.csv; do
    grep '^[a-z]' "$table" | grep -v '^map,' | sed "s/^/$(basename "$(dirname "$table")"),/"
  done
} >"$folder/$map.csv"
