"""Exact Gaussian process regression on Gaussian inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import gpflow
import numpy as np
import tensorflow as tf

from fermiclass.nimgp.errors import TrainingError
from fermiclass.nimgp.expected.kernels import ExpectedKernel, positive
from fermiclass.nimgp.expected.profiles import total_covariance
from fermiclass.nimgp.expected.sources import unpack, with_covariances

_ENTRIES_A_BLOCK = 10_000_000  # size of the arrays (n, N, …) and (n, N, N, …) of prediction


class Solution(NamedTuple):
    """The lower factor L of ``A = K + diag(σ_ε² + σ_y²)``, ``(N, N)``, and ``α = A⁻¹ y``, ``(N,)``."""

    factor: tf.Tensor
    alpha: tf.Tensor


class ExpectedGPR(gpflow.models.BayesianModel, gpflow.models.training_mixins.InternalDataTrainingLossMixin):
    """``y ~ N(0, K + diag(σ_ε² + σ_yi²))`` with expected covariances K.

    This is the model of Dallaire, Besse & Chaib-draa (2011), sections 2.1 and 3. Its marginal likelihood is their
    equation (9). Their (20) is the sum of an expected squared exponential and a squared exponential of GPflow with
    ``active_dims=slice(0, D)``.

    Parameters
    ----------
    kernel
        An expected kernel, or a sum of expected kernels and kernels of GPflow that see the means alone.
    input_dim
        D.
    X
        Packed sources, ``(N, …)``; see :func:`fermiclass.nimgp.expected.sources.pack`.
    y
        Outputs, ``(N,)``, with a mean near zero.
    y_var
        Known variances σ_y² of the outputs, ``(N,)``; None for zeros.
    noise_variance
        Initial σ_ε² of the white noise, or its fixed value.
    noise_prior
        A TensorFlow Probability distribution, or None for maximum likelihood.
    learn_noise
        Whether σ_ε² is learned.
    jitter
        Number that is added to the diagonal, relative to the mean of the diagonal.

    Raises
    ------
    ValueError
        When the kernel is not such a sum.
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
        _expected_parts(kernel, input_dim)  # raises ValueError for other kernels
        self._X = tf.constant(X, tf.float64)
        self._y = tf.constant(y, tf.float64)
        self._y_var = tf.zeros_like(self._y) if y_var is None else tf.constant(y_var, tf.float64)
        self._jitter = jitter

    def maximum_log_likelihood_objective(self) -> tf.Tensor:
        """Return ``log p(y) = −½ yᵀ A⁻¹ y − ½ log |A| − N/2 log 2π``.

        NaN, or an error of TensorFlow, when A has no Cholesky factor.
        """
        L = self._factor()
        scaled = tf.linalg.triangular_solve(L, self._y[:, None])[:, 0]
        half_log_det = tf.reduce_sum(tf.math.log(tf.linalg.diag_part(L)))
        constant = 0.5 * np.log(2.0 * np.pi) * tf.cast(tf.size(self._y), tf.float64)
        return -0.5 * tf.reduce_sum(tf.square(scaled)) - half_log_det - constant

    def solve(self) -> Solution:
        """Factorise A for predictions with the current parameters.

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
        """Return the error message for an A without a Cholesky factor."""
        return (
            f"the covariance matrix of {len(self._y)} training outputs is not positive definite in floating point: "
            f"raise the jitter, now {self._jitter:g}, or learn the noise variance, or give larger output variances"
        )

    def predict_mean(self, X: np.ndarray, solution: Solution) -> np.ndarray:
        """Return means ``E f(x*)``, ``(n,)``; see :meth:`predict_variance`."""
        old, new = self._packed_alike(X)

        def of_block(rows: np.ndarray) -> np.ndarray:
            return tf.linalg.matvec(self.kernel(old, rows), solution.alpha, transpose_a=True).numpy()

        return _in_blocks(of_block, new, old.size)

    def predict_variance(self, X: np.ndarray, solution: Solution) -> np.ndarray:
        """Return variances of ``f(x*)`` at new, uncertain x* ~ N(u*, Σ*), exact under the model's assumption.

        The covariances of ``f(x*)`` with the training outputs are ``k_i(x*) = E k(x_i, x*)``. The variances are those
        of the mixture ``∫ p(f* | x*, y) N(x* | u*, Σ*) dx*``, which is not Gaussian. With k = E k(x*) and
        V = Cov k(x*),

            mean = kᵀ α,    variance = E k(x*, x*) − kᵀ A⁻¹ k + Σ_ij (α_i α_j − (A⁻¹)_ij) V_ij.

        The first two terms are the paper's equation (5) with expected covariances, which treats x* as one more
        training source. The last term is 0 at a known x*. The noise of outputs is not included. Kernels of the means
        see u* alone.

        Parameters
        ----------
        X
            Packed sources, ``(n, …)``. Each x* counts as independent of the training inputs.
        solution
            The result of :meth:`solve`.

        Returns
        -------
        ndarray
            Variances, ``(n,)``. The time per source grows as N² D for input variances, and as N² D³ for input
            covariances.
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
        """Return training sources and new sources, both with the same number of columns."""
        old, D = self._X.numpy(), self.input_dim
        # Drop the numbers of the sources: a prediction treats x* as distinct from all training sources.
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
    """Apply a function to blocks of rows that fit into memory; it needs `entries` numbers per row."""
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
                "so that it sees the means alone"
            )
    return expected
