"""Why a source has the probabilities that it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fermiclass.catalog import Catalog
from fermiclass.catalog.names import find_source
from fermiclass.errors import CatalogError
from fermiclass.features import FeatureTable, extract_features
from fermiclass.features.transforms import FloatArray

if TYPE_CHECKING:
    from astropy.table import Row, Table

    from fermiclass.group_shares import GroupShares
    from fermiclass.pipeline import TrainedModel

#: Percentiles of the features of each class.
PERCENTILES = (2.5, 16.0, 50.0, 84.0, 97.5)

_DECONVOLUTION_STEPS = 30  # from the observed covariance towards the noiseless one; 100 change it by a few percent


@dataclass(frozen=True, eq=False)
class Explanation:
    """What a model makes of one source, for C classes and D features.

    Attributes
    ----------
    label
        The source's row of the label table.
    classes
        Names of the C classes.
    features
        Names of the D features.
    value, error
        The source's features and their standard deviations, ``(D,)``, in the features' own units.
    imputed_value, imputed_uncertainty
        Which of them the catalogue does not give, ``(D,)``.
    expected, expected_error
        What the other features let one expect of each, whatever the class, ``(D,)``; see :func:`explain`.
    population
        Percentiles `PERCENTILES` of the training sources of each class, ``(C, 5, D)``.
    centre, scale
        Mean and standard deviation of the training sources, ``(D,)``.
    probabilities, std
        Of the classes, with their standard deviations, ``(C,)``.
    without_feature
        Probabilities with one feature replaced by what is expected of it, ``(D, C)``.
    without_errors
        Probabilities were there no error bars, ``(C,)``.
    neighbours
        The nearest training sources: Source_Name, CLASS, ASSOC1, DISTANCE in standard deviations of the difference of
        two sources of one class.
    trained_on
        Whether the model has learned from this very source.
    """

    label: Row
    classes: tuple[str, ...]
    features: tuple[str, ...]
    value: FloatArray
    error: FloatArray
    imputed_value: NDArray[np.bool_]
    imputed_uncertainty: NDArray[np.bool_]
    expected: FloatArray
    expected_error: FloatArray
    population: FloatArray
    centre: FloatArray
    scale: FloatArray
    probabilities: FloatArray
    std: FloatArray
    without_feature: FloatArray
    without_errors: FloatArray
    neighbours: Table
    trained_on: bool

    @property
    def name(self) -> str:
        """Source_Name."""
        return str(self.label["Source_Name"])

    @property
    def effects(self) -> FloatArray:
        """By how much each feature's value moves the probabilities, ``(D, C)``; rows sum to 0."""
        return self.probabilities - self.without_feature

    @property
    def order(self) -> NDArray[np.intp]:
        """The features, ``(D,)``, the one first that moves the probabilities most: by ``½ Σ_c |effect|``."""
        return np.argsort(-0.5 * np.abs(self.effects).sum(axis=1), kind="stable")


def explain(
    model: TrainedModel,
    catalog: Catalog,
    name: str,
    *,
    train_on: Catalog | None = None,
    shares: str | GroupShares = "trained",
    neighbours: int = 5,
    progress: Callable[[int, int], None] | None = None,
) -> Explanation:
    """Explain what a model makes of one source.

    What a feature does to the probabilities is found by predicting again without it: in place of x̃_j ± √V_jj comes
    what the source's other features let one expect of it, whatever the class,

        e_j  = m_j + Σ_jr (Σ_rr + V_rr)⁻¹ (x̃_r − m_r),
        s_j² = Σ_jj − Σ_jr (Σ_rr + V_rr)⁻¹ Σ_rj,

    with r all features but j, m and Σ mean and covariance of the training sources' noiseless features, and V the
    source's error variances; x_j is then averaged over as if it had been measured as e_j ± s_j. The effect of feature j
    on class c is ``P_c(x̃) − P_c(x̃ with e_j ± s_j)``, an exact second prediction, no gradient. A feature that others
    replace does little, however different the classes are in it: effects do not add up to a whole. Σ knows no classes
    and is as in training, where each class has its share of the training sources.

    Parameters
    ----------
    model
        Trained.
    catalog
        Which has the source.
    name
        One of the source's names; see :func:`fermiclass.catalog.names.find_source`.
    train_on
        The catalogue that the model was trained on; by default `catalog`.
    shares
        As for :meth:`fermiclass.pipeline.TrainedModel.label`; estimated shares are those of all of `catalog`.
    neighbours
        How many of the nearest training sources to tell.
    progress
        Called with the number of sources done and of all while shares are estimated.

    Raises
    ------
    SourceError
        When the name is unknown or ambiguous.
    CatalogError
        When the model was not trained on `train_on`.
    ClassError
        When the shares are unknown or do not fit.
    """
    from fermiclass.nimgp.prediction import join

    row = find_source(catalog, name)
    training_catalog = catalog if train_on is None else train_on
    training = _training_sources(model, training_catalog)
    _, groups = model.group_shares(shares, [catalog], progress)
    source = catalog[[row]]
    table = extract_features(source, model.features, model.grouping, imputation=model.imputation)
    x, x_var = table.X[0], table.X_var[0]
    expected, expected_var = _expectations(model, training, x, x_var)

    # Rows: as it is, without error bars, and with each feature replaced in turn.
    D = len(x)
    X, X_var = np.tile(x, (2 + D, 1)), np.tile(x_var, (2 + D, 1))
    X_var[1] = 0.0
    diagonal = np.arange(D)
    X[2 + diagonal, diagonal], X_var[2 + diagonal, diagonal] = expected, expected_var
    ratio = model.ratios(source, groups)
    ratios = None if ratio is None else np.repeat(ratio, 2 + D, axis=0)
    prediction = join(list(model.estimator.predict_blocks(X, X_var=X_var, ratio=ratios)))
    classes = tuple(str(name) for name in model.estimator.classes_)
    return Explanation(
        label=model.label(source, "all", shares=groups)[0],
        classes=classes,
        features=model.features,
        value=x,
        error=np.sqrt(x_var),
        imputed_value=table.imputed_value[0],
        imputed_uncertainty=table.imputed_uncertainty[0],
        expected=expected,
        expected_error=np.sqrt(expected_var),
        population=np.stack([np.percentile(training.X[training.y == c], PERCENTILES, axis=0) for c in classes]),
        centre=model.estimator.mean_,
        scale=model.estimator.scale_,
        probabilities=prediction.probabilities[0],
        std=prediction.std[0],
        without_errors=prediction.probabilities[1],
        without_feature=prediction.probabilities[2:],
        neighbours=_nearest(model, training, training_catalog, table, neighbours),
        trained_on=bool(np.any(np.all(x == training.X, axis=1) & (training.names == table.names[0]))),
    )


def _training_sources(model: TrainedModel, catalog: Catalog) -> FeatureTable:
    """Return the features of the sources that the model has learned from, checked to be these."""
    table = extract_features(
        catalog,
        model.features,
        model.grouping,
        imputation=model.imputation,
        min_significance=model.provenance.get("min_significance"),
    )
    table = table[table.labelled]
    order = np.lexsort((*table.X_var.T, *table.X.T))
    if not np.array_equal(table.X[order], model.domain.X):
        raise CatalogError(
            f"the model was trained on other sources than those of {catalog.source}: expected "
            f"{model.provenance.get('catalog')} with SHA-256 {model.provenance.get('sha256')}. Give that (--train-on)."
        )
    return table


def _expectations(
    model: TrainedModel, training: FeatureTable, x: FloatArray, x_var: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return e and s² of :func:`explain`, ``(D,)`` each, from the source's ``x`` and ``x_var``, ``(D,)``."""
    from fermiclass.nimgp.input_prior import InputPrior

    centre, scale = model.estimator.mean_, model.estimator.scale_
    population = InputPrior.population(
        (training.X - centre) / scale, training.X_var / scale**2, iterations=_DECONVOLUTION_STEPS
    )
    mean, covariance = population.mean[0], np.linalg.inv(population.precision[0])
    offset, variance = (x - centre) / scale - mean, x_var / scale**2
    expected, expected_var = np.empty_like(x), np.empty_like(x)
    for j in range(len(x)):
        rest = np.arange(len(x)) != j
        weights = np.linalg.solve(covariance[np.ix_(rest, rest)] + np.diag(variance[rest]), covariance[rest, j])
        expected[j] = mean[j] + weights @ offset[rest]
        expected_var[j] = covariance[j, j] - weights @ covariance[rest, j]
    return centre + scale * expected, scale**2 * np.maximum(expected_var, 0.0)


def _nearest(model: TrainedModel, training: FeatureTable, catalog: Catalog, source: FeatureTable, number: int) -> Table:
    from astropy.table import Table

    with threadpool_limits(1):
        distances = model.domain.distances(source.X[0], source.X_var[0], training.X)
    order = np.argsort(distances, kind="stable")
    order = order[training.names[order] != source.names[0]][:number]
    return Table(
        {
            "Source_Name": training.names[order],
            "CLASS": training.y[order],
            "ASSOC1": _associations(catalog, training.names[order].tolist()),
            "DISTANCE": distances[order],
        }
    )


def _associations(catalog: Catalog, names: Sequence[str]) -> list[str]:
    if not catalog.has_column("ASSOC1"):
        return [""] * len(names)
    known = dict(zip(catalog.names.tolist(), catalog.table["ASSOC1"].tolist(), strict=True))
    return [str(known[name]) for name in names]
