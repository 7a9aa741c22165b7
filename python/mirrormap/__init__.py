"""mirrormap: learning the mirror map of policy mirror descent.

>>> import mirrormap as mm
>>> mm.Map("l2").project([0.3, -0.5, 1.2])
array([0.05, 0.  , 0.95])

docs/python.md of the source tree is the guide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from ._map import Map, Report

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
    "DeviceError",
    "Error",
    "FileError",
    "InputError",
    "Interrupted",
    "Map",
    "NumericError",
    "OutOfMemoryError",
    "Report",
    "TimedOut",
    "UnsupportedError",
    "VectorEnv",
    "__version__",
    "env_ids",
    "make_vec",
]
