#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The source tarball: the same bits twice, knows its commit, has what a build needs. The bill of
# materials is JSON that names every library of the program.
# usage: check_dist.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source=$1 build=$2
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "dist: $*" >&2; exit 1; }
command -v git >/dev/null || skip "no git"
git -C "$source" rev-parse --verify -q HEAD >/dev/null 2>&1 || skip "no git checkout"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone -q --no-checkout "$source" "$work/clone" 2>"$work/log" || skip "this checkout cannot be cloned"
git -C "$work/clone" checkout -q "$(git -C "$source" rev-parse HEAD)"
cd "$work/clone"
version=$(scripts/dist --version)
[[ $("$build/mirrormap" --version) == "mirrormap $version "* ]] || fail "version $version is not the program's"
scripts/dist --source
mv "dist/mirrormap-$version.tar.gz" "$work/first.tar.gz"
touch CMakeLists.txt
scripts/dist --source
cmp "$work/first.tar.gz" "dist/mirrormap-$version.tar.gz" || fail "not the same bits twice"
tar -xzf "$work/first.tar.gz" -C "$work"
cd "$work/mirrormap-$version"
grep -qE "^$(git -C "$source" rev-parse --short HEAD)[0-9a-f]* [0-9]{4}-[0-9]{2}-[0-9]{2}$" cmake/COMMIT || fail "commit: $(cat cmake/COMMIT)"
for file in CMakeLists.txt Makefile README.md LICENSE src/cli/core/main.c scripts/build tests/CMakeLists.txt; do
  [ -f $file ] || fail "no $file in the tarball"
done

command -v readelf >/dev/null || skip "no readelf"
mkdir -p "$work/tree/bin"
cp "$build/mirrormap" "$work/tree/bin/"
"$source/scripts/sbom" "$version" abcdef 2026-01-31T12:00:00Z "$work/tree" >"$work/sbom.json"
if command -v jq >/dev/null; then
  jq -e '.spdxVersion == "SPDX-2.3" and (.packages | length) >= 5' "$work/sbom.json" >/dev/null || fail "bill of materials: not as SPDX has it"
elif command -v python3 >/dev/null; then
  python3 -m json.tool "$work/sbom.json" >/dev/null || fail "bill of materials: no JSON"
fi
for name in cjson cyaml sqlite3 random123; do
  grep -q "\"name\": \"lib$name" "$work/sbom.json" || fail "bill of materials: $name is missing"
done
! "$source/scripts/sbom" "$version" abcdef 2026-01-31T12:00:00Z "$work" >/dev/null 2>&1 || fail "a bill of nothing"
