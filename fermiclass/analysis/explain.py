"""Explanation of the probabilities of sources, one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from astropy.table import Row, Table
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fermiclass.brought.sources import CatalogLike, catalog_of
from fermiclass.catalog import Catalog
from fermiclass.catalog.source_names import find_source
from fermiclass.catalog.time_bins import in_bins_of
from fermiclass.errors import CatalogError
from fermiclass.features import FeatureTable, extract_features
from fermiclass.features.definitions import FEATURES
from fermiclass.io import FloatArray
from fermiclass.labelling.catalog_model import CatalogModel
from fermiclass.labelling.labels import second_association
from fermiclass.labelling.prediction_columns import add_column
from fermiclass.labelling.recipe import EVIDENCE, Recipe
from fermiclass.labelling.training import retrain

if TYPE_CHECKING:
    from fermiclass.labelling.class_priors import GroupPriors

PERCENTILES = (2.5, 16.0, 50.0, 84.0, 97.5)  #: Percentiles that describe the features of each class.

NEIGHBOURS = 5  #: Number of nearest training sources.

IMPUTED_MARK = "*"  #: Stands behind a value that is imputed, or has an imputed error.

#: Catalogue columns of each kind. The columns of bands, of the hardness ratios, belong to the spectral shape.
_COLUMNS = {
    "spectral shape": (
        "PL_Index", "LP_Index", "LP_beta", "LP_SigCurv", "PLEC_SigCurv", "PLEC_IndexS", "PLEC_ExpfactorS",
        "Pivot_Energy", "LP_EPeak", "PLEC_EPeak", "Flux_Band", "nuFnu_Band",
    ),
    "variability": ("Variability_Index", "Frac_Variability", "Signif_Peak", "Flux_Peak"),
    "brightness": ("Flux1000", "Energy_Flux100", "Signif_Avg", "Npred"),
    "position": ("GLAT", "GLON"),
    "gas clump": ("Flags",),
}  # fmt: skip

_KINDS = {column: kind for kind, columns in _COLUMNS.items() for column in columns}

_EVIDENCE_KINDS = dict(zip(EVIDENCE, ("CLASS2", "claimed blazar"), strict=True))

_Population = tuple[FloatArray, FloatArray]

_LEAST_CONSIDERED = 0.01  # least probability of a class whose log-odds are shown, besides the two most probable ones
_LEAST_PROBABILITY = 1e-12  # rounding makes smaller ones meaningless
_DECONVOLUTION_STEPS = 30  # from the observed to the noiseless covariance; with 100 it differs by a few percent


@dataclass(frozen=True, eq=False)
class Explanation:
    """Explanation of one source, for C classes and D features."""

    label: Row  #: Row of the source in the label table.
    classes: tuple[str, ...]  #: Names of the C classes.
    features: tuple[str, ...]  #: Names of the D features.
    value: FloatArray  #: (D,) features of the source, in their units.
    error: FloatArray  #: (D,) their standard deviations.
    imputed_value: NDArray[np.bool_]  #: (D,) mask of the values that the catalogue does not give.
    imputed_uncertainty: NDArray[np.bool_]  #: (D,) mask of the uncertainties that it does not give.
    expected: FloatArray  #: (D,) each feature as expected from the others, for no particular class: :func:`explain`.
    expected_error: FloatArray  #: (D,) standard deviation of the expectation.
    population: FloatArray  #: (C, 5, D) percentiles `PERCENTILES` of the training sources of each class.
    centre: FloatArray  #: (D,) mean of the training sources.
    scale: FloatArray  #: (D,) standard deviation of the training sources.
    probabilities: FloatArray  #: (C,) class probabilities.
    without_feature: FloatArray  #: (D, C) probabilities with one feature replaced by its expected value.
    without_errors: FloatArray  #: (C,) probabilities without error bars.
    #: The nearest training sources: Source_Name, CLASS, ASSOC1, and DISTANCE in standard deviations of the difference
    #: between two sources of one class.
    neighbours: Table
    trained_on: bool  #: Whether the source is one of the model's training sources.
    known: str = ""  #: Class of the source in the catalogue, if it is one of the C classes, or empty.
    #: (C,) probabilities with all features of one kind replaced by their expected values, by kind; and those without
    #: the evidence of CLASS2, where there is any.
    without_kind: Mapping[str, FloatArray] = field(default_factory=dict)
    #: Groups of some of the classes, such as both kinds of pulsars, by name.
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The K names of what has log-odds: the C classes, then the groups, such as ``pulsar``."""
        return (*self.classes, *self.groups)

    @property
    def members(self) -> NDArray[np.bool_]:
        """(K, C) mask of the classes of each of `names`."""
        return np.array([np.isin(self.classes, self.groups.get(name, name)) for name in self.names])

    @property
    def name(self) -> str:
        """Source_Name of the source."""
        return str(self.label["Source_Name"])

    @property
    def catalogued(self) -> tuple[str, ...]:
        """What lists say of it: class and name of the counterpart, the second association and the claim, if any."""
        known = [str(self.label[name]) for name in ("CLASS1", "ASSOC1") if name in self.label.colnames]
        second = second_association(self.label)
        claim = str(self.label["CLAIM"]).strip() if "CLAIM" in self.label.colnames else ""
        more = [*[f"second association {second}"] * bool(second), *[f"claimed blazar {claim}"] * bool(claim)]
        return (", ".join(filter(None, known)) or "unassociated", *more)

    @property
    def best(self) -> int:
        """Index of the most probable class."""
        return int(np.argmax(self.probabilities))

    @property
    def log_odds(self) -> FloatArray:
        """(D, K) effect of each feature's value on the log-odds ``ln P − ln (1 − P)`` of each of `names`."""
        return self._log_odds(self.probabilities) - self._log_odds(self.without_feature)

    @property
    def kinds(self) -> dict[str, FloatArray]:
        """(K,) effects of all features of one kind on the log-odds, by kind; the largest first, as in `order`."""
        whole = self._log_odds(self.probabilities)
        effects = {kind: whole - self._log_odds(without) for kind, without in self.without_kind.items()}
        return dict(sorted(effects.items(), key=lambda item: -np.abs(item[1][self.first]).max()))

    @property
    def first(self) -> NDArray[np.intp]:
        """Indices in `names` of the most probable class, and of the groups with it."""
        inside = np.flatnonzero(self.members[:, self.best])
        return inside[np.argsort(inside != self.best, kind="stable")]

    @property
    def order(self) -> NDArray[np.intp]:
        """(D,) indices of the features, those first that move the log-odds of the best class or its group most."""
        return np.argsort(-np.abs(self.log_odds[:, self.first]).max(axis=1), kind="stable")

    @property
    def considered(self) -> NDArray[np.intp]:
        """Indices in `names` of the two most probable classes, all others from 1 %, and groups with the best class."""
        likely = np.argsort(-self.probabilities, kind="stable")[:2], self.probabilities >= _LEAST_CONSIDERED
        return np.unique(np.concatenate([likely[0], np.flatnonzero(likely[1]), self.first]))

    def why(self, name: str = "") -> str:
        """Return what kinds of features move the log-odds of `name`, by default of the most probable class.

        An example is ``spectral shape +5.8; variability +0.5``.
        """
        k = self.names.index(name) if name in self.names else self.best
        moved = sorted(((effects[k], kind) for kind, effects in self.kinds.items()), key=lambda each: -abs(each[0]))
        return "; ".join(f"{kind} {effect:+.1f}" for effect, kind in moved if abs(effect) >= 0.1)

    def _log_odds(self, probabilities: FloatArray) -> FloatArray:
        """Return ln Σ P_in − ln Σ P_out, which is exact where the sum inside is nearly 1."""
        p = np.maximum(probabilities, _LEAST_PROBABILITY)
        return np.asarray(np.log(p @ self.members.T) - np.log(p @ ~self.members.T))

    def feature_text(self, j: int, gap: str = "") -> str:
        """Return a feature with its error, with a star if the value or the error is imputed; see :func:`measured`."""
        mark = IMPUTED_MARK if self.imputed_value[j] or self.imputed_uncertainty[j] else ""
        return measured(self.value[j], self.error[j], gap) + mark


def explain(
    model: CatalogModel | Table | str | PathLike[str],
    catalog: CatalogLike,
    name: str | int,
    *,
    train_on: CatalogLike | None = None,
    class_priors: str | GroupPriors | None = None,
    evidence: str | None = None,
) -> Explanation:
    """Explain the probabilities that a model gives one source; :func:`explain_all` is quicker for several.

    The effect of a feature is the difference to a second prediction, in which x̃_j ± √V_jj is replaced by the value
    expected from the source's other features r, for no particular class,

        e_j  = m_j + Σ_jr (Σ_rr + V_rr)⁻¹ (x̃_r − m_r),
        s_j² = Σ_jj − Σ_jr (Σ_rr + V_rr)⁻¹ Σ_rj,

    with the mean m and covariance Σ of the noiseless features of all training sources, and the error variances V of the
    source. It is the difference of the log-odds of two exact predictions, not a gradient: a feature that the others can
    replace has a small effect, and the effects do not add up to a total. All features of one kind, such as those of
    variability, are replaced together, too.

    Parameters
    ----------
    model
        A trained model; or a label table or its file, whose model is trained again.
    catalog
        The catalogue with the source, or its file.
    name
        One of the source's names; see :func:`fermiclass.catalog.source_names.find_source`. Or its row, from 0.
    train_on
        The training catalogue of the model; by default `catalog`.
    class_priors, evidence
        As for :meth:`fermiclass.labelling.catalog_model.CatalogModel.label`.

    Raises
    ------
    SourceError
        When the name is unknown or ambiguous.
    CatalogError
        When the model was not trained on `train_on`.
    ClassError
        When the class priors are unknown, or do not fit the model's classes.
    """
    return explain_all(model, catalog, [name], train_on=train_on, class_priors=class_priors, evidence=evidence)[0]


def explain_all(
    model: CatalogModel | Table | str | PathLike[str],
    catalog: CatalogLike,
    names: Sequence[str | int],
    *,
    train_on: CatalogLike | None = None,
    class_priors: str | GroupPriors | None = None,
    evidence: str | None = None,
) -> list[Explanation]:
    """Return the explanation of each of several sources, given by `names` or rows; all else as for :func:`explain`."""
    catalog = catalog_of(catalog)
    training_catalog = catalog if train_on is None else catalog_of(train_on, "train_on")
    rows = [find_source(catalog, name) if isinstance(name, str) else name for name in names]
    if not isinstance(model, CatalogModel):
        model = retrain(model, training_catalog)
    training = _training_sources(model, training_catalog)
    recipe = Recipe.of(model.recipe, class_priors=class_priors, evidence=evidence)
    population = _population(model, training)
    found = []
    for row in rows:
        source = in_bins_of(catalog[[row]], training_catalog.release.name, training_catalog)
        near = _nearest(model, training, training_catalog, model.features_of(source))
        found.append(_explained(model, source, recipe, training, population, near))
    return found


def add_reasons(targets: Table, explained: Sequence[Explanation]) -> None:
    """Add the column WHY to a follow-up list: what moves the probability that ranks it, of each of its sources."""
    wanted = str(targets.meta.get("rankedby", "")).partition(" ")[0].removeprefix("Sum_").removeprefix("P_")
    about = "What moves the log-odds of the class, ln(P / (1 - P)), the most important first"
    add_column(targets, "WHY", np.array([each.why(wanted) for each in explained], str), about, "meta.note")


def _explained(
    model: CatalogModel, source: Catalog, recipe: Recipe, training: FeatureTable, population: _Population, near: Table
) -> Explanation:
    """Return the explanation of a catalogue of one source, by a recipe; `near` are its nearest training sources."""
    label = model.label(source, "all", class_priors=recipe.class_priors, evidence=recipe.evidence)[0]
    table = model.features_of(source)
    x, x_var = table.X[0], table.X_var[0]
    D = len(x)
    kinds = feature_kinds(model.features)
    expectation = _expectation(model, population, x, x_var)

    # Rows: the source, the source without error bars, the source with each feature, or each kind, replaced in turn, and
    # the source without the evidence of CLASS2, or of claims, which count as one more kind where there is any.
    replaced = [[j] for j in range(D)] + list(kinds.values())
    X, X_var, unknown = (np.tile(each, (2 + len(replaced), 1)) for each in (x, x_var, table.imputed_value[0]))
    X_var[1] = 0.0
    for row_of_X, members in enumerate(replaced, start=2):
        X[row_of_X, members], X_var[row_of_X, members] = expectation(members)
        unknown[row_of_X, members] = False
    ratio = model.ratios(source, recipe.class_priors, recipe.used_evidence)
    ratios = None if ratio is None else np.repeat(ratio, len(X), axis=0)
    for name, there in zip(EVIDENCE, (model.second, model.claims), strict=True):
        if ratios is not None and name in recipe.used_evidence and str(label["STATUS"]) == "unassociated" and there:
            rest = [each for each in recipe.used_evidence if each != name]
            without = model.ratios(source, recipe.class_priors, rest)
            ratios = np.vstack([ratios, np.ones_like(ratio) if without is None else without])
            X, X_var, unknown = (np.vstack([each, each[0]]) for each in (X, X_var, unknown))
            kinds = {**kinds, _EVIDENCE_KINDS[name]: []}
    rows = replace(table[np.zeros(len(X), dtype=int)], X=X, X_var=X_var, imputed_value=unknown)
    prediction = model.predict(rows, ratios=ratios)
    known = [str(name) for name in model.fitted.target.classes]
    classes = tuple(sorted(known, key=model.grouping.names.index))
    probabilities = prediction.probabilities[:, [known.index(name) for name in classes]]
    return Explanation(
        label=label,
        classes=classes,
        features=model.features,
        value=x,
        error=np.sqrt(x_var),
        imputed_value=table.imputed_value[0],
        imputed_uncertainty=table.imputed_uncertainty[0],
        expected=X[np.arange(2, 2 + D), np.arange(D)],
        expected_error=np.sqrt(X_var[np.arange(2, 2 + D), np.arange(D)]),
        population=np.stack([np.percentile(training.X[training.y == c], PERCENTILES, axis=0) for c in classes]),
        centre=model.fitted.scaling.mean,
        scale=model.fitted.scaling.scale,
        probabilities=probabilities[0],
        without_errors=probabilities[1],
        without_feature=probabilities[2 : 2 + D],
        neighbours=near,
        trained_on=bool(np.any(np.all(x == training.X, axis=1) & (training.names == table.names[0]))),
        without_kind=dict(zip(kinds, probabilities[2 + D :], strict=True)),
        known=str(table.y[0]) if str(table.y[0]) in classes else "",
        groups={top: inside for top, inside in model.grouping.tops.items() if len(inside) < len(classes)},
    )


def _training_sources(model: CatalogModel, catalog: Catalog) -> FeatureTable:
    """Return the features of the model's training sources of one class, after a check that the catalogue has them."""
    model.provenance.origin.check(catalog.origin, "the model")
    what, limit = (catalog, model.features, model.grouping), model.recipe.min_significance
    table = extract_features(*what, imputation=model.imputation, min_significance=limit)
    table = table[np.isin(table.y, model.grouping.names)]
    if not (np.array_equal(table.X, model.domain.X) and np.array_equal(table.y, model.domain.y)):
        raise CatalogError(
            f"the model was not trained on the sources of {catalog.source}: their features or classes differ. Give "
            f"{model.provenance.origin.source} as it was then (--train-on)."
        )
    return table


def _population(model: CatalogModel, training: FeatureTable) -> _Population:
    """Return mean ``(D,)`` and covariance ``(D, D)`` of the noiseless features, standardised."""
    from fermiclass.nimgp.inputs.prior import InputPrior

    centre, scale, _ = model.fitted.scaling
    X, X_var = (training.X - centre) / scale, training.X_var / scale**2
    population = InputPrior.population(X, X_var, iterations=_DECONVOLUTION_STEPS)
    return population.mean[0], np.linalg.inv(population.precision[0])


def _expectation(
    model: CatalogModel, population: _Population, x: FloatArray, x_var: FloatArray
) -> Callable[[Sequence[int]], tuple[FloatArray, FloatArray]]:
    """Return the function that gives e and s² of :func:`explain` for any features of a source, from all others."""
    centre, scale, _ = model.fitted.scaling
    mean, covariance = population
    offset, variance = (x - centre) / scale - mean, x_var / scale**2

    def expected(features: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        j = np.asarray(features)
        rest = np.setdiff1d(np.arange(len(offset)), j)
        across = covariance[np.ix_(rest, j)]
        weights = np.linalg.solve(covariance[np.ix_(rest, rest)] + np.diag(variance[rest]), across)
        left = np.diag(covariance)[j] - np.sum(weights * across, axis=0)
        value = centre[j] + scale[j] * (mean[j] + weights.T @ offset[rest])
        return value, scale[j] ** 2 * np.maximum(left, 0.0)

    return expected


def _nearest(model: CatalogModel, training: FeatureTable, catalog: Catalog, source: FeatureTable) -> Table:
    with threadpool_limits(1):
        distances = model.domain.distances(source.X[0], source.X_var[0], training.X)
    order = np.argsort(distances, kind="stable")
    order = order[training.names[order] != source.names[0]][:NEIGHBOURS]
    return Table(
        {
            "Source_Name": training.names[order],
            "CLASS": training.y[order],
            "ASSOC1": catalog.table["ASSOC1"][training.rows[order]] if "ASSOC1" in catalog.table.colnames else "",
            "DISTANCE": distances[order],
        }
    )


def feature_kinds(features: Sequence[str]) -> dict[str, list[int]]:
    """Return the indices of the features of each kind. A feature of no known kind is a kind of its own."""
    kinds: dict[str, list[int]] = {}
    for j, name in enumerate(features):
        columns = FEATURES[name].columns if name in FEATURES else (name.removeprefix("ln_"),)
        kind = next((_KINDS[column] for column in columns if column in _KINDS), name)
        kinds.setdefault(kind, []).append(j)
    return kinds


def measured(value: float, error: float, gap: str = "") -> str:
    """Return a value with its error, both rounded to the first digit of the error, to two digits if that is 1 or 2.

    A value without error has four digits. The `gap` stands before the sign ±; a narrow column may break the line there.
    """
    text = f"{value:.4g}"
    if error > 0 and math.isfinite(error):
        exponent = math.floor(math.log10(error))
        digits = max(0, (error < 3 * 10.0**exponent) - exponent)
        digits -= digits == 4 and abs(value) >= 10  # a narrow column
        fixed = digits <= 5 and error < 1e4
        text = f"{value:.{digits}f}{gap}±{error:.{digits}f}" if fixed else f"{value:.3g}{gap}±{error:.1g}"
    return text.replace("-", "−")
