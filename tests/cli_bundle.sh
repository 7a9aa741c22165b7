#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An installation with its libraries: copied elsewhere it uses these and finds its data there.
# usage: cli_bundle.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"

skip() {
  echo "skipped: $*"
  exit 77
}
build=$(dirname "$program")
[ -e "$build/cmake_install.cmake" ] || skip "the program does not lie in a build folder"
! "$program" --version | grep -q sanitizers || skip "sanitizers bring libraries of their own"
for tool in cmake objdump readelf ldd; do
  command -v $tool >/dev/null 2>&1 || skip "$tool is missing"
done

install() { # WORDS..: into $work/made
  last="cmake --install $*"
  cmake --install "$build" --prefix "$work/made" "$@" >"$out" 2>"$err"
  code=$?
}
install
expect_code 0
others() { # files beside the module for ranks
  find "$work/made/lib/mirrormap" -type f ! -name mirrormap_mpi.so 2>/dev/null
}
expect "no libraries without being asked" test -z "$(others)"
install --component bundle
expect_code 0
mkdir "$work/else where"
mv "$work/made" "$work/else where/tree"
tree="$work/else where/tree"
export LD_LIBRARY_PATH=
cd "$work" || exit 1

# libraries: all but those of the C library come from the tree
libraries() { # FILE: "name path" of each
  ldd "$1" | awk '$2 == "=>" { name = $1; sub(/^[^>]*> */, ""); sub(/ \(0x[0-9a-f]*\)$/, ""); print name "\t" $0 }'
}
foreign() { # FILE: those from elsewhere
  libraries "$1" | grep -vE '^(libc|libm|libmvec|libpthread|libdl|librt|libresolv)\.so' |
    awk -F '\t' -v tree="$(cd "$tree" && pwd -P)/" '{
      path = $2
      while (sub(/\/[^\/]+\/\.\.\//, "/", path)) { }
      if (index(path, tree) != 1) print
    }'
}
programs=("$tree/bin/mirrormap")
if [ -x "$build/mirrormap_tests" ]; then
  programs+=("$tree/bin/mirrormap_tests")
else
  echo "cli_bundle: no unit tests were built, so none are in the tree"
fi
for file in "${programs[@]}"; do
  name=$(basename "$file")
  expect "$name is there" test -x "$file"
  readelf -d "$file" >"$out"
  expect "$name: an RPATH relative to itself" grep -q "(RPATH).*\[\$ORIGIN/\.\./[^:]*/mirrormap\]" "$out"
  libraries "$file" >"$out"
  for library in cjson cyaml yaml-0 sqlite3; do
    expect "$name: lib$library" grep -q "^lib$library\.so" "$out"
  done
  foreign "$file" >"$out"
  expect_no_out
done
readelf -d "$tree"/lib*/libmirrormap.so >"$out" 2>/dev/null || readelf -d "$tree"/lib/*/libmirrormap.so >"$out"
# shellcheck disable=SC2016 # the linker's dollar
expect "the shared library looks there too" grep -q '(RPATH).*\[$ORIGIN/mirrormap\]' "$out"
find "$tree" -name 'libc.so*' -o -name 'ld-linux*' -o -name 'libm.so*' -o -name 'libcuda*' -o -name 'libpthread*' >"$out"
expect_no_out

# the program, and data that are nowhere else
program="$tree/bin/mirrormap"
run --version
expect_code 0
run devices --json
expect_code 0
expect_json
cp "$tree/share/mirrormap/presets/gridworld-quick.yaml" "$tree/share/mirrormap/presets/only-here.yaml"
run train --env GridWorld-dense --map l2 --preset only-here --set steps=4096 --json
expect_code 0
expect_json
map=$(find "$tree/share/mirrormap/maps" -name '*.json' | head -n 1)
if [ -n "$map" ]; then
  cp "$map" "$tree/share/mirrormap/maps/only-here.json"
  run map eval --map only-here --x 0.1 --json
  expect_code 0
  expect_json
fi
# models of bodies, for the library that came along
expect "models" test -f "$tree/share/mirrormap/models/ant_gymnasium.xml"
if "$program" --version | grep -q 'mujoco [0-9]'; then
  sed -i 's/iterations="4"/iterations="bad"/' "$tree/share/mirrormap/models/hopper_brax.xml"
  run env play Hopper --set physics=mujoco --keys l --json
  expect_refusal 2 "/else where/tree/bin/../share/mirrormap/models/hopper_brax.xml: MuJoCo: "
  sed -i 's/iterations="bad"/iterations="4"/' "$tree/share/mirrormap/models/hopper_brax.xml"
  run env play Hopper --set physics=mujoco --keys l --json
  expect_code 0
  expect_json
fi
if [ -x "$tree/bin/mirrormap_tests" ]; then
  last="mirrormap_tests machine"
  "$tree/bin/mirrormap_tests" machine >"$out" 2>"$err"
  code=$?
  expect_code 0
fi

finish
