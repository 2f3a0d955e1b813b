"""Delays of 327,346 flights."""

import zipfile

import numpy as np
import pytest

from fermiclass_benchmarks import flights

TABLE = """year,month,day,dep_time,sched_dep_time,arr_time,arr_delay,tailnum,air_time,distance
2013,1,1,517,515,830,11,N1,227,1400
2013,1,6,1,2359,2400,5,N2,100,200
2013,12,31,1754,1800,2003,-5,N3,101,201
2013,12,31,1754,1800,2003,-6,N9,102,202
2013,2,1,900,900,1000,,N1,103,203
"""
PLANES = "tailnum,year,seats\nN1,1999,55\nN2,2003,182\nN3,,182\n"


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Five flights instead of the package's."""
    with zipfile.ZipFile(tmp_path / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", TABLE)
    (tmp_path / "planes.csv").write_text(PLANES)
    monkeypatch.setattr(flights, "_home", lambda: tmp_path)
    flights.load.cache_clear()
    yield tmp_path
    flights.load.cache_clear()


def test_inputs_and_classes(tables):
    X, y = flights.load()
    # age, distance, airtime, departure, arrival, day of the week (Monday is 0), of the month, month
    expected = [
        [14, 1400, 227, 317, 510, 1, 1, 1],
        [10, 200, 100, 1, 1440, 6, 6, 1],
        [12, 201, 101, 1074, 1203, 1, 31, 12],
        [12, 202, 102, 1074, 1203, 1, 31, 12],
    ]
    np.testing.assert_array_equal(X, expected)
    assert y.tolist() == ["late", "on time", "on time", "early"]


def test_the_packaged_flights():
    X, y = flights.load()
    assert X.shape == (336_776 - 9_430, 8)
    assert np.all(np.isfinite(X))
    assert dict(zip(*np.unique(y, return_counts=True), strict=True)) == {
        "early": 159_147,
        "late": 109_831,
        "on time": 58_368,
    }
    assert (X.min(axis=0) >= [0, 1, 1, 0, 0, 0, 1, 1]).all()
    assert (X.max(axis=0) <= [60, 6000, 900, 1440, 1440, 6, 31, 12]).all()
    assert np.mean(X[:, 0] == 11) == pytest.approx(0.2, abs=0.05)  # those of unknown age among them
