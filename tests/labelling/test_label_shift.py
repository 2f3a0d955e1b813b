"""Label shift: known shares are recovered within their error bars, and the correction has its limits."""

import numpy as np
import pytest
from scipy.stats import norm

from fermiclass.labelling.label_shift import Shares, correct_by_status, correct_shares, estimate_shares

PI = np.array([0.5, 0.3, 0.2])
CENTRES = np.array([0.0, 1.5, 3.0])


def simulate(w, n, seed):
    """Draw sources with shares w; return exact p(c | x) of a classifier that has learned with shares PI."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=w)
    density = norm.pdf(rng.normal(CENTRES[y])[:, None] - CENTRES)
    return density * PI / (density @ PI)[:, None], y, density


@pytest.mark.parametrize("w", [(0.1, 0.2, 0.7), (0.5, 0.3, 0.2), (0.6, 0.38, 0.02)])
def test_known_shares_are_recovered_within_their_error(w):
    pulls = []
    for seed in range(40):
        shares = estimate_shares(simulate(w, 500, seed)[0], PI, concentration=0)
        pulls.append((shares.mean - w) / shares.std)
    pulls = np.array(pulls)
    assert np.abs(pulls.mean(axis=0)).max() < 4 / np.sqrt(40)
    assert pulls.std(axis=0).min() > 0.6
    assert pulls.std(axis=0).max() < 1.5


def test_likelihood_never_falls():
    for concentration in (0.0, 5.0):
        shares = estimate_shares(simulate((0.1, 0.2, 0.7), 300, 0)[0], PI, concentration=concentration)
        assert np.all(np.diff(shares.objective) >= -1e-9)
        assert len(shares.objective) == shares.iterations + 1


def test_estimate_is_the_maximum():
    p, _, _ = simulate((0.1, 0.2, 0.7), 300, 1)
    concentration = 10.0

    def log_posterior(w):
        return np.sum(np.log(p @ (w / PI))) + concentration * PI @ np.log(w)

    shares = estimate_shares(p, PI, concentration=concentration)
    assert shares.objective[-1] == pytest.approx(log_posterior(shares.mean))
    for other in np.random.default_rng(0).dirichlet(50 * shares.mean, 200):
        assert log_posterior(other) <= shares.objective[-1] + 1e-9


def test_covariance_is_the_curvature():
    p, _, _ = simulate((0.1, 0.2, 0.7), 300, 2)
    shares = estimate_shares(p, PI, concentration=3.0)

    def log_posterior(w):
        return np.sum(np.log(p @ (w / PI))) + 3.0 * PI @ np.log(w)

    U = np.array([[1.0, 0, -1], [0, 1, -1]]).T  # other directions than the code's
    h = 1e-3
    hessian = np.empty((2, 2))
    for i in range(2):
        for j in range(2):
            corners = [
                a * b * log_posterior(shares.mean + h * (a * U[:, i] + b * U[:, j])) for a in (1, -1) for b in (1, -1)
            ]
            hessian[i, j] = -sum(corners) / (4 * h**2)
    np.testing.assert_allclose(shares.covariance, U @ np.linalg.inv(hessian) @ U.T, rtol=1e-3, atol=1e-8)
    np.testing.assert_allclose(shares.covariance.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(shares.std, np.sqrt(np.diag(shares.covariance)))


def test_strong_prior_keeps_the_training_shares():
    p, _, _ = simulate((0.1, 0.2, 0.7), 300, 3)
    np.testing.assert_allclose(estimate_shares(p, PI, concentration=1e9).mean, PI, atol=1e-5)


def test_certain_probabilities_are_counted():
    p = np.repeat(np.eye(3), [6, 3, 1], axis=0)
    shares = estimate_shares(p, PI, concentration=0)
    np.testing.assert_allclose(shares.mean, [0.6, 0.3, 0.1], atol=1e-8)
    np.testing.assert_allclose(shares.std, np.sqrt(shares.mean * (1 - shares.mean) / 10), rtol=1e-6)


def test_absent_class_gets_a_finite_error():
    shares = estimate_shares(np.tile([0.7, 0.3, 0.0], (50, 1)), PI)
    assert shares.mean[2] == pytest.approx(10 * PI[2] / 60)
    assert np.all(np.isfinite(shares.std))


def test_permuting_classes_permutes_shares():
    p, _, _ = simulate((0.1, 0.2, 0.7), 200, 4)
    order = [2, 0, 1]
    a, b = estimate_shares(p, PI), estimate_shares(p[:, order], PI[order])
    np.testing.assert_allclose(a.mean[order], b.mean)
    np.testing.assert_allclose(a.std[order], b.std)


def test_correction_with_the_training_shares_is_the_identity():
    p, _, _ = simulate(PI, 100, 5)
    np.testing.assert_allclose(correct_shares(p, PI, PI), p, rtol=1e-14)


def test_correction_is_exact():
    w = np.array([0.1, 0.2, 0.7])
    p, _, density = simulate(w, 100, 6)
    np.testing.assert_allclose(correct_shares(p, PI, w), density * w / (density @ w)[:, None])


def test_correction_lowers_the_nll():
    w = np.array([0.1, 0.2, 0.7])
    p, y, _ = simulate(w, 1000, 7)
    corrected = correct_shares(p, PI, estimate_shares(p, PI))
    np.testing.assert_allclose(corrected.sum(axis=1), 1)
    before, after = (-np.mean(np.log(q[np.arange(1000), y])) for q in (p, corrected))
    assert after < before - 0.1


def test_source_of_an_absent_class_keeps_its_probabilities():
    np.testing.assert_array_equal(correct_shares([[0.0, 0.0, 1.0]], PI, [0.5, 0.5, 0.0]), [[0, 0, 1]])


def test_each_status_apart():
    first, second = simulate((0.1, 0.2, 0.7), 300, 8)[0], simulate((0.8, 0.15, 0.05), 200, 9)[0]
    p, status = np.vstack([first, second]), np.repeat(["", "bcu"], [300, 200])
    order = np.random.default_rng(0).permutation(500)
    corrected, groups = correct_by_status(p[order], PI, status[order])
    np.testing.assert_allclose(groups["bcu"].mean, estimate_shares(second, PI).mean, rtol=1e-6)
    expected = np.vstack([correct_shares(q, PI, estimate_shares(q, PI)) for q in (first, second)])
    np.testing.assert_allclose(corrected, expected[order], rtol=1e-5)
    assert isinstance(groups[""], Shares)


@pytest.mark.parametrize(
    ("p", "pi", "message"),
    [
        (np.ones((2, 2)) / 2, PI, "do not fit training shares"),
        (np.ones((2, 3)) / 3, [0.5, 0.5, 0.0], "not all positive"),
        (np.zeros((2, 3)), PI, "all 0 in a row"),
        (np.full((2, 3), np.nan), PI, "not finite"),
        (np.ones((0, 3)), PI, "from no sources"),
    ],
)
def test_unfit_input(p, pi, message):
    with pytest.raises(ValueError, match=message):
        estimate_shares(p, pi)


def test_unfit_prior_and_shares():
    p = np.ones((2, 3)) / 3
    with pytest.raises(ValueError, match="concentration=-1 is negative"):
        estimate_shares(p, PI, concentration=-1)
    with pytest.raises(ValueError, match="do not fit 3 classes"):
        correct_shares(p, PI, [0.5, 0.5])
    with pytest.raises(ValueError, match="do not fit 3 classes"):
        correct_shares(p, PI, [0.5, 0.8, -0.3])
