"""The sparse variational process of GPflow, for comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def svgp_steps(
    X: np.ndarray, y: np.ndarray, *, num_inducing: int, batch_size: int, steps_a_call: int
) -> Callable[[], None]:
    """Return a function that trains SVGP for some steps of Adam, with separate kernels and the softmax likelihood.

    Parameters
    ----------
    X
        Inputs ``(N, D)``; they get GPflow's default type.
    y
        Labels 0 … C − 1, ``(N,)``.
    num_inducing, batch_size, steps_a_call
        Number of inducing points per class, of rows per step, and of steps inside one TensorFlow graph.
    """
    import gpflow
    import tensorflow as tf

    num_classes, input_dim = int(y.max()) + 1, X.shape[1]
    dtype = gpflow.config.default_float()
    X = X.astype(dtype)
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


def regression(
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    y_test: np.ndarray,
    *,
    num_inducing: int,
    batch_size: int,
    steps: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Train SVGP with squared exponential and linear kernels and Gaussian noise. Return means and log densities.

    Parameters
    ----------
    X, y, X_test, y_test
        Standardised rows, ``(N, D)``, ``(N,)``, ``(n, D)``, ``(n,)``.
    num_inducing, batch_size, steps
        Number of inducing points (from k-means), of rows per step, and of steps. The step size of Adam starts at 0.03
        and falls along a cosine.

    Returns
    -------
    tuple of ndarray
        Means and log densities of the test rows, ``(n,)`` each.
    """
    import gpflow
    import tensorflow as tf
    from sklearn.cluster import KMeans

    Z = KMeans(num_inducing, n_init=1, random_state=0).fit(X).cluster_centers_
    kernel = gpflow.kernels.RBF(lengthscales=np.full(X.shape[1], np.sqrt(X.shape[1]))) + gpflow.kernels.Linear(0.1)
    likelihood = gpflow.likelihoods.Gaussian(0.3)
    model = gpflow.models.SVGP(kernel, likelihood, gpflow.inducing_variables.InducingPoints(Z), num_data=len(X))
    rows = tf.data.Dataset.from_tensor_slices((X, y[:, None])).repeat().shuffle(len(X), seed=0).batch(batch_size)
    optimiser = tf.keras.optimizers.Adam(tf.keras.optimizers.schedules.CosineDecay(0.03, steps, alpha=0.01))
    variables = model.trainable_variables
    optimiser.build(variables)

    @tf.function
    def step(batch: tuple[tf.Tensor, tf.Tensor]) -> None:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            loss = model.training_loss(batch)
        optimiser.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

    for batch in rows.take(steps):
        step(batch)
    mean, _ = model.predict_y(X_test)
    return mean.numpy()[:, 0], model.predict_log_density((X_test, y_test[:, None])).numpy()
