"""Collect what is known of sources beyond the classes of 4FGL: what others found, and the oldest list of each.

    python catalogs/make_known.py --third gll_psc_v16.fit --later gll_psc_16year.fit --pulsars 3pc.csv

It writes two tables of facts for `fermiclass followup`, which the package contains:

- `known.csv`: gamma-ray pulsars of the third LAT pulsar catalogue; sources of 4FGL-DR4 that FL16Y, the 16-year list,
  gives another class, and those that it does not have (`vanished.csv`), both in even cells of the sky; and sources of
  which papers say what they are.
- `first_lists.csv`: sources of 3FGL that an older list of the LAT has, if a release of 4FGL leaves them without a
  certain class.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
from astropy.table import Table
from make_lasting import FACTS, learned_from, slim

import fermiclass as fc
from fermiclass.analysis import facts
from fermiclass.catalog import UNCERTAIN_CLASSES
from fermiclass.evaluation.crossmatch import UNMATCHED, match_sources

#: Name in 4FGL, what it is, and the paper that says so.
PAPERS = (
    ("4FGL J0212.1+5321", "PSR J0212+5321, millisecond pulsar", "Perez et al. 2023, ApJ 952, 150"),
    ("4FGL J0336.0+7502", "candidate black widow", "arXiv:2103.01557"),
    ("4FGL J0523.3-2527", "candidate redback", "Strader et al. 2014, ApJL 788, L27"),
    ("4FGL J1120.0-2204", "candidate millisecond pulsar with a white dwarf", "arXiv:2201.03589"),
    ("4FGL J1702.7-5655", "candidate redback", "arXiv:2203.05652"),
    ("4FGL J2112.5-3043", "debated; deep searches found no pulsar", "arXiv:2604.14794"),
)
OLD_LISTS = ("0FGL", "1FGL", "2FGL")
RELEASES = ("4FGL-DR1", "4FGL-DR2", "4FGL-DR3", "4FGL-DR4")


def known(later, pulsars):
    """Yield the rows of `known.csv`: Source_Name, ra, dec (deg), what is known, and who says so."""
    newest = slim("4FGL-DR4")
    place = {name: (row["RAJ2000"], row["DEJ2000"]) for name, row in zip(newest.names, newest.table, strict=True)}
    for name, what, paper in PAPERS:
        yield name, *place[name], what, paper
    for row in pulsars:
        kind = "millisecond pulsar" if row["millisecond"] == "yes" else "pulsar"
        yield row["Source_Name"], row["ra"], row["dec"], f"{row['pulsar']}, {kind}", "3PC, Smith et al. 2023"
    counterpart, by_name = match_sources(newest, later)
    code = np.where((counterpart == UNMATCHED) | by_name, "", later.classes[counterpart])
    news = np.isin(newest.classes, ("", *UNCERTAIN_CLASSES)) & ~np.isin(code, ("", "unk")) & (code != newest.classes)
    for i in np.flatnonzero(news & learned_from(newest)):
        yield newest.names[i], *place[newest.names[i]], code[i], "FL16Y"
    with FACTS.open(encoding="utf-8", newline="") as file:
        gone = [row["Source_Name"] for row in csv.DictReader(file) if row["earlier"] == "4FGL-DR4"]
    for name in gone:
        yield name, *place[name], "no source", "FL16Y"


def first_lists(third):
    """Yield the rows of `first_lists.csv`: the name in 3FGL, and the oldest list."""
    named = set()
    for release in map(slim, RELEASES):
        uncertain = np.isin(release.classes, ("", *UNCERTAIN_CLASSES))
        named |= set(np.char.strip(np.asarray(release.table["ASSOC_FGL"], str))[uncertain].tolist())
    for row in third:
        oldest = next((name for name in OLD_LISTS if str(row[f"{name}_Name"]).strip()), None)
        if oldest and str(row["Source_Name"]).strip() in named:
            yield str(row["Source_Name"]).strip(), oldest


def write(path, header, rows):
    """Write a table as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    print(f"{path}: {path.stat().st_size} bytes")


def main():
    """Make both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("third", "later", "pulsars"):
        parser.add_argument(f"--{option}", type=Path, required=True)
    given = parser.parse_args()
    pulsars = Table.read(given.pulsars, format="ascii.csv")
    rows = [
        (name, f"{ra:.4f}", f"{dec:.4f}", *what)
        for name, ra, dec, *what in known(fc.read_catalog(given.later), pulsars)
    ]
    write(facts.KNOWN, ("Source_Name", "ra", "dec", "known", "reference"), rows)
    write(facts.FIRST_LISTS, ("name", "first"), first_lists(fc.read_catalog(given.third).table))


if __name__ == "__main__":
    main()
