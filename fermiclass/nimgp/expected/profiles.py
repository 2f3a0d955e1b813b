"""Covariances over an uncertain x*.

As a function of x, ``k_i(x) = E k(x_i, x)`` is a Gaussian component or a quadratic form. For x* ~ N(u, Σ) the variance
of a prediction needs ``Cov(k_i(x*), k_j(x*))`` as well as ``E k_i(x*)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import tensorflow as tf

from fermiclass.nimgp.expected.covariances import harmonic, log_gaussian, solve, times


class GaussianComponents(NamedTuple):
    """``exp(peak − ½ log|Λ_i| − ½ (x − u_i)ᵀ Λ_i⁻¹ (x − u_i))``.

    The fields are the logarithm of the peak ``()``, centres u ``(N, D)``, widths Λ ``(N, D)`` or ``(N, D, D)``.
    """

    peak: tf.Tensor
    centre: tf.Tensor
    width: tf.Tensor


class Quadratics(NamedTuple):
    """``xᵀ A_i x + a_iᵀ x`` up to a constant, with symmetric A ``(N, D, D)`` and a ``(N, D)``."""

    matrix: tf.Tensor
    slope: tf.Tensor


Profile: TypeAlias = GaussianComponents | Quadratics


def total_covariance(profiles: Sequence[Profile], mean: tf.Tensor, cov: tf.Tensor) -> tf.Tensor:
    """``Cov(k_i(x*), k_j(x*))`` for sums k of profiles, ``(n, N, N)``.

    Parameters
    ----------
    profiles
        One profile for each kernel of a sum, all with the same N sources.
    mean, cov
        Mean u ``(n, D)`` and covariance Σ ``(n, D)`` or ``(n, D, D)`` of each x*.
    """
    full = len(cov.shape) == 3 or any(
        isinstance(part, GaussianComponents) and len(part.width.shape) == 3 for part in profiles
    )
    parts = [_as_full(part) if full else part for part in profiles]
    if full and len(cov.shape) == 2:
        cov = tf.linalg.diag(cov)
    total = 0.0
    for one, part in enumerate(parts):
        for other in parts[: one + 1]:
            covariance = _covariance(part, other, mean, cov, full)
            total += covariance
            if other is not part:
                total += tf.linalg.matrix_transpose(covariance)
    return total


def _covariance(one: Profile, other: Profile, mean: tf.Tensor, cov: tf.Tensor, full: bool) -> tf.Tensor:
    if isinstance(one, GaussianComponents):
        if isinstance(other, GaussianComponents):
            return _of_gaussians(one, other, mean, cov, full)
        return _of_gaussians_and_quadratics(one, other, mean, cov, full)
    if isinstance(other, GaussianComponents):
        return tf.linalg.matrix_transpose(_of_gaussians_and_quadratics(other, one, mean, cov, full))
    return _of_quadratics(one, other, mean, cov if full else tf.linalg.diag(cov))


def _as_full(profile: Profile) -> Profile:
    if isinstance(profile, GaussianComponents) and len(profile.width.shape) == 2:
        return profile._replace(width=tf.linalg.diag(profile.width))
    return profile


def _mean_of_gaussians(gaussians: GaussianComponents, mean: tf.Tensor, cov: tf.Tensor, full: bool) -> tf.Tensor:
    """``E b_i(x*)``, ``(n, N)``."""
    return tf.exp(
        gaussians.peak + log_gaussian(gaussians.width + cov[:, None], mean[:, None] - gaussians.centre, full=full)
    )


def _of_gaussians(
    one: GaussianComponents, other: GaussianComponents, mean: tf.Tensor, cov: tf.Tensor, full: bool
) -> tf.Tensor:
    # b_i b_j is again Gaussian: its width is P = (Λ_i⁻¹ + Λ_j⁻¹)⁻¹, its centre m = u_i + Λ_i (Λ_i + Λ_j)⁻¹ (u_j − u_i),
    # its height exp(−½ (u_i − u_j)ᵀ (Λ_i + Λ_j)⁻¹ (u_i − u_j)), and |Λ_i| |Λ_j| = |Λ_i + Λ_j| |P|.
    L, M = one.width[:, None], other.width[None]
    d = other.centre[None] - one.centre[:, None]
    P = harmonic(L, M, full=full)
    m = one.centre[:, None] + times(L, solve(L + M, d, full=full), full=full)
    log_height = one.peak + other.peak + log_gaussian(L + M, d, full=full)
    product = tf.exp(log_height + log_gaussian(P + cov[:, None, None], mean[:, None, None] - m, full=full))  # E b_i b_j
    means = _mean_of_gaussians(one, mean, cov, full), _mean_of_gaussians(other, mean, cov, full)
    return product - means[0][:, :, None] * means[1][:, None, :]


def _of_gaussians_and_quadratics(
    gaussians: GaussianComponents, quadratics: Quadratics, mean: tf.Tensor, cov: tf.Tensor, full: bool
) -> tf.Tensor:
    # b_i(x) N(x | u, Σ) = E b_i · N(x | u + g, Σ − H) with S = Λ_i + Σ, g = Σ S⁻¹ (u_i − u), H = Σ S⁻¹ Σ.
    # E q_j under N(u + g, Σ − H) minus E q_j under N(u, Σ) is gᵀ A g + (2 A u + a)ᵀ g − Tr A H.
    S = gaussians.width + cov[:, None]
    g = times(cov[:, None], solve(S, gaussians.centre - mean[:, None], full=full), full=full)  # (n, N, D)
    if full:
        root = tf.linalg.triangular_solve(tf.linalg.cholesky(S), tf.broadcast_to(cov[:, None], tf.shape(S)))
        H = tf.matmul(root, root, transpose_a=True)
    else:
        H = tf.linalg.diag(tf.square(cov)[:, None] / S)
    moved = g[..., :, None] * g[..., None, :] - H  # (n, N, D, D)
    change = tf.einsum("bide,jde->bij", moved, quadratics.matrix)
    change += tf.matmul(g, _gradient(quadratics, mean), transpose_b=True)
    return _mean_of_gaussians(gaussians, mean, cov, full)[..., None] * change


def _of_quadratics(one: Quadratics, other: Quadratics, mean: tf.Tensor, cov: tf.Tensor) -> tf.Tensor:
    # 2 Tr(A_i Σ A_j Σ) + (2 A_i u + a_i)ᵀ Σ (2 A_j u + a_j)
    turned = tf.einsum("bde,jef,bfg->bjdg", cov, other.matrix, cov)
    traces = 2.0 * tf.einsum("ide,bjde->bij", one.matrix, turned)
    slopes = tf.matmul(_gradient(one, mean), cov)
    return traces + tf.matmul(slopes, _gradient(other, mean), transpose_b=True)


def _gradient(quadratics: Quadratics, mean: tf.Tensor) -> tf.Tensor:
    """``2 A_i u + a_i``, ``(n, N, D)``."""
    return 2.0 * tf.einsum("ide,be->bid", quadratics.matrix, mean) + quadratics.slope
