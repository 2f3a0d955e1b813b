"""Fetch the objects of a VizieR table in the 95 % error ellipses of unassociated sources, for ``--counterparts``.

    python docs/fetch_candidates.py LABELS TABLE OUTPUT [--service URL] [--ra COLUMN] [--dec COLUMN]

LABELS is a label table or a catalogue. OUTPUT has the objects within the semi-major axis, with Source_Name.
"""

from __future__ import annotations

import argparse

import numpy as np
import pyvo
from astropy.table import Table

import fermiclass as fc

VIZIER = "https://tapvizier.cds.unistra.fr/TAPVizieR/tap"

QUERY = """SELECT mine.Source_Name, theirs.* FROM "{table}" AS theirs JOIN TAP_UPLOAD.mine AS mine
ON 1 = CONTAINS(POINT('ICRS', theirs.{ra}, theirs.{dec}), CIRCLE('ICRS', mine.ra, mine.dec, mine.radius))"""


def fetch(sources: Table, table: str, service: str = VIZIER, ra: str = "RAJ2000", dec: str = "DEJ2000") -> Table:
    """Return the objects of a table of a TAP service within the semi-major axes of unassociated sources."""
    bare = np.char.strip(np.asarray(sources["CLASS1"]).astype(str)) == ""
    radius = np.asarray(sources["Conf_95_SemiMajor"], float)
    chosen = bare & np.isfinite(radius)
    columns = {
        "ra": sources["RAJ2000"],
        "dec": sources["DEJ2000"],
        "radius": radius,
        "Source_Name": sources["Source_Name"],
    }
    mine = Table({name: np.asarray(column)[chosen] for name, column in columns.items()})
    query = QUERY.format(table=table, ra=ra, dec=dec)
    return pyvo.dal.TAPService(service).run_sync(query, uploads={"mine": mine}, maxrec=1_000_000).to_table()


def main() -> None:
    """Fetch, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("labels", "table", "output"):
        parser.add_argument(name)
    parser.add_argument("--service", default=VIZIER)
    parser.add_argument("--ra", default="RAJ2000")
    parser.add_argument("--dec", default="DEJ2000")
    given = parser.parse_args()
    found = fetch(fc.read_table(given.labels), given.table, given.service, given.ra, given.dec)
    fc.write_table(found, given.output)
    print(f"{len(found)} objects: {given.output}")


if __name__ == "__main__":
    main()
