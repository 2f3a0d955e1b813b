"""Make ``fermiclass/catalog/hii_regions.csv``: places and radii of large H II regions, for the feature HIID.

    python catalogs/make_hii_regions.py wise_hii_V2.2.csv

The WISE catalogue of Galactic H II regions (Anderson et al. 2014, ApJS 212, 1), version 2.2, as its authors publish it.
Its known regions (K) of a radius of 5' or more are kept: name, Galactic place in degrees, radius in arcsec.
"""

import csv
import sys
from pathlib import Path

LEAST = 300.0  # arcsec
KEPT = ("WISE Name", "GLong<br>(deg.)", "GLat<br>(deg.)", "Radius<br>(arcsec.)")
TARGET = Path(__file__).parent.parent / "fermiclass" / "catalog" / "hii_regions.csv"


def main() -> None:
    """Write the table."""
    with Path(sys.argv[1]).open(encoding="utf-8", newline="") as file:
        regions = [[row[name] for name in KEPT] for row in csv.DictReader(file) if row["Catalog"] == "K"]
    lines = [",".join(region) for region in regions if float(region[-1]) >= LEAST]
    TARGET.write_text("\n".join(["name,glon,glat,radius", *lines, ""]), encoding="utf-8")
    print(f"{TARGET}: {len(lines)} regions, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
