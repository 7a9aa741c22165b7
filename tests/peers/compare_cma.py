# SPDX-License-Identifier: Apache-2.0
"""cma-es against pycma: evaluations until the mean is below a target, medians of 31 runs.

usage: compare_cma.py ES_RACE
Exit code 1 where the medians are more than 20 % apart.
"""

import subprocess
import sys
import warnings

import cma
import numpy as np

RUNS, MOST = 31, 200_000
# function, dimension, population, sigma, noise (a factor 1 + noise N(0, 1)), target
CASES = [
    ("sphere", 20, 12, 0.5, 0, 1e-8),
    ("ellipsoid", 20, 12, 0.5, 0, 1e-8),
    ("rosenbrock", 20, 12, 0.5, 0, 1e-8),
    ("sphere", 20, 64, 0.5, 0.3, 1e-4),
    ("ellipsoid", 20, 64, 0.5, 0.1, 1e-4),
    ("rosenbrock", 10, 64, 0.5, 0.03, 1e-2),
]


def value(function, x):
    if function == "rosenbrock":
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    n = len(x)
    weight = 1e6 ** (np.arange(n) / (n - 1)) if function == "ellipsoid" else np.ones(n)
    return np.sum(weight * x * x)


def pycma(case, seed):
    function, n, population, sigma, noise, target = case
    rng = np.random.default_rng(seed)
    start = np.zeros(n) if function == "rosenbrock" else np.ones(n)
    options = {"popsize": population, "seed": seed, "verbose": -9, "maxfevals": MOST,
               "tolfun": 0, "tolx": 0, "tolfunhist": 0, "tolflatfitness": 10**9,
               "tolstagnation": 10**9, "tolupsigma": 1e300, "tolconditioncov": 1e300}
    es = cma.CMAEvolutionStrategy(start, sigma, options)
    evaluations = 0
    while evaluations < MOST and not value(function, es.mean) < target:
        x = es.ask()
        es.tell(x, [value(function, y) * (1 + noise * rng.standard_normal()) for y in x])
        evaluations += population
    return evaluations if value(function, es.mean) < target else -1


def main():
    warnings.simplefilter("ignore")
    failed = 0
    print(f"{'':40} mirrormap     pycma  ratio   (median of {RUNS}, runs that did not arrive)")
    for case in CASES:
        words = [str(x) for x in case] + [str(RUNS)]
        ours = [int(x) for x in subprocess.check_output([sys.argv[1], *words], text=True).split()]
        theirs = [pycma(case, seed) for seed in range(1, RUNS + 1)]
        ours, theirs = (np.array(x, float) for x in (ours, theirs))
        lost = [int(np.sum(x < 0)) for x in (ours, theirs)]
        ours, theirs = (np.median(np.where(x < 0, np.inf, x)) for x in (ours, theirs))
        good = np.isfinite(ours) and np.isfinite(theirs) and 1 / 1.2 <= ours / theirs <= 1.2
        failed += not good
        name = f"{case[0]} n={case[1]} population={case[2]} noise={case[4]}"
        print(f"{name:40} {ours:9.0f} {theirs:9.0f} {ours / theirs:6.2f}   {lost[0]}, {lost[1]}"
              f"{'' if good else '   FAILED'}", flush=True)
    sys.exit(failed > 0)


main()
