"""One sigmoid for each nature, beside one class of several: remnants and nebulae among DR3's sources, by DR4 and 3PC.

    python docs/development/main-paper/several_natures.py 3pc.csv

The main paper's section 3.5 gives a source several labels. Is a source of DR3 a remnant or nebula (snr, pwn, spp)? A
classifier of two classes says it (the sigmoid), and a classifier of four classes: AGN, pulsar, remnant, rest. Both have
the settings of `classify`, no correction of priors, and three seeds. The truth is the class that DR4 gives to sources
that DR3 calls nothing, bcu or unk.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

import fermiclass as fc
from fermiclass.evaluation.crossmatch import match_sources

REMNANT = ("snr", "pwn", "spp")
AGN = ("bll", "fsrq", "rdg", "agn", "ssrq", "css", "nlsy1", "sey")
PULSAR = ("psr", "msp")
UNKNOWN = ("", "bcu", "unk")


def main() -> None:
    """Print losses and areas, and the classes that DR3 gives to the pulsars of 3PC."""
    dr3, dr4 = (fc.read_catalog(f"catalogs/4FGL-{release}.fits.gz") for release in ("DR3", "DR4"))
    codes, later = (np.char.lower(catalog.classes.astype(str)) for catalog in (dr3, dr4))
    agn, pulsar, remnant = ("+".join(sorted({*group} & {*codes})) for group in (AGN, PULSAR, REMNANT))
    rest = "+".join(sorted({*codes} - {*AGN, *PULSAR, *REMNANT, *UNKNOWN}))
    ways = {
        "one class of four": f"agn={agn},pulsar={pulsar},remnant={remnant},rest={rest}",
        "a sigmoid": f"remnant={remnant},no={agn}+{pulsar}+{rest}",
    }
    match = match_sources(dr3, dr4)[0]
    new = np.where(match >= 0, later[match], "")
    chosen = np.isin(codes, UNKNOWN) & ~np.isin(new, UNKNOWN)
    truth, losses = np.isin(new[chosen], REMNANT), {}
    for way, classes in ways.items():
        found = []
        for seed in range(3):
            recipe = fc.Recipe(classes=classes, class_priors="trained", class2=False, targets="all")
            labels = fc.classify(dr3, recipe=recipe.with_settings(random_state=seed))
            by_name = dict(zip(labels["Source_Name"], labels["P_remnant"], strict=True))
            found.append(np.array([by_name[name] for name in np.array(dr3.names)[chosen]], float).clip(1e-5, 1 - 1e-5))
        losses[way] = np.mean([-np.log(np.where(truth, p, 1.0 - p)) for p in found], axis=0)
        area = np.mean([roc_auc_score(truth, p) for p in found])
        print(f"{way}: {len(truth)} sources, {truth.sum()} remnants, NLL {losses[way].mean():.3f}, AUC {area:.3f}")
    paired = losses["a sigmoid"] - losses["one class of four"]
    print(f"difference {paired.mean():+.3f} ± {paired.std(ddof=1) / np.sqrt(len(paired)):.3f}")
    with Path(sys.argv[1]).open(encoding="utf-8") as file:
        pulsars = {row["Source_Name"] for row in csv.DictReader(file)}
    print(
        "3PC in DR3:", dict(zip(*np.unique(codes[np.isin(dr3.names, list(pulsars))], return_counts=True), strict=True))
    )


if __name__ == "__main__":
    main()
