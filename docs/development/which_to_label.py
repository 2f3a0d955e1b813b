"""Active learning on a catalogue: which sources' classes would improve the labels of the others most.

    python docs/development/which_to_label.py --add 100 --random 3

Sources of DR1 that have no class there (or bcu, or unk), and one of the classes in DR4. Half of them, drawn once, are
the pool, the others the test. The classes of some of the pool are given to the model, which is trained again: those of
the largest INFORMATION, those of the largest ENTROPY, and some drawn at random. What the catalogue says of its
associations (the selection prior, and CLASS2) stays that of DR1, because classes of other origin spoil it. The script
prints the mean NLL of the test sources, and its paired difference from the model that knows no new class.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import fermiclass as fc
from fermiclass.evaluation.crossmatch import later_classes, match_sources
from fermiclass.nimgp.prediction.predictor import Prediction

CATALOGS = Path(__file__).parents[2] / "catalogs"


def main() -> None:
    """Print a line for each choice."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--add", type=int, default=100)
    parser.add_argument("--random", type=int, default=3)
    parser.add_argument("--model", help="folder of a model of DR1, to save a training")
    options = parser.parse_args()
    first, last = (fc.read_catalog(CATALOGS / f"4FGL-{release}.fits.gz") for release in ("DR1", "DR4"))
    grouping = first.grouping(None)
    targets, y, _ = later_classes(first, last, grouping)
    rng = np.random.default_rng(0)
    rows, y = (a[y != ""] for a in (targets, y))
    codes = last.table["CLASS1"][match_sources(first, last)[0][rows]]
    order = rng.permutation(len(rows))
    pool, test = order[: len(rows) // 2], order[len(rows) // 2 :]
    base = fc.load_model(options.model) if options.model else fc.train(first)

    def predict(model: fc.CatalogModel, of: np.ndarray) -> Prediction:
        sources = first[rows[of]]
        return model.predict(model.features_of(sources), ratios=model.ratios(sources))

    def nll(model: fc.CatalogModel) -> np.ndarray:
        p = predict(model, test).probabilities
        return -np.log(p[np.arange(len(test)), [model.classes.index(name) for name in y[test]]])

    found, before = predict(base, pool), nll(base)
    print(f"{len(pool)} in the pool, {len(test)} to test, NLL {before.mean():.4f}", flush=True)
    chosen = {"information": np.argsort(-found.information), "entropy": np.argsort(-found.entropy)}
    chosen |= {f"random {k + 1}": rng.permutation(len(pool)) for k in range(options.random)}
    for name, best in chosen.items():
        new = pool[best[: options.add]]
        table = first.table.copy()
        table["CLASS1"][rows[new]] = codes[new]
        model = fc.train(replace(first, table=table), classes=grouping)
        less = before - nll(replace(model, selection=base.selection, second=base.second))
        share = pd.Series(y[new]).value_counts().to_dict()
        mean, gain, se = (before - less).mean(), less.mean(), pd.Series(less).sem()
        print(f"{name:12s} NLL {mean:.4f}, less by {gain:.4f} ± {se:.4f}; {share}", flush=True)


if __name__ == "__main__":
    main()
