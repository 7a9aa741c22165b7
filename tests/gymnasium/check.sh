#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Classic control and the -v4 tasks against Gymnasium itself (compare.py), which is installed by pip
# into a virtual environment of its own. Exit code 77, and why, where that cannot be had.
#
# usage: tests/gymnasium/check.sh PROGRAM VENV_FOLDER
#
# MuJoCo is one before 3.5, which changed what Hopper-v4 and Ant-v4 feel (docs/environments.md).
set -euo pipefail
program=$1 venv=$2
here=$(cd "$(dirname "$0")" && pwd)
packages=('gymnasium[mujoco]>=1' 'mujoco<3.5' numpy)

skip() {
  echo "skipped: Gymnasium: $1"
  exit 77
}

mkdir -p "$(dirname "$venv")"
if ! "$venv/bin/python" -c 'import gymnasium.envs.mujoco' 2>/dev/null; then
  rm -rf "$venv"
  python3 -m venv "$venv" >"$venv.log" 2>&1 || skip "python3 -m venv does not work here, see $venv.log"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" >"$venv.log" 2>&1 ||
    skip "pip cannot install ${packages[*]}, see $venv.log"
fi
exec "$venv/bin/python" "$here/compare.py" check "$program"
