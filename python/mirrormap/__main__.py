# SPDX-License-Identifier: Apache-2.0
"""`python -m mirrormap` and the script `mirrormap`: the program that comes with the package."""

import os
import sys

from mirrormap import _library


def main() -> int:
    """Becomes the program, with the arguments of this process."""
    path = _library.program()
    if path is None:
        print(f"mirrormap: no program beside the library {_library.lib._name}", file=sys.stderr)
        return 1
    os.execv(path, ["mirrormap", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
