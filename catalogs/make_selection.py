"""Make ``fermiclass/labelling/selection.json``: what the associations of each release say.

    python catalogs/make_selection.py

The selection prior of AGN and the likelihood of CLASS2, estimated by the default model of each release in this folder.
Takes two minutes.
"""

from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import fermiclass as fc
from fermiclass.labelling import training

CATALOGS = Path(__file__).parent
RELEASES = ("3FGL", "4FGL-DR1", "4FGL-DR2", "4FGL-DR3", "4FGL-DR4")


def main() -> None:
    """Write the file."""
    found = {}
    for name in RELEASES:
        with mock.patch.object(training, "of_release", return_value=None):  # estimate what is kept otherwise
            catalog = fc.read_catalog(CATALOGS / f"{name}.fits.gz")
            known = fc.train(catalog).associations(catalog, fc.extract_features(catalog))
        found[name] = {
            "selection": known.selection.to_dict(),
            "second": dict(known.second.chance),
            "claims": known.claims.completeness,
            "fractions": dict(known.fractions),
        }
        print(name, found[name], flush=True)
    target = CATALOGS.parent / "fermiclass" / "labelling" / "selection.json"
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
