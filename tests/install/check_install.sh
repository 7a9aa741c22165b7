#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs into an empty prefix, runs the program from there, and builds and runs a small user of
# the library through pkg-config and through find_package, shared and static. The examples that are
# plug-ins are built with the installed headers alone, and checked and trained with in the installed
# program. Then the prefix is moved and everything must work again from its new place.
# usage: check_install.sh BUILD_DIR CMAKE CC LIBDIR
set -euo pipefail
build=$1 cmake=$2 cc=$3 libdir=$4
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "install: $*" >&2; exit 1; }
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "failed: $*"; }; }

plug_in() { # PREFIX
  local program=$1/bin/mirrormap name
  for name in 05_own_environment 06_own_potential 07_own_learner; do
    # shellcheck disable=SC2046
    quietly "$cc" -std=c17 -Wall -Wextra -Wpedantic -Werror -O2 -shared -fPIC "$here/../../examples/$name.c" \
      $(pc --cflags) -lm -o "$work/$name.so"
  done
  export MIRRORMAP_PLUGINS=$work/05_own_environment.so:$work/06_own_potential.so:$work/07_own_learner.so
  quietly "$program" env check WindyPole
  quietly "$program" map check softline softline:0.2,1
  rm -rf "$work/windy" "$work/softline" "$work/reinforce"
  quietly "$program" train --env WindyPole --algo reinforce --set steps=5000 --out "$work/reinforce"
  quietly "$program" train --env WindyPole --map softline --seeds 2 --set steps=8192 --set epochs=2 --out "$work/windy"
  quietly "$program" learn --env GridWorld-small --kind softline --population 4 --generations 2 --set envs=8 \
    --set unroll=8 --set steps=256 --set validation_tasks=2 --out "$work/softline"
  grep -q '"kind": "softline"' "$work/softline/best.json" || fail "no map of the plug-in's family"
  unset MIRRORMAP_PLUGINS
}

check() { # PREFIX
  local prefix=$1 version lib=$1/$libdir
  version=$("$prefix/bin/mirrormap" --version) || fail "$prefix/bin/mirrormap --version failed"
  echo "program: ${version%%$'\n'*}"

  pc() { PKG_CONFIG_PATH="$lib/pkgconfig" pkg-config "$@" mirrormap; }
  [[ $version == *"$(pc --modversion)"* ]] || fail "pkg-config and the program disagree on the version"
  # shellcheck disable=SC2046 # the flags are meant to be split
  quietly "$cc" -std=c17 -Wall -Werror "$here/consumer.c" $(pc --cflags --libs) -o "$work/shared"
  plug_in "$prefix"
  LD_LIBRARY_PATH=$lib "$work/shared" "pkg-config, shared" "$work/05_own_environment.so" WindyPole
  # shellcheck disable=SC2046
  quietly "$cc" -std=c17 -Wall -Werror "$here/consumer.c" $(pc --cflags) "$lib/libmirrormap.a" \
    $(pc --static --libs | sed 's/-lmirrormap//') -o "$work/static"
  "$work/static" "pkg-config, static"

  rm -rf "$work/user"
  quietly "$cmake" -S "$here" -B "$work/user" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix"
  quietly "$cmake" --build "$work/user"
  "$work/user/consumer_shared" "find_package, shared"
  "$work/user/consumer_static" "find_package, static"
}

quietly "$cmake" --install "$build" --prefix "$work/first"
[ -f "$work/first/include/mirrormap/mirrormap.h" ] || fail "no headers"
check "$work/first"
[ -f "$work/first/share/man/man1/mirrormap-learn.1" ] || fail "no manual pages"
[ -f "$work/first/share/bash-completion/completions/mirrormap" ] || fail "no completions"
[ -f "$work/first/share/doc/mirrormap/examples/01_project.c" ] || fail "no examples"
bash "$here/../check_links.sh" "$work/first/share/doc/mirrormap" >"$work/log" || { cat "$work/log" >&2; fail "links of installed documents"; }
mv "$work/first" "$work/moved"
check "$work/moved"
# shared users must see the public interface and nothing else
leaked=$(nm -D --defined-only "$work/moved/$libdir/libmirrormap.so" | awk '{print $NF}' |
  grep -vE '^mm_[a-z0-9_]+$' || true)
[ -z "$leaked" ] || fail "symbols exported that are not mm_*: $leaked"
