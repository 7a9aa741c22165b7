# SPDX-License-Identifier: Apache-2.0
"""Potentials and projections on arrays: one text for NumPy, torch and jax.numpy.

Everything is anchored, as in src/map/potential.h: F(p) = phi^-1(p) - phi^-1(1), so phi is 1 at 0. A
probability is a pair (p, v) with v = log p. v keeps its digits where p underflows, and is -inf where p
is 0 in exact arithmetic.

A potential is its kind and one array theta:

    negentropy  [0]     F(p) = log p
    powers      [2, K]  w and a: F(p) = sum_k w_k (p^a_k - 1) / a_k; l2 (w = 1, a = 1) and Tsallis
                        (w = q, a = q - 1) are of one term
    piecewise   [n]     psi
    neural      [380]   w, c, u (126 each), a, b

With d = phi'(x + lambda) = 1 / F'(p) on the support and 0 off it, p and theta move by

    dp = d (y - <d, y> / sum d),  y = dx - (dF/dtheta)(p) dtheta.

d and dF/dtheta are functions of the projection, which is differentiable itself: derivatives of any
order follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Callable

import numpy as np

from ._map import Map

Array = Any  # of the framework at hand

UNITS = 126  # of a neural map: 21 each of four powers, of which z^3 alone is not 0 for z < 0, the logarithm and exp
BLOCKS = (0, 84, 105, UNITS)  # where powers, logarithms and exponentials begin
EXPONENTS, BELOW = np.repeat([3, 2, 1 / 2, 1 / 3], 21), np.repeat([1, 0, 0, 0], 21)
LOG_UNIT_OFFSET = 1e-3
MOST_STEPS = 200
INFINITY = float("inf")


@dataclass(frozen=True)
class Potential:
    """A map as an array that gradients may flow to: its kind and parameters (see above)."""

    kind: str
    theta: Array


def while_loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], state: Any) -> Any:
    """The loop of frameworks that run at once."""
    while condition(state):
        state = body(state)
    return state


@dataclass(frozen=True)
class Framework:
    """What NumPy, torch and JAX do not have in common, beside the module with what they do."""

    xp: Any
    loop: Callable[..., Any]
    integers: Callable[[Array], Array]
    constant: Callable[[Any, Array], Array]  # values with the dtype and on the device of an array
    array: Callable[[Any], Array]


NUMPY = Framework(
    np, while_loop, lambda x: x.astype(np.int64), lambda values, like: np.asarray(values, like.dtype), np.asarray
)


Inverse = Callable[[Array], tuple[Array, Array]]

# p = e^v at which F is tabulated where phi is known by inversion only
_V = np.concatenate([np.linspace(-745, -np.log(1536), 512, endpoint=False), np.log(np.arange(1, 1537) / 1536)])


class Family:
    """What a kind is made of. Its arrays p, v have any shape, no p is 0."""

    def __init__(self, framework: Framework) -> None:
        self.framework, self.xp = framework, framework.xp

    def rise(self, theta: Array, p: Array, v: Array) -> Array:
        """F."""
        raise NotImplementedError

    def slopes(self, theta: Array, p: Array, v: Array) -> tuple[Array, Array]:
        """d = dp / dF and d / p = dv / dF."""
        raise NotImplementedError

    def integral(self, theta: Array, p: Array, v: Array) -> Array:
        """H(p), the integral of F from 1 to p."""
        raise NotImplementedError

    def at_zero(self, theta: Array) -> tuple[Array, Array]:
        """F and H at 0; F may be -inf, H inf."""
        raise NotImplementedError

    def bottomless(self, theta: Array) -> Array:
        """Whether F(0) = -inf."""
        return self.at_zero(theta)[0] == -INFINITY

    def scale(self, theta: Array) -> Array:
        """Size of the numbers that F is the difference of; F itself aside."""
        return 0.0

    def curve(self, theta: Array) -> Callable[[Array, Array], Array]:
        """F of (p, v), with what does not depend on them computed once."""
        return partial(self.rise, theta)

    def closed(self, theta: Array) -> Callable[[Array], Array] | None:
        """log phi at y <= 0, -inf where phi is 0; None where phi is known by inversion only."""
        return None

    def inverted(self, theta: Array, like: Array, actions: int, scale: Array) -> tuple[Array, tuple[Inverse, ...]]:
        """F(1/actions) or a little less, and log phi at y <= 0, -inf where phi is 0, with its derivative: first
        something close to it, then itself. A framework that compiles has a copy of F for each call of it in this
        text, which is the most of what a neural map takes to compile: there are two, in the table and in the loop."""
        xp, eps, rise = self.xp, _eps(self.xp, like), self.curve(theta)
        points = _V[_V > np.log(_tiny(xp, like))]
        grid = self.framework.constant(points, like)
        table, slopes = rise(xp.exp(grid), grid), self.slopes(theta, xp.exp(grid), grid)[1]
        bottomless = self.bottomless(theta)

        def cell(y: Array) -> tuple[Array, Array, Array, Array]:
            j = xp.clip(xp.searchsorted(table, y, side="right") - 1, 0, len(grid) - 2)
            low, high, width = grid[j], grid[j + 1], table[j + 1] - table[j]
            share = (y - table[j]) / width
            inside = (share >= 0) & (share <= 1)
            return low, high, low + (high - low) * xp.where(inside, share, 0.5), (high - low) / width

        def bounded(y: Array, v: Array, slope: Array) -> tuple[Array, Array]:
            above, under = y >= 0, y < table[0]
            below = xp.where(bottomless, grid[0] + (y - table[0]) * slopes[0], -INFINITY)  # straight on
            end = xp.where(above, slopes[-1], xp.where(bottomless, slopes[0], 0.0))
            v = xp.where(above, 0.0, xp.where(under, below, xp.where(y == y, v, y)))
            return v, xp.where(above | under, end, slope)

        def close(y: Array) -> tuple[Array, Array]:
            return bounded(y, *cell(y)[2:])

        def exact(y: Array) -> tuple[Array, Array]:
            """Bracketed Newton in log p, within a cell of the table."""
            noise = eps * (xp.abs(y) + scale)

            def body(state: Any) -> Any:
                v, before, low, high, last, active, k = state
                p = xp.exp(v)
                slope, excess = self.slopes(theta, p, v)[1], rise(p, v) - y
                size, step = xp.abs(excess), excess * slope
                low, high = xp.where(excess < 0, v, low), xp.where(excess > 0, v, high)
                done = xp.abs(step) <= 2 * eps * (1 + xp.abs(v)) + noise * slope
                following = v - step
                halve = ~done & (~((following >= low) & (following <= high)) | (size > 0.5 * last))
                following = xp.where(halve, low + 0.5 * (high - low), xp.clip(following, low, high))
                active = active & (size == size)  # NaN ends it
                more = active & ~done & (following != v)
                v, slope = xp.where(active, following, v), xp.where(active, slope, before)
                return v, slope, low, high, size, more, k + 1

            low, high, v, slope = cell(y)
            start = (v, slope, low, high, xp.full_like(v, INFINITY), (y >= table[0]) & (y < 0), 0)
            return bounded(y, *self.framework.loop(_unfinished(xp, 5), body, start)[:2])

        return table[int(np.searchsorted(points, -np.log(actions), side="right")) - 1], (close, exact)


class Powers(Family):
    def _power(self, a: Array, v: Array) -> Array:
        """(e^(a v) - 1) / a, with its derivatives at a = 0."""
        xp = self.xp
        t = xp.clip(a * v, None, _log_most(xp, v))
        near = xp.abs(t) < 0.25
        small, large = xp.where(near, t, 0.0), xp.where(near, 1.0, t)
        series = 1.0
        for k in range(13, 1, -1):
            series = 1 + small / k * series
        return v * xp.where(near, series, xp.expm1(large) / large)

    def rise(self, theta: Array, p: Array, v: Array) -> Array:
        return (theta[0] * self._power(theta[1], v[..., None])).sum(-1)

    def slopes(self, theta: Array, p: Array, v: Array) -> tuple[Array, Array]:
        xp = self.xp
        total = (theta[0] * xp.exp(xp.clip(theta[1] * v[..., None], None, _log_most(xp, v)))).sum(-1)
        per = 1 / xp.clip(total, float(xp.finfo(v.dtype).tiny) ** 0.5, None)
        return p * per, per

    def integral(self, theta: Array, p: Array, v: Array) -> Array:
        xp, w, a, p, v = self.xp, theta[0], theta[1], p[..., None], v[..., None]
        # two forms of the same, each away from its pole at a = -1 or 0
        first = a > -0.5
        upper, lower = xp.where(first, a, 0.0), xp.where(first, -1.0, a)
        above = (p * self._power(upper, v) - (p - 1)) / (upper + 1)
        below = (self._power(lower + 1, v) - (p - 1)) / lower
        return (w * xp.where(first, above, below)).sum(-1)

    def at_zero(self, theta: Array) -> tuple[Array, Array]:
        xp, w, a = self.xp, theta[0], theta[1]
        ends, converges = a > 0, a > -1
        f = xp.where(ends, -w / xp.where(ends, a, 1.0), xp.where(w > 0, -INFINITY, 0.0)).sum(-1)
        h = xp.where(converges, w / xp.where(converges, a + 1, 1.0), xp.where(w > 0, INFINITY, 0.0)).sum(-1)
        return f, h

    def closed(self, theta: Array) -> Callable[[Array], Array] | None:
        if theta.shape[1] > 1:
            return None
        xp, w, a = self.xp, theta[0, 0], theta[1, 0]
        flat = a == 0
        share = xp.where(flat, 1.0, a)
        return lambda y: xp.where(flat, y / w, xp.log1p(xp.clip(a * (y / w), -1, None)) / share)


class Negentropy(Family):
    def rise(self, theta: Array, p: Array, v: Array) -> Array:
        return v

    def slopes(self, theta: Array, p: Array, v: Array) -> tuple[Array, Array]:
        return p, self.xp.ones_like(p)

    def integral(self, theta: Array, p: Array, v: Array) -> Array:
        return p * v - (p - 1)

    def at_zero(self, theta: Array) -> tuple[Array, Array]:
        one = self.xp.ones_like(theta).sum()  # of none
        return one - INFINITY, one + 1


class Piecewise(Family):
    def _above(self, psi: Array) -> Array:
        """[n + 1] psi_j + .. + psi_n, the depths of the knots, summed from the top."""
        xp = self.xp
        return xp.concatenate([xp.flip(xp.cumsum(xp.flip(psi, (0,)), 0), (0,)), xp.zeros_like(psi[:1])])

    def _segment(self, psi: Array, p: Array) -> tuple[Array, Array]:
        """The segment of p, and how far p is from its right end in steps of 1/n."""
        xp, n = self.xp, psi.shape[0]
        j = xp.where(p == p, xp.clip(xp.floor(p * n), 0, n - 1), 0.0)  # NaN has no index
        return self.framework.integers(j), j + 1 - p * n

    def rise(self, theta: Array, p: Array, v: Array) -> Array:
        j, left = self._segment(theta, p)
        return -(self._above(theta)[j + 1] + theta[j] * left)

    def slopes(self, theta: Array, p: Array, v: Array) -> tuple[Array, Array]:
        d = 1 / (theta.shape[0] * theta[self._segment(theta, p)[0]])
        return d, d / self.xp.clip(p, _tiny(self.xp, p), None)

    def integral(self, theta: Array, p: Array, v: Array) -> Array:
        xp, n, above = self.xp, theta.shape[0], self._above(theta)
        j, left = self._segment(theta, p)
        whole = xp.flip(xp.cumsum(xp.flip(above[1:] + 0.5 * theta, (0,)), 0), (0,))
        whole = xp.concatenate([whole, xp.zeros_like(theta[:1])])
        return (whole[j + 1] + left * (above[j + 1] + 0.5 * left * theta[j])) / n

    def at_zero(self, theta: Array) -> tuple[Array, Array]:
        zero = 0 * theta[0]
        return self.rise(theta, zero, zero), self.integral(theta, zero, zero)

    def closed(self, theta: Array) -> Callable[[Array], Array]:
        xp, n, depth = self.xp, theta.shape[0], -self._above(theta)

        def log_phi(y: Array) -> Array:
            j = xp.clip(xp.searchsorted(depth, y, side="right") - 1, 0, n - 1)
            share = xp.clip((y - depth[j]) / theta[j], 0.0, 1.0)  # phi never decreases
            return xp.log((j + share) / n)

        return log_phi


class Neural(Family):
    def _parameters(self, theta: Array) -> tuple[Array, Array, Array, Array, Array]:
        w, c, u = (theta[i : i + UNITS] for i in range(0, 3 * UNITS, UNITS))
        return w, c, u, theta[3 * UNITS], theta[3 * UNITS + 1]

    def _unit(self, block: int, z: Array, order: int = 0) -> Array:
        """The units; of order 1 their derivative (at a kink the one from the left), of order -1 their integral."""
        xp = self.xp
        if block == 2:
            return xp.exp(xp.clip(z, None, _log_most(xp, z)))
        right = z > 0
        if block == 1:
            t, least = xp.where(right, z, 1.0) + LOG_UNIT_OFFSET, float(np.log(LOG_UNIT_OFFSET))
            if order == -1:
                value = t * xp.log(t) - t + LOG_UNIT_OFFSET * (1 - least)
                return xp.where(right, value, z * least)
            return xp.where(right, xp.log(t), least) if order == 0 else xp.where(right, 1 / t, 0.0)
        power, below = (self.framework.constant(x, z) for x in (EXPONENTS, BELOW))
        t = xp.where(z == 0, 1.0, xp.abs(z))
        value = t**power
        if order == 1:
            value = power * value / t
        elif order == -1:
            value = value * t / (power + 1)
        odd = -below if order == 0 else below
        return xp.where(right, value, xp.where(z == 0, 0.0, odd * value))

    def _blocks(self, theta: Array) -> list[tuple[int, Array, Array, Array]]:
        parts = self._parameters(theta)[:3]
        return [(i, *(x[low:high] for x in parts)) for i, (low, high) in enumerate(zip(BLOCKS, BLOCKS[1:]))]

    def curve(self, theta: Array) -> Callable[[Array, Array], Array]:
        blocks = [(i, w, c, u, self._unit(i, w + c)) for i, w, c, u in self._blocks(theta)]

        def rise(p: Array, v: Array) -> Array:
            total = theta[-2] * (p - 1) + theta[-1] * v
            for i, w, c, u, top in blocks:
                total = total + ((self._unit(i, w * p[..., None] + c) - top) * u).sum(-1)
            return total

        return rise

    def rise(self, theta: Array, p: Array, v: Array) -> Array:
        return self.curve(theta)(p, v)

    def slopes(self, theta: Array, p: Array, v: Array) -> tuple[Array, Array]:
        total = theta[-2]
        for i, w, c, u in self._blocks(theta):
            total = total + (self._unit(i, w * p[..., None] + c, 1) * (w * u)).sum(-1)
        steep = theta[-1] + p * total
        per = 1 / self.xp.clip(steep, float(self.xp.finfo(p.dtype).tiny) ** 0.5, None)
        return p * per, per

    def integral(self, theta: Array, p: Array, v: Array) -> Array:
        xp, a, b = self.xp, theta[-2], theta[-1]
        total = 0.5 * a * (p - 1) ** 2 + b * (p * v - (p - 1))
        move = (p - 1)[..., None]
        for i, w, c, u in self._blocks(theta):
            z, delta = w + c, w * move
            s, whole = self._unit(i, z), self._unit(i, z, -1)
            # hardly any way to go: the unit in the middle of it, which needs no division by w
            short = xp.abs(delta) <= _eps(xp, p) ** 0.5 * (1 + xp.abs(z))
            middle = self._unit(i, z + 0.5 * delta)
            mean = (self._unit(i, z + delta, -1) - whole) / xp.where(short, 1.0, delta)
            total = total + ((xp.where(short, middle, mean) - s) * (move * u)).sum(-1)
        return total

    def at_zero(self, theta: Array) -> tuple[Array, Array]:
        zero, b = 0 * theta[0], theta[-1]
        f = self.xp.where(b > 0, -INFINITY, self.rise(theta, zero, zero))
        return f, self.integral(theta, zero, zero)

    def bottomless(self, theta: Array) -> Array:
        return theta[-1] > 0

    def scale(self, theta: Array) -> Array:
        total = theta[-2]
        for i, w, c, u in self._blocks(theta):
            total = total + (self.xp.abs(self._unit(i, w + c)) * u).sum(-1)
        return total


def _eps(xp: Any, x: Array) -> float:
    return float(xp.finfo(x.dtype).eps)


def _tiny(xp: Any, x: Array) -> float:
    return float(xp.finfo(x.dtype).tiny)


def _log_most(xp: Any, x: Array) -> float:
    """The largest exponent that e^x is taken of."""
    return float(np.log(float(xp.finfo(x.dtype).max))) - 3


def _unfinished(xp: Any, active: int) -> Callable[[Any], Array]:
    """Whether a loop goes on: its state has what is still active there and the number of steps at its end."""
    return lambda state: xp.any(state[active]) & (state[-1] < MOST_STEPS)


class Calculus:
    """Projections and divergences in one framework."""

    def __init__(self, framework: Framework) -> None:
        self.framework, self.xp = framework, framework.xp
        kinds = {"negentropy": Negentropy, "powers": Powers, "piecewise": Piecewise, "neural": Neural}
        self.families = {name: kind(framework) for name, kind in kinds.items()}

    def solve(self, kind: str, theta: Array, x: Array) -> tuple[Array, Array]:
        """The projection (p, v) of scores x [..., A] and nothing to differentiate: F(p) = y with y = u + x - max x
        and the u that makes sum p = 1, by bracketed Newton. Where neighbouring u have sums on both sides of 1, p
        is the mixture of the two. A score of -inf gives p = 0, NaN and inf give NaN."""
        xp, family = self.xp, self.families[kind]
        below = x - xp.amax(x, axis=-1, keepdims=True)
        if kind == "negentropy":
            v = below - xp.log(xp.exp(below).sum(-1, keepdims=True))
            return xp.exp(v), v
        actions, eps, scale = x.shape[-1], _eps(xp, x), family.scale(theta)
        tolerance = eps * max(2.0, actions / 4)
        even, closed = self.framework.constant(1 / actions, x), family.closed(theta)
        phi: tuple[Inverse, ...]
        # least: the u where all scores are equal
        if closed is None:
            least, phi = family.inverted(theta, x, actions, scale)
        else:
            least, phi = family.rise(theta, even, xp.log(even)), (partial(self._closed, family, theta, closed),)
        noise = 2 * eps * (scale - least)

        def body(log_phi: Inverse, state: Any) -> Any:
            u, low, high, last, _, _, _, active, k = state
            v, per = log_phi(u + below)
            p = xp.exp(v)
            total, steep = p.sum(-1, keepdims=True), (p * per).sum(-1, keepdims=True)
            size, step = xp.abs(1 - total), (1 - total) / steep
            root = (size <= tolerance) | ((xp.abs(step) <= noise) & (size <= 16 * tolerance))
            low, high = xp.where(root | (total < 1), u, low), xp.where(root | (total > 1), u, high)
            # far from the root Newton on the sum's logarithm is better: potentials grow like exp, or slower
            following = u + xp.where(size > 0.125, -xp.log(total) * total / steep, step)
            halve = ~((following > low) & (following < high)) | (size > 0.5 * last)
            following = xp.where(root, u, xp.where(halve, low + 0.5 * (high - low), following))
            more = ~root & (following > low) & (following < high) & (size == size)
            after = following, low, high, size, v, per, step
            return *(xp.where(active, new, old) for new, old in zip(after, state)), active & more, k + 1

        u = zero = xp.zeros_like(below[..., :1])
        zeros = xp.zeros_like(below)
        for log_phi in phi:
            start = (u, zero + (1.01 * least - eps), zero, zero + INFINITY, zeros, zeros, zero, zero == 0, 0)
            u, low, high, _, v, per, step, _, _ = self.framework.loop(_unfinished(xp, 7), partial(body, log_phi), start)
        # what is left of the sum goes where phi is straight
        factor = xp.clip(1 + per * step, 0.5, 2.0)
        p, v = xp.exp(v) * factor, v + xp.log(factor)
        split = ~(low == high)

        def mix(state: Any) -> Any:
            p, v, _, k = state
            ends = xp.exp(phi[-1](xp.stack([low, high]) + below)[0])
            sums = ends.sum(-1, keepdims=True)
            share = xp.clip((1 - sums[0]) / (sums[1] - sums[0]), 0.0, 1.0)
            mixture = ends[0] + share * (ends[1] - ends[0])
            mixture = mixture / mixture.sum(-1, keepdims=True)
            return xp.where(split, mixture, p), xp.where(split, xp.log(mixture), v), split & False, k + 1

        p, v, _, _ = self.framework.loop(_unfinished(xp, 2), mix, (p, v, split, 0))
        return p, v

    def _closed(self, family: Family, theta: Array, closed: Callable[[Array], Array], y: Array) -> tuple[Array, Array]:
        v = closed(y)
        return v, self.slopes(family, theta, self.xp.exp(v), v)[1]

    def slopes(self, family: Family, theta: Array, p: Array, v: Array) -> tuple[Array, Array]:
        """d and d / p, 0 where p is."""
        xp = self.xp
        zero = v == -INFINITY
        d, per = family.slopes(theta, xp.where(zero, 1.0, p), xp.where(zero, 0.0, v))
        return xp.where(zero, 0.0, d), xp.where(zero, 0.0, per)

    def rise(self, kind: str, theta: Array, p: Array, v: Array) -> Array:
        """F, and 0 where p is."""
        xp = self.xp
        zero = v == -INFINITY
        inside = self.families[kind].rise(theta, xp.where(zero, 1.0, p), xp.where(zero, 0.0, v))
        return xp.where(zero, 0.0, inside)

    def push(self, kind: str, theta: Array, p: Array, v: Array, y: Array) -> tuple[Array, Array]:
        """How p and v move with y."""
        d, per = self.slopes(self.families[kind], theta, p, v)
        total = self._total(d)
        for _ in range(2):  # the second time for what rounding has left where one d is far above the others
            y = y - (d * y).sum(-1, keepdims=True) / total
        return d * y, per * y

    def pull(self, kind: str, theta: Array, p: Array, v: Array, on_p: Array, on_v: Array) -> Array:
        """The transpose of push."""
        d, per = self.slopes(self.families[kind], theta, p, v)
        total, z = self._total(d), d * on_p + per * on_v
        for _ in range(2):
            z = z - d * (z.sum(-1, keepdims=True) / total)
        return z

    def _total(self, d: Array) -> Array:
        total = d.sum(-1, keepdims=True)
        return self.xp.where(total == 0, 1.0, total)

    def logarithm(self, v: Array) -> Array:
        """v with the logarithm of the smallest normal number in place of -inf."""
        return self.xp.where(v == -INFINITY, float(np.log(_tiny(self.xp, v))), v)

    def _log(self, p: Array) -> Array:
        zero = p == 0
        return self.xp.where(zero, -INFINITY, self.xp.log(self.xp.where(zero, 1.0, p)))

    def _integral(self, family: Family, theta: Array, p: Array, v: Array) -> Array:
        """H; at 0 with the derivative F(0) where that is finite, else 0."""
        xp = self.xp
        zero, (slope, value) = v == -INFINITY, family.at_zero(theta)
        inside = family.integral(theta, xp.where(zero, 1.0, p), xp.where(zero, 0.0, v))
        return xp.where(zero, value + xp.where(slope == -INFINITY, 0.0, slope) * p, inside)

    def gradient(self, kind: str, theta: Array, p: Array) -> Array:
        """F, with its value at 0."""
        return self.xp.where(p == 0, self.families[kind].at_zero(theta)[0], self.rise(kind, theta, p, self._log(p)))

    def bregman(self, kind: str, theta: Array, p: Array, q: Array) -> Array:
        """D(p, q) over the last axis."""
        xp, family = self.xp, self.families[kind]
        v, w = self._log(p), self._log(q)
        slope = self.gradient(kind, theta, q)
        barrier = slope == -INFINITY  # phi^-1(0) = -inf
        change = xp.where(barrier, 0.0, slope) * (p - q)
        gap = self._integral(family, theta, p, v) - self._integral(family, theta, q, w) - change
        return xp.where(barrier, xp.where(p == 0, 0.0, INFINITY), gap).sum(-1)

    def fenchel_young(self, kind: str, theta: Array, x: Array, p: Array, v: Array, y: Array) -> Array:
        """max_p (<x, p> - h(p)) + h(y) - <x, y>, where (p, v) is the projection of x."""
        xp, family = self.xp, self.families[kind]
        out = x == -INFINITY
        below = xp.where(out, 0.0, x - xp.amax(x, axis=-1, keepdims=True))
        lost = xp.where(out & ~(y == 0), INFINITY, 0.0)
        change = self._integral(family, theta, y, self._log(y)) - self._integral(family, theta, p, v)
        return (below * (p - y) + change + lost).sum(-1)

    # What a potential is made of. Gradients flow from theta to the arguments, which are not checked: they may be
    # anything a function of other parameters gives.

    def tsallis(self, q: Array) -> Potential:
        """phi(x) = max((q-1) x / q, 0)^(1/(q-1)), q > 0; q = 1 is the negative entropy."""
        q = self._array(q)
        return Potential("powers", self.xp.stack([q, q - 1])[:, None])

    def piecewise(self, psi: Array) -> Potential:
        """len(psi) straight steps: phi(psi_1 + .. + psi_j) = j / len(psi); psi > 0."""
        return Potential("piecewise", self._array(psi))

    def powers(self, w: Array, a: Array) -> Potential:
        """phi^-1(p) = sum_k w_k (p^a_k - 1) / a_k, log p where a_k = 0; w >= 0, not all 0."""
        return Potential("powers", self.xp.stack([self._array(w), self._array(a)]))

    def neural(self, w: Array, c: Array, u: Array, a: Array, b: Array) -> Potential:
        """phi^-1(x) = sum_j u_j s_j(w_j x + c_j) + a x + b log x; w, c, u of 126 numbers, all but c at least 0."""
        parts = [self._array(part).reshape(-1) for part in (w, c, u, a, b)]
        return Potential("neural", self.xp.concatenate(parts))

    def _array(self, values: Array) -> Array:
        return values if hasattr(values, "dtype") else self.framework.array(values)


def parameters(map: Map | str) -> tuple[str, Array]:
    """The kind and theta of a map, in double; of one that moves, those of its last anchor."""
    map = Map(map) if isinstance(map, str) else map
    if map.kind == "negentropy":
        return map.kind, np.empty(0)
    if map.kind == "l2":
        return "powers", np.ones((2, 1))
    potential = getattr(Calculus(NUMPY), map.kind)(**map.parameters)
    return potential.kind, potential.theta
