"""Points of latent functions in prediction, and moments over them, for NumPy and TensorFlow."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

POINTS_OF_F = 1024  #: Smallest number of points of f for each input.
_BITS = 30  # digits of a point of a Sobol set
_MOST = 1111  # dimensions of TensorFlow's Sobol points


class PredictiveMoments(NamedTuple):
    """``E[Z ρ_c]`` (C, n), ``E[Z ρ_c²]`` (C, n) and ``E[Z H(ρ)]`` (n,) over f, with the entropy H in nats.

    With weights r_c of the class probabilities π(f), ``Z = Σ_c r_c π_c`` and ``ρ_c = r_c π_c / Z``.
    """

    mean: Any
    second: Any
    entropy: Any


def gaussian_points(num_points: int, dim: int) -> np.ndarray:
    """Return quasi-Monte Carlo draws of N(0, I), ``(num_points, dim)``: always the same, best a power of 2.

    To the last bit, the Sobol set is that of ``scipy.stats.qmc.Sobol(dim, rng=np.random.default_rng(20210107))``,
    scrambled by random bits and a random shift (Matoušek 1998, Journal of Complexity 14, 527). In more dimensions than
    TensorFlow's Sobol points have, the draws are random.
    """
    import tensorflow as tf  # it is there at once, scipy.stats takes a second
    from scipy.special import ndtri

    rng = np.random.default_rng(20210107).spawn(1)[0]  # as there
    if dim > _MOST:
        return rng.standard_normal((num_points, dim))
    places: np.ndarray = np.arange(_BITS, dtype=np.uint32)
    shift = np.sum(rng.integers(2, size=(dim, _BITS), dtype=np.uint32) << places, axis=1, dtype=np.uint32)
    lower = np.tril(rng.integers(2, size=(dim, _BITS, _BITS), dtype=np.uint32), -1) + np.eye(_BITS, dtype=np.uint32)
    of_digits = np.asarray(np.sum(lower << places[::-1, None], axis=1, dtype=np.uint32))  # what each changes
    points = np.zeros((num_points, dim))  # the first is 0, and TensorFlow leaves it out
    with tf.init_scope(), tf.device("CPU"):  # also where a graph is traced
        points[1:] = tf.math.sobol_sample(dim, max(num_points - 1, 1), dtype=tf.float64)[: num_points - 1]
    digits = int(np.ceil(np.log2(num_points)))
    bits = (points * 2.0**_BITS).astype(np.uint32)[:, :, None] >> places[::-1][:digits] & 1
    return np.asarray(ndtri((shift ^ np.bitwise_xor.reduce(bits * of_digits[:, :digits], axis=2)) / 2.0**_BITS))


def moments_by(xp: Any, log_pi: Any, ratio: Any = None) -> PredictiveMoments:
    """Return moments over S equally likely draws of ``log π`` plus any constant, (S, C, n), by the module `xp`.

    Without `ratio` an array of NumPy is overwritten, because room for a new one takes longer than its numbers.
    """
    # With g = log π + log r: Z ρ = exp g / Σ exp(log π), ρ = exp g / Σ exp g, and H(ρ) = log Σ exp g − Σ ρ g.
    g = log_pi if ratio is None else log_pi + xp.log(ratio)
    g -= xp.max(g, axis=1, keepdims=True)
    rho = xp.exp(g)
    total = xp.sum(rho, axis=1, keepdims=True)
    Z = 1.0 if ratio is None else total / xp.sum(rho / ratio, axis=1, keepdims=True)
    rho *= 1.0 / total
    g *= rho
    entropy = Z * (xp.log(total) - xp.sum(g, axis=1, keepdims=True))
    first = rho if ratio is None else Z * rho
    # Sums of thousand draws in single precision would leave no digit of a small variance E ρ² − (E ρ)².
    return PredictiveMoments(
        mean=xp.mean(first, axis=0, dtype=np.float64),
        second=xp.mean(first * rho, axis=0, dtype=np.float64),
        entropy=xp.mean(entropy, axis=0, dtype=np.float64)[0],
    )
