"""The census: its groups, its draws and intervals, its calibration, and what is refused."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax
from scipy.stats import norm

from fermiclass import Census, classify, take_census
from fermiclass.analysis.census import Predictions, basis, draw_numbers, fit_calibration
from fermiclass.errors import ClassError, FeatureError
from fermiclass.nimgp.settings import Settings
from tests.conftest import without_graphs

TINY = Settings(method="nimgp-fo", steps=3, num_inducing=10, num_draws=16, learning_rate=0.1)
SIX = {"features": "six"}
C = 3
FREQUENCIES = np.array([0.5, 0.3, 0.2])


@pytest.fixture(scope="module")
def bright(few):
    """A group of sources of every status, with and without a class."""
    return np.asarray(few.table["Signif_Avg"]) > 8.0


@pytest.fixture(scope="module")
def census(few, bright):
    with without_graphs():
        return take_census(few, settings=TINY, **SIX, num_draws=40, groups={"bright": bright})


def test_groups_are_those_of_the_catalogue(census, few, bright):
    low = np.abs(np.asarray(few.table["GLAT"])) < 10.0
    unassociated = few.classes == ""
    expected = {
        "unassociated": unassociated,
        "unassociated low": unassociated & low,
        "unassociated high": unassociated & ~low,
        "bcu": few.classes == "bcu",
        "unk": few.classes == "unk",
        "bright": bright & np.isin(few.classes, ["", "bcu", "unk"]),
    }
    assert dict(zip(census.groups, census.sizes, strict=True)) == {name: mask.sum() for name, mask in expected.items()}
    assert sorted(census.classes) == ["bll", "fsrq", "msp", "other", "psr"]
    assert census.draws.shape == (40, 6, 5)


def test_every_draw_counts_every_source_once(census):
    np.testing.assert_array_equal(census.draws.sum(axis=2), np.tile(census.sizes, (40, 1)))
    np.testing.assert_array_equal(census.draws[:, 0], census.draws[:, 1] + census.draws[:, 2])


@pytest.mark.usefixtures("eagerly")
def test_the_draws_lie_about_the_sums_of_the_probabilities(census, few):
    labels = classify(few, settings=TINY, **SIX)
    for group in ("unassociated", "bcu"):
        rows = labels["STATUS"] == group
        _, low, high = census.interval(group, ["bll", "fsrq"])
        assert low < labels["Sum_P_agn"][rows].sum() < high


def test_an_interval_is_that_of_the_draws():
    draws = np.arange(101)[:, None, None] * np.array([1, 2, 0])
    census = Census(("bcu",), (303,), ("bll", "fsrq", "psr"), draws)
    np.testing.assert_allclose(census.interval("bcu", ["bll"]), (50.0, 5.0, 95.0))
    np.testing.assert_allclose(census.interval("bcu", ["fsrq", "bll"], level=0.5), (150.0, 75.0, 225.0))
    assert census.interval("bcu", ["psr"]) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("group", "name"), [("unassociated", "psr"), ("bcu", "msp")])
def test_unknown_groups_and_classes_are_refused(group, name):
    census = Census(("bcu",), (1,), ("psr",), np.zeros((2, 1, 1), int))
    with pytest.raises(
        ClassError, match=f"no number of {name} among '{group}': it has the groups bcu and the classes psr"
    ):
        census.interval(group, [name])


def test_a_catalogue_without_sources_to_count_is_refused_before_training(few):
    known = few[~np.isin(few.classes, ["", "bcu", "unk"])]
    with pytest.raises(ClassError, match="no source without a class: there is nothing to count"):
        take_census(known, **SIX)


@pytest.mark.usefixtures("eagerly")
def test_significance_and_latitude_are_needed(few):
    table = few.table.copy()
    del table["GLAT"]
    with pytest.raises(FeatureError, match="GLAT"):
        take_census(type(few)(table, few.release, few.source, few.sha256), settings=TINY, **SIX)


def objective(a, inputs, weights, centre, std, offset, target):
    """The log posterior of a, source by source."""
    total = 0.0
    for i in range(len(inputs)):
        h = [sum(a[k, c] * inputs[i, k] for k in range(inputs.shape[1])) for c in range(C)]
        first = sum(target[i, c] * h[c] for c in range(C))
        total += weights[i] * (first - np.log(sum(np.exp(offset[i, c] + h[c]) for c in range(C))))
    return total - 0.5 * np.sum((a - centre) ** 2 / std[:, None] ** 2)


def test_the_fit_is_the_maximum():
    rng = np.random.default_rng(0)
    inputs, weights = rng.normal(size=(40, 2)), rng.exponential(size=40)
    centre, std = rng.normal(size=(2, C)), np.array([0.7, 0.4])
    offset, target = rng.normal(size=(40, C)), np.eye(C)[rng.integers(C, size=40)]
    problem = (inputs, weights, centre, std, offset, target)
    found = fit_calibration(inputs, weights, centre, std, np.zeros((2, C)), offset=offset, target=target)
    best = minimize(lambda flat: -objective(flat.reshape(2, C), *problem), centre.ravel(), tol=1e-10)
    np.testing.assert_allclose(found.ravel(), best.x, atol=3e-3)
    assert objective(found, *problem) == pytest.approx(-best.fun, abs=1e-4)


def test_the_basis_holds_every_pair_once_and_extrapolates_nothing():
    place = np.random.default_rng(2).normal(size=(500, 2))
    g = basis(place, place)
    np.testing.assert_allclose(g[:, 3:], np.column_stack([g[:, 1] ** 2, g[:, 1] * g[:, 2], g[:, 2] ** 2]))
    np.testing.assert_array_equal(*(basis(np.array([far]), place) for far in ([99.0, -99.0], [4.0, -9.0])))


def made_up_sources(n, rng):
    """Return y, place and the exact p(c | x)."""
    place, y = rng.normal(size=(n, 2)), rng.choice(C, n, p=FREQUENCIES)
    density = norm.pdf(rng.normal(np.array([0.0, 1.5, 3.0])[y])[:, None] - np.array([0.0, 1.5, 3.0]))
    return y, place, density * FREQUENCIES / (density @ FREQUENCIES)[:, None]


@pytest.mark.slow
def test_refits_that_disagree_widen_the_intervals():
    rng = np.random.default_rng(3)
    y, place, p = made_up_sources(400, rng)
    _, there, q = made_up_sources(200, rng)

    def spread(refits):
        held_out, new = Predictions(p, place), Predictions(q, there)
        drawn = draw_numbers(held_out, y, new, [np.ones(200, bool)], np.random.default_rng(0), refits=refits)
        return drawn[:, 0].std(axis=0)

    one_mind = np.repeat(q[None], 5, axis=0)
    towards = np.linspace(-1.0, 1.0, 5)[:, None, None] * np.array([0.6, 0.0, -0.6])
    apart = softmax(np.log(np.maximum(q, 1e-4)) + towards, axis=2)
    np.testing.assert_allclose(spread(one_mind), spread(None), rtol=0.25)  # other draws of the same width
    assert np.all(spread(apart)[[0, 2]] > 1.3 * spread(one_mind)[[0, 2]])


@pytest.mark.slow
def test_ratios_move_the_numbers():
    rng = np.random.default_rng(4)
    y, place, p = made_up_sources(400, rng)
    _, there, q = made_up_sources(200, rng)
    held_out, new, ratios = Predictions(p, place), Predictions(q, there), np.tile([1.0, 1.0, 3.0], (200, 1))
    moved = draw_numbers(held_out, y, new, [np.ones(200, bool)], rng, ratios=ratios, num_draws=50)
    weighted = q * ratios
    expected = (weighted / weighted.sum(axis=1, keepdims=True)).sum(axis=0)
    assert np.abs(moved[:, 0].mean(axis=0) - expected).max() < 10


@pytest.mark.slow
def test_miscalibration_is_an_error_about_the_probabilities_as_given():
    rng = np.random.default_rng(6)
    y, place, p = made_up_sources(600, rng)
    _, there, q = made_up_sources(300, rng)

    def numbers(bias):
        biased = [softmax(np.log(x) + np.array([0.0, 0.0, bias]), axis=1) for x in (p, q)]
        held_out, new = Predictions(biased[0], place), Predictions(biased[1], there)
        drawn = draw_numbers(held_out, y, new, [np.ones(300, bool)], np.random.default_rng(0))
        return biased[1].sum(axis=0)[2], drawn[:, 0, 2].mean(), drawn[:, 0, 2].std()

    right = q.sum(axis=0)[2]
    given, mean, std = numbers(1.5)
    assert given - right > 15
    assert abs(mean - given) < 0.4 * (given - right)
    assert std > 0.5 * (given - right)
    assert std > 2.0 * numbers(0.0)[2]


@pytest.mark.slow
def test_ranges_widen_the_intervals_as_their_ends_say():
    """With sources that all have the same p, the mean number at u is n softmax(ln p + u change), and u is uniform.

    Its scatter adds to that of the calibration.
    """
    rng = np.random.default_rng(7)
    y, place, p = made_up_sources(4000, rng)
    new = Predictions(np.tile([0.5, 0.3, 0.2], (20000, 1)), np.zeros((20000, 2)))
    low, high = np.array([0.0, 0.0, -0.5]), np.array([0.0, 0.0, 1.0])
    ranges = np.broadcast_to(np.stack([low, high])[:, None], (1, 2, 20000, C))
    plain, found = (
        draw_numbers(Predictions(p, place), y, new, [np.ones(20000, bool)], rng, ranges=each, num_draws=400)[:, 0, 2]
        / 20000
        for each in (None, ranges)
    )
    u = np.linspace(-1.0, 1.0, 2001)[:, None]
    expected = softmax(np.log(new.p[0]) + np.where(u < 0, -u * low, u * high), axis=1)[:, 2]
    assert found.mean() == pytest.approx(expected.mean(), abs=3 * found.std() / 20)
    assert found.std() == pytest.approx(np.hypot(expected.std(), plain.std()), rel=0.15)
