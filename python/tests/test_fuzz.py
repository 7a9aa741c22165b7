# SPDX-License-Identifier: Apache-2.0
"""Anything a caller may pass gives a result or an exception: values, shapes, types, layouts."""

import tempfile
import unittest

import numpy as np

import mirrormap as mm

try:
    from hypothesis import given, settings
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as hnp
except ImportError:
    raise unittest.SkipTest("hypothesis is not installed") from None

TYPES = st.sampled_from([np.float32, np.float64, np.float16, np.int8, np.int64, np.uint64, np.bool_, np.complex64, ">f8"])
ARRAYS = TYPES.flatmap(lambda t: hnp.arrays(t, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)))
THINGS = ARRAYS | st.none() | st.text(max_size=5) | st.lists(st.floats() | st.integers(), max_size=4) | st.binary(max_size=4)
MAPS = [mm.Map(name) for name in ("negentropy", "l2", "tsallis:0.5", "tsallis:3", "random:1", "neural")]
KEYS = st.text(max_size=8)


def layout(array, how):
    """The same numbers in another order of memory."""
    if not isinstance(array, np.ndarray) or array.ndim == 0:
        return array
    fixed = array.copy()
    fixed.flags.writeable = False
    return [array, np.asfortranarray(array), array[::-1], np.repeat(array, 2, axis=-1)[..., ::2], fixed][how]


class Fuzz(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        small = {"steps": 2048, "hidden": 16, "envs": 8, "unroll": 64}
        cls.policy = mm.load_policy(mm.train("CartPole-v1", "l2", settings=small, folder=folder.name + "/run").folder)

    @settings(deadline=None, max_examples=400)
    @given(st.sampled_from(MAPS), THINGS, st.integers(0, 4))
    def test_project(self, m, scores, how) -> None:
        try:
            p, normaliser = m.project(layout(scores, how), return_lambda=True)
        except mm.Error:
            return
        x = layout(np.asarray(scores), how)
        self.assertEqual((p.shape, normaliser.shape), (x.shape, x.shape[:-1]))
        self.assertTrue((p >= 0).all())
        np.testing.assert_allclose(p.sum(-1), 1, atol=1e-4)

    @settings(deadline=None, max_examples=400)
    @given(st.sampled_from(MAPS), THINGS, THINGS, st.integers(0, 4))
    def test_elementwise_and_divergence(self, m, x, y, how) -> None:
        for call in (m.phi, m.inverse, m.h, lambda a: m.bregman(a, y)):
            try:
                call(layout(x, how))
            except (mm.Error, ValueError):  # shapes that do not broadcast are NumPy's to refuse
                pass

    @settings(deadline=None, max_examples=300)
    @given(st.text(max_size=20) | st.sampled_from(["tsallis:", "random:", "piecewise:9"]), THINGS, THINGS)
    def test_making(self, text, a, b) -> None:
        for call in (
            lambda: mm.Map(text),
            lambda: mm.Map.parse(text),
            lambda: mm.Map.piecewise(a),
            lambda: mm.Map.powers(a, b),
            lambda: mm.Map.neural(a, b, a, 1.0, 1.0),
        ):
            try:
                call().project([0.0, 1.0])
            except mm.Error:
                pass

    @settings(deadline=None, max_examples=400)
    @given(st.sampled_from(["CartPole-v1", "Pendulum-v1", "Breakout-MinAtar"]), THINGS, st.integers(0, 4))
    def test_step(self, env_id, actions, how) -> None:
        envs = mm.make_vec(env_id, 3)
        envs.reset(seed=1)
        try:
            obs = envs.step(layout(actions, how))[0]
            self.assertTrue(envs.observation_space.contains(obs))
        except mm.InputError:
            envs.step(envs.action_space.sample())

    @settings(deadline=None, max_examples=200)
    @given(THINGS | st.integers(), THINGS | st.dictionaries(st.just("reset_mask"), THINGS))
    def test_reset(self, seed, options) -> None:
        envs = mm.make_vec("CartPole-v1", 3)
        try:
            envs.reset(seed=seed)
            envs.reset(options=options)
        except mm.InputError:
            envs.reset(seed=1)
        envs.step([0, 1, 0])

    @settings(deadline=None, max_examples=200)
    @given(THINGS, st.integers(0, 4))
    def test_policy(self, obs, how) -> None:
        policy = self.policy
        for call in (policy, policy.probs, policy.values):
            try:
                call(layout(obs, how))
            except mm.Error:
                pass
        self.assertEqual(policy(np.zeros((2, 4))).shape, (2,))

    @settings(deadline=None, max_examples=200)
    @given(st.binary(max_size=300), st.integers(0, 299), st.integers(0, 255))
    def test_states(self, noise, at, byte) -> None:
        envs = mm.make_vec("CartPole-v1", 2)
        envs.reset(seed=1)
        state = bytearray(envs.save())
        state[at % len(state)] = byte
        for bad in (noise, bytes(state)):
            try:
                envs.load(bad)
            except mm.InputError:
                envs.reset(seed=1)
            envs.step([0, 1])

    @settings(deadline=None, max_examples=100)
    @given(st.integers(-3, 12), st.integers(-3, 40), st.floats(), THINGS)
    def test_es(self, dimension, population, sigma, fitness) -> None:
        try:
            es = mm.ES("sep-cma-es", dimension, population=population, sigma=sigma)
            es.ask()
            es.tell(fitness)
        except mm.Error:
            pass


if __name__ == "__main__":
    unittest.main()
