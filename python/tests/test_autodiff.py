# SPDX-License-Identifier: Apache-2.0
"""Differentiable projections: against the C library, entmax, finite differences, and each other.

Needs torch, jax, entmax and hypothesis: make check-python.
"""

import doctest
import unittest

import numpy as np

try:
    import jax
    import jax.numpy as jnp
    import torch
    from entmax import entmax_bisect
    from hypothesis import given, settings
    from hypothesis import strategies as st
    from jax.test_util import check_grads
    from torch.autograd import gradcheck, gradgradcheck
except ImportError as missing:
    raise unittest.SkipTest(str(missing)) from None

import mirrormap as mm
import mirrormap.jax as mj
import mirrormap.torch as mt
from mirrormap._potentials import NUMPY, Calculus

jax.config.update("jax_enable_x64", True)
torch.set_num_threads(1)

SMOOTH = ["negentropy", "l2", "tsallis:0.5", "tsallis:1.5", "tsallis:3", "powers", "neural"]
MAPS = [*SMOOTH, "random-powers:1", "piecewise:7", "random:1"]


def scores(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def rows(actions: int) -> np.ndarray:
    """Scores from nearly tied to far apart, all equal, one far above the others."""
    spread = [scale * scores(8, actions) for scale in (1e-3, 0.1, 1, 10, 100)]
    return np.concatenate([*spread, np.zeros((1, actions)), 1e30 * np.eye(actions)[:1]])


def tensor(x: np.ndarray) -> torch.Tensor:
    return torch.tensor(x, dtype=torch.float64, requires_grad=True)


def finite_difference(f, x: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """The gradient of f, from C's double precision."""
    result = np.empty(x.size)
    for i in range(x.size):
        move = np.zeros(x.size)
        move[i] = step
        result[i] = (f(x + move.reshape(x.shape)) - f(x - move.reshape(x.shape))) / (2 * step)
    return result.reshape(x.shape)


class Values(unittest.TestCase):
    def test_against_the_library(self) -> None:
        for name in MAPS:
            for actions in (1, 3, 18):
                with self.subTest(name, actions=actions):
                    m, x = mm.Map(name), rows(actions)
                    want = m.project(x)
                    np.testing.assert_allclose(mt.project(torch.tensor(x), m), want, atol=1e-6, rtol=0)
                    np.testing.assert_allclose(mt.log_project(torch.tensor(x), m).exp(), want, atol=1e-6, rtol=0)
                    x32 = x.astype(np.float32)
                    want = m.project(x32.astype(float))
                    np.testing.assert_allclose(mt.project(torch.tensor(x32), m), want, atol=1e-5, rtol=0)

    def test_of_arrays_against_the_library(self) -> None:
        """What runs on GPUs and in JAX, in the frameworks' and NumPy's arrays."""
        for name in MAPS:
            with self.subTest(name):
                m, x = mm.Map(name), rows(6)
                kind, theta = mt.potential(m).kind, mt.potential(m).theta
                want = m.project(x)
                with np.errstate(all="ignore"):
                    for p, v in (
                        mt._calculus.solve(kind, theta, torch.tensor(x)),
                        Calculus(NUMPY).solve(kind, theta.numpy(), x),
                        mj._project(kind, jnp.array(theta.numpy()), jnp.array(x)),
                    ):
                        np.testing.assert_allclose(p, want, atol=1e-12)
                        np.testing.assert_allclose(np.exp(np.asarray(v)), want, atol=1e-12)
                        np.testing.assert_allclose(np.asarray(p).sum(-1), 1, rtol=1e-14)
                x32 = x.astype(np.float32)
                p32 = mj.project(x32, m)
                self.assertEqual(p32.dtype, np.float32)
                np.testing.assert_allclose(p32, m.project(x32.astype(float)), atol=1e-5, rtol=0)

    def test_steep(self) -> None:
        """Where neighbouring numbers lambda have sums on both sides of 1."""
        m = mm.Map.piecewise([1e-8, 1e6, 1e-8, 1e6, 1e-8])
        x = scores(20, 4) * 10.0 ** np.arange(-10, 10)[:, None]
        p, _ = mt._calculus.solve("piecewise", torch.tensor(m.parameters["psi"]), torch.tensor(x))
        np.testing.assert_allclose(p.sum(-1), 1, rtol=1e-12)
        np.testing.assert_allclose(p, m.project(x), atol=1e-6)

    def test_entmax(self) -> None:
        """The projection of tsallis:Q is alpha-entmax with alpha = Q of x / Q."""
        x = torch.tensor(np.concatenate([scale * scores(10, 5) for scale in (0.1, 1, 10)]))
        for q in (0.75, 1.25, 1.5, 2.0, 3.0):
            want = entmax_bisect(x / q, alpha=q, dim=-1, n_iter=100)
            np.testing.assert_allclose(mt.project(x, mm.Map.tsallis(q)), want, atol=1e-6)
            np.testing.assert_allclose(mj.project(x.numpy(), mm.Map.tsallis(q)), want, atol=1e-6)

    def test_tsallis_at_1_is_the_negentropy(self) -> None:
        x = torch.tensor(scores(4, 3))
        one = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
        np.testing.assert_allclose(mt.project(x, mt.tsallis(one)).detach(), x.softmax(-1), atol=1e-14)

    def test_log_survives_zeros(self) -> None:
        x = np.array([0.0, -1000.0, -2.0])
        for log in (mt.log_project(tensor(x), "negentropy").detach(), mj.log_project(x, "negentropy")):
            np.testing.assert_allclose(log, x - np.log1p(np.exp(-2.0)), rtol=1e-12)
        # underflows, and only in single precision
        y = torch.tensor([0.0, -1e25], requires_grad=True)
        log = mt.log_project(y, "tsallis:0.5")
        self.assertAlmostEqual(log[1].item(), -2 * np.log1p(1e25), delta=1e-3)
        log[1].backward()
        self.assertGreater(y.grad[1].item(), 0)
        for name, tiny in (("l2", np.log(np.finfo(float).tiny)),):
            at = tensor(x)
            log = mt.log_project(at, name)
            self.assertAlmostEqual(log[1].item(), tiny)
            self.assertEqual(float(mj.log_project(x, name)[1]), log[1].item())
            log.sum().backward()
            self.assertTrue(at.grad.isfinite().all())

    def test_excluded_and_broken_scores(self) -> None:
        for name in MAPS:
            with self.subTest(name):
                x = np.array([[0.5, -np.inf, 1.0], [0.5, np.nan, 1.0], [0.5, np.inf, 1.0], [-np.inf] * 3, [3.0, 2.0, 1.0]])
                at = tensor(x)
                p = mt.project(at, name)
                g = torch.autograd.grad(p[[0, 4]].square().sum(), at)[0]
                self.assertTrue(g[[0, 4]].isfinite().all() and (g[0, 1] == 0))
                for p in (p.detach().numpy(), np.asarray(mj.project(x, name))):
                    np.testing.assert_allclose(p[0, [0, 2]], mm.Map(name).project(x[0, [0, 2]]), atol=1e-12)
                    self.assertEqual(p[0, 1], 0)
                    self.assertTrue(np.isnan(p[1:4]).all())
                    np.testing.assert_allclose(p[4], mm.Map(name).project(x[4]), atol=1e-12)

    @settings(max_examples=60, deadline=None)
    @given(
        st.sampled_from(["negentropy", "l2", "tsallis:0.5", "tsallis:3", "piecewise:7"]),
        st.lists(st.integers(0, 3), max_size=3),
        st.integers(1, 5),
        st.data(),
    )
    def test_any_shape(self, name: str, leading: list[int], actions: int, data: st.DataObject) -> None:
        shape = (*leading, actions)
        number = st.one_of(st.floats(-1e300, 1e300), st.sampled_from([0.0, 1.0, -1.0]))
        size = int(np.prod(shape))
        x = np.array(data.draw(st.lists(number, min_size=size, max_size=size)), float).reshape(shape)
        with np.errstate(over="ignore"):  # differences beyond the range of doubles are -inf: p = 0
            p, _ = mt._calculus.solve(*vars(mt.potential(name)).values(), torch.tensor(x))
        self.assertEqual(tuple(p.shape), shape)
        self.assertEqual(tuple(mt.project(torch.tensor(x), name).shape), shape)
        np.testing.assert_allclose(p.sum(-1), np.ones(leading), rtol=1e-12)
        np.testing.assert_allclose(p, mm.Map(name).project(x), atol=1e-9)
        at = tensor(x)
        mt.project(at, name).square().sum().backward()
        self.assertTrue(at.grad.isfinite().all())
        np.testing.assert_allclose(at.grad.sum(-1), np.zeros(leading), atol=1e-9)

    def test_refusals(self) -> None:
        for project, array in ((mt.project, torch.tensor), (mj.project, jnp.array)):
            with self.assertRaisesRegex(TypeError, "floating-point"):
                project(array([1, 2]), "l2")
            with self.assertRaisesRegex(ValueError, "last axis"):
                project(array(1.0), "l2")
            with self.assertRaisesRegex(ValueError, "last axis"):
                project(array(np.empty((2, 0))), "l2")
            with self.assertRaises(mm.InputError):
                project(array([1.0]), "no-such-map")

    def test_half_precision(self) -> None:
        x = torch.randn(3, 4).bfloat16()
        self.assertEqual(mt.project(x, "l2").dtype, torch.bfloat16)
        np.testing.assert_allclose(mt.project(x, "l2").float(), mt.project(x.float(), "l2"), atol=4e-3)


class Derivatives(unittest.TestCase):
    def test_torch(self) -> None:
        x = tensor(scores(2, 4))
        for name in MAPS:
            with self.subTest(name):
                m = mt.potential(name)
                for f in (mt.project, mt.log_project):
                    # at zeros log_project is constant: finite differences agree
                    self.assertTrue(gradcheck(lambda x, f=f, m=m: f(x, m), x))
                self.assertTrue(gradgradcheck(lambda x, m=m: mt.project(x, m), x))

    def test_torch_parameters(self) -> None:
        x = tensor(scores(1, 4))
        makers = [
            (mt.tsallis, [tensor(np.array(1.3))]),
            (mt.tsallis, [tensor(np.array(1.0))]),  # the derivative exists at the negative entropy
            (mt.piecewise, [tensor(np.array([2.0, 1.0, 0.4, 0.8, 0.3]))]),
            (mt.powers, [tensor(np.array([1.0, 0.5, 0.3])), tensor(np.array([0.0, 1.2, -0.4]))]),
        ]
        for make, parameters in makers:
            with self.subTest(make.__name__):
                f = lambda x, *theta, make=make: mt.project(x, make(*theta))  # noqa: E731
                self.assertTrue(gradcheck(f, (x, *parameters)))
                self.assertTrue(gradgradcheck(f, (x, *parameters)))
        m = mm.Map("random-neural:1").parameters
        theta = [tensor(np.asarray(m[name])) for name in "wcuab"]
        self.assertTrue(gradcheck(lambda *t: mt.project(x.detach(), mt.neural(*t)), theta, fast_mode=True))

    def test_parameters_of_losses(self) -> None:
        """With respect to q, against finite differences of the C library."""
        x, y = scores(3), np.array([0.2, 0.5, 0.3])

        def loss(q: np.ndarray) -> float:
            m = mm.Map.tsallis(float(q))
            p = m.project(x)
            return float((p * x).sum() - m.h(p) + m.h(y) - (x * y).sum())

        q = np.array(1.4)
        want = finite_difference(loss, q)
        np.testing.assert_allclose(jax.grad(lambda q: mj.fenchel_young(x, y, mj.tsallis(q)))(1.4), want, rtol=1e-5)
        at = tensor(q)
        mt.fenchel_young(torch.tensor(x), torch.tensor(y), mt.tsallis(at)).backward()
        np.testing.assert_allclose(at.grad, want, rtol=1e-5)

    def test_jax(self) -> None:
        x = jnp.array(scores(2, 4))
        for name in SMOOTH:
            with self.subTest(name):
                project = jax.jit(lambda x, m=mj.potential(name): mj.project(x, m))
                check_grads(project, (x,), order=2, modes=["fwd", "rev"])
        check_grads(lambda q: mj.log_project(x, mj.tsallis(q)), (0.7,), order=2, modes=["fwd", "rev"])

    def test_jax_is_torch(self) -> None:
        """The pullback and the gradient of a map's parameters, of all kinds."""
        x, g = scores(3, 5), scores(3, 5, seed=1)
        for name in MAPS:
            with self.subTest(name):
                m = mj.potential(name)
                _, pull = jax.vjp(lambda m, x: mj.project(x, m), m, jnp.array(x))
                on_map, on_x = pull(jnp.array(g))
                theta, at = tensor(np.asarray(m.theta)), tensor(x)
                mt.project(at, mt.Potential(m.kind, theta)).backward(torch.tensor(g))
                np.testing.assert_allclose(on_x, at.grad, atol=1e-12)
                np.testing.assert_allclose(on_map.theta, theta.grad if theta.numel() else [], atol=1e-12)

    def test_transformations_of_jax(self) -> None:
        x = jnp.array(scores(6, 4))
        m = mj.potential("tsallis:1.5")
        want = mj.project(x, m)
        np.testing.assert_allclose(jax.jit(mj.project)(x, m), want, atol=1e-15)
        np.testing.assert_allclose(jax.vmap(lambda x: mj.project(x, m))(x), want, atol=1e-15)
        qs = jnp.array([0.5, 1.5, 3.0])
        several = jax.jit(jax.vmap(lambda q: mj.project(x, mj.tsallis(q))))(qs)
        for q, p in zip(qs, several, strict=True):
            np.testing.assert_allclose(p, mm.Map.tsallis(float(q)).project(np.asarray(x)), atol=1e-12)
        hessian = jax.hessian(lambda x: mj.fenchel_young(x, want[0], m))(x[1])
        np.testing.assert_allclose(hessian, jax.jacobian(lambda x: mj.project(x, m))(x[1]), atol=1e-10)

    def test_transformations_of_torch(self) -> None:
        x = torch.tensor(scores(6, 4))
        m = mt.potential("tsallis:1.5")
        want = mt.project(x, m)
        np.testing.assert_allclose(torch.vmap(lambda x: mt.project(x, m))(x), want)
        several = torch.vmap(lambda q: mt.project(x, mt.tsallis(q)))(torch.tensor([0.5, 1.5, 3.0], dtype=torch.float64))
        np.testing.assert_allclose(several[1], want, atol=1e-15)
        loss = lambda x: mt.fenchel_young(x, want[0], m)  # noqa: E731
        hessian = torch.func.jacrev(torch.func.jacrev(loss))(x[1])
        np.testing.assert_allclose(hessian, torch.func.jacrev(lambda x: mt.project(x, m))(x[1]), atol=1e-10)

    def test_operator(self) -> None:
        for kind, theta in (("powers", [[1.5], [0.5]]), ("piecewise", [0.5, 1.0, 0.2])):
            arguments = (torch.randn(2, 3), torch.tensor(theta), kind)
            torch.library.opcheck(mt._solve, arguments, raise_exception=True)

    def test_compile(self) -> None:
        soft = mm.Map("negentropy")

        def loss(x: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
            y = mt.project(x.detach().flip(0), "l2")
            return mt.fenchel_young(x, y, mt.tsallis(q)).sum() + mt.log_project(x, soft).sum()

        arguments = tensor(scores(3, 4)), tensor(np.array(1.6))
        compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
        for got, want in zip(
            torch.autograd.grad(compiled(*arguments), arguments),
            torch.autograd.grad(loss(*arguments), arguments),
            strict=True,
        ):
            np.testing.assert_allclose(got, want, atol=1e-12)


class Docstrings(unittest.TestCase):
    def test_examples(self) -> None:
        with jax.enable_x64(False):
            for module in (mt, mj):
                with self.subTest(module.__name__):
                    failed, tried = doctest.testmod(module)
                    self.assertEqual(failed, 0)
                    self.assertGreater(tried, 0)


class Losses(unittest.TestCase):
    def test_bregman(self) -> None:
        p = np.concatenate([np.random.default_rng(1).dirichlet(np.ones(4), 6), np.eye(4)[:2]])
        q = np.roll(p, 1, axis=0)
        for name in MAPS:
            with self.subTest(name):
                want = mm.Map(name).bregman(p, q)
                got = mt.bregman(torch.tensor(p), torch.tensor(q), name)
                np.testing.assert_allclose(got, want, atol=1e-6, rtol=1e-9)
                np.testing.assert_allclose(mj.bregman(p, q, name), got, atol=1e-12, rtol=1e-9)
                inside = [tensor(p[1:6]), tensor(q[1:6])]
                self.assertTrue(gradcheck(lambda p, q, m=mt.potential(name): mt.bregman(p, q, m), inside, fast_mode=True))

    def test_bregman_at_the_border(self) -> None:
        p = tensor(np.array([0.0, 0.4, 0.6]))
        mt.bregman(p, torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64), "l2").backward()
        np.testing.assert_allclose(p.grad, [-0.5, 0.15, 0.35], atol=1e-15)
        divergence = mt.bregman(p, torch.tensor([0.0, 0.5, 0.5], dtype=torch.float64), "negentropy")
        self.assertTrue(torch.autograd.grad(divergence, p)[0].isfinite().all())

    def test_fenchel_young(self) -> None:
        x, y = scores(5, 4), np.random.default_rng(2).dirichlet(np.ones(4), 5)
        y[0] = [0, 1, 0, 0]
        for name in MAPS:
            with self.subTest(name):
                m = mm.Map(name)
                p = m.project(x)
                want = (p * x).sum(-1) - m.h(p) + m.h(y) - (x * y).sum(-1)
                at = tensor(x)
                loss = mt.fenchel_young(at, torch.tensor(y), name)
                np.testing.assert_allclose(loss.detach(), want, atol=1e-9, rtol=1e-9)
                np.testing.assert_allclose(mj.fenchel_young(x, y, name), want, atol=1e-9, rtol=1e-9)
                loss.sum().backward()
                np.testing.assert_allclose(at.grad, p - y, atol=1e-9)
                zero = mt.fenchel_young(at, torch.tensor(p), name).detach()
                np.testing.assert_allclose(zero, 0, atol=1e-12 * (1 + np.abs(m.h(p)).max()))

    def test_gradient(self) -> None:
        p = np.random.default_rng(3).dirichlet(np.ones(4), 5)
        for name in MAPS:
            with self.subTest(name):
                m = mm.Map(name)
                want = m.inverse(p) - m.inverse(1.0)
                np.testing.assert_allclose(mt.gradient(torch.tensor(p), name), want, rtol=1e-9, atol=1e-9)
                np.testing.assert_allclose(mj.gradient(p, name), want, rtol=1e-9, atol=1e-9)
        self.assertEqual(float(mj.gradient(np.zeros(1), "l2")[0]), -1)
        self.assertEqual(mt.gradient(torch.zeros(1), "negentropy").item(), -np.inf)

    def test_cross_entropy(self) -> None:
        x = torch.tensor(scores(5, 4))
        target = torch.tensor([0, 3, 1, 1, 2])
        want = torch.nn.functional.cross_entropy(x, target, reduction="none")
        got = mt.fenchel_young(x, torch.nn.functional.one_hot(target, 4).double(), "negentropy")
        np.testing.assert_allclose(got, want, atol=1e-12)


if __name__ == "__main__":
    unittest.main()
