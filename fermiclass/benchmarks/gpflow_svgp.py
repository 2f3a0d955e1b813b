"""GPflow's own sparse variational classifier, for comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def svgp_steps(
    X: np.ndarray, y: np.ndarray, *, num_inducing: int, batch_size: int, steps_a_call: int
) -> Callable[[], None]:
    """Return a call that makes some training steps, Adam's, of SVGP with separate kernels and the softmax likelihood.

    Parameters
    ----------
    X
        Inputs ``(N, D)``, of GPflow's default type.
    y
        Labels 0 … C − 1, ``(N,)``.
    num_inducing, batch_size, steps_a_call
        Inducing points a class, rows a step, and steps inside one TensorFlow graph.
    """
    import gpflow
    import tensorflow as tf

    num_classes, input_dim = int(y.max()) + 1, X.shape[1]
    dtype = gpflow.config.default_float()
    Z = [gpflow.inducing_variables.InducingPoints(X[:num_inducing].copy()) for _ in range(num_classes)]
    kernels = [gpflow.kernels.RBF(lengthscales=np.ones(input_dim, dtype)) for _ in range(num_classes)]
    model = gpflow.models.SVGP(
        gpflow.kernels.SeparateIndependent(kernels),
        gpflow.likelihoods.Softmax(num_classes),
        gpflow.inducing_variables.SeparateIndependentInducingVariables(Z),
        num_latent_gps=num_classes,
        num_data=len(X),
    )
    rows = tf.data.Dataset.from_tensor_slices((X, y[:, None])).repeat()
    batches: Any = iter(rows.shuffle(min(len(X), 65536), seed=0).batch(batch_size).prefetch(4))
    optimiser = tf.keras.optimizers.Adam(0.01)
    variables = model.trainable_variables
    optimiser.build(variables)

    @tf.function
    def steps() -> None:
        for _ in tf.range(steps_a_call):
            batch = next(batches)
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(variables)
                loss = model.training_loss(batch)
            optimiser.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

    steps()
    return steps
