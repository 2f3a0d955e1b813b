"""Candidate counterparts from a service: the objects of a table that lie in error ellipses."""

from __future__ import annotations

import numpy as np
from astropy.table import Table, vstack

from fermiclass.errors import CatalogError, in_one_line

VIZIER = "https://tapvizier.cds.unistra.fr/TAPVizieR/tap"

_QUERY = """SELECT mine.Source_Name, theirs.* FROM "{table}" AS theirs JOIN TAP_UPLOAD.mine AS mine
ON 1 = CONTAINS(POINT('ICRS', theirs."{ra}", theirs."{dec}"), CIRCLE('ICRS', mine.ra, mine.dec, mine.radius))"""


def fetch_candidates(
    sources: Table, table: str, *, service: str = VIZIER, ra: str = "RAJ2000", dec: str = "DEJ2000"
) -> Table:
    """Return the objects of a table of a TAP service within the semi-major axes of unassociated sources.

    A source without an object has a row without a position: it was searched.

    Parameters
    ----------
    sources
        A catalogue's table, or a label table.
    table
        Name of the table at the service, such as ``J/ApJ/914/42/table2``, with ICRS positions in degrees.

    Raises
    ------
    CatalogError
        When the service does not answer, or refuses.
    """
    import pyvo

    bare = np.char.strip(np.asarray(sources["CLASS1"]).astype(str)) == ""
    chosen = bare & np.isfinite(np.asarray(sources["Conf_95_SemiMajor"], float))
    names = {"ra": "RAJ2000", "dec": "DEJ2000", "radius": "Conf_95_SemiMajor"}
    mine = Table({name: np.asarray(sources[column], float)[chosen] for name, column in names.items()})
    mine["Source_Name"] = np.asarray(sources["Source_Name"]).astype(str)[chosen]
    query = _QUERY.format(table=table, ra=ra, dec=dec)
    try:
        answer = pyvo.dal.TAPService(service).run_sync(query, uploads={"mine": mine}, maxrec=1_000_000)
    except (pyvo.dal.DALAccessError, OSError) as error:
        raise CatalogError(f"{service} gives no objects of {table}: {in_one_line(error)}.") from error
    found = answer.to_table()
    vain = np.setdiff1d(mine["Source_Name"], np.asarray(found["Source_Name"]).astype(str))
    return vstack([found, Table({"Source_Name": vain})], metadata_conflicts="silent") if len(vain) else found
