"""Columns of another table: matches by name and by position, what is ambiguous, made-up X-ray fluxes."""

import json
import logging
from collections import Counter

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from astropy.table import Table, vstack

from fermiclass import join, train
from fermiclass.catalog import THREE_CLASSES, CatalogWarning
from fermiclass.errors import CatalogError
from fermiclass.features import known_features
from fermiclass.nimgp.settings import Settings
from tests.commands import run, run_well
from tests.conftest import slim_path


@pytest.fixture(scope="module")
def some(dr4):
    """Sources with an elongated error ellipse, far from each other."""
    elongated = np.asarray(dr4.table["Conf_95_SemiMajor"]) > 1.6 * np.asarray(dr4.table["Conf_95_SemiMinor"])
    return dr4[np.flatnonzero(elongated)[:20]]


def beside(source, axis, fraction):
    """A position at a fraction of an axis of the error ellipse."""
    angle = source["Conf_95_PosAng"] + (90 if axis == "Conf_95_SemiMinor" else 0)
    here = SkyCoord(source["RAJ2000"] * u.deg, source["DEJ2000"] * u.deg)
    at = here.directional_offset_by(angle * u.deg, fraction * source[axis] * u.deg)
    return at.ra.deg, at.dec.deg


def test_names_of_earlier_lists_match_the_sources_that_have_them(dr4):
    """All names of 3FGL that one source has; the same rows as by position, and Source_Name goes first."""
    names = np.asarray(dr4.table["ASSOC_FGL"]).astype(str)
    rows = np.flatnonzero(np.char.startswith(names, "3FGL"))
    once = np.isin(names[rows], [name for name, n in Counter(names[rows]).items() if n == 1])
    table = Table({"Source_Name": names[rows], "XFLUX": rows.astype(float)})
    joined = join(dr4, table).column("XFLUX")
    assert np.isfinite(joined[rows[once]]).mean() > 0.99
    known = np.flatnonzero(np.isfinite(joined))
    assert np.mean(joined[known] == known) > 0.99


def test_by_name_and_within_the_error_ellipse(some, caplog):
    rows = [("", *beside(some.table[0], "Conf_95_SemiMajor", 0.9), 1.0)]  # beyond the minor axis
    rows += [("", *beside(some.table[1], "Conf_95_SemiMinor", 1.2), 2.0)]  # within the major axis, but beside
    rows += [(some.names[2].removeprefix("4FGL "), 0.0, 0.0, 3.0), ("4FGL J9999.9+9999", np.nan, np.nan, 4.0)]
    table = Table(rows=rows, names=("name", "ra", "dec", "X"))
    table["X_err"] = 0.1 * table["X"]
    with caplog.at_level(logging.INFO, logger="fermiclass"):
        joined = join(some, table, "x.csv")
    expected = np.full(len(some), np.nan)
    expected[[0, 2]] = 1.0, 3.0
    np.testing.assert_array_equal(joined.table["X"], expected)
    np.testing.assert_allclose(joined.table["Unc_X"], 0.1 * expected)
    assert "1 rows match sources of 4FGL-DR4.fits.gz by name, 1 by position, 2 none" in joined.notes[0]
    assert sum(some.names[0] in record.getMessage() for record in caplog.records) == 1
    assert "X" not in some.table.colnames


def test_what_is_ambiguous_is_not_used(some):
    ra, dec = (float(some.table[name][0]) for name in ("RAJ2000", "DEJ2000"))
    table = Table({"name": ["a", "b", some.names[1]], "ra": [ra, ra, 0.0], "dec": [dec, dec, 0.0]})
    table["X"] = [1.0, 2.0, 3.0]
    joined = join(some, table)
    assert np.flatnonzero(np.isfinite(joined.table["X"])).tolist() == [1]
    assert "a, b" in joined.notes[1]


def test_equal_rows_count_once_and_no_column_looks_like_a_logarithm(some):
    table = Table({"name": some.names, "X": np.arange(20.0), "Y": np.full(20, np.nan), "ln_X": np.ones(20)})
    with pytest.warns(CatalogWarning, match="column ln_X of .* is not used, as the feature ln_X is the logarithm of X"):
        joined = join(some, vstack([table, table[:3]]))
    np.testing.assert_array_equal(joined.table["X"], table["X"])
    assert "ln_X" not in joined.table.colnames


def test_tables_with_the_same_column_fill_it(some):
    """In two tables as in one; what differs is that of the first, with its error."""
    whole = Table({"name": some.names, "X": np.arange(20.0) + 1, "X_err": np.full(20, 0.1)})
    whole["X_ul"] = np.where(whole["X"] == 4.0, 5.0, np.nan)
    whole["X"][3] = np.nan
    north, south = whole[:12].copy(), whole[9:].copy()  # three rows are in both
    expected = join(some, whole)
    both = join(join(some, north, "north"), south, "south")
    for name in ("X", "Unc_X", "X_UL"):
        np.testing.assert_allclose(both.table[name], expected.table[name])
    assert both.notes[-1] == "columns of 'south': X (8 more values), Unc_X (8 more values), X_UL (0 more values)"
    north["X_err"][10:] = np.nan
    south["X"][:3] *= 7
    with pytest.warns(CatalogWarning, match="whose values stay: 3 of X"):
        both = join(join(some, north, "north"), south, "south")
    np.testing.assert_allclose(both.table["X"], expected.table["X"])
    np.testing.assert_array_equal(np.isnan(both.table["Unc_X"]), np.isin(np.arange(20), [10, 11]))
    errors_after = join(join(some, whole["name", "X"]), Table({"name": some.names, "Unc_X": whole["X_err"]}))
    np.testing.assert_array_equal(errors_after.table["Unc_X"], expected.table["Unc_X"])


def test_columns_of_the_catalogue_and_other_units_are_not_filled(some):
    table = Table({"name": some.names, "Flux1000": np.ones(20), "X": np.ones(20) * u.m})
    joined = join(some, table)
    np.testing.assert_array_equal(joined.table["Flux1000"], some.table["Flux1000"])
    table["X"].unit = "s"
    with pytest.raises(CatalogError, match="X of 'south' is in s, and that of an earlier table in m"):
        join(joined, table, "south")
    table["X"].unit = None
    with pytest.warns(CatalogWarning, match="one has a unit, m"):
        assert join(joined, table, "south").table["X"].unit == "m"
    table["X_err"] = np.ones(20) * u.s
    assert join(some, table).table["Unc_X"].unit == "s"
    table["X"].unit = "m"
    with pytest.raises(CatalogError, match="X_err of 'south' is in s, and X in m"):
        join(some, table, "south")
    table["X_err"].unit = None
    assert join(some, table).table["Unc_X"].unit == "m"  # as in tables of one's own


@pytest.mark.parametrize("names", [("Unc_X", "X_err"), ("X_err", "e_X"), ("X_UL", "x_ul95"), ("X_err", "unc_x")])
def test_a_second_error_or_limit_replaces_nothing(some, names):
    """It keeps its own name."""
    table = Table({"name": some.names, "X": np.ones(20), names[0]: np.full(20, 0.1), names[1]: np.full(20, 9.0)})
    joined = join(some, table)
    standard = "X_UL" if "UL" in names[0] else "Unc_X"
    if names[1] == "unc_x":  # the name of the catalogue goes first
        assert (joined.table["Unc_X"][0], joined.table["X_err"][0]) == (9.0, 0.1)
    else:
        assert (joined.table[standard][0], joined.table[names[1]][0]) == (0.1, 9.0)
        assert names[1] in joined.notes[-1]


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ({"name": ["nothing"], "X": [1.0]}, "none of the 1 rows"),
        ({"name": ["4FGL J0001.2+4741"], "about": ["x"]}, "no column of numbers"),
        ({"X": [1.0]}, "names nor of positions"),
    ],
)
def test_what_cannot_be_joined(dr4, columns, word):
    with pytest.raises(CatalogError, match=word):
        join(dr4, Table(columns))


@pytest.fixture(scope="module")
def xray(dr4, tmp_path_factory):
    """Made up: pulsars are faint in X-rays; known for a third of the sources, without regard to the class."""
    rng = np.random.default_rng(3)
    known = rng.random(len(dr4)) < 1 / 3
    flux = np.asarray(dr4.table["Flux1000"], float) * np.exp(rng.normal(0, 0.7, len(dr4)))
    flux *= np.where(np.isin(dr4.classes, ("psr", "msp")), 1e-3, 1.0)
    table = Table({"Source_Name": dr4.names, "XFLUX": flux, "XFLUX_err": 0.2 * flux})[known]
    path = tmp_path_factory.mktemp("xray") / "xray.csv"
    table.write(path)
    return path, table, known


def test_a_feature_that_a_third_of_the_sources_has(dr4, xray):
    """It helps where it is known, and does no harm where it is not."""
    _, table, known = xray
    held_out = np.arange(len(dr4)) % 2 == 0
    settings = Settings(method="nimgp-fo", steps=100, num_inducing=20, learning_rate=0.1)
    nll = []
    for catalog, features in ((dr4, "six"), (join(dr4, table), "six,ln_XFLUX")):
        model = train(catalog[~held_out], settings=settings, features=features, classes=THREE_CLASSES)
        test = model.features_of(catalog[held_out])
        typed = np.isin(test.y, model.classes)
        right = [model.classes.index(name) for name in test.y[typed]]
        nll.append(-np.log(model.predict(test[typed]).probabilities[np.arange(len(right)), right]))
    has, less = known[held_out][typed], nll[1] - nll[0]
    assert less[has].mean() < -0.02
    assert less[~has].mean() < 0.02
    assert test.imputed_value[:, -1].mean() == pytest.approx(2 / 3, abs=0.05)


def test_an_upper_limit_is_below_what_is_seen(dr4):
    """One above all fluxes says nothing; one below makes the flux smaller, also that of sources not observed."""
    catalog, rng = dr4[::5], np.random.default_rng(0)
    flux, row = np.exp(rng.normal(0.0, 1.0, len(catalog))), np.arange(len(catalog)) % 3
    table = Table({"Source_Name": catalog.names, "XFLUX": np.where(row == 0, flux, np.nan)})

    def with_limit(limit, rows):
        table["XFLUX_ul"] = np.where(rows, limit, np.nan)
        return join(catalog, table)

    def trained(joined):
        settings = Settings(steps=5, num_inducing=10)
        return train(joined, settings=settings, features="six,ln_XFLUX", classes=THREE_CLASSES)

    model, limited = trained(with_limit(np.nan, row == 1)), with_limit(0.5, row == 1)
    of_limit = (model.features_of(with_limit(limit, row == 1)).X[row == 1, -1] for limit in (np.nan, 1e3, 0.5))
    without, far, near = of_limit
    np.testing.assert_allclose(far, without, atol=1e-3)
    assert np.all(near < np.minimum(without, np.log(0.5)))
    not_observed = [each.features_of(limited).X[row == 2, -1].mean() for each in (model, trained(limited))]
    assert not_observed[1] < not_observed[0] - 0.3
    assert known_features("ln_XFLUX", limited, limited[row == 1]) == ("ln_XFLUX", [])  # limits are enough


def test_columns_and_labels_are_evaluated(xray, dr4, tmp_path):
    """Another column helps, in a classifier of another library too; sources with a label of one's own are scored."""
    spiders = Table({"Source_Name": dr4.names[dr4.classes == "lmb"]})
    spiders["label"] = "psr"
    spiders.write(tmp_path / "own.csv")
    found = {}
    for features, more in (("six", ()), ("six,ln_XFLUX", ("--join", xray[0], "--labels", tmp_path / "own.csv"))):
        command = ("evaluate", slim_path("4FGL-DR4"), "--folds", "2", "--methods", "logistic", "--features", features)
        run_well(*command, "--classes", "bll,fsrq,psr", *more, "--json", tmp_path / "e.json")
        found[features] = json.loads((tmp_path / "e.json").read_text())
    plain, own = found.values()
    assert own["methods"]["logistic"]["nll"] < plain["methods"]["logistic"]["nll"]
    assert own["found"]["psr"] == plain["found"]["psr"] + len(spiders)
    assert (own["brought"], "brought" in plain) == ([f"--join {xray[0].name}", "--labels own.csv"], False)


def test_the_command(xray, few_file, tmp_path):
    few = ("--steps", "20", "--set", "num_inducing=10", "--classes", "bll,fsrq,psr", "-o", tmp_path / "labels.fits")
    printed = run_well("classify", few_file, "--join", xray[0], *few, "--features", "six,ln_XFLUX")
    assert "columns of 'xray.csv': XFLUX, Unc_XFLUX" in " ".join(printed.split())
    done = run("classify", few_file, "--join", tmp_path / "labels.fits", *few)
    assert (done.returncode, "is an input" in done.stderr) == (2, True)


def test_galactic_places_say_the_same(some):
    taken = some.table["RAJ2000", "DEJ2000", "GLON", "GLAT"]
    taken["X"] = np.arange(20.0)
    np.testing.assert_array_equal(join(some, Table(taken["GLON", "GLAT", "X"], copy=True)).table["X"], taken["X"])
    taken["GLAT"][:1] *= -0.5
    with pytest.warns(CatalogWarning, match="GLON and GLAT of 1 of 20 sources"):
        np.testing.assert_array_equal(join(some, taken).table["X"], taken["X"])


@pytest.mark.parametrize("mark", [-1.0, -99.0, -999.0, 99.99, 9999.0, 1e20, -1e30, -(2.0**31)])
@pytest.mark.parametrize("name", ["X", "X_err", "X_ul"])
def test_a_number_that_stands_for_none_is_a_blank(some, name, mark):
    """A magnitude, its error and its limit; with a word for each column."""
    rng = np.random.default_rng(5)
    table = Table({"name": some.names, "X": rng.uniform(10.0, 20.0, 20), "X_err": rng.uniform(0.1, 0.2, 20)})
    table["X_ul"] = rng.uniform(21.0, 22.0, 20)
    table["X"][:12] = np.nan if name == "X_ul" else table["X"][:12]
    blank, marked = table.copy(), table.copy()
    blank[name][:12], marked[name][:12] = np.nan, mark
    with pytest.warns(CatalogWarning, match=f"column {name} is .* for missing values") as told:
        found = join(some, marked)
    assert len(told) == 1
    for column in ("X", "Unc_X", "X_UL"):
        np.testing.assert_array_equal(found.table[column], join(some, blank).table[column])


@pytest.mark.parametrize(
    "values",
    [
        np.arange(20) * 20 - 199,  # from -199 to 181, with -99 below
        np.repeat([-1, 0, 1, -1], 5),  # a code
        np.linspace(-99.0, 99.0, 20),
        np.append(np.linspace(1.0, 98.0, 19), 99.0),
        np.append(np.geomspace(1.0, 9000.0, 19), 9999.0),
        np.full(20, 99),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_number_that_may_be_a_value_is_one(some, values):
    values = np.where(values == -59, -99, values)
    np.testing.assert_array_equal(join(some, Table({"name": some.names, "X": values})).table["X"], values)


@pytest.mark.parametrize("unit", ["rad", "hourangle"])
def test_places_in_radians_or_hours_without_a_unit_are_refused(dr4, unit):
    """But not those that have a unit, nor those of a small field."""
    some = dr4[::100]
    table = some.table["RAJ2000", "DEJ2000"]
    table["X"] = np.arange(float(len(some)))
    expected = join(some, table).table["X"]
    of_dec = "rad" if unit == "rad" else "deg"
    plain = {"ra": table["RAJ2000"].quantity.to(unit), "dec": table["DEJ2000"].quantity.to(of_dec), "X": table["X"]}
    found = join(some, Table(plain)).table["X"]
    assert np.mean(found == expected) > 0.9
    with pytest.raises(CatalogError, match="look like " + {"rad": "radians", "hourangle": "hours"}[unit]):
        join(some, Table({name: np.asarray(data) for name, data in plain.items()}))


def test_names_that_belong_to_other_places_are_told(some):
    table = Table(some.table["Source_Name", "RAJ2000", "DEJ2000"], copy=True)
    table["X"] = np.arange(20.0)
    join(some, table)
    table["Source_Name"] = np.roll(table["Source_Name"], 1)
    with pytest.warns(CatalogWarning, match="match by name are more than a degree"):
        join(some, table)


def test_errors_of_text_are_numbers_or_refused(some):
    """An error bar that is left out would be taken for none."""
    table = Table({"name": some.names[:2], "X": [1.0, 2.0], "X_err": ["0.5", "--"]})
    np.testing.assert_array_equal(join(some, table).table["Unc_X"][:2], [0.5, np.nan])
    table["X_err"] = ["10%", "5%"]
    with pytest.raises(CatalogError, match=r"column X_err does not hold numbers .*'10%'"):
        join(some, table)
