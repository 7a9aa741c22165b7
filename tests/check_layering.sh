#!/usr/bin/env bash
# Layering: a folder of src/ includes only itself and folders to its left in the order below;
# folders that share a place do not know each other. A stage whose rooms hang on one table has a
# room, or its own folder, that brings them together (`hub`): that one and its rooms know each
# other. No folder has more than 30 files. Prints every offending line.
# usage: check_layering.sh SOURCE_DIR
set -euo pipefail
cd "$1"
crowded=$(find src -type f -not -path '*/page/*' | sed 's|/[^/]*$||' | sort | uniq -c | awk '$1 > 30 { print $2 ": " $1 " files" }')
[ -z "$crowded" ] || { printf 'crowded: %s\n' "$crowded"; exit 1; }
# shellcheck disable=SC2016 # the dollars are awk's
find include src -type f \( -name '*.[ch]' -o -name '*.inc' -o -name '*.cu' -o -name '*.cuh' \) \
  -print0 | sort -z | xargs -0 awk '
  BEGIN {
    place("mirrormap base map,net,physics/bodies,physics")
    place("env/classic,env/minatar,env/grid env/locomotion env agent")
    place("backend/cuda/warp backend/cuda/locomotion")
    place("backend/cuda/classic,backend/cuda/minatar,backend/cuda/gaussian,backend/cuda/tabular")
    place("backend/cuda/host backend/cuda/measure backend/ranks backend,evolve")
    place("study/stats study/settings study/run study/jobs study/policy study/theory,study/train")
    place("study/transfer study/learn study/tune")
    place("show/plot show/picture show/figure show/events show/report paper,bench")
    place("cli/core cli/argument cli/draw cli/study,cli/map,cli/env,cli/tools")
    hub["physics"] = "physics"; hub["env"] = "env"; hub["backend"] = "backend"; hub["backend/cuda/host"] = "backend/cuda"
  }
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
  function place(words,   n, m, i, j, step, same) {
    n = split(words, step, " ")
    for (i = 1; i <= n; i++) {
      ranks++
      m = split(step[i], same, ",")
      for (j = 1; j <= m; j++) rank[same[j]] = ranks
    }
  }
  function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
  function meets(one, room) { return one in hub && index(room "/", hub[one] "/") == 1 }
  function fail(why) { printf "%s:%d: %s  <-- %s\n", FILENAME, FNR, $0, why; failures++ }
  END {
    printf "layering: %d files, %d failures\n", files, failures
    exit failures > 0 || files == 0
  }'
