"""How far a source lies from everything the model was trained on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_BLOCK = 256  # rows of the distance matrix at a time


@dataclass(frozen=True, eq=False)
class TrainingDomain:
    """The training sources' features, as the measure of what is typical.

    The distance of two sources is noise-aware, ``d² = Σ_j (x_j − x'_j)² / (σ_j² + V_j + V'_j)``, where σ_j² is the
    variance of feature j over the training sources: what error bars can explain is not far. A source's depth is its
    distance from its k-th nearest training source, and its score the share of training sources with a smaller depth
    (each measured against all others): 0 typical, 1 unlike any. For sources drawn like the training sources it is
    uniform.

    Attributes
    ----------
    X, X_var
        Features and variances of the training sources, ``(N, D)``.
    scale
        σ_j, ``(D,)``.
    depths
        The training sources' own depths, sorted, ``(N,)``.
    neighbours
        k.
    """

    X: FloatArray
    X_var: FloatArray
    scale: FloatArray
    depths: FloatArray
    neighbours: int

    @classmethod
    def fit(cls, X: FloatArray, X_var: FloatArray, *, neighbours: int = 5) -> TrainingDomain:
        """Measure the depths of the training sources ``X``, ``X_var`` (N, D)."""
        order = np.lexsort((*X_var.T, *X.T))  # the same sums whatever the order of the rows
        X, X_var = X[order], X_var[order]
        spread = X.std(axis=0)
        neighbours = min(neighbours, len(X) - 1)
        domain = cls(X, X_var, np.where(spread > 0, spread, 1.0), np.empty(0), neighbours)
        # The nearest training source of a training source is itself: one rank further out.
        return cls(X, X_var, domain.scale, np.sort(domain._depth(X, X_var, neighbours)), neighbours)

    def score(self, X: FloatArray, X_var: FloatArray) -> FloatArray:
        """Share of training sources that lie less deep than each row of ``X``, ``X_var`` (n, D); shape (n,)."""
        # A training source among the rows is its own nearest neighbour, as it was in `fit`.
        known = {row.tobytes() for row in np.hstack([self.X, self.X_var])}
        among = np.array([row.tobytes() in known for row in np.hstack([X, X_var])], dtype=bool)
        depths = np.empty(len(X))
        for rows, rank in ((among, self.neighbours), (~among, self.neighbours - 1)):
            depths[rows] = self._depth(X[rows], X_var[rows], rank)
        return np.searchsorted(self.depths, depths, side="left") / len(self.depths)

    def _depth(self, X: FloatArray, X_var: FloatArray, rank: int) -> FloatArray:
        depths = np.empty(len(X))
        for start in range(0, len(X), _BLOCK):
            rows = slice(start, start + _BLOCK)
            squares = np.zeros((len(X[rows]), len(self.X)))
            for j, scale in enumerate(self.scale):  # a feature at a time: a fixed order of summation, and less memory
                difference = X[rows, j, None] - self.X[:, j]
                squares += difference**2 / (scale**2 + X_var[rows, j, None] + self.X_var[:, j])
            depths[rows] = np.partition(squares, rank, axis=1)[:, rank]
        return np.sqrt(depths)
