"""Start of training: p(x) of the noiseless inputs, inducing points, and the schedule of the steps."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from fermiclass.nimgp.inducing import initial_inducing_points
from fermiclass.nimgp.inputs.prior import InputPrior
from fermiclass.nimgp.names import AVERAGING, FIRST_ORDER
from fermiclass.nimgp.settings import Settings

if TYPE_CHECKING:
    from fermiclass.nimgp.training.loop import Schedule

_MAX_BY_FRACTION = 100


def input_prior(settings: Settings, X: np.ndarray, X_var: np.ndarray, seed: int) -> InputPrior:
    """Return p(x) for standardised inputs. Methods without p(x) get the isotropic one, which costs nothing."""
    if settings.inputs.prior == "isotropic" or settings.method not in (*AVERAGING, *FIRST_ORDER):
        prior = InputPrior.isotropic(X.shape[1], 1.0)
    else:
        components = settings.inputs.components if settings.inputs.prior == "mixture" else 1
        prior = InputPrior.population(X, X_var, components=components, seed=seed)
    return prior.widened(settings.inputs.prior_variance)


def takes_expected_inputs(settings: Settings) -> bool:
    """Return whether the method is of first order, with given noise and a p(x) of the population."""
    return settings.first_order and settings.noise == "given" and settings.inputs.prior != "isotropic"


def expected_inputs(
    settings: Settings, prior: InputPrior, X: np.ndarray, X_var: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the standardised inputs of the method, and their variances, ``(n, D)``.

    First-order methods with a p(x) of the population get means and variances of p(x | x̃); all others get x̃ and V.
    """
    return prior.moments(X, X_var) if takes_expected_inputs(settings) else (X, X_var)


def inducing_points(settings: Settings, X: np.ndarray, num_data: int, seed: int) -> np.ndarray:
    """Return initial inducing points ``(M, D)`` for all classes; `num_data` is the number of training sources."""
    if isinstance(settings.num_inducing, Integral):
        number = int(settings.num_inducing)
    else:
        number = max(2, min(_MAX_BY_FRACTION, round(settings.num_inducing * num_data)))
    return initial_inducing_points(X, number, settings.training.inducing, np.random.default_rng(seed))


def schedule(settings: Settings, num_data: int, seed: int, *, batch_size: int | None = None) -> Schedule:
    """Return the steps of training with `num_data` sources; `batch_size` replaces that of the settings."""
    from fermiclass.nimgp.training.loop import Schedule

    size = settings.batch_size if batch_size is None else batch_size
    steps = settings.steps
    if settings.epochs is not None:
        steps = settings.epochs * max(1, round(num_data / min(size or num_data, num_data)))
    return Schedule(
        steps,
        size,
        settings.learning_rate,
        settings.training.decay,
        seed,
        settings.training.natural_gradient,
    )
