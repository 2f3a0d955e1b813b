"""Rules for the reference S₀ of the class priors: what each finds, what it expects, and how it labels.

    python docs/development/open-world/selection.py EARLIER LATER [LATER ...]

For every rule: S₀, the expected number of AGN among the unassociated sources, and the loss on the sources that each
later list classifies (those in even cells for FL16Y, else all). Then S₀ of the least loss on each list. At last a
simulation in which all assumptions of the rules hold: 1200 unassociated sources are drawn from the training sources,
AGN with weights r(S, b) of a known S₀.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
from constants import trained
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import fermiclass as fc
from fermiclass.evaluation import open_world
from fermiclass.evaluation.methods import open_classes
from fermiclass.evaluation.metrics import nll_per_source
from fermiclass.labelling.associations import _coordinates, _reference
from fermiclass.labelling.lasting import lasting

EDGES = (10.0, 20.0)
DRAWS = 30
TRIED = np.exp(np.linspace(0.0, np.log(20.0), 61))


def local_odds(place: np.ndarray, p: np.ndarray, weight: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the odds of an AGN among training sources at other places: a quadratic logistic regression of p."""
    model = make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression(C=1e6, max_iter=2000))
    weights = np.concatenate([weight * p, weight * (1.0 - p)])
    model.fit(np.concatenate([place, place]), np.repeat([1, 0], len(p)), logisticregression__sample_weight=weights)
    return np.exp(model.decision_function(at))


def main() -> None:
    """Read the lists, and print the lines."""
    catalog, *later = (fc.read_catalog(name) for name in sys.argv[1:])
    pairs = [open_world(catalog, one, cells="even" if one.release.name == "FL16Y" else "all") for one in later]
    model = trained(pairs[0].splits[0][0])
    prior, of_agn = model.selection, model.grouping.of_agn(model.classes)
    all_p = model.predict(model.features_of(catalog)).probabilities
    p, bare = all_p[:, of_agn].sum(axis=1), catalog.classes == ""
    ln_s, near, known = _coordinates(catalog)
    place, b = np.column_stack([ln_s, near]), np.abs(catalog.column("GLAT"))
    rows = fc.Recipe().check(catalog).rows
    rows = rows[known[rows.rows]]
    is_agn = np.isin(catalog.classes, fc.catalog.CLASS_TREE["agn"])
    latitude = (1.0 + np.exp(prior.intercept + prior.gradient * near)) / prior.norm
    r = latitude * np.exp(prior.slope * ln_s)  # at S₀ = 1

    one_class = rows.rows[np.isin(rows.y, model.classes)]
    shares = {"one class": is_agn[one_class].mean(), "all rows": np.average(p[rows.rows], weights=rows.weight)}
    odds = {f"ω of {name}": np.full(len(p), share / (1.0 - share)) for name, share in shares.items()}
    odds["local ω"] = np.ones(len(p))
    odds["local ω"][known] = local_odds(place[rows.rows], p[rows.rows], rows.weight, place[known])

    def fit(name: str, i: np.ndarray) -> float:
        return _reference(r[i], prior.slope, p[i], odds[name][i])

    def of(reference: float) -> tuple[float, list[float]]:
        other = replace(model, selection=replace(prior, reference=reference))
        P = all_p * other.ratios(catalog)
        P /= P.sum(axis=1, keepdims=True)
        found = []
        for pair in pairs:
            grouped = pair.grouped(P[pair.splits[0][0].rows] @ natures, "all")
            found.append(nll_per_source(grouped, pair.truth_of("all"))[pair.scored].mean())
        return P[bare][:, of_agn].sum(), found

    natures = open_classes(model.grouping)[[model.grouping.names.index(name) for name in model.classes]]
    lasts = lasting(catalog) > 0.7
    rules = {"kept": prior.reference}
    for name in odds:
        for edge in EDGES:
            mixed = bare & known & (b >= edge)
            rules[f"{name}, |b| ≥ {edge:g}"] = fit(name, mixed)
            rules[f"{name}, |b| ≥ {edge:g}, LASTS > 0.7"] = fit(name, mixed & lasts)
    print(
        "rule, S₀, expected AGN, loss on",
        *(f"{one.source} ({len(pair.scored)})" for one, pair in zip(later, pairs, strict=True)),
    )
    for name, reference in rules.items():
        agn, loss = of(reference)
        print(f"{name}: {reference:.2f}, {agn:.0f},", *(f"{value:.3f}" for value in loss))
    tried = np.array([of(reference)[1] for reference in TRIED])
    print("S₀ of the least loss:", *(f"{value:.1f}" for value in TRIED[tried.argmin(axis=0)]))

    rng, at = np.random.default_rng(0), one_class[b[one_class] >= EDGES[0]]
    for truth in (2.5, 4.0, 6.0, 9.0):
        weights = np.where(is_agn[at], r[at] * truth**-prior.slope, 1.0)
        drawn = [rng.choice(at, 1200, p=weights / weights.sum()) for _ in range(DRAWS)]
        for name in odds:
            found = [fit(name, i) for i in drawn]
            print(f"simulated with S₀ = {truth}, {name}: {np.mean(found):.1f} ± {np.std(found):.1f}")


if __name__ == "__main__":
    main()
