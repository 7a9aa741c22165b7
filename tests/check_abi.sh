#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The binary interface: exported symbols, types of functions, offsets and sizes of everything in the
# public structs and values of all enums, compared with the list in tests/abi/interface.txt. Every function that a
# public header declares must be exported. CONTRIBUTING.md says when and how the list changes.
# usage: check_abi.sh SOURCE_DIR LIBRARY.so CC [--update]
set -euo pipefail
cd "$1"
library=$2 cc=$3 mode=${4:-compare}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
list=tests/abi/interface.txt

# what the public headers say themselves, on one line, macros expanded
"$cc" -E -Iinclude include/mirrormap/mirrormap.h | awk '
  /^# [0-9]+ "/ { ours = $3 ~ /include\/mirrormap\// ; next }
  ours' | tr '\n' ' ' | sed 's/  */ /g' >"$work/headers"

# a program that prints every member of a struct and every value of an enum
{
  printf '#include <mirrormap/mirrormap.h>\n#include <stdio.h>\n#include <stddef.h>\n\n'
  printf 'int main(void) {\n'
  grep -oE '(typedef (struct|enum) [a-z0-9_]+|enum) \{([^{}]|\{[^{}]*\})*\}( [a-z0-9_]+)?;' "$work/headers" |
    awk '
      function member(type, name) {
        printf "  printf(\"struct %s.%s at %%zu size %%zu\\n\", offsetof(%s, %s), sizeof(((%s *)0)->%s));\n",
          type, name, type, name, type, name
      }
      {
        type = $NF; sub(/;$/, "", type)
        body = $0; sub(/^[^{]*\{/, "", body); sub(/\}[^}]*$/, "", body)
        gsub(/\[[^]]*\]/, "", body)
        if ($2 == "enum" || $1 == "enum") {
          which = $1 == "enum" ? "" : type "."
          n = split(body, part, ",")
          for (i = 1; i <= n; i++) {
            sub(/=.*/, "", part[i]); gsub(/ /, "", part[i])
            if (part[i] != "") printf "  printf(\"enum %s%s = %%d\\n\", (int)%s);\n", which, part[i], part[i]
          }
          next
        }
        printf "  printf(\"struct %s size %%zu\\n\", sizeof(%s));\n", type, type
        gsub(/\{[^{}]*\}/, "", body) # a nested struct counts as a whole
        n = split(body, part, ";")
        for (i = 1; i <= n; i++) {
          if (part[i] ~ /^ *$/) continue
          if (match(part[i], /\( *\* *[a-z0-9_]+\)/)) { # a pointer to a function
            name = substr(part[i], RSTART, RLENGTH); gsub(/[^a-z0-9_]/, "", name)
            member(type, name)
            text = part[i]
            sub(/^ */, "", text)
            printf "  puts(\"member %s.%s: %s\");\n", type, name, text
            continue
          }
          m = split(part[i], piece, ",")
          for (j = 1; j <= m; j++) {
            name = piece[j]; sub(/ *$/, "", name); sub(/.*[^a-z0-9_]/, "", name)
            member(type, name)
          }
        }
      }'
  printf '  return 0;\n}\n'
} >"$work/layout.c"
"$cc" -std=c17 -Wall -Werror -Iinclude "$work/layout.c" -o "$work/layout"

nm -D --defined-only "$library" | awk '{ sub(/@.*/, "", $NF); print "symbol " $NF }' | LC_ALL=C sort >"$work/symbols"
# names of parameters may change: they are left out
types() {
  sed -E 's/([ *])[a-z0-9_]+((\[[^]]*\])*[,)])/\1\2/g; s/ +([,)[])/\1/g'
}
exported=$(grep -oE '__attribute__ ?\(\(visibility\("default"\)\)\)[^;]*;' "$work/headers")
{
  cat "$work/symbols"
  {
    sed -E 's/^[^)]*\)\)\) //' <<<"$exported" | grep '(' || true
    grep -oE 'typedef [a-z_ ]+ \**[a-z0-9_]+\([^()]*\);' "$work/headers" || true
  } | types | sed 's/^/function /' | LC_ALL=C sort
  "$work/layout" | types
} >"$work/interface"

if [ "$mode" = --update ]; then
  cp "$work/interface" "$list"
  echo "abi: $list has $(wc -l <"$list") lines"
  exit
fi

failed=0
grep -oE '\bmm_[a-z0-9_]+\(' <(echo "$exported") |
  tr -d '(' | sort -u | while read -r name; do
    grep -qx "symbol $name" "$work/symbols" || echo "$name"
  done >"$work/missing"
if [ -s "$work/missing" ]; then
  echo "declared in a public header, but not exported:"
  sed 's/^/  /' "$work/missing"
  failed=1
fi
if ! diff "$list" "$work/interface" >"$work/diff"; then
  echo "the binary interface differs from $list (<: the list, >: this build):"
  cat "$work/diff"
  echo "see 'The binary interface' in CONTRIBUTING.md"
  failed=1
fi
echo "abi: $(wc -l <"$work/interface") lines, $failed failures"
exit "$failed"
