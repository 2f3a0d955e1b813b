"""From a catalogue to labels: train on the sources that have a class, label those that have none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fermiclass._version import __version__
from fermiclass.catalog import Catalog, ClassGrouping
from fermiclass.domain import TrainingDomain
from fermiclass.errors import ClassError
from fermiclass.features import DEFAULT_FEATURE_SET, FeatureTable, Imputation, extract_features
from fermiclass.group_shares import (
    SHARES,
    SHARES_KEYS,
    GroupShares,
    default_shares,
    share_ratios,
    shares_text,
    statuses,
)

if TYPE_CHECKING:
    from astropy.table import Table

    from fermiclass.estimators import NIMGPClassifier
    from fermiclass.nimgp.prediction import Prediction
    from fermiclass.nimgp.training import TrainingState
    from fermiclass.shares import Shares

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
        self,
        catalog: Catalog,
        targets: str = "uncertain",
        *,
        shares: str | GroupShares = "trained",
        progress: Callable[[int, int], None] | None = None,
    ) -> Table:
        """Label the sources of a catalogue that lack a class.

        Parameters
        ----------
        catalog
            Of any release that has the model's features.
        targets
            ``'unassociated'``, ``'uncertain'`` (also bcu and unk, less what the model is trained on) or ``'all'``.
        shares
            Shares of the classes among the sources to be labelled, by status ('unassociated', 'bcu', 'unk'):
            ``'trained'``, as among the training sources, so that a source's label does not depend on the others;
            ``'estimated'``, by :meth:`estimate_shares` from this catalogue; ``'latitude'``, the same for unassociated
            sources near the Galactic plane ('unassociated low') and far from it ('unassociated high') apart; or given.
            A status without shares is left as trained.
        progress
            Called with the number of sources done and of all.

        Returns
        -------
        Table
            The label table, in the catalogue's order, without rows where nothing is to be labelled; see
            :mod:`fermiclass.labels`.
        """
        shares, groups = self.group_shares(shares, [catalog])
        meta = self.label_metadata(catalog, targets, shares, groups)
        return self.label_sources(catalog, targets, groups, meta, progress)

    def label_sources(
        self,
        catalog: Catalog,
        targets: str,
        groups: GroupShares,
        meta: Mapping[str, Any],
        progress: Callable[[int, int], None] | None = None,
    ) -> Table:
        """Label as :meth:`label` does, with shares of the groups and metadata that were made before."""
        from fermiclass.labels import label_table

        sources = catalog[self.grouping.is_target(catalog.classes, targets)]
        table = extract_features(sources, self.features, self.grouping, imputation=self.imputation)
        return label_table(
            sources,
            list(self.estimator.classes_),
            self._predict(table, progress, self.ratios(sources, groups)),
            feature_flags=table.flags,
            ood_score=self.domain.score(table.X, table.X_var),
            meta=meta,
        )

    def group_shares(
        self,
        shares: str | GroupShares,
        parts: Iterable[Catalog],
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[str, GroupShares]:
        """Return the way the shares are chosen, and the shares by status, estimated from all parts of a catalogue.

        Raises
        ------
        CatalogError
            When shares by latitude are wanted of a catalogue without GLAT.
        ClassError
            When there is no such way.
        """
        if not isinstance(shares, str):
            return "given", shares
        if shares not in SHARES:
            raise ClassError(f"shares='{shares}' is unknown: choose one of {', '.join(SHARES)}, or give the shares")
        if shares == "trained":
            return shares, {}
        return shares, self.estimate_shares(parts, by_latitude=shares == "latitude", progress=progress)

    def estimate_shares(
        self,
        catalog: Catalog | Iterable[Catalog],
        *,
        by_latitude: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> dict[str, Shares]:
        """Estimate the classes' shares among a catalogue's unassociated, bcu and unk sources, each group for itself.

        See :func:`fermiclass.shares.estimate_shares`. What it finds holds for a closed world: every source is taken to
        be of one of the model's classes.

        Parameters
        ----------
        catalog
            Of any release that has the model's features; or its parts, such as a
            :class:`fermiclass.catalog.CatalogParts`.
        by_latitude
            Whether unassociated sources with ``|GLAT|`` below and from
            :data:`~fermiclass.group_shares.LATITUDE_EDGE` are groups of their own, as pulsars gather in the plane.
        progress
            Called with the number of sources done and of all, of each part.

        Returns
        -------
        dict
            By status, as far as the catalogue has sources of it.
        """
        from fermiclass.shares import estimate_shares

        probabilities, status = [], []
        for part in [catalog] if isinstance(catalog, Catalog) else catalog:
            sources = part[self.grouping.is_target(part.classes, "uncertain")]
            table = extract_features(sources, self.features, self.grouping, imputation=self.imputation)
            probabilities.append(self._predict(table, progress, None).probabilities)
            status.append(statuses(sources, by_latitude=by_latitude))
        p, of_source = np.concatenate(probabilities), np.concatenate(status)
        return {
            str(name): estimate_shares(p[of_source == name], self._training_shares())
            for name in dict.fromkeys(of_source.tolist())
        }

    def _training_shares(self) -> NDArray[np.float64]:
        counts = np.array([self.provenance["training_counts"][name] for name in self.estimator.classes_], float)
        return counts / counts.sum()

    def ratios(self, sources: Catalog, groups: GroupShares) -> NDArray[np.float64] | None:
        """Return what probabilities are multiplied by for the shares of the groups, ``(n, C)``, None for no groups.

        Raises
        ------
        ClassError
            When the shares name other groups or classes, or both a group and a part of it.
        """
        if not groups:
            return None
        classes = [str(name) for name in self.estimator.classes_]
        return share_ratios(sources, groups, classes, self._training_shares())

    def _predict(
        self,
        table: FeatureTable,
        progress: Callable[[int, int], None] | None,
        ratio: NDArray[np.float64] | None,
    ) -> Prediction:
        from fermiclass.nimgp.prediction import Prediction, join

        if not len(table):
            none, no_rows = np.empty(0), np.empty((0, len(self.estimator.classes_)))
            return Prediction(no_rows, no_rows, entropy=none, information=none, noise_entropy=none)
        blocks = []
        done = 0
        for block in self.estimator.predict_blocks(table.X, X_var=table.X_var, ratio=ratio):
            blocks.append(block)
            done += len(block.entropy)
            if progress is not None:
                progress(done, len(table))
        return join(blocks)

    def label_metadata(self, catalog: Catalog, targets: str, shares: str, groups: GroupShares) -> dict[str, Any]:
        """Return the metadata of the label table: catalogue, model, settings, versions."""

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
            "shares": shares,
            **{SHARES_KEYS[name]: shares_text(of_group, self.estimator.classes_) for name, of_group in groups.items()},
            "min_significance": str(self.provenance.get("min_significance")),
            "features": ",".join(self.features),
            **{key: str(value) for key, value in sorted(self.estimator.get_params().items())},
            "versions": listed("versions"),
        }


def training_table(
    catalog: Catalog,
    *,
    features: str = DEFAULT_FEATURE_SET,
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
    features: str = DEFAULT_FEATURE_SET,
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
        domain=TrainingDomain.fit(table.X, table.X_var, table.y),
        provenance={
            "catalog": str(catalog.source),
            "sha256": str(catalog.sha256),
            "release": catalog.release.name,
            "min_significance": min_significance,
            "training_counts": {name: int(np.sum(table.y == name)) for name in grouping.names},
            "versions": versions(),
        },
    )


def classify(
    catalog: Catalog,
    estimator: NIMGPClassifier | None = None,
    *,
    targets: str = "uncertain",
    train_on: Catalog | None = None,
    features: str = DEFAULT_FEATURE_SET,
    classes: str = "bll,fsrq,psr",
    min_significance: float | None = None,
    shares: str | GroupShares | None = None,
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
    shares
        As for :meth:`TrainedModel.label`; by default those of
        :func:`fermiclass.group_shares.default_shares`.
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
    return model.label(catalog, targets, shares=default_shares(model.grouping) if shares is None else shares)


def versions() -> dict[str, str]:
    """Return those of what a model is made with."""
    from importlib.metadata import version

    return {name: version(name) for name in ("fermiclass", "gpflow", "tensorflow", "numpy", "astropy")}
