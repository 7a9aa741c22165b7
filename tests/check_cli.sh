#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The command line stands on the public interface: src/cli includes no private header of the study
# layer, nor of the learners and strategies below it, and calls no function that only these declare,
# by whatever header it knows of it.
# usage: check_cli.sh SOURCE_DIR
set -euo pipefail
cd "$1"
private=(src/study src/paper src/agent src/evolve)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

names_in() { # FOLDER...: functions that headers there declare
  find "$@" -name '*.h' -exec grep -ohE '\bmm_[a-z0-9_]+\(' {} + | tr -d '(' | LC_ALL=C sort -u
}
mapfile -t others < <(find src -mindepth 1 -maxdepth 1 -type d | grep -vxF -f <(printf '%s\n' "${private[@]}" src/cli))
names_in "${private[@]}" >"$work/private"
names_in include "${others[@]}" >"$work/known"
LC_ALL=C comm -23 "$work/private" "$work/known" >"$work/forbidden"
grep -rnE '#include "(study|paper|agent|evolve)/' src/cli >"$work/found" || true
grep -rnwFf "$work/forbidden" src/cli >>"$work/found" || true
if [ -s "$work/found" ]; then
  echo "src/cli must do with include/mirrormap here:"
  sed 's/^/  /' "$work/found"
  exit 1
fi
echo "cli: $(wc -l <"$work/forbidden") private functions of ${private[*]}, none of them called"
