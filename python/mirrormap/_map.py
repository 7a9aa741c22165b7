# SPDX-License-Identifier: Apache-2.0
"""Mirror maps: phi, projections of scores to policies, divergences, files."""

from __future__ import annotations

import ctypes as c
import dataclasses
import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._library import InputError, MapReport, data_files, doubles, encode, lib

Array = npt.NDArray[Any]

_EXACT, _BISECT10 = 0, 1


@dataclasses.dataclass(frozen=True)
class Report:
    """Is phi an omega-potential on what a policy uses? A failure makes the map invalid."""

    valid: bool
    strictly_increasing: bool
    essentially_smooth: bool
    phi_inverse_at_0: float
    phi_inverse_at_1: float
    integral: float
    failures: list[str]
    warnings: list[str]


def _real(values: Any, what: str) -> Array:
    """Single precision stays, all other real numbers are doubles. Not contiguous: copied."""
    if getattr(values, "dtype", None) == np.float32:
        return np.ascontiguousarray(values).reshape(np.shape(values))
    return doubles(values, what)


class Map:
    """A mirror map, by its name or file. It does not change, and threads may share it.

    >>> import mirrormap as mm
    >>> mm.Map("l2").project([0.3, -0.5, 1.2])
    array([0.05, 0.  , 0.95])
    >>> mm.Map("negentropy").project([[0.0, 0.0], [1.0, 1.0]])
    array([[0.5, 0.5],
           [0.5, 0.5]])

    `text` is what the program takes: `negentropy`, `l2`, `tsallis:Q`, `piecewise`, `powers`,
    `neural`, `random:SEED`, `random-neural:SEED`, a map file, or the name of a learned map
    (`maps()`). A path object is always a file. Others are made from parameters by `tsallis`,
    `piecewise`, `neural`, `powers` and `stages`, or read from JSON text by `parse`.

    Arrays may have any leading shape and any layout (they are copied unless contiguous). float32 is
    computed in the engines' single precision, everything else in double.
    """

    __slots__ = ("_map",)
    _map: int

    def __init__(self, text: str | os.PathLike[str]) -> None:
        out = c.c_void_p()
        if isinstance(text, str):
            lib.mm_map_open(encode(text), c.byref(out))
        elif isinstance(text, os.PathLike):
            lib.mm_map_load(encode(text), c.byref(out))
        else:
            raise TypeError(f"a map is named by a text or a path, not {type(text).__name__}")
        self._map = out.value or 0

    @classmethod
    def _own(cls, pointer: c.c_void_p) -> Map:
        result = cls.__new__(cls)
        result._map = pointer.value or 0
        return result

    @classmethod
    def _create(cls, function: Any, *arguments: Any) -> Map:
        out = c.c_void_p()
        function(*arguments, c.byref(out))
        return cls._own(out)

    @classmethod
    def tsallis(cls, q: float) -> Map:
        """phi(x) = max((q-1) x / q, 0)^(1/(q-1)), q > 0, q != 1.

        >>> Map.tsallis(1.5)
        Map('tsallis', q=1.5)
        """
        return cls._create(lib.mm_map_create_tsallis, q)

    @classmethod
    def piecewise(cls, psi: npt.ArrayLike) -> Map:
        """len(psi) straight steps: phi(psi_1 + .. + psi_j) = j / len(psi)."""
        psi = _vector(psi, "psi")
        return cls._create(lib.mm_map_create_piecewise, psi.ctypes.data, psi.size)

    @classmethod
    def neural(cls, w: npt.ArrayLike, c: npt.ArrayLike, u: npt.ArrayLike, a: float, b: float) -> Map:
        """phi^-1(x) = sum_j u_j s_j(w_j x + c_j) + a x + b log x; w, c, u of 126 numbers."""
        arrays = [_vector(x, name, 126) for x, name in ((w, "w"), (c, "c"), (u, "u"))]
        return cls._create(lib.mm_map_create_neural, *[x.ctypes.data for x in arrays], a, b)

    @classmethod
    def powers(cls, w: npt.ArrayLike, a: npt.ArrayLike) -> Map:
        """phi^-1(p) = sum_k w_k (p^a_k - 1) / a_k, log p where a_k = 0; at most 8 terms."""
        w = _vector(w, "w")
        a = _vector(a, "a", w.size)
        return cls._create(lib.mm_map_create_powers, w.ctypes.data, a.ctypes.data, w.size)

    @classmethod
    def stages(cls, anchors: Sequence[Map]) -> Map:
        """A map that moves in the course of a training run through 2 to 4 anchors of one kind."""
        array = (c.c_void_p * max(len(anchors), 1))(*[anchor._map for anchor in anchors])
        return cls._create(lib.mm_map_create_stages, array, len(anchors))

    @classmethod
    def parse(cls, text: str, source: str = "text") -> Map:
        """From the text of a map file; `source` names it in errors."""
        data = text.encode()
        return cls._create(lib.mm_map_parse, data, len(data), encode(source))

    def __del__(self) -> None:
        if getattr(self, "_map", 0):
            lib.mm_map_destroy(self._map)

    # -------------------------------------------------------------------------------------
    # Looking at it

    @property
    def kind(self) -> str:
        """The family: `negentropy`, `l2`, `tsallis`, `piecewise`, `neural` or `powers`."""
        name: bytes = lib.mm_map_kind_name(lib.mm_map_get_kind(self._map))
        return name.decode()

    @property
    def parameters(self) -> dict[str, Any]:
        """What the map is made of, by the names of its constructor; of stages: of the last anchor.

        >>> Map("tsallis:0.5").parameters
        {'q': 0.5}
        >>> Map("piecewise:2").parameters["psi"].shape
        (2,)
        """
        kind = self.kind
        if kind == "tsallis":
            return {"q": float(lib.mm_map_tsallis_q(self._map))}
        if kind == "piecewise":
            n = c.c_size_t()
            psi = lib.mm_map_piecewise_psi(self._map, c.byref(n))
            return {"psi": _copied(psi, n.value)}
        if kind == "neural":
            arrays = [c.POINTER(c.c_double)() for _ in range(3)]
            numbers = [c.c_double() for _ in range(2)]
            lib.mm_map_neural_parameters(self._map, *map(c.byref, arrays), *map(c.byref, numbers))
            return {
                **{name: _copied(array, 126) for name, array in zip("wcu", arrays, strict=True)},
                **{name: number.value for name, number in zip("ab", numbers, strict=True)},
            }
        if kind == "powers":
            arrays = [c.POINTER(c.c_double)() for _ in range(2)]
            terms = lib.mm_map_powers_terms(self._map, *map(c.byref, arrays))
            return {name: _copied(array, terms) for name, array in zip("wa", arrays, strict=True)}
        return {}

    @property
    def anchors(self) -> list[Map]:
        """The maps that it moves through; one that does not move is its own, the only one."""
        n = lib.mm_map_stages(self._map)
        if n == 1:
            return [self]
        return [Map.parse(_format(lib.mm_map_stage(self._map, i), None)) for i in range(n)]

    @property
    def eta(self) -> float | None:
        """The step size that it was learned with, if that is known."""
        return float(lib.mm_map_eta(self._map)) or None

    @property
    def meta(self) -> dict[str, Any]:
        """What its file says of where it comes from."""
        text = lib.mm_map_meta(self._map)
        meta: dict[str, Any] = json.loads(text) if text else {}
        return meta

    def check(self) -> Report:
        """Whether phi is what a mirror map needs.

        >>> Map("negentropy").check().valid
        True
        """
        report = MapReport()
        lib.mm_map_check(self._map, c.byref(report))
        return Report(
            report.valid,
            report.strictly_increasing,
            report.essentially_smooth,
            report.phi_inverse_at_0,
            report.phi_inverse_at_1,
            report.integral,
            [report.failure[i].value.decode() for i in range(report.n_failure)],
            [report.warning[i].value.decode() for i in range(report.n_warning)],
        )

    def __repr__(self) -> str:
        name = self.meta.get("name")
        parts = [repr(name if isinstance(name, str) else self.kind)]
        for key, value in self.parameters.items():
            parts.append(f"{key}=[{value.size} numbers]" if isinstance(value, np.ndarray) else f"{key}={value!r}")
        if len(self.anchors) > 1:
            parts.append(f"stages={len(self.anchors)}")
        return f"Map({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Map) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    # -------------------------------------------------------------------------------------
    # Using it

    def project(
        self, scores: npt.ArrayLike, *, method: str = "exact", return_lambda: bool = False
    ) -> Any:
        """The policy of scores: probabilities p_a = max(phi(x_a + lambda), 0) over the last axis.

        method: `exact`, or `bisect10`, the reference's ten bisections. With return_lambda also the
        normalisers, of the leading shape.

        >>> p, normaliser = Map("l2").project(np.zeros((5, 2, 4)), return_lambda=True)
        >>> p.shape, normaliser.shape
        ((5, 2, 4), (5, 2))
        """
        x = _real(scores, "scores")
        if x.ndim == 0 or x.shape[-1] == 0:
            raise InputError(f"scores: expected one number or more along the last axis, not shape {x.shape}")
        if method not in ("exact", "bisect10"):
            raise InputError(f"unknown method {method!r}, expected exact or bisect10")
        single = x.dtype == np.float32
        probs, normaliser = np.empty_like(x), np.empty(x.shape[:-1], x.dtype)
        (lib.mm_map_project_batch_f if single else lib.mm_map_project_batch)(
            self._map,
            _BISECT10 if method == "bisect10" else _EXACT,
            x.ctypes.data,
            normaliser.size,
            x.shape[-1],
            probs.ctypes.data,
            normaliser.ctypes.data if return_lambda else None,
        )
        return (probs, normaliser) if return_lambda else probs

    def _each(self, double: Any, single: Any, values: npt.ArrayLike, what: str) -> Any:
        x = _real(values, what)
        out = np.empty_like(x)
        (single if x.dtype == np.float32 else double)(self._map, x.ctypes.data, x.size, out.ctypes.data)
        return out[()]  # a number for a number

    def phi(self, x: npt.ArrayLike) -> Any:
        """phi, element by element, not clipped at 0."""
        return self._each(lib.mm_map_phi, lib.mm_map_phi_f, x, "x")

    def inverse(self, p: npt.ArrayLike) -> Any:
        """phi^-1, element by element: the gradient of h. At 0 possibly -inf.

        >>> Map("l2").inverse([0.0, 0.25, 1.0])
        array([0.  , 0.25, 1.  ])
        """
        return self._each(lib.mm_map_phi_inverse, lib.mm_map_phi_inverse_f, p, "p")

    def h(self, p: npt.ArrayLike) -> Any:
        """The mirror map itself, sum_a int_1^{p_a} phi^-1 over the last axis; in double."""
        q = _policies(p, "p")
        terms = np.empty_like(q)
        lib.mm_map_h(self._map, q.ctypes.data, q.size, terms.ctypes.data)
        return terms.sum(axis=-1)

    def bregman(self, p: npt.ArrayLike, q: npt.ArrayLike) -> Any:
        """The divergence D(p, q) over the last axis, leading axes broadcast; in double.

        >>> float(Map("l2").bregman([1.0, 0.0], [0.5, 0.5]))
        0.25
        """
        left, right = np.broadcast_arrays(_policies(p, "p"), _policies(q, "q"))
        left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
        out = np.empty(left.shape[:-1])
        n, row = left.shape[-1], left.shape[-1] * left.itemsize
        to = c.POINTER(c.c_double)
        for i in range(out.size):
            lib.mm_map_bregman(
                self._map,
                left.ctypes.data + i * row,
                right.ctypes.data + i * row,
                n,
                c.cast(out.ctypes.data + i * out.itemsize, to),
            )
        return out[()]

    def plot(self, axes: Any = None) -> Any:
        """Draws phi, h and the policies of the scores c (1, 2, 3); returns the three axes.

        axes: three axes of matplotlib, which must be there; without them a figure is made.
        """
        from ._plot import plot_map

        return plot_map(self, axes)

    # -------------------------------------------------------------------------------------
    # Keeping it

    def save(self, path: str | os.PathLike[str], meta: dict[str, Any] | None = None) -> None:
        """Writes a map file; `meta` says where the map comes from (None: what it says already)."""
        lib.mm_map_save(self._map, None if meta is None else json.dumps(meta).encode(), encode(path))

    def to_json(self, meta: dict[str, Any] | None = None) -> str:
        """The text of its file, exact to the bit."""
        return _format(self._map, meta)

    def __reduce__(self) -> tuple[Any, ...]:
        return Map.parse, (self.to_json(),)


def maps() -> list[str]:
    """The names of the learned maps that come with the package.

    >>> "acrobot" in maps()
    True
    """
    return data_files("maps", ".json")


def _format(pointer: int, meta: dict[str, Any] | None) -> str:
    text = c.c_void_p()
    lib.mm_map_format(pointer, None if meta is None else json.dumps(meta).encode(), c.byref(text))
    try:
        return c.string_at(text.value or 0).decode()
    finally:
        lib.mm_map_text_free(text)


def _copied(array: Any, n: int) -> Array:
    return np.ctypeslib.as_array(array, (n,)).copy()


def _vector(values: npt.ArrayLike, name: str, n: int | None = None) -> Array:
    array = doubles(values, name)
    if array.ndim != 1 or (n is not None and array.size != n):
        raise InputError(f"{name}: expected {n if n is not None else 'a list of'} numbers, not shape {array.shape}")
    return array


def _policies(values: npt.ArrayLike, name: str) -> Array:
    array = doubles(values, name)
    if array.ndim == 0:
        raise InputError(f"{name}: expected probabilities along the last axis, not a number")
    return array
