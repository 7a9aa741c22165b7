# SPDX-License-Identifier: Apache-2.0
"""The environments as Gymnasium's: its own checks, its classic control step by step, its vector
environments in the three autoreset modes, its wrappers."""

import pickle
import threading
import unittest
import warnings
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import NormalizeObservation, RecordEpisodeStatistics

import mirrormap as mm
from mirrormap.envs import gymnasium_id


class Registered(unittest.TestCase):
    def test_check_env(self) -> None:
        for env_id in mm.env_ids():
            with self.subTest(env_id), warnings.catch_warnings():
                warnings.simplefilter("error")  # but for advice, which Gymnasium's own do not take either
                warnings.filterwarnings("ignore", ".*A Box observation space m[a-z]* value is -?infinity")
                warnings.filterwarnings("ignore", ".*we recommend using a symmetric and normalized space")
                env = gymnasium.make(gymnasium_id(env_id), disable_env_checker=True).unwrapped
                check_env(env)
                env.close()

    def test_observations_stay_in_their_space(self) -> None:
        for env_id in mm.env_ids():
            with self.subTest(env_id):
                envs = mm.make_vec(env_id, 3)
                envs.action_space.seed(1)
                envs.reset(seed=1)
                for _ in range(100):
                    self.assertTrue(envs.observation_space.contains(envs.step(envs.action_space.sample())[0]))

    def test_make_vec_of_gymnasium(self) -> None:
        envs = gymnasium.make_vec("mirrormap/Asterix-MinAtar", 3, vectorization_mode="vector_entry_point")
        self.assertIsInstance(envs.unwrapped, mm.VectorEnv)
        self.assertEqual(envs.reset(seed=0)[0].shape, (3, 10, 10, 4))


class ClassicControl(unittest.TestCase):
    """Gymnasium's environment goes to the state that ours shows, before every step."""

    def follow(self, env_id: str, state_of, tolerance: float) -> None:
        ours = gymnasium.make(gymnasium_id(env_id)).unwrapped
        theirs = gymnasium.make(env_id).unwrapped
        theirs.reset(seed=0)
        ours.action_space.seed(3)
        obs, _ = ours.reset(seed=3)
        compared = ended = 0
        for _ in range(1000):
            theirs.state = state_of(obs.astype(np.float64))
            if hasattr(theirs, "steps_beyond_terminated"):
                theirs.steps_beyond_terminated = None
            action = ours.action_space.sample()
            want = theirs.step(action)
            obs, reward, terminated, truncated, _ = ours.step(action)
            np.testing.assert_allclose(obs, want[0], atol=tolerance, rtol=tolerance)
            self.assertAlmostEqual(reward, float(want[1]), delta=tolerance)
            self.assertEqual(terminated, want[2])
            compared += 1
            if terminated or truncated:
                ended += 1
                obs, _ = ours.reset()
        self.assertEqual(compared, 1000)
        self.assertGreater(ended, 0)

    def test_cartpole(self) -> None:
        self.follow("CartPole-v1", tuple, 1e-5)

    def test_acrobot(self) -> None:
        def state(o):
            return np.array([np.arctan2(o[1], o[0]), np.arctan2(o[3], o[2]), o[4], o[5]])

        self.follow("Acrobot-v1", state, 2e-5)

    def test_mountain_car(self) -> None:
        self.follow("MountainCar-v0", tuple, 1e-5)

    def test_pendulum(self) -> None:
        self.follow("Pendulum-v1", lambda o: np.array([np.arctan2(o[1], o[0]), o[2]]), 2e-5)

    def test_step_limits(self) -> None:
        for env_id in ("CartPole-v1", "Acrobot-v1", "MountainCar-v0", "Pendulum-v1"):
            limit = gymnasium.spec(env_id).max_episode_steps
            envs = mm.make_vec(env_id, 1, autoreset_mode="Disabled")
            obs, _ = envs.reset(seed=0)
            steps, end = 0, False
            while not end:
                if env_id == "CartPole-v1":  # is kept up by pushing against its lean
                    action = [int(obs[0, 2] + 0.5 * obs[0, 3] + 0.05 * obs[0, 0] + 0.1 * obs[0, 1] > 0)]
                else:
                    action = np.zeros_like(envs.action_space.sample())
                obs, _, terminated, truncated, _ = envs.step(action)
                steps, end = steps + 1, bool(terminated[0] or truncated[0])
            self.assertEqual((env_id, steps, bool(truncated[0])), (env_id, limit, True))


class Autoreset(unittest.TestCase):
    """A vector is what Gymnasium's SyncVectorEnv makes of single environments of ours."""

    def same(self, mode: AutoresetMode, env_id: str, steps: int = 300) -> None:
        ours = mm.make_vec(env_id, 4, autoreset_mode=mode)
        theirs = SyncVectorEnv([lambda: gymnasium.make(gymnasium_id(env_id))] * 4, autoreset_mode=mode)
        self.assertEqual(ours.metadata["autoreset_mode"], mode)
        self.assertEqual(ours.observation_space, theirs.observation_space)
        self.assertEqual(ours.single_action_space, theirs.single_action_space)
        np.testing.assert_array_equal(ours.reset(seed=5)[0], theirs.reset(seed=5)[0])
        ours.action_space.seed(2)
        ended = 0
        kept: list[tuple[Any, Any]] = []
        for _ in range(steps):
            actions = ours.action_space.sample()
            left, right = ours.step(actions), theirs.step(actions)
            for a, b in kept:  # of the step before
                np.testing.assert_array_equal(a, b)
            kept = [(a, b.copy()) for a, b in zip(left[:4], right[:4], strict=True)]
            for a, b in zip(left[:4], right[:4], strict=True):
                np.testing.assert_array_equal(a, b)
            self.assertEqual(left[2].dtype, right[2].dtype)
            self.assertEqual(left[4].keys(), right[4].keys())
            end = left[2] | left[3]
            ended += int(end.sum())
            if mode == AutoresetMode.SAME_STEP and end.any():
                self.assertEqual(left[4]["final_obs"].dtype, object)
                self.assertEqual(left[4]["final_info"], right[4]["final_info"])
                for name in ("_final_obs", "_final_info"):
                    np.testing.assert_array_equal(left[4][name], right[4][name])
                for a, b in zip(left[4]["final_obs"], right[4]["final_obs"], strict=True):
                    self.assertEqual(a is None, b is None)
                    np.testing.assert_array_equal(a, b)
            if mode == AutoresetMode.DISABLED and end.any():
                with self.assertRaisesRegex(mm.InputError, "has ended"):
                    ours.step(actions)
                left_obs = ours.reset(options={"reset_mask": end})[0]
                right_obs = theirs.reset(options={"reset_mask": end.copy()})[0]
                np.testing.assert_array_equal(left_obs, right_obs)
        self.assertGreater(ended, 10)

    def test_next_step(self) -> None:
        self.same(AutoresetMode.NEXT_STEP, "CartPole-v1")
        self.same(AutoresetMode.NEXT_STEP, "Breakout-MinAtar")
        self.same(AutoresetMode.NEXT_STEP, "Pendulum-v1", 700)  # all episodes are truncated

    def test_same_step(self) -> None:
        self.same(AutoresetMode.SAME_STEP, "CartPole-v1")
        self.same(AutoresetMode.SAME_STEP, "Breakout-MinAtar")
        self.same(AutoresetMode.SAME_STEP, "Pendulum-v1", 700)

    def test_disabled(self) -> None:
        self.same(AutoresetMode.DISABLED, "CartPole-v1")
        self.same(AutoresetMode.DISABLED, "Pendulum-v1", 700)

    def test_record_episode_statistics(self) -> None:
        for mode in AutoresetMode:
            envs = RecordEpisodeStatistics(mm.make_vec("CartPole-v1", 4, autoreset_mode=mode))
            envs.reset(seed=1)
            envs.action_space.seed(1)
            episodes = 0
            for _ in range(200):
                _, _, terminated, truncated, info = envs.step(envs.action_space.sample())
                end = terminated | truncated
                for i in np.flatnonzero(end):
                    episodes += 1  # a reward of 1 each step
                    self.assertEqual(info["episode"]["r"][i], info["episode"]["l"][i])
                if mode == AutoresetMode.DISABLED and end.any():
                    envs.reset(options={"reset_mask": end})
            self.assertGreater(episodes, 10)

    def test_normalize_observation(self) -> None:
        envs = NormalizeObservation(mm.make_vec("CartPole-v1", 64))
        envs.reset(seed=1)
        envs.action_space.seed(1)
        seen = np.stack([envs.step(envs.action_space.sample())[0] for _ in range(300)])[100:]
        np.testing.assert_allclose(seen.std(axis=(0, 1)), 1, atol=0.2)
        for mode in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):  # Gymnasium refuses them itself
            with self.assertRaises((ValueError, AssertionError)):
                NormalizeObservation(mm.make_vec("CartPole-v1", 4, autoreset_mode=mode))


class Vector(unittest.TestCase):
    def test_seeds(self) -> None:
        single = gymnasium.make("mirrormap/CartPole-v1").unwrapped
        many = mm.make_vec("CartPole-v1", 3)
        obs = many.reset(seed=10)[0]
        np.testing.assert_array_equal(obs[2], single.reset(seed=12)[0])
        np.testing.assert_array_equal(many.reset(seed=[12, 10, None])[0][:2], obs[[2, 0]])
        self.assertFalse((many.reset()[0] == obs).all())

    def test_copy(self) -> None:
        view, copied = (mm.make_vec("CartPole-v1", 2, copy=c) for c in (False, True))
        first, kept = view.reset(seed=1)[0], copied.reset(seed=1)[0]
        was = kept.copy()
        second, other = view.step([0, 1])[0], copied.step([0, 1])[0]
        self.assertTrue(np.shares_memory(first, second))
        self.assertFalse(np.shares_memory(kept, other))
        np.testing.assert_array_equal(kept, was)
        np.testing.assert_array_equal(second, other)
        # whatever is still held keeps its numbers, also through views and after a refused step
        held, want = [], []
        for step in range(12):
            obs = copied.step([0, 1])[0]
            if step % 3:
                held.append(obs[1:, :2] if step % 2 else memoryview(obs))
                want.append(np.array(held[-1]))
            if step == 5:
                with self.assertRaises(mm.InputError):
                    copied.step([0, 2])
        for array, numbers in zip(held, want, strict=True):
            np.testing.assert_array_equal(array, numbers)

    def test_forms(self) -> None:
        envs = {form: mm.make_vec("Seaquest-MinAtar", 3, obs=form) for form in ("floats", "bits", "list")}
        for _ in range(20):
            obs = {form: e.reset(seed=4)[0] if _ == 0 else e.step([1, 5, 2])[0] for form, e in envs.items()}
            flat = obs["floats"].reshape(3, -1)
            bits = np.unpackbits(obs["bits"].view(np.uint8), axis=1, bitorder="little")[:, : flat.shape[1]]
            np.testing.assert_array_equal(bits, flat)
            for row, listed in zip(flat, obs["list"], strict=True):
                np.testing.assert_array_equal(np.flatnonzero(row), listed[listed < flat.shape[1]])
        columns, rows = (mm.make_vec("Acrobot-v1", 5, obs=form) for form in ("columns", "floats"))
        np.testing.assert_array_equal(columns.reset(seed=1)[0], rows.reset(seed=1)[0])

    def test_layouts_of_actions(self) -> None:
        want = mm.make_vec("CartPole-v1", 4)
        want.reset(seed=3)
        expected = want.step(np.array([0, 1, 1, 0], np.int32))[0]
        wide = np.array([0, 9, 1, 9, 1, 9, 0, 9])
        fixed = wide[::2].astype(np.int32)
        fixed.flags.writeable = False
        others = [wide[::2].astype(t) for t in (np.uint8, ">i8", ">i4")]
        for actions in ([0, 1, 1, 0], wide[::2], wide.astype(np.int32)[::2], fixed, *others):
            envs = mm.make_vec("CartPole-v1", 4)
            envs.reset(seed=3)
            np.testing.assert_array_equal(envs.step(actions)[0], expected)

    def test_render(self) -> None:
        envs = mm.make_vec("Asterix-MinAtar", 2, render_mode="rgb_array")
        envs.reset(seed=1)
        first = envs.render()
        for _ in range(30):
            envs.step([0, 2])
        second = envs.render()
        self.assertEqual((len(first), first[0].dtype, first[0].ndim), (2, np.uint8, 3))
        self.assertFalse((first[1] == second[1]).all())

    def test_bad_input(self) -> None:
        make = mm.make_vec
        cases = [
            (lambda: make("CartPole-v2", 1), "CartPole"),
            (lambda: make("CartPole-v1", -1), "num_envs"),
            (lambda: make("CartPole-v1", 2**40), "num_envs"),
            (lambda: make("CartPole-v1", 1.5), "num_envs"),
            (lambda: make("CartPole-v1", 1, obs="bits"), "obs"),
            (lambda: make("CartPole-v1", 1, obs="words"), "obs: unknown word 'words'"),
            (lambda: make("CartPole-v1", 1, autoreset_mode="Never"), "autoreset_mode"),
            (lambda: make("CartPole-v1", 1, render_mode="human"), "render_mode"),
            (lambda: make("CartPole-v1", 1).step([0]), "reset"),
            (lambda: make("CartPole-v1", 1).save(), "reset"),
            (lambda: make("CartPole-v1", 2).reset(seed=[1]), "seed"),
            (lambda: make("CartPole-v1", 2).reset(seed=-1), "seed"),
            (lambda: make("CartPole-v1", 2).reset(seed=2**64 - 1), "seed"),
            (lambda: make("CartPole-v1", 2).reset(options={"reset_mask": [True, False]}), "reset_mask"),
        ]
        envs = make("CartPole-v1", 2)
        envs.reset(seed=1)
        for bad in ([0], [0, 2], [0, -1], [0, 2**32], [0, 2**63], [0.0, 1.0], [[0, 1]], "01", [None, 0], [True, False]):
            cases.append((lambda bad=bad: envs.step(bad), "action|whole"))
        cases.append((lambda: envs.load(b"x" * len(envs.save())), "state"))
        cases.append((lambda: envs.load(b""), "state"))
        real = make("Pendulum-v1", 2)
        real.reset(seed=1)
        for bad in ([[np.nan], [0]], [0.0, 0.0], [["a"], ["b"]], [[1j], [0]]):
            cases.append((lambda bad=bad: real.step(bad), "action"))
        for i, (call, words) in enumerate(cases):
            with self.subTest(i), self.assertRaisesRegex(mm.InputError, words):
                call()
        obs = envs.reset(seed=1)[0]
        with self.assertRaises(mm.InputError):
            envs.step([0, 5])
        self.assertTrue(envs.observation_space.contains(obs))
        with self.assertRaises(TypeError):
            pickle.dumps(envs)

    def test_closed(self) -> None:
        envs = mm.make_vec("CartPole-v1", 2)
        envs.reset(seed=1)
        envs.close()
        envs.close()
        for call in (lambda: envs.step([0, 1]), envs.reset, envs.save):
            with self.assertRaises(gymnasium.error.ClosedEnvironmentError):
                call()

    def test_threads(self) -> None:
        envs = mm.make_vec("Asterix-MinAtar", 256)
        envs.reset(seed=1)
        ends = []

        def play() -> None:
            for _ in range(200):
                try:
                    envs.step(np.zeros(256, np.int32))
                    ends.append("stepped")
                except mm.InputError as problem:
                    ends.append(str(problem))

        threads = [threading.Thread(target=play) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(ends), 800)
        self.assertLessEqual(set(ends), {"stepped", "the environments are in use by another thread"})


if __name__ == "__main__":
    unittest.main()
