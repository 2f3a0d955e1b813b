"""The training procedure for rows in memory, rows on disk, and regression: from problems to parameters."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from fermiclass.nimgp.estimators.checks import refuse_bytes
from fermiclass.nimgp.estimators.scaling import Scaling, mean_and_scale
from fermiclass.nimgp.estimators.start import expected_inputs, inducing_points, input_prior, schedule
from fermiclass.nimgp.estimators.weights import join_weights, part_weights
from fermiclass.nimgp.inputs.prior import InputPrior
from fermiclass.nimgp.labels import LabelTable, has_label
from fermiclass.nimgp.settings import Settings

if TYPE_CHECKING:
    from fermiclass.nimgp.model import NoisyInputGP
    from fermiclass.nimgp.training.checkpoints import Checkpoint
    from fermiclass.nimgp.training.feeds import Data
    from fermiclass.nimgp.training.loop import Schedule, TrainingState

_LOG = logging.getLogger(__name__)

_MANY_CLASSES, _ROWS_PER_CLASS = 100, 5  # with more classes, each needs this number of sources on average

Progress = Callable[["TrainingState"], None]


class LabelledRows(NamedTuple):
    """Training rows in an order that does not depend on the order of the input: X, X_var (N, D) and y (N,)."""

    X: np.ndarray
    X_var: np.ndarray
    y: np.ndarray


@dataclass(frozen=True, eq=False)
class Problem:
    """One training problem, standardised.

    Attributes
    ----------
    settings
        Settings of the model and its training.
    table
        Classes that each label stands for.
    scaling
        Mean and scale of the inputs.
    X, X_var, labels
        Inputs and variances ``(N, D)``, and labels as numbers ``(N,)``.
    Z
        Initial inducing points, ``(M, D)``.
    prior
        Prior p(x) of the noiseless inputs.
    seed
        Seed of initial values, minibatches and draws.
    temperature
        Temperature T of the predictions.
    """

    settings: Settings
    table: LabelTable
    scaling: Scaling
    X: np.ndarray
    X_var: np.ndarray
    labels: np.ndarray
    Z: np.ndarray
    prior: InputPrior
    seed: int
    temperature: float = 1.0

    @property
    def classes(self) -> np.ndarray:
        """Class labels ``(C,)``, sorted."""
        return self.table.classes


@dataclass(frozen=True, eq=False)
class Trained:
    """Result of training.

    Attributes
    ----------
    settings
        Settings of the training.
    classes
        Class labels ``(C,)``, sorted.
    scaling
        Mean and scale of the inputs.
    weights
        Parameters of the model, p(x) and temperature, by name.
    trace
        Objective during training.
    """

    settings: Settings
    classes: np.ndarray
    scaling: Scaling
    weights: Mapping[str, np.ndarray]
    trace: np.ndarray


def label_table(settings: Settings, labels: np.ndarray) -> LabelTable:
    """Return the classes that each label stands for.

    Raises
    ------
    ValueError
        When a set names a class without rows, or there are fewer than two classes.
    """
    table = LabelTable.of(labels, settings.label_sets or {}, settings.label_weights or {})
    if len(table.classes) < 2:
        raise ValueError(f"a classifier needs sources of at least two classes; found only {len(table.classes)} class")
    return table


def labelled_rows(settings: Settings, X: np.ndarray, y: np.ndarray, X_var: np.ndarray) -> LabelledRows:
    """Return the rows with a label, in an order that gives all permutations the same sums, minibatches and draws.

    Raises
    ------
    ValueError
        When y has no class labels, or there is only one class, or there are far too many.
    """
    refuse_bytes(y)
    check_classification_targets(y)
    labelled = has_label(y)
    if not np.all(labelled):
        X, y, X_var = X[labelled], y[labelled], X_var[labelled]
    table = label_table(settings, y)
    classes, labels = table.classes, table.codes(y)
    says_something = table.says_something()[labels]
    if not np.all(says_something):
        X, y, X_var, labels = X[says_something], y[says_something], X_var[says_something], labels[says_something]
    if len(classes) > _MANY_CLASSES and len(y) < _ROWS_PER_CLASS * len(classes):
        raise ValueError(
            f"{len(y)} sources of {len(classes)} classes, such as {classes[0]!r}, are too few of each to learn from: "
            f"are these labels names or measurements? Give classes of {_ROWS_PER_CLASS} sources or more on average"
        )
    order = np.lexsort((*X_var.T, *X.T, labels))
    return LabelledRows(X[order], X_var[order], y[order])


def random_seed(settings: Settings) -> int:
    """Return a seed from the random state of the settings."""
    return int(check_random_state(settings.random_state).randint(2**31 - 1))


def prepare(settings: Settings, rows: LabelledRows, seed: int, temperature: float, start: Trained | None) -> Problem:
    """Standardise labelled rows, and choose the initial values of training.

    Parameters
    ----------
    settings, rows, seed, temperature
        Parts of the problem.
    start
        Trained classifier whose scaling and inducing points are used; None for none.

    Raises
    ------
    ValueError
        When `start` has other classes.
    """
    table = label_table(settings, rows.y)
    classes, labels = table.classes, table.codes(rows.y)
    if start is not None and not np.array_equal(start.classes, classes):
        raise ValueError(
            f"a classifier of {', '.join(map(str, start.classes))} cannot be the start of one of "
            f"{', '.join(map(str, classes))}"
        )
    scaling = mean_and_scale(rows.X) if start is None else start.scaling
    X, X_var = scaling.apply(rows.X, rows.X_var, settings)
    prior = input_prior(settings, X, X_var, seed)
    X, X_var = expected_inputs(settings, prior, X, X_var)
    Z = inducing_points(settings, X, len(X), seed) if start is None else start.weights["posterior.Z"][0]
    return Problem(settings, table, scaling, X, X_var, labels, Z, prior, seed, temperature)


def maximise(
    model: NoisyInputGP,
    data: Data,
    steps: Schedule,
    *,
    start: Mapping[str, np.ndarray] | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Progress | None = None,
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Train a model in place, and return its parameters and the objective during training."""
    from fermiclass.nimgp.build import assign_weights, weights_of
    from fermiclass.nimgp.training.loop import train

    if start is not None:
        assign_weights(model, start)
    _LOG.info("training: at most %d steps", steps.steps)
    with checkpoint or nullcontext():
        for state in train(model, data, steps, checkpoint=checkpoint):
            history = state.history
            _LOG.debug("step %d of %d: objective %.6g", state.step, state.steps, np.mean(state.value))
            if progress is not None:
                progress(state)
    _LOG.info("trained: %d steps", state.step)
    return weights_of(model), history.astype(np.float64)


def train_problems(
    problems: Sequence[Problem], *, start: Sequence[Trained] | None = None, progress: Progress | None = None
) -> list[Trained]:
    """Train classifiers with the same settings. Classifiers whose arrays have the same shapes are trained at once.

    Small matrices leave a machine idle: twenty classifiers together take little longer than two. Except for rounding,
    each result is the same as from training alone. If one classifier fails, its whole group raises the jitter; if one
    diverges, its whole group starts again with a fifth of the step size.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for k, problem in enumerate(problems):
        settings, num_data = problem.settings, len(problem.labels)
        full_batch = (settings.batch_size or num_data) >= num_data
        shapes = len(problem.classes), *problem.Z.shape, len(problem.prior.weights)
        steps = schedule(settings, num_data, problem.seed).steps
        table = [b"" if part is None else part.tobytes() for part in (problem.table.sets, problem.table.weights)]
        alone = k if settings.of_gpflow else -1
        groups.setdefault((alone, *shapes, problem.seed, steps, full_batch, *table), []).append(k)
    trained: dict[int, Trained] = {}
    for members in groups.values():
        found = _train_group(
            [problems[k] for k in members], None if start is None else [start[k] for k in members], progress
        )
        trained |= dict(zip(members, found, strict=True))
    return [trained[k] for k in range(len(problems))]


def _train_group(
    problems: Sequence[Problem], start: Sequence[Trained] | None, progress: Progress | None
) -> list[Trained]:
    from fermiclass.nimgp.build import build_model, type_of
    from fermiclass.nimgp.training.feeds import TrainingData

    first = problems[0]
    if first.settings.of_gpflow:
        return [_train_alone(first, None if start is None else start[0], progress)]
    counts = np.array([len(problem.labels) for problem in problems])
    model = build_model(
        first.settings,
        np.stack([problem.Z for problem in problems]),
        num_classes=len(first.classes),
        num_data=counts,
        input_priors=[problem.prior for problem in problems],
        seed=first.seed,
        dtype=type_of(first.settings),
        labels=first.table,
    )
    data = TrainingData(
        _padded([problem.X for problem in problems]),
        _padded([problem.X_var for problem in problems]),
        _padded([problem.labels for problem in problems]),
        counts,
    )
    weights, trace = maximise(
        model,
        data,
        schedule(first.settings, int(counts[0]), first.seed),
        start=None if start is None else _stacked(start),
        progress=progress,
    )
    return [
        finished(problem, {name: values[k] for name, values in weights.items()}, trace[:, k])
        for k, problem in enumerate(problems)
    ]


def _train_alone(problem: Problem, start: Trained | None, progress: Progress | None) -> Trained:
    """Train one classifier whose kernel or likelihood is an object of GPflow, which knows one model only."""
    from fermiclass.nimgp.build import build_model, type_of
    from fermiclass.nimgp.training.feeds import TrainingData

    settings, num_data = problem.settings, len(problem.labels)
    model = build_model(
        settings,
        problem.Z,
        num_classes=len(problem.classes),
        num_data=num_data,
        input_priors=[problem.prior],
        seed=problem.seed,
        dtype=type_of(settings),
        labels=problem.table,
    )
    weights, trace = maximise(
        model,
        TrainingData(problem.X, problem.X_var, problem.labels),
        schedule(settings, num_data, problem.seed),
        start=None if start is None else part_weights(start.weights)[0],
        progress=progress,
    )
    return finished(problem, weights, trace)


def finished(problem: Problem, weights: Mapping[str, np.ndarray], trace: np.ndarray) -> Trained:
    """Return the result of training on a problem."""
    joined = join_weights(weights, problem.prior, problem.temperature)
    return Trained(problem.settings, problem.classes, problem.scaling, joined, trace)


def check_start(settings: Settings, start: Trained) -> None:
    """Check that training with these settings can start from the parameters of another model.

    Raises
    ------
    ValueError
        When the other is a model of another kind.
    """
    for name in ("method", "likelihood", "kernel", "noise"):
        theirs, ours = getattr(start.settings, name), getattr(settings, name)
        if theirs != ours and isinstance(theirs, str) and isinstance(ours, str):  # clones have other objects
            raise ValueError(f"a classifier with {name}={theirs!r} cannot be the start of one with {name}={ours!r}")


def at_temperature(trained: Trained, temperature: float) -> Trained:
    """Return the same result with another temperature."""
    return replace(trained, weights={**trained.weights, "temperature": np.array(float(temperature))})


def _stacked(start: Sequence[Trained]) -> dict[str, Any]:
    models = [part_weights(one.weights)[0] for one in start]
    return {name: np.stack([model[name] for model in models]) for name in models[0]}


def _padded(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Stack arrays; copies of the last row fill up the shorter ones."""
    longest = max(len(array) for array in arrays)
    return np.stack([np.pad(a, [(0, longest - len(a))] + [(0, 0)] * (a.ndim - 1), mode="edge") for a in arrays])
