"""Exact Gaussian process regression on Gaussian inputs, with maximum a posteriori hyper-parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.optimize
import tensorflow as tf

from fermiclass.nimgp.errors import TrainingError
from fermiclass.nimgp.expected.kernels import ExpectedKernel, Sources, covariance, hyper_parameter, make_kernel
from fermiclass.nimgp.likelihoods.draws import gaussian_points
from fermiclass.nimgp.modules import Module, Parameter, call_graph
from fermiclass.nimgp.processes import refuse_after_fork

_NOISE = 0.1  # mode of the prior of the noise variance
_SPREAD = 1.0  # standard deviation of the logarithms of the starts
_DRAWS = 1024  # of an uncertain input, for the variance of a prediction
_NUMBERS_A_BLOCK = 10_000_000  # size of the arrays of prediction
_FLAT = 1e-3  # size of a gradient that is only rounding; there a line search may fail to find a lower value

FloatArray = np.ndarray
Loss = Callable[[FloatArray], tuple[float, FloatArray]]


class Solution(NamedTuple):
    """The lower factor L of ``A = K + diag(σ_ε² + σ_y²)``, ``(N, N)``, and ``α = A⁻¹ y``, ``(N,)``."""

    factor: tf.Tensor
    alpha: tf.Tensor


class ExpectedGPR(Module):
    """``y ~ N(0, K + diag(σ_ε² + σ_yi²))`` with expected covariances K, of outputs ``y`` (N,) with a mean near zero.

    This is the model of Dallaire, Besse & Chaib-draa (2011), sections 2.1 and 3. σ_ε² is learned if
    `noise_variance` is None. The jitter is added to the diagonal, relative to its mean.
    """

    def __init__(
        self,
        kernel: ExpectedKernel | str,
        sources: Sources,
        y: FloatArray,
        *,
        y_var: FloatArray | None = None,
        noise_variance: float | None = None,
        hyper_priors: bool = True,
        jitter: float = 1e-10,
    ) -> None:
        super().__init__()
        refuse_after_fork()
        self.kernel = make_kernel(kernel, sources.mean.shape[1], hyper_priors) if isinstance(kernel, str) else kernel
        if noise_variance is None:
            self.noise_variance = hyper_parameter(_NOISE, hyper_priors)
        else:
            self.noise_variance = Parameter(noise_variance, trainable=False)
        self._sources = sources
        self._y = tf.constant(y, tf.float64)
        self._y_var = tf.zeros_like(self._y) if y_var is None else tf.constant(y_var, tf.float64)
        self._jitter = jitter

    def log_likelihood(self) -> tf.Tensor:
        """``log p(y) = −½ yᵀ A⁻¹ y − ½ log |A| − N/2 log 2π`` (equation 9); NaN or an error without a factor of A."""
        L = self._factor()
        scaled = tf.linalg.triangular_solve(L, self._y[:, None])[:, 0]
        half_log_det = tf.reduce_sum(tf.math.log(tf.linalg.diag_part(L)))
        constant = 0.5 * np.log(2.0 * np.pi) * len(self._y)
        return -0.5 * tf.reduce_sum(tf.square(scaled)) - half_log_det - constant

    def loss(self) -> tf.Tensor:
        """Return −log(marginal likelihood × prior)."""
        return -(self.log_likelihood() + self.log_prior_density())

    def solve(self) -> Solution:
        """Factorise A for predictions; TrainingError when it is not positive definite in floating point."""
        try:
            L = self._factor()
        except tf.errors.InvalidArgumentError:
            L = tf.constant(np.nan, tf.float64)
        if not np.all(np.isfinite(L)):
            raise TrainingError(self.not_positive_definite())
        return Solution(L, tf.linalg.cholesky_solve(L, self._y[:, None])[:, 0])

    def not_positive_definite(self) -> str:
        """Return the error message for it."""
        return (
            f"the covariance matrix of {len(self._y)} training outputs is not positive definite in floating point: "
            f"raise the jitter, now {self._jitter:g}, or learn the noise variance, or give larger output variances"
        )

    def predict_mean(self, new: Sources, solution: Solution) -> FloatArray:
        """Return means ``E f(x*)``, ``(n,)``: equation 4 with expected covariances."""

        def of_block(block: Sources) -> tf.Tensor:
            return tf.linalg.matvec(self.kernel.between(self._sources, block), solution.alpha, transpose_a=True)

        return _in_blocks(of_block, new, np.size(self._sources.cov))

    def predict_variance(self, new: Sources, solution: Solution) -> FloatArray:
        """Return variances of ``f(x*)`` at new sources x* ~ N(u*, Σ*), without the noise of outputs, ``(n,)``.

        Over quasi-Monte Carlo draws of x*, the mean of the variances and the variance of the means (equations 4 and 5).
        """
        if not np.any(new.cov):
            return _in_blocks(lambda block: self._moments(block, solution)[1], new, np.size(self._sources.cov))
        points = _standard_points(new.mean.shape[1])
        roots = np.sqrt(new.cov)[:, :, None] * np.eye(new.mean.shape[1]) if new.cov.ndim == 2 else _roots(new.cov)

        def of_block(block: Sources) -> tf.Tensor:
            mean, root, observed = block  # the root stands for the covariance
            x = (mean[:, None] + points @ root.swapaxes(1, 2)).reshape(-1, mean.shape[1])
            drawn = Sources(x, np.zeros_like(x[:1]), np.repeat(observed, _DRAWS, axis=0))
            means, variances = (tf.reshape(a, [-1, _DRAWS]) for a in self._moments(drawn, solution))
            return tf.reduce_mean(variances, axis=1) + tf.math.reduce_variance(means, axis=1)

        return _in_blocks(of_block, new._replace(cov=roots), _DRAWS * np.size(self._sources.cov))

    def _moments(self, new: Sources, solution: Solution) -> tuple[tf.Tensor, tf.Tensor]:
        """Return equations 4 and 5, ``(n,)`` each."""
        k = self.kernel.between(self._sources, new)
        explained = tf.reduce_sum(tf.square(tf.linalg.triangular_solve(solution.factor, k)), axis=0)
        variance = tf.maximum(self.kernel.variance_of(new) - explained, 0.0)
        return tf.linalg.matvec(k, solution.alpha, transpose_a=True), variance

    def _factor(self) -> tf.Tensor:
        K = covariance(self.kernel, self._sources)
        diagonal = tf.linalg.diag_part(K)
        added = self.noise_variance + self._y_var + self._jitter * tf.reduce_mean(diagonal)
        return tf.linalg.cholesky(tf.linalg.set_diag(K, diagonal + added))


def _standard_points(dim: int) -> FloatArray:
    """Return quasi-Monte Carlo draws of N(0, I) with exactly this mean and covariance, ``(_DRAWS, dim)``."""
    points = gaussian_points(_DRAWS, dim)
    points -= points.mean(axis=0)
    return points @ np.linalg.inv(np.linalg.cholesky(points.T @ points / _DRAWS)).T


def _roots(cov: FloatArray) -> FloatArray:
    """Return R with R Rᵀ = Σ for matrices that may be singular, ``(n, D, D)``."""
    values, vectors = np.linalg.eigh(cov)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None])


def _in_blocks(function: Callable[[Sources], tf.Tensor], sources: Sources, numbers: int) -> FloatArray:
    """Apply a function to blocks of sources that fit into memory; it needs so many numbers per source."""
    size = max(1, _NUMBERS_A_BLOCK // numbers)
    starts = range(0, max(1, len(sources.mean)), size)
    return np.concatenate([function(Sources(*(a[start : start + size] for a in sources))) for start in starts])


class Optimum(NamedTuple):
    """Lowest loss from one start, its position, the number of steps, and the reason if it is not a minimum."""

    loss: float
    position: FloatArray
    steps: int
    failure: str


def fit_starts(model: ExpectedGPR, *, starts: int, steps: int, rng: np.random.Generator) -> Optimum:
    """Set the parameters to the best of several maxima a posteriori, of which there are many (section 3.3); return it.

    The current parameters are the first start, and the logarithms of the other starts are drawn around them. Raises
    TrainingError when the covariance matrix is not positive definite at all starts.
    """
    loss = flat_loss(model)
    variables = list(model.trainable_variables)
    first = np.concatenate([variable.numpy().ravel() for variable in variables])
    draws = rng.normal(size=(starts, first.size)) * _SPREAD
    draws[0] = 0.0
    best = min((minimise(loss, first + draw, steps=steps) for draw in draws), key=lambda optimum: optimum.loss)
    if not np.isfinite(best.loss):
        raise TrainingError(f"all {starts} starts failed: {model.not_positive_definite()}")
    _move(variables, best.position)
    return best


def minimise(loss: Loss, start: FloatArray, *, steps: int) -> Optimum:
    """Minimise by L-BFGS from one start. If the loss becomes NaN or infinite, return the best position so far."""
    best, taken = Optimum(np.inf, start, 0, ""), list[FloatArray]()

    def watched(position: FloatArray) -> tuple[float, FloatArray]:
        nonlocal best
        value, gradient = loss(position)
        if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
            raise _NotANumberError
        if value < best.loss:
            best = Optimum(value, position.copy(), 0, "")
        return value, gradient

    failure, options = "", {"maxiter": steps}
    try:
        result = scipy.optimize.minimize(
            watched, start, jac=True, method="L-BFGS-B", callback=taken.append, options=options
        )
        if not result.success and np.max(np.abs(result.jac), initial=0.0) >= _FLAT * max(1.0, abs(best.loss)):
            failure = f"no minimum after {steps} steps" if len(taken) >= steps else f"L-BFGS: {result.message}"
    except _NotANumberError:
        failure = "the loss was not finite"
    return best._replace(steps=len(taken), failure=failure)


def flat_loss(model: ExpectedGPR) -> Loss:
    """Return the loss and its gradient as a function of all unconstrained parameters in one array."""
    variables = list(model.trainable_variables)

    @tf.function(autograph=False)
    def evaluate() -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            loss = model.loss()
        gradients = tape.gradient(loss, variables)
        return loss, tf.concat([tf.reshape(gradient, [-1]) for gradient in gradients], axis=0)

    def loss(position: FloatArray) -> tuple[float, FloatArray]:
        _move(variables, position)
        try:
            value, gradient = call_graph(evaluate)
        except tf.errors.InvalidArgumentError:  # some builds of TensorFlow raise where others return NaN
            return np.nan, np.full_like(position, np.nan)
        return float(value), gradient.numpy()

    return loss


class _NotANumberError(ArithmeticError):
    pass


def _move(variables: list[tf.Variable], position: FloatArray) -> None:
    start = 0
    for variable in variables:
        size = int(np.prod(variable.shape))
        variable.assign(position[start : start + size].reshape(variable.shape))
        start += size
