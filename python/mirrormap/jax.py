# SPDX-License-Identifier: Apache-2.0
"""Projections, losses and divergences of mirror maps in JAX, with exact derivatives.

>>> import jax, jax.numpy as jnp, mirrormap.jax as mj
>>> scores = jnp.array([0.3, -0.5, 1.2])
>>> print([round(float(p), 4) for p in mj.project(scores, "l2")])
[0.05, 0.0, 0.95]
>>> print(jax.grad(lambda x: mj.project(x, "l2")[2])(scores) + 0)
[-0.5  0.   0.5]

A map is a `mirrormap.Map`, its name or file, or a `Potential`: a pytree of one array of parameters that
gradients flow to, made by `tsallis`, `piecewise`, `powers`, `neural`, or by `potential` of a map.

>>> print(jax.grad(lambda q: mj.project(jnp.array([0.0, 1.0]), mj.tsallis(q))[1])(1.5) > 0)
True

docs/python-autodiff.md is the guide.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from ._map import Map
from ._potentials import Calculus, Framework, Potential, parameters

__all__ = [
    "Potential",
    "bregman",
    "fenchel_young",
    "gradient",
    "log_project",
    "neural",
    "piecewise",
    "potential",
    "powers",
    "project",
    "tsallis",
]

jax.tree_util.register_dataclass(Potential, data_fields=["theta"], meta_fields=["kind"])

_calculus = Calculus(
    Framework(
        jnp,
        jax.lax.while_loop,
        lambda x: x.astype(jnp.int32),
        lambda values, like: jnp.asarray(values, like.dtype),
        jnp.asarray,
    )
)
tsallis, piecewise, powers, neural = _calculus.tsallis, _calculus.piecewise, _calculus.powers, _calculus.neural


@partial(jax.custom_jvp, nondiff_argnums=(0,))
@partial(jax.jit, static_argnums=0)
def _project(kind: str, theta: Array, scores: Array) -> tuple[Array, Array]:
    """Probabilities and their logarithms."""
    p, v = _calculus.solve(kind, theta, scores)
    return p, v


def _push(kind: str, primals: tuple[Array, Array], tangents: tuple[Any, Any]) -> tuple[Any, Any]:
    theta, scores = primals
    p, v = _project(kind, theta, scores)
    move = _dense(tangents[1], scores)
    if not isinstance(tangents[0], jax.custom_derivatives.SymbolicZero):
        move = move - jax.jvp(lambda t: _calculus.rise(kind, t, p, v), (theta,), (tangents[0],))[1]
    return (p, v), _calculus.push(kind, theta, p, v, move)


def _dense(tangent: Any, like: Array) -> Any:
    zero = isinstance(tangent, jax.custom_derivatives.SymbolicZero)
    return jnp.zeros_like(like) if zero else tangent


_project.defjvp(_push, symbolic_zeros=True)


def potential(map: Map | str) -> Potential:
    """The parameters of a map as an array, e.g. to start learning from."""
    kind, theta = parameters(map)
    return Potential(kind, jnp.asarray(theta, float))


def _on(map: Map | str | Potential, like: Array) -> tuple[str, Array]:
    """The map's parameters in the precision of an array."""
    if not isinstance(map, Potential):
        kind, theta = parameters(map)
        return kind, jnp.asarray(theta, like.dtype)
    return map.kind, jnp.asarray(map.theta, like.dtype)


def _checked(values: ArrayLike, what: str) -> Array:
    """In the precision that is computed in: half precision in single."""
    x = jnp.asarray(values)
    if not jnp.issubdtype(x.dtype, jnp.floating):
        raise TypeError(f"{what}: expected an array of floating-point numbers, not {x.dtype}")
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"{what}: expected one number or more along the last axis, not shape {x.shape}")
    return x if x.dtype == jnp.float64 else x.astype(jnp.float32)


def _solved(scores: ArrayLike, map: Map | str | Potential) -> tuple[Array, Array]:
    x = _checked(scores, "scores")
    p, v = _project(*_on(map, x), x)
    return p, v


def project(scores: ArrayLike, map: Map | str | Potential) -> Array:
    """The policy p = max(phi(x + lambda), 0) of scores x over the last axis, with sum 1.

    Derivatives, forward and reverse, are exact where phi has them, also with respect to the parameters
    of a `Potential`; where phi has a kink they are those of one side, and 0 for probabilities that are 0. A score of
    -inf excludes its action. NaN or inf make their row NaN.
    """
    return _solved(scores, map)[0].astype(jnp.asarray(scores).dtype)


def log_project(scores: ArrayLike, map: Map | str | Potential) -> Array:
    """The logarithm of `project`, finite everywhere.

    It is computed from phi, so it is exact and has its derivative also where p itself underflows to 0. Where p is 0
    by definition, it is the logarithm of the type's smallest normal number (-87.3 in single, -708.4 in double
    precision) with derivative 0.
    """
    v: Array = _calculus.logarithm(_solved(scores, map)[1])
    return v.astype(jnp.asarray(scores).dtype)


def fenchel_young(scores: ArrayLike, target: ArrayLike, map: Map | str | Potential) -> Array:
    """The Fenchel-Young loss max_p (<x, p> - h(p)) + h(y) - <x, y> of scores x and distributions y, per row.

    At least 0, and 0 where y is the projection of x; convex in x with the derivative project(x) - y. For the negative
    entropy it is the Kullback-Leibler divergence of the softmax policy from y: cross-entropy for one-hot y.
    """
    x, y = jnp.broadcast_arrays(_checked(scores, "scores"), _checked(target, "target"))
    kind, theta = _on(map, x)
    p, v = _project(kind, theta, x)
    loss: Array = _calculus.fenchel_young(kind, theta, x, p, v, y)
    return loss.astype(jnp.asarray(scores).dtype)


def bregman(p: ArrayLike, q: ArrayLike, map: Map | str | Potential) -> Array:
    """The Bregman divergence D(p, q) = h(p) - h(q) - <grad h(q), p - q>, per row.

    inf where q_a = 0 < p_a and phi^-1(0) = -inf. The derivative at p_a = 0 is taken as 0 where it is not finite, that
    with respect to q_a = 0 always.
    """
    left, right = jnp.broadcast_arrays(_checked(p, "p"), _checked(q, "q"))
    kind, theta = _on(map, left)
    divergence: Array = _calculus.bregman(kind, theta, left, right)
    return divergence.astype(jnp.asarray(p).dtype)


def gradient(p: ArrayLike, map: Map | str | Potential) -> Array:
    """phi^-1(p) - phi^-1(1), element by element: the gradient of h up to a constant, which no policy sees.

    Its projection is p. At 0 possibly -inf.
    """
    x = _checked(p, "p")
    result: Array = _calculus.gradient(*_on(map, x), x)
    return result.astype(jnp.asarray(p).dtype)
