"""Classification problems drawn from the model: the largest latent function gives the label; inputs have noise."""

from __future__ import annotations

import numpy as np

from fermiclass.benchmarks.gp_draws import LatentFunctions
from fermiclass.benchmarks.problem import Problem
from fermiclass.io.arrays import FloatArray


def draw_problem(
    functions: LatentFunctions,
    rng: np.random.Generator,
    *,
    num_train: int,
    num_test: int,
    noise_variance: float,
    half_width: float,
) -> Problem:
    """Draw inputs x uniformly in a box, label them ``argmax_c f_c(x)`` and observe ``x̃ ~ N(x, V I)``.

    The same generator gives the same rows, and the same noise scaled by ``noise_variance``. Fewer training rows are the
    first rows of a larger set.

    Parameters
    ----------
    functions
        Latent functions f of the classes.
    rng
        Random generator.
    num_train, num_test
        N and n.
    noise_variance
        V of every input, positive.
    half_width
        The box is ``[-half_width, half_width]^D``.
    """
    input_dim = functions.frequencies.shape[-1]

    def rows(
        num_rows: int, positions: np.random.Generator, noise: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        x = positions.uniform(-half_width, half_width, (num_rows, input_dim))
        return x, x + np.sqrt(noise_variance) * noise.standard_normal(x.shape)

    positions, noise, test_positions, test_noise = rng.spawn(4)
    x, X = rows(num_train, positions, noise)
    x_test, X_test = rows(num_test, test_positions, test_noise)
    return Problem(
        X=X,
        X_var=np.full_like(X, noise_variance),
        y=functions.labels(x),
        X_test=X_test,
        X_var_test=np.full_like(X_test, noise_variance),
        y_test=functions.labels(x_test),
    )
