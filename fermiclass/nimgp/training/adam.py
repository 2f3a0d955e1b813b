"""Adam by the fused operation of TensorFlow, as that of Keras has fifteen for each variable; and means over steps."""

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

    `variables`: variables θ that steps change, of one floating-point type.
    `learning_rate`: step size r of the first step.
    `steps`: number of steps over which the step size falls along a cosine to a hundredth of its first value, ``r_t = r
    [0.01 + 0.99 · ½ (1 + cos(π (t − 1) / steps))]``; None for a constant step size.
    """

    def __init__(self, variables: Sequence[tf.Variable], learning_rate: float, *, steps: int | None = None) -> None:
        self._of_variables = variables
        self._rate, self._steps = learning_rate, steps
        self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._m, self._v = ([tf.Variable(tf.zeros_like(x), trainable=False) for x in variables] for _ in range(2))
        #: Number of steps done, and the moments m and v.
        self.state: list[tf.Variable] = [self._step, *self._m, *self._v]

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


class RunningMean:
    """Mean of variables over all steps after some (Polyak & Juditsky 1992, SIAM J. Control Optim. 30, 838)."""

    def __init__(self, variables: Sequence[tf.Variable], after: int) -> None:
        self._of_variables, self._after = variables, after
        self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._mean = [tf.Variable(tf.zeros_like(x), trainable=False) for x in variables]
        #: Number of steps done, and the mean.
        self.state: list[tf.Variable] = [self._step, *self._mean]

    def update(self) -> None:
        """Count a step."""
        counted = self._step.assign_add(1) - self._after
        part = tf.where(counted > 0, 1.0 / tf.cast(tf.maximum(counted, 1), tf.float64), 0.0)
        for mean, x in zip(self._mean, self._of_variables, strict=True):
            mean.assign_add(tf.cast(part, x.dtype) * (x - mean))

    def take(self) -> None:
        """Set the variables to their mean."""
        for mean, x in zip(self._mean, self._of_variables, strict=True):
            x.assign(mean)
