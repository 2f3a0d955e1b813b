"""Preparation of training: rows with labels, standardised inputs, p(x) and inducing points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from threadpoolctl import threadpool_limits

from fermiclass.nimgp.estimators.validation import refuse_odd_labels
from fermiclass.nimgp.inputs.prior import InputPrior
from fermiclass.nimgp.labels import LabelTable, check_number_of_classes, has_label
from fermiclass.nimgp.names import AVERAGING, FIRST_ORDER
from fermiclass.nimgp.settings import Settings

_MOST_SPREAD = 1e100  # largest spread of inputs; its square is finite
_MAX_BY_FRACTION = 100
_ENOUGH = 20_000  # number of rows for k-means; more rows take longer and hardly improve the centres


class Scaling(NamedTuple):
    """Mean and scale by which inputs are standardised, ``(D,)`` each."""

    mean: np.ndarray
    scale: np.ndarray

    def apply(self, X: np.ndarray, X_var: np.ndarray, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
        """Return standardised inputs and variances, within the limits of the settings."""
        unknown = np.isnan(X)  # they get mean and variance of all rows
        X, X_var = np.where(unknown, 0.0, (X - self.mean) / self.scale), np.where(unknown, 1.0, X_var / self.scale**2)
        if settings.inputs.clip is not None:
            X = np.clip(X, -settings.inputs.clip, settings.inputs.clip)
        if settings.inputs.max_noise is not None:
            X_var = np.minimum(X_var, settings.inputs.max_noise)
        return X, X_var


def mean_and_scale(values: np.ndarray, name: str | None = None) -> Scaling:
    """Return means and scales of one or more columns; see :func:`scale_of`."""
    mean_of, std_of = (np.nanmean, np.nanstd) if np.isnan(values).any() else (np.mean, np.std)
    with np.errstate(over="ignore", invalid="ignore"):  # `scale_of` refuses infinite values
        mean, spread = mean_of(values, axis=0), std_of(values, axis=0)
    return Scaling(mean, scale_of(mean, spread, name))


def scale_of(mean: np.ndarray, spread: np.ndarray, name: str | None = None) -> np.ndarray:
    """Return the scales of columns: their standard deviations, and 1 for constant columns.

    They are given by mean and spread ``(D,)``, or ``()`` of one column, whose name is for messages.

    Raises ValueError when the square of a spread overflows, or becomes 0.
    """
    constant = spread <= 1e-12 * np.abs(mean)
    large = ~((spread < _MOST_SPREAD) & (np.abs(mean) < _MOST_SPREAD))
    small = ~constant & (spread < 1.0 / _MOST_SPREAD)
    odd = np.flatnonzero(large | small)
    if odd.size:
        name = name or f"feature {odd[0]} (counted from 0)"
        limit = "more" if large.flat[odd[0]] else "less"
        raise ValueError(
            f"the numbers of {name} spread over {spread.flat[odd[0]]:.1g}, {limit} than double precision can square: "
            "give it in other units, or take its logarithm"
        )
    return np.where(constant, 1.0, spread)


class LabelledRows(NamedTuple):
    """Training rows in an order that does not depend on the order of the input: X, X_var (N, D), y and weights (N,)."""

    X: np.ndarray
    X_var: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Prepared:
    """All that training needs, standardised."""

    settings: Settings
    labels: LabelTable  #: Classes that each label stands for.
    scaling: Scaling
    #: Inputs and variances ``(N, D)``, and labels as numbers ``(N,)``.
    X: np.ndarray
    X_var: np.ndarray
    y: np.ndarray
    Z: np.ndarray  #: Initial inducing points, ``(M, D)``.
    prior: InputPrior  #: Prior p(x) of the noiseless inputs.
    seed: int  #: Seed of initial values, minibatches and draws.
    temperature: float = 1.0


def label_meanings(
    settings: Settings, labels: np.ndarray, sets: Mapping[str, tuple[str, ...]] | None = None
) -> LabelTable:
    """Return the classes that each label stands for, by `sets` beside those of the settings.

    Raises ValueError when a set names a class without rows, or there are fewer than two classes.
    """
    table = LabelTable.of(labels, {**(sets or {}), **(settings.label_sets or {})}, settings.label_weights or {})
    if len(table.classes) < 2:
        raise ValueError(f"a classifier needs sources of at least two classes; found only {len(table.classes)} class")
    return table


def labelled_rows(
    settings: Settings, X: np.ndarray, y: np.ndarray, X_var: np.ndarray, weight: np.ndarray | None = None
) -> LabelledRows:
    """Return the rows with a label and a weight, in an order that gives all permutations the same sums and draws.

    Raises ValueError when y has no class labels, or there is only one class, or there are far too many.
    """
    refuse_odd_labels(y)
    check_classification_targets(y)
    used = np.flatnonzero(has_label(y) & (True if weight is None else weight > 0))
    table = label_meanings(settings, y[used])
    used = used[table.is_informative()[table.codes(y[used])]]
    check_number_of_classes(table.classes, len(used))
    weights = () if weight is None else (weight[used],)
    order = used[np.lexsort((*weights, *X_var[used].T, *X[used].T, table.codes(y[used])))]
    return LabelledRows(X[order], X_var[order], y[order], None if weight is None else weight[order])


def random_seed(settings: Settings) -> int:
    """Return a seed from the random state of the settings."""
    return int(check_random_state(settings.random_state).randint(2**31 - 1))


def prepare(
    settings: Settings,
    rows: LabelledRows,
    *,
    seed: int,
    temperature: float = 1.0,
    scaling: Scaling | None = None,
    Z: np.ndarray | None = None,
) -> Prepared:
    """Standardise labelled rows, and choose initial values of training; `scaling` and `Z` may be those of another."""
    table = label_meanings(settings, rows.y)
    scaling = mean_and_scale(rows.X) if scaling is None else scaling
    X, X_var = scaling.apply(rows.X, rows.X_var, settings)
    prior = input_prior(settings, X, X_var, seed)
    X, X_var = expected_inputs(settings, prior, X, X_var)
    Z = inducing_points(settings, X, len(X), seed) if Z is None else Z
    y = table.codes(rows.y)
    if rows.weight is not None:
        table, y = table.weighted(y, rows.weight)
    return Prepared(settings, table, scaling, X, X_var, y, Z, prior, seed, temperature)


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


def initial_inducing_points(X: np.ndarray, num_inducing: int, method: str, rng: np.random.Generator) -> np.ndarray:
    """Return up to ``num_inducing`` points ``(M, D)`` that represent ``X`` (N, D), where duplicates count once.

    The method ``'kmeans'`` gives cluster centres of at most 20,000 random rows, the same for any seed if there are
    fewer, and ``'random'`` a random subset of the rows.
    """
    distinct = np.unique(X, axis=0)
    num_inducing = min(num_inducing, len(distinct))
    if method == "random" or num_inducing == len(distinct):
        return distinct[np.sort(rng.choice(len(distinct), num_inducing, replace=False))]
    enough = max(_ENOUGH, num_inducing)
    if len(distinct) > enough:
        distinct = distinct[rng.choice(len(distinct), enough, replace=False)]
    with threadpool_limits(limits=1):  # several threads would add partial sums in a random order
        return KMeans(num_inducing, n_init=1, random_state=0).fit(distinct).cluster_centers_
