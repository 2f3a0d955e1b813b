"""The default beside classifiers that share its class priors and CLASS2: heads by latitude, and networks as a mean.

    python docs/development/open-world/other_classifiers.py FL16Y.fits

`two skies` are two models, of the sources closer than 10 degrees to the plane and of the others. `network mean` has the
logits of neural networks as features too, for which the linear kernel is a scaled mean function; `network kernel` has
them alone, as a deep kernel. A training source has logits of networks that did not learn from it.
"""

import sys
from collections.abc import Callable

import numpy as np
from astropy.table import Table
from halves import paired
from sklearn.model_selection import StratifiedKFold

import fermiclass as fc
from fermiclass import evaluation
from fermiclass.evaluation.baselines import BaselineClassifier
from fermiclass.evaluation.methods import OPEN_TRAININGS, Method, Split, default_method, open_classes

RELEASES, EDGE, FOLDS = ("DR1", "DR2", "DR3", "DR4"), 10.0, 5


def labelled(split: Split, catalog: fc.Catalog, learn: np.ndarray, features: str) -> np.ndarray:
    """Return the probabilities of all sources to predict, by the default's settings."""
    model = fc.train(catalog[learn], features=features)
    labels = model.label(catalog[split.rows], "all")
    return np.stack([labels[f"P_{name}"] for name in model.grouping.names], axis=1) @ open_classes(model.grouping)


def two_skies(split: Split) -> np.ndarray:
    """Return the probabilities of two models."""
    low = np.abs(split.catalog.column("GLAT")) < EDGE
    near, far = (labelled(split, split.catalog, split.learn & part, "galactic") for part in (low, ~low))
    return np.where(low[split.rows, None], near, far)


def with_networks(beside: str) -> Callable[[Split], np.ndarray]:
    """Return the default of the networks' logits, and of the features `beside`."""

    def predict(split: Split) -> np.ndarray:
        table = split.extract("galactic", OPEN_TRAININGS[":spiders"])
        known = np.flatnonzero(split.learn & np.isin(table.y, ("agn", "psr", "other")))
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(known, table.y[known])
        logits, count = np.zeros((len(table.y), 3)), np.zeros((len(table.y), 1))
        for k, (train, _) in enumerate(folds):
            network, rows = BaselineClassifier("mlps", seed=k), known[train]
            network.fit(table.X[rows], table.y[rows], X_var=table.X_var[rows])
            unseen = np.setdiff1d(np.arange(len(table.y)), rows)
            logits[unseen] += np.log(
                np.maximum(network.predict_proba(table.X[unseen], X_var=table.X_var[unseen]), 1e-6)
            )
            count[unseen] += 1
        names = [f"NET_{k}" for k in range(3)]
        own = Table([split.catalog.names, *(logits / count).T], names=["Source_Name", *names])
        features = ",".join([*filter(None, [beside]), *names])
        return labelled(split, fc.join(split.catalog, own), split.learn, features)

    return predict


def main() -> None:
    """Print for each release the losses, and what each differs from the default's, paired."""
    later = fc.read_catalog(sys.argv[1])
    ways: dict[str, Callable[[Split], np.ndarray]] = {"two skies": two_skies}
    ways |= {"network mean": with_networks("galactic"), "network kernel": with_networks("")}
    methods = [default_method(), *(Method(name, predict, as_trained=False) for name, predict in ways.items())]
    apart: dict[str, list[np.ndarray]] = {name: [] for name in ways}
    for release in RELEASES:
        catalog = fc.read_catalog(f"catalogs/4FGL-{release}.fits.gz")
        found = evaluation.evaluate(evaluation.open_world(catalog, later, cells="even"), methods)
        loss = {name: -np.log(np.sum(found.probabilities(name) * found.truth, axis=1)) for name in ["default", *ways]}
        print(f"{release}  default {loss['default'].mean():.3f}")
        for name in ways:
            apart[name].append(loss[name] - loss["default"])
            print(f"    {name:15}{loss[name].mean():.3f}  {paired(loss[name], loss['default'], 3)}", flush=True)
    for name, each in apart.items():
        print(f"all, {name:15}{paired(np.concatenate(each), 0.0, 3)}")


if __name__ == "__main__":
    main()
