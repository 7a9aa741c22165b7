#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The package as others get it, with tests/python/snippet.py run in each place:
#
#   fresh   `pip install .` into a fresh virtual environment
#   chroot  the wheel of scripts/wheel in a minimal Debian (debootstrap), which has Python with venv and
#           no compiler and no library of ours
#
# Exit code 77, and why, without network; the chroot also without root or debootstrap.
#
# usage: tests/python/wheel.sh FOLDER [fresh|chroot]; without the last: both
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ $# -eq 1 ]; then
  "$0" "$1" fresh
  exec "$0" "$1" chroot
fi
folder=$(realpath -m "$1") place=$2
others=(matplotlib pandas)
unset PYTHONPATH MIRRORMAP_LIBRARY MIRRORMAP_DATA
mkdir -p "$folder"

skip() {
  echo "skipped: Python: $1"
  exit 77
}
python3 -m pip download --quiet --no-deps --retries 1 --timeout 15 --dest "$folder/wheels" 'numpy>=1.23' >"$folder/network.log" 2>&1 ||
  skip "no network for pip, see $folder/network.log"

case $place in
  fresh)
    rm -rf "$folder/fresh" "$folder/fresh-runs"
    python3 -m venv "$folder/fresh"
    "$folder/fresh/bin/python" -m pip install --quiet --disable-pip-version-check "${root}[gymnasium]" "${others[@]}"
    mkdir "$folder/fresh-runs"
    cd "$folder/fresh-runs" # not where the source is
    exec "$folder/fresh/bin/python" "$root/tests/python/snippet.py"
    ;;
  chroot)
    [ "$(id -u)" -eq 0 ] || skip 'a chroot needs root'
    command -v debootstrap >/dev/null || skip 'debootstrap is not installed'
    (cd "$root" && make --no-print-directory wheel)
    wheel=$(find "$root/build/wheel" -maxdepth 1 -name 'mirrormap-*.whl')
    suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    if ! [ -e "$folder/chroot/complete" ]; then
      rm -rf "$folder/chroot"
      debootstrap --variant=minbase --include=python3,python3-venv "$suite" "$folder/chroot" >"$folder/debootstrap.log" 2>&1 ||
        skip "debootstrap failed, see $folder/debootstrap.log"
      touch "$folder/chroot/complete"
    fi
    # with /proc, by which the loader finds the libraries beside the program
    # shellcheck disable=SC2016
    inside() {
      unshare --mount --fork bash -euc 'mount -t proc proc "$0/proc"; exec chroot "$0" /usr/bin/env -i \
        PATH=/usr/bin:/bin HOME=/root LANG=C.UTF-8 "$@"' "$folder/chroot" "$@"
    }
    version=$(inside python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    rm -rf "$folder/chroot/root/work" "$folder/wheels"
    mkdir "$folder/chroot/root/work"
    python3 -m pip download --quiet --only-binary=:all: --python-version "$version" --dest "$folder/wheels" \
      "${wheel}[gymnasium]" "${others[@]}"
    cp -r "$folder/wheels" "$root/tests/python/snippet.py" "$folder/chroot/root/work"
    echo "$(basename "$wheel") in $(inside sh -c 'cat /etc/debian_version; dpkg-query -W | wc -l' | paste -sd' ' | sed 's/ /, /') Debian packages"
    # shellcheck disable=SC2016
    inside bash -euc '
      cd /root/work
      for tool in cc gcc clang ld cmake; do ! command -v $tool; done
      python3 -m venv venv
      venv/bin/python -m pip install --quiet --no-index --find-links wheels "mirrormap[gymnasium]" '"${others[*]}"'
      venv/bin/python snippet.py'
    ;;
  *)
    echo "unknown place '$place': expected fresh or chroot" >&2
    exit 2
    ;;
esac
