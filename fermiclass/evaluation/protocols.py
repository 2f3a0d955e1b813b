"""Protocols: each chooses sources to learn from, and sources to score whose class is known some other way."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from fermiclass.catalog import CLASS_TREE, NATURES, Catalog, has_two_kinds, natures_of
from fermiclass.catalog.catalog import LATITUDE_EDGE
from fermiclass.catalog.classes import CHANCE_CODES
from fermiclass.errors import CatalogError, ClassError, SelectionError
from fermiclass.evaluation.crossmatch import UNMATCHED, match_sources
from fermiclass.evaluation.methods import Split, factors_of
from fermiclass.evaluation.metrics import Truth, known
from fermiclass.features import extract_features, parse_features
from fermiclass.io import FloatArray
from fermiclass.labelling.lasting import PARTS, part_of_sky
from fermiclass.labelling.recipe import EVIDENCE, Checked, Learning, Recipe

#: The groups that are told apart in the open world, whose classes are :data:`fermiclass.catalog.NATURES`.
OPEN_GROUPS: Mapping[str, tuple[str, ...]] = {"agn": ("bll", "fsrq"), "pulsar": ("psr", "msp"), "other": ("other",)}


@dataclass(frozen=True, eq=False)
class Population:
    """Some of the predicted sources, and what is told apart among them."""

    mask: NDArray[np.bool_]  #: (N,) which sources.
    groups: Mapping[str, tuple[str, ...]]  #: The classes of each group, whose probabilities sum to 1.
    heading: str  #: Its name in printed tables.
    truth: Truth | None = None  #: (N, C) another reading of the truth than that of the targets, if there is one.


@dataclass(frozen=True, eq=False)
class Targets:
    """The N sources that a protocol predicts, and what is known of them."""

    catalog: str  #: Name of the catalogue that gives the features.
    protocol: str  #: Short name.
    description: str  #: A sentence.
    classes: tuple[str, ...]  #: The C classes.
    truth: Truth  #: (N, C): true for each class that a source may have, all where nothing is known.
    names: NDArray[np.str_]  #: (N,) Source_Name.
    status: NDArray[np.str_]  #: (N,) class in the catalogue, '' for no association.
    significance: FloatArray  #: (N,) Signif_Avg.
    low: NDArray[np.bool_]  #: (N,) whether the source is closer than 10 degrees to the Galactic plane.
    populations: Mapping[str, Population]  #: What is scored, by name. The first is ``'all'``.
    #: For each training, the sources to learn from and those to predict, with their places among the N.
    splits: Sequence[tuple[Split, NDArray[np.intp]]]
    floor: float = 1e-5  #: Smaller probabilities count as this.
    later: str = ""  #: Name of the catalogue that gives the classes, if it is another one.
    together: tuple[str, ...] = ()  #: Groups of the populations that are counted together, too.
    meta: Mapping[str, Any] = field(default_factory=dict)  #: Numbers and choices to write.
    #: (N, C) factors of the default's probabilities, which those of any method could have; None if it has none.
    factors: FloatArray | None = None

    @property
    def scored(self) -> NDArray[np.intp]:
        """Places of the n sources of the population ``'all'`` of which something is known."""
        return self.scored_of("all")

    def scored_of(self, population: str) -> NDArray[np.intp]:
        """Return the places of the sources of a population of which something is known."""
        return np.flatnonzero(self.populations[population].mask & known(self.truth_of(population)))

    def truth_of(self, population: str) -> Truth:
        """Return the truth of all sources in terms of a population's groups, ``(N, G)``."""
        chosen = self.populations[population]
        truth = self.truth if chosen.truth is None else chosen.truth
        return np.stack([truth[:, self._columns(members)].any(axis=1) for members in chosen.groups.values()], axis=1)

    def grouped(self, p: FloatArray, population: str) -> FloatArray:
        """Return probabilities (N, C) in terms of a population's groups, ``(N, G)``, not below `floor`."""
        groups = self.populations[population].groups.values()
        sums = np.stack([p[:, self._columns(members)].sum(axis=1) for members in groups], axis=1)
        clipped = np.clip(sums, self.floor, 1.0)
        return np.asarray(clipped / clipped.sum(axis=1, keepdims=True))

    def _columns(self, members: Sequence[str]) -> list[int]:
        return [self.classes.index(name) for name in members]


def open_world(
    earlier: Catalog,
    later: Catalog,
    recipe: Recipe | None = None,
    *,
    targets: str = "unassociated",
    cells: str = "all",
    radius_deg: float = 0.15,
    **changes: Unpack[Learning],
) -> Targets:
    """Train on the associated sources of a release; score its other sources by any class of a later one.

    Every later class but ``unk`` counts for what it can be (:data:`fermiclass.catalog.classes.CODE_NATURES`): a ``bcu``
    is an AGN, and says no more; a binary, a globular cluster or an ``spp`` is a pulsar or another source. The
    population ``'unambiguous'`` leaves these out, ``'face'`` takes them as other sources, and ``'spiders'`` takes
    binaries and clusters as pulsars. The counterpart is found by position alone. ``meta`` counts sources that are
    found by name, further away (``moved``), and those that the later release does not have (``gone``).

    Parameters
    ----------
    earlier, later
        Two releases.
    recipe, changes
        As for :func:`fermiclass.train`, but methods have settings of their own.
    targets
        ``'unassociated'`` sources, or ``'bcu'`` that the later release calls bll or fsrq.
    cells
        ``'all'`` of the sky, or the ``'even'`` or ``'odd'`` ones of a chessboard with cells of 15 degrees,
        ``(⌊RAJ2000/15⌋ + ⌊(DEJ2000 + 90)/15⌋) mod 2``: half of the sky to choose a method on, half to test it on.
    radius_deg
        Largest separation of the two positions, in degrees.

    Raises
    ------
    CatalogError
        When no source has a later class, or the targets or cells are unknown.
    """
    if targets not in ("unassociated", "bcu"):
        raise CatalogError(f"targets='{targets}' cannot be scored: choose one of unassociated, bcu")
    if cells not in ("all", "even", "odd"):
        raise CatalogError(f"cells='{cells}' is unknown: choose one of all, even, odd")
    recipe = Recipe.of(recipe, **changes)
    grouping = earlier.grouping(recipe.classes)
    counterpart, by_name = match_sources(earlier, later, radius_deg=radius_deg)
    rows = np.flatnonzero(earlier.is_target(grouping))
    found = counterpart[rows]
    code = np.where((found == UNMATCHED) | by_name[rows], "", later.classes[found])
    is_odd = part_of_sky(earlier)[rows] == PARTS
    inside = np.full(len(rows), True) if cells == "all" else is_odd == (cells == "odd")
    status, low = earlier.classes[rows], _low(earlier)[rows]
    two_kinds = has_two_kinds(later.classes)
    truth = _open_truth(code, status, two_kinds)
    agn, pulsar, other = (np.isin(NATURES, members) for members in OPEN_GROUPS.values())
    ambiguous = (truth @ pulsar & truth @ other & ~(truth @ agn))[:, None]  # a pulsar or another source, and no AGN
    face = np.where(ambiguous, other, truth)
    spiders = np.where(ambiguous & ~np.isin(code, CHANCE_CODES)[:, None], truth & ~other, face)
    bare = (status == ("bcu" if targets == "bcu" else "")) & inside
    agn_or_psr = {name: OPEN_GROUPS[name] for name in ("agn", "pulsar")}
    typed = (status == "bcu") & inside & np.isin(code, ("bll", "fsrq"))
    kinds = bare & np.isin(code, ("psr", "msp")) & (two_kinds and {"psr", "msp"} <= set(grouping.names))
    clear = bare & ~ambiguous[:, 0]
    two = clear & known(truth) & ~truth[:, other].any(axis=1)
    far = f"≥ {LATITUDE_EDGE:g}°"
    populations = {
        "all": Population(bare, OPEN_GROUPS, "all"),
        "low": Population(bare & low, OPEN_GROUPS, f"< {LATITUDE_EDGE:g}°"),
        "high": Population(bare & ~low, OPEN_GROUPS, far),
        "unambiguous": Population(clear, OPEN_GROUPS, "clear codes"),
        "face": Population(bare, OPEN_GROUPS, "face value", face),
        "spiders": Population(bare, OPEN_GROUPS, "spiders", spiders),
        "agn_or_pulsar": Population(two, agn_or_psr, "agn, pulsar"),
        "agn_or_pulsar_high": Population(two & ~low, agn_or_psr, f"same, {far}"),
        "psr_or_msp": Population(kinds, {"psr": ("psr",), "msp": ("msp",)}, "psr, msp"),
        "bll_or_fsrq": Population(typed, {"bll": ("bll",), "fsrq": ("fsrq",)}, "typed bcu"),
    }
    about = f"its sources without an association{{}} that {later.source} gives any class but unk"
    if targets == "bcu":
        types = populations["bll_or_fsrq"].groups
        parts = {"all": ("all", typed), "low": (f"< {LATITUDE_EDGE:g}°", typed & low), "high": (far, typed & ~low)}
        populations = {name: Population(mask, types, heading) for name, (heading, mask) in parts.items()}
        about = f"its bcu{{}} that {later.source} calls bll or fsrq"
    if not np.any(populations["all"].mask & known(truth)):
        raise CatalogError(
            f"{later.source} gives a class to no source that is {targets} in {earlier.source}: give a later release"
        )
    where = "" if cells == "all" else f" in the {cells} cells of the sky"
    return _targets(
        earlier,
        recipe,
        rows,
        protocol="open",
        description=about.format(where),
        classes=NATURES,
        truth=truth,
        populations=populations,
        factors=factors_of(earlier[rows], earlier.grouping(None))
        if recipe.class_priors == "selection" and recipe.used_evidence == EVIDENCE
        else None,
        floor=1e-4,
        later=str(later.source),
        together=("pulsar", "other"),
        meta={
            "targets": targets,
            "cells": cells,
            "radius_deg": radius_deg,
            "moved": int(np.sum(bare & by_name[rows])),
            "gone": int(np.sum(bare & (found == UNMATCHED))),
        },
    )


def bright_to_faint(
    catalog: Catalog, fraction: float = 0.5, recipe: Recipe | None = None, **changes: Unpack[Learning]
) -> Targets:
    """Train on the brighter associated sources of a release; score the given fraction of each class that is faintest.

    For parameters see `open_world`. Raises SelectionError when the fraction is not between 0 and 1, and what
    :func:`fermiclass.train` raises.
    """
    if not 0 < fraction < 1:
        raise SelectionError(f"fraction={fraction} is not valid: give a number between 0 and 1")
    checked = Recipe.of(recipe, **changes).check(catalog)
    table = checked.of_one_class
    significance = catalog.column("Signif_Avg")[table.rows]
    faint = np.zeros(len(table), dtype=bool)
    for name in checked.grouping.names:
        own = table.y == name
        faint |= own & (significance < np.nanquantile(significance[own], fraction))
    about = f"the faintest {fraction:.0%} of each class, learned from the others"
    return _held_out(checked, "faint", about, [faint])


def folds(
    catalog: Catalog, number: int = 10, recipe: Recipe | None = None, *, seed: int = 0, **changes: Unpack[Learning]
) -> Targets:
    """Score every associated source by a model that was trained without it: stratified K-fold cross-validation.

    These sources are brighter than those to be labelled, so the scores are better than those to expect of labels.
    `seed` is that of the folds. For other parameters see `open_world`. Raises ClassError when a class has fewer sources
    than there are folds, ValueError when these are fewer than two, and what :func:`fermiclass.train` raises.
    """
    if number < 2:
        raise ValueError(f"folds={number} is not valid: give at least 2 folds")
    checked = Recipe.of(recipe, **changes).check(catalog)
    table = checked.of_one_class
    groups, counts = np.unique(table.y, return_counts=True)
    if counts.min() < number:
        raise ClassError(
            f"{catalog.source} has {counts.min()} sources of class '{groups[np.argmin(counts)]}', too few for {number} "
            f"folds: use {counts.min()} folds at most, or leave the class out (--classes)."
        )
    splits = StratifiedKFold(number, shuffle=True, random_state=seed).split(table.X, table.y)
    parts = [np.isin(np.arange(len(table)), test) for _, test in splits]
    about = f"all sources with a class, in {number} folds"
    return _held_out(checked, "folds", about, parts)


def _held_out(checked: Checked, protocol: str, description: str, parts: Sequence[NDArray[np.bool_]]) -> Targets:
    """Return the targets that score each part of the training sources by a model that does not learn from it."""
    grouping, table = checked.grouping, checked.of_one_class
    scored = np.any(parts, axis=0)
    rows, y = table.rows[scored], table.y[scored]
    return _targets(
        checked.catalog,
        checked.recipe,
        rows,
        [np.flatnonzero(part[scored]) for part in parts],
        protocol=protocol,
        description=description,
        classes=grouping.names,
        truth=y[:, None] == np.array(grouping.names),
        populations={"all": Population(np.full(len(rows), True), {name: (name,) for name in grouping.names}, "all")},
    )


def _targets(
    catalog: Catalog, recipe: Recipe, rows: NDArray[np.intp], held_out: Sequence[NDArray[np.intp]] = (), **about: Any
) -> Targets:
    """Return the targets, learned from all sources, or each of the parts that are `held_out` from the others."""
    extract = functools.cache(lambda features, classes: extract_features(catalog, features, classes))
    splits = []
    for places in held_out or [np.arange(len(rows))]:
        learn = np.full(len(catalog), True)
        learn[rows[places] if held_out else []] = False
        splits.append((Split(catalog, learn, rows[places], recipe, about["protocol"] == "open", extract), places))
    meta = {
        "features": [feature.name for feature in parse_features(recipe.features, catalog)],
        "grouping": str(catalog.grouping(recipe.classes)),
        "min_significance": recipe.min_significance,
        "class_priors": recipe.class_priors if isinstance(recipe.class_priors, str) else "given",
        **({"brought": [str(each) for each in catalog.brought]} if catalog.brought else {}),
        **about.pop("meta", {}),
    }
    return Targets(
        catalog=str(catalog.source),
        names=catalog.names[rows],
        status=catalog.classes[rows],
        significance=catalog.column("Signif_Avg")[rows],
        low=_low(catalog)[rows],
        splits=splits,
        meta=meta,
        **about,
    )


def _open_truth(code: NDArray[np.str_], status: NDArray[np.str_], two_kinds: bool) -> Truth:
    """Return which natures a source may have by its later class, ``(N, 5)``; the type of an AGN only of a bcu."""
    return natures_of(np.where(np.isin(code, CLASS_TREE["agn"]) & (status != "bcu"), "bcu", code), two_kinds=two_kinds)


def _low(catalog: Catalog) -> NDArray[np.bool_]:
    return np.asarray(np.abs(catalog.column("GLAT")) < LATITUDE_EDGE)
