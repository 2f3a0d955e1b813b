"""Each metric against a naive loop or scikit-learn, limits and invariances."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, log_loss, precision_score, recall_score

from fermiclass.evaluation import metrics

CLASSES = ("bll", "fsrq", "psr")


@pytest.fixture
def sample():
    """Calibrated probabilities (n, C) and labels as indices."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.8, 0.5, 0.3], 400)
    y = np.array([rng.choice(3, p=row) for row in p])
    return p, y


def test_nll_is_log_loss(sample):
    p, y = sample
    clipped = np.clip(p, 1e-5, 1)
    assert metrics.nll_per_source(p, y).mean() == pytest.approx(
        -np.mean([np.log(clipped[i, c]) for i, c in enumerate(y)])
    )
    p = 0.9 * p + 0.1 / 3
    assert metrics.nll_per_source(p, y).mean() == pytest.approx(log_loss(y, p))


def test_nll_is_clipped():
    p = np.array([[1.0, 0.0]])
    assert metrics.nll_per_source(p, np.array([1])) == pytest.approx(-np.log(1e-5))
    assert metrics.nll_per_source(p, np.array([0])) == 0


def test_bootstrap_se(sample):
    loss = metrics.nll_per_source(*sample)
    se = metrics.bootstrap_se(loss)
    assert se == pytest.approx(loss.std() / np.sqrt(len(loss)), rel=0.1)
    assert se == metrics.bootstrap_se(loss)
    assert se != metrics.bootstrap_se(loss, seed=1)
    assert metrics.bootstrap_se(np.ones(5)) == 0


@pytest.mark.parametrize("n", [1, 67, 400, 70_000])
def test_bootstrap_in_blocks_draws_what_one_at_a_time_does(n):
    values = np.random.default_rng(n).exponential(size=n)
    rng = np.random.default_rng(3)
    means = [values[rng.integers(n, size=n)].mean() for _ in range(200)]
    assert metrics.bootstrap_se(values, 3, num_resamples=200) == np.std(means)


def test_brier(sample):
    p, y = sample
    expected = np.mean([sum((p[i, c] - (y[i] == c)) ** 2 for c in range(3)) for i in range(len(p))])
    assert metrics.brier(p, y) == pytest.approx(expected)


def test_reliability_against_a_loop(sample):
    p, y = sample
    table = metrics.reliability(p, y)
    order = np.argsort(p.max(axis=1))
    for row, chosen in zip(table, np.array_split(order, 10), strict=True):
        assert row.n == len(chosen) == 40
        assert row.confidence == pytest.approx(p[chosen].max(axis=1).mean())
        assert row.accuracy == pytest.approx(np.mean(p[chosen].argmax(axis=1) == y[chosen]))
    ece = metrics.expected_calibration_error(table)
    assert ece == pytest.approx(np.mean([abs(row.accuracy - row.confidence) for row in table]))


def test_reliability_of_tied_confidences():
    p = np.array([[0.6, 0.4]] * 30 + [[0.9, 0.1]] * 3)
    y = np.array([0] * 18 + [1] * 12 + [0] * 3)
    table = metrics.reliability(p, y)
    assert [row.n for row in table] == [30, 3]
    assert metrics.expected_calibration_error(table) == pytest.approx(3 / 33 * 0.1)


def test_order_of_sources_does_not_matter(sample):
    p, y = np.round(sample[0], 2), sample[1]
    order = np.random.default_rng(1).permutation(len(p))
    a, b = (metrics.expected_calibration_error(metrics.reliability(q, z)) for q, z in ((p, y), (p[order], y[order])))
    assert a == pytest.approx(b)


def test_chance_calibration_error_is_that_of_calibrated_probabilities(sample):
    p, _ = sample
    rng = np.random.default_rng(7)
    errors = []
    for _ in range(100):
        y = np.array([rng.choice(3, p=row) for row in p])
        errors.append(metrics.expected_calibration_error(metrics.reliability(p, y)))
    assert metrics.chance_calibration_error(p) == pytest.approx(np.mean(errors), rel=0.1)


@pytest.mark.parametrize("decimals", [1, 2, 15])
def test_chance_calibration_error_against_a_loop(sample, decimals):
    """Also with tied confidences, and with classes that are impossible."""
    p = np.round(sample[0], decimals) + 1e-9
    p /= p.sum(axis=1, keepdims=True)
    rng, cumulative = np.random.default_rng(5), np.cumsum(p, axis=1)[:, :-1]
    errors = []
    for _ in range(20):
        y = np.sum(rng.random((len(p), 1)) > cumulative, axis=1)
        errors.append(metrics.expected_calibration_error(metrics.reliability(p, y)))
    assert metrics.chance_calibration_error(p, seed=5, num_draws=20) == np.mean(errors)


def test_per_class(sample):
    p, y = sample
    table = metrics.per_class(p, y, CLASSES)
    for c, name in enumerate(CLASSES):
        truth, found = y == c, p.argmax(axis=1) == c
        assert table[name]["n"] == truth.sum()
        assert table[name]["precision"] == pytest.approx(precision_score(truth, found))
        assert table[name]["recall"] == pytest.approx(recall_score(truth, found))
        assert table[name]["pr_auc"] == pytest.approx(average_precision_score(truth, p[:, c]))


def test_class_without_sources_or_predictions():
    p = np.array([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1]])
    table = metrics.per_class(p, np.array([0, 1]), CLASSES)
    assert table["psr"] == {"precision": None, "recall": None, "n": 0, "pr_auc": None}
    assert table["fsrq"]["precision"] is None
    assert table["fsrq"]["recall"] == 0


def test_paired_difference(sample):
    a = metrics.nll_per_source(*sample)
    b = a + np.random.default_rng(2).normal(0.1, 0.01, len(a))
    difference = metrics.paired_difference(b, a)
    assert difference.mean == pytest.approx(np.mean(b) - np.mean(a))
    assert difference.se == pytest.approx(0.01 / np.sqrt(len(a)), rel=0.15)
    assert difference.n == len(a)
    opposite = metrics.paired_difference(a, b)
    assert (opposite.mean, opposite.se) == pytest.approx((-difference.mean, difference.se))
    assert np.isnan(metrics.paired_difference([1.0], [2.0]).se)
    assert str(metrics.Difference(0.12345, 0.01, 3)) == "+0.1235 ± 0.0100"


def test_pairs_must_be_pairs():
    with pytest.raises(ValueError, match=r"shapes \(2,\) and \(3,\) are not pairs"):
        metrics.paired_difference([1.0, 2.0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("p", "y", "message"),
    [
        (np.ones((2, 2)) / 2, ["bll", "psr"], "do not fit 3 classes"),
        (np.ones((2, 3)) / 3, ["bll"], "do not fit 3 classes"),
        (np.ones((0, 3)), [], "no sources to score"),
        (np.ones((2, 3)) / 3, ["bll", "snr"], "labels 'snr' are not among the classes bll, fsrq, psr"),
        (np.ones((2, 3)) / 3, ["bll", ""], "labels '' are not among the classes"),
        (np.ones((2, 3)), ["bll", "psr"], "row 0 of the probabilities"),
        ([[1, 0, 0], [1.5, -0.5, 0]], ["bll", "psr"], "row 1 of the probabilities"),
        ([[1, 0, 0], [np.nan, 0.5, 0]], ["bll", "psr"], "row 1 of the probabilities"),
    ],
)
def test_unfit_input(p, y, message):
    with pytest.raises(ValueError, match=message):
        metrics.label_indices(p, y, CLASSES)
