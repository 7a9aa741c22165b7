#!/usr/bin/env bash
# The command line stands on the public interface: src/cli includes private headers of the study layer
# only where tests/cli_includes.txt still allows it. That list can only get shorter: a line that is not
# needed any more is a failure too.
# usage: check_cli.sh SOURCE_DIR
set -euo pipefail
cd "$1"
list=tests/cli_includes.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
grep -rhoE '#include "(study|paper|agent|evolve)/[^"]+"' src/cli --include='*.[ch]' --with-filename |
  sed -E 's/:#include "/ /; s/"$//' | LC_ALL=C sort >"$work/found"
failed=0
LC_ALL=C comm -13 "$list" "$work/found" >"$work/new"
if [ -s "$work/new" ]; then
  echo "src/cli must do with include/mirrormap here:"
  sed 's/^/  /' "$work/new"
  failed=1
fi
LC_ALL=C comm -23 "$list" "$work/found" >"$work/gone"
if [ -s "$work/gone" ]; then
  echo "no longer needed, to be taken off $list:"
  sed 's/^/  /' "$work/gone"
  failed=1
fi
echo "cli: $(wc -l <"$work/found") private includes left, $failed failures"
exit "$failed"
