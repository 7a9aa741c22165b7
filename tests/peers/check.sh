#!/usr/bin/env bash
# Our cma-es against pycma (compare_cma.py), which is installed by pip into a virtual environment of
# its own. Exit code 77, and why, where that cannot be had.
#
# usage: tests/peers/check.sh BUILD_FOLDER VENV_FOLDER
set -euo pipefail
build=$1 venv=$2
here=$(cd "$(dirname "$0")" && pwd)

skip() {
  echo "skipped: peers: $1"
  exit 77
}

mkdir -p "$(dirname "$venv")"
if ! "$venv/bin/python" -c 'import cma' 2>/dev/null; then
  rm -rf "$venv"
  python3 -m venv "$venv" >"$venv.log" 2>&1 || skip "python3 -m venv does not work here, see $venv.log"
  "$venv/bin/pip" install --quiet --disable-pip-version-check 'cma>=4.4' numpy >"$venv.log" 2>&1 ||
    skip "pip cannot install cma and numpy, see $venv.log"
fi
cc -std=gnu17 -O2 -I"$here/../../include" "$here/es_race.c" -o "$build/es_race" -L"$build" -lmirrormap -lm
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
LD_LIBRARY_PATH=$build exec "$venv/bin/python" -W ignore "$here/compare_cma.py" "$build/es_race"
