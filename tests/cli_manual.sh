#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Manual pages and completions: every command, option and setting is there; pages without findings
# of mandoc and groff; words completed in a real bash, zsh and fish.
# usage: cli_manual.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
export MIRRORMAP_DATA=$2
completions=$2/packaging/completions

# ---------------------------------------------------------------------------------------------
# manual pages

man=$work/man
run help --man "$man"
expect_code 0
expect_no_err
expect_no_out

# commands of a page, as `help` lists them
names() {
  "$program" help "$@" | awk '/^commands$/ { on = 1; next } /^$/ { on = 0 } on && /^  [a-z]+ / { print $1 }' | grep -vx help
}
# all commands with all subcommands, a line each
paths() {
  local command subcommand
  for command in $(names); do
    echo "$command"
    for subcommand in $(names "$command"); do
      echo "$command $subcommand"
    done
  done
}

# text of a page without its markup
reads() {
  sed 's/\\f[BIR]//g; s/\\-/-/g; s/\\(aq/'\''/g; s/\\&//g' "$1"
}

paths >"$work/paths"
expect "commands and subcommands" test "$(wc -l <"$work/paths")" -ge 29
expect "a page for the program and for each command" test "$(find "$man" -name '*.1' | wc -l)" -eq $((1 + $(wc -l <"$work/paths")))
n_option=0
while read -r path; do
  read -ra words <<<"$path"
  page=$man/mirrormap-${path// /-}.1
  last="page of $path"
  expect "there is a page" test -s "$page"
  reads "$page" >"$work/page"
  run help "${words[@]}"
  sed -nE 's/^  (-h, )?(--[a-z-]+).*/\2/p' "$out" >"$work/options"
  sed -n '/^settings/,/^examples/s/^  \([a-z_]*\)=.*/\1/p' "$out" >"$work/settings"
  line=$(sed -n '/^examples$/,$s/^  //p' "$out" | sed -e ':more' -e '/\\$/{N; s/ \\\n */ /; b more' -e '}' | tail -n 1)
  [ -z "$line" ] || expect "$path: the page has '$line'" grep -qxF -e "$line" "$work/page"
  while read -r option; do
    expect "$path: the page has $option" grep -q -e "^$option\( \|$\)" "$work/page"
    run help --complete "${words[@]}" "$option"
    expect "$path: $option is completed" grep -q -e "^$option"$'\t' "$out"
    n_option=$((n_option + 1))
  done <"$work/options"
  while read -r setting; do
    expect "$path: the page has $setting" grep -q "^$setting=" "$work/page"
    run help --complete "${words[@]}" --set "$setting"
    expect "$path: $setting is completed" grep -q "^$setting="$'\t' "$out"
  done <"$work/settings"
done <"$work/paths"
expect "options were seen" test "$n_option" -ge 200
for command in $(names); do
  expect "the program's page has $command" grep -q "^\\\\fB$command\\\\fR$" "$man/mirrormap.1"
done

if command -v mandoc >/dev/null; then
  last="mandoc -T lint"
  for page in "$man"/*.1; do
    mandoc -T lint -W warning "$page"
  done >"$out"
  expect_no_out
else
  echo "no mandoc: pages not checked by it"
fi
if command -v groff >/dev/null; then
  last="groff -ww"
  for page in "$man"/*.1; do
    groff -ww -b -man -Tutf8 -Kutf8 -z "$page"
  done >"$out" 2>&1
  expect_no_out
else
  echo "no groff: pages not checked by it"
fi

refuse "expected one folder" help --man
refuse "expected one folder" help --man a b
run help --man /proc/nowhere
expect_refusal 1 "/proc/nowhere"
if [ -w /dev/full ]; then
  mkdir "$work/full"
  ln -s /dev/full "$work/full/mirrormap.1"
  run help --man "$work/full"
  expect_refusal 1 "mirrormap.1: No space left on device"
fi

# ---------------------------------------------------------------------------------------------
# what can follow

# completes WORD.. -- CANDIDATE..: exactly these
completes() {
  local words=()
  while [ "$1" != -- ]; do
    words+=("$1")
    shift
  done
  shift
  run help --complete "${words[@]}"
  expect_code 0
  expect_no_err
  expect "becomes '$*', not '$(cut -f 1 "$out" | tr '\n' ' ')'" test "$(cut -f 1 "$out" | sort)" = "$(printf '%s\n' "$@" | sort)"
}
completes tr -- train transfer
completes map pro -- project
completes help map pro -- project
completes -- # no word, no answer
completes nonsense x --
completes --v -- --version
completes map show --js -- --json
completes map show --json --js -- # once
completes train --set kind=x --s -- --save-seconds --seed --seeds --set
completes train --env Cart -- CartPole-v1 :files
completes train --env=Cart -- --env=CartPole-v1 :files
completes learn --env Hopper,Cart -- Hopper,CartPole-v1
completes env play Cart -- CartPole-v1
completes env replay CartPole-v1 x -- :files
completes train --map grid -- gridworld :files
completes train --map tsa -- tsallis: :files
completes map show l2 negent -- negentropy :files
completes transfer --maps l2,free -- l2,freeway :files
completes map new piece -- piecewise
completes train --preset gridworld -- gridworld gridworld-fast gridworld-quick :files
completes train --algo pmd -- pmd pmd-gaussian
completes learn --algo pp -- # a search has no ppo
completes learn --es cma-es: -- cma-es:lr-adapt
completes learn --es sep-cma-es: -- sep-cma-es:evosax-0.3 sep-cma-es:isotropic
completes train --set proj -- projection=
completes train --set projection= -- projection=exact projection=bisect10
completes train --set=projection=e -- --set=projection=exact
completes learn --set init=l -- init=l2 :files
completes learn --set fitness=c -- fitness=cvar:
completes train --physics m -- mujoco
completes train --seeds 1 --seed "" -- # numbers are the user's
completes reproduce pap --
completes reproduce ph -- phi
completes bench gr -- gridworld
completes report x -- :folders
run help --complete map show -- --js # an argument
expect "no option behind --" test "$(cat "$out")" = :files
mkdir -p "$work/here/runs/one" "$work/here/runs/empty"
touch "$work/here/runs/one/run.db"
cd "$work/here" || exit 1
completes report r -- runs/one :folders
completes train --resume runs/ -- runs/one :folders
completes env show CartPole-v1 --policy r -- random runs/one :folders :files

# ---------------------------------------------------------------------------------------------
# in the shells: a line is typed with tabs and run

mkdir "$work/bin" "$work/functions"
ln -s "$program" "$work/bin/mirrormap"
cp "$completions/_mirrormap" "$work/functions/"
export PATH=$work/bin:$PATH

# typed SHELL START ARGS...: types START, then the lines on a terminal
typed() {
  local shell=$1 start=$2
  shift 2
  last="tabs in $shell"
  rm -f one two three four
  printf '%s\n' "$start" $'mirrormap map sho\tnegen\t--js\t >one' $'mirrormap env show Cart\t>two' \
    $'mirrormap map project --set pro\tex\t--scores 1,2 --map tsa\t2 >three' \
    $'mirrormap map bregman --map=neg\t --p 1,0 --q 0,1 --json >four' exit |
    script -qec "$shell" /dev/null >"$out" 2>&1
  expect "$shell: map show negentropy --json" grep -q '"map":"negentropy"' one
  expect "$shell: env show CartPole-v1" grep -q '^CartPole-v1 ' two
  expect "$shell: map project --set projection=exact --map tsallis:2" grep -q '0.75' three
  expect "$shell: map bregman --map=negentropy" grep -q '"divergence":"inf"' four
}
if command -v script >/dev/null && script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
  typed "bash --norc --noprofile -i" "source $completions/mirrormap.bash"
  if command -v zsh >/dev/null; then
    typed "zsh -f -i" "fpath=($work/functions \$fpath); autoload -U compinit; compinit -u -d $work/dump"
  fi
else
  echo "no terminal to test on: script(1) is missing or does not work here"
fi
if command -v fish >/dev/null; then
  export HOME=$work XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work
  while IFS='|' read -r line wanted; do
    last="fish: $line"
    fish --no-config -c "source $completions/mirrormap.fish; complete -C '$line'" >"$out" 2>"$err"
    expect "becomes '$wanted'" test "$(cut -f 1 "$out" | sort | tr '\n' ' ')" = "$wanted "
  done <<'LINES'
mirrormap map sho|show
mirrormap train --env Cart|CartPole-v1
mirrormap train --env=Acr|--env=Acrobot-v1
mirrormap train --set projection=|projection=bisect10 projection=exact
mirrormap transfer --maps l2,neg|l2,negentropy
mirrormap train --preset bcs|bcs bcs-fast
LINES
fi
for shell in zsh fish; do
  command -v "$shell" >/dev/null || echo "no $shell: completions not tried there"
done

finish
