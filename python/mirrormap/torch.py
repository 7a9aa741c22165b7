# SPDX-License-Identifier: Apache-2.0
"""Projections, losses and divergences of mirror maps in PyTorch, with exact derivatives.

>>> import torch, mirrormap.torch as mt
>>> scores = torch.tensor([0.3, -0.5, 1.2], requires_grad=True)
>>> p = mt.project(scores, "l2")
>>> p[2].backward()
>>> p.detach(), scores.grad.round(decimals=3) + 0
(tensor([0.0500, 0.0000, 0.9500]), tensor([-0.5000,  0.0000,  0.5000]))

A map is a `mirrormap.Map`, its name or file, or a `Potential`: an array of parameters that gradients
flow to, made by `tsallis`, `piecewise`, `powers`, `neural`, or by `potential` of a map.

>>> q = torch.tensor(1.5, requires_grad=True)
>>> mt.project(torch.tensor([0.0, 1.0]), mt.tsallis(q))[1].backward()
>>> q.grad > 0
tensor(True)

docs/python-autodiff.md is the guide.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ._library import InputError
from ._map import Map
from ._potentials import Calculus, Framework, Potential, parameters, while_loop

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

_calculus = Calculus(
    Framework(
        torch,
        while_loop,
        lambda x: x.long(),
        lambda values, like: torch.as_tensor(values, dtype=like.dtype, device=like.device),
        torch.as_tensor,
    )
)
tsallis, piecewise, powers, neural = _calculus.tsallis, _calculus.piecewise, _calculus.powers, _calculus.neural


@functools.lru_cache(maxsize=32)
def _map_of(kind: str, theta: bytes) -> Map | None:
    """The library's map with these parameters; None where it has none."""
    numbers = np.frombuffer(theta)
    try:
        if kind == "piecewise":
            return Map.piecewise(numbers)
        if kind == "neural":
            w, c, u = np.split(numbers[:-2], 3)
            return Map.neural(w, c, u, float(numbers[-2]), float(numbers[-1]))
        w, a = numbers.reshape(2, -1)
        if w.size == 1 and w[0] == a[0] + 1 and a[0] != 0:
            return Map.tsallis(float(w[0]))
        return Map("l2") if w.tolist() == a.tolist() == [1] else Map.powers(w, a)
    except InputError:
        return None


def _solve_here(scores: Tensor, theta: Tensor, kind: str) -> tuple[Tensor, Tensor] | None:
    """By the library, which is many times faster on CPU; None where it cannot."""
    if scores.device.type != "cpu" or kind == "negentropy" or not scores.isfinite().all():
        return None
    map = _map_of(kind, theta.double().numpy().tobytes())
    if map is None:
        return None
    p = torch.from_numpy(map.project(scores.numpy()))
    v = p.log()
    underflow = (p < torch.finfo(p.dtype).tiny).any(-1) & _calculus.families[kind].bottomless(theta)
    if underflow.any():
        v[underflow] = _calculus.solve(kind, theta.to(p.dtype), scores[underflow])[1]
    return p, v


@torch.library.custom_op("mirrormap::project", mutates_args=())
def _solve(scores: Tensor, theta: Tensor, kind: str) -> tuple[Tensor, Tensor]:
    """Probabilities and their logarithms. Single precision is solved in double where the device has it."""
    scores, theta = scores.detach(), theta.detach()
    here = _solve_here(scores, theta, kind)
    if here is not None:
        return here
    dtype = scores.dtype if scores.device.type == "mps" else torch.float64
    p, v = _calculus.solve(kind, theta.to(dtype), scores.to(dtype))
    return p.to(scores.dtype, copy=True), v.to(scores.dtype, copy=True)


@_solve.register_fake
def _(scores: Tensor, theta: Tensor, kind: str) -> tuple[Tensor, Tensor]:
    return torch.empty_like(scores), torch.empty_like(scores)


@_solve.register_vmap
def _(info: Any, dims: Any, scores: Tensor, theta: Tensor, kind: str) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
    if dims[1] is None:
        return _solve(scores.movedim(dims[0], 0), theta, kind), (0, 0)
    of_scores = [scores] * info.batch_size if dims[0] is None else scores.unbind(dims[0])
    outputs = [_solve(x, t, kind) for x, t in zip(of_scores, theta.unbind(dims[1]), strict=True)]
    return (torch.stack([p for p, _ in outputs]), torch.stack([v for _, v in outputs])), (0, 0)


class _Project(torch.autograd.Function):
    """The operator with its derivative; both can be mapped by vmap."""

    generate_vmap_rule = True

    @staticmethod
    def forward(scores: Tensor, theta: Tensor, kind: str) -> tuple[Tensor, Tensor]:
        p, v = _solve(scores, theta, kind)
        return p, v

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, str], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(inputs[1], *output)
        ctx.kind = inputs[2]

    @staticmethod
    def backward(ctx: Any, on_p: Tensor, on_v: Tensor) -> tuple[Tensor, Tensor | None, None]:
        theta, p, v = ctx.saved_tensors
        on_scores = _calculus.pull(ctx.kind, theta.to(p.dtype), p, v, on_p, on_v)
        if not ctx.needs_input_grad[1]:
            return on_scores, None, None
        pull = torch.func.vjp(lambda t: _calculus.rise(ctx.kind, t.to(p.dtype), p, v), theta)[1]
        return on_scores, -pull(on_scores)[0], None


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _constant(map: Map | str) -> Potential:
    kind, theta = parameters(map)
    return Potential(kind, torch.as_tensor(theta))


def potential(map: Map | str) -> Potential:
    """The parameters of a map as a tensor in double precision, e.g. to start learning from."""
    result: Potential = _constant(map)
    return result


def _on(map: Map | str | Potential, like: Tensor) -> tuple[str, Tensor]:
    """The map's parameters on the device of a tensor."""
    if not isinstance(map, Potential):
        map = potential(map)
    return map.kind, map.theta.to(like.dtype if like.device.type == "mps" else map.theta.dtype).to(like.device)


def _checked(x: Tensor, what: str) -> Tensor:
    """x in the precision that is computed in: half precision in single."""
    if not isinstance(x, Tensor) or not x.dtype.is_floating_point:
        found = x.dtype if isinstance(x, Tensor) else type(x).__name__
        raise TypeError(f"{what}: expected a tensor of floating-point numbers, not {found}")
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"{what}: expected one number or more along the last axis, not shape {tuple(x.shape)}")
    return x if x.dtype == torch.float64 else x.float()


def _solved(scores: Tensor, map: Map | str | Potential) -> tuple[Tensor, Tensor]:
    x = _checked(scores, "scores")
    kind, theta = _on(map, x)
    p, v = _Project.apply(x, theta, kind)
    return p, v


def project(scores: Tensor, map: Map | str | Potential) -> Tensor:
    """The policy p = max(phi(x + lambda), 0) of scores x over the last axis, with sum 1.

    On the tensor's own device, of its shape and type. Derivatives are exact where phi has them, also
    with respect to the parameters of a `Potential`; where phi has a kink they are those of one side, and 0 for
    probabilities that are 0. A score of -inf excludes its action. NaN or inf make their row NaN.
    """
    return _solved(scores, map)[0].to(scores.dtype)


def log_project(scores: Tensor, map: Map | str | Potential) -> Tensor:
    """The logarithm of `project`, finite everywhere.

    It is computed from phi, so it is exact and has its derivative also where p itself underflows to 0. Where p is 0
    by definition, it is the logarithm of the type's smallest normal number (-87.3 in single, -708.4 in double
    precision) with derivative 0.
    """
    v: Tensor = _calculus.logarithm(_solved(scores, map)[1])
    return v.to(scores.dtype)


def fenchel_young(scores: Tensor, target: Tensor, map: Map | str | Potential) -> Tensor:
    """The Fenchel-Young loss max_p (<x, p> - h(p)) + h(y) - <x, y> of scores x and distributions y, per row.

    At least 0, and 0 where y is the projection of x; convex in x with the derivative project(x) - y. For the negative
    entropy it is the Kullback-Leibler divergence of the softmax policy from y: cross-entropy for one-hot y.
    """
    x, y = torch.broadcast_tensors(_checked(scores, "scores"), _checked(target, "target"))  # type: ignore[no-untyped-call]
    kind, theta = _on(map, x)
    p, v = _Project.apply(x, theta, kind)
    loss: Tensor = _calculus.fenchel_young(kind, theta.to(x.dtype), x, p, v, y)
    return loss.to(scores.dtype)


def bregman(p: Tensor, q: Tensor, map: Map | str | Potential) -> Tensor:
    """The Bregman divergence D(p, q) = h(p) - h(q) - <grad h(q), p - q>, per row.

    inf where q_a = 0 < p_a and phi^-1(0) = -inf. The derivative at p_a = 0 is taken as 0 where it is not finite, that
    with respect to q_a = 0 always.
    """
    left, right = torch.broadcast_tensors(_checked(p, "p"), _checked(q, "q"))  # type: ignore[no-untyped-call]
    kind, theta = _on(map, left)
    divergence: Tensor = _calculus.bregman(kind, theta.to(left.dtype), left, right)
    return divergence.to(p.dtype)


def gradient(p: Tensor, map: Map | str | Potential) -> Tensor:
    """phi^-1(p) - phi^-1(1), element by element: the gradient of h up to a constant, which no policy sees.

    Its projection is p. At 0 possibly -inf.
    """
    x = _checked(p, "p")
    kind, theta = _on(map, x)
    result: Tensor = _calculus.gradient(kind, theta.to(x.dtype), x)
    return result.to(p.dtype)
