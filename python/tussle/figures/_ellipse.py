"""The ellipse of RFC 7928: the spread of two quantities over the runs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_LEAST_RUNS = 3
_CORNERS = 48


def ellipse(measured: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
    """Return the corners of the ellipse of runs, a row each; `measured` has a row for each run.

    It is the contour, at one standard deviation, of the normal distribution that fits the runs best (RFC
    7928, section 2.7, after Winstein, Transport architectures for an evolving Internet, 2014). `None` for
    fewer than three runs, and where all runs are equal.
    """
    if len(measured) < _LEAST_RUNS or np.ptp(measured, axis=0).max() == 0:
        return None
    angles = np.linspace(0, 2 * np.pi, _CORNERS + 1)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    sizes, axes = np.linalg.eigh(np.cov(measured, rowvar=False, bias=True))
    corners = measured.mean(axis=0)[:, None] + axes @ (np.sqrt(sizes.clip(0))[:, None] * circle)
    return corners.T
