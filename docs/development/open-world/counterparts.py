"""What tables of counterparts change: strengths learned on one half of the sky, scored on the other.

    python docs/development/open-world/counterparts.py LATER TABLE RELEASE... [--covers C] [--latitude B]

The completeness is learned from the unassociated sources in odd cells, and the sources in even cells are scored by the
later list. With --latitude only sources at this |b| or more have counterparts. With --matches FILE it writes the summed
excess of the table's objects for every source of the one release, to join it as a feature, which is the trap of
docs/own-sources.md.
"""

from __future__ import annotations

import argparse

import numpy as np
from astropy.table import Table

import fermiclass as fc
from fermiclass.catalog.candidates import Candidates
from fermiclass.evaluation import open_world
from fermiclass.evaluation.metrics import nll_per_source
from fermiclass.labelling.counterparts import kinds_of_classes, summed, weigh
from fermiclass.labelling.labels import Labels
from fermiclass.labelling.lasting import PARTS, part_of_sky


def score(release: str, later: fc.Catalog, candidates: Candidates, latitude: float) -> None:
    """Print the NLL of the even cells without the table and with it: of all, and of the sources that it covers."""
    catalog = fc.read_catalog(release)
    targets = open_world(catalog, later, cells="even")
    labels = fc.classify(catalog, targets="unassociated")
    about = Labels(labels)
    assert about.grouping is not None
    of_kind = kinds_of_classes(about.grouping, about.classes)
    P = np.stack([np.asarray(labels[f"P_{name}"], float) for name in about.classes], axis=1) @ of_kind
    bare = catalog[catalog.classes == ""]
    odd, far = part_of_sky(bare) == PARTS, np.abs(bare.column("GLAT")) >= latitude
    factors, (strength,) = weigh([candidates], labels, P, np.full(len(P), True), odd & far)
    after = P * np.where(far[:, None], factors, 1.0)
    after /= after.sum(axis=1, keepdims=True)
    covered = candidates.around(labels).covered & far
    row = {name: k for k, name in enumerate(bare.names.tolist())}
    scored = targets.scored
    rows, truth = np.array([row[name] for name in targets.names[scored].tolist()]), targets.truth_of("all")[scored]
    losses = [nll_per_source(np.clip(p[rows], targets.floor, 1.0), truth) for p in (P, after)]
    print(f"{catalog.release.name}: share {strength.share:.2f} ± {strength.share_error:.2f}, c {strength.completeness}")
    for who, chosen in {"all": np.full(len(rows), True), "covered": covered[rows]}.items():
        one, other = (loss[chosen] for loss in losses)
        change, n = other - one, chosen.sum()
        print(
            f"  {who:8} n {n:4}  {one.mean():.4f} -> {other.mean():.4f}  {other.mean() / one.mean():.2f} x  "
            f"{change.mean():+.4f} ± {change.std(ddof=1) / np.sqrt(n):.4f}"
        )


def main() -> None:
    """Score the releases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("later")
    parser.add_argument("table")
    parser.add_argument("releases", nargs="+")
    parser.add_argument("--covers")
    parser.add_argument("--latitude", type=float, default=0.0)
    parser.add_argument("--matches")
    given = parser.parse_args()
    candidates = Candidates.read(given.table, given.covers)
    if given.matches:
        catalog = fc.read_catalog(given.releases[0])
        excess = summed(candidates.around(catalog.table), len(catalog)).sum(axis=1)
        Table({"Source_Name": catalog.names, "MATCH": np.log(0.1 + excess)}).write(given.matches, overwrite=True)
        return
    later = fc.read_catalog(given.later)
    for release in given.releases:
        score(release, later, candidates, given.latitude)


if __name__ == "__main__":
    main()
