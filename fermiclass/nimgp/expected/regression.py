"""Exact Gaussian process regression on Gaussian inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.models.training_mixins import InternalDataTrainingLossMixin

from fermiclass.nimgp.errors import TrainingError
from fermiclass.nimgp.expected.kernels import ExpectedKernel, positive
from fermiclass.nimgp.expected.profiles import total_covariance
from fermiclass.nimgp.expected.sources import unpack, with_covariances

_ENTRIES_A_BLOCK = 10_000_000  # of the arrays (n, N, …) and (n, N, N, …) of prediction


class Solution(NamedTuple):
    """The lower factor L of ``A = K + diag(σ_ε² + σ_y²)``, ``(N, N)``, and ``α = A⁻¹ y``, ``(N,)``."""

    factor: tf.Tensor
    alpha: tf.Tensor


class ExpectedGPR(gpflow.models.BayesianModel, InternalDataTrainingLossMixin):
    """``y ~ N(0, K + diag(σ_ε² + σ_yi²))`` with expected covariances K.

    The model of Dallaire, Besse & Chaib-draa (2011), sections 2.1 and 3: its marginal likelihood is (9), and (20) is
    the sum of an expected squared exponential and GPflow's with ``active_dims=slice(0, D)``.

    Parameters
    ----------
    kernel
        An expected kernel, or a sum of such with GPflow's own kernels of the means.
    input_dim
        D.
    X
        Packed sources, ``(N, …)``; see :func:`fermiclass.nimgp.expected.sources.pack`.
    y
        Outputs, ``(N,)``, about zero.
    y_var
        Their known variances σ_y², ``(N,)``; None for zeros.
    noise_variance
        Initial σ_ε² of the white noise, or its value where it is fixed.
    noise_prior
        A TensorFlow Probability distribution, or None for maximum likelihood.
    learn_noise
        Whether σ_ε² is learned.
    jitter
        Added to the diagonal, relative to its mean.

    Raises
    ------
    ValueError
        When the kernel is no such sum.
    """

    def __init__(
        self,
        kernel: gpflow.kernels.Kernel,
        input_dim: int,
        X: np.ndarray,
        y: np.ndarray,
        *,
        y_var: np.ndarray | None = None,
        noise_variance: float = 0.01,
        noise_prior: object = None,
        learn_noise: bool = True,
        jitter: float = 1e-10,
    ) -> None:
        super().__init__()
        self.kernel = kernel
        self.input_dim = input_dim
        if learn_noise:
            self.noise_variance = positive(noise_variance, noise_prior)
        else:
            self.noise_variance = gpflow.Parameter(np.float64(noise_variance), trainable=False)
        _expected_parts(kernel, input_dim)  # raises where they do not add up
        self._X = tf.constant(X, tf.float64)
        self._y = tf.constant(y, tf.float64)
        self._y_var = tf.zeros_like(self._y) if y_var is None else tf.constant(y_var, tf.float64)
        self._jitter = jitter

    def maximum_log_likelihood_objective(self) -> tf.Tensor:
        """Return ``log p(y) = −½ yᵀ A⁻¹ y − ½ log |A| − N/2 log 2π``; NaN, or an error, where A has no factor."""
        L = self._factor()
        scaled = tf.linalg.triangular_solve(L, self._y[:, None])[:, 0]
        half_log_det = tf.reduce_sum(tf.math.log(tf.linalg.diag_part(L)))
        constant = 0.5 * np.log(2.0 * np.pi) * tf.cast(tf.size(self._y), tf.float64)
        return -0.5 * tf.reduce_sum(tf.square(scaled)) - half_log_det - constant

    def solve(self) -> Solution:
        """Factor A, for predictions with the parameters as they are.

        Raises
        ------
        TrainingError
            When A is not positive definite in floating point.
        """
        try:
            L = self._factor()
        except tf.errors.InvalidArgumentError:
            L = tf.constant(np.nan, tf.float64)
        if not np.all(np.isfinite(L)):
            raise TrainingError(self.not_positive_definite())
        return Solution(L, tf.linalg.cholesky_solve(L, self._y[:, None])[:, 0])

    def not_positive_definite(self) -> str:
        """Return what to say where A has no factor."""
        return (
            f"the covariance matrix of {len(self._y)} training outputs is not positive definite in floating point: "
            f"raise the jitter, now {self._jitter:g}, or learn the noise variance, or give larger output variances"
        )

    def predict_mean(self, X: np.ndarray, solution: Solution) -> np.ndarray:
        """Means ``E f(x*)``, ``(n,)``; see :meth:`predict_variance`."""
        old, new = self._packed_alike(X)

        def of_block(rows: np.ndarray) -> np.ndarray:
            return tf.linalg.matvec(self.kernel(old, rows), solution.alpha, transpose_a=True).numpy()

        return _in_blocks(of_block, new, old.size)

    def predict_variance(self, X: np.ndarray, solution: Solution) -> np.ndarray:
        """Variances of ``f(x*)`` at new, uncertain x* ~ N(u*, Σ*), exact but for the model's own assumption.

        They are those of the mixture ``∫ p(f* | x*, y) N(x* | u*, Σ*) dx*``, which is not Gaussian, of the process
        whose covariances with the training outputs are ``k_i(x*) = E k(x_i, x*)``. With k = E k(x*) and V = Cov k(x*),

            mean = kᵀ α,    variance = E k(x*, x*) − kᵀ A⁻¹ k + Σ_ij (α_i α_j − (A⁻¹)_ij) V_ij.

        The first two terms are the paper's (5) with its expected covariances, which takes x* for one more training
        source; the last is 0 at known x*. Noise of outputs is not included. Kernels of the means see u* alone.

        Parameters
        ----------
        X
            Packed sources, ``(n, …)``. The x* are taken for independent of the training inputs.
        solution
            Of :meth:`solve`.

        Returns
        -------
        ndarray
            Variances, ``(n,)``. Time grows with N² D a source where variances are given, with N² D³ where covariances
            are.
        """
        old, new = self._packed_alike(X)
        L, alpha = solution

        def of_known(rows: np.ndarray) -> np.ndarray:
            scaled = tf.linalg.triangular_solve(L, self.kernel(old, rows))
            return (self.kernel(rows, full_cov=False) - tf.reduce_sum(tf.square(scaled), axis=0)).numpy()

        variance = _in_blocks(of_known, new, old.size)
        expected = _expected_parts(self.kernel, self.input_dim)
        if expected and np.any(unpack(new, self.input_dim).cov):
            weights = alpha[:, None] * alpha - tf.linalg.cholesky_solve(L, tf.eye(len(alpha), dtype=tf.float64))
            profiles = [part.profile(old) for part in expected]

            def of_uncertain(rows: np.ndarray) -> np.ndarray:
                sources = unpack(rows, self.input_dim)
                V = total_covariance(profiles, sources.mean, sources.cov)
                return tf.reduce_sum(weights * V, axis=[1, 2]).numpy()

            variance += _in_blocks(of_uncertain, new, old.size * len(old))
        return np.maximum(variance, 0.0)

    def _packed_alike(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return training and new sources with equally many columns."""
        old, D = self._X.numpy(), self.input_dim
        # Numbers of sources are dropped: a prediction does not know that x* is that of a training source.
        new = np.column_stack([np.asarray(X, np.float64)[:, :-1], np.full(len(X), np.nan)])
        if new.shape[1] != old.shape[1]:
            old, new = with_covariances(old, D), with_covariances(new, D)
        return old, new

    def _factor(self) -> tf.Tensor:
        K = self.kernel(self._X)
        diagonal = tf.linalg.diag_part(K)
        added = self.noise_variance + self._y_var + self._jitter * tf.reduce_mean(diagonal)
        return tf.linalg.cholesky(tf.linalg.set_diag(K, diagonal + added))


def _in_blocks(function: Callable[[np.ndarray], np.ndarray], rows: np.ndarray, entries: int) -> np.ndarray:
    """Apply a function, which needs so many entries a row, to blocks of rows that fit into memory."""
    size = max(1, _ENTRIES_A_BLOCK // entries)
    return np.concatenate([function(rows[start : start + size]) for start in range(0, max(1, len(rows)), size)])


def _expected_parts(kernel: gpflow.kernels.Kernel, input_dim: int) -> Sequence[ExpectedKernel]:
    """Return the expected kernels of a sum."""
    parts = kernel.kernels if isinstance(kernel, gpflow.kernels.Sum) else [kernel]
    expected = [part for part in parts if isinstance(part, ExpectedKernel)]
    for part in parts:
        if isinstance(part, ExpectedKernel):
            continue
        if isinstance(part, gpflow.kernels.Combination):
            raise ValueError(f"{type(part).__name__} inside a kernel: expected kernels can only be added")
        dims = part.active_dims
        stop = dims.stop if isinstance(dims, slice) else max(dims) + 1
        if stop is None or not 0 <= stop <= input_dim:
            raise ValueError(
                f"{type(part).__name__} would see variances as inputs: give it active_dims=slice(0, {input_dim}), "
                "the means"
            )
    return expected
