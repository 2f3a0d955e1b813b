"""The census: its groups, what the draws add up to, its intervals, and what is refused."""

import numpy as np
import pytest

from fermiclass import Census, NIMGPClassifier, classify, take_census
from fermiclass.errors import ClassError, FeatureError

TINY = NIMGPClassifier(steps=40, num_inducing=15)
SIX = {"features": "six"}


@pytest.fixture(scope="module")
def few(dr4):
    """600 sources of all kinds."""
    return dr4[::12]


@pytest.fixture(scope="module")
def bright(few):
    """A group of sources of every status, with and without a class."""
    return np.asarray(few.table["Signif_Avg"]) > 8.0


@pytest.fixture(scope="module")
def census(few, bright):
    return take_census(few, TINY, **SIX, num_draws=60, groups={"bright": bright})


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
    assert sorted(census.classes) == ["bll", "fsrq", "other", "psr"]
    assert census.draws.shape == (60, 6, 4)


def test_every_draw_counts_every_source_once(census):
    np.testing.assert_array_equal(census.draws.sum(axis=2), np.tile(census.sizes, (60, 1)))
    np.testing.assert_array_equal(census.draws[:, 0], census.draws[:, 1] + census.draws[:, 2])


def test_the_draws_lie_about_the_sums_of_the_probabilities(census, few):
    labels = classify(few, TINY, **SIX)
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


def test_the_seed_decides(census, few, bright):
    again = take_census(few, TINY, **SIX, num_draws=60, groups={"bright": bright})
    np.testing.assert_array_equal(again.draws, census.draws)


@pytest.mark.slow
def test_estimated_class_priors_are_less_certain(census, few):
    estimated = take_census(few, TINY, **SIX, num_draws=60, estimate=True)
    spread = [one.draws[:, 0].std(axis=0).sum() for one in (census, estimated)]
    assert spread[1] > spread[0]


def test_a_catalogue_without_sources_to_count_is_refused(few):
    known = few[~np.isin(few.classes, ["", "bcu", "unk"])]
    with pytest.raises(ClassError, match="no source without a class: there is nothing to count"):
        take_census(known, TINY, **SIX)


def test_significance_and_latitude_are_needed(few):
    table = few.table.copy()
    del table["GLAT"]
    with pytest.raises(FeatureError, match="GLAT"):
        take_census(type(few)(table, few.release, few.source, few.sha256), TINY, **SIX)
