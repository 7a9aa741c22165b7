# SPDX-License-Identifier: Apache-2.0
"""Figures of mirror maps, by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._library import UnsupportedError

if TYPE_CHECKING:
    from ._map import Map


def plot_map(shown: Map, axes: Any) -> Any:
    """phi, h(p, 1 - p) and the policies of c (1, 2, 3) into three axes."""
    if axes is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise UnsupportedError("plot needs matplotlib: pip install matplotlib") from None
        axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")[1]
    p = np.linspace(1e-4, 1, 400)
    axes[0].plot(shown.inverse(p), p, label=repr(shown))
    axes[0].set(xlabel="x", ylabel="φ(x)")
    axes[1].plot(p, shown.h(np.stack([p, 1 - p], axis=-1)))
    axes[1].set(xlabel="p", ylabel="h(p, 1 - p)")
    scale = np.linspace(0, 5, 200)
    axes[2].plot(scale, shown.project(scale[:, None] * np.array([1.0, 2.0, 3.0])))
    axes[2].set(xlabel="c", ylabel="policy of c·(1, 2, 3)")
    return axes
