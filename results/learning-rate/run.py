#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does adapting the learning rate help under noise, at the size of our searches?

usage: run.py >runs.csv      (the Python package from this tree: MIRRORMAP_LIBRARY, PYTHONPATH=python)
       run.py --table runs.csv

Minimises f(x) = sum of w_j x_j^2 in 20 dimensions from x = 1 with sigma = 0.5 and 128 candidates,
as our short searches do. Candidates see f + s N(0, 1), with the same s in the whole search: the
standard deviation of f over the first generation times the noise. That gives the order of the first
generation a repeatability (Spearman's correlation of two evaluations) of 1/(1 + noise^2), about:
0.5 at noise 1, 0.2 at 2, 0.06 at 4; maps around l2 have 0.25 to 0.39 (docs/learning.md, Racing).
The numbers are f at the strategy's mean over f at its start, after so many generations.
"""
import csv
import statistics
import sys

N, POPULATION, SIGMA, RUNS, LENGTHS = 20, 128, 0.5, 31, (20, 60, 200)
STRATEGIES = "sep-cma-es", "cma-es", "cma-es:lr-adapt"


def run(strategy, weight, noise, seed):
    import mirrormap as mm
    import numpy as np

    start, draw = np.ones(N), np.random.default_rng(seed)
    first = np.square(start + SIGMA * np.random.default_rng(0).standard_normal((4096, N))) @ weight
    scale = noise * np.std(first)
    es = mm.ES(strategy, N, mean=start, sigma=SIGMA, population=POPULATION, seed=seed)
    for generation in range(1, max(LENGTHS) + 1):
        es.tell(-(np.square(es.ask()) @ weight + scale * draw.standard_normal(POPULATION)))
        if generation in LENGTHS:
            yield generation, float(np.square(es.mean) @ weight / weight.sum())


def measure():
    import mirrormap as mm
    import numpy as np

    print(f"# mirrormap {mm.__version__}, {RUNS} runs each")
    print("function,noise,strategy,seed,generation,left")
    functions = {"sphere": np.ones(N), "ellipsoid": 1e3 ** (np.arange(N) / (N - 1))}
    for function, weight in functions.items():
        for noise in (0, 1, 2, 4):
            for strategy in STRATEGIES:
                for seed in range(RUNS):
                    for generation, left in run(strategy, weight, noise, seed):
                        print(f"{function},{noise},{strategy},{seed},{generation},{left:.6g}", flush=True)


def table(path):
    cells = {}
    for row in csv.DictReader(line for line in open(path) if not line.startswith("#")):
        key = row["function"], row["noise"], row["strategy"], int(row["generation"])
        cells.setdefault(key, []).append(float(row["left"]))
    print("| function | noise | " + " | ".join(f"{g} generations" for g in LENGTHS) + " |")
    print("| --- " * (2 + len(LENGTHS)) + "|")
    for function, noise in dict.fromkeys(key[:2] for key in cells):
        parts = (", ".join(f"{statistics.median(cells[function, noise, s, g]):.2g}" for s in STRATEGIES) for g in LENGTHS)
        print(f"| {function} | {noise} | " + " | ".join(parts) + " |")


table(sys.argv[2]) if sys.argv[1:2] == ["--table"] else measure()
