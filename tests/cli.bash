# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the command-line tests, which are called as: cli_X.sh PROGRAM SOURCE_DIR
#
# `run ARGS...` runs the program and keeps what it did in $code, $out and $err; the expect_* functions
# look at that and count what does not hold. `finish` at the end of a script prints the count.

set -u
program=$1
case $program in /*) ;; *) program=$PWD/$program ;; esac
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset NO_COLOR MIRRORMAP_DATA MIRRORMAP_PLUGINS
export LC_ALL=C TERM=xterm
# what is compared are the processor's numbers; a test that looks at devices says so
visible=${CUDA_VISIBLE_DEVICES-all}
export CUDA_VISIBLE_DEVICES=
see_devices() {
  case $visible in all) unset CUDA_VISIBLE_DEVICES ;; *) export CUDA_VISIBLE_DEVICES=$visible ;; esac
}

out=$work/stdout
err=$work/stderr
: >"$out"
: >"$err"
code=0
last=
n_checked=0
n_failed=0

run() {
  last="mirrormap $*"
  "$program" "$@" >"$out" 2>"$err" </dev/null
  code=$?
}

# run with its standard input from a file
run_stdin() {
  local file=$1
  shift
  last="mirrormap $* < $file"
  "$program" "$@" >"$out" 2>"$err" <"$file"
  code=$?
}

# interrupt PID SIGNAL: sends it once the process listens (a shell without job control starts its
# children with SIGINT ignored, and for a moment they are still the shell itself), and waits for the
# end; one that does not stop is killed. Sets $code.
interrupt() {
  local pid=$1 signal=$2 i mask
  for ((i = 0; i < 1200; i++)); do
    if [ "/proc/$pid/exe" -ef "$program" ]; then # and only then the mask: before, it is the shell's
      mask=$(awk '/^SigCgt/ { print $2 }' "/proc/$pid/status" 2>/dev/null)
      ((0x${mask:-0} & 2)) && break
    fi
    sleep 0.05
  done
  kill "-$signal" "$pid" 2>/dev/null
  for ((i = 0; i < 1200; i++)); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.05
  done
  kill -9 "$pid" 2>/dev/null
  wait "$pid"
  code=$?
}

failed() {
  n_failed=$((n_failed + 1))
  printf 'FAILED: %s\n  %s\n' "$1" "$last"
  printf '  exit %s; stdout: %s\n  stderr: %s\n' "$code" "$(head -c 300 "$out")" "$(head -c 300 "$err")"
}

# expect WHAT COMMAND...: the command succeeds
expect() {
  local what=$1
  shift
  n_checked=$((n_checked + 1))
  "$@" || failed "$what"
}

expect_not() {
  local what=$1
  shift
  n_checked=$((n_checked + 1))
  ! "$@" || failed "$what"
}

expect_code() {
  expect "exit code $1" test "$code" -eq "$1"
}

expect_out() {
  expect "stdout has '$1'" grep -qF -e "$1" "$out"
}

expect_no_out() {
  expect "nothing on stdout" test ! -s "$out"
}

expect_err() {
  expect "stderr has '$1'" grep -qF -e "$1" "$err"
}

# Nothing but progress, which shows after some seconds on a slow machine.
expect_no_err() {
  local line='^mirrormap: [a-z ]+: ([0-9]+ %.* left|[0-9.]+( [kMG])? measured)'
  expect "nothing on stderr" test -z "$(grep -vE "$line" "$err")"
}

# A refusal: the code, one line on stderr that begins with the program's name and holds each text,
# nothing on stdout.
expect_refusal() {
  expect_code "$1"
  shift
  expect "one line on stderr" test "$(wc -l <"$err")" -eq 1
  expect "stderr begins with the program" grep -q '^mirrormap: ' "$err"
  expect_no_out
  local text
  for text in "$@"; do
    expect_err "$text"
  done
}

# One line on stdout that is one JSON object; the program's strict reader and, where there is one,
# another parser agree that it is.
expect_json() {
  expect "one line on stdout" test "$(wc -l <"$out")" -eq 1
  expect "an object" grep -q '^{.*}$' "$out"
  if [ -n "$json_parser" ]; then
    expect "JSON that $json_parser reads" parse_json "$out"
  fi
}

json_parser=
if command -v jq >/dev/null 2>&1; then
  json_parser=jq
elif python3 -c 'import json' >/dev/null 2>&1; then
  json_parser=python3
fi

parse_json() {
  case $json_parser in
    jq) jq -e 'type == "object"' "$1" >/dev/null ;;
    python3) python3 -c 'import json, sys; assert type(json.load(open(sys.argv[1]))) is dict' "$1" ;;
  esac
}

# field NAME [K]: the numbers of the K-th (default first) field of that name in the last JSON output,
# separated by blanks
field() {
  awk -v name="\"$1\":" -v k="${2:-1}" '
    { text = text $0 }
    END {
      while (k-- > 0) {
        at = index(text, name)
        if (at == 0) exit 1
        text = substr(text, at + length(name))
      }
      if (text ~ /^\[/) sub(/\].*/, "", text)
      else sub(/[,}].*/, "", text)
      gsub(/[][,"]/, " ", text)
      n = split(text, word, " ")
      for (i = 1; i <= n; i++) printf "%s%s", word[i], (i < n ? " " : "\n")
    }' "$out"
}

# same_digits EXPECTED GOT: as many numbers, each equal when rounded to the digits of the expected
# one; an expected number without a decimal point must be met exactly
same_digits() {
  awk -v expected="$1" -v got="$2" '
    BEGIN {
      n = split(expected, e, " ")
      if (n == 0 || split(got, g, " ") != n) exit 1
      for (i = 1; i <= n; i++) {
        if (e[i] ~ /[a-z]/ || g[i] ~ /[a-df-z]/) bad = bad || e[i] != g[i]
        else if (index(e[i], ".") == 0) bad = bad || e[i] + 0 != g[i] + 0
        else {
          format = "%." (length(e[i]) - index(e[i], ".")) "f"
          bad = bad || sprintf(format, e[i]) != sprintf(format, g[i])
        }
      }
      exit bad
    }'
}

expect_field() {
  local got
  got=$(field "$1" "${3:-1}")
  expect "$1 = $2, got $got" same_digits "$2" "$got"
}

# refuse [CODE] TEXT ARGS...: the program refuses these with the exit code (2) and TEXT in its sentence
refuse() {
  local expected=2 text
  case $1 in [0-9] | [0-9][0-9] | [0-9][0-9][0-9])
    expected=$1
    shift
    ;;
  esac
  text=$1
  shift
  run "$@"
  expect_refusal "$expected" "$text"
}

# same_runs COMMAND RUN RUN: taken up again, both say the same (without what the script's `timeless`
# leaves out) and have the same rows
same_runs() {
  local command=$1 one
  shift
  for one; do
    "$program" "$command" --resume "$one" --json --quiet >"$work/json" 2>"$work/stderr-same" </dev/null || return 1
    timeless "$work/json" >"$work/json-$one"
    "$program" export "$one" --jsonl >"$work/jsonl" 2>>"$work/stderr-same" </dev/null || return 1
    grep -v '^{"table":"session"' "$work/jsonl" >"$work/rows-$one"
  done
  cmp -s "json-$1" "json-$2" && cmp -s "rows-$1" "rows-$2"
}

# expect_interrupts COMMAND DONE ARGS...: stopped by either signal it says how much was done and how to
# go on, and the run is marked
expect_interrupts() {
  local command=$1 progress=$2 signal pid
  shift 2
  for signal in INT TERM; do
    last="mirrormap $command, $signal"
    "$program" "$command" "$@" --out "by-$signal" --json >"$out" 2>"$err" </dev/null &
    pid=$!
    sleep 0.3
    interrupt "$pid" "$signal"
    expect_code 130
    expect_no_out
    expect_err "interrupted $progress; resume with '$command --resume by-$signal'"
    run runs "by-$signal" --json
    expect_out '"state":"interrupted"'
  done
}

finish() {
  printf '%s: %d checks, %d failed\n' "$(basename "$0" .sh)" "$n_checked" "$n_failed"
  [ "$n_checked" -gt 0 ] && [ "$n_failed" -eq 0 ]
  exit
}
