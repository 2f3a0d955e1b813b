"""Sources that are in no catalogue: names, units, formulas of what is derived, and what is implausible."""

import re
import warnings

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from astropy.io import fits
from astropy.table import Table

from fermiclass import extract_features, read_catalog, read_sources, write_table
from fermiclass.catalog import CatalogWarning
from fermiclass.catalog.plausibility import EXPECTED
from fermiclass.errors import CatalogError
from fermiclass.features import known_features
from fermiclass.features.inputs import Band
from fermiclass.io.plain import EMPTY
from tests.conftest import slim_path

ROW = {
    "name": "mine", "ra": 83.6, "dec": 22.0, "TS": 64.0, "flux1000": 1e-9, "flux1000_err": 1e-10,
    "alpha": 2.2, "alpha_err": 0.1, "beta": 0.1, "beta_err": 0.05, "Eb": 1000.0, "pivot_energy": 1000.0,
}  # fmt: skip


def value(catalog, name, row=0):
    return np.asarray(catalog.table[name])[row]


def test_a_row_has_what_it_says_and_nothing_else():
    catalog = read_sources(ROW)
    assert catalog.names.tolist() == ["mine"]
    assert catalog.classes.tolist() == [""]
    assert not catalog.in_doubt.any()
    expected = {"Signif_Avg": 8.0, "Flux1000": 1e-9, "Unc_Flux1000": 1e-10, "LP_Index": 2.2, "LP_SigCurv": 2.0}
    for name, number in expected.items():
        assert value(catalog, name) == pytest.approx(number), name
    assert value(catalog, "GLAT") == pytest.approx(-5.8, abs=0.1)
    assert "Variability_Index" not in catalog.table.colnames


def test_names_of_ones_own():
    row = {"id": "x", "F": 1e-9, "f": 1.0, "dF": 1e-10, "index": 2.0, "odd": 1.0}
    catalog = read_sources(row, {"Source_Name": "id", "Flux1000": "F", "unc_flux1000": "dF"})
    assert (value(catalog, "Flux1000"), value(catalog, "Unc_Flux1000")) == (1e-9, 1e-10)
    assert value(catalog, "PL_Index") == 2.0
    assert "odd" in catalog.notes[-1]
    odd = {"Flux1000": "flux, 1-100 GeV", "Unc_Flux1000": "a=b"}
    assert read_sources({"flux, 1-100 GeV": 1e-9, "a=b": 1e-10}, odd).origin.columns == odd
    with pytest.raises(CatalogError, match="no column G"):
        read_sources(row, {"Flux1000": "G"})
    with pytest.raises(CatalogError, match="no column that tells a spectrum"):
        read_sources({"name": "x", "colour": 1.0})


def columns_of(catalog):
    """Columns of numbers that the catalogue has, but for those of one's own."""
    known = [name for name in catalog.table.colnames if name in EXPECTED or name.removeprefix("Unc_") in EXPECTED]
    return {name: np.asarray(catalog.table[name]) for name in known}


def assert_same(found, expected):
    """Both have the same columns of the catalogue."""
    found, expected = columns_of(found), columns_of(expected)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, err_msg=name)


GAP = np.nan
PLACE = {"ra": [83.63, 300.0, 1.0], "dec": [22.0, -0.5, 1.0]}
ON_SKY = SkyCoord(PLACE["ra"] * u.deg, PLACE["dec"] * u.deg)
GALACTIC = {"glon": ON_SKY.galactic.l.deg, "glat": ON_SKY.galactic.b.deg}
PLAIN = {"TS": 64.0, "PL_Index": 2.2}
THREE = PLAIN | {"TS": [64.0] * 3}
SHAPE = {"LP_Index": 2.2, "Unc_LP_Index": 0.1, "LP_beta": 0.3, "Unc_LP_beta": 0.06, "Pivot_Energy": 1e3}
CURVED = {"TS": 64.0} | SHAPE
FLUX = {"TS": 64.0, "Flux1000": 1e-9, "Unc_Flux1000": 1e-10}
ENERGY = ROW | {"Energy_Flux100": 1e-11, "Unc_Energy_Flux100": 1e-12, "Energy_Flux100_UL": 3e-11}
BANDS = {f"Flux_Band_{k}": 10.0 ** (-8 - 0.5 * k) for k in range(1, 9)}
LOWER = {name.lower(): flux for name, flux in BANDS.items()}
ERRORS = {f"Unc_{name}": 0.2 * flux for name, flux in BANDS.items()}
IN_BANDS = ROW | {"Flux_Band": np.array([*BANDS.values()]), "Unc_Flux_Band": np.array([*ERRORS.values()])}
OWN = {f"x{k}": flux for k, flux in enumerate((*BANDS.values(), *ERRORS.values()))}
KINDS = ["PLSuperExpCutoff", "PowerLaw", "LogParabola ", "powerlaw", ""]
OF_KIND = {"PL_Index": [GAP, 2.5, GAP, 4.5, GAP], "LP_Index": [GAP, GAP, 3.5, GAP, GAP]}
OF_KIND |= {f"Unc_{name}": np.where(np.isnan(x), GAP, 0.1) for name, x in OF_KIND.items()}
PARAMETERS = Table(
    {"ts": [64.0, 64.0], "SpectrumType": ["LogParabola", "PowerLaw"], "pivot_energy": [1000.0, 1000.0]}
    | {"param_values": [[1e-12, 2.3, 0.2, 1000.0], [1e-12, -2.1, 1000.0, GAP]]}
    | {"param_errors": [[1e-13, 0.1, 0.05, GAP], [1e-13, 0.2, GAP, GAP]]}
)
ROWS = [
    ROW | {"name": name, "flux1000": flux, "Flux_Band": np.full(8, flux), "Unc_Flux_Band": np.full(8, 0.1 * flux)}
    for name, flux in (("a", 1e-9), ("b", 2e-9))
]
TABLE = Table(ROWS)
FRAME = read_sources(TABLE).to_pandas()


def in_bands(there):
    """Sources with some bands: the others empty, without a column, with a limit; and the same as the catalogue's."""
    some = {name: flux for name, flux in (BANDS | ERRORS).items() if int(name[-1]) in there}
    rest = [k for k in range(1, 9) if k not in there]
    lost = np.isin(range(1, 9), rest)
    known = {name: np.where(lost, GAP, IN_BANDS[name]) for name in ("Flux_Band", "Unc_Flux_Band")}
    yield ROW | dict.fromkeys(BANDS | ERRORS, "") | {name: str(x) for name, x in some.items()}, ROW | known
    yield ROW | some, ROW | known
    limits = {"Flux_Band": 0.5e-9, "Unc_Flux_Band": 1e-9 / np.sqrt(12), "Flux_Band_UL": 1e-9}
    measured = {name: np.where(lost, x, known.get(name, GAP)) for name, x in limits.items()}
    yield ROW | some | {f"flux_band_ul_{k}": 1e-9 for k in rest}, ROW | measured


#: Sources in two forms, and the user's names of columns, if there are some.
SAME = [
    # objects
    (TABLE, ROWS),
    (FRAME, ROWS),
    (FRAME.set_index("Source_Name").rename_axis(None), ROWS),
    (FRAME.set_index(["Source_Name", "RAJ2000"]), ROWS),
    ({name: TABLE[name].data for name in TABLE.colnames}, ROWS),
    ({name: TABLE[name].data.reshape(2, -1) for name in TABLE.colnames}, ROWS),
    ({"sources": dict(zip("ab", ROWS, strict=True))}, ROWS),
    ([ROWS[0] | {"covar": np.eye(2)}, ROWS[1] | {"covar": [[1], [2, 3]]}], ROWS),
    ([ROW | {"CLASS1": "--", "beta_err": np.ma.masked}, ROW], [ROW | {"beta_err": None}, ROW]),
    ([PLAIN, CURVED], Table([PLAIN | dict.fromkeys([*CURVED][1:], GAP), CURVED | {"PL_Index": GAP}])),
    (
        [PLAIN | {"pivot": 2 * u.GeV}, PLAIN | {"pivot": 3e3 * u.MeV}],
        PLAIN | {"pivot_energy": [2e3, 3e3]},
        {"Pivot_Energy": "pivot"},
    ),
    (PLAIN | {"pivot_energy": [1 * u.GeV, 2 * u.GeV]}, PLAIN | {"Pivot_Energy": [1e3, 2e3]}),
    (ROW | {"FLUX1000": 5e-9, "Flux1000": 2e-9}, ROW | {"flux1000": 2e-9}),
    # names that mean several things, confirmed by an error, values or a unit, or beside a log-parabola
    ({"index": [2.0, 3.0], "index_err": [0.1] * 2}, {"PL_Index": [2.0, 3.0], "Unc_PL_Index": [0.1] * 2}),
    ({"index": [0, 1], "photon_index": [2, 3]}, {"PL_Index": [2.0, 3.0]}),
    ({"gamma": ["2.31", "1.9"]}, {"PL_Index": [2.31, 1.9]}),
    ({"gamma": [2.31, -999.0]}, {"PL_Index": [2.31, GAP]}),
    *(
        (CURVED | {name: energies}, CURVED | {"reference_energy": [2e3, 3e3]})
        for name, energies in {"E0": [2e3, 3e3], "scale": [2, 3] * u.GeV, "e_ref": [2e6, 3e6] * u.keV}.items()
    ),
    # places
    *(
        (THREE | place, THREE | PLACE)
        for place in (
            {"ra": [" 83.63", "300.0 ", "   1e0"], "dec": ["22", " −0.5", "+1.0  "]},
            {"ra": [83.63, -60.0, 1.0], "dec": PLACE["dec"]},
            {"ra": ["83.63", "-60.0", "−359"], "dec": PLACE["dec"]},
            {"ra": ["5:34:31.2", "20 00 00", " 00:04:00 "], "dec": ["+22:00:00", "-00 30 00", "1:0:0"]},
            {"ra": ["5h34m31.2s", "20h00m00s", "0h4m"], "dec": ["+22d00m00s", "-0d30m00s", "1°"]},
            {"ra": ["83d37m48s", "300d", "1.0d"], "dec": ["22", "-0.5", "1"]},
            {"GLON": GALACTIC["glon"] - 360.0, "GLAT": GALACTIC["glat"].astype(str)},
            {"Position": ON_SKY},
            {"coord": list(ON_SKY.galactic)},
            {"skycoord": list(ON_SKY.fk5)},
            PLACE | {"position": list(ON_SKY)[::-1]},
            {x: [*y[:2], GAP] for x, y in PLACE.items()} | {x: [GAP, *y[1:]] for x, y in GALACTIC.items()},
        )
    ),
    (
        [PLAIN | {x: y[0] for x, y in PLACE.items()}, PLAIN | {x: y[1] for x, y in GALACTIC.items()}],
        PLAIN | {x: y[:2] for x, y in PLACE.items()},
    ),
    *(
        (PLAIN | {"ra": ["1", mark], "dec": ["2", mark]}, PLAIN | {"ra": [1, GAP], "dec": [2, GAP]})
        for mark in ("NA", "null", "-", "*", "None")
    ),
    # errors, limits, and units
    *(
        ({"TS": 64.0, "Flux1000": 1e-9} | dict([(first, 1e-10), (second, 3e-9)][::order]), FLUX)
        for first, second in (("Unc_Flux1000", "Flux1000_err"), ("FLUX1000_ERROR", "D_Flux1000"))
        for order in (1, -1)
    ),
    (
        PLAIN | {"Flux1000_UL": 1e-10, "flux1000": GAP, "flux1000_ul95": 1e-8},
        PLAIN | {"Flux1000_UL": 1e-10, "flux1000": GAP},
    ),
    *(
        (ROW | {name: 1e-14 * u.Unit("W m-2"), f"{name}_err": 1e-15, limit: 3e-14}, ENERGY)
        for name, limit in (("Energy_Flux100", "energy_flux100_ul"), ("eflux100", "eflux100_ul95"))
    ),
    (ROW | {"pivot_energy": 2.0 * u.GeV, "Eb": 2.0 * u.GeV}, ROW | {"pivot_energy": 2e3, "Eb": 2e3}),
    (ROW | {"eflux100": 1e-11 * u.erg.to("MeV")}, ROW | {"Energy_Flux100": 1e-11}),  # fermipy's is in MeV
    *(
        (
            {"TS": 64.0, "flux1000_err": 0.1}
            | {form.format("RA", "J2000"): 83.6, form.format("dec", "rad"): np.radians(22.0)}
            | {form.format("flux1000", "1e-9 ph cm-2 s-1"): 1.0, form.format("alpha", "J2000"): 83.6},
            FLUX | {"ra": 83.6, "dec": 22.0},
        )
        for form in ("{} ({})", "{} [{}]", "{}({}) ")
    ),
    ({"TS": 64.0, "flux1000 (cm)": 1e-9}, {"TS": 64.0, "Flux1000": 1e-9}, {"Flux1000": "flux1000 (cm)"}),
    # an index, by the kind of the spectrum
    *(
        (
            more | {"TS": 64.0, "SpectrumType": KINDS, name: [1.5, 2.5, 3.5, 4.5, 5.5], f"Unc_{name}": 0.1},
            more | {"TS": 64.0} | OF_KIND,
        )
        for name in ("Spectral_Index", "photon_index", "index")
        for more in ({}, {"beta": 0.1, "beta_err": 0.05})
    ),
    (
        {"TS": 64.0, "SpectrumType": KINDS, "index": 3.5, "Unc_index": 0.1, "PowerLaw_Index": 2.2},
        {"TS": 64.0, "PL_Index": [2.2] * 5} | {name: OF_KIND[name] for name in ("LP_Index", "Unc_LP_Index")},
    ),
    *(
        (
            {"LP_beta": 0.35, "Unc_LP_beta": 0.06, name: 2.36, f"{name}_err": 0.1},
            {"LP_beta": 0.35, "Unc_LP_beta": 0.06, f"{kind}_Index": 2.36, f"Unc_{kind}_Index": 0.1},
            {"PL_Index": name, "Unc_PL_Index": f"{name}_err"} if said else {},
        )
        for name, kind, said in (
            ("PL_Index", "PL", False),
            ("powerlaw_index", "PL", False),
            ("slope", "PL", True),
            ("index", "PL", True),
            ("photon_index", "LP", False),
            ("gamma", "LP", False),
        )
    ),
    (ROW | {"SpectrumType": "PowerLaw", "s": 0.1}, ROW | {"Unc_PL_Index": 0.1}, {"Unc_PL_Index": "s"}),
    (
        PARAMETERS,
        {"TS": 64.0, "pivot_energy": 1e3, "PL_Index": [GAP, 2.1], "Unc_PL_Index": [GAP, 0.2]}
        | {"LP_Index": [2.3, GAP], "Unc_LP_Index": [0.1, GAP], "LP_beta": [0.2, GAP], "Unc_LP_beta": [0.05, GAP]},
    ),
    # tests in place of significances; that of curvature may follow from the curvature
    (CURVED | {"delta_ts": 9.0}, CURVED | {"LP_SigCurv": 3.0}),
    *(
        (SHAPE | {name: given, test: [50.0, 49.0, GAP, GAP]}, SHAPE | {ours: [8.0, 7.0, 9.0, last]})
        for name, ours, test, given, last in (
            ("sqrt_ts", "Signif_Avg", "test_statistic", ["8", "", "9", "nan"], GAP),
            ("LP_SigCurv", "LP_SigCurv", "ts_curv", [8.0, GAP, 9.0, GAP], 5.0),
            ("sigcurv", "LP_SigCurv", "delta_TS", [8.0, -9.0, 9.0, GAP], 5.0),
        )
    ),
    # bands
    *(
        (ROW | LOWER | {form.format(k): ERRORS[f"Unc_Flux_Band_{k}"] for k in range(1, 9)}, IN_BANDS)
        for form in ("unc_Flux_Band_{}", "flux_band_{}_err", "FLUX_BAND_ERR_{}", "e_Flux_Band_{}")
    ),
    (ROW | OWN, IN_BANDS, dict(zip((*BANDS, *(name.lower() for name in ERRORS)), OWN, strict=True))),
    *(pair for there in ({2, 3, 4, 5, 6, 7}, {1, 2, 3, 4, 5}, {3}, {1, 2, 3, 4, 5, 8}) for pair in in_bands(there)),
]


@pytest.mark.parametrize("case", SAME)
@pytest.mark.filterwarnings("ignore::fermiclass.catalog.CatalogWarning")
def test_the_same_sources_in_two_forms(case):
    given, plain, *columns = case
    found, expected = read_sources(given, *columns), read_sources(plain)
    assert found.in_doubt.tolist() == expected.in_doubt.tolist()
    if plain is ROWS:
        assert found.names.tolist() == ["a", "b"]
    assert_same(found, expected)


@pytest.mark.parametrize("ending", [".csv", ".ecsv", ".vot", ".parquet", ".fits"])
def test_files_of_every_format(ending, tmp_path):
    """In any HDU and any case, and with any minus."""
    table = Table([{name.upper(): entry for name, entry in ROW.items()}] * 2)
    if ending == ".csv":
        table = Table([{name: str(entry).replace("-", "−") for name, entry in ROW.items()}] * 2)
    write_table(table, tmp_path / f"mine{ending}")
    if ending == ".fits":
        other = fits.BinTableHDU.from_columns([fits.Column("ENERGY", "D", array=[1.0])])
        hdus = fits.HDUList([fits.PrimaryHDU(), other, fits.table_to_hdu(table)])
        hdus.writeto(tmp_path / "mine.fits", overwrite=True)
    assert_same(read_sources(tmp_path / f"mine{ending}"), read_sources([ROW] * 2))


@pytest.mark.parametrize(
    "odd",
    [None, [ROW, 1.0], TABLE[0], [*TABLE], TABLE.as_array(), FRAME.iloc[0], FRAME.itertuples(), {"a": ROW, "b": ROW}],
)
def test_objects_that_are_no_sources_are_refused(odd):
    with pytest.raises(CatalogError, match=r"a source is a .*, expected a file, a table"):
        read_sources(odd)


def test_sources_that_do_not_fit_together_are_refused():
    for other, message in (
        ({"Flux1000": 1e-9}, "Flux1000 and flux1000 for the same quantity"),
        ({"pivot_energy": 2 * u.GeV}, "units of pivot_energy do not fit each other"),
    ):
        with pytest.raises(CatalogError, match=message):
            read_sources([ROW, {"TS": 64.0} | other])
    with pytest.raises(CatalogError, match="different lengths"):
        read_sources({"name": ["a", "b"], "PL_Index": [2.0]})
    with pytest.raises(CatalogError, match="bands count from 1"):
        read_sources(ROW | {f"flux_band_{k}": 1e-9 for k in range(8)})


@pytest.mark.parametrize(
    "other",
    [
        {"index": [0, 1, 2]},
        {"index": [7.0, 3.0, 5.0]},
        {"INDEX": ["0", "1", "2"]},
        {"Gamma": [9.3, 8.4, 4.0]},
        {"gamma": [10.0, 12.0, 30.0], "gamma_err": [1.0, 2.0, 3.0]},
        {"gamma": [2.2, 2.3, 2.4] * u.deg},
        {"scale": [1.0, 1.0, 1.0], "scale_err": [0.1, 0.1, 0.1]},
        {"Eb": [0.1, 0.3, 0.2]},
        {"reference": ["Ajello+2020", "", "this work"]},
        {"reference": [2009, 2020, 2023]},
        {"gamma": ["low", "high", "high"], "e0": [GAP] * 3},
    ],
)
@pytest.mark.filterwarnings("ignore:.*PL_Index is 0")
def test_what_may_be_something_else_is_not_known(other):
    """Numbers of rows, a factor, a colour excess or a paper change nothing, and are named."""
    catalog = read_sources(CURVED | {"TS": [64.0] * 3} | other)
    assert_same(catalog, read_sources(CURVED | {"TS": [64.0] * 3}))
    assert all(name in catalog.notes[-1] for name in other)
    name = next(iter(other))
    if name in ("Gamma", "index"):  # one says what it is
        assert "PL_Index" in read_sources(other, {"PL_Index": name}).table.colnames


def test_units_are_converted_and_missing_ones_stated():
    with pytest.warns(CatalogWarning, match="converted"):
        catalog = read_sources(ROW | {"pivot_energy": 2.0 * u.GeV})
    assert any("flux1000, taken as ph cm-2 s-1" in note for note in catalog.notes)
    table = Table({"ra": ["5.5", "1"], "dec": ["1", "2"], "PL_Index": [2.2] * 2, "r95": ["6", "3"]})
    table["ra"].unit, table["r95"].unit = "hourangle", "arcmin"
    with pytest.warns(CatalogWarning, match="converted to deg"):
        found = read_sources(table).table
    np.testing.assert_allclose([found["RAJ2000"], found["Conf_95_SemiMajor"]], [[82.5, 15.0], [0.1, 0.05]])


@pytest.mark.parametrize(
    ("name", "entry"), [("TS", -8888.0), ("delta_TS", -8888.0), ("reference_energy", 1e-3), ("cov_alpha_beta", 1e4)]
)
def test_implausible_quantities_are_not_known(name, entry):
    rows = [ROW | {"pivot_energy": 2000.0, name: GAP}] * 2
    with pytest.warns(CatalogWarning, match=f"{name}.* implausible"):
        catalog = read_sources([rows[0] | {name: entry}, rows[1]])
    assert catalog.in_doubt.tolist() == [True, False]
    assert_same(catalog, read_sources(rows))


@pytest.mark.parametrize(
    "ra", [["83.63", "05:34:32"], ["5h34m32s", " 83.63 "], ["83,63", "83,7"], ["25:00:00", "1:0:0"]]
)
def test_positions_that_are_no_angles_are_refused(ra):
    with pytest.raises(CatalogError, match=r"column ra does not hold"):
        read_sources([ROW | {"ra": each} for each in ra])


@pytest.mark.parametrize("name", ["Eb", "TS", "delta_ts", "cov_alpha_beta"])
def test_the_unit_of_a_time_is_refused(name):
    with pytest.raises(CatalogError, match="is in s, expected"):
        read_sources(ROW | {name: ROW.get(name, 0.1) * u.s})


@pytest.mark.parametrize("mark", [0.0, -1.0, -9.0, -999.0, 9999.0, 1e20, -1e30])
@pytest.mark.parametrize(
    "name", ["Signif_Avg", "flux1000", "flux1000_err", "energy_flux100", "alpha", "photon_index", "pivot_energy"]
)
def test_a_number_that_stands_for_none_is_a_blank(name, mark, rng):
    """It is told once, and no source is in doubt. Where half of a table has it, the others stay."""
    scale = {"Signif_Avg": 8.0, "energy_flux100": 1e-11, "photon_index": 2.2, **ROW}[name]
    for size in (1, 30) if mark <= 0 else (30,):
        rows = [ROW | {"name": f"{k}", "TS": np.nan, name: scale * rng.uniform(0.9, 1.1)} for k in range(size)]
        marked, blank = ([row | {name: each} for row in rows[::2]] + rows[1::2] for each in (mark, np.nan))
        with pytest.warns(CatalogWarning, match="for missing values") as told:
            found = read_sources(marked)
        assert len(told) == 1
        assert_same(found, read_sources(blank))
        assert not found.in_doubt.any()


@pytest.mark.parametrize(("name", "entry"), [("beta", -0.9), ("ra", 99.0), ("dec", -9.0), ("TS", 99.0), ("TS", 999.0)])
def test_a_number_that_may_be_a_value_is_one(name, entry):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read_sources([ROW | {"GLON": np.nan, name: entry}, ROW])
    of = {"ra": "RAJ2000", "dec": "DEJ2000", "beta": "LP_beta"}.get(name, name)
    assert value(found, "Signif_Avg" if of == "TS" else of) == pytest.approx(np.sqrt(entry) if of == "TS" else entry)


@pytest.mark.parametrize("name", ["gamma", "index"])
def test_an_index_with_the_sign_of_the_fermitools_is_told(name):
    with pytest.warns(CatalogWarning, match="PL_Index is implausible"):
        assert read_sources({"TS": 64.0, name: -2.2, f"{name}_err": 0.1}).in_doubt.all()


def test_the_index_moves_to_the_pivot_energy_with_its_covariance(rng):
    """α(E) = −d ln N / d ln E, of draws of α and β."""
    covariance = np.array([[0.01, 0.003], [0.003, 0.0025]])
    alpha, beta = rng.multivariate_normal([2.2, 0.1], covariance, size=200_000).T
    moved = alpha + 2 * beta * np.log(3.0)
    catalog = read_sources(ROW | {"pivot_energy": 3000.0, "cov_alpha_beta": 0.003})
    assert value(catalog, "LP_Index") == pytest.approx(moved.mean(), abs=1e-3)
    assert value(catalog, "Unc_LP_Index") == pytest.approx(moved.std(), rel=0.01)
    unknown = read_sources(ROW | {"pivot_energy": 3000.0})  # the largest error of any covariance
    assert value(unknown, "Unc_LP_Index") == pytest.approx(0.1 + 2 * np.log(3.0) * 0.05)


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.mark.parametrize("name", ["class", "CLASS1"])
def test_a_word_that_is_no_class_is_none(name):
    """All rows but those with a class are labelled; which words were left out is said."""
    words = ["", "unid", "UNASSOCIATED", "?", "None", "new", "bll?", "bcu", "PSR", " unk "]
    catalog = read_sources([ROW | {name: word} for word in words])
    assert catalog.classes.tolist() == [""] * 7 + ["bcu", "psr", "unk"]
    assert catalog.is_target(catalog.grouping("default")).tolist() == [True] * 8 + [False, True]
    assert "no class code for 5 sources, which have no class: ?, UNASSOCIATED, bll?" in catalog.notes[-1]
    numbers = read_sources(Table([ROW | {name: k} for k in range(2)]))
    assert numbers.classes.tolist() == ["", ""]


def test_implausible_values_are_not_known():
    """A flux in units of 1e-9, and an index with the sign of the Fermitools."""
    with pytest.warns(CatalogWarning, match="implausible"):
        catalog = read_sources([ROW | {"flux1000": 1.2}, ROW, ROW | {"alpha": -2.2}])
    assert catalog.in_doubt.tolist() == [True, False, True]
    np.testing.assert_allclose(catalog.table["Flux1000"], [np.nan, 1e-9, 1e-9])
    np.testing.assert_allclose(catalog.table["LP_Index"], [2.2, 2.2, np.nan])


def test_a_column_in_another_unit_is_not_known():
    """GeV without a unit: single values may be right, the median cannot."""
    table = Table({name: [entry] * 30 for name, entry in ROW.items()})
    table["pivot_energy"] = np.linspace(1.0, 40.0, 30)
    with pytest.warns(CatalogWarning, match="Pivot_Energy is implausible for 30 sources"):
        assert read_sources(table).in_doubt.all()


def test_catalogues_have_no_implausible_source(slim_catalog):
    """All values of the LAT's lists pass, but those of fits that failed."""
    columns = ("Source_Name", "Flux1000", "Pivot_Energy", "LP_Index", "LP_beta", "PL_Index", "GLAT")
    table = slim_catalog.table[[name for name in columns if name in slim_catalog.table.colnames]]
    table.meta.clear()
    assert not read_sources(table).in_doubt.any()


def test_what_sources_lack(dr4):
    names, left_out = known_features("galactic", dr4, read_sources(ROW))
    assert names.split(",")[0] == "ln_Flux1000"
    assert {"HR_12", "ln_Variability_Index", "PL_Index"} <= set(left_out)
    table = extract_features(read_sources(ROW), names)
    assert not table.imputed_value.any()


def test_a_model_of_gammapy():
    models = pytest.importorskip("gammapy.modeling.models", reason="gammapy is not installed")
    spectrum = models.LogParabolaSpectralModel(amplitude="1e-12 cm-2 s-1 MeV-1", reference="1 GeV", alpha=2.2, beta=0.1)
    spectrum.covariance = np.diag([1e-13, 0.0, 0.1, 0.05]) ** 2
    place = models.PointSpatialModel(lon_0="83.6 deg", lat_0="22 deg", frame="icrs")
    model = models.SkyModel(spectral_model=spectrum, spatial_model=place, name="mine")
    catalog = read_sources({"model": model, "TS": 64.0})
    assert value(catalog, "Signif_Avg") == 8.0
    assert value(catalog, "LP_Index") == pytest.approx(2.2, abs=0.01)  # the pivot energy is near
    energies = np.geomspace(1e3, 1e5, 100_001)
    x = np.log(energies / 1e3)
    flux = np.trapezoid(1e-12 * np.exp(-(2.2 + 0.1 * x) * x), energies)
    assert value(catalog, "Flux1000") == pytest.approx(flux, rel=1e-3)
    assert 0.05 < value(catalog, "Unc_Flux1000") / flux < 0.3
    assert read_sources([model, model]).names.tolist() == ["mine", "mine"]
    spectrum.covariance = np.zeros((4, 4))  # a model that was not fitted has no errors, and is not in doubt for it
    unfitted = read_sources(model)
    assert np.isnan([value(unfitted, "Unc_Flux1000"), value(unfitted, "Unc_LP_beta")]).all()
    assert not unfitted.in_doubt.any()
    assert_same(read_sources({"model": spectrum, "name": "mine", "ra": 83.6, "dec": 22.0}), unfitted)


def test_the_index_of_a_cut_off_is_none_of_a_power_law():
    models = pytest.importorskip("gammapy.modeling.models", reason="gammapy is not installed")
    cut = models.SkyModel(models.ExpCutoffPowerLawSpectralModel(index=1.3, lambda_="0.5 GeV-1"))
    straight = models.SkyModel(models.PowerLawSpectralModel(index=2.2))
    table = read_sources([cut, straight]).table
    np.testing.assert_array_equal(table["PL_Index"], [np.nan, 2.2])
    assert np.isnan(table["LP_Index"]).all()
    background = models.FoVBackgroundModel(dataset_name="d")
    with pytest.raises(CatalogError, match="Leave this model out"):
        read_sources([straight, background])


def test_upper_limits_in_place_of_values():
    """A flux that is a limit is one-sided; a band is anything from 0 to its limit, as in the catalogue."""
    one = ROW | {"flux1000": np.nan, "flux1000_err": np.nan, "flux1000_ul95": 3e-10 * u.Unit("ph cm-2 s-1")}
    one |= {"eflux100": np.nan, "eflux100_ul": 1e-6}
    with pytest.warns(CatalogWarning, match="converted"):
        catalog = read_sources([one, one | {"flux1000": 1e-9}])
    table = extract_features(catalog, "ln_Flux1000,ln_Energy_Flux100", unknown=True)
    np.testing.assert_allclose(table.upper[0], np.log([3e-10, 1e-6 * u.MeV.to("erg")]))
    assert np.isinf(table.upper[1, 0])
    own = ROW | {"FLUX1000": np.nan, "Flux1000_UL": 2e-10}
    own.pop("flux1000")
    assert extract_features(read_sources(own), "ln_Flux1000").upper[0, 0] == np.log(2e-10)


@pytest.mark.parametrize("limit", [0.0, -1.0])
def test_limits_of_bands_beside_values_do_not_count(limit):
    catalog = read_sources(IN_BANDS | {"Flux_Band_UL": np.full(8, limit)})
    assert not catalog.in_doubt.any()
    np.testing.assert_array_equal(catalog.table["Flux_Band"], [IN_BANDS["Flux_Band"]])


@pytest.mark.parametrize("limit", [0.0, -1.0, 1e3])
@pytest.mark.parametrize("name", ["flux1000_ul", "Flux1000_UL", "energy_flux100_ul95"])
def test_a_limit_beside_a_value_does_not_count(name, limit):
    """Nor in a long table; in place of a value it is implausible, or stands for none."""
    row = ROW | {"energy_flux100": 1e-11}
    catalog = read_sources([row | {name: limit}] * 30)
    assert not catalog.in_doubt.any()
    features = "ln_Flux1000,ln_Energy_Flux100"
    found, expected = (extract_features(each, features) for each in (catalog, read_sources([row] * 30)))
    np.testing.assert_array_equal(found.X, expected.X)
    np.testing.assert_array_equal(found.upper, expected.upper)
    with pytest.warns(CatalogWarning, match="implausible|for missing values"):
        alone = read_sources(row | {name: limit, name.rpartition("_")[0].lower(): np.nan})
    assert alone.in_doubt.all() == (limit > 0.0)


def test_lists_above_10_gev_are_refused(tmp_path):
    row = {"Signif_Avg": 6.2, "Spectral_Index": 2.9, "Flux": 5e-11}
    hard = [{"Source_Name": "1FHL J0102.3+0405"}, {"name": "3fhlJ0102.3+0405"}, {"name": "x", "Flux10_30GeV": 4e-11}]
    hard += [{"name": name} for name in ("1LHAASO J0534+2200u", "3HWC J0534+220", "HESS J1825-137", "TeV J0534+220")]
    for more in (*hard, {"name": "x", "hep_energy": 40.0}):
        with pytest.raises(CatalogError, match="ASSOC_FHL"):
            read_sources(row | more)
    fitted = row | {"Source_Name": "3FHL J0102.3+0405", "flux": 1e-9}  # from 1 GeV
    with pytest.raises(CatalogError, match="--columns Flux1000=flux"):
        read_sources(fitted)
    assert len(read_sources(fitted | {"Flux1000": 1e-9})) == len(read_sources(fitted, {"Flux1000": "flux"})) == 1
    for header in ({}, {"CDS-NAME": "3FHL", "VERSION": "v13"}):
        table = Table([row | {"Source_Name": "3FHL J0001.2-0748", "HEP_Energy": 40.0}], meta=header)
        table.write(tmp_path / "hard.fits", overwrite=True)
        for read, source in ((read_sources, tmp_path / "hard.fits"), (read_sources, table), (read_catalog, table)):
            with pytest.raises(CatalogError, match=r"HEP_Energy.*ASSOC_FHL"):
                read(source)


def test_bands_with_one_error_and_limits(tmp_path):
    flux, limit = np.full(8, 1e-10), np.full(8, np.nan)
    flux[2], limit[2] = np.nan, 4e-10
    columns = {"Flux_Band": flux, "Unc_Flux_Band": 0.1 * flux, "Flux_Band_UL": limit}
    table = Table([ROW | {f"{name}_{k + 1}": x for name, data in columns.items() for k, x in enumerate(data)}])
    table.write(tmp_path / "mine.csv")
    for source in (tmp_path / "mine.csv", ROW | columns):
        reading = Band(3e2).read(read_sources(source))
        weight = 300 * 1000 / 700
        np.testing.assert_allclose([reading.value[0], reading.sigma[0]], weight * 4e-10 * np.array([0.5, 12**-0.5]))
        np.testing.assert_allclose(Band(1e2).read(read_sources(source)).sigma, 1e-11 * 150)
    with pytest.raises(CatalogError, match="5 bands"):  # those of 3FGL, or of 3FHL
        read_sources(ROW | {name: data[:5] for name, data in columns.items()})


def test_a_name_that_is_no_column_is_refused_with_the_nearest():
    for side, near in (("Foo", "Known are"), ("Flux100", "Near it are Flux1000"), ("LP_Idx", "LP_Index")):
        with pytest.raises(CatalogError, match=f"{side} is no column of the catalogue.*{near}"):
            read_sources(ROW | {"x": 1.0}, {side: "x"})
    with pytest.raises(CatalogError, match="Signif_Avg a second time"):
        read_sources(ROW | {"x": 1.0, "y": 1.0}, {"sqrt_ts": "x", "significance": "y"})
    with pytest.warns(CatalogWarning, match="converted"):
        found, plain = (
            read_sources(ROW | {x: 6.24e-6, f"{x}_err": 1e-6}, columns)
            for x, columns in (("x", {"eflux100": "x"}), ("eflux100", {}))
        )
    assert_same(found, plain)


@pytest.mark.parametrize(
    ("more", "columns"),
    [({"b": 1e-9}, {"Flux_Band_3": "b"}), ({"t": 64.0, "Signif_Avg": 8.0}, {"TS": "t"}), ({"r": 1000.0}, {"Eb": "r"})],
)
def test_what_is_said_and_not_used_is_a_warning(more, columns):
    row = {"PL_Index": 2.2, **more}
    with pytest.warns(CatalogWarning, match="not used"):
        read_sources(row, columns)


@pytest.mark.parametrize("name", ["name", "ra", "TS", "alpha", "beta_err", "flux1000"])
def test_several_values_of_one_source_are_refused(name):
    with pytest.raises(CatalogError, match=f"several values for each source in {name}"):
        read_sources(Table({x: [[entry, entry]] if x == name else [entry] for x, entry in ROW.items()}))


def test_places_that_contradict_each_other_are_refused():
    right = ROW | {"name": "other", "glon": 184.6, "glat": -5.8}
    assert len(read_sources([right, ROW])) == 2
    with pytest.raises(CatalogError, match="such as mine, are more than a degree"):
        read_sources([right, ROW | {"glon": 184.6, "glat": 5.8}])


def test_a_release_without_its_classes_is_that_release(dr4):
    """Its header tells how many time bins its variability has; all its sources are to be labelled."""
    table = dr4.table[:20].copy()
    table.remove_columns(["CLASS1", "ASSOC1"])
    found = read_sources(table)
    assert found.release == dr4.release
    assert found.classes.tolist() == [""] * 20
    with pytest.raises(CatalogError, match="lacks columns: CLASS1"):
        read_catalog(table)


@pytest.mark.parametrize("release", ["3FGL", "4FGL-DR1", "4FGL-DR4"])
@pytest.mark.filterwarnings("ignore:.*no usable value")
def test_some_columns_of_a_release_are_of_this_release(release):
    """With its header the release is known, whatever columns are left; a column under another name is still refused."""
    whole = Table.read(slim_path(release), hdu=1)[:50]
    some = whole["Source_Name", "RAJ2000", "DEJ2000", "Signif_Avg", "Flux1000", "Unc_Flux1000"]
    found, expected = read_sources(some), read_catalog(whole)
    assert found.release == expected.release
    for name in ("GLAT", "Signif_Avg", "Flux1000", "Unc_Flux1000"):
        np.testing.assert_allclose(found.column(name), expected.column(name), rtol=1e-3)
    some.rename_column("RAJ2000", "ra")
    with pytest.raises(CatalogError, match="lacks columns: RAJ2000"):
        read_sources(some)


@pytest.mark.parametrize("word", EMPTY)
def test_a_word_for_nothing_is_neither_name_nor_class(word):
    catalog = read_sources([ROW, ROW | {"name": word, "class": word.upper()}])
    assert catalog.names.tolist() == ["mine", "row 2"]
    assert catalog.classes.tolist() == ["", ""]
    assert not any("no class code" in note for note in catalog.notes)


@pytest.mark.parametrize(
    ("columns", "right", "wrong"),
    [
        (("significance", "TS"), (8.0, 64.0), (64.0, 64.0)),
        (("LP_SigCurv", "delta_ts"), (5.0, 25.0), (25.0, 25.0)),
        (("Energy_Flux100", "flux1000"), (1e-11, 1e-9), (1e-11, 1.3e-8)),  # from 100 MeV on
        (("Energy_Flux100", "flux1000"), (1e-11, 1e-9), (6e-9, 1e-9)),  # in GeV
    ],
)
def test_columns_that_contradict_each_other_are_not_known(columns, right, wrong):
    """The row is in doubt, and an upper limit does not take the place of the value; small values may differ."""
    rows = [ROW | {"flux1000_ul": 1e-7} | dict(zip(columns, each, strict=True)) for each in (right, wrong)]
    with pytest.warns(CatalogWarning, match=r"contradict each other for 1 source, such as"):
        catalog = read_sources(rows)
    assert catalog.in_doubt.tolist() == [False, True]
    told = "Signif_Avg" if columns[0] == "significance" else columns[0]
    assert catalog.column(told)[0] == pytest.approx(right[0])
    assert catalog.column(told)[1] != pytest.approx(wrong[0])
    assert np.isfinite(catalog.column("Flux1000_UL")).tolist() == [True, "flux1000" not in columns]
    assert not read_sources(ROW | {"LP_SigCurv": 0.2, "delta_ts": 1.0}).in_doubt.any()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"Flux1000": "Unc_Flux1000", "Unc_Flux1000": "Flux1000"}, "Signif_Avg · Unc_Flux1000 / Flux1000"),
        ({"PL_Index": "Unc_PL_Index", "Unc_PL_Index": "PL_Index"}, "PL_Index is implausible|Unc_PL_Index / PL_Index"),
        ({"LP_Index": "LP_beta", "LP_beta": "LP_Index"}, "LP_Index is implausible"),
        ({"Flux1000": "Energy_Flux100"}, "contradict each other"),
        ({"Signif_Avg": lambda table: table["Signif_Avg"] ** 2}, "Signif_Avg · Unc_Flux1000 / Flux1000"),
        ({"Signif_Avg": lambda table: np.log10(table["Signif_Avg"])}, "Signif_Avg · Unc_Flux1000 / Flux1000"),
        ({"Signif_Avg": lambda table: np.sqrt(table["Signif_Avg"])}, "Signif_Avg · Unc_Flux1000 / Flux1000"),
    ],
)
def test_columns_that_are_others_are_told(dr4, changed, told):
    """As in every part of the catalogue they fit each other."""
    names = ("Signif_Avg", "Flux1000", "Energy_Flux100", "PL_Index", "LP_Index", "LP_beta", "LP_SigCurv")
    names += tuple(f"Unc_{name}" for name in names if f"Unc_{name}" in dr4.table.colnames)
    own = Table({f"{name}": np.asarray(dr4.table[name], float) for name in names})
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*do not fit")
        warnings.filterwarnings("ignore", message=".*(implausible|contradict)")
        for part in range(0, 600, 6) if "PL_Index" in changed else ():
            read_sources(own[part : part + 6])
    strange = own[::100].copy()
    for name, other in changed.items():
        strange[name] = other(strange) if callable(other) else own[other][::100]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_sources(strange)
    assert any(re.search(told, str(each.message)) for each in caught)


@pytest.mark.parametrize("entry", [(2.2, 0.1), [2.2, 2.3]])
def test_one_source_has_one_value(entry):
    with pytest.raises(CatalogError, match="mine has 2 values of PL_Index"):
        read_sources(ROW | {"PL_Index": entry})
    with pytest.raises(CatalogError, match="truth values"):
        read_sources(ROW | {"PL_Index": True})


def test_a_place_of_two_zeros_is_none():
    with pytest.warns(CatalogWarning, match="RAJ2000 and DEJ2000 are 0 for 1 source"):
        catalog = read_sources([ROW | {"ra": 0.0, "dec": 0.0}, ROW | {"ra": 0.0}])
    assert np.isnan(catalog.column("GLAT")).tolist() == [True, False]


@pytest.mark.parametrize("size", [1, 2, 19])
def test_places_in_names_are_compared(size):
    """Right ascension and declination that are swapped, or rows that were sorted apart, are told."""
    names = ["4FGL J0534.5+2201", *(f"a {k}" for k in range(size))]
    table = Table({"name": names, "ra": np.full(size + 1, 22.0), "dec": np.full(size + 1, 83.6)})
    table["TS"] = 64.0
    if size < 10:
        with pytest.raises(CatalogError, match=f"names of 1 of {size + 1} sources, such as 4FGL J0534"):
            read_sources(table)
    else:
        with pytest.warns(CatalogWarning, match="places in the names of 1 of 20 sources"):
            assert len(read_sources(table)) == 20
    table["ra"][0], table["dec"][0] = 83.63, 22.01
    assert read_sources(table).column("GLAT")[0] == pytest.approx(-5.8, abs=0.1)


def test_radians_without_a_unit_are_refused():
    table = Table({"ra": np.linspace(0.1, 6.2, 20), "dec": np.linspace(-1.4, 1.4, 20), "TS": np.full(20, 50.0)})
    with pytest.raises(CatalogError, match="look like radians"):
        read_sources(table)
    table["ra"].unit = table["dec"].unit = "rad"
    with pytest.warns(CatalogWarning, match="converted to deg"):
        np.testing.assert_allclose(read_sources(table).column("RAJ2000"), np.degrees(table["ra"]))
