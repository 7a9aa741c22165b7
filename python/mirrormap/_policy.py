# SPDX-License-Identifier: Apache-2.0
"""Trained policies."""

from __future__ import annotations

import ctypes as c
import os
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from ._library import Draw, InputError, PolicyInfo, PolicyTensor, encode, lib
from ._map import Map, _format

Array = npt.NDArray[Any]


class Policy:
    """One agent of a trained policy: `policy(obs)` acts. `load_policy` makes one.

    obs: as `make_vec` and `gymnasium.make` give them, for one state or many.
    """

    env: str  # of the training: an ID, or the path of a task file
    algo: str
    map: Map | None  # None for learners without one
    eta: float
    seed: int  # of the agent's training
    agents: int  # in the file
    final: float  # what the training reached, nan where it is not known
    n_input: int
    n_action: int  # 0: actions are real,
    n_real: int  # so many numbers each

    def __init__(self, path: str | os.PathLike[str], agent: int = 0, *, seed: int = 0) -> None:
        pointer = c.c_void_p()
        self._policy = self._player = 0
        self._busy = threading.Lock()
        lib.mm_policy_load(encode(path), c.byref(pointer))
        self._policy = pointer.value or 0
        info = PolicyInfo()
        lib.mm_policy_describe(self._policy, c.byref(info))
        if not isinstance(agent, (int, np.integer)) or not 0 <= agent < info.n:
            raise InputError(f"{os.fspath(path)!r}: no agent {agent!r}, expected 0 to {info.n - 1}")
        lib.mm_player_create(self._policy, agent, c.byref(pointer))
        self._player = pointer.value or 0
        self._draw = Draw(seed=seed)
        self._agent = int(agent)
        self.env, self.algo = info.env_id.decode(), lib.mm_algo_name(info.algo).decode()
        self.map = Map.parse(_format(info.map, None)) if lib.mm_algo_has_map(info.algo) else None
        self.eta, self.seed, self.agents = info.eta, (info.seed + agent) % 2**64, info.n
        self.final = info.final_value[agent]
        self.n_input, self.n_action, self.n_real = info.n_input, info.n_action, info.n_real
        self.relu = bool(info.relu)

    def __del__(self) -> None:
        if getattr(self, "_player", 0):
            lib.mm_player_destroy(self._player)
        if getattr(self, "_policy", 0):
            lib.mm_policy_destroy(self._policy)

    def __reduce__(self) -> Any:
        raise TypeError("policies are not copied or pickled: load_policy(path) reads one")

    def _states(self, obs: npt.ArrayLike) -> tuple[Array, tuple[int, ...]]:
        """Rows of inputs, and the shape of what they are for: the last axes of obs are a state."""
        try:
            array = np.asarray(obs)
            if array.dtype.kind not in "fiub":
                raise TypeError
            array = np.ascontiguousarray(array, np.float32)
        except (TypeError, ValueError):
            raise InputError(f"obs: expected an array of real numbers, not {type(obs).__name__}") from None
        size, axis = 1, array.ndim
        while axis > 0 and size < self.n_input:
            axis -= 1
            size *= array.shape[axis]
        if size != self.n_input:
            raise InputError(f"obs: expected {self.n_input} inputs along the last axes, not shape {array.shape}")
        return array.reshape(-1, self.n_input), array.shape[:axis]

    def _call(self, function: Any, *arguments: Any) -> None:
        with self._busy:
            function(self._player, *arguments)

    def __call__(self, obs: npt.ArrayLike, *, greedy: bool = False) -> Array:
        """Actions as the environments take them: int32 [..], or float32 [.., n_real].

        greedy: the most probable ones. Otherwise they are drawn: call t by the random numbers of
        step t of a training with the seed that `load_policy` was given.
        """
        rows, lead = self._states(obs)
        actions = np.empty((len(rows), self.n_real), np.float32) if self.n_real else np.empty(len(rows), np.int32)
        with self._busy:
            draw = None if greedy else c.byref(self._draw)
            lib.mm_player_act(self._player, rows.ctypes.data, len(rows), draw, actions.ctypes.data)
            self._draw.step += not greedy
        return actions.reshape(lead + actions.shape[1:])

    def probs(self, obs: npt.ArrayLike) -> Array:
        """Probabilities of the actions, float32 [.., n_action]."""
        rows, lead = self._states(obs)
        out = np.empty((len(rows), self.n_action), np.float32)
        self._call(lib.mm_player_probs, rows.ctypes.data, len(rows), out.ctypes.data)
        return out.reshape(*lead, self.n_action)

    def normal(self, obs: npt.ArrayLike) -> tuple[Array, Array]:
        """Means [.., n_real] and standard deviations [n_real] of continuous actions, in the agent's units:
        environments take them clipped to [-1, 1] and stretched to their range."""
        rows, lead = self._states(obs)
        mean, deviation = np.empty((len(rows), self.n_real), np.float32), np.empty(self.n_real, np.float32)
        self._call(lib.mm_player_normal, rows.ctypes.data, len(rows), mean.ctypes.data, deviation.ctypes.data)
        return mean.reshape(*lead, self.n_real), deviation

    def values(self, obs: npt.ArrayLike) -> Array:
        """What the critic expects, float32 [..]."""
        rows, lead = self._states(obs)
        out = np.empty(len(rows), np.float32)
        self._call(lib.mm_player_values, rows.ctypes.data, len(rows), out.ctypes.data)
        return out.reshape(lead)

    @property
    def weights(self) -> dict[str, Array]:
        """The agent's networks by the names of docs/policies.md: `actor.0.weight` [inputs, units]
        and so on; a layer is y = x W + b."""
        tensor, weights = PolicyTensor(), {}
        for i in range(lib.mm_policy_tensors(self._policy)):
            lib.mm_policy_tensor_at(self._policy, i, c.byref(tensor))
            shape = tuple(tensor.shape[: tensor.dims])
            weights[tensor.name.decode()] = np.ctypeslib.as_array(tensor.data, shape)[self._agent].copy()
        return weights

    def to_torch(self) -> Any:
        """An nn.Module with the same outputs: probabilities [.., n_action], or the means and standard
        deviations of `normal`; `module.values(obs)` is the critic."""
        from ._torch_policy import module

        return module(self)

    def __repr__(self) -> str:
        return f"Policy({self.env!r}, {self.algo}, agent {self._agent} of {self.agents}, final={self.final:.4g})"


def load_policy(path: str | os.PathLike[str], agent: int = 0, *, seed: int = 0) -> Policy:
    """Agent `agent` of the policy in a safetensors file or in a run's folder; `seed` is for the
    actions that it draws."""
    return Policy(path, agent, seed=seed)
