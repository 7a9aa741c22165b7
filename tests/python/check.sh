#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tests of the Python package (python/tests) with a library that was built, in a virtual
# environment that pip fills: with NumPy and Gymnasium alone, or (all) also with what the package
# knows and is checked by, and then under the other Pythons that are found here. Exit code 77, and
# why, where NumPy and Gymnasium cannot be had.
#
# usage: tests/python/check.sh LIBRARY VENV_FOLDER [all]
set -euo pipefail
library=$(realpath "$1") venv=$(realpath -m "$2") all=${3:-}
root=$(cd "$(dirname "$0")/../.." && pwd)
needed=('numpy>=1.23' 'gymnasium>=1.1')
# by the name that pip knows, and that of the module where it is another; rliable's arch does not know pandas 3
wanted=(hypothesis mypy 'pandas<3' matplotlib nbclient ipykernel torch jax entmax rliable:rliable.library)

skip() {
  echo "skipped: Python: $1"
  exit 77
}

# one attempt, soon given up: make test must end where there is no network
install() { # VENV PACKAGE...
  "$1/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 15 "${@:2}" >>"$1.log" 2>&1
}

# A virtual environment with NumPy and Gymnasium. Says why where there can be none.
prepare() { # PYTHON VENV
  ! "$2/bin/python" -c 'import numpy, gymnasium.vector' 2>/dev/null || return 0
  rm -rf "$2"
  "$1" -m venv "$2" >"$2.log" 2>&1 || { echo "$1 -m venv does not work here, see $2.log"; return 1; }
  install "$2" "${needed[@]}" || { echo "pip cannot install ${needed[*]}, see $2.log"; return 1; }
}

tests() { # VENV
  echo "== python/tests, $("$1/bin/python" --version)"
  "$1/bin/python" -m unittest discover -s "$root/python/tests" -t "$root/python/tests"
}

# mypy --strict, for this Python and later ones: the types of NumPy that pip gets here are not written for earlier ones.
types() {
  local version
  "$venv/bin/python" -c 'import mypy' 2>/dev/null || return 0
  for version in 3.10 3.11 3.12 3.13; do
    "$venv/bin/python" -c "import sys; sys.exit(sys.version_info[:2] > (3, ${version#3.}))" || continue
    echo "== mypy --strict for Python $version"
    (cd "$root" && "$venv/bin/python" -m mypy --config-file pyproject.toml --python-version "$version" \
      --python-executable "$venv/bin/python" --cache-dir "$venv/mypy")
  done
}

# Other Pythons from 3.10 on, one of each version: on the path, of pyenv.
other_pythons() {
  local mine python
  mine=$("$venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  for python in /usr/bin/python3.1? /usr/local/bin/python3.1? "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1*/bin/python; do
    [ -x "$python" ] || continue
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10)); import venv' 2>/dev/null &&
      "$python" -c 'import sys; print("%d.%d" % sys.version_info[:2], sys.executable)'
  done | awk -v mine="$mine" '$1 != mine && !seen[$1]++'
}

mkdir -p "$(dirname "$venv")"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || skip 'needs Python 3.10 or newer'
why=$(prepare python3 "$venv") || skip "$why"

export PYTHONPATH=$root/python MIRRORMAP_LIBRARY=$library PYTHONDONTWRITEBYTECODE=1
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
cd "$(dirname "$venv")" # not where the package is
[ -n "$all" ] || { tests "$venv"; exit; }

begin=$SECONDS
for package in "${wanted[@]}"; do
  module=${package#*:} module=${module%%[<>]*} package=${package%%:*}
  "$venv/bin/python" -c "import $module" 2>/dev/null || install "$venv" "$package" ||
    echo "not checked: pip cannot install $package, see $venv.log"
done
types
tests "$venv"
echo "== tests/python/snippet.py"
rm -rf "$venv-runs" && mkdir "$venv-runs"
(cd "$venv-runs" && "$venv/bin/python" "$root/tests/python/snippet.py")
while read -r version python <&3; do
  why=$(prepare "$python" "$venv-$version") || { echo "not checked: Python $version: $why"; continue; }
  tests "$venv-$version"
done 3< <(other_pythons)
if "$venv/bin/python" -c 'import rliable.library' 2>/dev/null; then
  echo "== tests/peers/compare_rliable.py"
  "$venv/bin/python" -W ignore "$root/tests/peers/compare_rliable.py" "$(dirname "$library")/mirrormap"
else
  echo 'not checked: rliable does not work here'
fi
echo "make check-python: everything passed, $((SECONDS - begin)) s"
