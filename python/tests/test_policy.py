# SPDX-License-Identifier: Apache-2.0
"""Trained policies: what they do, against their own weights, and as a module of PyTorch."""

import pathlib
import pickle
import tempfile
import unittest

import numpy as np

import mirrormap as mm

SMALL = {"steps": 2048, "hidden": 16, "envs": 8, "unroll": 64, "minibatches": 4}


class Policies(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        mm.train("CartPole-v1", "tsallis:3", seeds=2, seed=5, settings=SMALL, folder=cls.folder / "pole")
        mm.train("Asterix-MinAtar", algo="ppo", seeds=1, settings=SMALL, folder=cls.folder / "asterix")
        mm.train("Pendulum-v1", seeds=1, settings=SMALL, folder=cls.folder / "pendulum")

    def test_discrete(self) -> None:
        policy = mm.load_policy(self.folder / "pole", agent=1)
        self.assertEqual((policy.env, policy.algo, policy.seed, policy.agents), ("CartPole-v1", "ampo", 6, 2))
        self.assertEqual(policy.map, mm.Map("tsallis:3"))
        obs = mm.make_vec("CartPole-v1", 5).reset(seed=1)[0]
        x, w = obs, policy.weights
        for i in range(3):
            x = x @ w[f"actor.{i}.weight"] + w[f"actor.{i}.bias"]
            x = np.tanh(x) if i < 2 else x
        p = policy.probs(obs)
        np.testing.assert_allclose(p, policy.map.project(policy.eta * x), atol=1e-4)
        np.testing.assert_array_equal(policy(obs, greedy=True), p.argmax(1))
        np.testing.assert_array_equal(policy.probs(obs.reshape(5, 1, 4))[:, 0], p)
        self.assertEqual((policy(obs[0]).shape, policy.values(obs[0]).shape), ((), ()))
        self.assertEqual(policy.final, mm.read_run(self.folder / "pole").trainings["final"][1])

    def test_draws(self) -> None:
        obs = np.zeros((4000, 4), np.float32)
        one, same, other = (mm.load_policy(self.folder / "pole", seed=seed) for seed in (1, 1, 2))
        first, second = one(obs), one(obs)
        np.testing.assert_array_equal(same(obs), first)
        self.assertFalse((second == first).all() or (other(obs) == first).all())
        np.testing.assert_allclose(first.mean(), one.probs(obs[0])[1], atol=0.05)

    def test_boards(self) -> None:
        policy = mm.load_policy(self.folder / "asterix/policy.safetensors")
        self.assertIsNone(policy.map)
        envs = mm.make_vec("Asterix-MinAtar", 3)
        obs, _ = envs.reset(seed=1)
        for _ in range(10):
            obs = envs.step(policy(obs))[0]
        self.assertEqual(policy.probs(obs).shape, (3, 5))

    def test_real(self) -> None:
        policy = mm.load_policy(self.folder / "pendulum")
        envs = mm.make_vec("Pendulum-v1", 3)
        obs, _ = envs.reset(seed=1)
        actions = policy(obs)
        self.assertTrue(envs.action_space.contains(actions))
        mean, deviation = policy.normal(obs)
        np.testing.assert_allclose(policy(obs, greedy=True), 2 * mean.clip(-1, 1), atol=1e-6)
        self.assertEqual((mean.shape, deviation.shape), ((3, 1), (1,)))

    def test_torch(self) -> None:
        try:
            import torch

            import mirrormap.torch  # noqa: F401
        except ImportError as missing:
            self.skipTest(str(missing))
        for name, env_id in (("pole", "CartPole-v1"), ("asterix", "Asterix-MinAtar"), ("pendulum", "Pendulum-v1")):
            policy = mm.load_policy(self.folder / name)
            envs = mm.make_vec(env_id, 20)
            obs, _ = envs.reset(seed=1)
            module = policy.to_torch()
            with torch.no_grad():
                out, values = module(torch.from_numpy(obs)), module.values(torch.from_numpy(obs))
            np.testing.assert_allclose(values, policy.values(obs), atol=1e-4)
            for ours, theirs in zip(out, policy.normal(obs), strict=True) if policy.n_real else [(out, policy.probs(obs))]:
                np.testing.assert_allclose(ours, theirs, atol=1e-4)

    def test_bad_input(self) -> None:
        path = self.folder / "pole"
        policy = mm.load_policy(path)
        cases = [
            (lambda: mm.load_policy(self.folder / "nothing"), "nothing"),
            (lambda: mm.load_policy(path, agent=2), "no agent 2, expected 0 to 1"),
            (lambda: mm.load_policy(path, agent=-1), "no agent -1"),
            (lambda: policy(np.zeros(3)), "4 inputs"),
            (lambda: policy("abcd"), "real numbers"),
            (lambda: policy.normal(np.zeros(4)), "."),
            (lambda: policy.probs(np.full(4, np.nan)), "."),
        ]
        for i, (call, words) in enumerate(cases):
            with self.subTest(i), self.assertRaisesRegex(mm.Error, words):
                call()
        with self.assertRaises(TypeError):
            pickle.dumps(policy)


if __name__ == "__main__":
    unittest.main()
