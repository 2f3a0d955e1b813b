"""Algebra with diagonal matrices ``(..., D)`` or full matrices ``(..., D, D)``.

Diagonal matrices cost D instead of D³. All matrices of one call must have the same form.
"""

from __future__ import annotations

import tensorflow as tf


def solve(S: tf.Tensor, d: tf.Tensor, *, full: bool) -> tf.Tensor:
    """``S⁻¹ d``, ``(..., D)``."""
    if not full:
        return d / S
    return tf.linalg.cholesky_solve(tf.linalg.cholesky(S), d[..., None])[..., 0]


def times(S: tf.Tensor, d: tf.Tensor, *, full: bool) -> tf.Tensor:
    """``S d``, ``(..., D)``."""
    return tf.linalg.matvec(S, d) if full else S * d


def harmonic(A: tf.Tensor, B: tf.Tensor, *, full: bool) -> tf.Tensor:
    """``(A⁻¹ + B⁻¹)⁻¹ = A − A (A + B)⁻¹ A``, in the shape of A and B."""
    if not full:
        return A * B / (A + B)
    L = tf.linalg.cholesky(A + B)
    half = tf.linalg.triangular_solve(L, tf.broadcast_to(A, tf.shape(L)))
    return A - tf.matmul(half, half, transpose_a=True)


def log_gaussian(S: tf.Tensor, d: tf.Tensor, *, full: bool) -> tf.Tensor:
    """``−½ [dᵀ S⁻¹ d + log |S|]``, ``(...)``: the logarithm of a Gaussian density without the factor of 2π."""
    if not full:
        return -0.5 * tf.reduce_sum(tf.square(d) / S + tf.math.log(S), axis=-1)
    L = tf.linalg.cholesky(S)
    scaled = tf.linalg.triangular_solve(L, tf.broadcast_to(d, tf.shape(L)[:-1])[..., None])[..., 0]
    return -0.5 * tf.reduce_sum(tf.square(scaled), axis=-1) - tf.reduce_sum(
        tf.math.log(tf.linalg.diag_part(L)), axis=-1
    )
