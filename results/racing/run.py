#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well do returns in the course of training runs predict the order of candidates at the end?

usage: run.py PROGRAM FOLDER ENV SEEDS [option of transfer]...
       run.py --table FILE.csv...

Draws 32 candidates as the first generation of a search does: piecewise maps of 20 steps, the
logarithms of the steps drawn around those of l2 with standard deviation 0.5. Each is trained on
ENV with the same SEEDS seeds. FOLDER/ENV.csv gets the return at 10, 20, 50 and 100 % of each run,
all runs having the full length. Stopped, it goes on when it is called again. --table prints a line
of docs/learning.md for each file: Spearman's rank correlation with the end, and the share of the
final top half that is in the top half at that time.
"""
import csv, json, math, os, random, subprocess, sys

CANDIDATES, STEPS, SIGMA, FRACTIONS = 32, 20, 0.5, (0.1, 0.2, 0.5, 1)


def call(*words):
    return subprocess.run([str(w) for w in words], check=True, stdout=subprocess.PIPE, text=True).stdout


def make_maps(program, folder):
    psi = json.loads(call(program, "map", "new", "piecewise", "--from", "l2", "--n", STEPS))["psi"]
    draw, files = random.Random(1), []
    for i in range(CANDIDATES):
        steps = [p * math.exp(draw.gauss(0, SIGMA)) for p in psi]
        files.append(f"{folder}/candidate-{i:02d}.json")
        if not os.path.exists(files[-1]):
            call(program, "map", "new", "piecewise", "--psi", ",".join(map(repr, steps)), "--out", files[-1], "--quiet")
    return files


def run(program, folder, env, seeds, options):
    os.makedirs(folder, exist_ok=True)
    maps, out = make_maps(program, folder), f"{folder}/{env}"
    if os.path.exists(out):
        call(program, "transfer", "--resume", out)
    else:
        call(program, "transfer", "--maps", ",".join(maps), "--envs", env, "--controls", "none", "--seeds", seeds,
             "--seed", 40000, "--out", out, *options)
    curve = {}
    for row in csv.DictReader(call(program, "export", out, "--csv", "--table", "curve").splitlines()):
        curve.setdefault(int(row["job"]), []).append(float(row["value"]) if row["value"] else math.nan)
    with open(f"{folder}/{env}.csv", "w") as file:
        file.write("".join(line + "\n" for line in open(f"{out}/runs.csv").read().splitlines()
                           if line.startswith("#") and not line.startswith(("# time", "# maps"))))
        file.write("candidate,seed,at10,at20,at50,end\n")
        longest = max(map(len, curve.values()))
        for job, points in sorted(curve.items()):
            values = [points[int(f * longest) - 1] if int(f * longest) <= len(points) else math.nan for f in FRACTIONS]
            file.write(f"{job // int(seeds)},{40000 + job % int(seeds)}," + ",".join(map(repr, values)) + "\n")


def ranks(values):
    place = [0.0] * len(values)
    order = sorted(range(len(values)), key=lambda i: values[i])
    i = 0
    while i < len(order):
        j = i
        while j < len(order) and values[order[j]] == values[order[i]]:
            j += 1
        for k in range(i, j):
            place[order[k]] = (i + j - 1) / 2
        i = j
    return place


def spearman(x, y):
    x, y = ranks(x), ranks(y)
    n, mx, my = len(x), sum(x) / len(x), sum(y) / len(y)
    top = sum((a - mx) * (b - my) for a, b in zip(x, y))
    return top / math.sqrt(sum((a - mx) ** 2 for a in x) * sum((b - my) ** 2 for b in y) or math.inf)


def top_half(x):
    return set(sorted(range(len(x)), key=lambda i: -ranks(x)[i])[: len(x) // 2])


def table(path):
    rows = list(csv.DictReader(line for line in open(path) if not line.startswith("#")))
    seeds = sorted({r["seed"] for r in rows})
    def fitness(column, some):  # a run without a return, or that ended early, makes its candidate the last
        of = {}
        for r in rows:
            if r["seed"] in some:
                of.setdefault(int(r["candidate"]), []).append(float(r[column]))
        means = [sum(v) / len(v) for _, v in sorted(of.items())]
        return [-math.inf if math.isnan(m) else m for m in means]
    half = seeds[: len(seeds) // 2], seeds[len(seeds) // 2 :]
    end = fitness("end", seeds)
    cells = [os.path.basename(path)[:-4], str(len(seeds))]
    for column in ("at10", "at20", "at50"):
        x = fitness(column, seeds)
        kept = len(top_half(x) & top_half(end)) / (len(end) // 2)
        cells.append(f"{spearman(x, end):.2f}, {100 * kept:.0f} %")
    cells.append(f"{spearman(fitness('end', half[0]), fitness('end', half[1])):.2f}")
    print("| " + " | ".join(cells) + " |")


if sys.argv[1] == "--table":
    for path in sys.argv[2:]:
        table(path)
else:
    run(*sys.argv[1:5], sys.argv[5:])
