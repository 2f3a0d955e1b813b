"""Estimate the share of sources that are of none of the trained classes, with several methods and a known truth.

    pip install quapy==0.2.3
    python docs/development/unknown_share.py [--repeats 8] [--brighter] [--output FILE.json]

The sources are those of 4FGL-DR4 with a class. One class is hidden. Half of the others, at random, are training
sources; the other half and the hidden class are mixed to 300 sources to count, with 0 to 60 % of the hidden class. The
ln odds of the known classes are altered, with a standard deviation of 0.7. A random forest learns the known classes.
Forest and OOD_SCORE of each source to count are the input of most estimators. The table has the mean absolute error of
the share of the hidden class. With --brighter the brighter half of the sources is more probably in training, as in
reality; without it each class looks the same among training sources and sources to count.

QuaPy's estimators need examples of what they count, so they have them in two ways. *Imitated*: each known class is
hidden from the forest in turn, and is an example of the unknown. *Shown*: they have sources of the hidden class that
are not counted (140 and more) as training sources, which no estimator of an unknown class has.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fermiclass.features import FeatureTable
from fermiclass.io.arrays import FloatArray
from fermiclass.labelling.label_shift import estimate_priors
from fermiclass.nimgp.domain import TrainingDomain

CATALOG = Path(__file__).parents[2] / "catalogs" / "4FGL-DR4.fits.gz"
CLASSES = ("bll", "fsrq", "psr", "other")
SHARES = (0.0, 0.1, 0.2, 0.4, 0.6)
COUNTED, ODDS, FOLDS, FLOOR = 300, 0.7, 5, 0.005
QUANTIFIERS = ("EMQ", "PACC", "HDy", "KDEyML")


def forest(seed: int) -> RandomForestClassifier:
    """Return the unfitted classifier."""
    return RandomForestClassifier(100, min_samples_leaf=3, random_state=seed)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a forest and the score say of n sources: p ``(n, C)``, OOD_SCORE ``(n,)``, and features ``(n, D)``."""

    p: FloatArray
    score: FloatArray
    X: FloatArray

    @property
    def novelty(self) -> FloatArray:
        """Logit of the score, ln of the largest probability, and entropy, ``(n, 3)``: for any number of classes."""
        p = np.maximum(self.p, FLOOR)
        entropy = -np.sum(p * np.log(p), axis=1) / np.log(p.shape[1])
        return np.column_stack([_logit(self.score), np.log(p.max(axis=1)), entropy])

    @property
    def tilted_by(self) -> FloatArray:
        """Logarithms of the probabilities, logit of the score and its square, ``(n, C + 2)``."""
        u = _logit(self.score)
        return np.column_stack([np.log(np.maximum(self.p, FLOOR)), u, u**2])


def _logit(score: FloatArray) -> FloatArray:
    clipped: FloatArray = logit(np.clip(score, FLOOR, 1.0 - FLOOR))
    return clipped


def evidence(train: FeatureTable, sources: FeatureTable, seed: int) -> Evidence:
    """Return the evidence of sources that are not in training."""
    domain = TrainingDomain.fit(train.X, train.X_var, train.y)
    p = forest(seed).fit(train.X, train.y).predict_proba(sources.X)
    return Evidence(p, domain.score(sources.X, sources.X_var), sources.X)


def held_out(train: FeatureTable, seed: int) -> Evidence:
    """Return the evidence of each training source by the other parts."""
    p, score = np.empty((len(train), len(np.unique(train.y)))), np.empty(len(train))
    for rest, rows in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(train.X, train.y):
        found = evidence(train[rest], train[rows], seed)
        p[rows], score[rows] = found.p, found.score
    return Evidence(p, score, train.X)


@dataclass(frozen=True, eq=False)
class Problem:
    """Training sources of known classes y (indices), and sources to count."""

    train: Evidence
    y: NDArray[np.intp]
    count: Evidence

    @property
    def weights(self) -> FloatArray:
        """w_c/π_c of each training source, ``(n,)``, with w by expectation maximisation without an unknown class."""
        trained = np.bincount(self.y) / len(self.y)
        weights: FloatArray = (estimate_priors(self.count.p, trained).mean / trained)[self.y]
        return weights


def best_bin(known: FloatArray, weights: FloatArray, count: FloatArray) -> float:
    """Return the largest share of the known component in the sources to count, by the best bin (Garg et al. 2021).

    It is the least ratio of P(score ≥ t) among sources to count and among known ones, with the same scores, at the
    threshold t where the upper end of the ratio is least.
    """
    t = np.unique(known)
    order = np.argsort(known)
    above = np.append(np.cumsum(weights[order][::-1])[::-1], 0.0) / weights.sum()
    of_known = above[np.searchsorted(known[order], t, side="left")]
    of_count = 1.0 - np.searchsorted(np.sort(count), t, side="left") / len(count)
    effective = weights.sum() ** 2 / np.sum(weights**2)
    slack = np.sqrt(np.log(40.0) / (2.0 * len(count))) + np.sqrt(np.log(40.0) / (2.0 * effective))
    best = np.argmin((of_count + 1.01 * slack) / of_known)
    return float(min(of_count[best] / of_known[best], 1.0))


def score_bin(problem: Problem) -> float:
    """Best bin of the OOD score: all below a threshold are known."""
    return 1.0 - best_bin(1.0 - problem.train.score, problem.weights, 1.0 - problem.count.score)


def class_bins(problem: Problem) -> float:
    """Best bin for each class, of a forest that parts its training sources from those to count (as in PULSE)."""
    known = 0.0
    for c in range(problem.y.max() + 1):
        mine = problem.train.X[problem.y == c]
        X = np.concatenate([mine, problem.count.X])
        is_mine = np.arange(len(X)) < len(mine)
        z = cross_val_predict(
            forest(c), X, is_mine, cv=StratifiedKFold(2, shuffle=True, random_state=c), method="predict_proba"
        )[:, 1]
        known += best_bin(z[is_mine], np.ones(len(mine)), z[~is_mine])
    return max(0.0, 1.0 - known)


def tilted(problem: Problem, steps: int = 60) -> float:
    """Maximise expectations with an unknown class whose density is an exponential tilt (as in DETM).

    With the density f of the training sources, those to count have the density
    f(x) [(1 − s) Σ_c w_c p_c(x)/π_c + s exp(α + βᵀ φ(x))].
    """
    scale = StandardScaler().fit(problem.train.tilted_by)
    phi = scale.transform(np.concatenate([problem.train.tilted_by, problem.count.tilted_by]))
    n = len(problem.y)
    trained = np.bincount(problem.y) / n
    w, r = trained.copy(), 0.8 * problem.count.score
    is_count = np.arange(len(phi)) >= n
    model = LogisticRegression(C=1.0, warm_start=True, max_iter=200)
    for _ in range(steps):
        model.fit(phi, is_count, sample_weight=np.concatenate([np.ones(n), np.maximum(r, 1e-6)]))
        s = float(np.clip(r.mean(), 1e-4, 1.0 - 1e-4))
        unknown = s * np.exp(np.clip(model.decision_function(phi[n:]), -30, 30)) * n / r.sum()
        of_class = (1.0 - s) * problem.count.p * w / trained
        total = unknown + of_class.sum(axis=1)
        r = unknown / total
        w = (of_class / total[:, None]).sum(axis=0) + trained
        w /= w.sum()
    return float(r.mean())


def mixture(problem: Problem, steps: int = 100) -> float:
    """Maximise expectations of densities in six principal components; the unknown is one more Gaussian."""
    reduce = make_pipeline(StandardScaler(), PCA(6)).fit(problem.train.X)
    known, count = reduce.transform(problem.train.X), reduce.transform(problem.count.X)
    f = np.exp(
        np.column_stack(
            [
                GaussianMixture(3, reg_covar=0.05, random_state=0).fit(known[problem.y == c]).score_samples(count)
                for c in range(problem.y.max() + 1)
            ]
        )
    )
    w, r = np.full(f.shape[1], 0.8 / f.shape[1]), 0.8 * problem.count.score
    for _ in range(steps):
        mean = np.average(count, axis=0, weights=r)
        away = count - mean
        # five sources of the covariance of all keep the Gaussian from a single point
        covariance = ((r[:, None] * away).T @ away + 5.0 * np.cov(count.T)) / (r.sum() + 5.0)
        unknown = r.mean() * multivariate_normal(mean, covariance).pdf(count)
        of_class = f * w
        total = unknown + of_class.sum(axis=1)
        r, w = unknown / total, (of_class / total[:, None]).mean(axis=0)
    return float(r.mean())


def quantify(name: str, X: FloatArray, unknown: NDArray[np.bool_], count: FloatArray) -> float:
    """Return the share of the unknown by an estimator of QuaPy with logistic regression."""
    from quapy.method import aggregative

    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    estimator = getattr(aggregative, name)(classifier)
    estimator.fit(X, unknown.astype(int))
    return float(estimator.predict(count)[1])


def imitated(train: FeatureTable, seed: int) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return novelty and whether it is that of an unknown source, with each known class hidden in turn."""
    found = []
    for name in np.unique(train.y):
        rest, hidden = train[train.y != name], train[train.y == name]
        found += [(held_out(rest, seed).novelty, False), (evidence(rest, hidden, seed).novelty, True)]
    return np.concatenate([x for x, _ in found]), np.concatenate([np.full(len(x), unknown) for x, unknown in found])


OWN: dict[str, Callable[[Problem], float]] = {
    "best bin of OOD_SCORE": score_bin,
    "best bin for each class": class_bins,
    "expectation maximisation, tilted": tilted,
    "expectation maximisation, Gaussian": mixture,
}


def draw_counted(
    y: NDArray[np.str_], known: NDArray[np.intp], hidden: NDArray[np.intp], share: float, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return the rows of the sources to count, with other odds of the known classes."""
    odds = dict(zip(CLASSES, np.exp(ODDS * rng.standard_normal(len(CLASSES))), strict=True))
    weight = np.array([odds[str(name)] for name in y[known]])
    num_hidden = round(share * COUNTED)
    of_known = rng.choice(known, COUNTED - num_hidden, replace=False, p=weight / weight.sum())
    return np.concatenate([of_known, rng.choice(hidden, num_hidden, replace=False)])


def repeat(table: FeatureTable, name: str, seed: int, *, brighter: bool) -> list[dict[str, Any]]:
    """Return the estimates with one class hidden, one entry for each share."""
    rng = np.random.default_rng(seed)
    in_training = rng.random(len(table)) < (_brightness(table) if brighter else 0.5)
    is_hidden = table.y == name
    train, rest = table[in_training & ~is_hidden], np.flatnonzero(~in_training & ~is_hidden)
    hidden = rng.permutation(np.flatnonzero(is_hidden))
    hidden, shown = hidden[: round(max(SHARES) * COUNTED)], hidden[round(max(SHARES) * COUNTED) :]
    y = np.unique(train.y, return_inverse=True)[1]
    of_train, of_shown = held_out(train, seed), evidence(train, table[shown], seed)
    fake, is_fake = imitated(train, seed)
    true = np.concatenate([of_train.tilted_by, of_shown.tilted_by])
    is_shown = np.arange(len(true)) >= len(train)
    found = []
    for share in SHARES:
        count = evidence(train, table[draw_counted(table.y, rest, hidden, share, rng)], seed)
        problem = Problem(of_train, y, count)
        estimates = {way: estimate(problem) for way, estimate in OWN.items()}
        for quantifier in QUANTIFIERS:
            estimates[f"{quantifier}, imitated"] = quantify(quantifier, fake, is_fake, count.novelty)
            estimates[f"{quantifier}, shown"] = quantify(quantifier, true, is_shown, count.tilted_by)
        found.append({"hidden": name, "seed": seed, "share": share, "estimates": estimates})
    return found


def _brightness(table: FeatureTable) -> FloatArray:
    """Return the probability to be a training source, with a slope of 1 in standardised ln significance, ``(n,)``."""
    column = table.X[:, [feature.name for feature in table.features].index("ln_Signif_Avg")]
    p: FloatArray = expit((column - column.mean()) / column.std())
    return p


def print_tables(found: list[dict[str, Any]]) -> None:
    """Print the mean absolute error by hidden class, and by share."""
    ways = list(found[0]["estimates"])

    def error(way: str, key: str, value: str | float) -> float:
        return float(np.mean([abs(one["estimates"][way] - one["share"]) for one in found if one[key] == value]))

    for key, values in (("hidden", CLASSES), ("share", SHARES)):
        print(f"| error, by {key} | " + " | ".join(map(str, values)) + " |\n| --- |" + " ---: |" * len(values))
        for way in ways:
            print(f"| {way} | " + " | ".join(f"{error(way, key, value):.3f}" for value in values) + " |")
        print()


def main() -> None:
    """Hide each class, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--brighter", action="store_true", help="Train on the brighter sources.")
    parser.add_argument("--output", type=Path, help="JSON to continue and to write.")
    arguments = parser.parse_args()
    from fermiclass.catalog import read_catalog
    from fermiclass.labelling.training import training_table

    table = training_table(read_catalog(CATALOG), classes=",".join(CLASSES), one_class=True)
    path = arguments.output
    found = json.loads(path.read_text(encoding="utf-8")) if path is not None and path.exists() else []
    done = {(one["seed"], one["hidden"]) for one in found}
    for seed in range(arguments.repeats):
        for name in CLASSES:
            if (seed, name) not in done:
                found += repeat(table, name, seed, brighter=arguments.brighter)
                if path is not None:
                    path.write_text(json.dumps(found) + "\n", encoding="utf-8")
    print_tables(found)


if __name__ == "__main__":
    main()
