#!/usr/bin/env bash
# Headers stand alone. `host`: every public header, and every header of src/ marked [host/device]
# in its first lines, compiles by itself as C17 and as C++17 with each compiler present (included
# twice, so the guards are tested too). `cuda`: the marked ones compile with nvcc, alone and once more
# with every function made external, so that device code is really generated for each and a call to
# a host-only function is an error.
# usage: check_headers.sh SOURCE_DIR host|cuda RANDOM123_DIR [NVCC]
set -euo pipefail
cd "$1"
mode=$2 random123=$3 nvcc=${4:-none}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mapfile -t public < <(find include -name '*.h' | sort | sed 's|^include/||')
mapfile -t marked < <(find src -name '*.h' -o -name '*.cuh' | sort | while read -r header; do
  if head -n 12 "$header" | grep -qF '[host/device]'; then echo "${header#src/}"; fi
done)
flags=(-Iinclude -Isrc)
# naming the default folder again would break the order of the system headers
[ "$random123" = /usr/include ] || flags+=(-isystem "$random123")
# integer constants are enum members, C's way: arithmetic of doubles with them is no mistake
warn=(-Wall -Wextra -Wpedantic -Wconversion -Wno-enum-float-conversion -Wshadow -Werror)
warn+=(-ffp-contract=off -fsyntax-only)
checked=0 failed=0 before=

try() { # LABEL HEADER COMMAND...: compiles a file that only includes HEADER, after $before
  local label=$1 header=$2 file
  shift 2
  file=$work/check.${label##*.}
  printf '%s\n#include "%s"\n#include "%s"\n' "$before" "$header" "$header" >"$file"
  checked=$((checked + 1))
  if ! "$@" "$file" >"$work/log" 2>&1; then
    failed=$((failed + 1))
    printf 'FAILED %s as %s: %s\n' "$header" "$label" "$*"
    sed 's/^/    /' "$work/log"
  fi
}

if [ "$mode" = host ]; then
  for cc in gcc clang; do
    if ! command -v "$cc" >/dev/null; then echo "note: $cc not found, not checked with it"; continue; fi
    cxx=${cc/gcc/g}
    for header in "${public[@]}" "${marked[@]}"; do
      try "$cc.c" "$header" "$cc" -std=c17 -Wstrict-prototypes "${warn[@]}" "${flags[@]}"
      try "$cc.cc" "$header" "${cxx}++" -std=c++17 "${warn[@]}" "${flags[@]}"
    done
  done
else
  if [ ! -x "$nvcc" ]; then echo "skipped: no CUDA compiler: $nvcc"; exit 77; fi
  if [ ${#marked[@]} -eq 0 ]; then echo "skipped: no header is marked [host/device]"; exit 77; fi
  cuda=("$nvcc" -std=c++17 -arch=sm_80 --fmad=false -Werror cross-execution-space-call)
  system=$(grep -rhoE '^ *# *include +<[a-z]+\.h>' src --include='*.h' --include='*.inc' | sort -u || true)
  for header in "${marked[@]}"; do
    before=
    try nvcc.cu "$header" "${cuda[@]}" -ptx -o "$work/check.ptx" "${flags[@]}"
    before=$(printf '%s\n#include <Random123/philox.h>\n#define static\n#define inline' "$system")
    try nvcc-device.cu "$header" "${cuda[@]}" --keep-device-functions -diag-suppress 2473 \
      -ptx -o "$work/check.ptx" "${flags[@]}"
  done
fi
echo "headers: ${#public[@]} public, ${#marked[@]} host/device; $checked compilations, $failed failed"
[ "$failed" -eq 0 ] && [ "$checked" -gt 0 ]
