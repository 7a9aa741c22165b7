#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills the tables of README.md, docs/findings.md and maps/README.md from the files beside this
one; draws docs/images/landscape.svg (heat maps) and docs/images/gridworld-eta.svg.

usage: results/findings.py

A table stands between `<!-- NAME -->` and `<!-- end -->` and is replaced as a whole. Python's
standard library does for the tables; the figures need gnuplot.
"""

import csv
import math
import random
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVS = ["CartPole-v1", "Acrobot-v1", "Asterix-MinAtar", "Freeway-MinAtar", "SpaceInvaders-MinAtar"]
SHORT = {e: e.split("-")[0] for e in ENVS}
PAPER = {"CartPole-v1": 499.93, "Acrobot-v1": -88.49, "Asterix-MinAtar": 30.22,
         "Freeway-MinAtar": 58.21, "SpaceInvaders-MinAtar": 170.24}


def rows(path):
    with open(HERE / path, newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def cells(path, key):
    """Final returns by key(row) and seed."""
    table = {}
    for row in rows(path):
        table.setdefault(key(row), {})[int(row["seed"])] = float(row["final"] or "nan")
    return table


# ---------------------------------------------------------------------------------------------
# Statistics, as src/study/stats/inference.c has them


def shown(x):
    """A mean with its standard error, rounded to the error's first two digits."""
    mean, sem = statistics.fmean(x), statistics.stdev(x) / math.sqrt(len(x))
    digits = max(0, 1 - math.floor(math.log10(sem))) if sem > 0 else 1
    return f"{mean:.{digits}f} ± {sem:.{digits}f}"


def interval(x, resamples=2000):
    """Of the mean, by the studentised bootstrap."""
    draw, n, mean, t = random.Random(1), len(x), statistics.fmean(x), []
    sem = statistics.stdev(x) / math.sqrt(n)
    for _ in range(resamples):
        sample = draw.choices(x, k=n)
        m = sum(sample) / n
        variance = sum((v - m) ** 2 for v in sample) / (n - 1)
        if variance > 0:
            t.append((m - mean) / math.sqrt(variance / n))
    t.sort()
    return mean - t[int(0.975 * (len(t) - 1))] * sem, mean - t[int(0.025 * (len(t) - 1))] * sem


def sign_flip_p(d, draws=10000):
    draw, far = random.Random(2), abs(sum(d)) - 1e-9
    n = 1 + sum(abs(sum(v if draw.random() < 0.5 else -v for v in d)) >= far for _ in range(draws))
    return n / (draws + 1)


def holm(p):
    order, least, out = sorted(range(len(p)), key=lambda i: p[i]), 0, [0] * len(p)
    for rank, i in enumerate(order):
        least = max(least, min(1, (len(p) - rank) * p[i]))
        out[i] = least
    return out


def paired(a, b):
    seeds = sorted(a.keys() & b.keys())
    return [a[s] - b[s] for s in seeds]


def worst_quarter(x):
    x = sorted(x)
    return statistics.fmean(x[:math.ceil(len(x) / 4)])


# ---------------------------------------------------------------------------------------------
# Tables


def table(head, body):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in body])


def against_negentropy(path, corner, envs):
    """Maps x environments; + and - mark paired differences to negentropy."""
    data = cells(path, lambda r: (r["env"], r["map"]))
    body = []
    for m in dict.fromkeys(m for _, m in data):
        line = [m]
        for e in envs:
            text = shown(list(data[e, m].values()))
            if m != "negentropy":
                low, high = interval(paired(data[e, m], data[e, "negentropy"]))
                text += " +" if low > 0 else " -" if high < 0 else ""
            line.append(text)
        body.append(line)
    return table([corner] + [e.split("-")[0] for e in envs], body)


def closed_forms(target):
    return against_negentropy(f"closed-forms/{target}/runs.csv", f"target={target}", ENVS)


def others():
    return against_negentropy("other-environments/runs.csv", "map",
                              ["MountainCar-v0", "Breakout-MinAtar", "Seaquest-MinAtar"])


def landscape(env, target):
    data = cells(f"landscape/{env}-{target}.csv", lambda r: (float(r["eta"]), r["map"]))
    return {cell: statistics.fmean(x.values()) for cell, x in data.items()}


def best_cells():
    body = []
    for target in ("paper", "code"):
        for e in ENVS:
            found = cells(f"landscape/best/{e}-{target}.csv", lambda r: (r["eta"], r["map"]))
            (eta, name), x = next(iter(found.items()))
            x = list(x.values())
            body.append([target, SHORT[e], name.split(":")[1], eta, shown(x),
                         f"{worst_quarter(x):.4g}", f"{PAPER[e]:g}"])
    return table(["target", "environment", "q", "eta", "return", "worst quarter",
                  "the paper's learned map"], body)


def leave_one_out():
    """(q, eta) chosen on four environments by the mean of scores scaled to [0, 1] per landscape."""
    body = []
    for target in ("paper", "code"):
        all_of = {e: landscape(e, target) for e in ENVS}
        unit = {}
        for e, land in all_of.items():
            low, high = min(land.values()), max(land.values())
            unit[e] = {cell: (v - low) / (high - low) for cell, v in land.items()}
        for e in ENVS:
            others = [o for o in ENVS if o != e]
            cell = max(all_of[e], key=lambda c: sum(unit[o][c] for o in others))
            best = max(all_of[e], key=all_of[e].get)
            body.append([target, SHORT[e], f"{cell[1].split(':')[1]}, {cell[0]:g}",
                         f"{all_of[e][cell]:.4g}", f"{best[1].split(':')[1]}, {best[0]:g}",
                         f"{all_of[e][best]:.4g}"])
    return table(["target", "left out", "q, eta chosen on the others", "return there",
                  "its own best q, eta", "return"], body)


def control_runs(env, key):
    path = f"search/fresh/controls-{env}.csv"
    return cells(path, key) if (HERE / path).exists() else {}


def ppo_runs(env):
    return next(iter(cells(f"search/fresh/ppo-{env}.csv", lambda r: "ppo").values()))


def searches():
    body, tests = [], []
    for e in ENVS:
        learned = cells(f"search/fresh/{e}.csv", lambda r: r["map"])
        tuned = {"ppo": ppo_runs(e), **control_runs(e, lambda r: r["control"])}
        for name, x in learned.items():
            line = [name, shown(list(x.values())), f"{worst_quarter(x.values()):.4g}"]
            for control in ("tsallis:tuned-q-eta", "l2:tuned-eta", "negentropy:tuned-eta", "ppo"):
                line.append(paired(x, tuned[control]) if control in tuned else None)
                if line[-1]:
                    tests.append(sign_flip_p(line[-1]))
            body.append(line)
    p = iter(holm(tests))
    for line in body:
        for i in range(3, len(line)):
            if not line[i]:
                line[i] = ""
                continue
            low, high = interval(line[i])
            mark = " *" if next(p) < 0.05 else ""
            line[i] = f"{statistics.fmean(line[i]):+.3g} [{low:.3g}, {high:.3g}]{mark}"
    return table(["search", "return", "worst quarter", "minus Tsallis, q and eta tuned",
                  "minus l2, eta tuned", "minus negentropy, eta tuned", "minus PPO"], body)


def controls():
    body = []
    for e in ENVS:
        data = control_runs(e, lambda r: (r["control"], r["eta"], r["map"]))
        for (name, eta, m), x in data.items():
            label = name if m in name else f"{name} (q = {m.split(':')[1]})"
            body.append([SHORT[e], label, eta, shown(list(x.values())),
                         f"{worst_quarter(x.values()):.4g}"])
        x = ppo_runs(e).values()
        body.append([SHORT[e], "PPO, 32 seeds", "", shown(list(x)), f"{worst_quarter(x):.4g}"])
    return table(["environment", "control", "eta", "return", "worst quarter"], body)


def grid_world():
    return cells("gridworld/runs.csv", lambda r: (r["map"], float(r["eta"])))


def grid_world_table():
    """Maps of the searches and the best eta of l2 and negentropy, against l2 at the preset's eta."""
    data = grid_world()
    preset = data["l2", 0.1]
    best = {m: max((k for k in data if k[0] == m), key=lambda k: statistics.fmean(data[k].values()))
            for m in ("l2", "negentropy")}
    chosen = [k for k in data if k[1] == 0.1] + [k for k in best.values() if k[1] != 0.1]
    body = []
    for k in sorted(chosen, key=lambda k: (k[0] in best, k)):
        d = paired(data[k], preset)
        text = f"{statistics.fmean(d):+.4f} [%.4f, %.4f]" % interval(d) if any(d) else ""
        body.append([k[0], f"{k[1]:g}", shown(list(data[k].values())), text])
    return table(["map", "eta", "return", "minus l2 at eta 0.1"], body)


def shape():
    """Each learned map at its own tuned eta: minus l2 at its tuned eta is what the shape brings."""
    body = []
    for e in ENVS:
        if not (HERE / f"shape/{e}.csv").exists():
            continue
        tuned = control_runs(e, lambda r: r["control"])
        before = cells(f"search/fresh/{e}.csv", lambda r: r["map"])
        for (name, eta), x in cells(f"shape/{e}.csv", lambda r: (r["map"], r["eta"])).items():
            line = [name, eta, shown(list(x.values())), f"{worst_quarter(x.values()):.4g}"]
            for other in (before[name], tuned["l2:tuned-eta"], tuned["tsallis:tuned-q-eta"]):
                d = paired(x, other)
                low, high = interval(d) if any(d) else (0, 0)
                line.append(f"{statistics.fmean(d):+.3g} [{low:.3g}, {high:.3g}]")
            body.append(line)
    return table(["map", "its tuned eta", "return", "worst quarter", "minus itself at eta 0.9",
                  "minus l2, eta tuned", "minus Tsallis, q and eta tuned"], body)


def robustness():
    """A learned map and the tuned controls with one setting changed at a time."""
    names = ["learned", "tsallis-tuned-q", "l2-tuned", "negentropy-tuned"]
    body = []
    for name in ("CartPole-v1-1", "Acrobot-v1-3"):
        data = cells(f"robustness/{name}.csv", lambda r: (r["setting"], r["map"]))
        settings = list(dict.fromkeys(k for k, _ in data))
        for setting in sorted(settings, key=lambda k: (k != "as-is", k.split("=")[0],
                                                       float(k.split("=")[-1]) if "=" in k else 0)):
            body.append([name, setting] + [shown(list(data[setting, m].values())) for m in names])
    return table(["map", "setting", "learned", "Tsallis, tuned", "l2, tuned", "negentropy, tuned"],
                 body)


# Of the searches of an environment the one whose map was furthest ahead of l2 on its own validation
# seeds.
SHIPPED = {"Asterix-MinAtar": ("asterix", 2), "Freeway-MinAtar": ("freeway", 1),
           "SpaceInvaders-MinAtar": ("space-invaders", 3)}


def shipped():
    body = []
    for e, (name, search) in SHIPPED.items():
        x = cells(f"search/fresh/{e}.csv", lambda r: r["map"])[f"{e}-{search}"]
        tuned = control_runs(e, lambda r: r["control"]).get("tsallis:tuned-q-eta")
        text = ""
        if tuned:
            d = paired(x, tuned)
            low, high = interval(d)
            text = f"{statistics.fmean(d):+.3g} [{low:.3g}, {high:.3g}]"
        body.append([name, shown(list(x.values())), f"{worst_quarter(x.values()):.4g}", text])
    return table(["map", "return", "worst quarter", "minus tuned Tsallis"], body)


def overview():
    """What the README shows: closed forms, the best cell of (q, eta), maps of the searches."""
    forms = cells("closed-forms/paper/runs.csv", lambda r: (r["env"], r["map"]))
    body = []
    for e in ENVS:
        best = cells(f"landscape/best/{e}-paper.csv", lambda r: (r["map"], r["eta"]))
        (name, eta), x = next(iter(best.items()))
        found = cells(f"search/fresh/{e}.csv", lambda r: r["map"])
        body.append([e, shown(list(ppo_runs(e).values())),
                     shown(list(forms[e, "negentropy"].values())),
                     shown(list(forms[e, "l2"].values())),
                     f"{shown(list(x.values()))} ({name.split(':')[1]}, {eta})",
                     ", ".join(shown(list(y.values())) for y in found.values())])
    return table(["environment", "PPO, 32 seeds", "negentropy", "l2", "Tsallis, best (q, eta)",
                  "maps found by search from l2"], body)


# ---------------------------------------------------------------------------------------------
# Heat maps


def heat_maps(out):
    script = [f"set terminal svg size 1900,820 font 'DejaVu Sans,13'; set output '{out}'",
              "set multiplot layout 2,5; unset key; unset colorbox",
              "set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#fde725')",
              "set tics scale 0"]
    for target in ("paper", "code"):
        for e in ENVS:
            land = landscape(e, target)
            etas = sorted({c[0] for c in land})
            qs = sorted({float(c[1].split(":")[1]) for c in land})
            script.append("$d << EOD")
            for i, q in enumerate(qs):
                for j, eta in enumerate(etas):
                    value = next(v for c, v in land.items()
                                 if c[0] == eta and float(c[1].split(":")[1]) == q)
                    script.append(f"{i} {j} {value} {value:.{3 if abs(value) >= 10 else 2}g}")
            script.append("EOD")
            best = max(land, key=land.get)
            spot = (qs.index(float(best[1].split(":")[1])), etas.index(best[0]))
            middle = (min(land.values()) + max(land.values())) / 2
            script += [
                f"set title '{SHORT[e]}, target={target}'",
                "set xtics font ',11' (%s)" % ", ".join(f"'{q:g}' {i}" for i, q in enumerate(qs)),
                "set ytics (%s)" % ", ".join(f"'{y:g}' {i}" for i, y in enumerate(etas)),
                "set xlabel 'q'; set ylabel 'eta'",
                f"set xrange [-0.5:{len(qs) - 0.5}]; set yrange [-0.5:{len(etas) - 0.5}]",
                f"set object 1 rectangle center {spot[0]},{spot[1]} size 0.94,0.94 front "
                "fillstyle empty border lc rgb '#d62728' lw 3",
                "plot $d using 1:2:3 with image pixels, "
                f"$d using 1:2:4:($3 > {middle} ? 0x000000 : 0xffffff) with labels "
                "font ',9' textcolor rgb variable",
            ]
    script.append("unset multiplot")
    subprocess.run(["gnuplot"], input="\n".join(script), text=True, check=True)


def grid_world_figure(out):
    data = grid_world()
    script = [f"set terminal svg size 720,430 font 'DejaVu Sans,13'; set output '{out}'",
              "set logscale x; set xrange [0.02:1]; set xtics (0.025, 0.05, 0.1, 0.2, 0.4, 0.8)",
              "set xlabel 'step size eta'; set ylabel 'final return, mean of 256 tasks'",
              "set key bottom center; set grid lc rgb '#dddddd'"]
    for name in ("negentropy", "l2"):
        script.append(f"${name} << EOD")
        for (m, eta), x in sorted(data.items()):
            if m == name:
                x = list(x.values())
                script.append(f"{eta} {statistics.fmean(x)}")
        script.append("EOD")
    script.append("$learned << EOD")
    # side by side, or nine points would be one
    learned = sorted(k for k in data if k[0] not in ("l2", "negentropy"))
    for i, k in enumerate(learned):
        script.append(f"{k[1] * 1.03 ** (i - 4)} {statistics.fmean(data[k].values())}")
    script += ["EOD",
               "plot $negentropy with linespoints lw 2 pt 7 dt '-' lc rgb '#d55e00' title 'negentropy', "
               "$l2 with linespoints lw 2 pt 5 dt '.' lc rgb '#009e73' title 'l2', "
               "$learned with points pt 9 ps 0.9 lc rgb '#0072b2' "
               "title 'nine learned maps, all at eta = 0.1'"]
    subprocess.run(["gnuplot"], input="\n".join(script), text=True, check=True)


MADE = {"closed forms, paper": lambda: closed_forms("paper"),
        "closed forms, code": lambda: closed_forms("code"), "best cells": best_cells,
        "leave one out": leave_one_out, "searches": searches, "controls": controls,
        "other environments": others, "overview": overview,
        "shipped": shipped, "shape": shape, "robustness": robustness,
        "grid-world": grid_world_table}


def fill(page):
    text = page.read_text()
    for name, make in MADE.items():
        begin = f"<!-- {name} -->\n"
        if begin in text:
            head, tail = text.split(begin)
            text = head + begin + "\n" + make() + "\n\n" + tail[tail.index("<!-- end -->"):]
    page.write_text(text)


def main():
    root = HERE.parent
    fill(root / "README.md")
    fill(root / "docs" / "findings.md")
    fill(root / "maps" / "README.md")
    heat_maps(root / "docs" / "images" / "landscape.svg")
    grid_world_figure(root / "docs" / "images" / "gridworld-eta.svg")


if __name__ == "__main__":
    main()
