"""A census of a catalogue: how many sources without a class are of each class, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog import DEFAULT_CLASSES
from fermiclass.errors import ClassError
from fermiclass.features import DEFAULT_FEATURE_SET, FeatureTable, extract_features
from fermiclass.io.arrays import FloatArray
from fermiclass.labelling.class_priors import HIGH_LATITUDE, LATITUDE_EDGE, LOW_LATITUDE, STATUSES
from fermiclass.labelling.quantification import HeldOut, Predictions, draw_numbers
from fermiclass.labelling.training import add_labels, default_estimator, train, training_table

if TYPE_CHECKING:
    from fermiclass.catalog import Catalog
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

#: Number of parts of the training sources. Each is held out once.
FOLDS = 5

_PLACE = "ln_Signif_Avg,asinh_GLAT"


@dataclass(frozen=True, eq=False)
class Census:
    """Draws of the numbers of sources.

    Attributes
    ----------
    groups
        Names of the G groups of sources: unassociated, unassociated low and high (below and from 10 degrees of Galactic
        latitude), bcu and unk, and given ones, as far as the catalogue has them.
    sizes
        Numbers of their sources, ``(G,)``.
    classes
        Names of the C classes.
    draws
        Numbers of sources of each class, ``(num_draws, G, C)``.
    """

    groups: tuple[str, ...]
    sizes: tuple[int, ...]
    classes: tuple[str, ...]
    draws: NDArray[np.int64]

    def interval(self, group: str, classes: Sequence[str], *, level: float = 0.9) -> tuple[float, float, float]:
        """Return the mean and the ends of the interval of the number of a group's sources of any of the classes.

        Raises
        ------
        ClassError
            When the census has no such group or class.
        """
        unknown = [name for name in classes if name not in self.classes]
        if group not in self.groups or unknown:
            raise ClassError(
                f"the census has no number of {', '.join(classes)} among '{group}': it has the groups "
                f"{', '.join(self.groups)} and the classes {', '.join(self.classes)}"
            )
        numbers = self.draws[:, self.groups.index(group)][:, np.isin(self.classes, classes)].sum(axis=1)
        low, high = np.quantile(numbers, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        return float(numbers.mean()), float(low), float(high)


def take_census(
    catalog: Catalog,
    estimator: NIMGPClassifier | None = None,
    *,
    features: str = DEFAULT_FEATURE_SET,
    classes: str = DEFAULT_CLASSES,
    groups: Mapping[str, NDArray[np.bool_]] | None = None,
    estimate: bool = False,
    num_draws: int = 400,
    seed: int = 0,
) -> Census:
    """Count the sources of each class among those without one, with intervals that hold the errors of the method.

    The intervals hold the scatter of the sources, the classifier's own uncertainty and its miscalibration
    (:mod:`fermiclass.labelling.quantification`). The draws lie about the sums of the probabilities that `classify`
    gives by default, with its class priors; the intervals hold no error of the priors. With `estimate` the
    probabilities are recalibrated, and the class priors estimated from the sources to count, as smooth functions of
    significance and latitude. Then a class must look the same among training sources and sources to count of the same
    significance and latitude, and each source must be of one of the classes: the intervals hold no error of that. The
    census trains the model, and one for each of :data:`FOLDS` parts of the training sources.

    Parameters
    ----------
    catalog
        The catalogue, to learn from and to count.
    estimator, features, classes
        As for :func:`fermiclass.labelling.training.train`.
    groups
        More groups of sources by name, as masks of the catalogue's rows, ``(N,)``. Only sources without a class count.
    estimate
        Whether class priors are estimated, and probabilities recalibrated.
    num_draws
        Number of draws.
    seed
        Seed of the parts and the draws.

    Raises
    ------
    ClassError, FeatureError
        As :func:`fermiclass.labelling.training.train` does.
    """
    from sklearn.base import clone

    rng = np.random.default_rng(seed)
    table = training_table(catalog, features=features, classes=classes)
    model = train(catalog, estimator, features=features, classes=classes, table=table)
    grouping, names = model.grouping, model.classes
    part = rng.permutation(len(table)) % FOLDS
    unfitted = clone(default_estimator() if estimator is None else estimator)
    add_labels(unfitted, grouping, table)
    fitted = unfitted.fit_many([(rest.X, rest.y, rest.X_var) for rest in (table[part != k] for k in range(FOLDS))])
    held_out = _held_out(fitted, table, part, names, _place(catalog)[table.rows])

    priors = model.class_priors(None, [catalog])
    parts = _parts(catalog) | dict(groups or {})
    is_target = grouping.is_target(catalog.classes, "uncertain")
    drawn: dict[str, NDArray[np.int64]] = {}
    for status in STATUSES:
        chosen = is_target & (catalog.classes == ("" if status == STATUSES[0] else status))
        if not np.any(chosen):
            continue
        sources = catalog[chosen]
        new = extract_features(sources, model.features, grouping, imputation=model.imputation)
        masks = {name: mask[chosen] for name, mask in parts.items() if np.any(mask[chosen])}
        numbers = draw_numbers(
            held_out,
            Predictions(_predict(model.estimator, new), _place(catalog)[chosen]),
            list(masks.values()),
            rng,
            refits=np.array([_predict(one, new) for one in fitted]),
            ratios=model.ratios(sources, priors),
            estimate=estimate,
            recalibrate=estimate,
            num_draws=num_draws,
        )
        for k, name in enumerate(masks):
            drawn[name] = numbers[:, k] + drawn.get(name, 0)
    if not drawn:
        raise ClassError(f"{catalog.source} has no source without a class: there is nothing to count")
    sizes = tuple(int(np.sum(parts[name] & is_target)) for name in drawn)
    return Census(tuple(drawn), sizes, tuple(names), np.stack(list(drawn.values()), axis=1))


def _parts(catalog: Catalog) -> dict[str, NDArray[np.bool_]]:
    """Return the masks of the census's own groups, ``(N,)`` each."""
    unassociated = catalog.classes == ""
    low = np.abs(np.asarray(catalog.table["GLAT"], float)) < LATITUDE_EDGE
    parts = {STATUSES[0]: unassociated, LOW_LATITUDE: unassociated & low, HIGH_LATITUDE: unassociated & ~low}
    return parts | {status: catalog.classes == status for status in STATUSES[1:]}


def _held_out(
    fitted: Sequence[NIMGPClassifier], table: FeatureTable, part: NDArray[np.intp], names: list[str], place: FloatArray
) -> HeldOut:
    """Return the predictions of the sources of one class, by the model that was trained without their part."""
    p = np.empty((len(table), len(names)))
    for k, one in enumerate(fitted):
        p[part == k] = _predict(one, table[part == k])
    has_class = np.isin(table.y, names)
    y = np.array([names.index(str(name)) for name in table.y[has_class]], dtype=np.intp)
    return HeldOut(p[has_class], place[has_class], y)


def _predict(estimator: NIMGPClassifier, table: FeatureTable) -> FloatArray:
    return np.asarray(estimator.predict_proba(table.X, X_var=table.X_var), dtype=np.float64)


def _place(catalog: Catalog) -> FloatArray:
    """Return ln Signif_Avg and asinh(|b|/3°), ``(N, 2)``."""
    return extract_features(catalog, _PLACE).X
