"""Preparation of training: labelled rows, standardised inputs, p(x) and inducing points. It needs no scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from fermiclass.nimgp.arrays import mean_and_scale, without_outliers
from fermiclass.nimgp.estimators.fitted import Fitted, Scaling
from fermiclass.nimgp.inputs.prior import InputPrior
from fermiclass.nimgp.names import AVERAGING, FIRST_ORDER
from fermiclass.nimgp.settings import Settings
from fermiclass.nimgp.targets import LabelTable, Outputs, has_label

_MAX_BY_FRACTION = 100
_ENOUGH = 20_000  # number of rows for k-means; more rows take longer and hardly improve the centres


def refuse_rescaled(X: np.ndarray, X_var: np.ndarray, *, as_columns: bool) -> None:
    """Raise ValueError when values ``X`` (N, D) are standardised or go up to 1, and variances not, or by themselves.

    A step such as MinMaxScaler may have rescaled errors, too, that were columns beside the values.
    """
    values = np.ma.masked_invalid(X)
    mean, std, largest = values.mean(axis=0), values.std(axis=0), np.abs(values).max(axis=0)
    most = np.fmax.reduce(X_var, axis=0)
    standard = np.ma.allclose(mean, 0.0, atol=1e-9) and np.ma.allclose(std, std > 0.5, atol=1e-9)  # or constant
    to_one = as_columns and np.ma.allclose(largest, largest > 0.5) and np.ma.allclose(most, most > 0.5)
    if to_one or (standard and (np.any(np.mean(X_var > 1.0, axis=0) > 0.5) or (as_columns and not np.any(X_var)))):
        raise ValueError(
            "X was rescaled, and its errors were not, or by themselves: does a step before rescale the columns? "
            "The estimator standardises values and errors itself, leave such a step out"
        )


class Rows(NamedTuple):
    """Training rows in an order that does not depend on the order of the input."""

    X: np.ndarray  #: Inputs without outliers, ``(N, D)``.
    X_var: np.ndarray
    y: np.ndarray  #: Labels as numbers, or standardised outputs, ``(N,)``.
    target: Any  #: What y means: a `LabelTable`, or `Outputs`.
    weight: Any = None  #: Weights of the rows, ``(N,)``; None where each has the weight 1.


@dataclass(frozen=True, eq=False)
class Prepared:
    """All that training needs, standardised."""

    settings: Settings
    target: LabelTable | Outputs  #: What labels or outputs mean.
    scaling: Scaling
    #: Inputs and variances ``(N, D)``.
    X: np.ndarray
    X_var: np.ndarray
    Z: np.ndarray  #: Initial inducing points, ``(M, D)``.
    prior: InputPrior  #: Prior p(x) of the noiseless inputs.
    num_data: int  #: Number of training rows, of which a stream has a sample here.
    seed: int  #: Seed of initial values, minibatches and draws.


def labelled_rows(
    settings: Settings,
    X: np.ndarray,
    X_var: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None = None,
    names: Sequence[str] | None = None,
) -> Rows:
    """Return the rows with a label and a weight, in an order that gives all permutations the same sums and draws.

    Labels that may stand for every class count as none. Raises ValueError as `LabelTable.of` and `without_outliers`.
    """
    weight = np.ones(len(y)) if weight is None else weight
    used = np.flatnonzero(has_label(y) & (weight > 0))
    table = LabelTable.of(y[used], settings.label_sets)
    used = used[np.isin(y[used], table.names)]
    codes = table.codes(y[used])
    weight = weight[used]
    if settings.label_weights:
        weight = weight * table.weights(codes, settings.label_weights)
    order = np.lexsort((*X_var[used].T, *X[used].T, -weight, codes))
    rows = used[order]
    return Rows(without_outliers(X[rows], names), X_var[rows], codes[order], table, weight[order])


def measured_rows(
    settings: Settings, X: np.ndarray, X_var: np.ndarray, y: np.ndarray, names: Sequence[str] | None = None
) -> Rows:
    """Return rows with outputs, in an order as :func:`labelled_rows`. Raises ValueError as :meth:`Outputs.of`."""
    order = np.lexsort((*X_var.T, *X.T, y))
    X, X_var, y = X[order], X_var[order], y[order]
    outputs = Outputs.of(settings.likelihood, y)
    return Rows(without_outliers(X, names), X_var, (y - outputs.mean) / outputs.scale, outputs)


def random_seed(settings: Settings) -> int:
    """Return a seed from the random state of the settings."""
    state: Any = settings.random_state
    if isinstance(state, Integral):
        state = np.random.RandomState(int(state))
    return int((np.random if state is None else state).randint(2**31 - 1))


def prepare(settings: Settings, rows: Rows, start: Fitted | None = None) -> Prepared:
    """Standardise rows, and choose initial values of training; scaling and Z are those of `start`, if it is given."""
    seed = random_seed(settings)
    scaling = Scaling.of(*mean_and_scale(rows.X), rows.X_var) if start is None else start.scaling
    X, X_var = scaling.apply(rows.X, rows.X_var, settings)
    prior = input_prior(settings, X, X_var, seed)
    if settings.expected_inputs:
        X, X_var = prior.moments(X, X_var)
    Z = inducing_points(settings, X, len(X), seed) if start is None else start.parameters["posterior.Z"][0]
    return Prepared(settings, rows.target, scaling, X, X_var, Z, prior, len(X), seed)


def input_prior(settings: Settings, X: np.ndarray, X_var: np.ndarray, seed: int) -> InputPrior:
    """Return p(x) for standardised inputs. Methods without p(x) get the isotropic one, which costs nothing."""
    options = settings.inputs
    if options.prior == "isotropic" or settings.method not in (*AVERAGING, *FIRST_ORDER):
        return InputPrior.isotropic(X.shape[1], np.inf if options.prior_variance is None else options.prior_variance)
    components = options.components if options.prior == "mixture" else 1
    return InputPrior.population(X, X_var, components=components, seed=seed).widened(options.prior_variance)


def inducing_points(settings: Settings, X: np.ndarray, num_data: int, seed: int) -> np.ndarray:
    """Return initial inducing points ``(M, D)`` that represent ``X`` (n, D), where duplicates count once.

    'kmeans' gives cluster centres of at most 20,000 random rows, 'random' a random subset of the rows.
    """
    number: Any = settings.num_inducing
    if not isinstance(number, Integral):
        number = max(2, min(_MAX_BY_FRACTION, round(number * num_data)))
    rng = np.random.default_rng(seed)
    distinct = np.unique(X, axis=0)
    number = min(int(number), len(distinct))
    if settings.training.inducing == "random" or number == len(distinct):
        return distinct[np.sort(rng.choice(len(distinct), number, replace=False))]
    enough = max(_ENOUGH, number)
    if len(distinct) > enough:
        distinct = distinct[rng.choice(len(distinct), enough, replace=False)]
    return cluster_centres(distinct, number)


def cluster_centres(X: np.ndarray, number: int) -> np.ndarray:
    """Return the centres of clusters of rows ``X`` (N, D), ``(number, D)``, always the same: k-means.

    It begins at rows that are far apart (k-means++ with the best of some draws for each; Arthur & Vassilvitskii 2007,
    SODA, 1027), and ends when the centres move by a hundredth of the scatter in all (Lloyd 1982, IEEE Trans. Inf.
    Theory 28, 129). The draws are those of ``sklearn.cluster.KMeans(number, n_init=1, random_state=0)``.
    """
    rng, trials, mean = np.random.RandomState(0), 2 + int(np.log(number)), X.mean(axis=0)
    enough, X = 1e-4 * np.mean(np.var(X, axis=0)), X - mean
    norms = np.sum(np.square(X), axis=1)

    def squares(centres: np.ndarray) -> np.ndarray:
        return np.sum(np.square(centres), axis=1)[:, None] - 2.0 * centres @ X.T + norms

    with threadpool_limits(limits=1):  # several threads would add partial sums in a random order
        centres = X[[rng.choice(len(X), p=np.full(len(X), 1.0 / len(X)))]]
        least = np.maximum(squares(centres)[0], 0.0)
        while len(centres) < number:
            drawn = np.searchsorted(np.cumsum(least), rng.uniform(size=trials) * least.sum())
            drawn = np.minimum(drawn, len(X) - 1)  # the two sums are rounded in another order
            those = np.clip(squares(X[drawn]), 0.0, least)
            best = np.argmin(those.sum(axis=1))
            centres, least = np.vstack([centres, X[drawn[best]]]), those[best]
        for _ in range(300):  # it ends before
            nearest = np.argmin(squares(centres), axis=0)
            size = np.bincount(nearest, minlength=number)[:, None]
            sums = np.stack([np.bincount(nearest, column, number) for column in X.T], axis=1)
            before, centres = centres, np.where(size > 0, sums / np.maximum(size, 1), centres)
            if np.sum(np.square(centres - before)) <= enough:
                break
    return centres + mean
