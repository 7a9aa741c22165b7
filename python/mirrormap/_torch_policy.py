# SPDX-License-Identifier: Apache-2.0
"""A trained policy as a module of PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._library import UnsupportedError

try:
    import torch
except ImportError:
    raise UnsupportedError("to_torch needs PyTorch: pip install torch") from None

if TYPE_CHECKING:
    from ._policy import Policy


class PolicyModule(torch.nn.Module):
    """Actor and critic; `Policy.to_torch` makes one. The map is fixed, the networks are parameters."""

    mean: torch.Tensor  # of the inputs, and 1 / deviation
    scale: torch.Tensor

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.map, self.eta, self.n_input, self.n_real = policy.map, policy.eta, policy.n_input, policy.n_real
        weights = {name: torch.from_numpy(array) for name, array in policy.weights.items()}
        self.actor = _network("actor", weights, policy.relu)
        self.critic = _network("critic", weights, policy.relu)
        if self.n_real:
            self.log_std = torch.nn.Parameter(weights["actor.log_std"])
            self.register_buffer("mean", weights["input.mean"])
            self.register_buffer("scale", (weights["input.variance"] + 1e-8).rsqrt())

    def _inputs(self, obs: torch.Tensor) -> torch.Tensor:
        inputs = obs.to(next(self.actor.parameters()).dtype)
        lead = inputs.dim()
        while lead > 0 and inputs.shape[lead:].numel() < self.n_input:
            lead -= 1
        inputs = inputs.reshape(*inputs.shape[:lead], self.n_input)
        return (inputs - self.mean) * self.scale if self.n_real else inputs

    def forward(self, obs: torch.Tensor) -> Any:
        """Probabilities [.., n_action]; of continuous actions means [.., n_real] and deviations [n_real]."""
        scores = self.actor(self._inputs(obs))
        if self.n_real:
            return scores, self.log_std.exp()
        if self.map is None:
            return scores.softmax(-1)
        from .torch import project

        return project(self.eta * scores, self.map)

    def values(self, obs: torch.Tensor) -> torch.Tensor:
        """What the critic expects, [..]."""
        expected: torch.Tensor = self.critic(self._inputs(obs))
        return expected.squeeze(-1)


def _network(name: str, weights: dict[str, torch.Tensor], relu: bool) -> torch.nn.Sequential:
    layers: list[torch.nn.Module] = []
    for i in range(3):
        weight = weights[f"{name}.{i}.weight"]
        layer = torch.nn.Linear(*weight.shape)
        with torch.no_grad():
            layer.weight.copy_(weight.T)
            layer.bias.copy_(weights[f"{name}.{i}.bias"])
        layers += [layer, torch.nn.ReLU() if relu else torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


def module(policy: Policy) -> PolicyModule:
    """The policy as a module."""
    return PolicyModule(policy)
