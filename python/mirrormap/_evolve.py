# SPDX-License-Identifier: Apache-2.0
"""Evolution strategies: ask for candidates, tell how fit they are."""

from __future__ import annotations

import ctypes as c
from typing import Any

import numpy as np
import numpy.typing as npt

from ._library import EsConfig, InputError, default, doubles, encode, lib

Doubles = npt.NDArray[np.float64]

_SHAPINGS = ["pair", "rank", "raw"]


class ES:
    """A strategy: `openes`, `sep-cma-es`, `cma-es` and their variants; greater is better.

    >>> es = ES("cma-es", dimension=5, seed=1)
    >>> for _ in range(100):
    ...     x = es.ask()
    ...     es.tell(-np.sum((x - 1) ** 2, axis=1))
    >>> bool(np.abs(es.mean - 1).max() < 1e-3)
    True

    mean: where the search starts, 0 unless it is given. Further options are the fields of
    mm_es_config (evolve.h), with the paper's settings unless they are given: population, sigma,
    seed, restarts; of openes also shaping (`pair`, `rank`, `raw`), lr, sigma_decay, sigma_min.
    """

    def __init__(self, kind: str, dimension: int, *, mean: npt.ArrayLike | None = None, **options: Any) -> None:
        number = c.c_int()
        lib.mm_es_find(encode(kind), c.byref(number))
        self._config: EsConfig = default(EsConfig, number.value)
        for name, value in {"dimension": dimension, **options}.items():
            self._set(name, value)
        start = np.zeros(self._config.dimension) if mean is None else doubles(mean, "mean")
        if start.shape != (self._config.dimension,):
            raise InputError(f"mean: expected {self._config.dimension} numbers, not shape {start.shape}")
        out = c.c_void_p()
        lib.mm_es_create(c.byref(self._config), start.ctypes.data, c.byref(out))
        self._es = out.value or 0

    def _set(self, name: str, value: Any) -> None:
        types: dict[str, Any] = {field[0]: field[1] for field in EsConfig._fields_ if field[0] not in ("size", "kind")}
        if name not in types:
            raise InputError(f"unknown option {name!r}, expected {', '.join(types)}")
        if name == "shaping":
            if value not in _SHAPINGS:
                raise InputError(f"shaping: expected {', '.join(_SHAPINGS)}, not {value!r}")
            value = _SHAPINGS.index(value)
        elif types[name] is not c.c_double and (
            not isinstance(value, (int, np.integer)) or not 0 <= value <= (2**64 - 1 if name == "seed" else 2**31)
        ):
            raise InputError(f"{name}: expected a whole number, not {value!r}")
        setattr(self._config, name, value)

    def __del__(self) -> None:
        if getattr(self, "_es", 0):
            lib.mm_es_destroy(self._es)

    def ask(self) -> Doubles:
        """The candidates of the next generation, [population, dimension]; again the same until they
        are told of."""
        member = np.empty((self.population, self._config.dimension))
        lib.mm_es_ask(self._es, member.ctypes.data)
        return member

    def tell(self, fitness: npt.ArrayLike) -> None:
        """How fit the candidates last asked for are, [population]."""
        array = doubles(fitness, "fitness")
        if array.shape != (self.population,):
            raise InputError(f"fitness: expected {self.population} numbers, not shape {array.shape}")
        lib.mm_es_tell(self._es, array.ctypes.data)

    @property
    def kind(self) -> str:
        """The name of the strategy."""
        name: bytes = lib.mm_es_name(self._config.kind)
        return name.decode()

    @property
    def population(self) -> int:
        """Candidates of the next generation."""
        return int(lib.mm_es_population(self._es))

    @property
    def dimension(self) -> int:
        """Coordinates of a candidate."""
        return int(self._config.dimension)

    @property
    def mean(self) -> Doubles:
        """Where the search is, [dimension]."""
        return np.ctypeslib.as_array(lib.mm_es_mean(self._es), (self.dimension,)).copy()

    @property
    def sigma(self) -> float:
        """The step size."""
        return float(lib.mm_es_sigma(self._es))

    @property
    def generation(self) -> int:
        """How often it was told."""
        return int(lib.mm_es_generation(self._es))

    @property
    def restarts(self) -> int:
        """How often it began again."""
        return int(lib.mm_es_restarts(self._es))

    @property
    def evaluations(self) -> int:
        """Of how many candidates it was told."""
        return int(lib.mm_es_evaluations(self._es))

    def __getstate__(self) -> dict[str, bytes]:
        state = c.create_string_buffer(lib.mm_es_state_size(self._es))
        lib.mm_es_save(self._es, state)
        return {"config": bytes(self._config), "state": state.raw}

    def __setstate__(self, state: dict[str, bytes]) -> None:
        self._config = EsConfig.from_buffer_copy(state["config"])
        out = c.c_void_p()
        lib.mm_es_load(c.byref(self._config), state["state"], len(state["state"]), c.byref(out))
        self._es = out.value or 0

    def __repr__(self) -> str:
        return f"ES({self.kind!r}, dimension={self.dimension}, generation={self.generation})"
