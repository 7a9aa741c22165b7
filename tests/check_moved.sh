#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A build folder that was moved or copied is refused with one line that says what to do.
# usage: check_moved.sh SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/scripts" "$work/build"
cp "$1/scripts/build" "$work/scripts/"
echo "CMAKE_CACHEFILE_DIR:INTERNAL=/the/old/place/build" >"$work/build/CMakeCache.txt"
if bash "$work/scripts/build" release 1 all 2>"$work/err"; then
  echo "moved: the build began" >&2
  exit 1
fi
if [ "$(wc -l <"$work/err")" -ne 1 ] || ! grep -q "/the/old/place/build.*make clean" "$work/err"; then
  cat "$work/err" >&2
  exit 1
fi
