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
from fermiclass.labelling.counterparts import BF_CLAIM, MOST_OF_CLAIMS, completeness, summed
from fermiclass.labelling.prediction_columns import add_column

if TYPE_CHECKING:
    from astropy.table import Table

    from fermiclass.brought.candidates import Surroundings

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
        sources = catalog[catalog.classes == ""]
        near = _objects().around(sources.table)
        some = near.covered
        if len(near.u) == 0:
            return cls()
        excess = summed(near, len(sources))[some]
        return cls(float(completeness(p_agn[some, None], excess, 1.0 - p_agn[some])[0, 0]))

    def __bool__(self) -> bool:
        return self.completeness > 0

    def factors(self, sources: Catalog, grouping: ClassGrouping, classes: Sequence[str]) -> FloatArray:
        """Return the likelihood of each class, ``(n, C)``; 1 for what is no AGN, or has an association."""
        return np.where(grouping.of_agn(classes), self.of_kinds(sources)[:, [_AGN]], 1.0)

    def of_kinds(self, sources: Catalog, tables: Sequence[Candidates] = ()) -> FloatArray:
        """Return the factor of each of KINDS, ``(n, 3)``, without the objects that `tables` have."""
        factors = np.ones((len(sources), len(KINDS)))
        if not self:
            return factors
        near, left = _near(sources, tables)
        found = 1.0 + self.completeness * (summed(near, len(sources))[:, 0] - left)
        rows = near.covered & (sources.classes == "")
        factors[rows, _AGN] = np.minimum(found[rows], MOST_OF_CLAIMS)
        return factors

    def names(self, sources: Catalog, tables: Sequence[Candidates] = ()) -> NDArray[np.str_]:
        """Return the claimed counterpart of each source, ``(n,)``; '' without one that speaks for it."""
        near, _ = _near(sources, tables)
        names = _objects().names
        found = np.full(len(sources), "", dtype=names.dtype)
        for k in np.argsort(near.excess[:, 0]):  # the last one is the best
            if near.excess[k, 0] > 1.0 and not sources.classes[near.source[k]]:
                found[near.source[k]] = names[near.candidate[k]]
        return found

    def add_to(
        self,
        labels: Table,
        sources: Catalog,
        tables: Sequence[Candidates],
        factors: FloatArray,
        agn: FloatArray,
    ) -> None:
        """Add the claims to a label table; `factors` are those of kinds, and `agn` the probabilities without claims."""
        names = self.names(sources, tables)
        add_column(
            labels, "CLAIM", names, "Claimed counterpart, a blazar of 3HSP; empty if there is none", "meta.id.assoc"
        )
        add_column(labels, BF_CLAIM, factors[:, _AGN], "Factor of the odds of an AGN by CLAIM", "stat.value")
        about = "Probability of an AGN without CLAIM and counterparts"
        add_column(labels, "Gamma_AGN", agn, about, "stat.probability")


def _near(sources: Catalog, tables: Sequence[Candidates]) -> tuple[Surroundings, float]:
    """Return where the objects lie, and which part of them is in no table; others have no excess."""
    objects = _objects()
    near = objects.around(sources.table)
    left = np.isin(objects.names, apart([*tables, objects])[-1].names)
    return near._replace(excess=near.excess * left[near.candidate, None]), float(left.mean())


@functools.cache
def _objects() -> Candidates:
    with as_file(files("fermiclass.labelling").joinpath("claimed_blazars.csv")) as path:
        return Candidates.read(path, "claims")
