"""Label shift: the shares of the classes among sources to be labelled, found from those sources alone.

Classifiers learn the shares π_c that the classes have among the sources with a known class. Among the sources to be
labelled they are others, w_c, while each class looks the same (p(x | c) is shared). Then

    p_target(c | x) = p(c | x) (w_c/π_c) / Σ_k p(k | x) (w_k/π_k)

and the marginal likelihood of w is, up to a constant, Π_i Σ_c p(c | x_i) w_c/π_c, which needs no labels (Saerens,
Latinne & Decaestecker 2002, Neural Computation 14, 21).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fermiclass.features.transforms import FloatArray

#: Weight of the prior on the shares, in sources: little among a thousand, much where there are only a few.
DEFAULT_CONCENTRATION = 10.0


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of the C classes in a group of sources.

    Attributes
    ----------
    mean
        (C,) estimates; they sum to 1. Where the posterior is highest, which for n ≫ C sources is its mean too.
    std
        (C,) standard deviations.
    iterations
        Steps of expectation maximisation.
    covariance
        (C, C) of the estimates; rows sum to 0, since shares sum to 1.
    objective
        (iterations + 1,) the log posterior, up to a constant: it never falls.
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
    """Find the shares of the classes in a group of sources by expectation maximisation.

    The prior is Dirichlet(1 + κ π): κ imagined sources with the training shares. κ = 0 is maximum likelihood. With
    r_ic the corrected probabilities of source i at the present w, the step to the posterior's mode is

        w_c ← (Σ_i r_ic + κ π_c) / (n + κ)

    The log posterior is concave. Its Hessian at the mode, with g_ic = r_ic/w_c,

        H = Σ_i g_i g_iᵀ + κ diag(π_c/w_c²),

    the observed information, gives the covariance U (Uᵀ H U)⁻¹ Uᵀ, where the columns of U span the directions that
    keep Σ_c w_c = 1.

    Parameters
    ----------
    probabilities
        (n, C) of a classifier trained with `training_shares`, which should be calibrated.
    training_shares
        (C,) π, positive.
    concentration
        κ.
    tolerance
        The iteration stops when no share changes by more.
    max_iterations
        Limit of the number of steps.

    Raises
    ------
    ValueError
        When shapes do not fit, a class has no training share, or κ is negative.
    """
    p, pi = _check(probabilities, training_shares)
    p = p[np.lexsort(p.T)]  # the same sums, bit by bit, whatever the order of the sources
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
    """Return probabilities (n, C) for other shares of the classes: p_c w_c/π_c, made to sum to 1.

    Parameters
    ----------
    probabilities
        (n, C) of a classifier trained with `training_shares`.
    training_shares
        (C,) π, positive.
    shares
        (C,) w, or an estimate of it.

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
    # A source that only absent classes could explain keeps its probabilities.
    corrected: FloatArray = np.where(total > 0, weighted / np.where(total > 0, total, 1.0), p)
    return corrected


def correct_by_status(
    p: FloatArray,
    training_shares: FloatArray,
    status: NDArray[np.str_],
    *,
    concentration: float = DEFAULT_CONCENTRATION,
) -> tuple[FloatArray, dict[str, Shares]]:
    """Correct probabilities (n, C) for the shares of the classes, estimated for each status (n,) from all of it.

    Returns
    -------
    corrected
        (n, C).
    shares
        By status.
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
            f"training shares {pi} are not all positive: a class that was not trained on cannot be corrected for"
        )
    if not np.all(np.isfinite(p)) or np.any(p < 0) or np.any(p.sum(axis=1) <= 0):
        raise ValueError("probabilities are negative, not finite or all 0 in a row: give rows that sum to 1")
    return p, pi / pi.sum()
