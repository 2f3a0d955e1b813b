"""The recipe: what to learn from and how, and how labels are made of it."""

from __future__ import annotations

import ast
import json
import re
import tomllib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self, TypedDict, Unpack

import numpy as np

from fermiclass.brought.column_names import idle
from fermiclass.brought.sources import CatalogLike, catalog_of
from fermiclass.catalog import TARGETS, THREE_CLASSES, Catalog, CatalogWarning, ClassGrouping
from fermiclass.catalog.time_bins import in_bins_of
from fermiclass.errors import CatalogError, ClassError, RecipeError, in_one_line
from fermiclass.features import (
    DEFAULT_FEATURE_SET,
    PAPER_MIN_SIGNIFICANCE,
    FeatureTable,
    extract_features,
    known_features,
)
from fermiclass.io.plain import typed
from fermiclass.labelling.class_priors import (
    DEFAULT_WAY,
    NUMBERS_KEY,
    WAY_KEY,
    WAYS,
    GroupPriors,
    check_class_priors,
    stated_priors,
)
from fermiclass.labelling.training_rows import training_rows
from fermiclass.nimgp.names import FULL_BATCH, PAPER_ESTIMATOR, PER_SOURCE
from fermiclass.nimgp.settings import FIELDS, Settings, described

#: Metadata of a label table: settings that are no single number or text, as JSON, and the evidence that was used.
OPTIONS_KEY, EVIDENCE_KEY = "options", "evidence"

#: Evidence of the class of an unassociated source beside its features: the class of a low-probability association, and
#: claimed blazars (:mod:`fermiclass.labelling.claims`).
EVIDENCE = ("class2", "claims")

#: What entries of a configuration file mean.
COMMENTS = {
    "features": "a set (six, extended, galactic, gas, paper), or names of features and columns",
    "classes": "classes to learn and what they contain, such as bll,fsrq,psr,other; without it, what each code can be",
    "min_significance": "learn only from sources with a larger Signif_Avg",
    "targets": "sources to label: unassociated, bcu, uncertain (both, and unk) or all",
    "class_priors": "trained, selection (corrected for the selection of AGN), or numbers by group and class",
    "also_share": "share of the unassociated sources of classes that no catalogue has",
    "evidence": "class2: the class of a low-probability association; claims: blazars of 3HSP; none",
    "settings": "the classifier: see NIMGPClassifier in the Python interface; 'none' is None",
    "settings.inputs": "how noiseless inputs are inferred",
    "settings.hyper": "hyper-parameters: where they start, and their priors",
    "settings.training": "how the objective is maximised",
}

ALSO_SHARE = 0.01  #: Share of the unassociated sources of classes that no catalogue has, where none is stated.

#: Settings of the estimator for catalogues, whatever the defaults of :class:`NIMGPClassifier`.
DEFAULT_SETTINGS: dict[str, Any] = {"method": "nimgp-fo", "objective": "predictive", "label_noise": 0.0}
DEFAULT_SETTINGS |= {"steps": 500, "learning_rate": 0.03}

#: Minibatches end at the same objective as all sources in every step, in a quarter of the time. The mean of the steps
#: and more draws make another seed change less.
_MINIBATCHES = {"batch_size": 512, "training": {"mean": True, "draw_pairs": 32}}
_ALL_ROWS = {name: FULL_BATCH[name] for name in _MINIBATCHES}


def default_settings(**given: Any) -> dict[str, Any]:
    """Return the parameters of the estimator for catalogues, with `given` ones."""
    settings = {**DEFAULT_SETTINGS, **given}
    return {**(_ALL_ROWS if settings["method"] in PER_SOURCE else _MINIBATCHES), **settings}


class Learning(TypedDict, total=False):
    """Fields of a recipe but the targets, as functions take them; None is not given."""

    features: str | None
    classes: str | ClassGrouping | None
    min_significance: float | None
    settings: Settings | None
    class_priors: str | GroupPriors | None
    also_share: float | None
    evidence: str | None


class Choices(Learning, total=False):
    """Fields of a recipe, as functions take them; None is not given."""

    targets: str | None


@dataclass(frozen=True)
class Recipe:
    """What to learn from and how, and how labels are made of it: with the same catalogues it gives the same labels.

    ``Recipe(features="six").with_settings(kernel="se")`` makes one, :meth:`paper` is that of the main paper, and a
    configuration file (:meth:`to_toml`) or the metadata of a label table (:meth:`from_meta`) give one back.
    """

    #: A set, such as six, extended or galactic, or names of features and numeric columns, separated by commas.
    features: str = DEFAULT_FEATURE_SET
    #: Grouping of the catalogue's classes, such as ``'bll,fsrq,psr'`` (:meth:`fermiclass.ClassGrouping.parse`); None is
    #: what each code can be.
    classes: str | None = None
    min_significance: float | None = None  #: Learn only from sources with a larger Signif_Avg; None for all.
    #: Settings of the classifier, with its seed.
    settings: Settings = field(default_factory=lambda: Settings(**default_settings()))
    targets: str = "uncertain"  #: Which sources are labelled: 'unassociated', 'bcu', 'uncertain' or 'all'.
    class_priors: str | GroupPriors = DEFAULT_WAY  #: Their class priors: a way, or numbers by group and class.
    #: Expected share of each class that no catalogue has (:func:`fermiclass.learn_also`) in the unassociated sources;
    #: None for 0.01 if there are any.
    also_share: float | None = None
    evidence: str = ",".join(EVIDENCE)  #: Some of :data:`EVIDENCE`, separated by commas, or none.

    def __post_init__(self) -> None:
        if self.targets not in TARGETS:
            raise ClassError(f"targets='{self.targets}' is unknown: choose one of {', '.join(TARGETS)}")
        if self.also_share is not None and not 0 < self.also_share < 1:
            raise ClassError(f"also_share={self.also_share} is not valid: give a share between 0 and 1")
        if isinstance(self.classes, ClassGrouping):
            object.__setattr__(self, "classes", self.classes.spec)
        if isinstance(self.class_priors, str) and self.class_priors not in WAYS:
            check_class_priors(self.class_priors, ())
        kinds = {"features": str, "classes": str | None, "settings": Settings, "evidence": str}
        for name, kind in kinds.items():
            if not isinstance(value := getattr(self, name), kind):
                expected = "with_settings changes them" if kind is Settings else getattr(kind, "__name__", "text")
                raise RecipeError(f"{name}={value!r} of a recipe is not valid: expected {expected}.")
        if self.evidence != "none" and not set(self.evidence.split(",")) <= {*EVIDENCE}:
            known = ", ".join(EVIDENCE)
            raise RecipeError(f"evidence={self.evidence!r} is not valid: expected some of {known}, or none")

    @property
    def used_evidence(self) -> tuple[str, ...]:
        """Those of :data:`EVIDENCE` that count."""
        return tuple(name for name in EVIDENCE if name in self.evidence.split(","))

    @classmethod
    def of(cls, recipe: Self | None, **changes: Unpack[Choices]) -> Self:
        """Return a recipe, the default one if it is None, with these fields changed; what is None is not given."""
        hint = "settings of the classifier are given as recipe=Recipe().with_settings(steps=500)"
        if not isinstance(recipe, cls | None):
            raise RecipeError(f"{recipe!r} is no recipe. Write features='six' in full; {hint}.")
        _refuse_unknown(changes, [each.name for each in fields(cls)], "field of a recipe", f"; {hint}.")
        given: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
        return replace(cls() if recipe is None else recipe, **given)

    @classmethod
    def paper(cls, **settings: Any) -> Self:
        """Return the recipe of Villacampa-Calvo et al. (2021), section 5, with `settings` of the classifier changed."""
        return cls(
            features="paper",
            classes=THREE_CLASSES,
            min_significance=PAPER_MIN_SIGNIFICANCE,
            settings=Settings(**PAPER_ESTIMATOR),
            class_priors="trained",
            evidence="none",
        ).with_settings(**settings)

    def with_settings(self, **given: Any) -> Self:
        """Return the recipe with settings of the classifier changed, such as ``method="nimgp"``.

        Another method comes with its own size of minibatches, if the recipe has the default one. Steps replace epochs.
        """
        _refuse_unknown(given, FIELDS, "setting")
        now, defaults = self.settings, Settings(**default_settings(method=self.settings.method))
        fresh = dict[str, Any]()
        if "method" in given and (now.batch_size, now.training) == (defaults.batch_size, defaults.training):
            fresh = _ALL_ROWS if given["method"] in PER_SOURCE else _MINIBATCHES
            given = fresh | given
        for name in ("inputs", "hyper", "training"):  # what is not given stays
            if isinstance(given.get(name), Mapping):
                given[name] = {**asdict(getattr(now, name)), **fresh.get(name, {}), **given[name]}
        if "steps" in given:
            given = {"epochs": None, **given}
        return replace(self, settings=replace(now, **given))

    # --- checks ------------------------------------------------------------------------------------------------------

    def check(self, catalog: CatalogLike, sources: CatalogLike | None = None) -> Checked:
        """Find every fault of the input before TensorFlow is imported, and return what was made for that.

        Features that none of the `sources`, which are to be labelled, has are left out of the recipe. Raises
        CatalogError, ClassError or FeatureError when a feature or class is unknown, a class has too few sources to
        learn from, class priors do not fit the classes, or there is nothing to label.
        """
        catalog, same = catalog_of(catalog), sources is None or sources is catalog
        sources = None if sources is None else catalog if same else catalog_of(sources, "sources")
        grouping = catalog.grouping(self.classes)
        if self.also_share is not None and not grouping.own:
            raise ClassError(f"also_share={self.also_share} has no effect without a class of your own: give --also")
        check_class_priors(self.class_priors, grouping.names)
        features, left_out = self.features, list[str]()
        if sources is not None:
            targets_of(sources, grouping, self.targets)
            if sources is not catalog:
                sources = in_bins_of(sources, catalog.release.name, catalog)
                features, left_out = known_features(features, catalog, sources)
        table = extract_features(catalog, features, grouping)
        rows = training_rows(catalog, table, grouping, min_significance=self.min_significance)
        further = np.zeros(len(catalog), bool) if catalog.further is None else catalog.further
        if len(untaught := np.setdiff1d(np.flatnonzero(further), rows.rows)):
            such = catalog.classes[untaught[0]]
            message = f"{len(untaught)} further sources teach nothing, such as one of class {such} (--also)"
            warnings.warn(message, CatalogWarning, stacklevel=3)
        weights, sets = self.settings.label_weights or {}, self.settings.label_sets or {}
        meant = {"label_weights": {*weights}, "label_sets": {name for names in sets.values() for name in names}}
        known = {*grouping.names, *grouping.sets, *rows.y.tolist()}
        for setting, words in meant.items():
            if odd := sorted(words - known - {*sets}):
                raise ClassError(f"{setting} has '{odd[0]}', which is no class: expected {', '.join(sorted(known))}")
        if unused := idle((sources or catalog).origin.columns, [each for f in table.features for each in f.columns]):
            message = f"--columns: {', '.join(unused)} not used, as no feature needs it. Name it, too (--features)"
            warnings.warn(message, CatalogWarning, stacklevel=3)
        names = ",".join(feature.name for feature in table.features)
        share = (self.also_share or ALSO_SHARE) if grouping.own else None
        resolved = replace(self, features=names, classes=grouping.spec, also_share=share)
        return Checked(
            resolved, catalog, grouping, table, rows, tuple(left_out), catalog if sources is None else sources
        )

    # --- as text -----------------------------------------------------------------------------------------------------

    def to_meta(self) -> dict[str, Any]:
        """Return the metadata of a label table that say how it was made; what is None or usual is absent."""
        settings = self.settings.to_json(objects=described)
        options = {name: value for name, value in settings.items() if isinstance(value, dict)}
        scalars = {name: value for name, value in sorted(settings.items()) if name not in options}
        way = {WAY_KEY: self.class_priors}
        if not isinstance(self.class_priors, str):
            way = {WAY_KEY: "given", NUMBERS_KEY: json.dumps(self.class_priors)}
        found = {
            "targets": self.targets,
            "classes": self.classes,
            **way,
            EVIDENCE_KEY: self.evidence,
            "min_significance": self.min_significance,
            "also_share": self.also_share,
            "features": self.features,
            **scalars,
            OPTIONS_KEY: json.dumps(options),
        }
        return {key: value for key, value in found.items() if value is not None}

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any], source: str = "the label table") -> Self:
        """Return the recipe of a label table with these metadata; `source` is its name in messages.

        Raises CatalogError when metadata are missing, or one is not valid.
        """
        needed = ("features", "classes", "targets", WAY_KEY, EVIDENCE_KEY, "method", "steps", OPTIONS_KEY)
        refuse_lacking(meta, needed, source)
        try:
            scalars = {name: plain_setting(meta[name]) for name in FIELDS if name in meta}
            settings = Settings.from_json(dict.fromkeys(FIELDS) | scalars | json.loads(str(meta[OPTIONS_KEY])))
            return cls(
                features=str(meta["features"]),
                classes=str(meta["classes"]),
                min_significance=plain_setting(meta.get("min_significance")),
                also_share=plain_setting(meta.get("also_share")),
                settings=without_class_sets(settings),
                targets=str(meta["targets"]),
                class_priors=stated_priors(meta) or str(meta[WAY_KEY]),
                evidence=str(meta[EVIDENCE_KEY]),
            )
        except (TypeError, ValueError, AttributeError, ClassError) as error:
            raise CatalogError(
                f"the settings in '{source}' cannot be used: {in_one_line(error)}. Label the sources again."
            ) from error

    def to_toml(self) -> str:
        """Return the recipe as the text of a configuration file, which ``--config`` reads.

        A setting that is None is 'none'. Raises RecipeError when one is an object that no text can hold.
        """
        import tomli_w

        content = {name: value for name, value in vars(self).items() if value is not None}
        try:
            text = tomli_w.dumps(content | {"settings": _swapped(self.settings.to_json(), None, "none")})
        except TypeError as error:
            raise RecipeError(f"the recipe cannot be written: {in_one_line(error)}.") from error
        entry = re.compile(r"^\[?([\w.]+)(?=\]$| = )", re.MULTILINE)
        return entry.sub(
            lambda found: f"# {COMMENTS[found[1]]}\n{found[0]}" if found[1] in COMMENTS else found[0], text
        )

    @classmethod
    def from_toml(cls, text: str, source: str = "the recipe") -> Self:
        """Return the recipe of a configuration file, in messages `source`; what is absent has its default.

        Raises RecipeError when it is no TOML, or an entry is unknown or not valid.
        """
        try:
            content = tomllib.loads(text)
            _refuse_unknown(content, [each.name for each in fields(cls)], "entry")
            given = _swapped(content.pop("settings", {}), "none", None)
            return typed(cls, content).with_settings(**given)
        except (TypeError, ValueError, AttributeError, RecursionError) as error:
            raise RecipeError(f"{source} cannot be used: {in_one_line(error).rstrip('.')}.") from error


def refuse_lacking(meta: Mapping[str, Any], needed: Sequence[str], source: str) -> None:
    """Raise CatalogError when metadata of labels are missing."""
    if missing := [key for key in needed if key not in meta]:
        raise CatalogError(
            f"'{source}' does not say how its labels were made: it lacks {', '.join(missing[:4])}"
            f"{' and more' if len(missing) > 4 else ''}. Give a table that 'fermiclass classify' wrote, in a "
            "format with metadata (any but .csv), or a model folder."
        )


def _refuse_unknown(content: Mapping[str, Any], known: Iterable[str], what: str, hint: str = "") -> None:
    if odd := [name for name in content if name not in set(known)]:
        raise RecipeError(f"unknown {what} '{odd[0]}', known are {', '.join(known)}{hint}")


def _swapped(content: Any, old: Any, new: Any) -> Any:
    """Return settings with another word for None, also within options."""
    if isinstance(content, Mapping):
        return {name: _swapped(value, old, new) for name, value in content.items()}
    return new if content is old or (isinstance(old, str) and content == old) else content


@dataclass(frozen=True, eq=False)
class Checked:
    """A recipe that a training catalogue supports, with what the check has made."""

    recipe: Recipe  #: With names of features and classes written out, without features that no source to label has.
    catalog: Catalog  #: The training catalogue.
    grouping: ClassGrouping  #: Its classes.
    table: FeatureTable  #: Features of all its sources.
    rows: FeatureTable  #: Features and labels of the sources to learn from.
    left_out: tuple[str, ...]  #: Features that were left out.
    sources: Catalog  #: The catalogue to label, with the time bins of the training catalogue.

    @property
    def of_one_class(self) -> FeatureTable:
        """The sources to learn from that have one class: none whose label stands for several, or is a guess."""
        return self.rows[np.isin(self.table.y[self.rows.rows], self.grouping.names)]

    def with_guesses(self, weight: float) -> Checked:
        """Return the same with another weight of labels that are guesses."""
        limit = self.recipe.min_significance
        rows = training_rows(self.catalog, self.table, self.grouping, min_significance=limit, guess=weight)
        return replace(self, rows=rows)


def targets_of(catalog: Catalog, grouping: ClassGrouping, targets: str) -> np.ndarray:
    """Return a mask ``(N,)`` of the sources to label: :meth:`Catalog.is_target`. Raises CatalogError if none is."""
    is_target = catalog.is_target(grouping, targets)
    if not np.any(is_target):
        raise CatalogError(
            f"{catalog} has nothing to label: none of its {len(catalog)} sources is {targets}, by CLASS1. "
            "Empty that column, or label all sources (--targets all)."
        )
    return is_target


def without_class_sets(settings: Settings) -> Settings:
    """Return settings without the label sets that training adds, such as ``bll|fsrq``."""
    sets = {label: names for label, names in (settings.label_sets or {}).items() if "|".join(names) != label}
    return replace(settings, label_sets=sets)


def plain_setting(text: Any) -> Any:
    """Return the number, truth value or None that the text of a setting stands for, else the text itself."""
    try:
        value = ast.literal_eval(str(text))
    except (ValueError, SyntaxError, RecursionError, MemoryError):  # the text may be anything
        return str(text)
    return value if isinstance(value, (int, float, bool, type(None))) else str(text)
