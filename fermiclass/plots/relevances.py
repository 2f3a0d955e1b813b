"""Which features the latent functions depend on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fermiclass.plots.axes import SMALL, axes_or_new, open_frame
from fermiclass.plots.colours import class_colours, class_markers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# E (∂f/∂x_j)² over σ²/ℓ_j² under the prior, for the kernels with length-scales: −2 κ'(0), κ of r².
_CURVATURE = {"se": 1.0, "matern32": 3.0, "matern52": 5.0 / 3.0}
_LEGEND_COLUMNS = 4


def kernel_slopes(weights: Mapping[str, ArrayLike], kernel: str) -> NDArray[np.float64]:
    """Return how steep the latent functions are a priori along each standardised feature, ``(C, D)``.

    The root mean square slope √E(∂f_c/∂x_j)², at x = 0: with the kernels of a sum added, σ²/ℓ_j² of the squared
    exponential, 3 σ²/ℓ_j² and 5/3 σ²/ℓ_j² of Matérn 3/2 and 5/2, and σ² of the linear kernel. Larger is more relevant
    (automatic relevance determination).

    Parameters
    ----------
    weights
        ``weights_`` of a trained classifier.
    kernel
        Its ``kernel``, such as ``'se+linear'``.

    Raises
    ------
    ValueError
        When the kernel has no length-scales, or is one that has no slope here.
    """
    parts = kernel.split("+")
    odd = set(parts) - {*_CURVATURE, "linear"}
    if odd or not set(parts) & set(_CURVATURE):
        raise ValueError(
            f"the kernel '{kernel}' has no slopes along each feature: one of {', '.join(_CURVATURE)} is needed, alone "
            "or with 'linear'"
        )
    square: NDArray[np.float64] | float = 0.0
    for k, part in enumerate(parts):
        variance = np.asarray(weights[f"kernel.kernels[{k}].variance"], np.float64)[:, None]
        if part in _CURVATURE:
            lengthscales = np.asarray(weights[f"kernel.kernels[{k}].lengthscales"], np.float64)
            square = square + _CURVATURE[part] * variance / lengthscales**2
        else:
            square = square + variance
    return np.sqrt(square)


def ard_relevances(
    relevances: ArrayLike, features: Sequence[str], classes: Sequence[str], *, axes: Axes | None = None
) -> Axes:
    """Draw the relevance of each feature for each latent function, features by their largest relevance.

    Parameters
    ----------
    relevances
        ``(C, D)``, such as inverse length-scales, or :func:`kernel_slopes`; ``(1, D)`` where two classes share one
        latent function.
    features
        Names of the D features.
    classes
        Names of the C latent functions, the classes; two classes for one latent function.
    axes
        Where to draw.

    Raises
    ------
    ValueError
        When the shape does not fit the names.
    """
    r, names = np.asarray(relevances, dtype=np.float64), [str(name) for name in classes]
    functions = [" and ".join(names)] if len(names) == 2 and len(r) == 1 else names
    if r.shape != (len(functions), len(features)):
        raise ValueError(f"relevances of shape {r.shape} do not fit {len(names)} classes and {len(features)} features")
    order = np.argsort(r.max(axis=0), kind="stable")
    axes = axes_or_new(axes, (4.5, 1.0 + 0.23 * len(features)))
    place = np.arange(len(features))
    axes.hlines(place, r.min(axis=0)[order], r.max(axis=0)[order], color="0.8", linewidth=1.0, zorder=1)
    colours, markers = class_colours(functions), class_markers(functions)
    for name, row in zip(functions, r, strict=True):
        axes.scatter(row[order], place, color=colours[name], marker=markers[name], s=26, lw=0, label=name, zorder=2)
    axes.set_yticks(place, [features[j] for j in order], fontsize=SMALL)
    axes.set_ylim(-0.7, len(features) - 0.3)
    axes.set_xlim(left=0.0)
    axes.set_xlabel("relevance: rms slope per standard deviation")
    columns = min(len(functions), _LEGEND_COLUMNS)
    axes.legend(frameon=False, fontsize=SMALL, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns)
    open_frame(axes)
    return axes
