"""How well `LASTS` tells which sources a later list has.

    python docs/development/open-world/lasting.py LATER [--cells even|odd|all] [--releases 4FGL-DR1 ...]

LATER is a released list that was made anew, such as the 16-year list, or a slim catalogue. Sources near the edges of
the cells are left out. In even cells, each prediction is from a regression that did not see this part of the sky.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
from halves import arguments
from sklearn.metrics import log_loss, roc_auc_score

import fermiclass as fc
from fermiclass.labelling import lasting

CATALOGS = Path(__file__).parents[3] / "catalogs"
sys.path.append(str(CATALOGS))
from make_lasting import far_from_edges, has_counterpart  # noqa: E402

EDGES = (0.0, 4.5, 5.0, 6.0, np.inf)


def figures(lasts: np.ndarray, p: np.ndarray, significance: np.ndarray) -> str:
    """Return AUC, NLL, and the numbers of vanished sources by significance: found, and expected with the error."""
    gone = ~lasts
    chosen = {f"{low:g}-{high:g}": (significance >= low) & (significance < high) for low, high in pairwise(EDGES)}
    parts = [
        f"{name}: {gone[part].sum()} found, {(1 - p)[part].sum():.1f} ± "
        f"{np.sqrt((p * (1 - p))[part].sum()):.1f} expected"
        for name, part in {"all": np.full(len(p), True), **chosen, "LASTS below 0.3": p < 0.3}.items()
    ]
    scores = (
        f"{len(p)} sources, AUC {roc_auc_score(lasts, p):.3f}, NLL {log_loss(lasts, p):.3f} "
        f"(base rate {log_loss(lasts, np.full(len(p), lasts.mean())):.3f})"
    )
    return "\n    ".join([scores, *parts])


given = arguments(__doc__, "later", cells="even", releases=[f"4FGL-DR{k}" for k in (1, 2, 3, 4)])
later = fc.read_catalog(given.later)
for release in given.releases:
    catalog = fc.read_catalog(CATALOGS / f"{release}.fits.gz")
    p, lasts = lasting.lasting(catalog), has_counterpart(catalog, later)
    odd = lasting.part_of_sky(catalog) == lasting.PARTS
    scored = far_from_edges(catalog) & ((given.cells == "all") | (odd == (given.cells == "odd")))
    significance = np.asarray(catalog.table["Signif_Avg"], float)
    groups = {"unassociated": catalog.classes == "", "bcu": catalog.classes == "bcu"}
    groups["others"] = ~groups["unassociated"] & ~groups["bcu"]
    for name, members in groups.items():
        rows = members & scored
        print(f"{release} -> {later.release.name}, {name}: {figures(lasts[rows], p[rows], significance[rows])}")
