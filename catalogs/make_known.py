r"""Collect what is known of sources beyond the classes of 4FGL: what others found, and the oldest list of each.

    python catalogs/make_known.py --third gll_psc_v16.fit --later gll_psc_16year.fit --pulsars 3pc.csv \
        --atnf psr_catalog.txt --blazars 3hsp.csv

`--atnf` is the long table of the ATNF pulsar catalogue (`psrcat -o long_csv`), and `--blazars` that of 3HSP. It writes
two tables of facts for `fermiclass followup`, which the package contains:

- `known.csv`, with the kind of each claim (`facts.CLAIMS`): gamma-ray pulsars of the third LAT pulsar catalogue;
  unassociated sources of 4FGL-DR4 that the ATNF catalogue names, or with a millisecond pulsar of it at their position;
  those with a blazar at their position for which 3HSP names a source of the LAT; sources of 4FGL-DR4 that FL16Y, the
  16-year list, gives another class, and those that it does not have (`vanished.csv`), both in even cells of the sky;
  and sources of which papers say what they are.
- `first_lists.csv`: sources of 3FGL that an older list of the LAT has, if a release of 4FGL leaves them without a
  certain class.
"""

from __future__ import annotations

import argparse
import csv
import re
from pathlib import Path

import numpy as np
from astropy.coordinates import SkyCoord
from astropy.table import Table
from make_lasting import FACTS, learned_from, slim

import fermiclass as fc
from fermiclass.analysis import facts
from fermiclass.analysis.facts import AT_PLACE, CANDIDATE, COUNTERPART, GONE_SINCE, LATER_CLASS, PULSAR
from fermiclass.brought.joining import match
from fermiclass.brought.other_list import OtherList
from fermiclass.catalog import CLASS_TREE, UNCERTAIN_CLASSES
from fermiclass.evaluation.crossmatch import UNMATCHED, match_sources

#: Name in 4FGL, what it is, and the paper that says so.
PAPERS = (
    ("4FGL J0336.0+7502", "candidate black widow", "arXiv:2103.01557"),
    ("4FGL J0407.7-5702", "candidate transitional millisecond pulsar", "arXiv:2009.09054"),
    ("4FGL J0427.8-6704", "candidate transitional millisecond pulsar", "arXiv:2003.13718"),
    ("4FGL J0523.3-2527", "candidate redback", "Strader et al. 2014, ApJL 788, L27"),
    ("4FGL J0540.0-7552", "candidate transitional millisecond pulsar", "arXiv:2106.07657"),
    ("4FGL J0935.3+0901", "candidate black widow", "arXiv:2205.14786"),
    ("4FGL J0940.3-7610", "candidate redback", "arXiv:2101.08776"),
    ("4FGL J1120.0-2204", "candidate millisecond pulsar with a white dwarf", "arXiv:2201.03589"),
    ("4FGL J1408.6-2917", "candidate black widow", "Swihart et al. 2022, ApJ 941, 199"),
    ("4FGL J1544.2-2554", "candidate spider", "arXiv:2411.16350"),
    ("4FGL J1702.7-5655", "candidate redback", "arXiv:2203.05652"),
    ("4FGL J1838.2+3223", "candidate redback", "Perez et al., GBT proposal 25B-279"),
    ("4FGL J2054.2+6904", "candidate redback", "arXiv:2306.17593"),
    ("4FGL J2112.5-3043", "debated; deep searches found no pulsar", "arXiv:2604.14794"),
)
ATNF, BLAZARS = "ATNF v2.65, Manchester et al. 2005", "3HSP, Chang et al. 2019, A&A 632, A77"
MILLISECOND = 30.0  # ms, the longest period
FAR = 1.0  # deg: no position of a pulsar is as uncertain, but a name may be a slip
OLD_LISTS = ("0FGL", "1FGL", "2FGL")
RELEASES = ("4FGL-DR1", "4FGL-DR2", "4FGL-DR3", "4FGL-DR4")


def in_atnf(path, sources):
    """Yield the name of each of the sources that is a pulsar or at its position, what it is, who says so, the claim."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, delimiter=";")
    pulsars = [dict(zip(header, row, strict=True)) for row in rows if row[header.index("RAJ")][:1].isdigit()]
    at = SkyCoord([one["RAJ"] for one in pulsars], [one["DECJ"] for one in pulsars], unit=("hourangle", "deg"))
    period = np.array([1000.0 / float(one["F0"]) if one["F0"][:1].isdigit() else np.nan for one in pulsars])
    place = dict(zip(sources.names, SkyCoord(sources.table["RAJ2000"], sources.table["DEJ2000"]), strict=True))
    kinds = np.where(period < MILLISECOND, "millisecond pulsar", "pulsar")
    for one, position, known, kind in zip(pulsars, at, np.isfinite(period), kinds, strict=True):
        for name in re.findall(r"4FGL_(J[\d.]+[+-]\d+\w?)", one["ASSOC"]):
            if f"4FGL {name}" in place and position.separation(place[f"4FGL {name}"]).deg < FAR:
                what = f"PSR {one['PSRJ']}, {kind}" if known else f"PSR {one['PSRJ']}, without a known period"
                yield f"4FGL {name}", what, ATNF, PULSAR if known else CANDIDATE
    fast = np.flatnonzero(period < MILLISECOND)
    theirs = OtherList(path.name, np.full(len(fast), ""), at[fast].ra.deg, at[fast].dec.deg)
    mine, rows, _ = match(sources, theirs, says=fast)
    for i, j in zip(mine, fast[rows], strict=True):
        name, preliminary = pulsars[j]["PSRJ"].removesuffix("_P"), pulsars[j]["PSRJ"].endswith("_P")
        what = f"PSR {name}{' (preliminary name)' * preliminary}, millisecond pulsar at the position"
        yield sources.names[i], what, ATNF, AT_PLACE


def in_3hsp(path, sources):
    """Yield the same of the sources with a blazar in the 95 % ellipse for which its authors name a gamma-ray source."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = ([cell.strip(' "') for cell in row] for row in csv.reader(file))
    named = [one for one in (dict(zip(header, row, strict=True)) for row in rows) if one["γ-ray counterpart"]]
    at = SkyCoord([one["R.A."] for one in named], [one["Dec"] for one in named], unit=("hourangle", "deg"))
    theirs = OtherList(path.name, np.full(len(at), ""), at.ra.deg, at.dec.deg)
    mine, rows, _ = match(sources, theirs, says=np.arange(len(at)))
    for i, j in zip(mine, rows, strict=True):
        blazar = named[j]["3HSP Source name"].replace("3HSPJ", "3HSP J")
        yield sources.names[i], f"claimed counterpart {blazar}, blazar", BLAZARS, COUNTERPART


def known(later, pulsars, atnf, blazars):
    """Yield the rows of `known.csv`: Source_Name, ra, dec (deg), what is known, who says so, and the kind of claim."""
    newest = slim("4FGL-DR4")
    place = {name: (row["RAJ2000"], row["DEJ2000"]) for name, row in zip(newest.names, newest.table, strict=True)}
    name, perez = "4FGL J0212.1+5321", "Perez et al. 2023, ApJ 952, 150"
    yield name, *place[name], "PSR J0212+5321, millisecond pulsar", perez, PULSAR
    for name, what, paper in PAPERS:
        yield name, *place[name], what, paper, CANDIDATE
    for row in pulsars:
        kind = "millisecond pulsar" if row["millisecond"] == "yes" else "pulsar"
        yield row["Source_Name"], row["ra"], row["dec"], f"{row['pulsar']}, {kind}", "3PC, Smith et al. 2023", PULSAR
    bare = newest[newest.classes == ""]
    for name, *facts_of_it in (*in_atnf(atnf, bare), *in_3hsp(blazars, bare)):
        yield name, *place[name], *facts_of_it
    counterpart, by_name = match_sources(newest, later)
    code = np.where((counterpart == UNMATCHED) | by_name, "", later.classes[counterpart])
    news = np.isin(newest.classes, ("", *UNCERTAIN_CLASSES)) & ~np.isin(code, ("", "unk")) & (code != newest.classes)
    for i in np.flatnonzero(news & learned_from(newest)):
        claim = PULSAR if code[i].lower() in CLASS_TREE["pulsar"] else LATER_CLASS
        yield newest.names[i], *place[newest.names[i]], code[i], "FL16Y", claim
    with FACTS.open(encoding="utf-8", newline="") as file:
        gone = [row["Source_Name"] for row in csv.DictReader(file) if row["earlier"] == "4FGL-DR4"]
    for name in gone:
        yield name, *place[name], "no source", "FL16Y", GONE_SINCE


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
    for option in ("third", "later", "pulsars", "atnf", "blazars"):
        parser.add_argument(f"--{option}", type=Path, required=True)
    given = parser.parse_args()
    pulsars = Table.read(given.pulsars, format="ascii.csv")
    rows = [
        (name, f"{ra:.4f}", f"{dec:.4f}", *what)
        for name, ra, dec, *what in known(fc.read_catalog(given.later), pulsars, given.atnf, given.blazars)
    ]
    write(facts.KNOWN, ("Source_Name", "ra", "dec", "known", "reference", "claim"), rows)
    write(facts.FIRST_LISTS, ("name", "first"), first_lists(fc.read_catalog(given.third).table))


if __name__ == "__main__":
    main()
