# SPDX-License-Identifier: Apache-2.0
"""Evaluations until the mean is below a target, medians of 31 runs: cma-es against pycma, and
cma-es:lr-adapt against the package `cmaes` with lr_adapt.

usage: compare_cma.py ES_RACE pycma|cmaes
Exit code 1 where the medians are more than 20 % apart.
"""

import subprocess
import sys
import warnings

import numpy as np

RUNS, MOST = 31, 200_000
# function, dimension, population, sigma, noise (a factor 1 + noise N(0, 1)), target
CASES = {
    "pycma": [
        ("sphere", 20, 12, 0.5, 0, 1e-8),
        ("ellipsoid", 20, 12, 0.5, 0, 1e-8),
        ("rosenbrock", 20, 12, 0.5, 0, 1e-8),
        ("sphere", 20, 64, 0.5, 0.3, 1e-4),
        ("ellipsoid", 20, 64, 0.5, 0.1, 1e-4),
        ("rosenbrock", 10, 64, 0.5, 0.03, 1e-2),
    ],
    # few members for their dimension: cmaes has the tutorial's damping for all, ours is pycma's
    "cmaes": [
        ("sphere", 10, 10, 0.5, 0, 1e-4),
        ("ellipsoid", 10, 10, 0.5, 0, 1e2),
        ("rosenbrock", 5, 10, 0.5, 0, 1e-1),
        ("sphere", 10, 10, 0.5, 0.3, 1e-4),
    ],
}


def value(function, x):
    if function == "rosenbrock":
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    n = len(x)
    weight = 1e6 ** (np.arange(n) / (n - 1)) if function == "ellipsoid" else np.ones(n)
    return np.sum(weight * x * x)


class Pycma:
    def __init__(self, start, sigma, population, seed):
        import cma

        options = {"popsize": population, "seed": seed, "verbose": -9, "maxfevals": MOST,
                   "tolfun": 0, "tolx": 0, "tolfunhist": 0, "tolflatfitness": 10**9,
                   "tolstagnation": 10**9, "tolupsigma": 1e300, "tolconditioncov": 1e300}
        self.es = cma.CMAEvolutionStrategy(start, sigma, options)
        self.ask, self.tell = self.es.ask, self.es.tell

    mean = property(lambda self: self.es.mean)


class Cmaes:
    def __init__(self, start, sigma, population, seed):
        from cmaes import CMA

        self.es = CMA(mean=start, sigma=sigma, population_size=population, seed=seed, lr_adapt=True)

    def ask(self):
        return [self.es.ask() for _ in range(self.es.population_size)]

    def tell(self, x, values):
        self.es.tell(list(zip(x, values)))

    mean = property(lambda self: self.es.mean)


def evaluations(make, case, seed):
    function, n, population, sigma, noise, target = case
    rng = np.random.default_rng(seed)
    es = make(np.zeros(n) if function == "rosenbrock" else np.ones(n), sigma, population, seed)
    made = 0
    while made < MOST and not value(function, es.mean) < target:
        x = es.ask()
        es.tell(x, [value(function, y) * (1 + noise * rng.standard_normal()) for y in x])
        made += population
    return made if value(function, es.mean) < target else -1


def main():
    warnings.simplefilter("ignore")
    peer, failed = sys.argv[2], 0
    strategy, make = {"pycma": ("cma-es", Pycma), "cmaes": ("cma-es:lr-adapt", Cmaes)}[peer]
    print(f"{'':40} mirrormap {peer:>9}  ratio   (median of {RUNS}, runs that did not arrive)")
    for case in CASES[peer]:
        words = [strategy, *(str(x) for x in case), str(RUNS)]
        ours = [int(x) for x in subprocess.check_output([sys.argv[1], *words], text=True).split()]
        theirs = [evaluations(make, case, seed) for seed in range(1, RUNS + 1)]
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
