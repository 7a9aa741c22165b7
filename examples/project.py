# SPDX-License-Identifier: Apache-2.0
"""Policies of a mirror map, read from its file, in NumPy alone: python3 project.py MAP.json 0.3 -0.5 1.2
Files of format mirrormap/1 and /2: a step size is left to the caller, and a map that moves is its last anchor."""
import json, sys
import numpy as np

def solve(f, target, low, high):
    """Where the increasing f reaches target, by bisection; for arrays, entry by entry."""
    for _ in range(64):
        middle = (low + high) / 2
        low, high = np.where(f(middle) < target, (middle, high), (low, middle))
    return high

def potential(m):
    """phi and phi^-1 of a map file's contents."""
    if "stages" in m: return potential(m["stages"][-1])
    if m["kind"] == "negentropy": return np.exp, np.log
    if m["kind"] == "l2": return lambda x: x, lambda p: p
    if m["kind"] == "tsallis":
        q, r = m["q"], (m["q"] - 1) / m["q"]
        return lambda x: np.maximum(r * x, 0) ** (1 / (q - 1)), lambda p: p ** (q - 1) / r
    if m["kind"] == "piecewise":
        x, p = np.append(0, np.cumsum(m["psi"])), np.linspace(0, 1, len(m["psi"]) + 1)
        return lambda at: np.interp(at, x, p), lambda at: np.interp(at, p, x)
    if m["kind"] == "powers":
        w, a = np.array(m["w"]), np.array(m["a"])
        def sum_of_powers(p):
            log = np.log(p)[..., None]
            return np.where(a == 0, log, np.expm1(a * log) / np.where(a == 0, 1, a)) @ w
        return lambda x: solve(sum_of_powers, x, np.zeros_like(x), np.ones_like(x)), sum_of_powers
    w, c, u = (np.array(m[name]) for name in "wcu")
    def inverse(p):  # neural: six kinds of unit, 21 of each
        z = np.split(np.multiply.outer(p, w) + c, 6, axis=-1)
        r = np.maximum(z, 0)
        s = z[0] ** 3, r[1] ** 2, np.sqrt(r[2]), np.cbrt(r[3]), np.log(r[4] + 1e-3), np.exp(z[5])
        return np.concatenate(s, axis=-1) @ u + m["a"] * p + m["b"] * np.log(p)
    return lambda x: solve(inverse, x, np.zeros_like(x), np.ones_like(x)), inverse

def projector(path):
    """Reads a map file. The function it returns takes scores x [..., actions] of any rank to the probabilities
    max(phi(x + lambda), 0) [..., actions] and the lambda [...] that makes them sum to 1 along the last axis."""
    with open(path, encoding="utf-8") as file: phi, inverse = potential(json.load(file))
    def project(scores):
        scores = np.asarray(scores, dtype=float)
        top = scores.max(axis=-1)
        below = scores - top[..., None]
        policy = lambda u: np.maximum(phi(below + u[..., None]), 0)
        low, high = (np.full(top.shape, inverse(p)) for p in (1 / scores.shape[-1], 1.0))
        u = solve(lambda u: policy(u).sum(axis=-1), 1, low, high)
        return policy(u) / policy(u).sum(axis=-1, keepdims=True), u - top
    return project

if __name__ == "__main__":
    print(*projector(sys.argv[1])(np.array(sys.argv[2:], dtype=float)))
