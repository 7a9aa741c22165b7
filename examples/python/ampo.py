# SPDX-License-Identifier: Apache-2.0
"""AMPO, policy mirror descent with networks, in JAX (docs/ampo.md of the source tree says what it is).

    python3 ampo.py --env CartPole-v1 --map l2 --steps 200000

The actor f is regressed on what mirror descent would make of its scores, so the policy is the projection of
eta f(s, .) and no probability is ever divided by. Environments step in mirrormap.make_vec, all else is JAX.
"""

import argparse
import time
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import mirrormap as mm
import mirrormap.jax as mj

Params = Any


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--env", default="CartPole-v1", help="environment with discrete actions")
    parser.add_argument("--map", default="l2", help="mirror map: a name or a file")
    parser.add_argument("--steps", type=int, default=200_000, help="environment steps in total")
    parser.add_argument("--envs", type=int, default=16, help="environments side by side")
    parser.add_argument("--unroll", type=int, default=128, help="steps of each environment per iteration")
    parser.add_argument("--eta", type=float, default=1.0, help="step size of mirror descent")
    parser.add_argument("--epochs", type=int, default=4, help="passes over the batch")
    parser.add_argument("--minibatches", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3, help="learning rate of Adam, which falls linearly to 0")
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--gae-lambda", type=float, default=0.95)
    parser.add_argument("--max-grad-norm", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def network(key: jax.Array, inputs: int, outputs: int, gain: float) -> Params:
    """Two hidden layers with orthogonal weights."""
    sizes, gains = (inputs, 64, 64, outputs), (2**0.5, 2**0.5, gain)
    make = [jax.nn.initializers.orthogonal(g) for g in gains]
    keys = jax.random.split(key, 3)
    return [(m(k, (i, o)), jnp.zeros(o)) for m, k, i, o in zip(make, keys, sizes, sizes[1:])]


def forward(params: Params, x: jax.Array) -> jax.Array:
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def adam(grads: Params, state: Params, params: Params, lr: jax.Array, most: float) -> tuple[Params, Params]:
    """One step, with the gradient's norm bounded."""
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(grads)))
    grads = jax.tree.map(lambda g: g * jnp.minimum(1, most / (norm + 1e-8)), grads)
    n, first, second = state
    n = n + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, second, grads)
    step = lambda p, m, v: p - lr * (m / (1 - 0.9**n)) / (jnp.sqrt(v / (1 - 0.999**n)) + 1e-5)  # noqa: E731
    return jax.tree.map(step, params, first, second), (n, first, second)


@jax.jit
def act(params: Params, potential: mj.Potential, eta: float, obs: jax.Array, key: jax.Array) -> tuple[jax.Array, ...]:
    """Actions, z = x + lambda = phi^-1(p) of them, up to an offset that no policy sees, and values."""
    scores = eta * forward(params["actor"], obs)
    p = mj.project(scores, potential)
    action = jax.random.categorical(key, mj.log_project(scores, potential))
    z = mj.gradient(jnp.take_along_axis(p, action[:, None], -1), potential)[:, 0]
    return action, z, forward(params["critic"], obs)[:, 0]


@partial(jax.jit, static_argnums=(4, 5))
def advantages(reward: jax.Array, done: jax.Array, value: jax.Array, last: jax.Array, gamma: float, share: float) -> Any:
    """Generalised advantage estimates [unroll, envs]."""

    def back(carry: Any, step: Any) -> Any:
        sum_after, value_after = carry
        r, end, v = step
        total = r + gamma * value_after * (1 - end) - v + gamma * share * (1 - end) * sum_after
        return (total, v), total

    return jax.lax.scan(back, (jnp.zeros_like(last), last), (reward, done, value), reverse=True)[1]


@partial(jax.jit, static_argnums=5)
def update(params: Params, state: Params, batch: Params, eta: float, lr: jax.Array, most: float) -> Any:
    """One step of Adam on a minibatch: f towards (advantage + z / eta), V towards the returns."""
    obs, action, z, advantage, target = batch
    y = (advantage - advantage.mean()) / (advantage.std() + 1e-8) + z / eta

    def loss(params: Params) -> jax.Array:
        f = jnp.take_along_axis(forward(params["actor"], obs), action[:, None], -1)[:, 0]
        return ((f - y) ** 2).mean() + 0.25 * ((forward(params["critic"], obs)[:, 0] - target) ** 2).mean()

    return adam(jax.grad(loss)(params), state, params, lr, most)


def main() -> float:
    """The mean return of the last hundred episodes."""
    args = arguments()
    envs = RecordEpisodeStatistics(mm.make_vec(args.env, args.envs, autoreset_mode="SameStep"))
    inputs, actions = int(np.prod(envs.single_observation_space.shape)), int(envs.single_action_space.n)
    draw, (key, *keys) = np.random.default_rng(args.seed), jax.random.split(jax.random.key(args.seed), 3)
    params = {"actor": network(keys[0], inputs, actions, 0.01), "critic": network(keys[1], inputs, 1, 1.0)}
    zeros = jax.tree.map(jnp.zeros_like, params)
    state, potential = (0, zeros, zeros), mj.potential(args.map)
    batch = args.envs * args.unroll
    obs = envs.reset(seed=args.seed)[0].reshape(args.envs, -1)
    start = time.time()

    iterations = max(args.steps // batch, 1)
    for iteration in range(iterations):
        steps = []
        for _ in range(args.unroll):
            key, now = jax.random.split(key)
            action, z, value = act(params, potential, args.eta, obs, now)
            following, reward, terminated, truncated, _ = envs.step(np.asarray(action))
            ended = terminated | truncated  # a truncated episode counts as terminated
            steps.append((obs, action, z, value, reward, ended.astype(np.float32)))
            obs = following.reshape(args.envs, -1)
        o, a, z, value, reward, done = (jnp.stack(x) for x in zip(*steps))
        last = forward(params["critic"], obs)[:, 0]
        advantage = advantages(reward, done, value, last, args.gamma, args.gae_lambda)
        data = [x.reshape(batch, *x.shape[2:]) for x in (o, a, z, advantage, advantage + value)]
        lr = args.lr * (1 - iteration / iterations)
        for rows in np.concatenate([draw.permutation(batch).reshape(args.minibatches, -1) for _ in range(args.epochs)]):
            params, state = update(params, state, [x[rows] for x in data], args.eta, lr, args.max_grad_norm)
        speed = batch * (iteration + 1) / (time.time() - start)
        recent = float(np.mean(envs.return_queue or [0]))
        print(f"{batch * (iteration + 1):9} steps  return {recent:8.2f}  {speed:8.0f} steps/s", flush=True)
    envs.close()
    return recent


if __name__ == "__main__":
    main()
