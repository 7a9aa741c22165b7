# SPDX-License-Identifier: Apache-2.0
"""Environment steps per second of make_vec beside the loop that calls the library alone, Gymnasium's
vector environments, and gymnax (on CPU) and EnvPool where they are installed: the table of
docs/python.md.

    python python/speed.py [seconds of CPU per figure]
"""

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

import mirrormap as mm
from mirrormap._library import lib

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0


def seconds(call: Callable[[int], Any]) -> float:
    """Of one call: the least over many short spells of CPU time, whatever else the machine does."""
    for _ in range(3):
        call(0)
    best, t, end = float("inf"), 0, time.process_time() + SECONDS
    while time.process_time() < end:
        begin = time.process_time()
        for _ in range(17):
            call(t)
            t += 1
        best = min(best, (time.process_time() - begin) / 17)
    return best


def ours(env_id: str, n: int, actions: np.ndarray, **options: Any) -> float:
    envs = mm.make_vec(env_id, n, **options)
    envs.reset(seed=1)
    return seconds(lambda t: envs.step(actions[t % len(actions)]))


def library(env_id: str, n: int, actions: np.ndarray) -> float:
    """The same buffers and calls without the package around them."""
    envs = mm.make_vec(env_id, n, copy=False)
    envs.reset(seed=1)
    at = [row.ctypes.data for row in actions]
    vec, out = envs._vec.pointer, envs._vec.out_address
    return seconds(lambda t: lib.mm_vec_step(vec, at[t % len(at)], out))


def gymnasiums(env_id: str, n: int, mode: str) -> float | None:
    try:
        envs = gymnasium.make_vec(env_id, n, vectorization_mode=mode)
    except Exception:  # it has no such environment
        return None
    envs.reset(seed=1)
    actions = [envs.action_space.sample() for _ in range(8)]
    return seconds(lambda t: envs.step(actions[t % 8]))


def gymnaxs(env_id: str, n: int, actions: np.ndarray) -> float | None:
    try:
        import gymnax
        import jax
    except ImportError:
        return None
    env, parameters = gymnax.make(env_id)
    keys = jax.random.split(jax.random.PRNGKey(0), n)
    step = jax.jit(jax.vmap(env.step, in_axes=(0, 0, 0, None)))
    _, state = jax.jit(jax.vmap(env.reset, in_axes=(0, None)))(keys, parameters)
    held = [state]

    def call(t: int) -> None:
        obs, held[0], *_ = step(keys, held[0], actions[t % len(actions)], parameters)
        obs.block_until_ready()

    return seconds(call)


def envpools(env_id: str, n: int, actions: np.ndarray) -> float | None:
    try:
        import envpool
    except ImportError:
        return None
    if env_id not in envpool.list_all_envs():
        return None
    envs = envpool.make(env_id, env_type="gymnasium", num_envs=n, num_threads=1)
    envs.reset()
    return seconds(lambda t: envs.step(actions[t % len(actions)]))


def main() -> None:
    warnings.simplefilter("ignore")
    print("| environment | side by side | what | M steps/s | of the library | a step takes longer by |")
    print("| --- | --- | --- | --- | --- | --- |")
    for env_id, n in (("CartPole-v1", 1), ("CartPole-v1", 64), ("CartPole-v1", 16384), ("Asterix-MinAtar", 1024)):
        n_action = int(mm.make_vec(env_id, 1).single_action_space.n)
        actions = np.random.default_rng(0).integers(0, n_action, (67, n)).astype(np.int32)
        base = library(env_id, n, actions)
        columns: dict[str, Callable[[], float | None]] = {
            "the library's loop": lambda: base,
            "`make_vec`": lambda: ours(env_id, n, actions),
            "`make_vec`, copy=False": lambda: ours(env_id, n, actions, copy=False),
            "`make_vec`, actions int64": lambda: ours(env_id, n, actions.astype(np.int64)),
            "`make_vec`, same-step autoreset": lambda: ours(env_id, n, actions, autoreset_mode="SameStep"),
            "Gymnasium, sync": lambda: gymnasiums(env_id, n, "sync") if n <= 64 else None,
            "Gymnasium, its vector environment": lambda: gymnasiums(env_id, n, "vector_entry_point"),
            "gymnax, jit and vmap on CPU": lambda: gymnaxs(env_id, n, actions),
            "EnvPool, one thread": lambda: envpools(env_id, n, actions),
        }
        for what, measure in columns.items():
            try:
                time_of = measure()
            except Exception as problem:  # of another package with these versions
                print(f"{what}, {env_id}: {type(problem).__name__}: {problem}", file=sys.stderr)
                continue
            if time_of is not None:
                more = f"{(time_of - base) * 1e6:.1f} us" if "make_vec" in what else ""
                share = f"{100 * base / time_of:.0f} %"
                print(f"| {env_id} | {n:,} | {what} | {n / time_of / 1e6:.3g} | {share} | {more} |", flush=True)


if __name__ == "__main__":
    main()
