"""Class probabilities of new sources, and what makes them uncertain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from fermiclass.nimgp.errors import PredictionError


@dataclass(frozen=True)
class Prediction:
    """Prediction of n sources. Entropies are in nats."""

    probabilities: np.ndarray  #: ``E_x E_f p(y | f(x))``, ``(n, C)``. Rows sum to 1.
    std: np.ndarray  #: Standard deviation of ``p(y | f(x))`` over f and x, ``(n, C)``.
    #: Entropy of ``probabilities``, ``(n,)``. It is the sum of the next two quantities and of a rest that no knowledge
    #: of f or x removes.
    entropy: np.ndarray
    #: ``E_x { H[E_f p] − E_f H[p] }``, the mutual information of label and latent functions (BALD), ``(n,)``.
    information: np.ndarray
    #: ``H[E_x E_f p] − E_x H[E_f p]``, the mutual information of label and noiseless input, ``(n,)``. It is zero for
    #: first-order methods: their input noise is noise of f, and its part is in `information`.
    noise_entropy: np.ndarray

    def take(self, rows: np.ndarray) -> Prediction:
        """Return the prediction of some of the sources."""
        return Prediction(*(getattr(self, field.name)[rows] for field in fields(self)))


def join(blocks: Sequence[Prediction]) -> Prediction:
    """Join the predictions of consecutive blocks of sources."""
    return Prediction(*(np.concatenate([getattr(b, field.name) for b in blocks]) for field in fields(Prediction)))


def entropy_of(p: np.ndarray) -> np.ndarray:
    """Return the entropies of probabilities, ``(n, C)``, in nats, ``(n,)``."""
    return np.asarray(-np.sum(p * np.log(np.maximum(p, 1e-300)), axis=1))


def of_moments(
    diagnosis: Callable[[], str],
    mean: np.ndarray,
    second: np.ndarray,
    entropy_given_x: np.ndarray | None,
    entropy_given_f: np.ndarray,
) -> Prediction:
    """Return the prediction for ``E p`` and ``E p²`` (C, n), and ``E_x H[E_f p]`` and ``E_x E_f H[p]`` (n,).

    `entropy_given_x` is None where x is one point. Raises PredictionError, with the `diagnosis` of the model.
    """
    mean, second, entropy_given_f = (a.astype(float) for a in (mean, second, entropy_given_f))
    if not all(np.all(np.isfinite(a)) for a in (mean, second, entropy_given_f)):
        raise PredictionError(
            f"the probabilities of some sources are NaN or infinite: {diagnosis()}. Train again, with fewer inducing "
            "points, or precision='float64'."
        )
    # Rounding and quadrature leave small errors: sums differ from 1, differences of entropies may be below 0.
    probabilities = (mean / mean.sum(axis=0)).T
    entropy = entropy_of(probabilities)
    given_x = entropy if entropy_given_x is None else entropy_given_x.astype(float)
    std = np.sqrt(np.maximum(second.T - probabilities**2, 0.0))
    information = np.maximum(given_x - entropy_given_f, 0.0)
    return Prediction(probabilities, std, entropy, information, np.maximum(entropy - given_x, 0.0))
