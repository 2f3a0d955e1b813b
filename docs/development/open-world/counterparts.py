"""What tables of counterparts change: strengths learned on one half of the sky, scored on the other.

    python docs/development/open-world/counterparts.py LATER TABLE RELEASE... [--covers C] [--latitude B]

The completeness is learned from the unassociated sources in odd cells, and the sources in even cells are scored by the
later list. With --latitude only sources at this |b| or more have counterparts. With --matches FILE it writes the summed
excess of the table's objects for every source of the one release, to join it as a feature, which is the trap of
docs/counterparts.md.
"""

from __future__ import annotations

import numpy as np
from astropy.table import Table
from halves import arguments

import fermiclass as fc
from fermiclass.evaluation import open_world
from fermiclass.evaluation.metrics import nll_per_source
from fermiclass.labelling.counterparts import kinds_of_classes, summed, weigh
from fermiclass.labelling.labels import BF_CLAIM, Labels
from fermiclass.labelling.lasting import PARTS, part_of_sky

given = arguments(__doc__, "later", "table", "releases+", covers=None, matches=None, latitude=0.0)
candidates = fc.Candidates.read(given.table, given.covers)
for catalog in map(fc.read_catalog, given.releases):
    if given.matches:
        excess = summed(candidates.around(catalog.table), len(catalog)).sum(axis=1)
        Table({"Source_Name": catalog.names, "MATCH": np.log(0.1 + excess)}).write(given.matches, overwrite=True)
        continue
    targets = open_world(catalog, fc.read_catalog(given.later), cells="even")
    labels = fc.classify(catalog, targets="unassociated")
    about = Labels(labels)
    assert about.grouping is not None
    P = np.stack([np.asarray(labels[f"P_{name}"], float) for name in about.classes], axis=1)
    P = P @ kinds_of_classes(about.grouping, about.classes)
    claims = np.where(np.arange(3) == 0, np.asarray(labels[BF_CLAIM], float)[:, None], 1.0)
    without = P / claims
    without /= without.sum(axis=1, keepdims=True)
    bare = catalog[catalog.classes == ""]
    odd, far = part_of_sky(bare) == PARTS, np.abs(bare.column("GLAT")) >= given.latitude
    status = np.full(len(P), "unassociated")
    factors, (strength,) = weigh([candidates], labels, without, status, claims, learn=odd & far)
    after = without * np.where(far[:, None], factors, claims)
    after /= after.sum(axis=1, keepdims=True)
    covered = candidates.around(labels).covered & far
    row = {name: k for k, name in enumerate(bare.names.tolist())}
    rows = np.array([row[name] for name in targets.names[targets.scored].tolist()])
    truth = targets.truth_of("all")[targets.scored]
    one, other = (nll_per_source(np.clip(p[rows], targets.floor, 1.0), truth) for p in (P, after))
    print(f"{catalog.release.name}: share {strength.share:.2f} ± {strength.share_error:.2f}, c {strength.completeness}")
    for who, chosen in {"all": np.full(len(rows), True), "covered": covered[rows]}.items():
        before, change, n = one[chosen].mean(), (other - one)[chosen], chosen.sum()
        print(
            f"  {who:8} n {n:4}  {before:.4f} -> {before + change.mean():.4f}  {1 + change.mean() / before:.2f} x  "
            f"{change.mean():+.4f} ± {change.std(ddof=1) / np.sqrt(n):.4f}"
        )
