"""Label shift: class priors of a group of sources, estimated from their probabilities alone.

A classifier learns the frequencies π_c of the classes among the training sources. Among other sources they are w_c,
while p(x | c) is the same for each class. Then the marginal likelihood of w is, up to a constant, Π_i Σ_c p(c | x_i)
w_c/π_c. It needs no labels (Saerens, Latinne & Decaestecker 2002, Neural Computation 14, 21).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fermiclass.io import FloatArray

#: Weight of the prior on the class priors, in sources: it matters for few sources, and hardly for a thousand.
CONCENTRATION = 10.0

_TOLERANCE, _MOST_STEPS = 1e-9, 10_000


@dataclass(frozen=True, eq=False)
class EstimatedPriors:
    """Estimated class priors of a group of sources."""

    mean: FloatArray  #: (C,) mode of the posterior, which is also its mean for n ≫ C sources; sums to 1.
    std: FloatArray  #: (C,) standard deviations. They hold the scatter of the sources only.


def estimate_priors(
    probabilities: ArrayLike, training: ArrayLike, *, concentration: float = CONCENTRATION
) -> EstimatedPriors:
    """Estimate class priors by expectation maximisation.

    The prior is Dirichlet(1 + κ π): it counts like κ sources with the training frequencies. With r_ic the corrected
    probabilities of source i at the current w, a step towards the mode of the posterior is

        w_c ← (Σ_i r_ic + κ π_c) / (n + κ)

    The probabilities ``(n, C)`` are those of a calibrated classifier, for one source or more; `training` has π,
    positive; `concentration` is κ, and 0 is maximum likelihood.
    """
    p, pi = np.asarray(probabilities, np.float64), np.asarray(training, np.float64)
    pi = pi / pi.sum()
    ratio, prior = p / pi, concentration * pi
    w = pi.copy()
    for _ in range(_MOST_STEPS):
        expected = (w * ratio / (ratio @ w)[:, None]).sum(axis=0)
        updated = (expected + prior) / (len(p) + concentration)
        change = np.abs(updated - w).max()
        w = updated
        if change <= _TOLERANCE:
            break
    return EstimatedPriors(w, np.sqrt(np.maximum(np.diag(_covariance(ratio, w, prior)), 0.0)))


def _covariance(ratio: FloatArray, w: FloatArray, prior: FloatArray) -> FloatArray:
    """Return U (Uᵀ H U)⁻¹ Uᵀ with the observed information H, and U the directions that keep Σ_c w_c = 1, (C, C)."""
    g = ratio / (ratio @ w)[:, None]
    hessian = g.T @ g + np.diag(np.divide(prior, w**2, out=np.zeros_like(w), where=prior > 0))
    U = np.linalg.svd(np.ones((1, len(w))))[2][1:].T
    covariance: FloatArray = U @ np.linalg.pinv(U.T @ hessian @ U, hermitian=True) @ U.T
    return covariance


def correct_by_status(
    p: FloatArray, training: FloatArray, status: NDArray[np.str_]
) -> tuple[FloatArray, dict[str, EstimatedPriors]]:
    """Correct probabilities (n, C) for class priors w that are estimated from all sources of each status (n,).

    Returns p_c w_c/π_c, normalised, and the estimated priors by status.
    """
    corrected, groups = np.array(p), {}
    for group in np.unique(status).tolist():
        rows = status == group
        groups[group] = estimate_priors(p[rows], training)
        weighted = p[rows] * groups[group].mean / training
        corrected[rows] = weighted / weighted.sum(axis=1, keepdims=True)
    return corrected, groups
