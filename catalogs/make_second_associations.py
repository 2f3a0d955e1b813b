"""Make ``fermiclass/catalog/second_associations.csv``: second associations of DR3 that DR4 lost.

python catalogs/make_second_associations.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from astropy.io import fits

CATALOGS = Path(__file__).parent
COLUMNS = ("CLASS1", "CLASS2", "ASSOC2", "ASSOC_PROB_BAY")


def read(release: str) -> dict[str, dict[str, str]]:
    """Return the columns of the sources of a release by name."""
    with fits.open(CATALOGS / f"{release}.fits.gz") as hdus:
        data = hdus[1].data
        columns = {name: np.char.strip(np.asarray(data[name]).astype(str)) for name in ("Source_Name", *COLUMNS)}
    return {
        name: {column: columns[column][row] for column in COLUMNS} for row, name in enumerate(columns["Source_Name"])
    }


def main() -> None:
    """Write the table."""
    earlier, later = read("4FGL-DR3"), read("4FGL-DR4")
    lines = ["Source_Name,ASSOC2,CLASS2"]
    for name, now in sorted(later.items()):
        then = earlier.get(name)
        if then is not None and then["CLASS1"] == now["CLASS1"] == now["CLASS2"] == "" and then["CLASS2"]:
            lines.append(f"{name},{then['ASSOC2']},{then['CLASS2']}")
    target = CATALOGS.parent / "fermiclass" / "catalog" / "second_associations.csv"
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines) - 1} sources")


if __name__ == "__main__":
    main()
