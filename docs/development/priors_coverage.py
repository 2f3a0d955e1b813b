"""Coverage of the intervals of numbers of sources, in simulations with a known truth and a fitted classifier.

    python docs/development/priors_coverage.py [--classifier gp] [--replicates 40] [--same-priors] [--output FILE.json]

The sources are those of 4FGL-DR4 with a class. Each replicate draws training sources, the brighter the more probably,
and from the rest the sources to count, with other odds of the classes: ln odds of a standard deviation of 0.7, and of
0.35 for each standard deviation of ln significance and of asinh(|b|/3°). A classifier is fitted to all training
sources, and to all but one of five parts. Its probabilities are used as they are, and with their logarithms multiplied
by 0.7 and by 1.4. With --same-priors the odds of the classes are those of training, and a row is added: the intervals
of `take_census` without `estimate`. The table has the coverage of 90 % intervals.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from quantification import HeldOut, Predictions, draw_numbers
from scipy.stats import norm

from fermiclass.features import FeatureTable
from fermiclass.io.arrays import FloatArray
from fermiclass.analysis.census import FLOOR
from fermiclass.labelling.label_shift import estimate_priors

CATALOG = Path(__file__).parents[2] / "catalogs" / "4FGL-DR4.fits.gz"
FOLDS, DRAWS, LEVEL = 5, 200, 0.9
SHARPNESS = (1.0, 0.7, 1.4)
ODDS, SLOPES = 0.7, 0.35
BRIGHT = (0.3, 1.0)  # log odds to be a training source: constant, and slope in standardised ln significance
PLACES = ("all latitudes", "below 10°", "10° and more")
WAYS = (
    "√Σ p(1 − p)",
    "expectation maximisation",
    "intervals, class priors as trained",
    "intervals, class priors estimated",
    "intervals, about the probabilities as given",
)

#: Fits to several tables, and returns for each table what predicts the probabilities of another.
Fitter = Callable[[list[FeatureTable]], list[Callable[[FeatureTable], FloatArray]]]


def fit_gp(tables: list[FeatureTable]) -> list[Callable[[FeatureTable], FloatArray]]:
    """Fit the default of classify."""
    from fermiclass.labelling.training import default_estimator

    fitted = [default_estimator().fit(table.X, table.y, X_var=table.X_var) for table in tables]
    return [lambda table, one=one: one.predict_proba(table.X, X_var=table.X_var) for one in fitted]


def fit_with(make: Callable[[], Any]) -> Fitter:
    """Return what fits a classifier of scikit-learn."""

    def fit(tables: list[FeatureTable]) -> list[Callable[[FeatureTable], FloatArray]]:
        fitted = [make().fit(table.X, table.y) for table in tables]
        return [lambda table, one=one: np.asarray(one.predict_proba(table.X)) for one in fitted]

    return fit


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(150, min_samples_leaf=3, random_state=0)


CLASSIFIERS: dict[str, Fitter] = {"gp": fit_gp, "logistic": fit_with(_logistic), "forest": fit_with(_forest)}


def place_of(table: FeatureTable) -> FloatArray:
    """Return ln Signif_Avg and asinh(|b|/3°), ``(n, 2)``."""
    names = [feature.name for feature in table.features]
    return table.X[:, [names.index("ln_Signif_Avg"), names.index("asinh_GLAT")]]


def sharpened(p: FloatArray, factor: float) -> FloatArray:
    """Return the probabilities with their logarithms multiplied by a factor."""
    q = np.maximum(p, FLOOR) ** factor
    return q / q.sum(axis=-1, keepdims=True)


def draw_sources(
    table: FeatureTable, y: NDArray[np.intp], rng: np.random.Generator, *, altered: bool
) -> tuple[FeatureTable, FeatureTable]:
    """Return training sources, and sources to count."""
    z = place_of(table)
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    train = rng.random(len(table)) < 1.0 / (1.0 + np.exp(-(BRIGHT[0] + BRIGHT[1] * z[:, 0])))
    rest = np.flatnonzero(~train)
    num_classes = y.max() + 1
    odds = ODDS * rng.standard_normal(num_classes) + z[rest] @ (SLOPES * rng.standard_normal((2, num_classes)))
    kept = np.exp(altered * odds[np.arange(len(rest)), y[rest]])
    return table[train], table[rest[rng.random(len(rest)) < kept / np.quantile(kept, 0.98)]]


def replicate(table: FeatureTable, fit: Fitter, seed: int, *, altered: bool) -> list[dict[str, Any]]:
    """Return truth and intervals, one entry for each sharpness."""
    from sklearn.model_selection import StratifiedKFold

    classes, y = np.unique(table.y, return_inverse=True)
    rng = np.random.default_rng(seed)
    train, count = draw_sources(table, y, rng, altered=altered)
    parts = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(train.X, train.y))
    *partial, full = fit([*(train[rows] for rows, _ in parts), train])
    held = np.empty((len(train), len(classes)))
    for predict, (_, rows) in zip(partial, parts, strict=True):
        held[rows] = predict(train[rows])
    p, refits = full(count), np.array([predict(count) for predict in partial])
    far = place_of(count)[:, 1] >= np.arcsinh(10.0 / 3.0)
    groups = [np.ones(len(count), bool), ~far, far]
    truth = np.array([[np.sum(count.y[rows] == name) for name in classes] for rows in groups])
    shares = np.array([np.mean(train.y == name) for name in classes])
    known = np.searchsorted(classes, train.y)
    half = norm.ppf(0.5 + LEVEL / 2)
    found = []
    for factor in SHARPNESS:
        q, q_held = sharpened(p, factor), sharpened(held, factor)
        drawn = [
            draw_numbers(
                HeldOut(q_held, place_of(train), known),
                Predictions(q, place_of(count)),
                groups,
                rng,
                refits=sharpened(refits, factor),
                estimate=estimate,
                recalibrate=recalibrate,
                num_draws=DRAWS,
            )
            for estimate, recalibrate in ((False, True), (True, True), (False, False))[: 2 if altered else 3]
        ]
        sums = np.array([q[rows].sum(axis=0) for rows in groups])
        scatter = np.array([np.sqrt(np.sum(q[rows] * (1.0 - q[rows]), axis=0)) for rows in groups])
        em = [estimate_priors(q[rows], shares) for rows in groups]
        of_em, std = (
            np.array([getattr(one, name) * rows.sum() for one, rows in zip(em, groups, strict=True)])
            for name in ("mean", "std")
        )
        ends = [np.quantile(one, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0) for one in drawn]
        found.append(
            {
                "seed": seed,
                "sharpness": factor,
                "truth": truth.tolist(),
                "ways": {
                    WAYS[0]: [x.tolist() for x in (sums, sums - half * scatter, sums + half * scatter)],
                    WAYS[1]: [x.tolist() for x in (of_em, of_em - half * std, of_em + half * std)],
                    **{
                        way: [x.tolist() for x in (one.mean(axis=0), *end)]
                        for way, one, end in zip(WAYS[2:], drawn, ends, strict=False)
                    },
                },
            }
        )
    return found


def coverage(found: list[dict[str, Any]], way: str) -> str:
    """Return cells of coverage in each place, the mean width of an interval, and the root mean square error."""
    truth = np.array([one["truth"] for one in found])  # (replicates, places, classes)
    centre, low, high = (np.array([one["ways"][way][k] for one in found]) for k in range(3))
    inside = (low <= truth) & (truth <= high)
    cells = [f"{inside.mean():.3f}", *(f"{inside[:, k].mean():.3f}" for k in range(len(PLACES)))]
    error = np.sqrt(np.mean((centre - truth)[:, 0] ** 2))
    return " | ".join([*cells, f"{np.mean((high - low)[:, 0]):.0f}", f"{error:.0f}"])


def main() -> None:
    """Simulate, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classifier", default="gp", choices=CLASSIFIERS)
    parser.add_argument("--replicates", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="Seed of the first replicate.")
    parser.add_argument("--same-priors", action="store_true", help="Count sources with the odds of training.")
    parser.add_argument("--output", type=Path, help="JSON to continue and to write.")
    arguments = parser.parse_args()
    from fermiclass.catalog import read_catalog
    from fermiclass.labelling.training import training_table

    table = training_table(read_catalog(CATALOG), one_class=True)
    path = arguments.output
    found = json.loads(path.read_text(encoding="utf-8")) if path is not None and path.exists() else []
    done = {one["seed"] for one in found}
    for seed in range(arguments.first, arguments.first + arguments.replicates):
        if seed not in done:
            found += replicate(table, CLASSIFIERS[arguments.classifier], seed, altered=not arguments.same_priors)
            if path is not None:
                path.write_text(json.dumps(found) + "\n", encoding="utf-8")
    head = ["sharpness", f"{len(found) // len(SHARPNESS)} replicates", "coverage", *PLACES, "mean width", "error"]
    print("| " + " | ".join(head) + " |\n| ---: | --- |" + " ---: |" * (len(head) - 2))
    for factor in SHARPNESS:
        chosen = [one for one in found if one["sharpness"] == factor]
        for way in chosen[0]["ways"]:
            print(f"| {factor} | {way} | {coverage(chosen, way)} |")


if __name__ == "__main__":
    main()
