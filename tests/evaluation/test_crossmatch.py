"""Cross-matching releases: positions, names, competition, and the real ones."""

import numpy as np
import pytest
from astropy.coordinates import angular_separation

from fermiclass.evaluation.crossmatch import UNMATCHED, match_sources

A, B = "4FGL a", "4FGL b"
NOWHERE = (np.nan, np.nan)


@pytest.mark.parametrize(
    ("names", "places", "later_names", "later_places", "columns", "expected", "named"),
    [
        (["a", "b"], [(10, 0), (20, 0)], ["B", "A"], [(20.05, 0), (10.05, 0)], {}, [1, 0], [False] * 2),
        (["a"], [(10, 60)], ["A"], [(10, 60.149)], {}, [0], [False]),
        (["a"], [(10, 60)], ["A"], [(10, 60.151)], {}, [-1], [False]),
        # by name where the position fails, on either side
        ([A, B], [(10, 0), (0, 0)], [A, "other"], [(50, 10), (0, 0)], {}, [0, 1], [True, False]),
        ([A], [(10, 0)], ["x"], [(50, 10)], {"ASSOC_4FGL": [f"{A} "]}, [0], [True]),
        ([A], [(10, 0)], ["x"], [NOWHERE], {"ASSOC_FGL": [A]}, [0], [True]),
        (["a", "b"], [NOWHERE, (20, 0)], ["a", "x"], [(10, 0), (20, 0)], {}, [0, 1], [True, False]),
        # the loser of a position is matched by name; at one position the name decides
        ([A, B], [(10, 0), (10.1, 0)], ["x", "y"], [(10.01, 0), (10.4, 0)], {"ASSOC_FGL": [A, B]}, [0, 1], [False, 1]),
        (["i", "s"], [(83.63, 22.02)] * 2, ["s", "i"], [(83.63, 22.02)] * 2, {}, [1, 0], [False] * 2),
        # a source that was split takes the nearer one, and none where that is unknown
        (["x"], [(10, 0)], ["A", "B"], [(10.5, 0), (10.3, 0)], {"ASSOC_4FGL": ["x", "x"]}, [1], [True]),
        (["x"], [(10, 0)], ["A", "B"], [NOWHERE] * 2, {"ASSOC_4FGL": ["x", "x"]}, [-1], [False]),
    ],
)  # fmt: skip
def test_counterparts(make_catalog, names, places, later_names, later_places, columns, expected, named):
    earlier = make_catalog(names, *np.transpose(places).astype(float), [""] * len(names))
    there = np.transpose(later_places).astype(float)
    later = make_catalog(later_names, *there, ["psr"] * len(later_names), "4FGL-DR4", **columns)
    counterpart, by_name = match_sources(earlier, later)
    assert (counterpart.tolist(), by_name.tolist()) == (expected, named)


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
        match_sources(catalog, catalog, radius_deg=0)


def test_dr1_to_dr4(dr1, dr4):
    counterpart, by_name = match_sources(dr1, dr4)
    targets = dr1.is_target(dr1.grouping("bll,fsrq,psr"))
    found, named = counterpart[targets] != UNMATCHED, by_name[targets]
    assert (len(found), np.sum(found & ~named), named.sum(), np.sum(~found)) == (2741, 2718, 1, 22)
