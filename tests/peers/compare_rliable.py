# SPDX-License-Identifier: Apache-2.0
"""Scores of `mirrormap compare` and `export --rliable` against rliable's: interquartile means and
performance profiles to 1e-12, intervals within the noise of resampling.

usage: compare_rliable.py PROGRAM
Exit code 1 where they differ by more.
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from rliable import library, metrics

SAME, REPEATS, SIGMAS = 1e-12, 6, 6
EVERY = 20  # of the points of a profile: rliable takes its time for bands


def run(program, *words):
    return json.loads(subprocess.run([program, *words], check=True, capture_output=True).stdout)


def write_table(path, scores):
    with open(path, "w") as file:
        file.write("map,env,seed,final\n")
        for name, matrix in scores.items():
            for seed, row in enumerate(matrix):
                for env, x in enumerate(row):
                    file.write(f"{name},env{env},{seed},{float(x)!r}\n")


def estimates(scores, func, seed):
    """rliable's intervals of one statistic, [low, high] of each map."""
    np.random.seed(seed)  # its indices come from there, whatever random_state says
    return library.get_interval_estimates(scores, func, reps=2000)


def check_interval(name, what, mine, repeats, grain):
    """Ours, [2, ..], against several of rliable's, [repeat, 2, ..]."""
    off = np.abs(mine - repeats.mean(axis=0))
    allowed = SIGMAS * repeats.std(axis=0, ddof=1) * np.sqrt(1 + 1 / len(repeats)) + grain
    worst = np.max(off / allowed)
    print(f"  {name:10} {what}: off by at most {np.max(off):.1e}, {worst:.2f} of what is allowed")
    return worst <= 1


def check(title, compared, returns):
    """compared: what `compare --json` says. returns: map -> [run][env]."""
    scale = list(compared["scale"].values())
    zero, one = (np.array([s[k] for s in scale]) for k in ("zero", "one"))
    scores = {name: (x - zero) / (one - zero) for name, x in returns.items()}
    tau = np.array(compared["tau"])
    iqm = lambda x: np.array([metrics.aggregate_iqm(x)])
    profile = lambda x: library.score_distributions(x, tau[::EVERY])
    iqms = [estimates(scores, iqm, k) for k in range(REPEATS)]
    profiles = [estimates(scores, profile, k) for k in range(REPEATS)]
    good = True
    print(title, flush=True)
    for m in compared["maps"]:
        name, share = m["map"], m["profile"]
        off = max(abs(m["iqm"] - iqms[0][0][name][0]),
                  np.max(np.abs(np.array(share["share"]) - library.score_distributions(scores[name], tau))))
        print(f"  {name:10} IQM and profile: off by at most {off:.1e}")
        good &= bool(off <= SAME)
        good &= check_interval(name, "interval of the IQM", np.array([[m["iqm_low"]], [m["iqm_high"]]]),
                               np.array([r[1][name] for r in iqms]), 1e-12)
        # shares are multiples of 1/n
        good &= check_interval(name, "bands of the profile", np.array([share["low"][::EVERY], share["high"][::EVERY]]),
                               np.array([r[1][name] for r in profiles]), 1.01 / scores[name].size)
    return good


def tables():
    draw = np.random.default_rng(3)
    for runs, envs in ((10, 5), (64, 3)):
        yield f"normal, {runs} runs, {envs} environments", {
            name: mean + draw.standard_normal((runs, envs))
            for name, mean in (("l2", 1), ("mine", 1.3), ("negentropy", 0))}
        yield f"bounded, many equal, {runs} runs, {envs} environments", {
            name: np.minimum(500, np.round(scale * draw.exponential(size=(runs, envs))))
            for name, scale in (("l2", 200), ("mine", 500), ("negentropy", 90))}


def main():
    program, good = sys.argv[1], True
    with tempfile.TemporaryDirectory() as folder:
        for title, returns in tables():
            path = os.path.join(folder, "runs.csv")
            write_table(path, returns)
            good &= check(title, run(program, "compare", path, "--json"), returns)
        study = os.path.join(folder, "study")
        run(program, "transfer", "--maps", "tsallis:2", "--envs", "GridWorld-small,GridWorld-dense", "--seeds", "16",
            "--set", "steps=4096", "--out", study, "--quiet", "--json")
        exported = run(program, "export", study, "--rliable")["scores"]
        returns = {name: np.array(x, float) for name, x in exported.items()}
        good &= check("a transfer study", run(program, "compare", study, "--json"), returns)
    return not good


sys.exit(main())
