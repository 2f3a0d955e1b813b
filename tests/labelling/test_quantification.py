"""Quantification: the fits are the maxima they claim to be, and the intervals hold the truth and all errors."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from scipy.stats import norm

from fermiclass.labelling.quantification import (
    Basis,
    HeldOut,
    Predictions,
    QuantificationPrior,
    _curvature,
    draw_numbers,
    fit_odds,
)

C = 3
SHARES = np.array([0.5, 0.3, 0.2])


def objective(theta, inputs, weights, centre, std, offset, target, mixture):
    """The log posterior of θ, source by source."""
    total = 0.0
    for i in range(len(inputs)):
        h = [sum(theta[k, c] * inputs[i, k] for k in range(inputs.shape[1])) for c in range(C)]
        if mixture is None:
            first = sum(target[i, c] * h[c] for c in range(C))
        else:
            first = np.log(sum(np.exp(mixture[i, c] + h[c]) for c in range(C)))
        total += weights[i] * (first - np.log(sum(np.exp(offset[i, c] + h[c]) for c in range(C))))
    return total - 0.5 * np.sum((theta - centre) ** 2 / std[:, None] ** 2)


@pytest.mark.parametrize("unknown", [False, True])
def test_the_fit_is_the_maximum(unknown):
    rng = np.random.default_rng(0)
    inputs, weights = rng.normal(size=(40, 2)), rng.exponential(size=40)
    centre, std = rng.normal(size=(2, C)), np.array([0.7, 0.4])
    offset = rng.normal(size=(40, C))
    target, mixture = (
        (None, log_softmax(rng.normal(size=(40, C)), axis=1))
        if unknown
        else (np.eye(C)[rng.integers(C, size=40)], None)
    )
    problem = (inputs, weights, centre, std, offset, target, mixture)
    found = fit_odds(inputs, weights, centre, std, np.zeros((2, C)), offset=offset, target=target, mixture=mixture)
    best = minimize(lambda flat: -objective(flat.reshape(2, C), *problem), centre.ravel(), tol=1e-10)
    np.testing.assert_allclose(found.ravel(), best.x, atol=3e-3)
    assert objective(found, *problem) == pytest.approx(-best.fun, abs=1e-4)


def test_curvature_is_that_of_logistic_regression():
    rng = np.random.default_rng(1)
    inputs, weights, std = rng.normal(size=(15, 2)), rng.exponential(size=15), np.array([0.7, 0.4])
    offset, theta, zero = rng.normal(size=(15, C)), rng.normal(size=(2, C)), np.zeros((2, C))
    target = np.eye(C)[rng.integers(C, size=15)]

    def value(flat):
        return objective(flat.reshape(2, C), inputs, weights, zero, std, offset, target, None)

    flat, step = theta.ravel(), 1e-4
    e = step * np.eye(len(flat))
    numeric = [
        [sum(s * t * value(flat + s * one + t * other) for s in (1, -1) for t in (1, -1)) for one in e] for other in e
    ]
    p = softmax(offset + inputs @ theta, axis=1)
    np.testing.assert_allclose(_curvature(inputs, weights, p, std), -np.array(numeric) / (4 * step**2), atol=1e-4)


def test_products_hold_every_pair_once_and_nothing_is_extrapolated():
    place = np.random.default_rng(2).normal(size=(500, 2))
    basis = Basis(place)
    f, g = basis.slopes(place), basis.products(place)
    np.testing.assert_allclose(g, np.column_stack([f, f[:, 1] ** 2, f[:, 1] * f[:, 2], f[:, 2] ** 2]))
    np.testing.assert_array_equal(basis.slopes(np.array([[99.0, -99.0]])), basis.slopes(np.array([[4.0, -9.0]])))


def sources(n, shares, rng, *, slope=0.0):
    """Return y, place and the exact p(c | x) with the training shares; the odds of class 2 vary with the place."""
    place = rng.normal(size=(n, 2))
    at = softmax(np.log(shares) + np.outer(place[:, 0], [0.0, 0.0, slope]), axis=1)
    y = (at.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    density = norm.pdf(rng.normal(np.array([0.0, 1.5, 3.0])[y])[:, None] - np.array([0.0, 1.5, 3.0]))
    return y, place, density * SHARES / (density @ SHARES)[:, None]


def cover(seed, *, shares, slope, sharpness, bias, estimate, level=0.9):
    """Return whether the intervals hold the numbers of the classes, and whether those of the scatter alone do."""
    rng = np.random.default_rng(seed)
    y, place, p = sources(600, SHARES, rng)
    new, there, q = sources(300, shares, rng, slope=slope)
    p, q = (softmax(sharpness * np.log(x) + [0.0, 0.0, bias], axis=1) for x in (p, q))
    all_of_them = [np.ones(300, bool)]
    drawn = draw_numbers(
        HeldOut(p, place, y), Predictions(q, there), all_of_them, rng, estimate=estimate, num_draws=40
    )[:, 0]
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0, method="weibull")
    truth, scatter = np.bincount(new, minlength=C), norm.ppf((1 + level) / 2) * np.sqrt(np.sum(q * (1 - q), axis=0))
    return (low <= truth) & (truth <= high), np.abs(q.sum(axis=0) - truth) <= scatter


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shares", "slope", "sharpness", "bias", "estimate"),
    [
        ((0.5, 0.3, 0.2), 0.0, 0.7, 0.7, False),
        ((0.5, 0.3, 0.2), 0.0, 1.4, -0.7, False),
        ((0.25, 0.35, 0.4), 0.0, 1.4, 0.0, True),
        ((0.35, 0.4, 0.25), 0.5, 0.7, 0.0, True),
    ],
)
def test_intervals_hold_the_truth_where_scatter_alone_does_not(shares, slope, sharpness, bias, estimate):
    settings = {"slope": slope, "sharpness": sharpness, "bias": bias, "estimate": estimate}
    found = np.array([cover(k, shares=np.array(shares), **settings) for k in range(16)])
    ours, scatter = found.mean(axis=(0, 2))
    assert ours >= 0.8
    assert scatter < ours - 0.2


def test_refits_that_disagree_widen_the_intervals():
    rng = np.random.default_rng(3)
    y, place, p = sources(400, SHARES, rng)
    _, there, q = sources(200, SHARES, rng)
    groups = [np.ones(200, bool)]

    def spread(refits):
        held_out, new = HeldOut(p, place, y), Predictions(q, there)
        drawn = draw_numbers(held_out, new, groups, np.random.default_rng(0), refits=refits, estimate=False)
        return drawn[:, 0].std(axis=0)

    one_mind = np.repeat(q[None], 5, axis=0)
    towards = np.linspace(-1.0, 1.0, 5)[:, None, None] * np.array([0.6, 0.0, -0.6])
    apart = softmax(np.log(np.maximum(q, 1e-4)) + towards, axis=2)
    np.testing.assert_allclose(spread(one_mind), spread(None), rtol=0.25)  # other draws of the same width
    assert np.all(spread(apart)[[0, 2]] > 1.3 * spread(one_mind)[[0, 2]])


def test_groups_add_up_and_expected_ratios_move_the_numbers():
    rng = np.random.default_rng(4)
    y, place, p = sources(400, SHARES, rng)
    _, there, q = sources(200, SHARES, rng)
    first = np.arange(200) < 70
    groups = [np.ones(200, bool), first, ~first]
    held_out, new = HeldOut(p, place, y), Predictions(q, there)
    plain, moved = (
        draw_numbers(held_out, new, groups, np.random.default_rng(0), ratios=ratios, estimate=False, num_draws=50)
        for ratios in (None, np.tile([1.0, 1.0, 3.0], (200, 1)))
    )
    np.testing.assert_array_equal(plain[:, 0], plain[:, 1] + plain[:, 2])
    np.testing.assert_array_equal(plain[:, 0].sum(axis=1), 200)
    weighted = q * [1.0, 1.0, 3.0]
    expected = (weighted / weighted.sum(axis=1, keepdims=True)).sum(axis=0)
    assert np.abs(moved[:, 0].mean(axis=0) - expected).max() < 10


@pytest.mark.slow
def test_without_recalibration_the_numbers_stay_and_the_correction_is_an_error():
    rng = np.random.default_rng(6)
    y, place, p = sources(600, SHARES, rng)
    _, there, q = sources(300, SHARES, rng)
    groups = [np.ones(300, bool)]

    def numbers(bias, recalibrate):
        biased = [softmax(np.log(x) + np.array([0.0, 0.0, bias]), axis=1) for x in (p, q)]
        drawn = draw_numbers(
            HeldOut(biased[0], place, y),
            Predictions(biased[1], there),
            groups,
            np.random.default_rng(0),
            estimate=False,
            recalibrate=recalibrate,
        )
        return biased[1].sum(axis=0)[2], drawn[:, 0, 2].mean(), drawn[:, 0, 2].std()

    right = q.sum(axis=0)[2]
    given, mean, std = numbers(1.5, False)
    assert given - right > 15
    assert abs(mean - given) < 0.4 * (given - right)
    assert std > 0.5 * (given - right)
    assert std > 2.0 * numbers(0.0, False)[2]
    assert abs(numbers(1.5, True)[1] - right) < 0.4 * (given - right)


def test_without_information_the_draws_of_the_shares_have_the_width_of_the_prior():
    n = 2000
    rng = np.random.default_rng(5)
    place, p = np.zeros((n, 2)), np.tile([0.5, 0.5], (n, 1))
    y = rng.permutation(np.arange(n) % 2)
    prior = QuantificationPrior(calibration=1e-3, sharpness=1e-3, shift=0.7)
    drawn = draw_numbers(
        HeldOut(p, place, y), Predictions(p, place), [np.ones(n, bool)], rng, prior=prior, num_draws=200
    )[:, 0, 0]
    log_odds = np.log(drawn / (n - drawn))
    assert log_odds.std() == pytest.approx(0.7 * np.sqrt(2), rel=0.2)  # of the difference of two classes
