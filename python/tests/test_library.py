# SPDX-License-Identifier: Apache-2.0
"""What the package declares of the C library, against the list of the binary interface."""

import ctypes
import pathlib
import re
import unittest

from mirrormap import _library

INTERFACE = pathlib.Path(__file__).parents[2] / "tests/abi/interface.txt"


class Interface(unittest.TestCase):
    def test_structs(self) -> None:
        text = INTERFACE.read_text()
        for name, struct in _library.STRUCTS.items():
            with self.subTest(name):
                size = re.search(rf"^struct {name} size (\d+)$", text, re.M)
                assert size
                self.assertEqual(ctypes.sizeof(struct), int(size[1]))
                listed = re.findall(rf"^struct {name}\.(\w+) at (\d+) size (\d+)$", text, re.M)
                ours = [(f, getattr(struct, f).offset, getattr(struct, f).size) for f, *_ in struct._fields_]
                self.assertEqual(sorted(ours), sorted((f, int(at), int(size)) for f, at, size in listed))

    def test_functions(self) -> None:
        listed = set(re.findall(r"^symbol (\w+)$", INTERFACE.read_text(), re.M))
        self.assertEqual(set(_library.FUNCTIONS) - listed, set())


if __name__ == "__main__":
    unittest.main()
