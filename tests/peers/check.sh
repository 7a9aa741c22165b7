#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ours against others' work, which is installed by pip into virtual environments of its own:
#
#   cma      evaluations of our cma-es and of pycma's
#   cmaes    those of our cma-es:lr-adapt and of the package cmaes
#   rliable  interquartile means, performance profiles and their intervals
#   entmax   projections of Tsallis' maps. It needs PyTorch, whose wheels for x86-64 on PyPI bring
#            2.5 GB of CUDA libraries: Debian's python3-torch does, or one that is in VENV/entmax
#
# Exit code 77, and why, where a peer cannot be had.
#
# usage: tests/peers/check.sh BUILD_FOLDER VENV_FOLDER [cma|cmaes|rliable|entmax]; without the last: all
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -eq 2 ]; then
  end=0
  for peer in cma cmaes rliable entmax; do
    code=0
    "$0" "$1" "$2" "$peer" || code=$?
    [ "$code" -eq 0 ] || [ "$end" -eq 1 ] || end=$((code == 77 ? 77 : 1))
  done
  exit "$end"
fi
build=$1 venv=$2/$3
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

skip() {
  echo "skipped: peers: $1"
  exit 77
}

# An environment in which `python -c TEST` works, with these packages.
prepare() { # TEST PACKAGE...
  local test=$1
  shift
  mkdir -p "$(dirname "$venv")"
  ! "$venv/bin/python" -c "$test" 2>/dev/null || return 0
  rm -rf "$venv"
  python3 -m venv "$venv" >"$venv.log" 2>&1 || skip "python3 -m venv does not work here, see $venv.log"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >"$venv.log" 2>&1 ||
    skip "pip cannot install $*, see $venv.log"
}

race() { # TEST NAME PACKAGE
  prepare "$1" "$3" numpy
  cc -std=gnu17 -O2 -I"$here/../../include" "$here/es_race.c" -o "$build/es_race" -L"$build" -lmirrormap -lm
  LD_LIBRARY_PATH=$build exec "$venv/bin/python" -W ignore "$here/compare_cma.py" "$build/es_race" "$2"
}

# A Python with PyTorch and entmax: the environment's, or the system's with entmax beside it.
find_torch() {
  local python
  for python in "$venv/bin/python" /usr/bin/python3 python3; do
    "$python" -c 'import numpy, torch' 2>/dev/null || continue
    echo "$python"
    return
  done
}

case $3 in
  cma) race 'import cma' pycma 'cma>=4.4' ;;
  cmaes) race 'import cmaes' cmaes 'cmaes>=0.13' ;;
  rliable)
    prepare 'import rliable.library' rliable 'pandas<3' # arch, which it builds on, does not know pandas 3
    exec "$venv/bin/python" -W ignore "$here/compare_rliable.py" "$build/mirrormap"
    ;;
  entmax)
    python=$(find_torch)
    [ -n "$python" ] || skip "entmax needs PyTorch, and no Python here has it (Debian: python3-torch)"
    if ! PYTHONPATH=$venv/packages "$python" -c 'import entmax' 2>/dev/null; then
      [ -x "$venv/bin/python" ] || prepare 'import pip' pip
      "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$venv/packages" entmax \
        >"$venv.log" 2>&1 || skip "pip cannot install entmax, see $venv.log"
    fi
    PYTHONPATH=$venv/packages exec "$python" -W ignore "$here/compare_entmax.py" "$build/mirrormap"
    ;;
  *)
    echo "unknown peer '$3': expected cma, cmaes, rliable or entmax" >&2
    exit 2
    ;;
esac
