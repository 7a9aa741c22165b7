"""mirrormap: learning the mirror map of policy mirror descent.

>>> import mirrormap as mm
>>> mm.Map("l2").project([0.3, -0.5, 1.2])
array([0.05, 0.  , 0.95])

docs/python.md of the source tree is the guide.
"""

from __future__ import annotations

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
    "__version__",
]
