"""The measure of how far a source lies from the training sources, against a naive loop and in its limits."""

import itertools

import numpy as np
import pytest
from scipy.stats import kstest

from fermiclass.domain import TrainingDomain

NUM_FEATURES = 3


def sources(n, seed, scale=1.0):
    """Sources of one population: features of very different spread, with noise."""
    rng = np.random.default_rng(seed)
    X_var = rng.gamma(2.0, 0.1, (n, NUM_FEATURES)) * np.array([1.0, 100.0, 0.01])
    noiseless = scale * rng.normal(size=(n, NUM_FEATURES)) * np.array([1.0, 10.0, 0.1]) + np.array([0.0, -20.0, 3.0])
    return noiseless + rng.normal(size=X_var.shape) * np.sqrt(X_var), X_var


@pytest.fixture(scope="module")
def training():
    return sources(300, seed=1)


@pytest.fixture(scope="module")
def domain(training):
    return TrainingDomain.fit(*training)


def naive_distances(x, var, X, X_var, scale):
    distances = []
    for other, other_var in zip(X, X_var, strict=True):
        square = 0.0
        for j in range(len(x)):
            square += (x[j] - other[j]) ** 2 / (scale[j] ** 2 + var[j] + other_var[j])
        distances.append(np.sqrt(square))
    return np.array(distances)


@pytest.mark.parametrize("neighbours", [1, 5])
def test_score_against_a_naive_loop(neighbours):
    X, X_var = sources(40, seed=2)
    new, new_var = sources(25, seed=3, scale=2.0)
    domain = TrainingDomain.fit(X, X_var, neighbours=neighbours)
    scale = X.std(axis=0)
    np.testing.assert_allclose(domain.scale, scale, rtol=1e-12)

    depths = []
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        depths.append(np.sort(naive_distances(X[i], X_var[i], X[others], X_var[others], scale))[neighbours - 1])
    np.testing.assert_allclose(domain.depths, np.sort(depths), rtol=1e-12)

    expected = []
    for x, var in zip(new, new_var, strict=True):
        depth = np.sort(naive_distances(x, var, X, X_var, scale))[neighbours - 1]
        expected.append(np.mean(np.array(depths) < depth))
    np.testing.assert_allclose(domain.score(new, new_var), expected, atol=1e-12)


def test_scores_of_sources_like_the_training_sources_are_uniform(domain):
    scores = domain.score(*sources(600, seed=4))
    assert scores.min() >= 0.0
    assert scores.max() <= 1.0
    # D of 600 and 300 uniform draws exceeds 0.13 once in 500 times.
    assert kstest(scores, "uniform").statistic < 0.13


def test_far_from_everything_is_one(domain, training):
    X, X_var = training
    np.testing.assert_array_equal(domain.score(X[:5] + 1e4, X_var[:5]), 1.0)
    np.testing.assert_array_equal(domain.score(X[:5] - 1e100, X_var[:5]), 1.0)


def test_in_the_middle_of_everything_is_typical(domain, training):
    X, X_var = training
    assert domain.score(X.mean(axis=0, keepdims=True), np.median(X_var, axis=0, keepdims=True))[0] < 0.1


def test_farther_out_is_never_more_typical(domain, training):
    centre, X_var = training[0].mean(axis=0), np.median(training[1], axis=0)
    direction = np.array([0.6, -6.0, 0.05])
    path = centre + np.linspace(3.0, 20.0, 30)[:, None] * direction
    scores = domain.score(path, np.tile(X_var, (30, 1)))
    assert np.all(np.diff(scores) >= 0)
    assert scores[0] < scores[-1] == 1.0


def test_larger_error_bars_never_make_a_source_more_outlying(domain):
    X, X_var = sources(100, seed=5, scale=2.0)
    scores = [domain.score(X, X_var * factor) for factor in (0.0, 0.5, 1.0, 10.0, 1e6)]
    for smaller, larger in itertools.pairwise(scores):
        assert np.all(larger <= smaller)
    assert np.any(scores[1] < scores[0])
    np.testing.assert_array_equal(scores[-1], 0.0)


def test_the_order_of_the_training_sources_changes_no_bit(training):
    X, X_var = training
    new = sources(50, seed=6)
    order = np.random.default_rng(0).permutation(len(X))
    one, other = TrainingDomain.fit(X, X_var), TrainingDomain.fit(X[order], X_var[order])
    for name in ("X", "X_var", "scale", "depths"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.score(*new), other.score(*new))


def test_a_score_does_not_depend_on_the_other_rows(domain):
    X, X_var = sources(700, seed=7, scale=1.5)  # more than two blocks
    scores = domain.score(X, X_var)
    for i in (0, 255, 256, 699):
        assert domain.score(X[i : i + 1], X_var[i : i + 1])[0] == scores[i]
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(domain.score(X[order], X_var[order]), scores[order])


def test_no_rows_have_no_scores(domain):
    assert domain.score(np.empty((0, NUM_FEATURES)), np.empty((0, NUM_FEATURES))).shape == (0,)


def test_a_feature_without_spread():
    X, X_var = sources(30, seed=8)
    X[:, 1], X_var[:, 1] = 7.0, 0.0
    domain = TrainingDomain.fit(X, X_var)
    assert domain.scale[1] == 1.0
    away = X[:3].copy()
    away[:, 1] += 100.0
    np.testing.assert_array_equal(domain.score(away, X_var[:3]), 1.0)


def test_fewer_training_sources_than_neighbours():
    X, X_var = sources(4, seed=9)
    domain = TrainingDomain.fit(X, X_var)
    assert domain.neighbours == 3
    assert domain.depths.shape == (4,)
    np.testing.assert_array_equal(domain.score(X + 1e4, X_var), 1.0)
