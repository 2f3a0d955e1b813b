"""GPflow's likelihoods as one of ours: y may be a number, a count, a grade or a label."""

from __future__ import annotations

from collections.abc import Sequence

import gpflow
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from fermiclass.nimgp.ordered_probit import OrderedProbit
from fermiclass.nimgp.posterior import LatentMoments
from fermiclass.nimgp.predictive_moments import PredictiveMoments, draws_of_f, moments_of_draws
from fermiclass.nimgp.softmax import antithetic_draws

FloatArray = NDArray[np.float64]

_BY_QUADRATURE = gpflow.likelihoods.QuadratureLikelihood._predict_log_density
_REACH, _FINE, _COARSE = 6.5, 401, 10  # standard deviations of f, and points

_LABELS = (gpflow.likelihoods.Softmax, gpflow.likelihoods.MultiClass)


class Adapted(gpflow.Module):
    """``p(y | f + b)`` for a GPflow likelihood p and constants b, one for each of its L latent functions.

    Expectations over f are the likelihood's own, closed forms or quadratures; of those that draw (Softmax) only
    ``p(y | f)`` is taken, at draws that a seed decides. One output y a row. Without leading axes, as GPflow's
    likelihoods have the parameters of one model, and in double precision, as theirs are.

    Parameters
    ----------
    likelihood
        Any of GPflow's whose ``p(y | f)`` does not depend on x. It is taken as it is, and trained; but for Ordinal,
        in whose place comes :class:`~fermiclass.nimgp.ordered_probit.OrderedProbit` with its edges.
    offset
        Where b starts, ``(L,)`` or one number for all; it is learned, so that f may have a prior mean of zero.
    num_draws
        Draws of f for each source and step where the likelihood draws; an even number.
    num_points
        The same in prediction, quasi-Monte Carlo, for each draw of a noisy input; a power of 2.

    Raises
    ------
    ValueError
        When the likelihood is none, or needs x, or several outputs a row.
    """

    def __init__(
        self,
        likelihood: gpflow.likelihoods.Likelihood,
        *,
        offset: float | Sequence[float] = 0.0,
        num_draws: int = 8,
        num_points: int = 16,
    ) -> None:
        super().__init__()
        check_likelihood(likelihood)
        if isinstance(likelihood, gpflow.likelihoods.Ordinal):
            likelihood = OrderedProbit(likelihood.bin_edges, float(np.asarray(likelihood.sigma)))
        self.likelihood = likelihood
        self.num_functions = likelihood.latent_dim or 1
        self.offset = gpflow.Parameter(np.broadcast_to(np.asarray(offset, np.float64), (self.num_functions,)).copy())
        self.num_draws, self.num_points = num_draws, num_points

    @property
    def num_classes(self) -> int:
        """C where y is a label 0 … C − 1, else 0."""
        if isinstance(self.likelihood, gpflow.likelihoods.Bernoulli):
            return 2
        if isinstance(self.likelihood, OrderedProbit):
            return int(self.likelihood.num_bins)
        return int(self.likelihood.num_classes) if isinstance(self.likelihood, _LABELS) else 0

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``E_q log p(y | f + b)`` for y (n,), shape (n,)."""
        if not self._draws:
            return self.likelihood.variational_expectations(*self._inputs(latent), self._outputs(y))
        return tf.reduce_mean(self._log_prob(antithetic_draws(latent, self.num_draws, seed), y), axis=0)

    def log_predictive(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``log E_q p(y | f + b)`` for y (n,), shape (n,)."""
        if not self._draws:
            return self._integrated(latent, y)
        log_p = self._log_prob(antithetic_draws(latent, self.num_draws, seed), y)
        return tf.reduce_logsumexp(log_p, axis=0) - np.log(self.num_draws)

    def log_density(self, latent: LatentMoments, y: tf.Tensor, num_draws: int = 1) -> tf.Tensor:
        """``log E_q p(y | f + b)`` in prediction, shape (n,); each ``num_draws`` points are draws of one input."""
        if not self._draws:
            return self._integrated(latent, y)
        log_p = self._log_prob(draws_of_f(latent, num_draws, self.num_points), y)
        return tf.reduce_logsumexp(log_p, axis=0) - np.log(log_p.shape[0])

    def mean_and_var(self, latent: LatentMoments, num_draws: int = 1) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of y, noise included, each (n, P): P is 1, or C for the probabilities of classes."""
        if not self._draws:
            return self.likelihood.predict_mean_and_var(*self._inputs(latent))
        f = draws_of_f(latent, num_draws, self.num_points)
        mean, var = self._moments_given(f)
        second = tf.reduce_mean(var + tf.square(mean), axis=0)
        mean = tf.reduce_mean(mean, axis=0)
        return mean, second - tf.square(mean)

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        """Quasi-Monte Carlo moments of the class probabilities, as of any likelihood of labels.

        Raises
        ------
        NotImplementedError
            When y is no label.
        """
        if not self.num_classes:
            raise NotImplementedError(f"{type(self.likelihood).__name__} has no classes: ask for mean_and_var")
        f = draws_of_f(latent, num_draws, self.num_points)
        labels = tf.range(self.num_classes)
        log_p = [self._log_prob(f, tf.repeat(label, tf.shape(f)[2])) for label in tf.unstack(labels)]
        return moments_of_draws(tf.stack(log_p, axis=1), ratio)

    def _integrated(self, latent: LatentMoments, y: tf.Tensor) -> tf.Tensor:
        """``log E_q p(y | f + b)`` in closed form, or by a rule that is fine in the first of the functions.

        GPflow's rule of 20 points misses ``p(y | f)`` where that is narrow beside what is not known of f.
        """
        if type(self.likelihood)._predict_log_density is not _BY_QUADRATURE:
            return self.likelihood.predict_log_density(*self._inputs(latent), self._outputs(y))
        nodes, log_weights = _rule(self.num_functions)
        f = latent.mean + tf.sqrt(latent.var) * nodes[:, :, None]  # (S, L, n)
        return tf.reduce_logsumexp(self._log_prob(f, y) + log_weights[:, None], axis=0)

    @property
    def _draws(self) -> bool:
        return isinstance(self.likelihood, gpflow.likelihoods.MonteCarloLikelihood)

    def _inputs(self, latent: LatentMoments) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """No x, mean and variance, (n, 0), (n, L) and (n, L)."""
        mean = tf.linalg.matrix_transpose(latent.mean) + self.offset
        return mean[:, :0], mean, tf.linalg.matrix_transpose(latent.var)

    def _outputs(self, y: tf.Tensor) -> tf.Tensor:
        return tf.cast(y, tf.int32 if isinstance(self.likelihood, _LABELS) else gpflow.default_float())[:, None]

    def _log_prob(self, f: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        """``log p(y | f + b)`` at draws (S, L, n), shape (S, n)."""
        rows = self._rows(f)
        log_p = self.likelihood.log_prob(rows[:, :0], rows, self._outputs(tf.tile(y, tf.shape(f)[:1])))
        return tf.reshape(log_p, [f.shape[0], -1])

    def _moments_given(self, f: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        rows = self._rows(f)
        moments = (
            of(rows[:, :0], rows) for of in (self.likelihood.conditional_mean, self.likelihood.conditional_variance)
        )
        mean, var = (tf.reshape(a, [f.shape[0], -1, a.shape[-1]]) for a in moments)
        return mean, var

    def _rows(self, f: tf.Tensor) -> tf.Tensor:
        """Draws (S, L, n) as rows (S · n, L), which is what every likelihood takes, b added."""
        return tf.reshape(tf.linalg.matrix_transpose(f), [-1, self.num_functions]) + self.offset


def _rule(num_functions: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes (S, L) and logarithms of weights (S,) for L standard normal variables.

    The trapezoidal rule for the first, which is exact but for rounding where the integrand is no narrower than its
    spacing; Gauss and Hermite's for the others, such as a logarithm of a width.
    """
    fine = np.linspace(-_REACH, _REACH, _FINE)
    axes, weights = [fine], [np.exp(-0.5 * fine**2)]
    coarse, coarse_weights = np.polynomial.hermite_e.hermegauss(_COARSE)
    for _ in range(num_functions - 1):
        axes.append(coarse)
        weights.append(coarse_weights)
    nodes = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], axis=1)
    total = np.prod([a.ravel() for a in np.meshgrid(*(w / w.sum() for w in weights), indexing="ij")], axis=0)
    return nodes, np.log(total)


def check_likelihood(likelihood: object) -> None:
    """Raise ValueError unless it is a GPflow likelihood of one output that does not depend on x."""
    name = type(likelihood).__name__
    if not isinstance(likelihood, gpflow.likelihoods.Likelihood):
        raise ValueError(
            f"{likelihood!r} is no likelihood: expected one of GPflow's, such as gpflow.likelihoods.Poisson()"
        )
    if isinstance(likelihood, gpflow.likelihoods.SwitchedLikelihood) or (likelihood.observation_dim or 1) > 1:
        raise ValueError(f"the likelihood {name} has several outputs a row: expected one")
    functions = [key for key, value in vars(likelihood).items() if isinstance(value, gpflow.functions.Function)]
    if functions:
        raise ValueError(f"{functions[0]} of the likelihood {name} depends on the inputs: expected a number")
