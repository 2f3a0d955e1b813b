"""Methods: each is a name and a function that returns class probabilities for the sources of a split."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fermiclass.catalog import CLASS_TREE, NATURES, Catalog, ClassGrouping, has_two_kinds
from fermiclass.catalog.classes import CHANCE_CODES, CODE_NATURES
from fermiclass.evaluation.baselines import BASELINES, BaselineClassifier, available_baselines
from fermiclass.features import FeatureTable
from fermiclass.io import FloatArray
from fermiclass.labelling.associations import of_release
from fermiclass.labelling.recipe import Recipe
from fermiclass.labelling.training import train
from fermiclass.nimgp.settings import Settings

UNCERTAINTIES_SUFFIX = "+unc"  #: Suffix of the name of a baseline that gets the uncertainties as extra features.

_AGN = f"agn={'+'.join(code for code in CLASS_TREE['agn'] if code != 'bcu')}"
_CLEAR = f"other={'+'.join(code for code, natures in CODE_NATURES.items() if natures == ('other',))}"
_SPIDERS = [code for code, natures in CODE_NATURES.items() if natures == ("msp", "other") and code not in CHANCE_CODES]

#: What the baselines learn in the open world, by suffix: each class code at face value; without codes that may be a
#: pulsar or another source; and with binaries and globular clusters as pulsars, without ``spp``.
OPEN_TRAININGS: Mapping[str, str] = {
    "": f"{_AGN},psr,other",
    ":clear": f"{_AGN},psr,{_CLEAR}",
    ":spiders": f"{_AGN},psr={'+'.join([*CLASS_TREE['pulsar'], *_SPIDERS])},{_CLEAR}",
}

#: Features of the baselines in the open world, by suffix: what published work uses without coordinates, those of the
#: default, and :func:`peak_features`.
OPEN_INPUTS: Mapping[str, str] = {"": "extended", "+gas": "gas", "-four": ""}

_OF_FOUR = ("svm", "mlps")  #: Baselines that have the features of the suffix ``-four``, too.

_NAME = re.compile(
    f"({'|'.join(BASELINES)})({re.escape(UNCERTAINTIES_SUFFIX)})?"
    f"(({'|'.join(map(re.escape, filter(None, OPEN_INPUTS)))})?({'|'.join(filter(None, OPEN_TRAININGS))})?)"
)


@dataclass(frozen=True, eq=False)
class Split:
    """Sources to learn from, and sources to predict."""

    catalog: Catalog  #: The catalogue of both, N sources.
    learn: NDArray[np.bool_]  #: (N,) mask of the sources that may be learned from, with and without a class.
    rows: NDArray[np.intp]  #: (n,) indices of the sources to predict.
    recipe: Recipe  #: What is learned, with its classes written out. Methods have settings of their own.
    #: Whether the classes are :data:`fermiclass.catalog.NATURES`, as in the open world, and not the grouping's.
    open_world: bool
    extract: Callable[[str, str], FeatureTable]  #: Features of all N sources, by features and classes.

    @property
    def grouping(self) -> ClassGrouping:
        """The classes that are learned."""
        return self.catalog.grouping(self.recipe.classes)


@dataclass(frozen=True, eq=False)
class Method:
    """A method that can be evaluated."""

    name: str  #: Unique among the methods of an evaluation.
    #: Function of a split that returns probabilities ``(n, C)``: of the grouping's classes, or in the open world of
    #: :data:`fermiclass.catalog.NATURES`.
    predict: Callable[[Split], FloatArray]
    is_baseline: bool = False  #: Whether the other methods are compared with it.
    as_trained: bool = True  #: Whether its class priors are those of the training, whatever the recipe says.
    settings: Mapping[str, Any] = field(default_factory=dict)  #: Settings to write beside the results.
    variant: str = ""  #: Suffix of the name of a baseline that says what it learns in the open world.


def default_method(name: str = "default", *, seed: int = 0, **settings: Any) -> Method:
    """Return the model with which ``classify`` labels, with its classes and class priors; `settings` are changes."""
    return model_method(name, Recipe().with_settings(random_state=seed, **settings).settings)


def model_method(name: str, settings: Settings) -> Method:
    """Return what trains a classifier with these settings and labels as ``classify`` does."""

    def predict(split: Split) -> FloatArray:
        learned = split.catalog if split.learn.all() else split.catalog[split.learn]
        model = train(learned, recipe=replace(split.recipe, settings=settings))
        labels = model.label(split.catalog[split.rows], "all")
        p = np.stack([np.asarray(labels[f"P_{each}"], float) for each in split.grouping.names], axis=1)
        return p @ open_classes(split.grouping) if split.open_world else p

    return Method(name, predict, as_trained=False, settings=settings.params())


def estimator_method(name: str, estimator: Any, *, is_baseline: bool = False) -> Method:
    """Return any estimator with ``fit(X, y, *, X_var)`` and ``predict_proba(X, *, X_var)`` as a method.

    It learns from the sources of one class, and its class priors are those of the training. It is copied, not changed.
    """

    def predict(split: Split) -> FloatArray:
        p = _fit_and_predict(estimator, split, split.recipe.features, str(split.grouping))
        return p @ open_classes(split.grouping) if split.open_world else p

    return Method(name, predict, is_baseline, settings=estimator.get_params())


def is_baseline(name: str) -> bool:
    """Return whether a name is that of a baseline which is installed, with or without suffixes."""
    parts = _NAME.fullmatch(name)
    return parts is not None and parts[1] in available_baselines()


def factors_of(sources: Catalog, grouping: ClassGrouping) -> FloatArray | None:
    """Return the factors by which the default multiplies the probabilities of :data:`NATURES`, ``(n, 5)``, if known.

    They are those of selection, CLASS2 and claims, with the default classes of the catalogue as `grouping`.
    """
    if (known := of_release(sources.release.name)) is None:
        return None
    names = [name for name in NATURES if name in grouping.names]
    found = known.selection.ratios(sources, grouping, names) * known.second.factors(sources, grouping, names)
    found *= known.claims.factors(sources, grouping, names)
    return np.asarray(found[:, [names.index(name if name in names else "psr") for name in NATURES]])


def open_baselines() -> list[str]:
    """Return the names of all baselines in the open world: each with each features and in each training."""
    return [
        f"{name}{inputs}{training}"
        for training in OPEN_TRAININGS
        for inputs in OPEN_INPUTS
        for name in (available_baselines() if OPEN_INPUTS[inputs] else _OF_FOUR)
    ]


def baseline_method(name: str, seed: int = 0) -> Method:
    """Return a baseline as a method; `name` is one of ``BASELINES``, and ``+unc`` if uncertainties are features too.

    In the open world a baseline learns AGN (without bcu), pulsars and others; and by themselves bll against fsrq, and
    psr against msp where the catalogue tells them apart. Suffixes of `OPEN_INPUTS` and then of `OPEN_TRAININGS` say
    from what: ``'forest+gas:spiders'``. Raises ValueError when there is no such baseline.
    """
    return baseline_methods([name], seed=seed)[0]


def baseline_methods(names: Iterable[str] | None = None, *, seed: int = 0) -> list[Method]:
    """Return several baselines as methods, by default all that are installed, without suffixes."""

    @functools.cache  # what tells bll from fsrq is the same in all trainings
    def learned(baseline: str, uncertainties: bool, *what: Any) -> FloatArray:
        return _fit_and_predict(BaselineClassifier(baseline, uncertainties=uncertainties, seed=seed), *what)

    return [_baseline_method(name, seed, learned) for name in (available_baselines() if names is None else names)]


def _baseline_method(name: str, seed: int, learned: Callable[..., FloatArray]) -> Method:
    parts = _NAME.fullmatch(name)
    if parts is None or not is_baseline(name):
        raise ValueError(
            f"no baseline '{name}': available are {', '.join(available_baselines())} (xgboost, catboost and realmlp "
            f"where the package is installed), each also with {UNCERTAINTIES_SUFFIX} and "
            f"{', '.join(filter(None, (*OPEN_INPUTS, *OPEN_TRAININGS)))}"
        )
    baseline, uncertainties, variant, inputs, training = parts.groups(default="")
    estimator = BaselineClassifier(baseline, uncertainties=bool(uncertainties), seed=seed)
    plain = estimator_method(name, estimator, is_baseline=True)

    def predict(split: Split) -> FloatArray:
        if not split.open_world:
            if variant:
                raise ValueError(f"the baseline '{name}' is for the open world: give '{baseline}'")
            return plain.predict(split)
        given = (baseline, bool(uncertainties), split, OPEN_INPUTS[inputs])
        of_group, of_type = learned(*given, OPEN_TRAININGS[training]), learned(*given, "bll,fsrq")
        of_kind = learned(*given, "psr,msp") if has_two_kinds(split.catalog.classes) else np.array([[0.5, 0.5]])
        return np.hstack([of_group[:, :1] * of_type, of_group[:, 1:2] * of_kind, of_group[:, 2:]])

    return Method(name, predict, is_baseline=True, settings=plain.settings, variant=uncertainties + variant)


def peak_features(catalog: Catalog) -> FloatArray:
    """Return the four features of the published lists of the University of Washington, ``(N, 4)``.

    log10 of Variability_Index, of the peak of E² dN/dE = E² K (E/E₀)^(−α − β ln(E/E₀)) in MeV cm⁻² s⁻¹, and of its
    energy E₀ exp((2 − α)/2β) in GeV, from 0.1 to 1000; and the curvature 2β, from −0.1 to 2 (T. Burnett, the repository
    tburnett/srcpop). The median stands for a missing value, and 0 for a feature that no source has, as in 3FGL.
    """
    pivot, K, alpha, beta, variability = (
        catalog.column(name) for name in ("Pivot_Energy", "LP_Flux_Density", "LP_Index", "LP_beta", "Variability_Index")
    )
    with np.errstate(all="ignore"):
        peak = np.clip(pivot * np.exp((2.0 - alpha) / (2.0 * np.maximum(beta, 1e-3))), 1e2, 1e6)
        x = np.log(peak / pivot)
        flux = np.log10(peak**2 * K) - (alpha + beta * x) * x / np.log(10.0)
        found = np.stack([np.log10(variability), flux, np.log10(peak / 1e3), np.clip(2.0 * beta, -0.1, 2.0)], axis=1)
    found[~np.isfinite(found)] = np.nan
    found[:, np.isnan(found).all(axis=0)] = 0.0
    return np.asarray(np.where(np.isnan(found), np.nanmedian(found, axis=0), found))


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
    """Return probabilities ``(n, C)`` of the classes in their order; without `features` of :func:`peak_features`."""
    names = ClassGrouping.parse(classes).names
    table = split.extract(features or OPEN_INPUTS[""], classes)
    if not features:
        X = peak_features(split.catalog)
        table = replace(table, X=X, X_var=np.zeros_like(X))
    learn = split.learn & np.isin(table.y, names)
    if split.recipe.min_significance is not None:
        learn &= split.catalog.column("Signif_Avg") > split.recipe.min_significance
    fitted = clone(estimator).fit(table.X[learn], table.y[learn], X_var=table.X_var[learn])
    p = np.asarray(fitted.predict_proba(table.X[split.rows], X_var=table.X_var[split.rows]), dtype=np.float64)
    ordered = np.zeros((len(split.rows), len(names)))
    ordered[:, [names.index(str(name)) for name in fitted.classes_]] = p
    return ordered
