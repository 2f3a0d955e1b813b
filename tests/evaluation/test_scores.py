"""All metrics together: layout, limits, invariances, bins of significance."""

import json

import numpy as np
import pytest

from fermiclass.evaluation.scores import Scores

CLASSES = ("bll", "fsrq", "psr")


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.8, 0.5, 0.3], 300)
    y = np.array([rng.choice(CLASSES, p=row) for row in p])
    return p, y


def test_layout(sample):
    scores = Scores.of(*sample, CLASSES, significance=np.full(300, 6.0)).to_dict()
    assert {"nll", "nll_se", "error", "ece", "brier", "n", "per_class", "reliability", "by_significance"} < set(scores)
    assert set(scores["per_class"]) == set(CLASSES)
    assert set(scores["per_class"]["bll"]) == {"precision", "recall", "n", "pr_auc"}
    assert json.loads(json.dumps(scores, allow_nan=False)) == scores


def test_perfect_prediction():
    y = np.array(["bll", "psr", "fsrq", "psr"])
    p = np.array([[1.0 * (name == label) for name in CLASSES] for label in y])
    scores = Scores.of(p, y, CLASSES)
    assert (scores.nll, scores.nll_se, scores.error, scores.ece, scores.ece_chance, scores.brier) == (0,) * 6
    assert all(row == {"precision": 1, "recall": 1, "n": row["n"], "pr_auc": 1} for row in scores.per_class.values())


def test_hopeless_prediction():
    scores = Scores.of(np.full((6, 3), 1 / 3), ["psr"] * 6, CLASSES)
    assert scores.nll == pytest.approx(np.log(3))
    assert scores.brier == pytest.approx(2 / 3)


def test_permuting_classes_changes_nothing(sample):
    p, y = sample
    a = Scores.of(p, y, CLASSES)
    b = Scores.of(p[:, [2, 0, 1]], y, ("psr", "bll", "fsrq"))
    for name in ("nll", "nll_se", "error", "ece", "brier", "n"):
        assert getattr(a, name) == pytest.approx(getattr(b, name))
    for name in CLASSES:
        assert a.per_class[name] == pytest.approx(b.per_class[name])


def test_same_seed_same_scores(sample):
    a, b = (Scores.of(*sample, CLASSES, seed=4).to_dict() for _ in range(2))
    assert a == b
    assert Scores.of(*sample, CLASSES, seed=5).nll_se != a["nll_se"]


def test_bins_of_significance(sample):
    p, y = sample
    significance = np.random.default_rng(1).uniform(4, 40, 300)
    significance[:3] = np.nan
    bins = Scores.of(p, y, CLASSES, significance=significance).by_significance
    assert sum(row.n for row in bins) == 297
    assert bins[-1].high is None
    for row in bins:
        chosen = (significance >= row.low) & (significance < (row.high or np.inf))
        alone = Scores.of(p[chosen], y[chosen], CLASSES)
        assert (row.n, row.nll, row.error, row.brier) == pytest.approx((alone.n, alone.nll, alone.error, alone.brier))


def test_significance_must_fit(sample):
    with pytest.raises(ValueError, match=r"significance has shape \(2,\), expected one value for each of 300 sources"):
        Scores.of(*sample, CLASSES, significance=[5.0, 6.0])
