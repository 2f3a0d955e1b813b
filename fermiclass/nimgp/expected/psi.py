"""Moments of latent functions at uncertain inputs, in closed form: the psi statistics of a sparse posterior.

For ``x ~ N(μ, diag s)`` and a latent function with ``mean(x) = k(x)ᵀ α`` and ``var(x) = k(x, x) − k(x)ᵀ P k(x)``::

    E f = ψ₁ᵀ α,    Var f = ψ₀ + Σ_ij (α_i α_j − P_ij) ψ₂,ij − (E f)²,
    ψ₀ = E k(x, x),    ψ₁,i = E k(x, z_i),    ψ₂,ij = E k(x, z_i) k(x, z_j)

(Girard et al. 2003; Titsias & Lawrence 2010). The moments are exact. The distribution of f is Gaussian for s = 0 only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.kernels import Linear, SquaredExponential, Sum


def expected_moments(
    kernel: Any, Z: tf.Tensor, weights: tf.Tensor, precision: tf.Tensor, mean: tf.Tensor, var: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return mean and variance of every latent function over ``x ~ N(mean, diag var)``, each ``(C, n)``.

    The computation is in double precision, as the terms of the variance are far larger than their sum.

    `kernel`: squared exponential and linear kernels, with white noise.
    `Z`: inducing points, ``(C, M, D)``.
    `weights`, `precision`: α ``(C, M)`` and P ``(C, M, M)``.
    `mean`, `var`: ``(n, D)``.

    Raises NotImplementedError when the expectations of a kernel are not implemented.
    """
    dtype, double = mean.dtype, tf.float64
    Z, weights, precision, mean, var = (tf.cast(a, double) for a in (Z, weights, precision, mean, var))
    mean, var = mean[None], var[None]
    gaussians, linears = _parts(kernel)
    Q = weights[..., :, None] * weights[..., None, :] - precision
    products = tf.matmul(mean + tf.zeros_like(Z[..., :1, :]), Z, transpose_b=True)
    psi_1 = tf.add_n(
        [_psi_1_gaussian(gaussian, Z, mean, var) for gaussian in gaussians]
        + [_variance(linear)[..., None, None] * products for linear in linears]
    )
    psi_0 = tf.add_n(
        [tf.cast(kernel.white, double)[..., None] + tf.zeros_like(mean[..., 0])]
        + [_variance(gaussian)[..., None] + tf.zeros_like(mean[..., 0]) for gaussian in gaussians]
        + [_variance(linear)[..., None] * tf.reduce_sum(tf.square(mean) + var, axis=-1) for linear in linears]
    )
    second = [
        _psi_2_gaussian(one, other, Z, Q, mean, var) for k, one in enumerate(gaussians) for other in gaussians[: k + 1]
    ]
    second += [_psi_2_mixed(gaussian, linear, Z, Q, mean, var) for gaussian in gaussians for linear in linears]
    slope = tf.add_n([_variance(linear) for linear in linears])[..., None] if linears else None
    if slope is not None:
        second.append(tf.square(slope) * _psi_2_linear(Z, Q, mean, var))
    first = tf.linalg.matvec(psi_1, weights)
    variance = psi_0 + tf.add_n(second) - tf.square(first)
    return tf.cast(first, dtype), tf.cast(variance, dtype)


def _parts(kernel: Sum) -> tuple[list[SquaredExponential], list[Linear]]:
    gaussians = [k for k in kernel.kernels if isinstance(k, SquaredExponential)]
    linears = [k for k in kernel.kernels if isinstance(k, Linear)]
    odd = [type(k).__name__ for k in kernel.kernels if not any(k is known for known in (*gaussians, *linears))]
    if odd:
        raise NotImplementedError(
            f"the kernel {', '.join(odd)} has no expectations over a Gaussian input: use the squared exponential, the "
            "linear kernel, or their sum"
        )
    return gaussians, linears


def _variance(kernel: SquaredExponential | Linear) -> tf.Tensor:
    return tf.cast(kernel.variance, tf.float64)


def _squares(kernel: SquaredExponential) -> tf.Tensor:
    """ℓ², ``(C, 1, D)``."""
    return tf.square(tf.cast(kernel.lengthscales, tf.float64))[..., None, :]


def _psi_1_gaussian(kernel: SquaredExponential, Z: tf.Tensor, mean: tf.Tensor, var: tf.Tensor) -> tf.Tensor:
    """``σ² Π_d (ℓ²/(ℓ² + s))^½ exp(−½ Σ_d (μ − z)² / (ℓ² + s))``, ``(C, n, M)``."""
    return _expected_gaussians(_variance(kernel)[..., None] + tf.zeros_like(Z[..., 0]), _squares(kernel), Z, mean, var)


def _expected_gaussians(
    height: tf.Tensor, width: tf.Tensor, centre: tf.Tensor, mean: tf.Tensor, var: tf.Tensor
) -> tf.Tensor:
    """Return the mean of ``height · exp(−½ Σ_d (x − centre)² / width)`` over x, ``(C, n, P)``, for P centres."""
    r = 1.0 / (width + var)  # (C, n, D)
    rm = r * mean
    log_scale = 0.5 * tf.reduce_sum(tf.math.log(width * r) - rm * mean, axis=-1)
    ours, theirs = tf.concat([-0.5 * r, rm], axis=-1), tf.concat([tf.square(centre), centre], axis=-1)
    exponent = tf.matmul(ours, theirs, transpose_b=True) + log_scale[..., None]
    return height[..., None, :] * tf.exp(exponent)


def _psi_2_gaussian(
    one: SquaredExponential, other: SquaredExponential, Z: tf.Tensor, Q: tf.Tensor, mean: tf.Tensor, var: tf.Tensor
) -> tf.Tensor:
    """``Σ_ij Q_ij E [k(x, z_i) k'(x, z_j)]``, plus the same for (k', k) if they differ, ``(C, n)``."""
    # The product of two Gaussians is a Gaussian of width (1/ℓ² + 1/ℓ'²)⁻¹ between them. Q is symmetric: one kernel
    # needs half of the pairs only, and with two kernels every pair counts twice.
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
    products = _expected_gaussians(height, a * b / (a + b), (z_i * b + z_j * a) / (a + b), mean, var)
    return tf.reduce_sum(products, axis=-1)


def _psi_2_mixed(
    gaussian: SquaredExponential, linear: Linear, Z: tf.Tensor, Q: tf.Tensor, mean: tf.Tensor, var: tf.Tensor
) -> tf.Tensor:
    """``2 Σ_ij Q_ij E [k(x, z_i) σ² x · z_j]``, ``(C, n)``."""
    # Under N(μ, s) times the Gaussian about z, the mean of x is μ + s (z − μ) / (ℓ² + s).
    share = var / (_squares(gaussian) + var)
    R = tf.matmul(Q, Z)  # Σ_j Q_ij z_j
    along = tf.matmul((1.0 - share) * mean, R, transpose_b=True) + tf.matmul(share, Z * R, transpose_b=True)
    return 2.0 * _variance(linear)[..., None] * tf.reduce_sum(_psi_1_gaussian(gaussian, Z, mean, var) * along, axis=-1)


def _psi_2_linear(Z: tf.Tensor, Q: tf.Tensor, mean: tf.Tensor, var: tf.Tensor) -> tf.Tensor:
    """``Σ_ij Q_ij z_iᵀ (μ μᵀ + diag s) z_j``, ``(C, n)``."""
    W = tf.matmul(Z, tf.matmul(Q, Z), transpose_a=True)
    quadratic = tf.reduce_sum(tf.matmul(mean + tf.zeros_like(W[..., :1, :]), W) * mean, axis=-1)
    return quadratic + tf.reduce_sum(tf.linalg.diag_part(W)[..., None, :] * var, axis=-1)
