"""Where inducing points start."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

INDUCING = ("kmeans", "random")

_ENOUGH = 20_000  # rows for k-means: with more it takes long, and its centres are hardly better


def initial_inducing_points(X: np.ndarray, num_inducing: int, method: str, rng: np.random.Generator) -> np.ndarray:
    """Up to ``num_inducing`` points ``(M, D)`` that represent ``X`` (N, D).

    Parameters
    ----------
    X
        Inputs, ``(N, D)``; duplicates count once, so M may be smaller than asked for.
    num_inducing
        M.
    method
        ``'kmeans'``: cluster centres, of a random 20,000 rows where there are more; ``'random'``: a random subset.
    rng
        Source of randomness.
    """
    distinct = np.unique(X, axis=0)
    num_inducing = min(num_inducing, len(distinct))
    if method == "random" or num_inducing == len(distinct):
        return distinct[np.sort(rng.choice(len(distinct), num_inducing, replace=False))]
    if method != "kmeans":
        raise ValueError(f"unknown method {method!r} for the inducing points: choose one of {', '.join(INDUCING)}")
    seed = int(rng.integers(2**31))
    enough = max(_ENOUGH, num_inducing)
    if len(distinct) > enough:
        distinct = distinct[rng.choice(len(distinct), enough, replace=False)]
    with threadpool_limits(limits=1):  # threads would add partial sums in the order in which they finish
        return KMeans(num_inducing, n_init=1, random_state=seed).fit(distinct).cluster_centers_
