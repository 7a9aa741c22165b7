# SPDX-License-Identifier: Apache-2.0
"""mirrormap: learning the mirror map of policy mirror descent.

>>> import mirrormap as mm
>>> mm.Map("l2").project([0.3, -0.5, 1.2])
array([0.05, 0.  , 0.95])

docs/python.md of the source tree is the guide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._evolve import ES
from ._library import (
    DeviceError,
    Error,
    FileError,
    InputError,
    Interrupted,
    NumericError,
    OutOfMemoryError,
    TimedOut,
    UnsupportedError,
    __version__,
)
from ._map import Map, Report, maps
from ._policy import Policy, load_policy
from ._study import Cell, Progress, Study, learn, resume, train, transfer, tune
from ._table import Run, Table, read_run

try:  # this also registers the ids mirrormap/<ID>
    from .envs import VectorEnv, env_ids, make_vec
except ModuleNotFoundError as missing:
    if missing.name != "gymnasium":
        raise
    if not TYPE_CHECKING:

        def make_vec(*arguments: Any, **options: Any) -> None:
            """Needs Gymnasium."""
            raise UnsupportedError("make_vec needs Gymnasium: pip install 'mirrormap[gymnasium]'")


__all__ = [
    "Cell",
    "DeviceError",
    "ES",
    "Error",
    "FileError",
    "InputError",
    "Interrupted",
    "Map",
    "NumericError",
    "OutOfMemoryError",
    "Policy",
    "Progress",
    "Report",
    "Run",
    "Study",
    "Table",
    "TimedOut",
    "UnsupportedError",
    "VectorEnv",
    "__version__",
    "env_ids",
    "learn",
    "load_policy",
    "make_vec",
    "maps",
    "read_run",
    "resume",
    "train",
    "transfer",
    "tune",
]
