#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The kernels compile for every kind of device that the usual build serves. A build for some of them
# only, or down to PTX (CMAKE_CUDA_ARCHITECTURES=90, 90-virtual), has one environment of each family of
# kernels compiled here for the others, whose tiles differ. So has, in any build, what newer devices
# translate where 9.0 has code of its own.
# usage: check_kernels.sh SOURCE_DIR NVCC RANDOM123_DIR GENERATED_DIR BUILT...
set -euo pipefail
cd "$1"
nvcc=$2 random123=$3 generated=$4
shift 4
built=" $* "
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ ! -x "$nvcc" ]; then echo "skipped: no CUDA compiler: $nvcc"; exit 77; fi
flags=(-std=c++17 -O3 --fmad=false --expt-relaxed-constexpr -DHAVE_CUDA=1 -Iinclude -Isrc -I"$generated")
[ "$random123" = /usr/include ] || flags+=(-isystem "$random123")
sed 's/@name@/cartpole/g' src/backend/cuda/classic/env.cu.in >"$work/classic_cartpole.cu"
sed 's/@name@/asterix/g; s/@NAME@/ASTERIX/g' src/backend/cuda/minatar/game.cu.in >"$work/minatar_asterix.cu"
checked=0 failed=0
for kernel in 80:classic_cartpole 80:gaussian 89:minatar_asterix 89:locomotion_ant \
  90a:classic_cartpole 90:classic_cartpole 90:gaussian; do
  kind=${kernel%%:*} source=$(find src/backend/cuda "$work" -name "${kernel#*:}.cu")
  if [ -z "$source" ]; then # a body's, as CMake makes it
    name=${kernel#*:locomotion_} source=$work/body.cu
    sed "s/@name@/$name/g; s/@physics@/$name/g; s/@NAME@/${name^^}/g" src/backend/cuda/locomotion/body.cu.in >"$source"
  fi
  case $built in
  *" $kind "* | *" $kind-real "*) continue ;;
  *" ${kind}a-real "*) [ "$kernel" = 90:classic_cartpole ] || continue ;;
  esac
  checked=$((checked + 1))
  if ! "$nvcc" "${flags[@]}" -arch="sm_$kind" -cubin -o "$work/cubin" "$source" >"$work/log" 2>&1; then
    failed=$((failed + 1))
    printf 'FAILED %s for %s\n' "$source" "$kind"
    sed 's/^/    /' "$work/log"
  fi
done
if [ $checked -eq 0 ]; then echo "skipped: the build has them for all kinds of devices"; exit 77; fi
echo "kernels: built for$built: $checked compilations for others, $failed failed"
[ "$failed" -eq 0 ]
