"""Out-of-distribution score: the distance of a source from the training sources."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fermiclass.nimgp.arrays import FloatArray, usual_range

# A row at so small a distance d from a training source is this source: files in single precision move it by less.
_SAME = 1e-4
_ROUNDING = 1e-5  # relative; depths that differ by less are equal
_SHORTLIST = 43  # training sources beside the k nearest that are measured exactly, where these are enough
_NUMBERS = 2**20  # numbers of one array of a block of rows


@dataclass(frozen=True, eq=False)
class TrainingDomain:
    """Features of the training sources, which define what is typical.

    W is the observed covariance within the classes. The distance of a source x with error variances V from a training
    source x' is ``d² = (x − x')ᵀ (2W + diag V)⁻¹ (x − x')``. The depth of a source is its distance from its k-th
    nearest training source, and its score is the fraction of training sources with a smaller depth, each measured
    against all others: one minus a conformal p-value (Laxhammar & Falkman 2010). Larger error bars never raise it.
    """

    X: FloatArray  #: Features of the training sources, ``(N, D)``.
    y: NDArray[Any]  #: Their classes, ``(N,)``.
    covariance: FloatArray  #: 2W, ``(D, D)``.
    depths: FloatArray  #: Those of the training sources, sorted, ``(N,)``.
    neighbours: int  #: k.

    @classmethod
    def fit(cls, X: FloatArray, X_var: FloatArray, y: NDArray[np.str_], *, neighbours: int = 5) -> TrainingDomain:
        """Measure the depths of two or more training sources; outliers count as the nearest of the other values."""
        X = np.clip(X, *usual_range(X)[0])
        from_mean = np.empty_like(X)
        for name in np.unique(y):
            from_mean[y == name] = X[y == name] - X[y == name].mean(axis=0)
        N, D = X.shape
        covariance = from_mean.T @ from_mean / N
        variance = np.diag(covariance)
        variance = np.where(variance > 0.0, variance, 1.0)  # a feature without spread
        # Shrunk to its diagonal with the weight of D sources, W is invertible even with fewer sources than features.
        W = (N * covariance + D * np.diag(variance)) / (N + D)
        domain = cls(X, y, 2.0 * W, np.empty(0), min(neighbours, N - 1))
        return replace(domain, depths=np.sort(domain._depth(X, X_var)))

    def score(self, X: FloatArray, X_var: FloatArray) -> FloatArray:
        """Return the scores ``(n,)``, which rise linearly between two depths, so that rounding changes them little."""
        depths, smaller = np.unique(self.depths, return_index=True)
        return np.interp(self._depth(X, X_var) * (1.0 - _ROUNDING), depths, smaller / len(self.depths), right=1.0)

    def distances(self, x: FloatArray, x_var: FloatArray, X: FloatArray | None = None) -> FloatArray:
        """Return the distances d of sources ``x``, ``x_var`` (..., D) from each of ``X`` (..., N, D), shape (..., N).

        X is by default that of the training sources. Enter ``threadpool_limits(1)`` before: it is faster.
        """
        # d² = |L⁻¹(x − x')|² with LLᵀ = 2W + diag V.
        whiten = self._whitening(x_var)
        white = whiten @ np.swapaxes(x[..., None, :] - (self.X if X is None else X), -1, -2)
        return np.sqrt(np.einsum("...dn,...dn->...n", white, white))  # np.linalg.norm takes three times as long

    def _whitening(self, X_var: FloatArray) -> FloatArray:
        """Return L⁻¹ of rows with the variances ``X_var`` (..., D), shape (..., D, D)."""
        return np.linalg.inv(np.linalg.cholesky(self.covariance + X_var[..., None] * np.eye(X_var.shape[-1])))

    def _depth(self, X: FloatArray, X_var: FloatArray) -> FloatArray:
        """Return the distance of each row from its k-th nearest training source other than itself, (n,)."""
        N, D = self.X.shape
        size = max(1, _NUMBERS // max(N, D * (D + self.neighbours + _SHORTLIST)))
        order = np.argsort(X_var @ (1.0 / np.diag(self.covariance)), kind="stable")  # rows of a block have like errors
        depths = np.empty(len(X))
        with threadpool_limits(1):  # once: entering it takes as long as twenty sources
            for rows in (order[start : start + size] for start in range(0, len(X), size)):
                nearest, beyond = self._shortlists(X[rows], X_var[rows])
                depths[rows] = self._kth(self.distances(X[rows], X_var[rows], self.X[nearest]))
                for i in rows[~(depths[rows] < beyond)]:
                    depths[i] = self._kth(self.distances(X[i], X_var[i]))
        return depths

    def _shortlists(self, X: FloatArray, X_var: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
        """Return the training sources near each row (n, S), and distances (n,) within which no other one is.

        They are those in the metric of the largest error bars, which bounds all distances from below: one product.
        """
        count = self.neighbours + _SHORTLIST
        if len(self.X) <= count:
            return np.broadcast_to(np.arange(len(self.X)), (len(X), len(self.X))), np.full(len(X), np.inf)
        whiten, centre = self._whitening(X_var.max(axis=0)), self.X.mean(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):  # without a bound no shortlist is enough
            A, B = (((each - centre) @ whiten.T).astype(np.float32) for each in (X, self.X))
            of_A, of_B = (np.square(each).sum(axis=1, keepdims=True) for each in (A, B))
            squares = np.hstack([A, of_A, np.ones_like(of_A)]) @ np.hstack([-2.0 * B, np.ones_like(of_B), of_B]).T
            near = np.argpartition(squares, count, axis=1)[:, : count + 1]
            next_one = np.take_along_axis(squares, near[:, -1:], axis=1)
            rounding = 2.0**-21 * (X.shape[1] + 2) * (of_A + of_B.max())
            return near[:, :-1], np.sqrt(np.maximum(next_one - rounding, 0.0))[:, 0]

    def _kth(self, distances: FloatArray) -> FloatArray:
        """Return the depths for distances (..., N): the k-th smallest, or the next one of a training source itself."""
        k = self.neighbours
        nearest = np.partition(distances, (0, k - 1, k), axis=-1)
        return np.where(nearest[..., 0] < _SAME, nearest[..., k], nearest[..., k - 1])
