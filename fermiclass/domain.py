"""How far a source lies from everything the model was trained on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TrainingDomain:
    """The training sources' features, as the measure of what is typical.

    Two sources of one class differ by a vector whose covariance is 2W, with W the observed covariance within the
    classes, averaged over the training sources. The distance of a source x with error variances V from a training
    source x' is ``d² = (x − x')ᵀ (2W + diag V)⁻¹ (x − x')``: what the scatter of a class, the correlations in it, or
    error bars can explain is not far. (W holds the error bars of a typical source already; V is on top of them.)

    A source's depth is its distance from its k-th nearest training source, and its score the share of training sources
    with a smaller depth (each measured against all others): 0 typical, 1 unlike any. For sources drawn like the
    training sources it is uniform, whatever the classes and features: a conformal p-value, counted from the other end
    (Laxhammar & Falkman 2010). Larger error bars never raise it.

    Attributes
    ----------
    X
        Features of the training sources, ``(N, D)``.
    covariance
        2W, ``(D, D)``.
    depths
        The training sources' own depths, sorted, ``(N,)``.
    neighbours
        k.
    """

    X: FloatArray
    covariance: FloatArray
    depths: FloatArray
    neighbours: int

    @classmethod
    def fit(cls, X: FloatArray, X_var: FloatArray, y: NDArray[np.str_], *, neighbours: int = 5) -> TrainingDomain:
        """Measure the depths of the training sources ``X``, ``X_var`` (N, D) of classes ``y`` (N,).

        N is at least 2; of fewer than k + 1 sources the farthest is the k-th nearest.
        """
        order = np.lexsort((*X_var.T, *X.T))  # the same sums whatever the order of the rows
        X, X_var, y = X[order], X_var[order], y[order]
        neighbours = min(neighbours, len(X) - 1)
        domain = cls(X, 2.0 * _covariance_within(X, y), np.empty(0), neighbours)
        # The nearest training source of a training source is itself: one rank further out.
        return cls(X, domain.covariance, np.sort(domain._depth(X, X_var, neighbours)), neighbours)

    def score(self, X: FloatArray, X_var: FloatArray) -> FloatArray:
        """Share of training sources that lie less deep than each row of ``X``, ``X_var`` (n, D); shape (n,)."""
        # A training source among the rows is its own nearest neighbour, as it was in `fit`.
        known = {row.tobytes() for row in self.X}
        among = np.array([row.tobytes() in known for row in X], dtype=bool)
        depths = np.empty(len(X))
        for rows, rank in ((among, self.neighbours), (~among, self.neighbours - 1)):
            depths[rows] = self._depth(X[rows], X_var[rows], rank)
        return np.searchsorted(self.depths, depths, side="left") / len(self.depths)

    def distances(self, x: FloatArray, x_var: FloatArray, X: FloatArray | None = None) -> FloatArray:
        """Return the distances d of one source ``x``, ``x_var`` (D,) from each of ``X`` (N, D), shape (N,).

        By default from the training sources, in the order of `X`, the attribute. Best called under
        ``threadpool_limits(1)``, entered once: matrices this small are slower on several threads, much so on a busy
        machine.
        """
        # d² = |L⁻¹(x − x')|² with LLᵀ = 2W + diag V.
        whiten = np.linalg.inv(np.linalg.cholesky(self.covariance + np.diag(x_var)))
        return np.asarray(np.linalg.norm(whiten @ (x - (self.X if X is None else X)).T, axis=0))

    def _depth(self, X: FloatArray, X_var: FloatArray, rank: int) -> FloatArray:
        depths = np.empty(len(X))
        with threadpool_limits(1):  # once, as to look for the libraries it limits takes as long as twenty sources
            for i in range(len(X)):  # a source at a time: the same bits whatever the other rows
                depths[i] = np.partition(self.distances(X[i], X_var[i]), rank)[rank]
        return depths


def _covariance_within(X: FloatArray, y: NDArray[np.str_]) -> FloatArray:
    """Covariance (D, D) of ``X`` (N, D) about the means of the classes, shrunk by D imagined sources to its diagonal.

    Thereby it can be inverted, with fewer sources than features too; with many sources it changes nothing.
    """
    N, D = X.shape
    from_mean = np.empty_like(X)
    for name in np.unique(y):
        from_mean[y == name] = X[y == name] - X[y == name].mean(axis=0)
    covariance = from_mean.T @ from_mean / N
    variance = np.diag(covariance)
    variance = np.where(variance > 0.0, variance, 1.0)  # a feature without spread
    return (N * covariance + D * np.diag(variance)) / (N + D)
