"""Closed forms for a Gaussian q(x) in units of the noise, x = x̃ + √V ξ with q(ξ) = N(m, diag s)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.inputs.prior import InputPrior


def kl_to_noise(m: tf.Tensor, s: tf.Tensor) -> tf.Tensor:
    """``KL(N(m, diag s) ‖ N(0, I)) = ½ Σ_j (s_j + m_j² − 1 − log s_j)``, over the last axis."""
    return 0.5 * tf.reduce_sum(s + tf.square(m) - 1.0 - tf.math.log(s), axis=-1)


def expected_log_prior(mean: tf.Tensor, var: tf.Tensor, priors: Sequence[InputPrior]) -> tf.Tensor:
    """Return ``E log p(x)`` for ``x ~ N(mean, diag var)``: exact for one Gaussian, a lower bound for a mixture.

    Let ``e_k = −½ [(mean − m_k)ᵀ P_k (mean − m_k) + Σ_j P_k,jj var_j]``. Up to a constant the result is e_1 for one
    Gaussian, and ``log Σ_k w_k |P_k|^½ exp e_k`` for a mixture, by Jensen's inequality.

    Parameters
    ----------
    mean, var
        Mean and variance of x, ``(..., B, D)``.
    priors
        One prior for each model of the leading axis, or one for all. All have the same number of components.

    Returns
    -------
    tf.Tensor
        Expected log density, ``(..., B)``.
    """
    P = _stack([prior.precision for prior in priors], mean)  # (..., K, D, D)
    centre = _stack([prior.mean for prior in priors], mean)
    offset = mean[..., None, :, :] - centre[..., :, None, :]  # (..., K, B, D)
    square = tf.reduce_sum(offset * tf.matmul(offset, P), axis=-1)
    trace = tf.reduce_sum(var[..., None, :, :] * tf.linalg.diag_part(P)[..., None, :], axis=-1)
    of_component = -0.5 * (square + trace)
    if len(priors[0].weights) == 1:
        return of_component[..., 0, :]
    log_weights = [np.log(prior.weights) + 0.5 * np.linalg.slogdet(prior.precision)[1] for prior in priors]
    return tf.reduce_logsumexp(of_component + _stack(log_weights, mean)[..., None], axis=-2)


def _stack(arrays: Sequence[np.ndarray], like: tf.Tensor) -> tf.Tensor:
    return tf.constant(np.stack(arrays) if len(like.shape) > 2 else arrays[0], like.dtype)
