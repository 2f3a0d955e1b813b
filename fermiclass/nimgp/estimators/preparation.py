"""Preparation of training: from what users give to labelled rows, standardised inputs, p(x) and inducing points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.cluster import KMeans
from sklearn.utils import check_array, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data
from threadpoolctl import threadpool_limits

from fermiclass.nimgp.arrays import mean_and_scale, without_outliers
from fermiclass.nimgp.estimators.fitted import Scaling
from fermiclass.nimgp.inputs.prior import InputPrior
from fermiclass.nimgp.label_sets import LabelTable, has_label
from fermiclass.nimgp.names import AVERAGING, FIRST_ORDER
from fermiclass.nimgp.outputs import Outputs
from fermiclass.nimgp.settings import FOLDS, Settings
from fermiclass.nimgp.validation import align_columns, part_frame

_MAX_BY_FRACTION = 100
_ENOUGH = 20_000  # number of rows for k-means; more rows take longer and hardly improve the centres

Check = Callable[..., np.ndarray]  #: A check of X_var for X ``(N, D)``, zeros for None.


def check_variances(X: np.ndarray, X_var: Any, *, ensure_all_finite: bool | str = True) -> np.ndarray:
    """Return the variances of X; None means zeros.

    Raises ValueError when their shape differs from the shape of X, a variance is negative, or as `check_array` where it
    is not finite.
    """
    if X_var is None:
        return np.zeros_like(X)
    X_var = check_array(X_var, dtype=np.float64, order="C", input_name="X_var", ensure_all_finite=ensure_all_finite)
    if X_var.shape != X.shape:
        raise ValueError(f"X_var has shape {X_var.shape}, X has {X.shape}: every value of X needs its variance")
    if np.any(X_var < 0):
        row, column = np.argwhere(X_var < 0)[0]
        raise ValueError(f"X_var is negative in row {row}, column {column}: variances are zero or positive")
    return X_var


def refuse_rescaled(X: np.ndarray, X_var: np.ndarray, *, as_columns: bool) -> None:
    """Raise ValueError when values ``X`` (N, D) seem to be rescaled, and their variances not, or by themselves.

    Values are then standardised, or go up to 1. Where errors were columns beside the values, a step such as
    MinMaxScaler may have rescaled them too.
    """
    values = np.ma.masked_invalid(X)
    mean, std, largest, most = (
        values.mean(axis=0),
        values.std(axis=0),
        np.abs(values).max(axis=0),
        np.fmax.reduce(X_var, axis=0),
    )
    standard = np.ma.allclose(mean, 0.0, atol=1e-9) and np.ma.allclose(std, std > 0.5, atol=1e-9)  # or constant
    to_one = as_columns and np.ma.allclose(largest, largest > 0.5) and np.ma.allclose(most, most > 0.5)
    if to_one or (standard and (np.any(np.mean(X_var > 1.0, axis=0) > 0.5) or (as_columns and not np.any(X_var)))):
        raise ValueError(
            "X was rescaled, and its errors were not, or by themselves: does a step before rescale the columns? "
            "The estimator standardises values and errors itself, leave such a step out"
        )


def training_rows(
    estimator: Any, X: Any, X_var: Any, y: Any, *, y_var: Any = None, check: Check = check_variances, **options: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values, variances and labels of training rows: a frame that has both or X and X_var, with aligned columns.

    The estimator keeps the names of the columns of standard deviations as ``uncertainties_in_``. `options` are for
    :func:`sklearn.utils.validation.validate_data`. Raises ValueError as this, `check`, :func:`part_frame`,
    :func:`align_columns` and :func:`refuse_rescaled`.
    """
    X, X_var, errors = part_frame(X, X_var)
    estimator.uncertainties_in_ = errors
    X_var = align_columns(X, X_var, y=y, y_var=y_var)
    if X_var is not None and np.shape(X_var) == np.shape(X) and np.size(X):
        refuse_rescaled(np.asarray(X, np.float64), np.asarray(X_var, np.float64), as_columns=bool(errors))
    X, y = validate_data(estimator, X, y, dtype=np.float64, order="C", **options)
    return X, check(X, X_var, **_finiteness(options)), y


def new_rows(
    estimator: Any, X: Any, X_var: Any, *, check: Check = check_variances, **options: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return values and variances of new rows as :func:`training_rows`, with columns in the order of X's.

    Raises ValueError when names differ; when columns of standard deviations are missing that the training had; or when
    variances are missing though scikit-learn was asked to pass them to `fit`: then what it calls next, such as
    ``cross_val_predict``, has lost them.
    """
    given = X_var is not None
    X, X_var, errors = part_frame(X, X_var)
    missing = [name for name in getattr(estimator, "uncertainties_in_", ()) if name not in errors]
    if missing and not given:
        raise ValueError(f"X lacks {', '.join(missing)}, which the training had: give it, or zeros for exact values")
    if X_var is None and get_config()["enable_metadata_routing"]:
        requested = estimator.get_metadata_routing().fit.requests.get("X_var")
        if requested not in (None, False):
            raise ValueError(
                "X_var is requested in fit, but did not come to the prediction. cross_val_predict and scorers pass "
                "none on: give X as a frame with columns Unc_x, or predict with X_var, zeros for exact inputs"
            )
    X_var = align_columns(X, X_var, features=getattr(estimator, "feature_names_in_", None))
    X = validate_data(estimator, X, dtype=np.float64, order="C", reset=False, **options)
    return X, check(X, X_var, **_finiteness(options))


def _finiteness(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the option by which NaN in X, and then in X_var too, is allowed."""
    return {name: option for name, option in options.items() if name == "ensure_all_finite"}


class Rows(NamedTuple):
    """Training rows in an order that does not depend on the order of the input."""

    #: Inputs without outliers and their variances ``(N, D)``, and labels as numbers or standardised outputs ``(N,)``.
    X: np.ndarray
    X_var: np.ndarray
    y: np.ndarray
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
    temperature: float


def labelled_rows(
    settings: Settings,
    X: np.ndarray,
    X_var: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None = None,
    names: Sequence[str] | None = None,
) -> Rows:
    """Return the rows with a label and a weight, in an order that gives all permutations the same sums and draws.

    `names` of the features are for warnings of outliers. Labels that may stand for every class count as none.

    Raises ValueError as :meth:`LabelTable.of`, or when a feature has no value, or y no class labels.
    """
    weight = np.ones(len(y)) if weight is None else weight
    used = np.flatnonzero(has_label(y) & (weight > 0))
    check_classification_targets(y)
    table = LabelTable.of(y[used], settings.label_sets)
    used = used[np.isin(y[used], table.names)]
    codes = table.codes(y[used])
    weight = weight[used]
    if settings.label_weights:
        weight = weight * table.weights(codes, settings.label_weights)
    order = np.lexsort((*X_var[used].T, *X[used].T, -weight, codes))
    rows, codes, weight = used[order], codes[order], weight[order]
    X, X_var = X[rows], X_var[rows]
    return Rows(_usual(X, names), X_var, codes, table, weight)


def _usual(X: np.ndarray, names: Sequence[str] | None) -> np.ndarray:
    """Return training rows without outliers. Raises ValueError when a feature has no value."""
    if np.any(nowhere := np.isnan(X).all(axis=0)):
        raise ValueError(f"feature {np.argmax(nowhere)} (counted from 0) is NaN in every row: leave it out")
    return without_outliers(X, names)


def measured_rows(
    settings: Settings, X: np.ndarray, X_var: np.ndarray, y: np.ndarray, names: Sequence[str] | None = None
) -> Rows:
    """Return rows with outputs, in an order as :func:`labelled_rows`. Raises ValueError as :meth:`Outputs.of`."""
    order = np.lexsort((*X_var.T, *X.T, y))
    X, X_var, y = X[order], X_var[order], y[order]
    outputs = Outputs.of(settings.likelihood, y)
    return Rows(_usual(X, names), X_var, (y - outputs.mean) / outputs.scale, outputs)


def random_seed(settings: Settings) -> int:
    """Return a seed from the random state of the settings."""
    return int(check_random_state(settings.random_state).randint(2**31 - 1))


def prepare(settings: Settings, rows: Rows, *, scaling: Scaling | None = None, Z: np.ndarray | None = None) -> Prepared:
    """Standardise rows, and choose initial values of training; `scaling` and `Z` may be those of another."""
    seed = random_seed(settings)
    scaling = Scaling.of(*mean_and_scale(rows.X), rows.X_var) if scaling is None else scaling
    X, X_var = scaling.apply(rows.X, rows.X_var, settings)
    prior = input_prior(settings, X, X_var, seed)
    if settings.expected_inputs:
        X, X_var = prior.moments(X, X_var)
    Z = inducing_points(settings, X, len(X), seed) if Z is None else Z
    temperature = 1.0 if settings.temperature == FOLDS else float(settings.temperature)
    return Prepared(settings, rows.target, scaling, X, X_var, Z, prior, len(X), seed, temperature)


def input_prior(settings: Settings, X: np.ndarray, X_var: np.ndarray, seed: int) -> InputPrior:
    """Return p(x) for standardised inputs. Methods without p(x) get the isotropic one, which costs nothing."""
    options = settings.inputs
    if options.prior == "isotropic" or settings.method not in (*AVERAGING, *FIRST_ORDER):
        return InputPrior.isotropic(X.shape[1], np.inf if options.prior_variance is None else options.prior_variance)
    components = options.components if options.prior == "mixture" else 1
    return InputPrior.population(X, X_var, components=components, seed=seed).widened(options.prior_variance)


def inducing_points(settings: Settings, X: np.ndarray, num_data: int, seed: int) -> np.ndarray:
    """Return initial inducing points ``(M, D)`` that represent ``X`` (n, D), where duplicates count once.

    `num_data` is the number of training sources. The choice 'kmeans' gives cluster centres of at most 20,000 random
    rows, the same for any seed if there are fewer, and 'random' a random subset of the rows.
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
    with threadpool_limits(limits=1):  # several threads would add partial sums in a random order
        return KMeans(number, n_init=1, random_state=0).fit(distinct).cluster_centers_
