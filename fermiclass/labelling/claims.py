"""Claimed blazars: objects that others took for counterparts of LAT sources, as evidence of an AGN."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from fermiclass.brought.candidates import KINDS, Candidates, apart
from fermiclass.catalog import Catalog, ClassGrouping
from fermiclass.io import FloatArray
from fermiclass.labelling.counterparts import MOST_OF_CLAIMS, completeness, summed
from fermiclass.labelling.labels import BF_CLAIM
from fermiclass.labelling.prediction_columns import add_column

if TYPE_CHECKING:
    from astropy.table import Table

_AGN = KINDS.index("agn")


@dataclass(frozen=True)
class Claims:
    """What the blazars of the 3HSP catalogue (Chang et al. 2019, A&A 632, A77) say of unassociated sources.

    An AGN is one of them with probability c, which is learned from all unassociated sources of a catalogue. The factor
    of its odds is that of claims in :mod:`fermiclass.labelling.counterparts`, ``1 − c + c Σ_j f(r_j)/ρ``, at most 50.
    """

    completeness: float = 0.0  #: c; 0 for no effect.

    def __post_init__(self) -> None:
        if not 0 <= self.completeness < 1:
            raise ValueError(f"completeness={self.completeness} is not valid: expected a number from 0 to below 1")

    @classmethod
    def fit(cls, catalog: Catalog, p_agn: FloatArray) -> Self:
        """Learn c from the unassociated sources of a catalogue, which are AGN with `p_agn`, ``(n,)``."""
        near = _objects().around(catalog[catalog.classes == ""].table)
        if len(near.u) == 0:
            return cls()
        p, excess = p_agn[near.covered], summed(near, len(p_agn))[near.covered]
        return cls(float(completeness(p[:, None], excess, 1.0 - p)[0, 0]))

    def __bool__(self) -> bool:
        return self.completeness > 0

    def factors(self, sources: Catalog, grouping: ClassGrouping, classes: Sequence[str]) -> FloatArray:
        """Return the likelihood of each class, ``(n, C)``; 1 for what is no AGN, or has an association."""
        return np.where(grouping.of_agn(classes), self.of(sources)[0][:, [_AGN]], 1.0)

    def of(self, sources: Catalog, tables: Sequence[Candidates] = ()) -> tuple[FloatArray, NDArray[np.str_]]:
        """Return the factor of each of KINDS, ``(n, 3)``, and the most probable claimed counterpart, ``(n,)``, or ''.

        Blazars that `tables` have do not count.
        """
        factors = np.ones((len(sources), len(KINDS)))
        if not self:
            return factors, np.full(len(sources), "")
        objects, bare = _objects(), sources.classes == ""
        names = np.full(len(sources), "", dtype=objects.names.dtype)
        near = objects.around(sources.table)
        left = np.isin(objects.names, apart([*tables, objects])[-1].names)
        excess = near.excess[:, 0] * left[near.candidate]
        found = 1.0 + self.completeness * (np.bincount(near.source, excess, len(sources)) - left.mean())
        rows = near.covered & bare
        factors[rows, _AGN] = np.minimum(found[rows], MOST_OF_CLAIMS)
        for k in np.argsort(excess):  # the last one is the best
            if excess[k] > 1.0 and bare[near.source[k]]:
                names[near.source[k]] = objects.names[near.candidate[k]]
        return factors, names


def add_claims(labels: Table, factors: FloatArray, names: NDArray[np.str_], agn: FloatArray) -> None:
    """Add to a label table what :meth:`Claims.of` returns, and the probability of an AGN without, ``(n,)``."""
    about = "Claimed counterpart, a blazar of 3HSP; empty if there is none"
    add_column(labels, "CLAIM", names, about, "meta.id.assoc")
    add_column(labels, BF_CLAIM, factors[:, _AGN], "Factor of the odds of an AGN by CLAIM", "stat.value")
    about = "Probability of an AGN without CLAIM and counterparts"
    add_column(labels, "Gamma_AGN", agn, about, "stat.probability")


@functools.cache
def _objects() -> Candidates:
    with as_file(files("fermiclass.labelling").joinpath("claimed_blazars.csv")) as path:
        return Candidates.read(path, "claims")
