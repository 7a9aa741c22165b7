# SPDX-License-Identifier: Apache-2.0
"""The examples, at a small size. Needs torch and jax: make check-python."""

import contextlib
import importlib.util
import io
import math
import pathlib
import sys
import tempfile
import unittest
from typing import Any
from unittest import mock

import mirrormap as mm

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"


def run(name: str, *arguments: str) -> tuple[Any, str]:
    """What main() of an example returns, and what it prints."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    output = io.StringIO()
    with mock.patch.object(sys, "argv", [name, *arguments]), contextlib.redirect_stdout(output):
        spec.loader.exec_module(module)
        result = module.main()
    return result, output.getvalue()


@unittest.skipUnless(importlib.util.find_spec("torch"), "needs PyTorch")
class Torch(unittest.TestCase):
    def test_ppo_mirror(self) -> None:
        for name in ("tsallis:1.5", "negentropy"):
            recent, text = run("ppo_mirror", "--map", name, "--steps", "12288", "--lr", "0.003")
            self.assertEqual(len(text.splitlines()), 6)
            self.assertGreater(recent, 35)  # a policy that has learned nothing: 22

    def test_learn_q(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/q.json"
            (q, loss), _ = run("learn_q", "--true-q", "1.6", "--steps", "400", "--save", path)
            self.assertAlmostEqual(mm.Map(path).parameters["q"], q)
        self.assertLess(loss, 1e-4)
        self.assertAlmostEqual(q, 1.6, delta=0.1)


@unittest.skipUnless(importlib.util.find_spec("jax"), "needs JAX")
class Jax(unittest.TestCase):
    def test_ampo(self) -> None:
        recent, text = run("ampo", "--map", "l2", "--steps", "12288", "--lr", "0.003")
        self.assertEqual(len(text.splitlines()), 6)
        self.assertTrue(math.isfinite(recent))
        self.assertGreater(recent, 28)


if __name__ == "__main__":
    unittest.main()
