# SPDX-License-Identifier: Apache-2.0
"""Projections of Tsallis' maps against entmax's.

phi(x) = max((q - 1) x / q, 0)^(1 / (q - 1)) on the simplex is alpha-entmax with alpha = q of x / q:
both are max((q - 1) x / q - tau, 0)^(1 / (q - 1)) with the tau that makes their sum 1.

usage: compare_entmax.py PROGRAM
Exit code 1 where a probability is more than 1e-6 off.
"""

import json
import os
import subprocess
import sys
import tempfile

import entmax
import numpy as np
import torch

MOST = 1e-6
QS = [0.5, 0.75, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 6]


def ours(program, q, scores):
    """The policies of rows of scores."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
        np.savetxt(file, scores, fmt="%.17g", delimiter=",")
    try:
        command = [program, "map", "project", "--map", f"tsallis:{q}", "--scores-file", file.name, "--json"]
        return np.array(json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["probs"])
    finally:
        os.unlink(file.name)


def main():
    program, failed = sys.argv[1], False
    draw = np.random.default_rng(1)
    exact = {1.5: entmax.entmax15, 2: entmax.sparsemax}
    for actions in (2, 3, 18):
        scores = np.concatenate([scale * draw.standard_normal((40, actions)) for scale in (0.1, 1, 10)])
        for q in QS:
            mine, x = ours(program, q, scores), torch.tensor(scores / q)
            peers = {"entmax_bisect": entmax.entmax_bisect(x, alpha=q, dim=-1, n_iter=100)}
            if q in exact:
                peers[exact[q].__name__] = exact[q](x, dim=-1)
            for name, theirs in peers.items():
                off = np.max(np.abs(mine - theirs.numpy()))
                bad = not off <= MOST
                failed |= bad
                print(f"q {q:<4} {actions:2} actions  {name:13} largest difference {off:.1e}{'  TOO FAR' if bad else ''}")
    return failed


sys.exit(main())
