"""Second associations that 4FGL-DR4 lost.

DR3 names a counterpart that is too improbable for an association, ASSOC2, and its class, CLASS2, for 309 unassociated
sources. 297 of them are still unassociated in DR4 (v35). DR4 leaves both columns empty there, but keeps ASSOC_PROB_BAY,
the probability of this counterpart, for all of them. So the counterpart was not withdrawn.
"""

from __future__ import annotations

import logging
from functools import cache
from importlib.resources import files

import numpy as np
from astropy.table import Column, Table

from fermiclass.catalog.releases import Release

_LOG = logging.getLogger(__name__)
_OF_RELEASE = "4FGL-DR4"
_COLUMNS = ("ASSOC2", "CLASS2")


@cache
def lost() -> dict[str, tuple[str, str]]:
    """Return ASSOC2 and CLASS2 of DR3 by Source_Name; ``catalogs/make_second_associations.py`` makes the table."""
    text = files("fermiclass.catalog").joinpath("second_associations.csv").read_text(encoding="utf-8")
    rows = (line.split(",") for line in text.splitlines()[1:])
    return {name: (assoc, code) for name, assoc, code in rows}


def put_back(table: Table, release: Release, source: str) -> None:
    """Put the lost second associations back into a table, where it has none and a probability of one.

    That is a table of 4FGL-DR4, or one that does not say of which release it is.
    """
    if (release.sources and release.name != _OF_RELEASE) or not {*_COLUMNS, "ASSOC_PROB_BAY"} <= {*table.colnames}:
        return
    names = np.asarray(table["Source_Name"]).astype(str)
    bare = (np.asarray(table["CLASS1"]).astype(str) == "") & (np.asarray(table["CLASS2"]).astype(str) == "")
    probable = np.nan_to_num(np.asarray(table["ASSOC_PROB_BAY"], float)) > 0
    rows = [row for row in np.flatnonzero(bare & probable) if names[row] in lost()]
    if not rows:
        return
    for k, name in enumerate(_COLUMNS):
        old = table[name]
        data = np.asarray(old).astype(object)
        data[rows] = [lost()[names[row]][k] for row in rows]
        table[name] = Column(data.astype(str), description=old.description, meta=old.meta)
    _LOG.info("%s: %d second associations of 4FGL-DR3 put back, which 4FGL-DR4 lost", source, len(rows))
