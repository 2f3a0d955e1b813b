"""A trained model with everything that it needs to label a catalogue."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fermiclass._version import __version__
from fermiclass.catalog import CLASS_TREE, Catalog, ClassGrouping
from fermiclass.catalog.releases import warn_of_other_priors
from fermiclass.errors import ClassError
from fermiclass.features import FeatureTable, Imputation, extract_features
from fermiclass.io.plain import plain_value
from fermiclass.labelling.class_priors import SHARES, ClassPriors, GroupShares, default_shares, statuses
from fermiclass.labelling.provenance import Provenance
from fermiclass.labelling.selection import SelectionPrior
from fermiclass.nimgp.domain import TrainingDomain

if TYPE_CHECKING:
    from astropy.table import Table

    from fermiclass.labelling.label_shift import Shares
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier
    from fermiclass.nimgp.prediction.predictor import Prediction

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A classifier with everything that it needs to label any catalogue.

    Attributes
    ----------
    estimator
        The fitted classifier.
    features
        Names of the features.
    grouping
        Grouping of the catalogue's classes.
    imputation
        Replacements of missing values, fitted on the training catalogue.
    domain
        Features of the training sources, for the out-of-distribution score.
    provenance
        Catalogue, checksum, release, counts, versions.
    selection
        Completeness of the associations in the training catalogue.
    """

    estimator: NIMGPClassifier
    features: tuple[str, ...]
    grouping: ClassGrouping
    imputation: Imputation
    domain: TrainingDomain
    provenance: Provenance = field(default_factory=Provenance)
    selection: SelectionPrior = field(default_factory=SelectionPrior)

    def with_selection(self, catalog: Catalog) -> TrainedModel:
        """Return the same model with the selection prior of its training catalogue, if the classes allow one."""
        if default_shares(self.grouping) != "selection":
            return self
        unassociated = catalog.classes == ""
        table = extract_features(catalog[unassociated], self.features, self.grouping, imputation=self.imputation)
        p = self._predict(table, None, None).probabilities
        of_agn = [set(self.grouping.members[name]) <= set(CLASS_TREE["agn"]) for name in self.classes]
        p_agn = np.zeros(len(catalog))
        p_agn[unassociated] = p[:, of_agn].sum(axis=1)
        return replace(self, selection=SelectionPrior.fit(catalog, p_agn))

    def label(
        self,
        catalog: Catalog,
        targets: str = "uncertain",
        *,
        shares: str | GroupShares | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Table:
        """Label the sources of a catalogue that lack a class.

        Parameters
        ----------
        catalog
            A catalogue of any release that has the model's features.
        targets
            ``'unassociated'``, ``'uncertain'`` (also bcu and unk, except training sources) or ``'all'``.
        shares
            Class priors of the sources to be labelled; by default as
            :func:`fermiclass.labelling.class_priors.default_shares` says. ``'selection'``: corrected for the selection
            of AGN (:class:`fermiclass.labelling.selection.SelectionPrior`). ``'trained'``: as among the training
            sources. ``'estimated'``: estimated by
            :meth:`estimate_shares` for the unassociated, bcu and unk sources of this catalogue, each group separately.
            ``'latitude'``: the same, with separate groups of unassociated sources near the Galactic plane
            ('unassociated low') and far from it ('unassociated high'). Or priors by group, such as
            ``{'unassociated': {'bll': 0.4, 'fsrq': 0.2, 'psr': 0.2, 'other': 0.2}}``; a group without priors keeps
            those of the training. With 'trained' and 'selection', a label does not depend on the other sources.
        progress
            Called with the number of sources done and of all.

        Returns
        -------
        Table
            The label table: one row for each target, in the catalogue's order. See
            :mod:`fermiclass.labelling.labels`.

        Raises
        ------
        ClassError
            When `targets` or `shares` is unknown, or the class priors do not fit the classes.
        CatalogError, FeatureError
            When the catalogue lacks GLAT for priors by latitude, or a feature of the model.
        """
        priors = self.class_priors(shares, [catalog])
        return self.label_sources(catalog, targets, priors, self.label_metadata(catalog, targets, priors), progress)

    def label_sources(
        self,
        catalog: Catalog,
        targets: str,
        priors: ClassPriors,
        meta: Mapping[str, Any],
        progress: Callable[[int, int], None] | None = None,
    ) -> Table:
        """Label as :meth:`label` does, with given class priors and metadata."""
        from fermiclass.labelling.labels import label_table

        sources = catalog[self.grouping.is_target(catalog.classes, targets)]
        _LOG.info("labelling %d of %d sources", len(sources), len(catalog))
        table = extract_features(sources, self.features, self.grouping, imputation=self.imputation)
        return label_table(
            sources,
            self.classes,
            self._predict(table, progress, self.ratios(sources, priors)),
            feature_flags=table.flags,
            ood_score=self.domain.score(table.X, table.X_var),
            meta=meta,
            tops=self.grouping.tops,
        )

    def class_priors(
        self,
        shares: str | GroupShares | None,
        parts: Iterable[Catalog],
        progress: Callable[[int, int], None] | None = None,
    ) -> ClassPriors:
        """Return the class priors of the sources to be labelled. Some are estimated from all parts of a catalogue.

        `shares` are those of :meth:`label`.

        Raises
        ------
        CatalogError
            When priors by latitude are asked for and the catalogue lacks GLAT.
        ClassError
            When the name of the way is unknown.
        """
        if shares is None:
            shares = default_shares(self.grouping)
        if not isinstance(shares, str):
            return ClassPriors("given", shares)
        if shares not in SHARES:
            raise ClassError(f"shares='{shares}' is unknown: choose one of {', '.join(SHARES)}, or give the shares")
        if shares == "trained":
            return ClassPriors()
        if shares == "selection":
            return ClassPriors(shares, selection=self.selection)
        groups = self.estimate_shares(parts, by_latitude=shares == "latitude", progress=progress)
        return ClassPriors(shares, groups)

    def estimate_shares(
        self,
        catalog: Catalog | Iterable[Catalog],
        *,
        by_latitude: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> dict[str, Shares]:
        """Estimate the class priors of a catalogue's unassociated, bcu and unk sources, each group separately.

        See :func:`fermiclass.labelling.label_shift.estimate_shares`. The estimates assume a closed world: every source
        belongs to one of the model's classes.

        Parameters
        ----------
        catalog
            A catalogue of any release that has the model's features, or its parts, such as a
            :class:`fermiclass.catalog.CatalogParts`.
        by_latitude
            Whether the unassociated sources are two groups, with ``|GLAT|`` below and from
            :data:`~fermiclass.labelling.class_priors.LATITUDE_EDGE`, because pulsars gather in the plane.
        progress
            Called with the number of sources done and of all in each part.

        Returns
        -------
        dict
            Shares by group, for the groups that the catalogue has.
        """
        from fermiclass.labelling.label_shift import estimate_shares

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
        counts = np.array([self.provenance.training_counts[name] for name in self.estimator.classes_], float)
        return counts / counts.sum()

    def ratios(self, sources: Catalog, priors: ClassPriors) -> NDArray[np.float64] | None:
        """Return the factors of the probabilities, ``(n, C)``; see :meth:`ClassPriors.ratios`."""
        return priors.ratios(sources, self.grouping, self.classes, self._training_shares)

    @property
    def classes(self) -> list[str]:
        """The C classes, in the order of the probabilities."""
        return [str(name) for name in self.estimator.classes_]

    def _predict(
        self,
        table: FeatureTable,
        progress: Callable[[int, int], None] | None,
        ratio: NDArray[np.float64] | None,
    ) -> Prediction:
        from fermiclass.nimgp.prediction.predictor import Prediction, join

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

    def label_metadata(self, catalog: Catalog, targets: str, priors: ClassPriors) -> dict[str, Any]:
        """Return the metadata of the label table: catalogue, model, settings, versions. A setting of None is absent.

        Warns
        -----
        CatalogWarning
            When the training catalogue was fitted with other priors than this one.
        """
        warn_of_other_priors(self.provenance.release, catalog.release, self.features)
        # Keys whose values may be long have 8 letters at most: FITS continues the cards of no others.
        entries = {
            "creator": f"fermiclass {__version__}",
            "catalog": str(catalog.source),
            "sha256": str(catalog.sha256),
            "release": catalog.release.name,
            "targets": targets,
            "train_on": self.provenance.catalog,
            "trainsha": self.provenance.sha256,
            "classes": str(self.grouping),
            "counts": self.provenance.counts_text(),
            **priors.to_meta(self.classes),
            "min_significance": self.provenance.min_significance,
            "features": ",".join(self.features),
            **dict(sorted(self.estimator.get_params().items())),
            "versions": self.provenance.versions_text(),
        }
        return {key: plain_value(value) for key, value in entries.items() if value is not None}
