#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tests of the Python package (python/tests) with a library that was built, in a virtual
# environment that pip fills: with NumPy and Gymnasium alone, or with all that the package knows and
# is checked by, each of which may be missing. Exit code 77, and why, where they cannot be had.
#
# usage: tests/python/check.sh LIBRARY VENV_FOLDER [all]
set -euo pipefail
library=$(realpath "$1") venv=$(realpath -m "$2") all=${3:-}
root=$(cd "$(dirname "$0")/../.." && pwd)
needed=('numpy>=1.23' 'gymnasium>=1.1')

skip() {
  echo "skipped: Python: $1"
  exit 77
}

# one attempt, soon given up: make test must end where there is no network
install() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 15 "$@" >>"$venv.log" 2>&1; }

mkdir -p "$(dirname "$venv")"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || skip 'needs Python 3.10 or newer'
if ! "$venv/bin/python" -c 'import numpy, gymnasium.vector' 2>/dev/null; then
  rm -rf "$venv"
  python3 -m venv "$venv" >"$venv.log" 2>&1 || skip "python3 -m venv does not work here, see $venv.log"
  install "${needed[@]}" || skip "pip cannot install ${needed[*]}, see $venv.log"
fi

export PYTHONPATH=$root/python MIRRORMAP_LIBRARY=$library PYTHONDONTWRITEBYTECODE=1
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
cd "$(dirname "$venv")" # not where the package is
if [ -n "$all" ]; then
  for package in hypothesis mypy pandas matplotlib torch jax entmax; do
    "$venv/bin/python" -c "import $package" 2>/dev/null || install "$package" ||
      echo "not checked: pip cannot install $package, see $venv.log"
  done
  if "$venv/bin/python" -c 'import mypy' 2>/dev/null; then
    for version in 3.10 3.11 3.12 3.13; do
      (cd "$root" && "$venv/bin/python" -m mypy --config-file pyproject.toml --python-version "$version" \
        --python-executable "$venv/bin/python" --cache-dir "$venv/mypy")
    done
  fi
fi
exec "$venv/bin/python" -m unittest discover -s "$root/python/tests" -t "$root/python/tests"
