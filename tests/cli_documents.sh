#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every command line in the documents, from the documents. Each `mirrormap ..` of a code block runs, in
# the order in which it stands, in a folder where small runs are at hand under the names that the
# documents use. Training begins and is stopped at once by --max-seconds, so that environments, maps,
# presets and settings are looked at; what waits for a person, measures speed or serves a page is only
# parsed, as are the commands within sentences. Of others, make's targets and scripts must be there.
# usage: cli_documents.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
program=$(realpath "$program")
source_dir=$(realpath "$2")
export MIRRORMAP_DATA=$source_dir
cd "$source_dir" || exit 1
documents=(README.md CONTRIBUTING.md docs/*.md maps/README.md results/README.md)

# PLACE<tab>COMMAND: lines of code blocks, without comments, lines that go on joined
blocks() {
  awk '
    FNR == 1 { command = "" }
    !/^    / { command = ""; next }
    { line = substr($0, 5) }
    command == "" { place = FILENAME ":" FNR }
    { sub(/^ */, "", line); command = command (command == "" ? "" : " ") line }
    command ~ /\\$/ { sub(/ *\\$/, "", command); next }
    { sub(/  +#.*/, "", command); sub(/ # .*/, "", command); print place "\t" command; command = "" }' "$@"
}
# the same of commands in backticks within text
sentences() {
  for file in "$@"; do
    # shellcheck disable=SC2016 # backticks are Markdown's
    awk '!/^    / { text = text " " $0 } /^$/ { text = text "\n" } END { print text }' "$file" |
      grep -oE '`mirrormap [^`]*`' | tr -d '`' | sed "s|^|$file\t|"
  done
}

cd "$work" || exit 1
ln -s "$source_dir"/{docs,examples,maps,models,presets,results,tests} .
mkdir build && ln -s "$program" build/mirrormap
while read -r name example; do
  ln -s "$(dirname "$program")/examples/$example.so" "$name.so"
done <<'PLUGINS'
windy 05_own_environment
softline 06_own_potential
reinforce 07_own_learner
PLUGINS
run env record CartPole-v1 --episodes 1 --out yours.json --quiet
expect_code 0
tiny=(--set steps=640 --set envs=4 --set hidden=8 --quiet)
run train --env CartPole-v1 --map l2 --seeds 4 "${tiny[@]}"
expect_code 0
run train --env CartPole-v1 --map negentropy --seeds 4 "${tiny[@]}"
run train --env Hopper --map l2 --set steps=512 --set envs=16 --set unroll=8 --set minibatches=2 --set epochs=1 \
  --set hidden=16 --quiet
expect_code 0
run learn --env GridWorld-all --population 4 --generations 1 --set steps=512 --set envs=16 --set unroll=8 \
  --set epochs=1 --set validation_tasks=2 --kind piecewise --set n=10 --quiet
expect_code 0
cp -r runs/learn-GridWorld-all-1 runs/learn-CartPole-v1-1
cp -r runs/learn-GridWorld-all-1 my-search
cp my-search/mean.json .
ln -s my-search learn-cartpole
run transfer --maps l2 --envs CartPole-v1 --seeds 2 "${tiny[@]}"
expect_code 0
cp -r runs/transfer-CartPole-v1-1 my-table

# words that stand for something, by what the command is about
filled() {
  local text=" $1 " run=runs/train-CartPole-v1-1
  case $text in
    *' --map FILE'* | *' learn '*) run=runs/learn-GridWorld-all-1 ;;
    *' --rliable '*) run=runs/transfer-CartPole-v1-1 ;;
  esac
  text=${text//[][]/}
  text=${text// RUN / $run }
  text=${text// FILE / file-$n.json }
  text=${text// DIR / folder-$n }
  text=${text// runs\/tune-CartPole-v1-1\/preset.yaml/ presets\/bcs.yaml} # a run that has ended writes it
  text=${text// --generation G / --generation 0 }
  text=${text// --backend cuda / --backend cpu }
  text=${text// --backend BACKEND / }
  text=${text// ENGINE / own }
  text=${text// HillCar-v0 / MountainCar-v0 } # which a reader adds
  text=${text// N / 1 }
  text=${text// S / 1 }
  text=${text// --devices 0,1 / }
  echo "$text"
}

# the study in `words` begins, in a folder of its own if what it names is there already
run_shortly() {
  local text=" ${words[*]} " folder
  text=$(sed -E 's/ --max-seconds [0-9.]+ / /' <<<"$text")
  folder=$(sed -nE 's/.* --out ([^ ]+) .*/\1/p' <<<"$text")
  [ -z "$folder" ] || [ ! -e "$folder" ] || text=${text/ --out $folder / --out out-$n }
  case $text in
    *' --out '* | *' --resume '*) ;;
    ' transfer '* | ' train '*) text="$text--out out-$n" ;;
  esac
  read -ra words <<<"$text"
  run "${words[@]}" --max-seconds 0.05
}

# what these words need and this machine lacks
lacking() {
  case $1 in
    *.gif\ * | *.mp4\ *) command -v ffmpeg >/dev/null || echo ffmpeg ;;
    *' --frames '*.png\ * | *' --frames '*.pdf\ * | ' map plot '*' --out '* | ' theory '*' --out '*)
      command -v gnuplot >/dev/null || echo gnuplot ;;
    *'physics mujoco '* | *'physics=mujoco '*) "$program" --version | grep -q 'mujoco [0-9]' || echo MuJoCo ;;
  esac
}

n=0 n_run=0
while IFS=$'\t' read -r place command; do
  n=$((n + 1))
  command=$(sed -E 's/^(mpirun|srun) .*(mirrormap)/\2/; s|^build/mirrormap |mirrormap |; s/;.*//' <<<"$command")
  case $command in
    'mirrormap '*) ;;
    'make '*)
      read -r _ target _ <<<"$command"
      expect "$place: make $target is there" grep -q "^$target:" "$source_dir/Makefile"
      continue
      ;;
    scripts/* | 'bash tests/'* | tests/*.sh* | results/* | 'python3 '*.py*)
      command=${command#bash }
      read -ra words <<<"${command#python3 }"
      expect "$place: ${words[0]} is there" test -x "$source_dir/${words[0]}" -o -r "$source_dir/${words[0]}"
      continue
      ;;
    *) continue ;;
  esac
  eval "words=($(filled "${command#mirrormap }"))"
  place_text="$place: $command"
  lacks=$(lacking " ${words[*]} ")
  if [ -n "$lacks" ]; then
    echo "only parsed, without $lacks: $place"
    words+=(--help)
  fi
  case " ${words[*]} " in
    ' bench '* | *' --watch '* | *' --figure '*) run "${words[@]}" --help ;;
    ' env play '*' --keys '* | ' env play '*' --json '*) run "${words[@]}" ;;
    ' env play '*) run "${words[@]}" --help ;;
    ' learn '* | ' train '* | ' transfer '* | ' tune '* | ' reproduce '*) run_shortly ;;
    *) run "${words[@]}" ;;
  esac
  expect "$place_text" test "$code" -eq 0
  [ "$code" -eq 0 ] || head -n 3 "$err" >&2
  n_run=$((n_run + 1))
done < <(cd "$source_dir" && blocks "${documents[@]}")
expect "commands were found" test "$n_run" -ge 100

n_said=0
while IFS=$'\t' read -r place command; do
  case $command in *'..'* | *'|'* | *'['* | *'<'* | 'mirrormap help '*) continue ;; esac
  n=$((n + 1))
  eval "words=($(filled "${command#mirrormap }"))"
  run "${words[@]}" --help
  expect "$place: $command" test "$code" -eq 0
  n_said=$((n_said + 1))
done < <(cd "$source_dir" && sentences "${documents[@]}")
expect "sentences too" test "$n_said" -ge 10
echo "commands of the documents: $n_run run, $n_said parsed"
finish
