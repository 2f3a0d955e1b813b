"""Methods: each is a name and a function that returns class probabilities for the sources of a split."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fermiclass.catalog import CLASS_TREE, NATURES, Catalog, ClassGrouping
from fermiclass.catalog.classes import CODE_NATURES
from fermiclass.evaluation.baselines import BaselineClassifier, available_baselines
from fermiclass.features import FeatureTable
from fermiclass.io.arrays import FloatArray
from fermiclass.labelling.class_priors import default_class_priors
from fermiclass.labelling.training import default_estimator, train

if TYPE_CHECKING:
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

#: Suffix of the name of a baseline that gets the uncertainties as extra features.
UNCERTAINTIES_SUFFIX = "+unc"

#: Features of the baselines in the open world: what published work uses, without coordinates.
OPEN_BASELINE_FEATURES = "extended"

#: What the baselines learn in the open world, in two trainings: the groups, and the types of AGN.
OPEN_BASELINE_GROUPS = f"agn={'+'.join(code for code in CLASS_TREE['agn'] if code != 'bcu')},psr,other"
OPEN_BASELINE_TYPES = "bll,fsrq"


@dataclass(frozen=True, eq=False)
class Split:
    """Sources to learn from, and sources to predict.

    Attributes
    ----------
    catalog
        The catalogue of both, N sources.
    learn
        (N,) mask of the sources that may be learned from, with and without a class.
    rows
        (n,) indices of the sources to predict.
    features, grouping, min_significance
        What is learned: as for :func:`fermiclass.labelling.training.train`.
    open_world
        Whether the classes are :data:`fermiclass.catalog.NATURES`, as in the open world, and not the grouping's.
    class_priors
        Class priors of the sources to predict, as for :meth:`CatalogModel.label`; None for those of ``classify``.
    extract
        Function of features and classes that returns the features of all N sources.
    """

    catalog: Catalog
    learn: NDArray[np.bool_]
    rows: NDArray[np.intp]
    features: str
    grouping: ClassGrouping
    min_significance: float | None
    open_world: bool
    class_priors: str | None
    extract: Callable[[str, str], FeatureTable]


@dataclass(frozen=True, eq=False)
class Method:
    """A method that can be evaluated.

    Attributes
    ----------
    name
        The name, unique among the methods of an evaluation.
    predict
        Function of a split that returns probabilities ``(n, C)``: of the grouping's classes, or in the open world of
        :data:`fermiclass.catalog.NATURES`.
    is_baseline
        Whether the other methods are compared with it.
    as_trained
        Whether its class priors are those of the training, so that a protocol may correct them.
    settings
        Settings to write beside the results.
    """

    name: str
    predict: Callable[[Split], FloatArray]
    is_baseline: bool = False
    as_trained: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)


def default_method(name: str = "default", *, seed: int = 0, **settings: Any) -> Method:
    """Return the model with which ``classify`` labels, with its classes and class priors; `settings` are changes."""
    return model_method(name, default_estimator(random_state=seed, **settings))


def model_method(name: str, estimator: NIMGPClassifier) -> Method:
    """Return what trains an estimator and labels as ``classify`` does."""

    def predict(split: Split) -> FloatArray:
        learned = split.catalog if split.learn.all() else split.catalog[split.learn]
        classes = str(split.grouping)
        model = train(
            learned, estimator, features=split.features, classes=classes, min_significance=split.min_significance
        )
        priors = split.class_priors or default_class_priors(split.grouping)
        labels = model.label(split.catalog[split.rows], "all", class_priors=priors)
        p = np.stack([np.asarray(labels[f"P_{each}"], float) for each in split.grouping.names], axis=1)
        return p @ open_classes(split.grouping) if split.open_world else p

    return Method(name, predict, as_trained=False, settings=estimator.get_params())


def estimator_method(name: str, estimator: Any, *, is_baseline: bool = False) -> Method:
    """Return any estimator with ``fit(X, y, *, X_var)`` and ``predict_proba(X, *, X_var)`` as a method.

    It learns from the sources of one class, and its class priors are those of the training. It is copied, not changed.
    """

    def predict(split: Split) -> FloatArray:
        p = _fit_and_predict(estimator, split, split.features, str(split.grouping))
        return p @ open_classes(split.grouping) if split.open_world else p

    return Method(name, predict, is_baseline, settings=estimator.get_params())


def baseline_method(name: str, seed: int = 0) -> Method:
    """Return a baseline as a method.

    The name is one of ``BASELINES``. If it ends in `UNCERTAINTIES_SUFFIX`, the uncertainties are features too. In the
    open world a baseline learns AGN (without bcu), pulsars and others from `OPEN_BASELINE_FEATURES`, and bll against
    fsrq apart.

    Raises
    ------
    ValueError
        When there is no such baseline, or its package is not installed.
    """
    baseline = name.removesuffix(UNCERTAINTIES_SUFFIX)
    if baseline not in available_baselines():
        raise ValueError(
            f"no baseline '{baseline}': available are {', '.join(available_baselines())}, each also with "
            f"'{UNCERTAINTIES_SUFFIX}' (xgboost and catboost where the package is installed)"
        )
    estimator = BaselineClassifier(baseline, uncertainties=name != baseline, seed=seed)
    plain = estimator_method(name, estimator, is_baseline=True)

    def predict(split: Split) -> FloatArray:
        if not split.open_world:
            return plain.predict(split)
        of_group, of_type = (
            _fit_and_predict(estimator, split, OPEN_BASELINE_FEATURES, classes)
            for classes in (OPEN_BASELINE_GROUPS, OPEN_BASELINE_TYPES)
        )
        of_kind = of_group[:, 1:2] * (0.5, 0.5)
        return np.hstack([of_group[:, :1] * of_type, of_kind, of_group[:, 2:]])

    return Method(name, predict, is_baseline=True, settings=plain.settings)


def baseline_methods(names: Iterable[str] | None = None, *, seed: int = 0) -> list[Method]:
    """Return several baselines as methods, by default all that are installed."""
    return [baseline_method(name, seed) for name in (available_baselines() if names is None else names)]


def open_classes(grouping: ClassGrouping) -> FloatArray:
    """Return the matrix ``(C, 5)`` that sums the probabilities of a grouping to those of :data:`NATURES`.

    A class with several natures counts equally as each: AGN that are neither bll nor fsrq, pulsars of both kinds.
    """
    matrix = np.zeros((len(grouping.names), len(NATURES)))
    for c, name in enumerate(grouping.names):
        natures = [CODE_NATURES.get(code, ("other",)) for code in grouping.members[name]]
        clear = {each[0] for each in natures if len(each) == 1} or set().union(*natures)
        matrix[c] = np.isin(NATURES, list(clear)) / len(clear)
    return matrix


def _fit_and_predict(estimator: Any, split: Split, features: str, classes: str) -> FloatArray:
    """Return probabilities ``(n, C)`` of the classes in their order; 0 for a class without training sources."""
    table, names = split.extract(features, classes), ClassGrouping.parse(classes).names
    learn = split.learn & np.isin(table.y, names)
    if split.min_significance is not None:
        learn &= np.asarray(split.catalog.table["Signif_Avg"], float) > split.min_significance
    fitted = clone(estimator).fit(table.X[learn], table.y[learn], X_var=table.X_var[learn])
    p = np.asarray(fitted.predict_proba(table.X[split.rows], X_var=table.X_var[split.rows]), dtype=np.float64)
    ordered = np.zeros((len(split.rows), len(names)))
    for k, name in enumerate(fitted.classes_):
        ordered[:, names.index(str(name))] = p[:, k]
    return ordered
