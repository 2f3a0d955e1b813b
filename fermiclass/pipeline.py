"""From a catalogue to labels: train on the sources that have a class, label those that have none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass._version import __version__
from fermiclass.catalog import Catalog, ClassGrouping
from fermiclass.domain import TrainingDomain
from fermiclass.errors import ClassError
from fermiclass.features import FeatureTable, Imputation, extract_features

if TYPE_CHECKING:
    from astropy.table import Table

    from fermiclass.estimators import NIMGPClassifier
    from fermiclass.nimgp.prediction import Prediction
    from fermiclass.nimgp.training import TrainingState

#: Fewer training sources of a class than this are too few to say anything of it.
MIN_PER_CLASS = 5


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A classifier with all that is needed to label any catalogue.

    Attributes
    ----------
    estimator
        Fitted.
    features
        Names of the features.
    grouping
        Of the catalogue's classes.
    imputation
        What stands in for missing values, fitted on the training catalogue.
    domain
        The training sources' features.
    provenance
        Catalogue, checksum, release, counts, versions.
    """

    estimator: NIMGPClassifier
    features: tuple[str, ...]
    grouping: ClassGrouping
    imputation: Imputation
    domain: TrainingDomain
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def label(
        self, catalog: Catalog, targets: str = "uncertain", *, progress: Callable[[int, int], None] | None = None
    ) -> Table:
        """Label the sources of a catalogue that lack a class.

        Parameters
        ----------
        catalog
            Of any release that has the model's features.
        targets
            ``'unassociated'``, ``'uncertain'`` (also bcu and unk, less what the model is trained on) or ``'all'``.
        progress
            Called with the number of sources done and of all.

        Returns
        -------
        Table
            The label table, in the catalogue's order, without rows where nothing is to be labelled; see
            :mod:`fermiclass.labels`.
        """
        from fermiclass.labels import label_table

        chosen = self.grouping.is_target(catalog.classes, targets)
        sources = catalog[chosen]
        table = extract_features(sources, self.features, self.grouping, imputation=self.imputation)
        return label_table(
            sources,
            list(self.estimator.classes_),
            self._predict(table, progress),
            feature_flags=table.flags,
            ood_score=self.domain.score(table.X, table.X_var),
            meta=self._metadata(catalog, targets),
        )

    def _predict(self, table: FeatureTable, progress: Callable[[int, int], None] | None) -> Prediction:
        from fermiclass.nimgp.prediction import Prediction, join

        if not len(table):
            none, no_rows = np.empty(0), np.empty((0, len(self.estimator.classes_)))
            return Prediction(no_rows, no_rows, entropy=none, information=none, noise_entropy=none)
        blocks = []
        done = 0
        for block in self.estimator.predict_blocks(table.X, X_var=table.X_var):
            blocks.append(block)
            done += len(block.entropy)
            if progress is not None:
                progress(done, len(table))
        return join(blocks)

    def _metadata(self, catalog: Catalog, targets: str) -> dict[str, Any]:
        def listed(key: str) -> str:
            return ",".join(f"{name}={value}" for name, value in self.provenance.get(key, {}).items())

        # Keys whose values may be long have 8 letters at most: FITS continues the cards of no others.
        return {
            "creator": f"fermiclass {__version__}",
            "catalog": str(catalog.source),
            "sha256": str(catalog.sha256),
            "release": catalog.release.name,
            "targets": targets,
            "train_on": str(self.provenance.get("catalog")),
            "trainsha": str(self.provenance.get("sha256")),
            "classes": str(self.grouping),
            "counts": listed("training_counts"),
            "min_significance": str(self.provenance.get("min_significance")),
            "features": ",".join(self.features),
            **{key: str(value) for key, value in sorted(self.estimator.get_params().items())},
            "versions": listed("versions"),
        }


def training_table(
    catalog: Catalog,
    *,
    features: str = "six",
    classes: str = "bll,fsrq,psr",
    min_significance: float | None = None,
) -> FeatureTable:
    """Extract the features of the sources that :func:`train` learns from; parameters and errors are the same."""
    grouping = ClassGrouping.parse(classes)
    table = extract_features(catalog, features, grouping, min_significance=min_significance)
    counts = {name: int(np.sum(table.y == name)) for name in grouping.names}
    for name, count in counts.items():
        if count < MIN_PER_CLASS:
            found = ", ".join(f"{other} {number}" for other, number in counts.items())
            raise ClassError(
                f"{catalog.source} has {count} sources of class '{name}' to learn from, at least {MIN_PER_CLASS} are "
                f"needed (found: {found}). Leave the class out or merge it with another (--classes), lower "
                "--min-significance, or learn from another catalogue (--train-on)."
            )
    return table[table.labelled]


def train(
    catalog: Catalog,
    estimator: NIMGPClassifier | None = None,
    *,
    features: str = "six",
    classes: str = "bll,fsrq,psr",
    min_significance: float | None = None,
    progress: Callable[[TrainingState], None] | None = None,
) -> TrainedModel:
    """Train a classifier on the sources of a catalogue that have a class.

    Parameters
    ----------
    catalog
        The training catalogue.
    estimator
        Unfitted; by default ``NIMGPClassifier()``. It is copied, not changed.
    features
        What :func:`fermiclass.features.parse_features` takes.
    classes
        A grouping of the catalogue's classes.
    min_significance
        Train only on sources with a larger Signif_Avg.
    progress
        Called with the state of training every few steps.

    Raises
    ------
    ClassError
        When a class has too few sources to learn from.
    FeatureError
        When the catalogue does not support a feature.
    """
    table = training_table(catalog, features=features, classes=classes, min_significance=min_significance)
    grouping = ClassGrouping.parse(classes)

    from sklearn.base import clone

    if estimator is None:
        from fermiclass.estimators import NIMGPClassifier

        estimator = NIMGPClassifier()
    fitted = clone(estimator).fit(table.X, table.y, X_var=table.X_var, progress=progress)
    return TrainedModel(
        estimator=fitted,
        features=tuple(feature.name for feature in table.features),
        grouping=grouping,
        imputation=table.imputation,
        domain=TrainingDomain.fit(table.X, table.X_var),
        provenance={
            "catalog": str(catalog.source),
            "sha256": str(catalog.sha256),
            "release": catalog.release.name,
            "min_significance": min_significance,
            "training_counts": {name: int(np.sum(table.y == name)) for name in grouping.names},
            "versions": _versions(),
        },
    )


def classify(
    catalog: Catalog,
    estimator: NIMGPClassifier | None = None,
    *,
    targets: str = "uncertain",
    train_on: Catalog | None = None,
    features: str = "six",
    classes: str = "bll,fsrq,psr",
    min_significance: float | None = None,
) -> Table:
    """Label the sources of a catalogue that lack a class, learning from those that have one.

    Parameters
    ----------
    catalog
        The catalogue to label.
    estimator, features, classes, min_significance
        As for :func:`train`.
    targets
        As for :meth:`TrainedModel.label`.
    train_on
        Another catalogue to learn from.

    Returns
    -------
    Table
        The label table, the same as the command ``fermiclass classify`` writes.
    """
    model = train(
        catalog if train_on is None else train_on,
        estimator,
        features=features,
        classes=classes,
        min_significance=min_significance,
    )
    return model.label(catalog, targets)


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("fermiclass", "gpflow", "tensorflow", "numpy", "astropy")}
