"""Label shift: estimates of the class priors among the sources to be labelled, from their probabilities alone.

A classifier learns the shares π_c of the classes among the training sources. Among the sources to be labelled the
shares w_c differ, while p(x | c) is the same for each class. Then

    p_target(c | x) = p(c | x) (w_c/π_c) / Σ_k p(k | x) (w_k/π_k)

and the marginal likelihood of w is, up to a constant, Π_i Σ_c p(c | x_i) w_c/π_c. It needs no labels (Saerens,
Latinne & Decaestecker 2002, Neural Computation 14, 21).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fermiclass.io.arrays import FloatArray

#: Weight of the prior on the shares, in sources: it matters for few sources, and hardly for a thousand.
DEFAULT_CONCENTRATION = 10.0


@dataclass(frozen=True, eq=False)
class Shares:
    """Estimated shares of the C classes in a group of sources.

    Attributes
    ----------
    mean
        (C,) mode of the posterior, which is also its mean for n ≫ C sources; sums to 1.
    std
        (C,) standard deviations.
    iterations
        Number of steps of expectation maximisation.
    covariance
        (C, C) covariance of the estimates. Its rows sum to 0, because shares sum to 1.
    objective
        (iterations + 1,) log posterior up to a constant; it never falls.
    """

    mean: FloatArray
    std: FloatArray
    iterations: int
    covariance: FloatArray
    objective: FloatArray


def estimate_shares(
    probabilities: ArrayLike,
    training_shares: ArrayLike,
    *,
    concentration: float = DEFAULT_CONCENTRATION,
    tolerance: float = 1e-9,
    max_iterations: int = 10_000,
) -> Shares:
    """Estimate the shares of the classes in a group of sources by expectation maximisation.

    The prior is Dirichlet(1 + κ π): it counts like κ sources with the training shares. κ = 0 is maximum likelihood.
    With r_ic the corrected probabilities of source i at the current w, a step towards the mode of the posterior is

        w_c ← (Σ_i r_ic + κ π_c) / (n + κ)

    The log posterior is concave. Its Hessian at the mode, with g_ic = r_ic/w_c,

        H = Σ_i g_i g_iᵀ + κ diag(π_c/w_c²),

    the observed information, gives the covariance U (Uᵀ H U)⁻¹ Uᵀ, where the columns of U span the directions that
    keep Σ_c w_c = 1.

    Parameters
    ----------
    probabilities
        (n, C) probabilities of a calibrated classifier that was trained with `training_shares`.
    training_shares
        (C,) π, positive.
    concentration
        Weight κ of the prior.
    tolerance
        The iteration stops when no share changes by more than this.
    max_iterations
        Largest number of steps.

    Raises
    ------
    ValueError
        When shapes do not fit, a class has no training share, or κ is negative.
    """
    p, pi = _check(probabilities, training_shares)
    p = p[np.lexsort(p.T)]  # the same sums, bit by bit, for any order of the sources
    if not len(p):
        raise ValueError("shares cannot be estimated from no sources: give the probabilities of at least one")
    if not concentration >= 0:
        raise ValueError(f"concentration={concentration} is negative: give 0 (no prior) or the weight of the prior")
    ratio = p / pi
    prior = concentration * pi

    def objective(w: FloatArray) -> float:
        used = prior > 0
        return float(np.sum(np.log(ratio @ w)) + prior[used] @ np.log(w[used]))

    w = pi.copy()
    trace = [objective(w)]
    for _ in range(max_iterations):
        expected = (w * ratio / (ratio @ w)[:, None]).sum(axis=0)
        updated = (expected + prior) / (len(p) + concentration)
        change = np.abs(updated - w).max()
        w = updated
        trace.append(objective(w))
        if change <= tolerance:
            break
    covariance = _covariance(ratio, w, prior)
    std = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return Shares(w, std, len(trace) - 1, covariance, np.array(trace))


def correct_shares(probabilities: ArrayLike, training_shares: ArrayLike, shares: ArrayLike | Shares) -> FloatArray:
    """Return probabilities (n, C) for other shares of the classes: p_c w_c/π_c, normalised.

    Parameters
    ----------
    probabilities
        (n, C) probabilities of a classifier that was trained with `training_shares`.
    training_shares
        (C,) π, positive.
    shares
        (C,) shares w, or an estimate of them.

    Raises
    ------
    ValueError
        When shapes do not fit, a class has no training share, or shares are negative or not finite.
    """
    p, pi = _check(probabilities, training_shares)
    w = np.asarray(shares.mean if isinstance(shares, Shares) else shares, dtype=np.float64)
    if w.shape != pi.shape or not np.all(np.isfinite(w)) or np.any(w < 0) or not np.any(w > 0):
        raise ValueError(f"shares {w} do not fit {len(pi)} classes: expected that many, finite and not negative")
    weighted = p * (w / pi)
    total = weighted.sum(axis=1, keepdims=True)
    # If only classes with share 0 explain a source, it keeps its probabilities.
    corrected: FloatArray = np.where(total > 0, weighted / np.where(total > 0, total, 1.0), p)
    return corrected


def correct_by_status(
    p: FloatArray,
    training_shares: FloatArray,
    status: NDArray[np.str_],
    *,
    concentration: float = DEFAULT_CONCENTRATION,
) -> tuple[FloatArray, dict[str, Shares]]:
    """Correct probabilities (n, C) for the shares of the classes, estimated from all sources of each status (n,).

    Returns
    -------
    corrected
        Corrected probabilities, (n, C).
    shares
        Estimated shares by status.
    """
    corrected = np.array(p)
    groups = {}
    for group in np.unique(status).tolist():
        rows = status == group
        groups[group] = estimate_shares(p[rows], training_shares, concentration=concentration)
        corrected[rows] = correct_shares(p[rows], training_shares, groups[group])
    return corrected, groups


def _covariance(ratio: FloatArray, w: FloatArray, prior: FloatArray) -> FloatArray:
    g = ratio / (ratio @ w)[:, None]
    hessian = g.T @ g + np.diag(np.divide(prior, w**2, out=np.zeros_like(w), where=prior > 0))
    num_classes = len(w)
    # (C, C-1): directions orthogonal to (1, ..., 1)
    U = np.linalg.svd(np.ones((1, num_classes)))[2][1:].T
    covariance: FloatArray = U @ np.linalg.pinv(U.T @ hessian @ U, hermitian=True) @ U.T
    return covariance


def _check(probabilities: ArrayLike, training_shares: ArrayLike) -> tuple[FloatArray, FloatArray]:
    p, pi = np.asarray(probabilities, dtype=np.float64), np.asarray(training_shares, dtype=np.float64)
    if pi.ndim != 1 or p.ndim != 2 or p.shape[1] != len(pi):
        raise ValueError(f"probabilities of shape {p.shape} do not fit training shares of shape {pi.shape}")
    if not np.all(np.isfinite(pi)) or not np.all(pi > 0):
        raise ValueError(
            f"training shares {pi} are not all positive: only classes with training sources can be corrected"
        )
    if not np.all(np.isfinite(p)) or np.any(p < 0) or np.any(p.sum(axis=1) <= 0):
        raise ValueError("probabilities are negative, not finite or all 0 in a row: give rows that sum to 1")
    return p, pi / pi.sum()
