"""Bad catalogues: the right features, with a warning where needed, or a refusal; nothing in between.

The catalogue that is damaged is a tenth of 4FGL-DR4. Damaged files have tests in `tests/catalog/test_faulty_input.py`.
"""

import numpy as np
import pytest
from astropy.table import Column
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from fermiclass import extract_features, read_catalog
from fermiclass.catalog import CatalogWarning
from fermiclass.cli.app import main
from fermiclass.errors import CatalogError

NUMBERS = ("Flux1000", "Unc_Flux1000", "LP_Index", "Unc_LP_Index", "LP_beta", "Unc_LP_beta", "Signif_Avg", "PL_Index")


@pytest.fixture(scope="module")
def tenth(dr4):
    """A table with float64 columns, which hold more than float32 does."""
    table = dr4.table[::10]
    for name in table.colnames:
        if table[name].dtype.kind == "f":
            table[name] = table[name].astype(np.float64)
    return table


@pytest.fixture
def table(tenth):
    return tenth.copy()


@pytest.fixture(scope="module")
def expected(tenth):
    return extract_features(read_catalog(tenth), "extended")


def check(table, expected, *, rows=(), features=()):
    """Features are those of the undamaged table, but for `rows` and `features`, which the damage is about."""
    with np.errstate(all="raise", under="ignore"):
        found = extract_features(read_catalog(table), "extended")
    assert np.all(np.isfinite(found.X))
    assert np.all(np.isfinite(found.X_var))
    assert np.all(found.X_var >= 0)
    clean = (found.flags == 0) & (expected.flags == 0)
    clean[list(rows)] = False
    same = [number for number, feature in enumerate(expected.features) if feature.name not in features]
    for name in ("X", "X_var"):
        pair = (getattr(table, name)[np.ix_(clean, same)] for table in (found, expected))
        np.testing.assert_allclose(*pair, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Conf_95_SemiMajor", (0.0, -1.0, 60.0)),
        ("Conf_95_PosAng", (400.0,)),
        ("Signif_Avg", (1e5, 1e10, 1e30, 1e-7, 0.0, -3.0)),
        ("GLAT", (91.0, -360.0, 1e5)),
        ("DEJ2000", (91.0,)),
        ("RAJ2000", (361.0, -400.0)),
        ("Pivot_Energy", (0.0, 1e20)),
        ("Flux1000", (-1e-9, 1.0)),
        ("LP_beta", (100.0,)),
        ("LP_SigCurv", (-999.0, 1e6)),
        ("Variability_Index", (-1.0, 1e12)),
        ("Frac_Variability", (-1.0, 500.0)),
        ("Flux_Band", (5.0,)),
    ],
)
def test_an_impossible_number_is_a_missing_one(table, name, values):
    for value in values:
        one, other = table.copy(), table.copy()
        one[name][3], other[name][3] = value, np.nan
        with pytest.warns(CatalogWarning, match=f"column {name} is .* for 1 source.*: taken as missing"):
            found = read_catalog(one)
        expected = read_catalog(other)
        for column in table.colnames:
            np.testing.assert_array_equal(found.table[column], expected.table[column])
        place = name in ("RAJ2000", "DEJ2000", "GLAT")  # the latitude is computed then
        assert place or name.startswith("Conf") or extract_features(found, "galactic").flags[3]


def test_places_that_contradict_each_other(table):
    """Of a few sources the Galactic coordinates are computed; where there are many, columns are wrong."""
    one = table.copy()
    one["GLAT"][3] = -one["GLAT"][3]
    with pytest.warns(
        CatalogWarning, match=f"1 of {len(one)} sources, such as {one['Source_Name'][3]},.*taken as missing"
    ):
        found = read_catalog(one)
    for name in ("GLON", "GLAT"):
        np.testing.assert_allclose(found.table[name], table[name], atol=1e-3)
    one["GLAT"] = -one["GLAT"]
    with pytest.raises(CatalogError, match=r"more than a degree from RAJ2000.*Remove the wrong columns"):
        read_catalog(one)
    one.remove_columns(["GLON", "GLAT"])
    np.testing.assert_allclose(read_catalog(one).table["GLAT"], table["GLAT"], atol=1e-3)
    one["DEJ2000"] = one["DEJ2000"] + 90.0
    with pytest.warns(CatalogWarning), pytest.raises(CatalogError, match=r"places in the names of .*Check the columns"):
        read_catalog(one)
    one["Source_Name"] = [f"source {k}" for k in range(len(one))]
    lost = pytest.warns(CatalogWarning, match="second associations")
    with lost, pytest.warns(CatalogWarning, match="DEJ2000 is beyond"):
        assert np.isnan(read_catalog(one).table["GLAT"]).mean() > 0.3


def test_right_ascensions_on_both_sides_of_zero(table):
    one = table.copy()
    one["RAJ2000"] = np.where(one["RAJ2000"] > 180.0, one["RAJ2000"] - 360.0, one["RAJ2000"])
    np.testing.assert_allclose(read_catalog(one).table["RAJ2000"], table["RAJ2000"])


@pytest.mark.parametrize(
    ("name", "factor", "unit", "message"),
    [
        ("Pivot_Energy", 1e-3, "GeV", "GeV.*converted"),
        ("Pivot_Energy", 1.602176634e-13, "J", "converted"),
        ("Flux1000", 1e4, "ph m-2 s-1", "converted"),
        ("Flux1000", 1.0, "cm-2 s-1", "without photons"),
        ("Flux1000", 1e4, "m-2 s-1", "without photons"),
        ("RAJ2000", np.pi / 180, "rad", "converted"),
        ("Conf_95_SemiMajor", 60.0, "arcmin", "converted"),
        ("LP_SigCurv", 100.0, "%", "converted"),
        ("PLEC_SigCurv", 100.0, "%", "converted"),
        ("Variability_Index", 100.0, "%", "converted"),
        ("Frac_Variability", 100.0, "%", "converted"),
        ("Unc_Frac_Variability", 100.0, "%", "converted"),
        ("Pivot_Energy", 1.0, "furlong", "unknown unit"),
    ],
)
@pytest.mark.filterwarnings("ignore::fermiclass.catalog.CatalogWarning")
def test_other_units_are_converted_with_a_warning(table, tenth, expected, name, factor, unit, message):
    table[name] = Column(np.asarray(table[name]) * factor)
    table[name].unit = unit
    with pytest.warns(CatalogWarning, match=f"{name}.*{message}"):
        found = read_catalog(table)
    np.testing.assert_allclose(found.table[name], tenth[name], rtol=1e-9)
    check(table, expected)


@pytest.mark.parametrize(("name", "unit", "expected"), [("Pivot_Energy", "m", "MeV"), ("LP_SigCurv", "MeV", "no unit")])
def test_the_unit_of_another_quantity_is_refused(table, name, unit, expected):
    table[name].unit = unit
    with pytest.raises(CatalogError, match=f"{name} is in {unit}, expected {expected}"):
        read_catalog(table)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("Pivot_Energy", lambda values: values * 1e-3, "implausible"),
        ("Flux1000", lambda values: values * 1e20, "implausible"),
        ("Flux1000", lambda values: -values, "no usable value"),
        ("Unc_LP_Index", lambda values: values * np.nan, "no usable value"),
        ("LP_Index", lambda values: values * 0 + 2, "is 2 for all sources"),
        ("Frac_Variability", lambda values: values * 100, "implausible"),
        ("Unc_Frac_Variability", lambda values: values * 100, "implausible"),
        ("Source_Name", lambda values: np.full(len(values), "x"), "more than once"),
        ("Source_Name", lambda values: np.full(len(values), ""), "without a name"),
        ("CLASS1", lambda values: np.where(values == "bll", "star", values), "unknown classes: star"),
    ],
)
@pytest.mark.filterwarnings("ignore::fermiclass.catalog.CatalogWarning")
def test_implausible_columns_are_told_of(table, expected, name, change, message):
    table[name] = Column(change(np.asarray(table[name])), unit=table[name].unit)
    with pytest.warns(CatalogWarning, match=message):
        read_catalog(table)
    of_it = [feature.name for feature in expected.features if name.removeprefix("Unc_") in feature.name]
    check(table, expected, features=of_it)


@given(data=st.data())
@pytest.mark.filterwarnings("ignore:.*taken as missing:fermiclass.catalog.CatalogWarning")
def test_absurd_numbers_in_a_few_rows_move_nothing_else(tenth, expected, data):
    table = tenth.copy()
    rows = data.draw(st.lists(st.integers(0, len(table) - 1), min_size=1, max_size=5))
    for name in data.draw(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=3, unique=True)):
        table[name][rows] = data.draw(st.floats(width=64))
    check(table, expected, rows=rows)


@pytest.mark.parametrize(
    "arguments",
    [
        ("features", "there.fits", "-o", "there.fits"),
        ("followup", "there.vot", "-o", "there.vot"),
        ("evaluate", "there.vot", "--json", "there.vot"),
        ("evaluate", "catalog.fits", "--open", "there.svg", "--plot", "there.svg"),
        ("explain", "labels.fits", "a source", "--catalog", "there.svg", "--plot", "there.svg"),
        ("report", "labels.fits", "--metrics", "there.html", "-o", "there.html"),
    ],
)
def test_no_command_overwrites_what_it_reads(tmp_path, monkeypatch, arguments):
    """Whatever it holds: this is said before anything is read."""
    monkeypatch.chdir(tmp_path)
    there = tmp_path / arguments[-1]
    there.write_text("kept")
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2
    assert "is an input" in done.stderr
    assert there.read_text() == "kept"
    assert list(tmp_path.iterdir()) == [there]
