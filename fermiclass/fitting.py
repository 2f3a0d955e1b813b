"""Training of classifiers, one or many at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from fermiclass.estimator_settings import (
    TEMPERATURE,
    check_parameters,
    check_variances,
    expected_inputs,
    input_prior,
    mean_and_scale,
    model_settings,
    num_inducing_points,
    num_steps,
    standardise,
    tensor_type,
    training_settings,
    written_prior,
)
from fermiclass.nimgp.inducing import initial_inducing_points
from fermiclass.nimgp.input_prior import InputPrior

if TYPE_CHECKING:
    from fermiclass.estimators import NIMGPClassifier
    from fermiclass.nimgp.training import TrainingState

_MANY_CLASSES, _ROWS_PER_CLASS = 100, 5  # more classes than the first need sources of each

Progress = Callable[["TrainingState"], None]


class Prepared(NamedTuple):
    """One training problem, standardised: ``(N, D)``, ``(N, D)``, ``(N,)``, ``(M, D)``, and what goes with it."""

    X: np.ndarray
    X_var: np.ndarray
    labels: np.ndarray
    Z: np.ndarray
    prior: InputPrior
    seed: int
    temperature: float


def fit_many(
    estimator: NIMGPClassifier,
    data: Sequence[tuple[Any, Any, Any]],
    *,
    start: Sequence[NIMGPClassifier] | None = None,
    progress: Progress | None = None,
) -> list[NIMGPClassifier]:
    """Train copies of a classifier on several data sets at once, such as the splits of one.

    Small matrices leave a machine idle: trained together, twenty take little longer than two. Each copy is what
    ``fit`` alone would make of it, but for rounding, and where the training of one fails: then all of its group raise
    the jitter or, if it diverges, start again with a fifth of the step size.

    Parameters
    ----------
    estimator
        Its settings; it is left as it is.
    data
        ``(X, y, X_var)`` for each copy; see :meth:`fermiclass.estimators.NIMGPClassifier.fit`.
    start
        Trained classifiers, one for each data set, whose parameters and standardisation to start from.
    progress
        Called with the state of training every few steps.

    Returns
    -------
    list of NIMGPClassifier
        In the order of `data`.

    Raises
    ------
    ValueError
        As by ``fit``.
    """
    copies = [clone(estimator) for _ in data]
    if start is not None:
        _check_start(estimator, start)
    prepared = []
    for k, (copy, (X, y, X_var)) in enumerate(zip(copies, data, strict=True)):
        X, y = validate_data(copy, X, y, dtype=np.float64)
        prepared.append(prepare(copy, X, y, X_var, start=None if start is None else start[k]))
    train_together(copies, prepared, progress, start)
    return copies


def prepare(
    estimator: NIMGPClassifier, X: np.ndarray, y: np.ndarray, X_var: Any, *, start: NIMGPClassifier | None = None
) -> Prepared:
    """Check and standardise training data; the estimator learns classes, means and scales."""
    check_parameters(estimator)
    model_settings(estimator)  # checks the names
    check_classification_targets(y)
    X_var = check_variances(X, X_var)
    if y.dtype.kind in "UO" and np.any(y == ""):
        labelled = y != ""
        X, y, X_var = X[labelled], y[labelled], X_var[labelled]
    # One order for all permutations of the same rows, so that sums, minibatches and draws are the same, bit by bit.
    order = np.lexsort((*X_var.T, *X.T, np.unique(y, return_inverse=True)[1]))
    X, y, X_var = X[order], y[order], X_var[order]
    estimator.classes_, labels = np.unique(y, return_inverse=True)
    if len(estimator.classes_) < 2:
        raise ValueError(
            f"a classifier needs sources of at least two classes; found only {len(estimator.classes_)} class"
        )
    if len(estimator.classes_) > _MANY_CLASSES and len(y) < _ROWS_PER_CLASS * len(estimator.classes_):
        raise ValueError(
            f"{len(y)} sources of {len(estimator.classes_)} classes, such as {estimator.classes_[0]!r}, are too few of "
            f"each to learn from: are these labels names or measurements? Give classes of {_ROWS_PER_CLASS} sources or "
            "more on average"
        )
    seed = int(check_random_state(estimator.random_state).randint(2**31 - 1))
    temperature = estimator.temperature
    if temperature == "folds":
        from fermiclass.calibration import fold_temperature

        temperature = fold_temperature(estimator, X, y, X_var, seed=seed)
    if start is not None and not np.array_equal(start.classes_, estimator.classes_):
        raise ValueError(
            f"a classifier of {', '.join(map(str, start.classes_))} cannot be the start of one of "
            f"{', '.join(map(str, estimator.classes_))}"
        )
    if start is None:
        estimator.mean_, estimator.scale_ = mean_and_scale(X)
    else:
        estimator.mean_, estimator.scale_ = start.mean_, start.scale_
    X, X_var = standardise(estimator, X, X_var)
    prior = input_prior(estimator, X, X_var, seed)
    X, X_var = expected_inputs(estimator, prior, X, X_var)
    if start is None:
        Z = initial_inducing_points(
            X, num_inducing_points(estimator, len(X)), estimator.inducing, np.random.default_rng(seed)
        )
    else:
        Z = start.weights_["posterior.Z"][0]
    return Prepared(X, X_var, labels, Z, prior, seed, float(temperature))


def _check_start(estimator: NIMGPClassifier, start: Sequence[NIMGPClassifier]) -> None:
    """Raise ValueError unless the parameters of `start` are those of such a model."""
    for one in start:
        for name in ("method", "likelihood", "kernel", "noise", "degree"):
            theirs, ours = getattr(one, name), getattr(estimator, name)
            if theirs != ours:
                raise ValueError(f"a classifier with {name}={theirs!r} cannot be the start of one with {name}={ours!r}")


def train_together(
    estimators: Sequence[NIMGPClassifier],
    prepared: Sequence[Prepared],
    progress: Progress | None = None,
    start: Sequence[NIMGPClassifier] | None = None,
) -> None:
    """Train estimators of the same settings, each on its own data; those whose arrays fit each other at once."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for k, (estimator, problem) in enumerate(zip(estimators, prepared, strict=True)):
        alone = k if estimator.patience is not None else -1  # each is to stop when its own bound does
        shapes = len(estimator.classes_), *problem.Z.shape, len(problem.prior.weights)
        num_data = len(problem.labels)
        full_batch = (estimator.batch_size or num_data) >= num_data
        sizes = (alone, *shapes, problem.seed, num_steps(estimator, num_data), full_batch)
        groups.setdefault(sizes, []).append(k)
    for members in groups.values():
        _train_group(
            [estimators[k] for k in members],
            [prepared[k] for k in members],
            progress,
            None if start is None else [start[k] for k in members],
        )


def _train_group(
    estimators: Sequence[NIMGPClassifier],
    problems: Sequence[Prepared],
    progress: Progress | None,
    start: Sequence[NIMGPClassifier] | None,
) -> None:
    from fermiclass.nimgp.build import assign_weights, build_model, weights_of
    from fermiclass.nimgp.feeds import TrainingData
    from fermiclass.nimgp.training import train

    first = estimators[0]
    counts = np.array([len(problem.labels) for problem in problems])
    model = build_model(
        model_settings(first),
        np.stack([problem.Z for problem in problems]),
        num_classes=len(first.classes_),
        num_data=counts,
        input_priors=[problem.prior for problem in problems],
        seed=problems[0].seed,
        dtype=tensor_type(first.precision),
    )
    if start is not None:
        names = weights_of(model)
        assign_weights(model, {name: np.stack([one.weights_[name] for one in start]) for name in names})
    data = TrainingData(
        _padded([problem.X for problem in problems]),
        _padded([problem.X_var for problem in problems]),
        _padded([problem.labels for problem in problems]),
        counts,
    )
    schedule = training_settings(first, counts[0], problems[0].seed)
    for state in train(model, data, schedule):
        history = state.history
        if progress is not None:
            progress(state)
    weights, bounds = weights_of(model), history.astype(np.float64)
    for k, (estimator, problem) in enumerate(zip(estimators, problems, strict=True)):
        estimator.elbo_ = bounds[:, k]
        own = {name: values[k] for name, values in weights.items()}
        estimator.restore(own | written_prior(problem.prior) | {TEMPERATURE: np.array(problem.temperature)})


def _padded(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Stack arrays, shorter ones filled up with copies of their last row."""
    longest = max(len(array) for array in arrays)
    return np.stack([np.pad(a, [(0, longest - len(a))] + [(0, 0)] * (a.ndim - 1), mode="edge") for a in arrays])
