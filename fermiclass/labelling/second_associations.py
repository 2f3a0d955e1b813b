"""What CLASS2 says: the class of a low-probability association of a source without an association.

The catalogue gives some unassociated sources a counterpart that is too improbable for ASSOC1. Its class is evidence
beside the spectrum: later lists confirm a large part of these counterparts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog import CLASS_TREE, Catalog, ClassGrouping
from fermiclass.io.arrays import FloatArray

COLUMN = "CLASS2"  #: The column.

#: How much more often a source of a kind has a second association of this kind than other sources have one by chance.
#: Of the sources that 4FGL leaves unassociated and FL16Y classifies in the even cells of the sky, 24 % of the AGN and
#: 4 % of the others have CLASS2 of an AGN; those of other kinds are too few to say anything else
#: (docs/development/second_associations.py). Ratios of 3 and 10 change the loss by less than 0.01
#: (docs/development/constants.py).
RATIO = 6.0

#: Largest rate by chance. A source of any kind then still has no CLASS2 with a probability of 0.6 or more.
_MOST = 0.05


@dataclass(frozen=True)
class SecondAssociations:
    """Likelihood of CLASS2 for each kind of source.

    A kind k is a top class of :data:`fermiclass.catalog.CLASS_TREE`. A source of kind k has CLASS2 of this kind with
    probability ρ b_k, and a source of another kind with b_k, by chance; ρ is :data:`RATIO`. If a fraction f_k of the
    unassociated sources of a catalogue has CLASS2 of the kind, and a fraction m_k of them is of the kind by the model,
    then ``b_k = f_k / [1 + (ρ − 1) m_k]``. A source without CLASS2 has 1 less the sum of these.
    """

    chance: Mapping[str, float] = field(default_factory=dict)  #: b_k by kind; {} for no effect.

    @classmethod
    def fit(cls, catalog: Catalog, fractions: Mapping[str, float]) -> SecondAssociations:
        """Estimate b from a catalogue and the expected fractions m of its unassociated sources by kind.

        It has no effect where the catalogue has no column CLASS2, or no unassociated source. b is at most
        :data:`_MOST`: in a catalogue of few sources, all may have CLASS2.
        """
        kind = kinds_of(catalog[catalog.classes == ""])
        if not len(kind) or not np.any(kind):
            return cls()
        rates = {name: float(np.mean(kind == name)) / (1 + (RATIO - 1) * m) for name, m in fractions.items()}
        return cls({name: min(b, _MOST) for name, b in rates.items()})

    def factors(self, sources: Catalog, grouping: ClassGrouping, classes: Sequence[str]) -> FloatArray:
        """Return the likelihood of each class up to a factor of the source, ``(n, C)``; 1 without evidence.

        Only unassociated sources have evidence. A class that is not of one kind counts as another kind.
        """
        factors = np.ones((len(sources), len(classes)))
        if not self.chance or COLUMN not in sources.table.colnames:
            return factors
        of_kind = {name: grouping.within(name, classes) for name in self.chance}
        kind, bare = kinds_of(sources), sources.classes == ""
        for name in self.chance:
            factors[bare & (kind == name)] = np.where(of_kind[name], RATIO, 1.0)
        said = [b * np.where(of_kind[name], RATIO, 1.0) for name, b in self.chance.items()]
        none = 1.0 - np.sum(said, axis=0)
        factors[bare & (kind == "")] = none / none.max()
        return factors

    @classmethod
    def from_dict(cls, content: Mapping[str, float]) -> SecondAssociations:
        """Return the likelihood with the rates b. Raises ValueError if a kind is unknown or a number out of range."""
        chance = {str(name): float(b) for name, b in content.items()}
        if not set(chance) <= set(CLASS_TREE) or not all(0 <= b <= _MOST for b in chance.values()):
            raise ValueError(f"the rates of second associations are out of range: {dict(content)}")
        return cls(chance)


def kinds_of(sources: Catalog) -> NDArray[np.str_]:
    """Return the kind of each source's CLASS2, a top class of CLASS_TREE, ``(n,)``; '' where it says nothing."""
    if COLUMN not in sources.table.colnames:
        return np.full(len(sources), "")
    codes = np.char.lower(np.char.strip(np.ma.filled(np.ma.asarray(sources.table[COLUMN]), "").astype(str)))
    kinds = np.full(len(sources), "", dtype="U5")
    for name, members in CLASS_TREE.items():
        kinds[np.isin(codes, members)] = name
    return kinds
