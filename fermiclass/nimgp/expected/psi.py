"""Moments of latent functions at uncertain inputs, in closed form: the psi statistics of a sparse posterior.

For ``x ~ N(μ, diag s)`` and a latent function with ``mean(x) = k(x)ᵀ α`` and ``var(x) = k(x, x) − k(x)ᵀ P k(x)``::

    E f = ψ₁ᵀ α,    Var f = ψ₀ + Σ_ij (α_i α_j − P_ij) ψ₂,ij − (E f)²,
    ψ₀ = E k(x, x),    ψ₁,i = E k(x, z_i),    ψ₂,ij = E k(x, z_i) k(x, z_j)

(Girard et al. 2003; Titsias & Lawrence 2010). The moments are exact, the distribution of f is Gaussian only for s = 0.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.dot_product import Linear
from fermiclass.nimgp.kernels import Kernel, Sum, White
from fermiclass.nimgp.stationary import SQUARED_EXPONENTIAL, Stationary


def expected_moments(
    kernel: Kernel, Z: tf.Tensor, weights: tf.Tensor, precision: tf.Tensor, mean: tf.Tensor, var: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Mean and variance of every latent function over ``x ~ N(mean, diag var)``, each ``(..., C, n)``.

    In double precision: the terms of the variance are far larger than their sum.

    Parameters
    ----------
    kernel
        Squared exponential, linear and white, or a sum of these.
    Z
        Inducing points, ``(..., C, M, D)``.
    weights, precision
        α ``(..., C, M)`` and P ``(..., C, M, M)``.
    mean, var
        ``(..., n, D)``.

    Raises
    ------
    NotImplementedError
        When a kernel has no such expectations here.
    """
    dtype, double = mean.dtype, tf.float64
    Z, weights, precision, mean, var = (tf.cast(a, double) for a in (Z, weights, precision, mean, var))
    mean, var = mean[..., None, :, :], var[..., None, :, :]
    bumps, lines, noises = _parts(kernel)
    Q = weights[..., :, None] * weights[..., None, :] - precision
    psi_1 = tf.add_n([_bump(b, Z, mean, var) for b in bumps] + [_line(line, Z, mean) for line in lines])
    psi_0 = tf.add_n(
        [_variance(bump)[..., None] + tf.zeros_like(mean[..., 0]) for bump in bumps]
        + [_variance(noise)[..., None] + tf.zeros_like(mean[..., 0]) for noise in noises]
        + [_variance(line)[..., None] * tf.reduce_sum(tf.square(mean) + var, axis=-1) for line in lines]
    )
    second = [_of_bumps(one, other, Z, Q, mean, var) for k, one in enumerate(bumps) for other in bumps[: k + 1]]
    second += [_of_bump_and_line(bump, line, Z, Q, mean, var) for bump in bumps for line in lines]
    slope = tf.add_n([_variance(line) for line in lines])[..., None] if lines else None
    if slope is not None:
        second.append(tf.square(slope) * _of_lines(Z, Q, mean, var))
    first = tf.linalg.matvec(psi_1, weights)
    variance = psi_0 + tf.add_n(second) - tf.square(first)
    return tf.cast(first, dtype), tf.cast(variance, dtype)


def _parts(kernel: Kernel) -> tuple[list[Stationary], list[Linear], list[White]]:
    kernels = kernel.kernels if isinstance(kernel, Sum) else [kernel]
    bumps = [k for k in kernels if isinstance(k, Stationary) and k.form is SQUARED_EXPONENTIAL]
    lines = [k for k in kernels if isinstance(k, Linear)]
    noises = [k for k in kernels if isinstance(k, White)]
    odd = [k for k in kernels if not any(k is known for known in (*bumps, *lines, *noises))]
    if odd or not (bumps or lines):
        names = ", ".join(type(k).__name__ for k in odd) or "White alone"
        raise NotImplementedError(
            f"no expectations over a Gaussian input are known of the kernel {names}: only of the squared exponential, "
            "the linear kernel and their sums"
        )
    return bumps, lines, noises


def _variance(kernel: Stationary | Linear | White) -> tf.Tensor:
    return tf.cast(kernel.variance, tf.float64)


def _squares(kernel: Stationary) -> tf.Tensor:
    """ℓ², ``(..., C, 1, D)``."""
    return tf.square(tf.cast(kernel.lengthscales, tf.float64))[..., None, :]


def _bump(kernel: Stationary, Z: tf.Tensor, mean: tf.Tensor, var: tf.Tensor) -> tf.Tensor:
    """``σ² Π_d (ℓ²/(ℓ² + s))^½ exp(−½ Σ_d (μ − z)² / (ℓ² + s))``, ``(..., C, n, M)``."""
    return _gaussians(_variance(kernel)[..., None] + tf.zeros_like(Z[..., 0]), _squares(kernel), Z, mean, var)


def _line(kernel: Linear, Z: tf.Tensor, mean: tf.Tensor) -> tf.Tensor:
    """``σ² μ · z``."""
    return _variance(kernel)[..., None, None] * tf.matmul(mean + tf.zeros_like(Z[..., :1, :]), Z, transpose_b=True)


def _gaussians(height: tf.Tensor, width: tf.Tensor, centre: tf.Tensor, mean: tf.Tensor, var: tf.Tensor) -> tf.Tensor:
    """Expect ``height · exp(−½ Σ_d (x − centre)² / width)``, ``(..., C, n, P)`` for P centres."""
    r = 1.0 / (width + var)  # (..., C, n, D)
    rm = r * mean
    log_scale = 0.5 * tf.reduce_sum(tf.math.log(width * r) - rm * mean, axis=-1)
    ours, theirs = tf.concat([-0.5 * r, rm], axis=-1), tf.concat([tf.square(centre), centre], axis=-1)
    exponent = tf.matmul(ours, theirs, transpose_b=True) + log_scale[..., None]
    return height[..., None, :] * tf.exp(exponent)


def _of_bumps(
    one: Stationary, other: Stationary, Z: tf.Tensor, Q: tf.Tensor, mean: tf.Tensor, var: tf.Tensor
) -> tf.Tensor:
    """``Σ_ij Q_ij E [k(x, z_i) k'(x, z_j)]``, and the same of k' and k where they differ, ``(..., C, n)``."""
    # The product of two bumps is a bump of the width (1/ℓ² + 1/ℓ'²)⁻¹ between them. Q is symmetric: half of the pairs
    # do where both are of one kernel, twice all where they are not.
    M = Z.shape[-2]
    i, j = np.triu_indices(M) if one is other else np.indices((M, M)).reshape(2, -1)
    times = np.where((one is other) & (i == j), 1.0, 2.0)
    a, b = _squares(one), _squares(other)
    z_i, z_j = tf.gather(Z, i, axis=-2), tf.gather(Z, j, axis=-2)
    height = (_variance(one) * _variance(other))[..., None] * tf.exp(
        -0.5 * tf.reduce_sum(tf.square(z_i - z_j) / (a + b), axis=-1)
    )
    flat = tf.reshape(Q, tf.concat([tf.shape(Q)[:-2], [M * M]], axis=0))
    height *= times * tf.gather(flat, i * M + j, axis=-1)
    products = _gaussians(height, a * b / (a + b), (z_i * b + z_j * a) / (a + b), mean, var)
    return tf.reduce_sum(products, axis=-1)


def _of_bump_and_line(
    bump: Stationary, line: Linear, Z: tf.Tensor, Q: tf.Tensor, mean: tf.Tensor, var: tf.Tensor
) -> tf.Tensor:
    """``2 Σ_ij Q_ij E [k(x, z_i) σ² x · z_j]``, ``(..., C, n)``."""
    # Under N(μ, s) times the bump about z the mean of x is μ + s (z − μ) / (ℓ² + s).
    share = var / (_squares(bump) + var)
    R = tf.matmul(Q, Z)  # Σ_j Q_ij z_j
    along = tf.matmul((1.0 - share) * mean, R, transpose_b=True) + tf.matmul(share, Z * R, transpose_b=True)
    return 2.0 * _variance(line)[..., None] * tf.reduce_sum(_bump(bump, Z, mean, var) * along, axis=-1)


def _of_lines(Z: tf.Tensor, Q: tf.Tensor, mean: tf.Tensor, var: tf.Tensor) -> tf.Tensor:
    """``Σ_ij Q_ij z_iᵀ (μ μᵀ + diag s) z_j``, ``(..., C, n)``."""
    W = tf.matmul(Z, tf.matmul(Q, Z), transpose_a=True)
    quadratic = tf.reduce_sum(tf.matmul(mean + tf.zeros_like(W[..., :1, :]), W) * mean, axis=-1)
    return quadratic + tf.reduce_sum(tf.linalg.diag_part(W)[..., None, :] * var, axis=-1)
