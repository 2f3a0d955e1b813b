"""The measure of how far a source lies from the training sources, against a naive loop and in its limits."""

import itertools

import numpy as np
import pytest

from fermiclass.nimgp.domain import TrainingDomain

NUM_FEATURES = 3
UNITS = np.array([1.0, 100.0, 0.01])


def sources(n, seed, scale=1.0):
    """Sources of two classes: features of very different spread, two of them correlated, with noise."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.3, "a", "b")
    noiseless = scale * rng.normal(size=(n, NUM_FEATURES))
    noiseless[:, 1] += 0.8 * noiseless[:, 0]
    noiseless[y == "a", 0] += 4.0
    X_var = rng.gamma(2.0, 0.1, (n, NUM_FEATURES))
    X = noiseless + rng.normal(size=X_var.shape) * np.sqrt(X_var)
    return X * UNITS + np.array([0.0, -20.0, 3.0]), X_var * UNITS**2, y


@pytest.fixture(scope="module")
def training():
    return sources(300, seed=1)


@pytest.fixture(scope="module")
def domain(training):
    return TrainingDomain.fit(*training)


def naive_covariance(X, y):
    """Twice the covariance within the classes, after D imagined sources without correlations."""
    N, D = X.shape
    scatter = np.zeros((D, D))
    for name in set(y):
        own = X[y == name]
        for x in own:
            scatter += np.outer(x - own.mean(axis=0), x - own.mean(axis=0))
    return 2.0 * (scatter + D * np.diag(np.diag(scatter)) / N) / (N + D)


def naive_distances(x, var, X, covariance):
    inverse = np.linalg.inv(covariance + np.diag(var))
    return np.array([np.sqrt((x - other) @ inverse @ (x - other)) for other in X])


@pytest.mark.parametrize("neighbours", [1, 5])
def test_score_against_a_naive_loop(neighbours):
    X, X_var, y = sources(40, seed=2)
    new, new_var, _ = sources(25, seed=3, scale=2.0)
    domain = TrainingDomain.fit(X, X_var, y, neighbours=neighbours)
    covariance = naive_covariance(X, y)
    np.testing.assert_allclose(domain.covariance, covariance, rtol=1e-9, atol=1e-12)

    depths = []
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        depths.append(np.sort(naive_distances(X[i], X_var[i], X[others], covariance))[neighbours - 1])
    np.testing.assert_allclose(domain.depths, np.sort(depths), rtol=1e-9)

    for score, x, var in zip(domain.score(new, new_var), new, new_var, strict=True):
        depth = np.sort(naive_distances(x, var, X, covariance))[neighbours - 1]
        smaller = np.sum(np.array(depths) < depth)
        assert max(smaller - 1, 0) <= 40 * score <= smaller
        assert (score == 1.0) == (smaller == 40)


@pytest.mark.parametrize(("number", "neighbours"), [(30, 5), (48, 5), (49, 5), (300, 5), (300, 60), (5000, 5)])
def test_a_shortlist_gives_the_distances_themselves(number, neighbours):
    """Also for errors that differ much, equal distances, and rows so far away that single precision has no bound."""
    X, X_var, y = sources(number, seed=4)
    X, X_var, y = (np.concatenate([a, a[:1].repeat(9, axis=0)]) for a in (X, X_var, y))  # nine ties
    domain = TrainingDomain.fit(X, X_var, y, neighbours=neighbours)
    new, new_var, _ = sources(200, seed=5, scale=2.0)
    new[:9] = X[-1]
    new[10:20] += 1e8 * UNITS
    new[20] = 1e30
    new_var *= 10.0 ** np.random.default_rng(6).uniform(-3, 4, (200, 1))
    new_var[30:33, 1] = 1e15
    direct = np.array([np.sort(domain.distances(*row)) for row in zip(new, new_var, strict=True)])
    is_one = direct[:, 0] < 1e-4
    assert np.any(is_one)
    depths = np.where(is_one, direct[:, neighbours], direct[:, neighbours - 1])
    np.testing.assert_allclose(domain._depth(new, new_var), depths, rtol=1e-14)


def test_far_away_with_huge_error_bars_is_typical(domain, training):
    X, X_var, _ = training
    away = X[:5] + 30.0 * UNITS
    np.testing.assert_array_equal(domain.score(away, X_var[:5]), 1.0)
    np.testing.assert_array_equal(domain.score(away, X_var[:5] + 1e6 * UNITS**2), 0.0)


def test_units_do_not_matter(domain, training):
    X, X_var, y = training
    new, new_var, _ = sources(100, seed=13, scale=1.5)
    units = np.array([1e-11, 1e6, -3.0])  # fluxes are as small as that
    other = TrainingDomain.fit(X * units, X_var * units**2, y)
    np.testing.assert_allclose(other.score(new * units, new_var * units**2), domain.score(new, new_var), atol=0.01)


def test_a_training_source_is_not_its_own_neighbour(domain, training):
    X, X_var, _ = training
    scores = domain.score(X, X_var)
    # Each is measured against all others, as the depths are: every rank comes up once.
    np.testing.assert_allclose(np.sort(scores), np.arange(300) / 300, atol=1 / 300)


def test_single_precision_has_the_same_scores(domain, training):
    """Those of training sources too, and of copies of one source."""
    copies = TrainingDomain.fit(*(np.concatenate([a, a[:1].repeat(9, axis=0)]) for a in training))
    for one, (X, X_var, _) in itertools.product((domain, copies), (training, sources(300, seed=14, scale=1.5))):
        single = (a.astype(np.float32).astype(float) for a in (X, X_var))
        np.testing.assert_allclose(one.score(*single), one.score(X, X_var), atol=1e-3)  # a third of a rank


def test_a_score_does_not_depend_on_the_other_rows(domain):
    X, X_var, _ = sources(700, seed=7, scale=1.5)
    scores = domain.score(X, X_var)
    for i in (0, 255, 256, 699):
        assert domain.score(X[i : i + 1], X_var[i : i + 1])[0] == scores[i]
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(domain.score(X[order], X_var[order]), scores[order])


def test_a_feature_without_spread():
    X, X_var, y = sources(30, seed=8)
    X[:, 1], X_var[:, 1] = 7.0, 0.0
    domain = TrainingDomain.fit(X, X_var, y)
    away = X[:3].copy()
    away[:, 1] += 100.0
    np.testing.assert_array_equal(domain.score(away, X_var[:3]), 1.0)


def test_fewer_training_sources_than_neighbours_and_features():
    X, X_var, y = sources(4, seed=9)
    X, X_var = np.tile(X, 3), np.tile(X_var, 3)
    domain = TrainingDomain.fit(X, X_var, y)
    assert domain.neighbours == 3
    assert domain.depths.shape == (4,)
    np.testing.assert_array_equal(domain.score(X + 1e4, X_var), 1.0)


def test_the_order_of_the_training_sources_does_not_matter(training):
    X, X_var, y = training
    new, new_var, _ = sources(50, seed=6)
    order = np.random.default_rng(0).permutation(len(X))
    one, other = TrainingDomain.fit(X, X_var, y), TrainingDomain.fit(X[order], X_var[order], y[order])
    np.testing.assert_allclose(other.covariance, one.covariance, rtol=1e-12)
    np.testing.assert_allclose(other.depths, one.depths, rtol=1e-12)
    np.testing.assert_allclose(other.score(new, new_var), one.score(new, new_var), atol=1.01 / 300)
