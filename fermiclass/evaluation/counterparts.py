"""What tables of counterparts change, and whether the objects that they name are those of a later release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from astropy import units as u
from astropy.coordinates import SkyCoord
from astropy.table import Table

from fermiclass.brought.candidates import Candidates
from fermiclass.catalog import Catalog
from fermiclass.evaluation.crossmatch import UNMATCHED, match_sources
from fermiclass.evaluation.methods import Method, Split, open_classes
from fermiclass.evaluation.protocols import Targets
from fermiclass.io import FloatArray
from fermiclass.labelling.counterparts import BEFORE, counterpart_table
from fermiclass.labelling.training import train

WITH = "+counterparts"  #: Suffix of the name of a method with counterparts.

SAME_OBJECT = 20.0  #: Two positions of one counterpart are closer, in arcsec.

BINS = (0.01, 0.2, 0.4, 0.6, 0.8, 1.0)  #: Edges of the bins of P_CPT.


@dataclass(frozen=True)
class Bin:
    """Candidates with a posterior between two edges, by what a later release calls the counterpart."""

    low: float
    high: float
    number: int  #: Candidates.
    expected: float  #: Sum of the posteriors of those that are decided.
    same: int  #: The later release has the object as the counterpart.
    other: int  #: It has another one.
    undecided: int  #: It has no counterpart, or not the source.


def with_counterparts(
    targets: Targets, candidates: Sequence[Candidates], name: str
) -> tuple[Targets, list[Method], Table]:
    """Return the targets with the covered sources as a population, the model without and with tables, and candidates.

    Both methods are of one training. What tables say is learned from all sources without an association.
    """
    ((split, _),) = targets.splits
    sources = split.catalog[split.rows]
    labels = train(split.catalog, recipe=split.recipe).label(sources, "all", counterparts=candidates)

    def method(name: str, prefix: str) -> Method:
        p = np.stack([np.asarray(labels[prefix + each], float) for each in split.grouping.names], axis=1)

        def predict(_: Split) -> FloatArray:
            return p @ open_classes(split.grouping)

        return Method(name, predict, as_trained=False, settings=split.recipe.settings.params())

    every = targets.populations["all"]
    covered = np.any([each.around(sources.table).covered for each in candidates], axis=0)
    populations = {**targets.populations, "covered": replace(every, mask=every.mask & covered, heading="covered")}
    found = counterpart_table(labels, candidates)
    scored = set(targets.names[every.mask].tolist())
    found = found[[name in scored for name in np.asarray(found["Source_Name"]).tolist()]]
    methods = [method(name, BEFORE), method(name + WITH, "P_")]
    return replace(targets, populations=populations), methods, found


def calibration(found: Table, earlier: Catalog, later: Catalog) -> list[Bin]:
    """Compare candidates of sources of an earlier release with the counterparts in a later one, in bins of P_CPT."""
    match, _ = match_sources(earlier, later)
    row = {name: k for k, name in enumerate(earlier.names.tolist())}
    at = match[[row[name] for name in np.asarray(found["Source_Name"]).tolist()]]
    ra, dec = (
        np.where(at == UNMATCHED, np.nan, later.column(name)[at]) for name in ("RA_Counterpart", "DEC_Counterpart")
    )
    decided = np.isfinite(ra) & np.isfinite(dec) & (later.classes[at] != "")
    there = SkyCoord(np.where(decided, ra, 0.0), np.where(decided, dec, 0.0), unit="deg")
    here = SkyCoord(found["CPT_RA"], found["CPT_DEC"], unit="deg")
    same = decided & (here.separation(there) < SAME_OBJECT * u.arcsec)
    p = np.asarray(found["P_CPT"], float)
    bins = []
    for low, high in pairwise(BINS):
        inside = (p >= low) & ((p < high) | (high == BINS[-1]))
        numbers = ((inside & chosen).sum() for chosen in (same, decided & ~same, ~decided))
        bins.append(Bin(low, high, int(inside.sum()), float(p[inside & decided].sum()), *map(int, numbers)))
    return bins
