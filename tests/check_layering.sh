#!/usr/bin/env bash
# Layering: a folder of src/ includes only itself and folders to its left in the order below;
# folders of the same rank do not know each other. Prints every offending line.
# usage: check_layering.sh SOURCE_DIR
set -euo pipefail
cd "$1"
# shellcheck disable=SC2016 # the dollars are awk's
find include src -type f \( -name '*.[ch]' -o -name '*.inc' -o -name '*.cu' -o -name '*.cuh' \) \
  -print0 | sort -z | xargs -0 awk '
  BEGIN {
    n = split("mirrormap base map,net,physics env agent backend,evolve experiment cli", order, " ")
    for (i = 1; i <= n; i++) {
      m = split(order[i], same, ",")
      for (j = 1; j <= m; j++) rank[same[j]] = i
    }
  }
  FNR == 1 { files++; split(FILENAME, part, "/"); own = part[2] }
  FNR == 1 && !(own in rank) { fail("folder " own " is not in the order") }
  /^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    if (quoted[2] ~ /\.\./) fail("no relative paths")
    if (split(quoted[2], path, "/") == 1) next # the same folder, or generated
    if (!(path[1] in rank)) fail("no such folder")
    else if (path[1] != own && rank[path[1]] >= rank[own]) fail(own " lies left of, or beside, " path[1])
  }
  function fail(why) { printf "%s:%d: %s  <-- %s\n", FILENAME, FNR, $0, why; failures++ }
  END {
    printf "layering: %d files, %d failures\n", files, failures
    exit failures > 0 || files == 0
  }'
