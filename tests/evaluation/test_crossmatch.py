"""Cross-matching releases: positions, names, competition, and the real ones."""

from types import SimpleNamespace

import numpy as np
import pytest
from astropy.coordinates import angular_separation

from fermiclass.catalog import ClassGrouping
from fermiclass.evaluation import crossmatch
from fermiclass.evaluation.crossmatch import UNMATCHED, match_sources


def later_classes(earlier, later, classes="bll,fsrq,psr,other,bll|fsrq=rdg+agn+sey", **options):
    """Rows and later groups of the sources that have one, and the counts."""
    targets, y, counts = crossmatch.later_classes(earlier, later, ClassGrouping.parse(classes), **options)
    return SimpleNamespace(rows=targets[y != ""], y=y[y != ""], counts=counts)


def test_target_gets_the_later_class(make_catalog):
    earlier = make_catalog(["a", "b", "c"], [10.0, 20.0, 30.0], [0.0, 0.0, 0.0], ["", "bcu", "bll"])
    later = make_catalog(["B", "A", "C"], [20.05, 10.05, 30.0], [0.0, 0.0, 0.0], ["FSRQ", "MSP", "bll"], "4FGL-DR4")
    matches = later_classes(earlier, later)
    assert matches.rows.tolist() == [0, 1]
    assert matches.y.tolist() == ["psr", "fsrq"]
    assert matches.counts == {"targets": 2, "by_position": 2, "by_name": 0, "unmatched": 0, "scored": 2}


def test_still_unclassified_or_of_another_class_is_not_scored(make_catalog):
    earlier = make_catalog(["a", "b", "c"], [10.0, 20.0, 30.0], [0.0] * 3, ["", "", "unk"])
    later = make_catalog(["a", "b", "c"], [10.0, 20.0, 30.0], [0.0] * 3, ["bcu", "snr", "bll"], "4FGL-DR4")
    assert later_classes(earlier, later, "bll,fsrq,psr").rows.tolist() == [2]
    assert later_classes(earlier, later).y.tolist() == ["other", "bll"]
    assert later_classes(earlier, later, "bll,psr,other").y.tolist() == ["other", "bll"]


def test_a_later_class_of_several_groups_is_not_scored(make_catalog):
    earlier = make_catalog(["a", "b"], [10.0, 20.0], [0.0] * 2, ["", "bcu"])
    later = make_catalog(["a", "b"], [10.0, 20.0], [0.0] * 2, ["rdg", "fsrq"], "4FGL-DR4")
    matches = later_classes(earlier, later)
    assert matches.y.tolist() == ["fsrq"]
    assert (matches.counts["targets"], matches.counts["scored"]) == (2, 1)
    assert later_classes(earlier, later, "agn=rdg+bll,fsrq").y.tolist() == ["agn", "fsrq"]


def test_what_the_grouping_trains_on_is_no_target(make_catalog):
    earlier = make_catalog(["a", "b"], [10.0, 20.0], [0.0] * 2, ["bcu", ""])
    later = make_catalog(["a", "b"], [10.0, 20.0], [0.0] * 2, ["bll", "psr"], "4FGL-DR4")
    assert later_classes(earlier, later, "agn=bll+fsrq+bcu,psr").rows.tolist() == [1]


@pytest.mark.parametrize(("moved", "found"), [(0.149, True), (0.151, False)])
def test_radius(make_catalog, moved, found):
    earlier = make_catalog(["a"], [10.0], [60.0], [""])
    later = make_catalog(["A"], [10.0], [60.0 + moved], ["psr"], "4FGL-DR4")
    assert (len(later_classes(earlier, later).rows) == 1) is found


@pytest.mark.parametrize("column", ["Source_Name", "ASSOC_4FGL", "ASSOC_FGL"])
@pytest.mark.parametrize("position", [(50.0, 10.0), (np.nan, np.nan)])
def test_name_where_the_position_fails(make_catalog, column, position):
    earlier = make_catalog(["4FGL J0040.0+0000", "4FGL J0000.0+0000"], [10.0, 0.0], [0.0, 0.0], ["", "bll"])
    names = ["4FGL J0040.0+0000" if column == "Source_Name" else "4FGL J0320.0+1000", "other"]
    more = {} if column == "Source_Name" else {column: ["4FGL J0040.0+0000 ", ""]}
    later = make_catalog(names, [position[0], 0.0], [position[1], 0.0], ["psr", "bll"], "4FGL-DR4", **more)
    matches = later_classes(earlier, later)
    assert matches.y.tolist() == ["psr"]
    assert matches.counts["by_name"] == 1
    assert matches.counts["by_position"] == 0


def test_missing_position_of_the_earlier_source(make_catalog):
    earlier = make_catalog(["a", "b"], [np.nan, 20.0], [np.nan, 0.0], ["", ""])
    later = make_catalog(["a", "x"], [10.0, 20.0], [0.0, 0.0], ["psr", "bll"], "4FGL-DR4")
    assert later_classes(earlier, later).y.tolist() == ["psr", "bll"]


def test_loser_of_a_position_is_matched_by_name(make_catalog):
    earlier = make_catalog(["4FGL a", "4FGL b"], [10.0, 10.1], [0.0, 0.0], ["", ""])
    later = make_catalog(
        ["A", "B"], [10.01, 10.4], [0.0, 0.0], ["psr", "bll"], "4FGL-DR4", ASSOC_4FGL=["4FGL a", "4FGL b"]
    )
    assert later_classes(earlier, later).y.tolist() == ["psr", "bll"]


def test_name_decides_at_one_position(make_catalog):
    earlier = make_catalog(["i", "s"], [83.63, 83.63], [22.02, 22.02], ["", ""])
    later = make_catalog(["s", "i"], [83.63, 83.63], [22.02, 22.02], ["bll", "psr"], "4FGL-DR4")
    assert later_classes(earlier, later).y.tolist() == ["psr", "bll"]


def test_source_split_in_two_takes_the_nearer_and_none_if_unknown(make_catalog):
    earlier = make_catalog(["x"], [10.0], [0.0], [""])
    lon = np.array([10.5, 10.3])
    more = {"ASSOC_4FGL": ["x", "x"]}
    later = make_catalog(["A", "B"], lon, [0.0, 0.0], ["bll", "psr"], "4FGL-DR4", **more)
    assert later_classes(earlier, later).y.tolist() == ["psr"]
    later = make_catalog(["A", "B"], lon * np.nan, [np.nan] * 2, ["bll", "psr"], "4FGL-DR4", **more)
    assert later_classes(earlier, later).counts["unmatched"] == 1


def test_agrees_with_a_naive_loop(make_catalog):
    rng = np.random.default_rng(5)
    lon, lat = rng.uniform(0, 3, 200), rng.uniform(-1.5, 1.5, 200)
    earlier = make_catalog([f"e{k}" for k in range(200)], lon, lat, [""] * 200)
    moved = lon + rng.normal(0, 0.05, 200), lat + rng.normal(0, 0.05, 200)
    later = make_catalog([f"l{k}" for k in range(200)], *moved, ["psr"] * 200, "4FGL-DR4")
    pairs = []
    for i in range(200):
        distance = np.degrees(
            [angular_separation(*np.radians([lon[i], lat[i], *at])) for at in zip(*moved, strict=True)]
        )
        pairs.append((min(distance), i, int(np.argmin(distance))))
    expected, taken = np.full(200, UNMATCHED), set()
    for distance, i, j in sorted(pairs):
        if distance <= 0.15 and j not in taken:
            expected[i] = j
            taken.add(j)
    counterpart, by_name = match_sources(earlier, later)
    np.testing.assert_array_equal(counterpart, expected)
    assert not by_name.any()


def test_radius_must_be_positive(make_catalog):
    catalog = make_catalog(["a"], [10.0], [0.0], [""])
    with pytest.raises(ValueError, match="radius_deg=0 is not a valid radius"):
        later_classes(catalog, catalog, radius_deg=0)


def test_a_release_against_itself_is_matched_to_itself(slim_catalog):
    counterpart, by_name = match_sources(slim_catalog, slim_catalog)
    np.testing.assert_array_equal(counterpart, np.arange(len(slim_catalog)))
    assert not by_name.any()


def test_dr1_to_dr4(dr1, dr4):
    matches = later_classes(dr1, dr4, "bll,fsrq,psr")
    bare = dr1.classes[matches.rows] == ""
    assert (len(matches.rows), bare.sum(), set(matches.y[bare])) == (310, 67, {"psr"})
    assert matches.counts == {"targets": 2741, "by_position": 2718, "by_name": 1, "unmatched": 22, "scored": 310}
