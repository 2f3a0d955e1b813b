"""The sky on the page: Aitoff's projection of Galactic coordinates, and its grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fermiclass.io.arrays import FloatArray

#: Half the width and half the height of the whole sky.
EXTENT = (float(np.pi), float(np.pi / 2))

_STEPS = 91  # number of points in a line of the grid
_LEFT = 179.999  # deg, the map's left edge; 180 is its right edge


def project(lon: ArrayLike, lat: ArrayLike) -> FloatArray:
    """Return Aitoff's x and y, ``(n, 2)``, of Galactic longitude and latitude in degrees.

    Longitude increases to the left, because sky maps are seen from inside. The Galactic centre is in the middle.
    """
    from matplotlib.projections.geo import AitoffAxes

    to_the_left = -((np.asarray(lon, np.float64) + 180.0) % 360.0 - 180.0)
    angles = np.radians(np.stack([to_the_left, np.asarray(lat, np.float64)], axis=-1))
    # Matplotlib's transform has half the width; it stretches the result when it draws.
    return np.asarray(AitoffAxes.AitoffTransform(1).transform_non_affine(angles)) * [2.0, 1.0]


def grid() -> dict[str, Any]:
    """Return the lines of the grid as lists of points, the outline of the sky, and the labels with their places."""
    lines = [_line(np.full(_STEPS, lon), np.linspace(-90, 90, _STEPS)) for lon in range(-120, 121, 60)]
    lines += [_line(np.linspace(-180, _LEFT, _STEPS), np.full(_STEPS, lat)) for lat in (-60, -30, 0, 30, 60)]
    up = np.linspace(-90, 90, _STEPS)
    edge = _line(np.full(_STEPS, _LEFT), up) + _line(np.full(_STEPS, 180.0), up[::-1])
    places = [(lon, 0, f"{lon % 360}°") for lon in range(-120, 121, 60)]
    places += [(180, lat, f"{lat}°".replace("-", "−")) for lat in (-60, -30, 30, 60)]
    at = _line(*np.array([place[:2] for place in places]).T)
    labels = [{"at": point, "text": place[2]} for point, place in zip(at, places, strict=True)]
    return {"lines": lines, "edge": edge, "labels": labels, "extent": EXTENT}


def _line(lon: NDArray[Any], lat: NDArray[Any]) -> list[list[float]]:
    points: list[list[float]] = np.round(project(lon, lat), 4).tolist()
    return points
