# SPDX-License-Identifier: Apache-2.0
"""Learning the q of Tsallis' mirror map by gradient (PyTorch).

    python3 learn_q.py --steps 400

A regression whose targets are sparse: every class distribution is the projection of linear scores with
some true q. The loss is the squared distance to it, which is differentiated with
respect to the weights and to q at once. The negative entropy (q = 1) is where it starts; no map is singled out.
"""

import argparse

import torch

import mirrormap as mm
import mirrormap.torch as mt


def main() -> tuple[float, float]:
    """The q it has learned and the loss that is left."""
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--true-q", type=float, default=1.6, help="what is to be found")
    parser.add_argument("--steps", type=int, default=400, help="steps of Adam")
    parser.add_argument("--save", help="write the learned map to this file")
    args = parser.parse_args()
    torch.manual_seed(1)
    inputs = torch.randn(256, 8, dtype=torch.float64)
    target = mt.project(inputs @ torch.randn(8, 5, dtype=torch.float64), mm.Map.tsallis(args.true_q))

    weights = torch.zeros(8, 5, dtype=torch.float64, requires_grad=True)
    log_q = torch.zeros((), dtype=torch.float64, requires_grad=True)  # q > 0
    optimizer = torch.optim.Adam([weights, log_q], lr=0.05)
    for step in range(args.steps):
        loss = (mt.project(inputs @ weights, mt.tsallis(log_q.exp())) - target).square().sum(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0 or step == args.steps - 1:
            print(f"step {step:4}  loss {loss.item():.3e}  q {log_q.exp().item():.4f}", flush=True)
    if args.save:
        mm.Map.tsallis(log_q.exp().item()).save(args.save)
    return log_q.exp().item(), loss.item()


if __name__ == "__main__":
    main()
