# SPDX-License-Identifier: Apache-2.0
"""PPO with a mirror map in place of softmax, in one file (PyTorch, after CleanRL's ppo.py).

    python3 ppo_mirror.py --env CartPole-v1 --map tsallis:1.5 --steps 200000

The policy is the projection of the actor's outputs. A map such as l2 or tsallis:1.5 gives probabilities that
are exactly 0; log_project stays finite there, and an action with probability 0 is never drawn.
"""

import argparse
import time

import numpy as np
import torch
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from torch import nn

import mirrormap as mm
import mirrormap.torch as mt


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--env", default="CartPole-v1", help="environment with discrete actions")
    parser.add_argument("--map", default="tsallis:1.5", help="mirror map: a name or a file")
    parser.add_argument("--steps", type=int, default=200_000, help="environment steps in total")
    parser.add_argument("--envs", type=int, default=16, help="environments side by side")
    parser.add_argument("--unroll", type=int, default=128, help="steps of each environment per iteration")
    parser.add_argument("--epochs", type=int, default=4, help="passes over the batch")
    parser.add_argument("--minibatches", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3, help="learning rate, which falls linearly to 0")
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--gae-lambda", type=float, default=0.95)
    parser.add_argument("--clip", type=float, default=0.2, help="PPO clip range")
    parser.add_argument("--uniform", type=float, default=0.01, help="weight of D(policy, uniform policy)")
    parser.add_argument("--value-coef", type=float, default=0.5)
    parser.add_argument("--max-grad-norm", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def layer(inputs: int, outputs: int, gain: float = 2**0.5) -> nn.Linear:
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, gain)
    nn.init.zeros_(linear.bias)
    return linear


def network(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    return nn.Sequential(
        nn.Flatten(), layer(inputs, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, outputs, gain)
    )


def main() -> float:
    """The mean return of the last hundred episodes."""
    args = arguments()
    torch.manual_seed(args.seed)
    envs = RecordEpisodeStatistics(mm.make_vec(args.env, args.envs, autoreset_mode="SameStep"))
    inputs, actions = int(np.prod(envs.single_observation_space.shape)), int(envs.single_action_space.n)
    actor, critic = network(inputs, actions, 0.01), network(inputs, 1, 1.0)
    parameters = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=args.lr, eps=1e-5)
    potential = mt.potential(args.map)
    uniform = torch.full((actions,), 1 / actions)

    batch = args.envs * args.unroll
    obs = torch.zeros(args.unroll + 1, args.envs, *envs.single_observation_space.shape)
    action = torch.zeros(args.unroll, args.envs, dtype=torch.long)
    log_p, reward, done = torch.zeros(3, args.unroll, args.envs)
    obs[0] = torch.from_numpy(envs.reset(seed=args.seed)[0])
    start = time.time()

    iterations = max(args.steps // batch, 1)
    for iteration in range(iterations):
        optimizer.param_groups[0]["lr"] = args.lr * (1 - iteration / iterations)
        for t in range(args.unroll):
            with torch.no_grad():
                scores = actor(obs[t])
                action[t] = torch.multinomial(mt.project(scores, potential), 1).squeeze(-1)
                log_p[t] = mt.log_project(scores, potential).gather(-1, action[t, :, None]).squeeze(-1)
            following, r, terminated, truncated, _ = envs.step(action[t].numpy())
            ended = terminated | truncated  # a truncated episode counts as terminated
            obs[t + 1], reward[t], done[t] = map(torch.as_tensor, (following, r, ended))

        # generalised advantage estimation
        with torch.no_grad():
            value = critic(obs.flatten(0, 1)).view(args.unroll + 1, args.envs)
        advantage, last = torch.zeros_like(reward), torch.zeros(args.envs)
        for t in reversed(range(args.unroll)):
            delta = reward[t] + args.gamma * value[t + 1] * (1 - done[t]) - value[t]
            advantage[t] = last = delta + args.gamma * args.gae_lambda * (1 - done[t]) * last
        target = advantage + value[:-1]
        flat = [x.flatten(0, 1) for x in (obs[:-1], action, log_p, advantage, target)]

        for _ in range(args.epochs):
            for rows in torch.randperm(batch).chunk(args.minibatches):
                o, a, old, adv, goal = (x[rows] for x in flat)
                scores = actor(o)
                p = mt.project(scores, potential)
                # the ratio of probabilities itself: it has a derivative where p is 0, its logarithm has none
                ratio = p.gather(-1, a[:, None]).squeeze(-1) / old.exp()
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                surrogate = torch.min(ratio * adv, ratio.clamp(1 - args.clip, 1 + args.clip) * adv).mean()
                spread = mt.bregman(p, uniform, potential).mean()
                value_loss = (critic(o).squeeze(-1) - goal).square().mean()
                loss = -surrogate + args.uniform * spread + args.value_coef * value_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(parameters, args.max_grad_norm)
                optimizer.step()

        speed = batch * (iteration + 1) / (time.time() - start)
        recent = float(np.mean(envs.return_queue or [0]))
        print(f"{batch * (iteration + 1):9} steps  return {recent:8.2f}  {speed:8.0f} steps/s", flush=True)
    envs.close()
    return recent


if __name__ == "__main__":
    main()
