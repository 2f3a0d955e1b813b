"""Regions of ds9 and lists of names and coordinates."""

import re

import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from astropy.table import Table

from fermiclass.errors import OutputError
from fermiclass.io.target_lists import check_targets, read_list, write_targets


@pytest.fixture
def targets():
    return Table(
        {
            "Source_Name": ["4FGL J2112.5-3043", "a } {b", "mine 3"],
            "RAJ2000": [318.14, 0.001, np.nan], "DEJ2000": [-30.7293, -0.01, 0.0],
            "Conf_95_SemiMajor": [0.05, np.nan, 0.1], "Conf_95_SemiMinor": [0.02, np.nan, 0.1],
            "Conf_95_PosAng": [30.0, np.nan, 0.0],
        }
    )  # fmt: skip


def test_regions(targets, tmp_path):
    """The regions package agrees: its ellipse has the ends of the axes at the position angle (see the commit)."""
    with pytest.warns(UserWarning, match="lacks 1 of 3 sources"):
        write_targets(targets, tmp_path / "t.reg")
    lines = (tmp_path / "t.reg").read_text().splitlines()
    assert lines[2] == "icrs"
    assert lines[3] == "ellipse(318.14000,-30.72930,0.05000d,0.02000d,120.00) # text={4FGL J2112.5-3043}"
    assert lines[4] == "point(0.00100,-0.01000) # point=cross text={a b}"
    assert len(lines) == 5  # nothing is drawn without a position


def test_a_list_can_be_read_again(targets, tmp_path):
    with pytest.warns(UserWarning, match="lacks 1 of 3 sources"):
        write_targets(targets, tmp_path / "t.txt")
    again = read_list(tmp_path / "t.txt")
    assert list(again["name"]) == ["4FGL_J2112.5-3043", "a_}_{b"]  # the third has no position
    at = SkyCoord(again["ra"], again["dec"], unit=("hourangle", "deg"))
    there = SkyCoord(targets["RAJ2000"][:2], targets["DEJ2000"][:2], unit="deg")
    assert at.separation(there).arcsec.max() < 1.0
    assert again["dec"][1].startswith("-00:")


def test_a_list_of_names(tmp_path):
    (tmp_path / "n.txt").write_text("# mine\nPSR J1539-3323  # timed\n\nMkn 421\n")
    assert list(read_list(tmp_path / "n.txt")["name"]) == ["PSR J1539-3323", "Mkn 421"]


def test_other_endings(targets, tmp_path):
    write_targets(targets, tmp_path / "t.csv")
    np.testing.assert_array_equal(read_list(tmp_path / "t.csv")["Source_Name"], targets["Source_Name"])
    with pytest.raises(OutputError, match=re.escape(".vot, .csv, .parquet, .reg, .txt")):
        check_targets(tmp_path / "t.doc")


def test_a_csv_has_few_digits_and_no_certain_probability(targets, tmp_path):
    targets["P_psr"], targets["Flux1000"] = np.float32(0.99996), 1.23456e-9
    write_targets(targets, tmp_path / "t.csv")
    written = read_list(tmp_path / "t.csv")
    assert set(written["P_psr"]) == {0.9999}
    assert set(written["Flux1000"]) == {1.235e-9}
    np.testing.assert_allclose(written["RAJ2000"], targets["RAJ2000"], atol=6e-5)
    assert max(map(len, re.findall(r"[\d.]+", (tmp_path / "t.csv").read_text()))) <= 8
