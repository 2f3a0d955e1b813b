"""p(c | f) of every likelihood by name, from its definition. A new likelihood needs an entry here."""

from functools import partial

import numpy as np
from scipy.special import ndtr
from scipy.special import softmax as scipy_softmax

EPSILON = 0.07
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(20)


def softmax(f):
    """One function is that of the second of two classes; the first is 0."""
    return scipy_softmax(np.concatenate([np.zeros_like(f), f], axis=-2) if f.shape[-2] == 1 else f, axis=-2)


def robust_max(f, noise, epsilon=EPSILON):
    """The class wins whose f, with noise of this variance, is largest; one function wins where it is positive."""
    if f.shape[-2] == 1:
        P_1 = ndtr(f / np.sqrt(noise)) if noise else 1.0 * (f > 0)
        P = np.concatenate([1 - P_1, P_1], axis=-2)
    elif not noise:
        P = 1.0 * (f.argmax(axis=-2)[..., None, :] == np.arange(f.shape[-2])[:, None])
    else:
        P = np.zeros_like(f)
        for node, weight in zip(NODES, WEIGHTS / WEIGHTS.sum(), strict=True):
            for c in range(f.shape[-2]):
                g = f[..., c : c + 1, :] + np.sqrt(noise) * node
                P[..., c, :] += weight * np.prod(ndtr((g - np.delete(f, c, axis=-2)) / np.sqrt(noise)), axis=-2)
    return (1 - epsilon) * P + epsilon / (P.shape[-2] - 1) * (1 - P)


#: Functions of f ``(..., L, n)`` that return p(c | f) ``(..., C, n)``.
PROBABILITIES = {
    "softmax": softmax,
    "softmax-bound": softmax,
    "step": partial(robust_max, noise=0.0),
    "probit": partial(robust_max, noise=1.0),
    "logit": partial(robust_max, noise=2.897),
}
#: Likelihoods whose expectations in training are lower bounds.
BOUNDS = ("softmax-bound", "probit", "logit")
