"""Each metric against a naive loop or scikit-learn, limits, invariances, and truth that is a set of classes."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics import average_precision_score, confusion_matrix, log_loss, precision_score, recall_score

from fermiclass.evaluation import metrics

CLASSES = ("bll", "fsrq", "psr")


@pytest.fixture
def sample():
    """Calibrated probabilities (n, C), the truth, and the same as indices."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.8, 0.5, 0.3], 400)
    y = np.array([rng.choice(3, p=row) for row in p])
    return p, np.arange(3) == y[:, None], y


def test_nll_is_log_loss(sample):
    p, truth, y = sample
    assert metrics.nll(np.maximum(p, 1e-4), truth) == pytest.approx(-np.log(np.maximum(p, 1e-4))[truth].mean())
    p = 0.9 * p + 0.1 / 3
    assert metrics.nll(p, truth) == pytest.approx(log_loss(y, p))
    impossible = metrics.nll_per_source(np.array([[1.0, 0.0]]), np.array([[False, True]]))
    assert impossible == pytest.approx(-np.log(1e-5))
    error = metrics.nll_per_source(p, truth).std() / np.sqrt(len(p))
    assert metrics.nll_se(p, truth) == metrics.nll_se(p, truth) == pytest.approx(error, rel=0.1)


def test_truth_may_be_a_set_of_classes():
    p = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])
    truth = np.array([[True, True, False], [True, True, True]])  # the second says nothing
    assert metrics.known(truth).tolist() == [True, False]
    found = metrics.figures(p, truth)
    assert found["nll"] == pytest.approx(-np.log(0.9))
    assert found["error"] == 0
    assert found["brier"] == pytest.approx(0.1**2 + 0.1**2)
    assert metrics.confusion(p, truth).sum() == 0
    table = metrics.per_class(p, truth, CLASSES)
    assert (table["bll"]["n"], table["bll"]["precision"], table["bll"]["expected"]) == (0, 1.0, 0.6)


def test_nll_after_best_priors_does_not_depend_on_class_priors(sample):
    """It is the NLL at the best priors, found here by another search."""
    p, truth = 0.9 * sample[0] + 0.1 / 3, sample[1]

    def total(offset):
        z = p * np.exp(np.r_[0.0, offset])
        return -np.log((z * truth).sum(axis=1) / z.sum(axis=1)).mean()

    best = minimize(total, np.zeros(2), method="Nelder-Mead", options={"fatol": 1e-9}).fun
    assert metrics.nll_after_best_priors(p, truth) == pytest.approx(best, abs=1e-5)
    shifted = p * [1.0, 3.0, 0.5]
    shifted /= shifted.sum(axis=1, keepdims=True)
    assert metrics.nll_after_best_priors(shifted, truth) == pytest.approx(best, abs=1e-5)
    assert best < metrics.nll(shifted, truth)
    one = truth[:, 0]
    assert metrics.nll_after_best_priors(p[one], truth[one]) == 0  # a single class
    low = np.arange(len(p)) < 150
    parts = [np.sum(rows) * metrics.nll_after_best_priors(p[rows], truth[rows]) for rows in (low, ~low)]
    assert metrics.figures(p, truth, low)["nll_after_best_priors"] == pytest.approx(sum(parts) / len(p))


def test_brier_and_error(sample):
    p, truth, y = sample
    expected = np.mean([sum((p[i, c] - (y[i] == c)) ** 2 for c in range(3)) for i in range(len(p))])
    assert metrics.brier(p, truth) == pytest.approx(expected)
    assert metrics.error(p, truth) == np.mean(p.argmax(axis=1) != y)


def test_reliability_against_a_loop(sample):
    p, truth, y = sample
    table = metrics.reliability(p, truth)
    order = np.argsort(p.max(axis=1))
    for row, chosen in zip(table, np.array_split(order, 10), strict=True):
        assert row.n == len(chosen) == 40
        assert row.confidence == pytest.approx(p[chosen].max(axis=1).mean())
        assert row.accuracy == pytest.approx(np.mean(p[chosen].argmax(axis=1) == y[chosen]))
    assert metrics.ece(p, truth) == pytest.approx(np.mean([abs(row.accuracy - row.confidence) for row in table]))


def test_tied_confidences_share_a_bin():
    p = np.array([[0.6, 0.4]] * 30 + [[0.9, 0.1]] * 3)
    truth = np.arange(2) == np.array([0] * 18 + [1] * 12 + [0] * 3)[:, None]
    assert [row.n for row in metrics.reliability(p, truth)] == [30, 3]
    assert metrics.ece(p, truth) == pytest.approx(3 / 33 * 0.1)


@pytest.mark.parametrize("decimals", [1, 15])
def test_ece_by_chance_is_that_of_calibrated_probabilities(sample, decimals):
    """Also with tied confidences, and with classes that are impossible."""
    p = np.round(sample[0], decimals) + 1e-9
    p /= p.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(7)
    errors = [metrics.ece(p, np.arange(3) == np.array([[rng.choice(3, p=row)] for row in p])) for _ in range(100)]
    assert metrics.ece_by_chance(p, sample[1]) == pytest.approx(np.mean(errors), rel=0.1)


def test_per_class_and_confusion(sample):
    p, truth, y = sample
    said, table = p.argmax(axis=1), metrics.per_class(p, truth, CLASSES)
    for c, name in enumerate(CLASSES):
        row = table[name]
        assert row["n"] == np.sum(y == c)
        assert row["expected"] == pytest.approx(p[:, c].sum())
        assert row["expected_se"] == pytest.approx(np.sqrt(np.sum(p[:, c] * (1 - p[:, c]))))
        assert row["precision"] == pytest.approx(precision_score(y == c, said == c))
        assert row["recall"] == pytest.approx(recall_score(y == c, said == c))
        assert row["average_precision"] == pytest.approx(average_precision_score(y == c, p[:, c]))
    np.testing.assert_array_equal(metrics.confusion(p, truth), confusion_matrix(y, said))


def test_average_precision_counts_sources_of_unknown_class_as_negatives(sample):
    p, truth, y = sample
    unknown = truth.copy()
    unknown[:100] = True
    row = metrics.per_class(p, unknown, CLASSES)["psr"]
    expected = average_precision_score((y == 2) & (np.arange(400) >= 100), p[:, 2])
    assert row["average_precision"] == pytest.approx(expected)
    assert row["n"] == np.sum(y[100:] == 2)


def test_class_without_sources_or_predictions():
    p = np.array([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1]])
    table = metrics.per_class(p, np.arange(3) == np.array([[0], [1]]), CLASSES)
    psr = table["psr"]
    assert (psr["n"], psr["precision"], psr["recall"], psr["average_precision"]) == (0, None, None, None)
    assert (table["fsrq"]["precision"], table["fsrq"]["recall"]) == (None, 0)


def wilson(right, n, z=1.6448536269514722):
    """Solve (right/n − π)² = z² π(1 − π)/n for π, of which 5 % is beyond each solution."""
    return np.sort(np.roots([n + z**2, -(2 * right + z**2), right**2 / n]))


def test_candidates(sample):
    p, truth, y = sample
    for row in metrics.candidates(p, truth, CLASSES)["psr"]:
        chosen = p[:, 2] >= row["threshold"]
        assert row["n"] == chosen.sum()
        assert row["completeness"] == np.mean(chosen[y == 2])
        assert row["purity"] == (np.mean(y[chosen] == 2) if chosen.any() else None)
        if chosen.any():
            assert row["purity_interval"] == pytest.approx(wilson(np.sum(y[chosen] == 2), chosen.sum()))
    everything = metrics.candidates(p, truth, CLASSES)["psr"][0]
    assert (everything["threshold"], everything["n"], everything["completeness"]) == (0, 400, 1)
    assert everything["purity"] == np.mean(y == 2)  # the base rate


def test_candidates_and_numbers_with_ambiguous_sources():
    """Of classes agn, psr and other: the third source may be either of the last two, of the fourth nothing is known."""
    p = np.array([[0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [0.0, 0.5, 0.5], [0.0, 1.0, 0.0]])
    truth = np.array([[False, True, False], [True, False, False], [False, True, True], [True, True, True]])
    rows = {row["threshold"]: row for row in metrics.candidates(p, truth, ("agn", "psr", "other"))["psr"]}
    assert [rows[0.5][key] for key in ("n", "purity", "completeness")] == [2, 1, 1]
    assert [rows[0.0][key] for key in ("n", "purity", "completeness")] == [3, 2 / 3, 1]
    assert (rows[0.7]["n"], rows[0.7]["purity"], rows[0.7]["purity_interval"]) == (0, None, None)
    assert rows[0.7]["completeness_interval"] == pytest.approx(wilson(0, 1))
    table = metrics.per_class(p, truth, ("agn", "psr", "other"), together=("psr", "other"))
    assert [table[name]["n"] for name in table] == [1, 1, 0, 2]
    both = table["psr|other"]
    assert (both["expected"], both["expected_se"]) == (pytest.approx(2.7), pytest.approx(np.sqrt(0.09 + 0.16)))
    assert (both["precision"], both["recall"]) == (2 / 3, 1)
    assert both["average_precision"] == pytest.approx(average_precision_score([1, 0, 1, 0], [0.9, 0.8, 1, 1]))


@pytest.mark.parametrize(
    ("p", "y", "message"),
    [
        (np.ones((2, 2)) / 2, ["bll", "psr"], "3 classes"),
        (np.ones((0, 3)), [], "no sources"),
        (np.ones((2, 3)), ["bll", "psr"], "row 0"),
        ([[1, 0, 0], [1.5, -0.5, 0]], ["bll", "psr"], "row 1"),
        ([[1, 0, 0], [np.nan, 0.5, 0]], ["bll", "psr"], "row 1"),
    ],
)
def test_unfit_input(p, y, message):
    with pytest.raises(ValueError, match=message):
        metrics.checked(p, y, CLASSES)
