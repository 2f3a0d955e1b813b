import numpy as np
import pytest
from astropy.table import MaskedColumn

from fermiclass.catalog import SOURCE_STATUSES, Catalog, read_catalog
from fermiclass.catalog.source_names import find_source
from fermiclass.errors import SourceError


def test_classes_and_status(slim_catalog):
    never = {"unk"} if slim_catalog.release.name == "3FGL" else set()
    assert set(np.unique(slim_catalog.status)) == set(SOURCE_STATUSES) - never
    np.testing.assert_array_equal(slim_catalog.status == "unassociated", slim_catalog.classes == "")
    assert np.all(slim_catalog.identified[slim_catalog.status == "identified"])
    assert all(code == code.strip().lower() for code in np.unique(slim_catalog.classes))
    crab = slim_catalog.classes[np.isin(slim_catalog.names, ("3FGL J0534.5+2201", "4FGL J0534.5+2200"))]
    assert crab.tolist() == ["psr"]


def test_the_status_says_who_is_identified(dr4):
    table = dr4.table[:200].copy()
    table["CLASS1"] = np.char.capitalize(np.asarray(table["CLASS1"], str))
    catalog = read_catalog(table)
    with_class = ~np.isin(catalog.classes, ["", "bcu", "unk"])
    np.testing.assert_array_equal(catalog.status == "identified", catalog.identified & with_class)


@pytest.mark.parametrize("rows", [slice(3, 9), [5, 1, 1], np.array([7]), []])
def test_rows_by_position(dr4, rows):
    chosen = dr4[rows]
    expected = dr4.names[np.asarray(rows, dtype=int)] if isinstance(rows, list) else dr4.names[rows]
    np.testing.assert_array_equal(chosen.names, expected)
    assert (chosen.release, chosen.source, chosen.sha256) == (dr4.release, dr4.source, dr4.sha256)


def test_rows_by_mask(dr4):
    chosen = dr4[dr4.classes == "bll"]
    assert len(chosen) == 1490
    assert set(chosen.classes) == {"bll"}
    np.testing.assert_array_equal(chosen.table["Source_Name"], chosen.names)
    assert chosen.table["Flux1000"].unit == dr4.table["Flux1000"].unit


def test_to_pandas_splits_columns_of_several_values(dr4):
    frame = dr4.to_pandas()
    assert len(frame) == len(dr4)
    assert "Flux_Band" not in frame.columns
    for band in range(8):
        np.testing.assert_array_equal(frame[f"Flux_Band_{band + 1}"], dr4.table["Flux_Band"][:, band])
        for side in range(2):
            split = frame[f"Unc_Flux_Band_{2 * band + side + 1}"]
            np.testing.assert_array_equal(split, dr4.table["Unc_Flux_Band"][:, band, side])
    assert frame.loc[0, "Source_Name"] == dr4.names[0]
    assert frame["Signif_Avg"].dtype == np.float32
    assert frame.sort_values("Signif_Avg").shape == frame.shape  # big-endian columns cannot be sorted


def test_soft_galactic_sources_are_those_of_one_flag(dr4):
    flags = np.asarray(dr4.table["Flags"])
    np.testing.assert_array_equal(dr4.soft_galactic, flags // 2**13 % 2 == 1)
    assert 0 < dr4.soft_galactic.sum() < 0.1 * len(dr4)
    assert np.mean(np.abs(dr4.table["GLAT"][dr4.soft_galactic])) < 10.0  # in the plane, as the name says


def test_releases_before_dr3_have_no_soft_galactic_flag(slim_catalog):
    assert slim_catalog.soft_galactic.shape == (len(slim_catalog),)
    assert slim_catalog.soft_galactic.any() == (slim_catalog.release.name in ("4FGL-DR3", "4FGL-DR4"))


def test_without_known_flags_nothing_is_soft_galactic(dr4):
    flags = dr4.table["Flags"]
    for other in (None, MaskedColumn(flags, mask=dr4.soft_galactic), np.where(dr4.soft_galactic, np.nan, 0.0)):
        table = dr4.table.copy()
        table.remove_column("Flags")
        if other is not None:
            table["Flags"] = other
        assert not Catalog(table, dr4.release, dr4.source, dr4.sha256).soft_galactic.any()


def test_a_source_by_name_or_number_and_positions(dr4):
    row = find_source(dr4, "Mkn 421")
    for one in (dr4["Mkn 421"], dr4["mrk421"], dr4[row], dr4[[row]]):
        assert one.names.tolist() == ["4FGL J1104.4+3812"]
    assert dr4[-1].names[0] == dr4.names[-1]
    np.testing.assert_allclose(dr4.positions.dec.deg, dr4.table["DEJ2000"])
    with pytest.raises(SourceError, match="Mkn 42"):
        dr4["Mkn 42"]
