"""Label shift: known class priors are recovered within their error bars, and the correction is exact."""

import numpy as np
import pytest
from scipy.stats import norm

from fermiclass.labelling.label_shift import correct_by_status, estimate_priors

PI = np.array([0.5, 0.3, 0.2])
CENTRES = np.array([0.0, 1.5, 3.0])


def simulate(w, n, seed):
    """Draw sources with class priors w; return exact p(c | x) of a classifier that has learned with PI."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=w)
    density = norm.pdf(rng.normal(CENTRES[y])[:, None] - CENTRES)
    return density * PI / (density @ PI)[:, None], density


@pytest.mark.parametrize("w", [(0.1, 0.2, 0.7), (0.6, 0.38, 0.02)])
def test_known_priors_are_recovered_within_their_error(w):
    pulls = []
    for seed in range(40):
        found = estimate_priors(simulate(w, 500, seed)[0], PI, concentration=0)
        pulls.append((found.mean - w) / found.std)
    pulls = np.array(pulls)
    assert np.abs(pulls.mean(axis=0)).max() < 4 / np.sqrt(40)
    assert pulls.std(axis=0).min() > 0.6
    assert pulls.std(axis=0).max() < 1.5


def log_posterior(w, p, concentration):
    return np.sum(np.log(p @ (w / PI))) + concentration * PI @ np.log(w)


def test_the_estimate_is_the_maximum():
    p = simulate((0.1, 0.2, 0.7), 300, 1)[0]
    found = estimate_priors(p, PI, concentration=10.0)
    best = log_posterior(found.mean, p, 10.0)
    for other in np.random.default_rng(0).dirichlet(50 * found.mean, 200):
        assert log_posterior(other, p, 10.0) <= best + 1e-9


def test_errors_are_the_curvature():
    p = simulate((0.1, 0.2, 0.7), 300, 2)[0]
    found = estimate_priors(p, PI, concentration=3.0)
    U = np.array([[1.0, 0, -1], [0, 1, -1]]).T  # other directions than the code's
    h = 1e-3

    def second(i, j):
        corners = [
            a * b * log_posterior(found.mean + h * (a * U[:, i] + b * U[:, j]), p, 3.0)
            for a in (1, -1)
            for b in (1, -1)
        ]
        return -sum(corners) / (4 * h**2)

    hessian = np.array([[second(i, j) for j in range(2)] for i in range(2)])
    np.testing.assert_allclose(found.std, np.sqrt(np.diag(U @ np.linalg.inv(hessian) @ U.T)), rtol=1e-3)


def test_a_strong_prior_keeps_the_training_frequencies():
    p = simulate((0.1, 0.2, 0.7), 300, 3)[0]
    np.testing.assert_allclose(estimate_priors(p, PI, concentration=1e9).mean, PI, atol=1e-5)


def test_certain_probabilities_are_counted():
    found = estimate_priors(np.repeat(np.eye(3), [6, 3, 1], axis=0), PI, concentration=0)
    np.testing.assert_allclose(found.mean, [0.6, 0.3, 0.1], atol=1e-8)
    np.testing.assert_allclose(found.std, np.sqrt(found.mean * (1 - found.mean) / 10), rtol=1e-6)


def test_each_status_apart():
    (first, density), second = simulate((0.1, 0.2, 0.7), 300, 8), simulate((0.8, 0.15, 0.05), 200, 9)[0]
    p, status = np.vstack([first, second]), np.repeat(["", "bcu"], [300, 200])
    order = np.random.default_rng(0).permutation(500)
    corrected, groups = correct_by_status(p[order], PI, status[order])
    np.testing.assert_allclose(groups["bcu"].mean, estimate_priors(second, PI).mean, rtol=1e-6)
    w = groups[""].mean
    back = np.argsort(order)[:300]
    np.testing.assert_allclose(corrected[back], density * w / (density @ w)[:, None], rtol=1e-6)
