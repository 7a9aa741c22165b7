# SPDX-License-Identifier: Apache-2.0
"""The environments for Gymnasium: many side by side (`make_vec`), and one at a time by the ids
`mirrormap/<ID>`, which `import mirrormap` registers. Two kinds of IDs are not what Gymnasium takes:
a slash is a hyphen there (`mirrormap/MinAtar-Asterix-v1`), and beside a `Hopper-v4` there can be no
`Hopper` (`mirrormap/Hopper-brax`).

Episodes are the library's: environment i of a vector that is reset with the seed s is the
environment of `gymnasium.make` that is reset with s + i.
"""

from __future__ import annotations

import ctypes as c
import operator
import sys
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete, Space
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from ._library import EnvInfo, InputError, VecConfig, VecInfo, VecOut, default, encode, error, lib

Array = npt.NDArray[Any]

# as in mm_obs_form, mm_env_rules, mm_env_flavour, mm_env_physics, mm_autoreset
_FORMS: dict[str, type[np.generic]] = {
    "floats": np.float32,
    "columns": np.float32,
    "bits": np.uint32,
    "list": np.uint16,
}
_RULES = ["id", "gymnax", "minatar"]
_FLAVOURS = ["id", "brax", "gymnasium"]
_PHYSICS = ["auto", "own", "mujoco"]
_AUTORESET = [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED]

_Memory = c.c_char * 0  # from_buffer: where an array lies, in a fraction of the time of its attribute `ctypes`
_ONE = np.array(1, np.uint8)  # an array, which spares NumPy the conversion at every step


def _holders(arrays: list[Array], i: int) -> int:
    return sys.getrefcount(arrays[i])


_NOBODY = _holders([np.empty(1)], 0)  # but the list itself


class ClosedError(InputError, gymnasium.error.ClosedEnvironmentError):
    """The environment is closed."""


def env_ids() -> list[str]:
    """The IDs of all environments.

    >>> "CartPole-v1" in env_ids()
    True
    """
    info = EnvInfo()
    ids: list[str] = []
    while lib.mm_env_list(len(ids), c.byref(info)):
        ids.append(info.id.decode())
    return ids


def _word(words: Sequence[str], word: str, what: str) -> int:
    if word not in words:
        raise InputError(f"{what}: unknown word {word!r}, expected {', '.join(words)}")
    return words.index(word)


def _whole(value: Any, what: str, most: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{what}: expected a whole number, not {value!r}") from None
    if not 0 <= number <= most:
        raise InputError(f"{what}: expected a whole number from 0 to {most}, not {number}")
    return number


class _Vec:
    """An mm_vec with its buffers: what Env and VectorEnv have in common."""

    def __init__(
        self,
        env_id: str,
        n: int,
        autoreset: AutoresetMode,
        obs: str,
        instance: int,
        rules: str,
        flavour: str,
        physics: str,
        gymnasium_walls: bool,
        fresh_reset: bool,
    ) -> None:
        config: VecConfig = default(VecConfig)
        config.n = _whole(n, "num_envs", 2**24)
        config.seed = _whole(instance, "instance", 2**64 - 1)
        config.obs = _word(list(_FORMS), obs, "obs")
        config.rules = _word(_RULES, rules, "rules")
        config.flavour = _word(_FLAVOURS, flavour, "flavour")
        config.physics = _word(_PHYSICS, physics, "physics")
        config.gymnasium_walls = bool(gymnasium_walls)
        config.fresh_reset = bool(fresh_reset)
        config.autoreset = _AUTORESET.index(autoreset)
        env, vec = c.c_void_p(), c.c_void_p()
        lib.mm_env_open(encode(env_id), c.byref(env))
        try:
            lib.mm_vec_create(env, c.byref(config), c.byref(vec))
        finally:
            lib.mm_env_destroy(env)
        self.pointer = vec.value or 0
        self.busy = threading.Lock()
        self._destroy = weakref.finalize(self, lib.mm_vec_destroy, self.pointer)

        info = VecInfo()
        lib.mm_vec_describe(self.pointer, c.byref(info))
        self.n, self.n_real, self.columns = n, int(info.n_real), obs == "columns"
        self.action_names = [info.action_name[i].decode() for i in range(info.n_action)] if info.action_name else []
        self.obs_type: np.dtype[Any] = np.dtype(_FORMS[obs])
        board = "MinAtar" in env_id and obs == "floats"
        self.shape = (10, 10, info.entries // 100) if board else (int(info.entries),)
        # as the library writes them; an agent sees columns transposed
        self.buffer_shape = (info.entries, n) if self.columns else (n, *self.shape)
        self.observation_space = self._observations(info, obs)
        self.action_space: Space[Any]
        self.action_type: np.dtype[Any]
        self.action_shape: tuple[int, ...]
        if self.n_real:
            low, high = np.empty(self.n_real, np.float32), np.empty(self.n_real, np.float32)
            lib.mm_vec_action_bounds(self.pointer, low.ctypes.data, high.ctypes.data)
            self.action_space = Box(low, high, dtype=np.float32)
            self.action_type, self.action_shape = np.dtype(np.float32), (n, self.n_real)
        else:
            self.action_space = Discrete(info.n_action)
            self.action_type, self.action_shape = np.dtype(np.int32), (n,)

        # two buffers of observations, of which `turn` is the last one written (see fresh)
        self.buffers = [np.zeros(self.buffer_shape, self.obs_type) for _ in range(2)]
        self.addresses = [buffer.ctypes.data for buffer in self.buffers]
        self.turn = 0
        self.reward, self.end = np.zeros(n, np.float32), np.zeros(n, np.uint8)
        self.final: Array | None = None
        if autoreset == AutoresetMode.SAME_STEP:
            self.final = np.zeros(self.buffer_shape, self.obs_type)
        self.out = VecOut(
            self.addresses[0],
            None if self.final is None else self.final.ctypes.data,
            self.reward.ctypes.data,
            self.end.ctypes.data,
        )
        self.out_address = c.addressof(self.out)

    def _observations(self, info: VecInfo, obs: str) -> Box:
        entries = int(info.entries)
        if obs == "bits":
            return Box(0, 2**32 - 1, (entries,), np.uint32)
        if obs == "list":
            return Box(0, int(info.n_input), (entries,), np.uint16)
        low, high = np.empty(entries, np.float32), np.empty(entries, np.float32)
        lib.mm_vec_obs_bounds(self.pointer, low.ctypes.data, high.ctypes.data)
        return Box(low.reshape(self.shape), high.reshape(self.shape), dtype=np.float32)

    def __reduce__(self) -> Any:
        raise TypeError("environments are not copied or pickled: save() and load() keep their state")

    def close(self) -> None:
        with self.busy:
            self.pointer = 0
            self._destroy()

    def enter(self) -> None:
        """Takes the vec for this thread; `self.busy.release()` gives it back."""
        if not self.busy.acquire(blocking=False):
            raise InputError("the environments are in use by another thread")
        if not self.pointer:
            self.busy.release()
            raise ClosedError("the environments are closed")

    def seen(self, buffer: Array) -> Array:
        """A buffer of observations as an agent sees it: a view."""
        return buffer.T if self.columns else buffer.view()

    def fresh(self) -> None:
        """The next observations go to a buffer that nobody holds a view of, the last one if possible: it is in the
        caches. Where both are held, to new memory."""
        turn = self.turn
        if _holders(self.buffers, turn) != _NOBODY:
            turn = 1 - turn
            if _holders(self.buffers, turn) != _NOBODY:
                obs: Any = np.empty(self.buffer_shape, self.obs_type)  # to mypy a buffer from Python 3.12 on only
                self.buffers[turn], self.addresses[turn] = obs, c.addressof(_Memory.from_buffer(obs))
        self.use(turn)

    def use(self, turn: int) -> None:
        self.turn, self.out.obs = turn, self.addresses[turn]

    @property
    def obs(self) -> Array:
        """The last observations."""
        return self.buffers[self.turn]

    def actions(self, actions: Any) -> Array:
        """Actions of the library's type, without a copy where they are so already."""
        array = np.asarray(actions)
        if array.shape != self.action_shape:
            raise InputError(f"actions: expected shape {self.action_shape}, not {array.shape}")
        if self.n_real:
            if array.dtype.kind not in "fiu":
                raise InputError(f"actions: expected real numbers, not {array.dtype}")
        elif array.dtype != self.action_type:
            if array.dtype.kind not in "iu":
                raise InputError(f"actions: expected whole numbers, not {array.dtype}")
            # a number that 31 bits do not hold has others of its bits set
            if not 0 <= int(np.bitwise_or.reduce(array)) < 2**31:
                raise InputError("actions: expected numbers of actions, from 0 to their number less one")
        return array.astype(self.action_type, copy=False)

    def step(self, actions: Any) -> None:
        if (
            type(actions) is not np.ndarray
            or actions.dtype is not self.action_type
            or actions.shape != self.action_shape
        ):
            actions = self.actions(actions)
        try:
            memory = _Memory.from_buffer(actions)
        except TypeError:  # not to be written, or with gaps
            memory = _Memory.from_buffer(actions.copy("C"))
        status = lib.mm_vec_step(self.pointer, memory, self.out_address)
        if status:
            raise error(status)

    def reset(self, mask: Array | None, seeds: Array | None) -> None:
        lib.mm_vec_reset_where(
            self.pointer,
            None if mask is None else mask.ctypes.data,
            None if seeds is None else seeds.ctypes.data,
            c.byref(self.out),
        )

    def picture(self, i: int) -> npt.NDArray[np.uint8]:
        width, height = c.c_int32(), c.c_int32()
        lib.mm_vec_picture_size(self.pointer, c.byref(width), c.byref(height))
        rgb = np.empty((height.value, width.value, 3), np.uint8)
        lib.mm_vec_render(self.pointer, self.out.obs, i, width, height, rgb.ctypes.data)
        return rgb

    def save(self) -> bytes:
        self.enter()
        try:
            state = c.create_string_buffer(lib.mm_vec_state_size(self.pointer))
            lib.mm_vec_save(self.pointer, state)
            return state.raw
        finally:
            self.busy.release()

    def load(self, state: bytes, fresh: bool) -> None:
        self.enter()
        try:
            before = self.turn
            if fresh:
                self.fresh()
            try:
                lib.mm_vec_load(self.pointer, bytes(state), len(state))
            except Exception:  # nothing has moved
                self.use(before)
                raise
            lib.mm_vec_observe(self.pointer, self.out.obs)
        finally:
            self.busy.release()


def _render_mode(render_mode: str | None) -> str | None:
    if render_mode not in (None, "rgb_array"):
        raise InputError(f"render_mode: expected None or 'rgb_array', not {render_mode!r}")
    return render_mode


class VectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Many environments side by side; `make_vec` makes one."""

    metadata: dict[str, Any]

    def __init__(
        self,
        env_id: str,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        obs: str = "floats",
        instance: int = 0,
        rules: str = "id",
        flavour: str = "id",
        physics: str = "auto",
        gymnasium_walls: bool = False,
        fresh_reset: bool = True,
        render_mode: str | None = None,
    ) -> None:
        try:
            mode = AutoresetMode(autoreset_mode)
        except ValueError:
            names = ", ".join(each.value for each in AutoresetMode)
            raise InputError(f"autoreset_mode: expected one of {names}, not {autoreset_mode!r}") from None
        self._vec = _Vec(
            env_id, num_envs, mode, obs, instance, rules, flavour, physics, gymnasium_walls, fresh_reset
        )
        self.num_envs = num_envs
        self.copy = copy
        self.render_mode = _render_mode(render_mode)
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": 30, "autoreset_mode": mode}
        self.single_observation_space = self._vec.observation_space
        self.single_action_space = self._vec.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.action_names = self._vec.action_names
        self._same_step = mode == AutoresetMode.SAME_STEP
        self._was_reset = False

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Starts all environments, or those of options["reset_mask"], a bool for each.

        seed: s for s, s + 1, .. of the environments, a list with one for each, or None: an
        environment goes on with its random numbers.
        """
        mask = self._mask(options)
        seeds = self._seeds(seed)
        vec = self._vec
        vec.enter()
        try:
            if self.copy:
                before = vec.obs
                vec.fresh()
                if mask is not None:
                    vec.obs[...] = before
            vec.reset(mask, seeds)
            self._was_reset = True
            return vec.seen(vec.obs), {}
        finally:
            vec.busy.release()

    def _mask(self, options: dict[str, Any] | None) -> Array | None:
        if options is not None and not isinstance(options, dict):
            raise InputError(f"options: expected a dictionary, not {type(options).__name__}")
        mask = (options or {}).get("reset_mask")
        if mask is None:
            return None
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise InputError(f"options['reset_mask']: expected an array of {self.num_envs} bools")
        if not mask.any():
            raise InputError("options['reset_mask']: expected at least one that is True")
        return np.ascontiguousarray(mask)

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Array | None:
        most = 2**64 - 1
        if seed is None:
            if self._was_reset:
                return None
            return self.np_random.integers(most, size=self.num_envs, dtype=np.uint64, endpoint=True)
        if isinstance(seed, (list, tuple)) or (isinstance(seed, np.ndarray) and seed.ndim == 1):
            if len(seed) != self.num_envs:
                raise InputError(f"seed: expected a list of {self.num_envs}, not of {len(seed)}")
            return np.array(
                [int(self.np_random.integers(2**63)) if s is None else _whole(s, "seed", most) for s in seed],
                np.uint64,
            )
        first = _whole(seed, "seed", most - self.num_envs)
        super().reset(seed=first)
        return np.arange(first, first + self.num_envs, dtype=np.uint64)

    def step(self, actions: npt.ArrayLike) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """One step of every environment: observations, rewards, terminated, truncated, infos.

        actions: whole numbers [num_envs], or reals [num_envs, ..]. int32 and float32 without gaps
        are read where they are, others are copied. With copy=False the observations are a view of
        the one buffer, which the next call writes again.
        """
        vec = self._vec
        vec.enter()
        try:
            if self.copy:
                before = vec.turn
                vec.fresh()
                try:
                    vec.step(actions)
                except Exception:  # nothing has moved
                    vec.use(before)
                    raise
            else:
                vec.step(actions)
            end = vec.end
            return (
                vec.seen(vec.obs),
                vec.reward.copy(),
                (end & _ONE).view(np.bool_),
                (end >> _ONE).view(np.bool_),
                self._last() if self._same_step else {},
            )
        finally:
            vec.busy.release()

    def _last(self) -> dict[str, Any]:
        """What Gymnasium tells of episodes that ended when the next have begun."""
        vec = self._vec
        ended = np.flatnonzero(vec.end)
        if ended.size == 0 or vec.final is None:
            return {}
        rows = vec.seen(vec.final)[ended]
        final = np.full(self.num_envs, None, dtype=object)
        final[ended] = np.fromiter(rows, object, ended.size)
        mask = vec.end != 0
        return {"final_obs": final, "_final_obs": mask, "final_info": {}, "_final_info": mask.copy()}

    def render(self) -> tuple[npt.NDArray[np.uint8], ...] | None:
        """A picture of every environment as its observation shows it, uint8 [height, width, 3]."""
        if self.render_mode is None:
            gymnasium.logger.warn("render: the environments were made without render_mode='rgb_array'")
            return None
        self._vec.enter()
        try:
            return tuple(self._vec.picture(i) for i in range(self.num_envs))
        finally:
            self._vec.busy.release()

    def save(self) -> bytes:
        """The state of all environments; after a reset."""
        if not self._was_reset:
            raise InputError("save: the environments were never reset")
        return self._vec.save()

    def load(self, state: bytes) -> Array:
        """Goes on from a saved state, to the same bits; returns the observations.

        >>> a, b = make_vec("CartPole-v1", 2), make_vec("CartPole-v1", 2)
        >>> _ = a.reset(seed=1)
        >>> obs = b.load(a.save())
        >>> bool((a.step([0, 1])[0] == b.step([0, 1])[0]).all())
        True
        """
        self._vec.load(state, self.copy)
        self._was_reset = True
        return self._vec.seen(self._vec.obs)

    def close_extras(self, **kwargs: Any) -> None:
        self._vec.close()

    def __repr__(self) -> str:
        name = self.spec.id if self.spec else ""
        return f"{type(self).__name__}({name + ', ' if name else ''}num_envs={self.num_envs})"


def make_vec(env_id: str, num_envs: int = 1, **options: Any) -> VectorEnv:
    """`num_envs` environments side by side, as Gymnasium's vector environments.

    >>> import mirrormap as mm
    >>> envs = mm.make_vec("CartPole-v1", num_envs=3)
    >>> obs, info = envs.reset(seed=7)
    >>> obs, reward, terminated, truncated, info = envs.step([0, 1, 1])
    >>> obs.shape, reward.tolist(), terminated.tolist()
    ((3, 4), [1.0, 1.0, 1.0], [False, False, False])

    Options:

    - autoreset_mode: Gymnasium's, AutoresetMode.NEXT_STEP unless it is given.
    - copy: False for observations that are a view of one buffer, which the next step writes again.
    - obs: `floats` [.., inputs] (MinAtar: [.., 10, 10, channels]); `columns`, the same numbers in
      the order that the library computes them; of environments with inputs that are on or off also
      `bits` and `list` (mm_obs_form of env.h).
    - instance: which one of a family (Grid-World).
    - rules (MinAtar), flavour, physics (locomotion), gymnasium_walls (MountainCarContinuous): as the
      settings of these names.
    - fresh_reset: False starts every episode of an environment where its first one did.
    - render_mode: None or `rgb_array`.
    """
    if not isinstance(env_id, str):
        raise TypeError(f"an environment is named by a text, not {type(env_id).__name__}")
    return VectorEnv(env_id, num_envs, **options)


class Env(gymnasium.Env[Any, Any]):
    """One environment, for `gymnasium.make("mirrormap/<ID>")`; options as of `make_vec`."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __init__(
        self,
        env_id: str,
        *,
        obs: str = "floats",
        instance: int = 0,
        rules: str = "id",
        flavour: str = "id",
        physics: str = "auto",
        gymnasium_walls: bool = False,
        fresh_reset: bool = True,
        render_mode: str | None = None,
    ) -> None:
        disabled = AutoresetMode.DISABLED
        self._vec = _Vec(env_id, 1, disabled, obs, instance, rules, flavour, physics, gymnasium_walls, fresh_reset)
        self.render_mode = _render_mode(render_mode)
        self.observation_space = self._vec.observation_space
        self.action_space = self._vec.action_space
        self.action_names = self._vec.action_names
        self._was_reset = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begins an episode; without a seed with the random numbers that come next."""
        super().reset(seed=seed)
        if seed is None and not self._was_reset:
            seed = int(self.np_random.integers(2**63))
        seeds = None if seed is None else np.array([_whole(seed, "seed", 2**64 - 1)], np.uint64)
        vec = self._vec
        vec.enter()
        try:
            vec.reset(None, seeds)
            self._was_reset = True
            return vec.seen(vec.obs)[0].copy(), {}
        finally:
            vec.busy.release()

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """One step: observation, reward, terminated, truncated, info."""
        vec = self._vec
        vec.enter()
        try:
            vec.step(np.asarray(action)[None])
            end = int(vec.end[0])
            return vec.seen(vec.obs)[0].copy(), float(vec.reward[0]), bool(end & 1), bool(end & 2), {}
        finally:
            vec.busy.release()

    def render(self) -> npt.NDArray[np.uint8] | None:
        """A picture as uint8 [height, width, 3]."""
        if self.render_mode is None:
            gymnasium.logger.warn("render: the environment was made without render_mode='rgb_array'")
            return None
        self._vec.enter()
        try:
            return self._vec.picture(0)
        finally:
            self._vec.busy.release()

    def close(self) -> None:
        self._vec.close()


def gymnasium_id(env_id: str) -> str:
    """The id of an environment for gymnasium.make.

    >>> gymnasium_id("Acrobot-v1"), gymnasium_id("MinAtar/Freeway-v1"), gymnasium_id("Ant")
    ('mirrormap/Acrobot-v1', 'mirrormap/MinAtar-Freeway-v1', 'mirrormap/Ant-brax')
    """
    return "mirrormap/" + env_id.replace("/", "-") + ("-brax" if env_id + "-v4" in env_ids() else "")


def register() -> None:
    """Registers all environments for gymnasium.make and gymnasium.make_vec."""
    for env_id in env_ids():
        name = gymnasium_id(env_id)
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="mirrormap.envs:Env",
                vector_entry_point="mirrormap.envs:VectorEnv",
                kwargs={"env_id": env_id},
            )


register()
