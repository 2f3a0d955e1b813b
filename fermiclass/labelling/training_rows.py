"""The sources to learn from: their labels, and how much each counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fermiclass.catalog import CLASS_CODES, UNCERTAIN_CLASSES, Catalog, ClassGrouping
from fermiclass.catalog.classes import CHANCE_CODES
from fermiclass.errors import ClassError
from fermiclass.features import FeatureTable

#: Weight of labels that are guesses: of chance associations, and of unassociated sources that the catalogue flags as
#: soft Galactic emission, which are no pulsars: of 22 that got a class since DR4, two are.
GUESS = 0.15

GUESS_RANGE = 3.0  #: Factor within which the weight may be right: no later list can choose between them.

MIN_PER_CLASS = 5  #: Least number of training sources of a class.


def training_rows(
    catalog: Catalog,
    table: FeatureTable,
    grouping: ClassGrouping,
    *,
    min_significance: float | None = None,
    guess: float = GUESS,
) -> FeatureTable:
    """Return the rows of the sources to learn from in the features of all sources; `guess` is the weight of guesses.

    Raises ClassError when a class has too few sources to learn from.
    """
    if min_significance is not None:
        table = table[catalog.column("Signif_Avg") > min_significance]
    counts = {name: int(np.sum(table.y == name)) for name in grouping.names}
    for name, count in counts.items():
        if count < MIN_PER_CLASS:
            found = ", ".join(f"{other} {number}" for other, number in counts.items())
            raise ClassError(
                f"{catalog.source} has {count} sources of class '{name}' to learn from, at least {MIN_PER_CLASS} are "
                f"needed (found: {found}). Leave the class out or merge it with another (--classes), lower "
                "--min-significance, or learn from another catalogue (--train-on)."
            )
    codes = catalog.classes[table.rows]
    guessed = np.isin(codes, CHANCE_CODES) & np.isin(table.y, list(grouping.sets))
    covers_all = {*CLASS_CODES} <= {*UNCERTAIN_CLASSES}.union(*grouping.members.values())
    soft = catalog.soft_galactic[table.rows] & (codes == "") & bool(grouping.sets and covers_all)
    no_pulsar = "|".join(np.array(grouping.names)[~grouping.within("pulsar", grouping.names)])
    own = False if catalog.own_labels is None else (catalog.own_labels != "")[table.rows]
    weight = np.where((guessed | soft) & ~own, guess, table.weight)
    table = replace(table, y=np.where(soft & ~own, no_pulsar, table.y), weight=weight)
    return table[table.labelled]
