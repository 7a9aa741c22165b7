#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every link of a Markdown file below DIR leads to a file that is there, and to a heading of it. Lines
# have at most 100 characters, but for tables and words that cannot be broken.
# usage: check_links.sh DIR
set -euo pipefail
cd "$1"
# the headings of a file as GitHub names them
headings() {
  awk '/^```/ { code = !code } !code && /^#+ / {
    sub(/^#+ +/, ""); gsub(/\]\([^)]*\)/, ""); $0 = tolower($0); gsub(/[^a-z0-9_ -]/, ""); gsub(/ /, "-"); print
  }' "$1"
}
pages() {
  find . \( -name build -o -name runs -o -name .git -o -name node_modules \) -prune -o -name '*.md' -print0 | sort -z
}

# bytes that continue a character are not counted
# shellcheck disable=SC2016 # awk's variables
pages | LC_ALL=C xargs -0 awk '/^ *[|]/ { next }
  { line = $0; gsub(/[\200-\277]/, "", line); longest = 0; for (i = 1; i <= NF; i++) if (length($i) > longest) longest = length($i) }
  length(line) > 100 && longest < 60 { print FILENAME ":" FNR ": " length(line) " characters, expected at most 100"; n++ }
  END { exit n > 0 }' || wide=1

n=0 broken=0
while IFS=: read -r file link; do
  n=$((n + 1))
  path=${link%%#*} anchor=
  [[ $link == *#* ]] && anchor=${link#*#}
  target=$(dirname "$file")/$path
  [ -n "$path" ] || target=$file
  if [ ! -e "$target" ]; then
    echo "$file: $link leads nowhere"
  elif [ -n "$anchor" ] && [[ $target == *.md ]] && ! headings "$target" | grep -x -e "$anchor" >/dev/null; then
    echo "$file: $link: no such heading"
  else
    continue
  fi
  broken=$((broken + 1))
done < <(pages | xargs -0 grep -oE '\]\([^() ]+\)' | sed 's/](\(.*\))$/\1/' | grep -vE ':(https?|mailto):')
echo "links: $n, broken: $broken"
[ "$n" -ge 50 ] && [ "$broken" -eq 0 ] && [ -z "${wide-}" ]
