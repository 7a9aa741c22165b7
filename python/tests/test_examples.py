# SPDX-License-Identifier: Apache-2.0
"""The examples, at a small size. Needs torch, jax, nbclient and matplotlib: make check-python."""

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

import numpy as np

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


@unittest.skipUnless(
    all(importlib.util.find_spec(name) for name in ("nbclient", "ipykernel", "matplotlib")),
    "needs nbclient, ipykernel and matplotlib",
)
class Notebook(unittest.TestCase):
    def test_maps(self) -> None:
        import nbclient
        import nbformat

        notebook = nbformat.read(EXAMPLES / "maps.ipynb", 4)
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        self.assertFalse(any(cell.outputs or cell.execution_count for cell in cells), "is kept without outputs")
        nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
        outputs = [output for cell in cells for output in cell.outputs]
        self.assertEqual(sum("image/png" in output.get("data", {}) for output in outputs), 4)
        # negentropy's divergence from the uniform policy
        p = np.exp([2.0, 1.0, 0.0, -1.0])
        p /= p.sum()
        text = "".join(output.get("text", "") for output in outputs)
        self.assertIn(f"{np.log(4) + np.sum(p * np.log(p)):14.5f}", text)


if __name__ == "__main__":
    unittest.main()
