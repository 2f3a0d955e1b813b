"""Adam by the fused operation of TensorFlow. That of Keras has fifteen operations for each variable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-7
_LEAST = 0.01  # last step size relative to the first, if it falls


class Adam:
    """Steps of Adam (Kingma & Ba 2015, arXiv:1412.6980).

    With the gradient g of the loss, ``m ← β₁ m + (1 − β₁) g``, ``v ← β₂ v + (1 − β₂) g²`` and
    ``θ ← θ − r √(1 − β₂ᵗ) / (1 − β₁ᵗ) m / (√v + ε)``, t = 1, 2, …; β₁ = 0.9, β₂ = 0.999, ε = 10⁻⁷.

    Parameters
    ----------
    variables
        Variables θ that steps change, of one floating-point type.
    learning_rate
        Step size r of the first step.
    steps
        Number of steps over which the step size falls along a cosine to a hundredth of its first value,
        ``r_t = r [0.01 + 0.99 · ½ (1 + cos(π (t − 1) / steps))]``; None for a constant step size.
    mean_after
        Number of steps after which the mean of θ over the later ones is kept for :meth:`take_mean` (Polyak & Juditsky
        1992, SIAM J. Control Optim. 30, 838); None for no mean.
    """

    def __init__(
        self,
        variables: Sequence[tf.Variable],
        learning_rate: float,
        *,
        steps: int | None = None,
        mean_after: float | None = None,
    ) -> None:
        self._of_variables, self._mean_after = variables, mean_after
        self._rate, self._steps = learning_rate, steps
        self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._m, self._v = ([tf.Variable(tf.zeros_like(x), trainable=False) for x in variables] for _ in range(2))
        means = variables if mean_after is not None else ()
        self._mean = [tf.Variable(tf.zeros_like(x), trainable=False) for x in means]
        #: Number of steps done, the moments m and v, and the mean of θ if it is kept.
        self.state: list[tf.Variable] = [self._step, *self._m, *self._v, *self._mean]

    def apply_gradients(self, gradients: Sequence[tf.Tensor]) -> None:
        """Make a step, given the gradients of the loss with respect to each variable."""
        if not self._of_variables:
            return
        dtype = self._of_variables[0].dtype
        done = tf.cast(self._step, dtype)
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
        self._step.assign_add(1)
        if self._mean:
            counted = done + 1.0 - tf.constant(self._mean_after, dtype)
            part = tf.where(counted >= 1.0, 1.0 / tf.maximum(counted, 1.0), tf.zeros((), dtype))
            for mean, x in zip(self._mean, self._of_variables, strict=True):
                mean.assign_add(part * (x - mean))

    def take_mean(self) -> None:
        """Set the variables to their mean, if it is kept."""
        for mean, x in zip(self._mean, self._of_variables, strict=False):
            x.assign(mean)
