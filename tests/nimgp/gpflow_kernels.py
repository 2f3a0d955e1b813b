"""GPflow's kernels in the place of ours, to compare with."""

import gpflow
import tensorflow as tf


class PerClass(gpflow.Module):
    """One GPflow kernel for each latent function, in a loop over the classes. It has no leading axes."""

    def __init__(self, kernels):
        super().__init__()
        self.kernels = list(kernels)

    def K(self, X, X2=None):
        return tf.stack(
            [
                kernel(_of_class(X, c), None if X2 is None else _of_class(X2, c))
                for c, kernel in enumerate(self.kernels)
            ],
            axis=-3,
        )

    def K_diag(self, X):
        return tf.stack([kernel(_of_class(X, c), full_cov=False) for c, kernel in enumerate(self.kernels)], axis=-2)

    def mean_gradient(self, X, Z, weights):
        gradients = []
        for c, kernel in enumerate(self.kernels):
            x = tf.identity(_of_class(X, c))
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(x)
                # The mean at a point depends on that point alone: the sum's gradient is each one's own.
                total = tf.reduce_sum(tf.linalg.matvec(kernel(x, _of_class(Z, c)), weights[c]))
            gradients.append(tape.gradient(total, x))
        return tf.stack(gradients, axis=-3)


def _of_class(X, c):
    return X[..., min(c, X.shape[-3] - 1), :, :]
