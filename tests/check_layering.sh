#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Layering: the folders of src/ include each other in the order of src/rooms.txt only, and no folder
# has more than 30 files. Prints every offending line.
# usage: check_layering.sh SOURCE_DIR
set -euo pipefail
cd "$1"
crowded=$(find src -type f -not -path '*/page/*' | sed 's|/[^/]*$||' | sort | uniq -c | awk '$1 > 30 { print $2 ": " $1 " files" }')
[ -z "$crowded" ] || { printf 'crowded: %s\n' "$crowded"; exit 1; }
# shellcheck disable=SC2016 # the dollars are awk's
find include src -type f \( -name '*.[ch]' -o -name '*.inc' -o -name '*.cu' -o -name '*.cuh' \) \
  -print0 | sort -z | xargs -0 awk '
  BEGIN { rank["mirrormap"] = 0; ranks = 1 }
  FILENAME == "src/rooms.txt" && /^$/ { ranks++ }
  FILENAME == "src/rooms.txt" && /^[a-z]/ {
    room = $1; sub(/:$/, "", room)
    rank[room] = ranks
    if ($0 ~ /  hub/) hub[room] = $NF == "hub" ? room : $NF
  }
  FILENAME == "src/rooms.txt" { next }
  FNR == 1 { files++; own = folder(substr(FILENAME, index(FILENAME, "/") + 1)) }
  FNR == 1 && !(own in rank) { fail("folder " own " is not in the order") }
  /^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    if (quoted[2] ~ /\.\./) fail("no relative paths")
    if (index(quoted[2], "/") == 0) next # the same folder, or generated
    other = folder(quoted[2])
    if (!(other in rank)) fail("no such folder")
    else if (other != own && rank[other] >= rank[own] && !meets(own, other) && !meets(other, own))
      fail(own " lies left of, or beside, " other)
  }
  function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
  function meets(one, room) { return one in hub && index(room "/", hub[one] "/") == 1 }
  function fail(why) { printf "%s:%d: %s  <-- %s\n", FILENAME, FNR, $0, why; failures++ }
  END {
    printf "layering: %d files, %d failures\n", files, failures
    exit failures > 0 || files == 0
  }' src/rooms.txt
