"""Make ``fermiclass/labelling/claimed_blazars.csv``: names and places of blazars, for the evidence ``claims``.

    python catalogs/make_claimed_blazars.py 3hsp.csv

The 3HSP catalogue (Chang et al. 2019, A&A 632, A77), table 3, with the authors' column names, in any format.
"""

import sys
from pathlib import Path

from astropy.coordinates import SkyCoord
from astropy.table import Table

NAME, PLACE = "3HSP Source name", ("R.A.", "Dec")
TARGET = Path(__file__).parent.parent / "fermiclass" / "labelling" / "claimed_blazars.csv"


def main() -> None:
    """Write the table."""
    table = Table.read(sys.argv[1])
    places = SkyCoord(*(table[name] for name in PLACE), unit=("hourangle", "deg"))
    names = [str(name).replace("3HSPJ", "3HSP J") for name in table[NAME]]
    rows = [f"{name},{at.ra.deg:.4f},{at.dec.deg:.4f}" for name, at in zip(names, places, strict=True)]
    TARGET.write_text("\n".join(["name,ra,dec", *rows, ""]), encoding="utf-8")
    print(f"{TARGET}: {len(rows)} blazars, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
