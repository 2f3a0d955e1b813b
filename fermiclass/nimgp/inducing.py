"""Initial inducing points."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from fermiclass.nimgp.names import INDUCING

_ENOUGH = 20_000  # number of rows for k-means; more rows take longer and hardly improve the centres


def initial_inducing_points(X: np.ndarray, num_inducing: int, method: str, rng: np.random.Generator) -> np.ndarray:
    """Return up to ``num_inducing`` points ``(M, D)`` that represent ``X`` (N, D).

    Parameters
    ----------
    X
        Inputs, ``(N, D)``. Duplicates count once, so that M may be smaller than `num_inducing`.
    num_inducing
        M.
    method
        ``'kmeans'`` for cluster centres of at most 20,000 random rows, ``'random'`` for a random subset of the rows.
    rng
        Random generator.

    Raises
    ------
    ValueError
        When the method is unknown.
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
    with threadpool_limits(limits=1):  # several threads would add partial sums in a random order
        return KMeans(num_inducing, n_init=1, random_state=seed).fit(distinct).cluster_centers_
