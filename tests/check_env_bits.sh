#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The environments give the same bits however they are compiled: 10^5 random transitions of each,
# built as C17 and as C++17 with each compiler present, at two optimisation levels and, on x86-64,
# with and without fused multiply-add instructions.
# usage: check_env_bits.sh SOURCE_DIR RANDOM123_DIR
set -euo pipefail
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

flags=(-Iinclude -Isrc -ffp-contract=off -fno-math-errno -fno-trapping-math)
# naming the default folder again would break the order of the system headers
[ "$2" = /usr/include ] || flags+=(-isystem "$2")
fast=(-O3)
if [ "$(uname -m)" = x86_64 ] && grep -qw fma /proc/cpuinfo; then fast+=(-march=x86-64-v3); fi

builds=0 failed=0
build() { # LABEL COMMAND...: compiles and runs, and compares with what the first build printed
  local label=$1
  shift
  "$@" "${flags[@]}" tests/env_bits/env_bits.c -o "$work/play" -lm
  "$work/play" >"$work/new"
  if [ "$builds" -eq 0 ]; then mv "$work/new" "$work/first"; first=$label
  elif ! diff "$work/first" "$work/new"; then
    echo "FAILED: $label differs from $first"
    failed=$((failed + 1))
  fi
  builds=$((builds + 1))
}

for cc in gcc clang; do
  if ! command -v "$cc" >/dev/null; then echo "note: $cc not found, not checked with it"; continue; fi
  build "$cc -O1" "$cc" -std=c17 -O1
  build "$cc ${fast[*]}" "$cc" -std=c17 "${fast[@]}"
  build "${cc/gcc/g}++ ${fast[*]}" "${cc/gcc/g}++" -x c++ -std=c++17 "${fast[@]}"
done
if [ "$builds" -lt 2 ]; then echo "skipped: nothing to compare"; exit 77; fi
cat "$work/first"
echo "env bits: $builds builds, $failed differ"
[ "$failed" -eq 0 ]
