"""Expected covariances of sources with Gaussian inputs (Dallaire, Besse & Chaib-draa 2011, section 3).

Two different sources have the covariance ``E k(x_i, x_j)`` with independent x_i ~ N(u_i, Σ_i) and x_j ~ N(u_j, Σ_j).
A source has the variance ``E k(x_i, x_i)`` (equations 11 and 12). Kernels can be added, but not multiplied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import tensorflow as tf
from numpy.typing import ArrayLike

from fermiclass.nimgp.modules import EXP, LogNormal, Module, Parameter

_WIDTH = 1.0  # of the log-normal priors, in the logarithm


class Sources(NamedTuple):
    """N sources with Gaussian inputs."""

    mean: tf.Tensor  #: u, ``(N, D)``.
    cov: tf.Tensor  #: Variances ``(N, D)`` or covariances ``(N, D, D)``. N may be 1 if all have the same.
    #: Inputs that `plain-se` takes as exact, ``(N, D)``; they differ from `mean` at draws of an uncertain input.
    observed: tf.Tensor

    @classmethod
    def of(cls, mean: ArrayLike, cov: ArrayLike | None = None) -> Sources:
        """Return sources in double precision, whose inputs are exact if `cov` is None."""
        u = np.asarray(mean, np.float64)
        return cls(u, np.zeros_like(u) if cov is None else np.asarray(cov, np.float64), u)

    @property
    def matrices(self) -> tf.Tensor:
        """Covariances, ``(N, D, D)``."""
        return self.cov if len(self.cov.shape) == 3 else tf.linalg.diag(self.cov)

    @property
    def variances(self) -> tf.Tensor:
        """Variances, ``(N, D)``."""
        return self.cov if len(self.cov.shape) == 2 else tf.linalg.diag_part(self.cov)


class ExpectedKernel(Protocol):
    """Interface of a kernel of sources."""

    def between(self, one: Sources, other: Sources) -> tf.Tensor:
        """``E k(x_i, x_j)`` with independent x_i and x_j, ``(N, N')``: no source is in both sets."""

    def variance_of(self, sources: Sources) -> tf.Tensor:
        """``E k(x_i, x_i)``, ``(N,)``."""


def covariance(kernel: ExpectedKernel, sources: Sources) -> tf.Tensor:
    """Return the covariance matrix of sources, ``(N, N)``."""
    return tf.linalg.set_diag(kernel.between(sources, sources), kernel.variance_of(sources))


@dataclass(eq=False)
class Sum(Module):
    """Sum of kernels."""

    kernels: Sequence[ExpectedKernel]

    def between(self, one: Sources, other: Sources) -> tf.Tensor:
        return tf.add_n([kernel.between(one, other) for kernel in self.kernels])

    def variance_of(self, sources: Sources) -> tf.Tensor:
        return tf.add_n([kernel.variance_of(sources) for kernel in self.kernels])


@dataclass(eq=False)
class ExpectedSquaredExponential(Module):
    """Expectation of ``σ² exp(−½ Σ_d (x_d − x'_d)²/ℓ_d²)``.

    With ``W = diag ℓ²`` it is (equation 17)

        σ² |I + W⁻¹(Σ_i + Σ_j)|^{−½} exp(−½ (u_i − u_j)ᵀ (W + Σ_i + Σ_j)⁻¹ (u_i − u_j)),

    and σ² for a source with itself; the paper's appendix C omits a factor −½. `plain` takes observed inputs as exact.
    """

    variance: Parameter
    lengthscales: Parameter
    plain: bool = False

    def between(self, one: Sources, other: Sources) -> tf.Tensor:
        if self.plain:
            one, other = (s._replace(mean=s.observed, cov=tf.zeros_like(s.observed)) for s in (one, other))
        variance, lengthscales = tf.convert_to_tensor(self.variance), tf.convert_to_tensor(self.lengthscales)
        d = one.mean[:, None] - other.mean
        # With −½ log|S| this is the determinant's −½ log|I + W⁻¹(Σ_i + Σ_j)|.
        log_peak = tf.math.log(variance) + tf.reduce_sum(tf.math.log(lengthscales))
        W = tf.square(lengthscales)
        if len(one.cov.shape) == len(other.cov.shape) == 2:
            S = W + one.cov[:, None] + other.cov
            return tf.exp(log_peak - 0.5 * tf.reduce_sum(tf.square(d) / S + tf.math.log(S), axis=-1))
        L = tf.linalg.cholesky(tf.linalg.diag(W) + one.matrices[:, None] + other.matrices)
        scaled = tf.linalg.matvec(tf.linalg.triangular_solve(L, tf.eye(d.shape[-1], dtype=d.dtype)), d)
        half_log_det = tf.reduce_sum(tf.math.log(tf.linalg.diag_part(L)), axis=-1)
        return tf.exp(log_peak - 0.5 * tf.reduce_sum(tf.square(scaled), axis=-1) - half_log_det)

    def variance_of(self, sources: Sources) -> tf.Tensor:
        return tf.fill([tf.shape(sources.mean)[0]], tf.convert_to_tensor(self.variance))


@dataclass(eq=False)
class ExpectedLinear(Module):
    """Expectation of ``Σ_d s_d x_d x'_d + σ_b²``: ``Σ_d s_d (u_id u_jd + δ_ij Σ_i,dd) + σ_b²`` (equation 14)."""

    variance: Parameter  #: s: one number for all inputs, or ``(D,)``; the paper has 1.
    offset: Parameter  #: σ_b².

    def between(self, one: Sources, other: Sources) -> tf.Tensor:
        return tf.matmul(self.variance * one.mean, other.mean, transpose_b=True) + self.offset

    def variance_of(self, sources: Sources) -> tf.Tensor:
        return tf.reduce_sum(self.variance * (tf.square(sources.mean) + sources.variances), axis=-1) + self.offset


class ExpectedQuadratic(ExpectedLinear):
    """Expectation of ``(Σ_d s_d x_d x'_d + σ_b²)²``, with the parameters of :class:`ExpectedLinear`.

    For s = 1 and ``M = Σ + u uᵀ`` it is, between two sources and within one source (equation 16 and appendix B),

        Tr(M_i M_j) + 2 σ_b² u_iᵀ u_j + σ_b⁴,
        2 Tr Σ² + 4 uᵀ Σ u + (Tr Σ + uᵀ u)² + 2 σ_b² (Tr Σ + uᵀ u) + σ_b⁴.

    Its appendix B prints Tr(M²) instead of (Tr M)². For other s, replace u_d by √s_d u_d and Σ_de by √(s_d s_e) Σ_de.
    """

    def between(self, one: Sources, other: Sources) -> tf.Tensor:
        (u, cov), (v, other_cov) = self._scaled(one), self._scaled(other)
        product = tf.einsum("ide,jde->ij", cov + _outer(u), other_cov + _outer(v))
        return product + 2.0 * self.offset * tf.matmul(u, v, transpose_b=True) + tf.square(self.offset)

    def variance_of(self, sources: Sources) -> tf.Tensor:
        u, cov = self._scaled(sources)
        trace = tf.linalg.trace(cov) + tf.reduce_sum(tf.square(u), axis=-1)
        around = 2.0 * tf.reduce_sum(tf.square(cov), axis=[-2, -1])
        around += 4.0 * tf.reduce_sum(u * tf.linalg.matvec(cov, u), axis=-1)
        return around + tf.square(trace + self.offset)

    def _scaled(self, sources: Sources) -> tuple[tf.Tensor, tf.Tensor]:
        root = tf.sqrt(self.variance * tf.ones(sources.mean.shape[-1:], tf.float64))
        return root * sources.mean, root[:, None] * sources.matrices * root


def _outer(u: tf.Tensor) -> tf.Tensor:
    return u[:, :, None] * u[:, None, :]


def make_kernel(name: str, input_dim: int, hyper_priors: bool) -> ExpectedKernel:
    """Return one of `fermiclass.nimgp.expected.KERNELS`, or a sum joined by ``+``, with parameters at prior modes."""
    kernels: list[ExpectedKernel] = []
    for part in name.split("+"):
        variance = hyper_parameter(1.0, hyper_priors)
        if part in ("se", "plain-se"):
            lengthscales = hyper_parameter(np.full(input_dim, np.sqrt(input_dim)), hyper_priors)
            kernels.append(ExpectedSquaredExponential(variance, lengthscales, plain=part == "plain-se"))
        else:
            kind = ExpectedLinear if part == "linear" else ExpectedQuadratic
            kernels.append(kind(variance, hyper_parameter(1.0, hyper_priors)))
    return kernels[0] if len(kernels) == 1 else Sum(kernels)


def hyper_parameter(mode: ArrayLike, hyper_priors: bool = True) -> Parameter:
    """Return a parameter at the mode of its log-normal prior, in the logarithm, for standardised inputs and outputs."""
    median = np.asarray(mode).max() * np.exp(_WIDTH**2)
    return Parameter(mode, transform=EXP, prior=LogNormal(median, _WIDTH) if hyper_priors else None)
