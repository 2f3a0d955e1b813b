"""Optimisers: Adam, natural gradients, and both together with the mean over steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.inputs.models import Batch
from fermiclass.nimgp.model import NoisyInputGP
from fermiclass.nimgp.modules import Parameter
from fermiclass.nimgp.posterior import SparsePosterior

_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-7
_LEAST = 0.01  # last step size relative to the first, if it falls
_REACH = 1.0  # largest move per step, in prior standard deviations; far out, a likelihood may be too flat to return
_RAMP = 50  # number of steps over which the step size grows: the first q(v) is far from the optimum
_BEFORE_MEAN = 0.3  # part of the steps before those whose mean is taken


@dataclass(frozen=True)
class Schedule:
    """How a bound is maximised; see :class:`fermiclass.nimgp.settings.TrainingOptions`."""

    steps: int = 500
    batch_size: int | None = None
    learning_rate: float = 0.01
    decay: bool = True
    mean: bool = False
    seed: int = 0
    natural_gradient: float | None = None


class Adam:
    """Steps of Adam (Kingma & Ba 2015, arXiv:1412.6980), by TensorFlow's fused operation: Keras has fifteen a variable.

    With the gradient g of the loss, ``m ← β₁ m + (1 − β₁) g``, ``v ← β₂ v + (1 − β₂) g²`` and
    ``θ ← θ − r √(1 − β₂ᵗ) / (1 − β₁ᵗ) m / (√v + ε)``, t = 1, 2, …; β₁ = 0.9, β₂ = 0.999, ε = 10⁻⁷. If `steps` are
    given, the step size falls to a hundredth, ``r_t = r [0.01 + 0.99 · ½ (1 + cos(π (t − 1) / steps))]``.
    """

    def __init__(self, variables: Sequence[tf.Variable], learning_rate: float, *, steps: int | None = None) -> None:
        self._of_variables = variables
        self._rate, self._steps = learning_rate, steps
        self.done = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._m, self._v = ([tf.Variable(tf.zeros_like(x), trainable=False) for x in variables] for _ in range(2))
        #: Number of steps done, and the moments m and v.
        self.state: list[tf.Variable] = [self.done, *self._m, *self._v]

    def apply_gradients(self, gradients: Sequence[tf.Tensor]) -> None:
        """Make a step, given the gradients of the loss with respect to each variable."""
        if not self._of_variables:
            return
        dtype = self._of_variables[0].dtype
        done = tf.cast(self.done, dtype)
        rate = tf.constant(self._rate, dtype)
        if self._steps is not None:
            part = tf.minimum(done / self._steps, 1.0)
            rate *= _LEAST + (1.0 - _LEAST) * 0.5 * (1.0 + tf.cos(np.pi * part))
        for gradient, x, m, v in zip(gradients, self._of_variables, self._m, self._v, strict=True):
            tf.raw_ops.ResourceApplyAdam(
                var=x.handle,
                m=m.handle,
                v=v.handle,
                beta1_power=tf.constant(_BETA_1, dtype) ** (done + 1.0),
                beta2_power=tf.constant(_BETA_2, dtype) ** (done + 1.0),
                lr=rate,
                beta1=_BETA_1,
                beta2=_BETA_2,
                epsilon=_EPSILON,
                grad=gradient,
            )
        self.done.assign_add(1)


class NaturalGradient:
    """Steps of size γ along the natural gradient of a loss in the natural parameters of q(v).

    ``S_new⁻¹ = S⁻¹ + 2γ ∂loss/∂S``, ``m_new = m − γ S_new ∂loss/∂m`` (Salimbeni, Eleftheriadis & Hensman 2018), as
    ``gpflow.optimizers.NaturalGradient`` does for one model. With ``S = L Lᵀ``, ``G = ∂loss/∂L`` and Φ the lower
    triangle with half of the diagonal, ``2 Lᵀ (∂loss/∂S) L = Φ(LᵀG) + Φ(LᵀG)ᵀ``. Therefore no inverse of S is needed:
    ``S_new = L [I + γ (Φ + Φᵀ)]⁻¹ Lᵀ = (L U⁻ᵀ)(L U⁻ᵀ)ᵀ``, where ``U Uᵀ`` is the bracket and U an upper triangle.

    γ is reached after 50 steps. A step is shorter if a matrix would otherwise lose its positive definiteness, or if a
    mean would otherwise move by more than a standard deviation of p(v) = N(0, I).
    """

    def __init__(self, posterior: SparsePosterior, gamma: float) -> None:
        self.parameters = posterior.q_mu, posterior.q_sqrt
        self.variables = [parameter.unconstrained_variable for parameter in self.parameters]
        self._gamma = gamma
        self.state = tf.Variable(0, dtype=tf.int64, trainable=False)  #: Number of steps done.

    def apply_gradients(self, of_mean: tf.Tensor, of_sqrt: tf.Tensor) -> None:
        """Move m and S, given the gradients of the loss with respect to m (C, M) and L (C, M, M)."""
        self.state.assign_add(1)
        ramp = tf.minimum(tf.cast(self.state, tf.float64) / _RAMP, 1.0)
        q_mu, q_sqrt = self.parameters
        mean, sqrt = natural_step(q_mu, q_sqrt, of_mean, of_sqrt, tf.cast(self._gamma * ramp, q_mu.dtype), _REACH)
        q_mu.assign(mean)
        q_sqrt.assign(sqrt)


def natural_step(
    mean: tf.Tensor | Parameter,
    sqrt: tf.Tensor | Parameter,
    of_mean: tf.Tensor,
    of_sqrt: tf.Tensor,
    gamma: tf.Tensor | float,
    reach: float | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return m ``(C, M)`` and L ``(C, M, M)`` after one step; no coordinate of m moves by more than `reach`."""
    m, L, g, G = (tf.convert_to_tensor(a) for a in (mean, sqrt, of_mean, of_sqrt))
    L = tf.linalg.band_part(L, -1, 0)
    half = tf.linalg.band_part(tf.matmul(L, G, transpose_a=True), -1, 0)
    half = tf.linalg.set_diag(half, 0.5 * tf.linalg.diag_part(half))
    change = tf.cast(half + tf.linalg.matrix_transpose(half), tf.float64)
    gamma = _largest_step(change, tf.cast(gamma, tf.float64))[..., None, None]
    # The Cholesky factor of the matrix with reversed rows and columns is U, reversed.
    bracket = tf.eye(L.shape[-1], dtype=tf.float64) + gamma * change
    U = tf.reverse(tf.linalg.cholesky(tf.reverse(bracket, [-2, -1])), [-2, -1])
    transposed = tf.linalg.triangular_solve(U, tf.cast(tf.linalg.matrix_transpose(L), tf.float64), lower=False)
    sqrt = tf.cast(tf.linalg.matrix_transpose(transposed), L.dtype)
    move = tf.cast(gamma[..., 0], m.dtype) * tf.linalg.matvec(sqrt, tf.linalg.matvec(sqrt, g, transpose_a=True))
    if reach is not None:
        farthest = tf.reduce_max(tf.abs(move), axis=-1, keepdims=True)
        move *= reach / tf.maximum(farthest, reach)
    return m - move, sqrt


def _largest_step(change: tf.Tensor, gamma: tf.Tensor) -> tf.Tensor:
    """Halve γ for each matrix until ``I + γ · change`` has no eigenvalue below 0.1; 0 after thirty halvings."""
    rest = 0.9 * tf.eye(change.shape[-1], dtype=change.dtype)

    def too_large(gamma: tf.Tensor) -> tf.Tensor:
        factor = tf.linalg.cholesky(rest + gamma[..., None, None] * change)
        return tf.reduce_any(tf.math.is_nan(factor), axis=(-2, -1))

    def halve(gamma: tf.Tensor, bad: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        gamma = tf.where(bad, 0.5 * gamma, gamma)
        return gamma, too_large(gamma)

    gamma = tf.fill(tf.shape(change)[:-2], gamma)
    gamma, bad = tf.while_loop(
        lambda _, bad: tf.reduce_any(bad), halve, (gamma, too_large(gamma)), maximum_iterations=30
    )
    return tf.where(bad, tf.zeros_like(gamma), gamma)


class Optimiser:
    """Adam for all parameters, or natural gradients for q(u) and Adam for the others; `slower` is a factor of steps.

    Parameters may end at their mean over the later steps (Polyak & Juditsky 1992, SIAM J. Control Optim. 30, 838).
    """

    def __init__(self, model: NoisyInputGP, settings: Schedule, slower: float) -> None:
        self._model = model
        self._natural = None
        if settings.natural_gradient is not None:
            self._natural = NaturalGradient(model.posterior, settings.natural_gradient * slower)
        self._of_posterior = [] if self._natural is None else self._natural.variables
        others = [v for v in model.variables if v.trainable and not any(v is own for own in self._of_posterior)]
        self._adam = Adam(others, settings.learning_rate * slower, steps=settings.steps if settings.decay else None)
        self._variables = [*self._of_posterior, *others]
        self._before_mean = round(_BEFORE_MEAN * settings.steps)
        averaged = self._variables if settings.mean else []
        #: Means over the later steps, beside the variables that are to end there.
        self.means = [(tf.Variable(tf.zeros_like(x), trainable=False), x) for x in averaged]
        self.state = [*model.variables, *self._adam.state]
        self.state += [mean for mean, _ in self.means] + ([] if self._natural is None else [self._natural.state])

    @tf.autograph.experimental.do_not_convert  # no control flow to convert in here: this halves the time of the trace
    def step(self, batch: Batch, seed: tf.Tensor) -> tf.Tensor:
        """Make one step. Return the objective before it, or NaN if the objective or a gradient is not finite."""
        variables = self._variables
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            value = self._model.objective(batch, seed)
            loss = -value - self._model.log_prior_density()
        # Zeros for parameters that do not enter the objective, such as a learned V in a method that ignores it.
        gradients = tape.gradient(loss, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        # If a number is not finite, the gradients are 0: only momentum moves the parameters, and training can go on.
        usable = tf.reduce_all([tf.reduce_all(tf.math.is_finite(a)) for a in (value, *gradients)])
        gradients = [tf.where(usable, a, tf.zeros_like(a)) for a in gradients]
        count = len(self._of_posterior)
        if self._natural is not None:
            self._natural.apply_gradients(*gradients[:count])
        self._adam.apply_gradients(gradients[count:])
        counted = tf.cast(self._adam.done - self._before_mean, tf.float64)
        part = tf.where(counted > 0, 1.0 / tf.maximum(counted, 1.0), 0.0)
        for mean, x in self.means:
            mean.assign_add(tf.cast(part, x.dtype) * (x - mean))
        return tf.where(usable, value, tf.constant(np.nan, value.dtype))
