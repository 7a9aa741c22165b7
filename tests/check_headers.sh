#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Headers stand alone. `host`: every public header, and every header of src/ marked [host/device]
# in its first lines, compiles by itself (included twice, so the guards are tested too) with the first
# compiler present: the public ones as C17 and as C++17, the marked ones as C17. With every compiler
# present all of them compile together in both languages, in order and in reverse, so that of two
# headers each comes first once. `cuda`: the marked ones compile with nvcc, together in the same two
# ways, and once more with every function made external, so that device code is really generated for
# each and a call to a host-only function is an error.
# usage: check_headers.sh SOURCE_DIR host|cuda RANDOM123_DIR GENERATED_DIR [NVCC]
set -euo pipefail
cd "$1"
mode=$2 random123=$3 generated=$4 nvcc=${5:-none}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mapfile -t public < <(find include -name '*.h' | sort | sed 's|^include/||')
mapfile -t marked < <(find src -name '*.h' -o -name '*.cuh' | sort | while read -r header; do
  if head -n 12 "$header" | grep -qF '[host/device]'; then echo "${header#src/}"; fi
done)
flags=(-Iinclude -Isrc -I"$generated")
# naming the default folder again would break the order of the system headers
[ "$random123" = /usr/include ] || flags+=(-isystem "$random123")
# integer constants are enum members, C's way: arithmetic of doubles with them is no mistake
warn=(-Wall -Wextra -Wpedantic -Wconversion -Wno-enum-float-conversion -Wshadow -Werror)
warn+=(-ffp-contract=off -fsyntax-only)
checked=0 failed=0 before=

try() { # LABEL.ENDING WHAT "HEADERS" COMMAND...: compiles a file that includes only these, after $before
  local label=$1 what=$2 headers=$3 file header
  shift 3
  file=$work/check.${label##*.}
  { # twice over
    printf '%s\n' "$before"
    for header in $headers $headers; do printf '#include "%s"\n' "$header"; done
  } >"$file"
  checked=$((checked + 1))
  if ! "$@" "$file" >"$work/log" 2>&1; then
    failed=$((failed + 1))
    printf 'FAILED %s as %s: %s\n' "$what" "$label" "$*"
    sed 's/^/    /' "$work/log"
  fi
}

reversed() {
  printf '%s\n' "$@" | tac | tr '\n' ' '
}

if [ "$mode" = host ]; then
  first=yes
  for cc in gcc clang; do
    if ! command -v "$cc" >/dev/null; then echo "note: $cc not found, not checked with it"; continue; fi
    c=("$cc" -std=c17 -Wstrict-prototypes "${warn[@]}" "${flags[@]}")
    cxx=("${cc/gcc/g}++" -std=c++17 "${warn[@]}" "${flags[@]}")
    if [ $first = yes ]; then
      for header in "${public[@]}" "${marked[@]}"; do try "$cc.c" "$header" "$header" "${c[@]}"; done
      for header in "${public[@]}"; do try "$cc.cc" "$header" "$header" "${cxx[@]}"; done
    fi
    first=no
    # where they meet, a short name of one may be a local of another
    for headers in "${public[*]} ${marked[*]}" "$(reversed "${public[@]}" "${marked[@]}")"; do
      try "$cc.c" "all headers" "$headers" "${c[@]}" -Wno-shadow
      try "$cc.cc" "all headers" "$headers" "${cxx[@]}" -Wno-shadow
    done
  done
else
  if [ ! -x "$nvcc" ]; then echo "skipped: no CUDA compiler: $nvcc"; exit 77; fi
  if [ ${#marked[@]} -eq 0 ]; then echo "skipped: no header is marked [host/device]"; exit 77; fi
  cuda=("$nvcc" -std=c++17 -arch=sm_80 --fmad=false -Werror cross-execution-space-call)
  cuda+=(-ptx -o "$work/check.ptx" "${flags[@]}")
  system=$(grep -rhoE '^ *# *include +<[a-z]+\.h>' src --include='*.h' --include='*.inc' | sort -u || true)
  for headers in "${marked[*]}" "$(reversed "${marked[@]}")"; do
    try nvcc.cu "all headers" "$headers" "${cuda[@]}"
  done
  before=$(printf '%s\n#include <Random123/philox.h>\n#define static\n#define inline' "$system")
  try nvcc-device.cu "all functions" "${marked[*]}" "${cuda[@]}" --keep-device-functions -diag-suppress 2473
fi
echo "headers: ${#public[@]} public, ${#marked[@]} host/device; $checked compilations, $failed failed"
[ "$failed" -eq 0 ] && [ "$checked" -gt 0 ]
