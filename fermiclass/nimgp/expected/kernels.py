"""Expected covariances as GPflow kernels over rows ``[u, Σ, source]``.

Two different sources have the covariance ``E k(x_i, x_j)`` with independent x_i ~ N(u_i, Σ_i) and x_j ~ N(u_j, Σ_j).
A source has the variance ``E k(x_i, x_i)`` (Dallaire, Besse & Chaib-draa 2011, equations 11 and 12). The number in the
last column identifies a source, never its position; see :func:`fermiclass.nimgp.expected.sources.pack`. A covariance
matrix is an average of positive semi-definite matrices, and is therefore positive semi-definite.

The kernels can be added to each other, and to kernels of GPflow with ``active_dims=slice(0, D)``. The kernels of GPflow
then see the means alone. Expected kernels have no ``active_dims``. They must not be multiplied: the expectation
of a product is not the product of the expectations.
"""

from __future__ import annotations

import abc

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from numpy.typing import ArrayLike

from fermiclass.nimgp.expected.covariances import log_gaussian
from fermiclass.nimgp.expected.profiles import GaussianComponents, Profile, Quadratics
from fermiclass.nimgp.expected.sources import Sources, same_source, unpack


class ExpectedKernel(gpflow.kernels.Kernel):
    """Base of expected kernels. It decides which rows are the same source.

    Parameters
    ----------
    input_dim
        D.
    """

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.input_dim = input_dim

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Return expected covariances ``(N, N')`` of X with `X2`, or of X with itself.

        Raises
        ------
        ValueError
            When the rows are not packed sources.
        """
        one = unpack(tf.convert_to_tensor(X), self.input_dim)
        other = None if X2 is None else unpack(tf.convert_to_tensor(X2), self.input_dim)
        between = self._between(one, one if other is None else other)
        return tf.where(same_source(one, other), self._within(one)[:, None], between)

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Return expected variances ``(N,)``."""
        return self._within(unpack(tf.convert_to_tensor(X), self.input_dim))

    def profile(self, X: tf.Tensor) -> Profile:
        """Return ``E k(x_i, x)`` as functions of a known x, one for each of the N sources."""
        return self._profile(unpack(tf.convert_to_tensor(X), self.input_dim))

    @abc.abstractmethod
    def _between(self, one: Sources, other: Sources) -> tf.Tensor:
        """``E k(x_i, x_j)`` with independent x_i and x_j, ``(N, N')``."""

    @abc.abstractmethod
    def _within(self, sources: Sources) -> tf.Tensor:
        """``E k(x_i, x_i)``, ``(N,)``."""

    @abc.abstractmethod
    def _profile(self, sources: Sources) -> Profile:
        pass


class ExpectedSquaredExponential(ExpectedKernel):
    """Expectation of ``σ² exp(−½ Σ_d (x_d − x'_d)²/ℓ_d²)``.

    With ``W = diag ℓ²`` it is (equation 17)

        σ² |I + W⁻¹(Σ_i + Σ_j)|^{−½} exp(−½ (u_i − u_j)ᵀ (W + Σ_i + Σ_j)⁻¹ (u_i − u_j)),

    and σ² for a source with itself. The paper's appendix C omits a factor −½. Its equation (17) has δ_ij in the
    determinant alone, which is correct because u_i − u_j is 0 there.

    Parameters
    ----------
    input_dim
        D.
    variance
        Initial σ².
    lengthscales
        Initial ℓ, a number or ``(D,)``. Each input has its own ℓ in both cases.
    variance_prior, lengthscales_prior
        Priors: TensorFlow Probability distributions, or None for maximum likelihood.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        variance: float = 1.0,
        lengthscales: ArrayLike = 1.0,
        variance_prior: object = None,
        lengthscales_prior: object = None,
    ) -> None:
        super().__init__(input_dim)
        self.variance = positive(variance, variance_prior)
        self.lengthscales = positive(np.broadcast_to(lengthscales, [input_dim]), lengthscales_prior)

    def _between(self, one: Sources, other: Sources) -> tf.Tensor:
        full = one.full or other.full
        S = self._widened(one, full)[:, None] + (other.full_cov if full else other.cov)
        d = one.mean[:, None] - other.mean
        return tf.exp(self._log_peak() + log_gaussian(S, d, full=full))

    def _within(self, sources: Sources) -> tf.Tensor:
        return tf.fill([tf.shape(sources.mean)[0]], tf.convert_to_tensor(self.variance))

    def _profile(self, sources: Sources) -> Profile:
        width = self._widened(sources, sources.full)
        return GaussianComponents(self._log_peak(), sources.mean, width)

    def _widened(self, sources: Sources, full: bool) -> tf.Tensor:
        W = tf.square(self.lengthscales)
        return tf.linalg.diag(W) + sources.full_cov if full else W + sources.cov

    def _log_peak(self) -> tf.Tensor:
        # With log_gaussian's −½ log|S| this is the determinant's −½ log|I + W⁻¹(Σ_i + Σ_j)|.
        return tf.math.log(self.variance) + tf.reduce_sum(tf.math.log(self.lengthscales))


class ExpectedLinear(ExpectedKernel):
    """Expectation of ``Σ_d s_d x_d x'_d + σ_b²``: ``Σ_d s_d (u_id u_jd + δ_ij Σ_i,dd) + σ_b²`` (equation 14).

    Parameters
    ----------
    input_dim
        D.
    variance
        Initial s, one for all inputs or ``(D,)``. The paper has s = 1.
    offset
        Initial σ_b². A value of 0 stays fixed, and the functions pass through the origin.
    variance_prior, offset_prior
        Priors: TensorFlow Probability distributions, or None for maximum likelihood.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        variance: ArrayLike = 1.0,
        offset: float = 1.0,
        variance_prior: object = None,
        offset_prior: object = None,
    ) -> None:
        super().__init__(input_dim)
        self.variance = positive(variance, variance_prior)
        self.offset = _offset(offset, offset_prior)

    def _between(self, one: Sources, other: Sources) -> tf.Tensor:
        return tf.matmul(one.mean * self.variance, other.mean, transpose_b=True) + self.offset

    def _within(self, sources: Sources) -> tf.Tensor:
        variances = tf.linalg.diag_part(sources.cov) if sources.full else sources.cov
        return tf.reduce_sum(self.variance * (tf.square(sources.mean) + variances), axis=-1) + self.offset

    def _profile(self, sources: Sources) -> Profile:
        slopes = self.variance * sources.mean
        return Quadratics(tf.zeros_like(sources.full_cov), slopes)


class ExpectedQuadratic(ExpectedKernel):
    """Expectation of ``(Σ_d s_d x_d x'_d + σ_b²)²``.

    For s = 1 and ``M = Σ + u uᵀ`` it is, between two sources and within one source (equation 16 and appendix B),

        Tr(M_i M_j) + 2 σ_b² u_iᵀ u_j + σ_b⁴,
        2 Tr Σ² + 4 uᵀ Σ u + (Tr Σ + uᵀ u)² + 2 σ_b² (Tr Σ + uᵀ u) + σ_b⁴.

    The paper's appendix B prints Tr(M²) instead of the (Tr Σ + uᵀ u)² = (Tr M)² of its equation (16). For other s,
    replace u_d by √s_d u_d and Σ_de by √(s_d s_e) Σ_de.

    Parameters
    ----------
    input_dim
        D.
    variance
        Initial s, one for all inputs or ``(D,)``. The paper has s = 1.
    offset
        Initial σ_b². A value of 0 stays fixed.
    variance_prior, offset_prior
        Priors: TensorFlow Probability distributions, or None for maximum likelihood.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        variance: ArrayLike = 1.0,
        offset: float = 1.0,
        variance_prior: object = None,
        offset_prior: object = None,
    ) -> None:
        super().__init__(input_dim)
        self.variance = positive(variance, variance_prior)
        self.offset = _offset(offset, offset_prior)

    def _between(self, one: Sources, other: Sources) -> tf.Tensor:
        product = tf.matmul(self._second_moments(one), self._second_moments(other), transpose_b=True)
        inner = tf.matmul(one.mean * self.variance, other.mean, transpose_b=True)
        return product + 2.0 * self.offset * inner + tf.square(self.offset)

    def _within(self, sources: Sources) -> tf.Tensor:
        s = self._weights()
        Su = tf.linalg.matvec(sources.full_cov * s, sources.mean)  # Σ s u
        trace = tf.reduce_sum(s * (tf.linalg.diag_part(sources.full_cov) + tf.square(sources.mean)), axis=-1)
        square = tf.reduce_sum(tf.square(sources.full_cov) * s[:, None] * s, axis=[-2, -1])
        around = 2.0 * square + 4.0 * tf.reduce_sum(s * sources.mean * Su, axis=-1)
        return around + tf.square(trace + self.offset)

    def _profile(self, sources: Sources) -> Profile:
        s = self._weights()
        M = sources.full_cov + sources.mean[:, :, None] * sources.mean[:, None, :]
        return Quadratics(s[:, None] * M * s, 2.0 * self.offset * s * sources.mean)

    def _second_moments(self, sources: Sources) -> tf.Tensor:
        """``√s_d √s_e (Σ + u uᵀ)_de`` as rows, ``(N, D²)``."""
        root = tf.sqrt(self._weights())
        M = sources.full_cov + sources.mean[:, :, None] * sources.mean[:, None, :]
        return tf.reshape(root[:, None] * M * root, [-1, self.input_dim**2])

    def _weights(self) -> tf.Tensor:
        return tf.broadcast_to(self.variance, [self.input_dim])


def positive(value: ArrayLike, prior: object = None) -> gpflow.Parameter:
    """Return a positive parameter in double precision that is trained in its logarithm."""
    return gpflow.Parameter(np.asarray(value, np.float64), transform=tfp.bijectors.Exp(), prior=prior)


def _offset(value: float, prior: object) -> gpflow.Parameter:
    if value == 0:
        return gpflow.Parameter(tf.zeros([], tf.float64), trainable=False)
    return positive(value, prior)
