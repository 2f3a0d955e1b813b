"""A model of a catalogue: the trained classifier with everything that it needs to label a catalogue."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from astropy.table import Table
from numpy.typing import NDArray

from fermiclass._version import __version__
from fermiclass.brought.candidates import Candidates
from fermiclass.brought.sources import CatalogLike, catalog_of
from fermiclass.catalog import CLASS_TREE, Catalog, ClassGrouping
from fermiclass.catalog.origin import Origin
from fermiclass.catalog.releases import CatalogWarning, warn_of_other_release
from fermiclass.catalog.time_bins import in_bins_of
from fermiclass.errors import FeatureError, ModelFolderError
from fermiclass.features import FeatureTable, Imputation, extract_features
from fermiclass.io import FloatArray
from fermiclass.io.plain import typed
from fermiclass.io.target_lists import ELLIPSE, PLACE, angles
from fermiclass.labelling.associations import Associations, SecondAssociations, SelectionPrior, of_release
from fermiclass.labelling.claims import Claims, add_claims
from fermiclass.labelling.class_priors import DEFAULT_WAY, NUMBERS_KEY, GroupPriors, check_class_priors, given_ratios
from fermiclass.labelling.counterparts import add_counterparts, kinds_of_classes, of_those, one_or_several, weigh
from fermiclass.labelling.exposure import exposure_ratio, in_other_exposure
from fermiclass.labelling.labels import FLAG_IN_DOUBT, LABELLED, META_KEYS, TRAINED_ON, label_table
from fermiclass.labelling.recipe import EVIDENCE, Recipe, targets_of, without_class_sets
from fermiclass.labelling.unknown_values import average, complete, doubted, find_companions
from fermiclass.nimgp.domain import TrainingDomain
from fermiclass.nimgp.prediction.prediction import Prediction, join

if TYPE_CHECKING:
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier
    from fermiclass.nimgp.estimators.fitted import Fitted

_LOG = logging.getLogger(__name__)

#: Places, probabilities of kinds, status and factors of claims of N sources: what :func:`weigh` takes.
_Sky = tuple[Table, FloatArray, NDArray[np.str_], FloatArray]

_EM_STEPS = 100  # more than the shares need to settle


@dataclass(frozen=True)
class Provenance:
    """What a model learned from, and with which packages."""

    origin: Origin = field(default_factory=Origin)  #: The training catalogue, with what was brought in.
    #: Number of training sources of each label: a class, or several (``bll|fsrq``), and a weight behind ``@``.
    training_counts: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)  #: Versions of the packages.
    left_out: tuple[str, ...] = ()  #: Features that were left out, as no source to label has them.


@dataclass(frozen=True, eq=False)
class CatalogModel:
    """A classifier with everything that it needs to label any catalogue."""

    fitted: Fitted  #: What was learned, which predicts.
    recipe: Recipe  #: What it learned from and how, with the names of features and classes written out.
    imputation: Imputation  #: Replacements of missing values, fitted on the training catalogue.
    domain: TrainingDomain  #: Features of the training sources, for the out-of-distribution score.
    provenance: Provenance = field(default_factory=Provenance)  #: Training catalogue, counts, versions.
    selection: SelectionPrior = field(default_factory=SelectionPrior)  #: Completeness of associations in the training.
    #: What CLASS2 says of a source without an association, and what claimed blazars say.
    second: SecondAssociations = field(default_factory=SecondAssociations)
    claims: Claims = field(default_factory=Claims)

    @cached_property
    def estimator(self) -> NIMGPClassifier:
        """The fitted classifier, with the interface of scikit-learn."""
        from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

        return NIMGPClassifier.of(self.fitted)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of the D features."""
        return tuple(self.recipe.features.split(","))

    @cached_property
    def grouping(self) -> ClassGrouping:
        """Grouping of the catalogue's classes."""
        return ClassGrouping.parse(self.recipe.classes or "")

    @property
    def classes(self) -> list[str]:
        """The C classes, in the order of the probabilities."""
        return [str(name) for name in self.fitted.target.classes]

    @property
    def training_shares(self) -> FloatArray:
        """Shares of the C classes in the weights of the training sources, NaN if not known: the fixed point of EM."""
        return self._shares()

    def _shares(self, labels: Collection[str] | None = None) -> FloatArray:
        """Return the shares in the weights of the training sources of one class and of other labels, by default all."""
        learned: dict[str, float] = {}
        for word, count in self.provenance.training_counts.items():
            label, _, weight = word.partition("@")
            learned[label] = learned.get(label, 0.0) + count * float(weight or 1.0)
        counts = np.array([learned.get(name, np.nan) for name in self.classes])
        others = [label for label in learned if label not in self.classes and (labels is None or label in labels)]
        sets = {label: np.isin(self.classes, label.split("|")) for label in others}
        shares = counts / counts.sum()
        for _ in range(_EM_STEPS):
            of_sets = [learned[label] * inside * shares / shares[inside].sum() for label, inside in sets.items()]
            total = counts + np.sum(of_sets, axis=0)
            shares = total / total.sum()
        return shares

    @cached_property
    def own_factors(self) -> FloatArray:
        """Factors ``(C,)`` of the K classes that no catalogue has, by which their odds are ``s / (K (1 − s))``."""
        own, trained = self._is_own, self.training_shares
        share = self.recipe.also_share or 0.0
        return np.where(own, share / (1.0 - share) / max(own.sum(), 1) * trained[~own].sum() / trained, 1.0)

    @property
    def _is_own(self) -> NDArray[np.bool_]:
        return np.isin(self.classes, self.grouping.own)

    def _mass(self) -> float:
        """Return how much the selection prior r raises the total of the other classes, ``Σ_c π_c E[r_c] / Σ_c π_c``."""
        known, own = of_release(self.provenance.origin.release), self._is_own
        if known is None or self.selection == SelectionPrior():
            return 1.0
        others = self.training_shares[~own & ~self.grouping.of_agn(self.classes)].sum()
        return float(others / self.training_shares[~own].sum() / (1.0 - self._fraction_of_agn(known)))

    def _fraction_of_agn(self, known: Associations) -> float:
        """Return the fraction of AGN among unassociated sources of the kinds that the classes of the model have."""
        agn = self.grouping.of_agn(self.classes)
        rest = {code for name in np.array(self.classes)[~agn].tolist() for code in self.grouping.members[name]}
        kinds = [kind for kind in known.fractions if kind == "agn" or not rest.isdisjoint(CLASS_TREE[kind])]
        return known.fractions["agn"] / sum(known.fractions[kind] for kind in kinds)

    def associations(self, catalog: Catalog, table: FeatureTable) -> Associations:
        """Return what the associations of the training catalogue, in features `table`, say by the model's own P."""
        bare, p = catalog.classes == "", self._of_bare(catalog, table)
        of_agn = self.grouping.of_agn(self.classes)
        p_agn = np.zeros(len(catalog))
        p_agn[bare] = p[:, of_agn].sum(axis=1)
        members = self.grouping.members
        of_one = [k for k, names in self.grouping.sets.items() if set.intersection(*(set(members[n]) for n in names))]
        shares = self._shares(of_one)
        share = shares[of_agn].sum() / shares[~self._is_own].sum()
        selection = SelectionPrior.fit(catalog, p_agn, share / (1.0 - share))
        corrected = p * selection.ratios(catalog[bare], self.grouping, self.classes)
        mean = (corrected / corrected.sum(axis=1, keepdims=True)).mean(axis=0) if len(p) else np.zeros(p.shape[1])
        fractions = {kind: float(mean[self.grouping.within(kind, self.classes)].sum()) for kind in CLASS_TREE}
        claims = Claims.fit(catalog, corrected[:, of_agn].sum(axis=1) / corrected.sum(axis=1))
        return Associations(selection, SecondAssociations.fit(catalog, fractions), claims, fractions)

    def expecting(self, known: Associations, catalog: Catalog, table: FeatureTable) -> SelectionPrior:
        """Return the selection prior with which the model expects as many AGN in its training catalogue as known.

        `table` has the features of all sources of the catalogue.
        """
        fraction = self._fraction_of_agn(known)
        p_agn = self._of_bare(catalog, table)[:, self.grouping.of_agn(self.classes)].sum(axis=1)
        columns = {column for feature in table.features for column in feature.columns}
        return known.selection.expecting(fraction, p_agn, catalog[catalog.classes == ""], columns)

    def with_reference(self, factor: float) -> CatalogModel:
        """Return the model with S₀ of its class priors multiplied by a factor."""
        selection = replace(self.selection, reference=self.selection.reference * factor)
        return replace(self, selection=selection)

    def _of_bare(self, catalog: Catalog, table: FeatureTable) -> FloatArray:
        """Return the probabilities of the unassociated sources, as trained, ``(n, C)``, of classes of the catalogue."""
        p = self.predict(table[catalog.classes == ""]).probabilities
        known = np.where(self._is_own, 0.0, p)
        return known / known.sum(axis=1, keepdims=True) if self.grouping.own else p

    def label(
        self,
        catalog: CatalogLike,
        targets: str | None = None,
        *,
        class_priors: str | GroupPriors | None = None,
        evidence: str | None = None,
        counterparts: Candidates | Sequence[Candidates] = (),
        teachers: Catalog | None = None,
        table: FeatureTable | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Table:
        """Label the sources of a catalogue that lack a class.

        Parameters
        ----------
        catalog
            A catalogue of any release that has the model's features.
        targets
            ``'unassociated'``, ``'bcu'``, ``'uncertain'`` (these and unk, except training sources) or ``'all'``. By
            default that of the model's recipe; so with `class_priors` and `evidence`.
        class_priors
            ``'selection'``: corrected for the selection of AGN
            (:class:`fermiclass.labelling.associations.SelectionPrior`). ``'trained'``: as among the training sources.
            Or numbers by group, such as ``{'unassociated': {'bll': 0.4, 'fsrq': 0.2, 'psr': 0.2, 'other': 0.2}}``; the
            groups are unassociated, bcu and unk, and a group without numbers keeps the priors of the training.
        evidence
            What counts beside the features: ``'class2'``, the class of a low-probability association
            (:class:`fermiclass.labelling.associations.SecondAssociations`), and ``'claims'``, blazars that others claim
            (:class:`fermiclass.labelling.claims.Claims`), separated by commas; or ``'none'``.
        counterparts
            Tables of objects, one of which may be a source without an association, as evidence of its class
            (:mod:`fermiclass.labelling.counterparts`).
        teachers
            A further catalogue, such as that of the training, whose unassociated sources teach what counterparts say.
        table
            The features of all sources of the catalogue, imputed as the model's, to save time.
        progress
            Called with the number of sources done and of all.

        Returns
        -------
        Table
            The label table: one row for each target, in the catalogue's order. A label does not depend on the other
            sources; what counterparts say is learned from all unassociated ones of `catalog` and `teachers`. Features
            that are not known are averaged over: :mod:`fermiclass.labelling.unknown_values`.

        Raises
        ------
        ClassError
            When `targets` or `class_priors` is unknown, or the class priors do not fit the classes.
        CatalogError
            When the catalogue has no such sources.
        FeatureError
            When the catalogue has none of the model's features; a CatalogWarning when it lacks some.
        """
        catalog = catalog_of(catalog)
        tables = one_or_several(counterparts)
        recipe = Recipe.of(self.recipe, targets=targets, class_priors=class_priors, evidence=evidence)
        check_class_priors(recipe.class_priors, self.classes)
        is_target = targets_of(catalog, self.grouping, recipe.targets)
        meta = self._metadata(catalog, recipe)
        judged = is_target
        if tables:  # what they say is learned from all unassociated sources, whichever are to be labelled
            judged = is_target | catalog.is_target(self.grouping, "unassociated")
        sources = catalog[judged]
        _LOG.info("labelling %d of %d sources", is_target.sum(), len(catalog))
        features = self.features_of(sources) if table is None else complete(self.domain, table[judged])
        claims = self.claims if "claims" in recipe.used_evidence else Claims()
        by_claims, claimed = claims.of(sources, tables)
        ratios = self._ratios_without_claims(sources, recipe)
        shares = self.training_shares * self.own_factors
        in_doubt = np.zeros(len(sources), bool) if sources.in_doubt is None else sources.in_doubt
        in_doubt = in_doubt | in_other_exposure(exposure_ratio(self.domain, self.features, catalog), catalog)

        def predict(ratios: FloatArray | None) -> Prediction:
            found = self.predict(features, ratios=ratios, progress=progress)
            return doubted(found, in_doubt, shares if not self.grouping.own else shares / shares.sum())

        prediction = before = predict(ratios)
        if tables or claims:
            of_kind = kinds_of_classes(self.grouping, self.classes)
            p = before.probabilities @ of_kind
            factors = by_claims
            if tables:
                sky = sources.table, p, sources.status, by_claims
                if teachers is not None:
                    more = teachers[~np.isin(teachers.names, sources.names)]
                    sky = self._with_teachers(sky, sources.names, more, recipe, claims.of(more, tables)[0])
                factors, strengths = weigh(tables, *sky)
                factors = factors[: len(sources)]
            of_class = factors[:, of_kind.argmax(axis=1)]
            prediction = predict(of_class if ratios is None else ratios * of_class)
        labels = label_table(
            sources,
            self.classes,
            prediction,
            feature_flags=features.flags | FLAG_IN_DOUBT * in_doubt,
            ood_score=self.domain.score(features.X, features.X_var),
            meta=meta,
            tops=self.grouping.tops,
        )
        if claims:
            agn = before.probabilities[:, self.grouping.of_agn(self.classes)].sum(axis=1)
            add_claims(labels, by_claims, claimed, agn)
        if tables:
            gamma = dict(zip(self.classes, before.probabilities.T, strict=True))
            add_counterparts(labels, tables, strengths, gamma, of_those(factors, p, strengths))
        return labels[is_target[judged]]

    def _ratios_without_claims(self, sources: Catalog, recipe: Recipe) -> FloatArray | None:
        rest = [name for name in recipe.used_evidence if name != "claims"]
        return self.ratios(sources, recipe.class_priors, rest)

    def _with_teachers(
        self, sky: _Sky, names: NDArray[np.str_], more: Catalog, recipe: Recipe, claims: FloatArray
    ) -> _Sky:
        """Return places, probabilities, status and factors of claims of sources, `names`, and of those that teach."""
        placed, p, status, by_claims = sky
        ratios = self._ratios_without_claims(more, recipe)
        taught = self.predict(self.features_of(more), ratios=ratios).probabilities
        both = Table({x: np.append(angles(placed, x), angles(more.table, x)) for x in (*PLACE, *ELLIPSE)})
        both["Source_Name"] = np.append(names, more.names)
        p = np.vstack([p, taught @ kinds_of_classes(self.grouping, self.classes)])
        return both, p, np.append(status, more.status), np.vstack([by_claims, claims])

    def features_of(self, catalog: Catalog) -> FeatureTable:
        """Return the model's features of all sources of a catalogue; see :meth:`label` for what it lacks."""
        if any("Variability_Index" in name for name in self.features):
            catalog = in_bins_of(catalog, self.provenance.origin.release)
        table = extract_features(catalog, self.features, self.grouping, imputation=self.imputation, unknown=True)
        none = np.flatnonzero(table.imputed_value.all(axis=0))
        lacking = [table.features[j].name for j in none]
        if len(catalog) and len(lacking) == len(self.features):
            raise FeatureError(f"{catalog} has none of the model's features: {', '.join(lacking)}.")
        absent = [f.name for f in table.features if f.name in lacking and f.missing(catalog)]
        if absent:
            warnings.warn(
                f"{catalog} lacks features of the model: {', '.join(absent)}. Its labels average over them; "
                "a model without them is as good and faster: classify with --train-on in place of --model",
                CatalogWarning,
                stacklevel=3,
            )
        return complete(self.domain, table)

    def ratios(
        self, sources: Catalog, class_priors: str | GroupPriors = DEFAULT_WAY, evidence: Collection[str] = EVIDENCE
    ) -> FloatArray | None:
        """Return the factors of the probabilities, ``(n, C)``: class priors times evidence, as in :meth:`label`.

        None for no correction.
        """
        ratios: FloatArray | None = None
        if class_priors == "selection":
            raised = (sources.classes == "")[:, None] & self._is_own
            ratios = self.selection.ratios(sources, self.grouping, self.classes) * self.own_factors
            ratios *= np.where(raised, self._mass(), 1.0)
        elif not isinstance(class_priors, str):
            given = given_ratios(class_priors, sources.status, self.classes, self.training_shares)
            ratios = np.where(np.isin(sources.status, [*class_priors])[:, None], given, self.own_factors)
        elif self.grouping.own:
            ratios = np.tile(self.own_factors, (len(sources), 1))
        said: tuple[SecondAssociations | Claims, ...] = (self.second, self.claims)
        for name, found in zip(EVIDENCE, said, strict=True):
            if name in evidence and found:
                factors = found.factors(sources, self.grouping, self.classes)
                ratios = factors if ratios is None else ratios * factors
        return ratios

    def predict(
        self,
        table: FeatureTable,
        *,
        ratios: FloatArray | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Prediction:
        """Predict the sources of a feature table, with factors of their probabilities, ``(n, C)``."""
        if not len(table):
            none, no_rows = np.empty(0), np.empty((0, len(self.classes)))
            return Prediction(no_rows, no_rows, entropy=none, information=none, noise_entropy=none)
        unknown = table.imputed_value.any(axis=1)
        rows, complete = np.flatnonzero(unknown), np.flatnonzero(~unknown)
        X, X_var, of = table.X[complete], table.X_var[complete], complete
        if len(rows):
            some, filled = table[rows], self.imputation.medians
            companions = find_companions(self.domain, some.X, some.X_var, some.imputed_value, filled, some.upper)
            K = companions.weights.shape[1]
            X, X_var = (
                np.concatenate([known, of_companions.reshape(len(rows) * K, -1)])
                for known, of_companions in ((X, companions.X), (X_var, companions.X_var))
            )
            of = np.concatenate([complete, np.repeat(rows, K)])
        blocks, done = [], 0
        for block in self.fitted.blocks(X, X_var, ratio=None if ratios is None else ratios[of]):
            blocks.append(block)
            done += len(block.entropy)
            if progress is not None:
                progress(done * len(table) // len(X), len(table))
        predicted = join(blocks)
        if not len(rows):
            return predicted
        both = [predicted.take(np.arange(len(complete)))] if len(complete) else []
        those = predicted.take(np.arange(len(complete), len(X)))
        both.append(average(companions.weights, those, None if ratios is None else ratios[rows]))
        return join(both).take(np.argsort(np.concatenate([complete, rows])))

    def _metadata(self, catalog: Catalog, recipe: Recipe) -> dict[str, Any]:
        """Return the metadata of the label table, after a warning of a training catalogue of another exposure."""
        about = self.provenance
        warn_of_other_release(about.origin.release, catalog.release, self.features)
        learned = replace(recipe, settings=self.fitted.settings)
        found = {
            "creator": f"fermiclass {__version__}",
            **catalog.origin.to_meta(*LABELLED),
            **about.origin.to_meta(*TRAINED_ON),
            "counts": ",".join(f"{name}={count}" for name, count in about.training_counts.items()),
            **learned.to_meta(),
            "versions": ",".join(f"{name}={version}" for name, version in about.versions.items()),
        }
        if recipe.class_priors == "selection" and (numbers := self.selection.to_dict()):
            found[NUMBERS_KEY] = json.dumps(numbers)
        if "class2" in recipe.used_evidence:
            found["class2"] = json.dumps(dict(self.second.chance))
        if "claims" in recipe.used_evidence:
            found["claims"] = self.claims.completeness
        if about.left_out:
            found["leftout"] = ",".join(about.left_out)
        return {key: found[key] for key in dict.fromkeys([*META_KEYS, *found]) if key in found}

    # --- on disk -----------------------------------------------------------------------------------------------------

    def to_entries(self) -> dict[str, Any]:
        """Return what a model folder has beside classifier and domain, as JSON holds it."""
        return {
            "recipe": {name: value for name, value in vars(self.recipe).items() if name != "settings"},
            "imputation": asdict(self.imputation),
            "provenance": asdict(self.provenance),
            "selection": self.selection.to_dict(),
            "second": dict(self.second.chance),
            "claims": self.claims.completeness,
        }

    @classmethod
    def from_entries(cls, entries: Mapping[str, Any], fitted: Fitted, domain: TrainingDomain | None) -> CatalogModel:
        """Return the model with the entries of :meth:`to_entries`. Raises ValueError when they do not fit together."""
        if domain is None:
            raise ValueError("it has no domain")
        settings = without_class_sets(fitted.settings)
        recipe = typed(Recipe, {**entries["recipe"], "settings": settings})
        imputation = typed(Imputation, entries["imputation"])
        model = cls(
            fitted=fitted,
            recipe=recipe,
            imputation=imputation,
            domain=domain,
            provenance=typed(Provenance, entries["provenance"]),
            selection=typed(SelectionPrior, entries["selection"]),
            second=SecondAssociations(typed(Mapping[str, float], entries["second"], "second")),
            claims=Claims(typed(float, entries["claims"], "claims")),
        )
        check_class_priors(recipe.class_priors, model.classes)
        if model.classes != sorted(model.grouping.names):
            raise ValueError(f"its classes are {', '.join(model.classes)}, but '{model.grouping}' makes other groups")
        if imputation.names != model.features:
            raise ValueError(f"it imputes {', '.join(imputation.names)}, but has the features {recipe.features}")
        return model


def origin_of(entries: Mapping[str, Any]) -> Origin:
    """Return the training catalogue of :meth:`CatalogModel.to_entries`, or raise ModelFolderError."""
    try:
        return typed(Origin, entries["provenance"]["origin"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFolderError(
            f"the model does not name its training catalogue ({error!r}). Train it again."
        ) from error
