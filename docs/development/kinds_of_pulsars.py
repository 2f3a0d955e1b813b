"""The kind of a pulsar, held out: the default, its temperature, and models of the pulsars alone.

    python docs/development/kinds_of_pulsars.py [catalogs/4FGL-DR4.fits.gz]
    python docs/development/kinds_of_pulsars.py --pulsars 3pc.csv

Five folds of the training sources. Prints the mean of −ln P(kind | pulsar) of the psr and msp, and its paired
difference to the default's.

--pulsars is a list of pulsars with the columns Source_Name, in 4FGL, and millisecond, yes or no, such as that of the
third LAT pulsar catalogue. DR1 and DR2 then learn the kinds of the pulsars that they know from it, and tell those of
the sources that they leave unassociated.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
from astropy.table import Table
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fermiclass as fc
from fermiclass.io.arrays import FloatArray
from fermiclass.labelling.training import default_estimator, training_table, with_label_sets

CATALOGS = Path(__file__).parents[2] / "catalogs"


def loss(p: FloatArray, is_msp: FloatArray) -> FloatArray:
    """Return −ln of the probability of the kind, for probabilities of msp among pulsars."""
    return -np.log(np.clip(np.where(is_msp, p, 1.0 - p), 1e-5, 1.0))


def of_found_later(pulsars: Path) -> None:
    """Print how well the kinds of pulsars are told that DR1 and DR2 leave unassociated."""
    with pulsars.open() as file:
        rows = [row for row in csv.DictReader(file) if row["Source_Name"]]
    kinds = {row["Source_Name"]: {"yes": "msp", "no": "psr"}[row["millisecond"]] for row in rows}
    classes = str(fc.read_catalog(CATALOGS / "4FGL-DR3.fits.gz").grouping(None))
    for release in ("DR1", "DR2"):
        catalog = fc.read_catalog(CATALOGS / f"4FGL-{release}.fits.gz")
        known = [(name, kinds.get(name, "psr|msp")) for name in catalog.names[catalog.classes == "psr"].tolist()]
        labels = fc.classify(fc.relabel(catalog, Table(rows=known, names=("Source_Name", "label"))), classes=classes)
        kind = np.array([kinds.get(name, "") for name in labels["Source_Name"].tolist()])
        labels, kind = (each[labels["STATUS"] == "unassociated"] for each in (labels, kind))
        found = kind != ""
        is_msp, p = kind[found] == "msp", np.asarray(labels["P_msp"] / labels["Sum_P_psr"])[found]
        print(
            f"{release}: {is_msp.sum()} msp and {np.sum(~is_msp)} psr found later; kinds: AUC "
            f"{roc_auc_score(is_msp, p):.3f}, loss {loss(p, is_msp).mean():.3f}; AUC of Sum_P_psr among all "
            f"unassociated {roc_auc_score(found, labels['Sum_P_psr']):.3f}, of P_msp for the msp "
            f"{roc_auc_score(kind == 'msp', labels['P_msp']):.3f}",
            flush=True,
        )


def main() -> None:
    """Hold out each fold, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("catalog", type=Path, nargs="?", default=CATALOGS / "4FGL-DR4.fits.gz")
    parser.add_argument("--pulsars", type=Path)
    given = parser.parse_args()
    if given.pulsars:
        of_found_later(given.pulsars)
        return
    catalog = fc.read_catalog(given.catalog)
    table = training_table(catalog)
    X, X_var, y = table.X, table.X_var, table.y
    pulsars = np.flatnonzero(np.isin(y, ("psr", "msp")))
    is_msp = y[pulsars] == "msp"
    alone = {
        "GP of the pulsars alone": default_estimator(),
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000)),
        "forest": RandomForestClassifier(500, min_samples_leaf=3, random_state=0),
    }
    p = {name: np.empty(len(pulsars)) for name in ("default", *alone)}
    folds = np.empty(len(pulsars), int)
    for k, (learn, test) in enumerate(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)):
        mine, others = np.isin(pulsars, test), pulsars[~np.isin(pulsars, test)]
        own = pulsars[mine]
        folds[mine] = k
        for name, estimator in alone.items():
            noise = {"X_var": X_var[others]} if name.startswith("GP") else {}
            estimator.fit(X[others], y[others], **noise)
            own_noise = {"X_var": X_var[own]} if noise else {}
            p[name][mine] = estimator.predict_proba(X[own], **own_noise)[:, list(estimator.classes_).index("msp")]
        whole = with_label_sets(default_estimator(), table[learn])
        whole.fit(X[learn], y[learn], X_var=X_var[learn], sample_weight=table.weight[learn])
        all_classes = whole.predict_proba(X[own], X_var=X_var[own])
        psr, msp = (all_classes[:, list(whole.classes_).index(name)] for name in ("psr", "msp"))
        p["default"][mine] = msp / (psr + msp)
    z, tempered = logit(p["default"]), np.empty(len(pulsars))
    for k in range(5):  # offset and temperature by the other folds
        used = folds != k
        fitted = minimize(lambda t, used=used: loss(expit(t[0] + np.exp(t[1]) * z[used]), is_msp[used]).mean(), [0, 0])
        tempered[~used] = expit(fitted.x[0] + np.exp(fitted.x[1]) * z[~used])
        print(f"fold {k}: offset {fitted.x[0]:+.2f}, temperature {np.exp(-fitted.x[1]):.2f}")
    p["default with offset and temperature"] = tempered
    p["mean of default and GP of the pulsars alone"] = (p["default"] + p["GP of the pulsars alone"]) / 2
    p["mean of default and forest"] = (p["default"] + p["forest"]) / 2
    reference = loss(p["default"], is_msp)
    for name, values in p.items():
        difference = loss(values, is_msp) - reference
        error = difference.std() / np.sqrt(len(difference))
        print(f"{name}: {(reference + difference).mean():.3f}, {difference.mean():+.3f} ± {error:.3f}")


if __name__ == "__main__":
    main()
