"""How much CLASS2 says: the ratio that fermiclass.labelling.associations has, from pairs of releases.

Sources that a release leaves unassociated, and that a later list classifies, by the kind of CLASS2 in the release and
by their later kind. A source that several releases leave unassociated counts once, in the earliest. The ratio is that
of a second association of a kind among sources of this kind and among others, with half a source added to each number.

    python docs/development/open-world/second_associations.py EARLIER... LATER [--cells even]

The numbers in the module are those of 4FGL-DR1 to DR3, then DR4, with the even cells of FL16Y as the later list. Only
sources in even cells of the sky count with --cells even.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from halves import arguments

import fermiclass as fc
from fermiclass.catalog import CLASS_TREE, Catalog
from fermiclass.evaluation.crossmatch import UNMATCHED, match_sources
from fermiclass.labelling.associations import kinds_of

KINDS = {code: kind for kind in ("agn", "pulsar") for code in CLASS_TREE[kind]}


def later_kinds(earlier: Catalog, later: Catalog, cells: str) -> pd.DataFrame:
    """Return a row for each unassociated source that has a later class: its later name, kind, and CLASS2's kind."""
    counterpart, by_name = match_sources(earlier, later)
    chosen = (earlier.classes == "") & (counterpart != UNMATCHED) & ~by_name
    ra, dec = (np.asarray(earlier.table[name], float) for name in ("RAJ2000", "DEJ2000"))
    if cells == "even":
        chosen &= (np.floor(ra / 15) + np.floor((dec + 90) / 15)).astype(int) % 2 == 0
    code = later.classes[counterpart[chosen]]
    found = pd.DataFrame({"name": later.names[counterpart[chosen]], "later": [KINDS.get(c, "other") for c in code]})
    found["class2"] = np.where(kinds_of(earlier)[chosen] == "", "none", kinds_of(earlier)[chosen])
    return found[~np.isin(code, ["", "unk"])]


given = arguments(__doc__, "earlier+", "later", cells="all")
later = fc.read_catalog(given.later)
pairs = [later_kinds(fc.read_catalog(path), later, given.cells) for path in given.earlier]
table = pd.concat(pairs).drop_duplicates("name")
counts = pd.crosstab(table["class2"], table["later"])
print(counts)
for kind in CLASS_TREE:
    of_kind = table["later"] == kind
    with_it = table["class2"] == kind
    rates = [(np.sum(with_it & each) + 0.5) / (each.sum() + 1) for each in (of_kind, ~of_kind)]
    print(f"{kind}: {rates[0]:.3f} of its sources, {rates[1]:.4f} of the others: ratio {rates[0] / rates[1]:.1f}")
