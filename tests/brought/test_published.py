"""Forms of published tables: each gives the same sources and columns as the usual form."""

import warnings

import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table

from fermiclass import join, read_sources
from fermiclass.brought.other_list import OtherList
from fermiclass.brought.published import stranger
from fermiclass.errors import CatalogError

NAMES = [f"Flux_Band_{band}" for band in range(1, 9)]
FLUX = np.geomspace(3e-8, 2e-13, 8) * np.array([[1.0], [1.3], [0.8]])


def same(one, other):
    assert one.table.colnames == other.table.colnames
    for name in one.table.colnames:
        np.testing.assert_array_equal(one.table[name], other.table[name])


def spectra(errors):
    rows = {"name": ["a", "b", "c"], "ra": [10.0, 20, 30], "dec": [5.0, 6, 7], "Signif_Avg": [9.0, 8, 7]}
    bands = dict(zip(NAMES, FLUX.T, strict=True))
    return Table({**rows, **bands, **errors})


def test_flattened_errors_of_bands_are_the_upper_ones_of_each_band():
    usual = spectra({f"Unc_{name}": 0.2 * flux for name, flux in zip(NAMES, FLUX.T, strict=True)})
    pairs = np.stack([-0.1 * FLUX, 0.2 * FLUX], axis=2).reshape(3, 16)
    for form in ("Unc_Flux_Band_{}", "Unc_Flux_Band{}", "unc_flux_band[{}]"):
        flat = spectra({form.format(k + 1): pairs[:, k] for k in range(16)})
        same(read_sources(flat), read_sources(usual))
    for form in ("Unc_Flux_Band_{}_{}", "Unc_Flux_Band[{}][{}]"):
        start = 0 if "[" in form else 1
        sides = {form.format(k // 2 + start, k % 2 + start): pairs[:, k] for k in range(16)}
        same(read_sources(spectra(sides)), read_sources(usual))
    flat = spectra({f"Unc_Flux_Band_{k + 1}": pairs[:, k] for k in range(16)})
    flat.remove_column("Unc_Flux_Band_16")
    with pytest.raises(CatalogError, match="errors of 15 bands"):
        read_sources(flat)


GAP = np.nan
VALUE, LIMIT, ERROR = np.array([[2e-9, GAP, 3e-9], [GAP, 1.5e-9, GAP], [4e-10, GAP, 5e-10]])
KNOWN = {"flux1000": VALUE, "flux1000_UL": LIMIT}


@pytest.mark.parametrize(
    "columns",
    [
        KNOWN | {"flux1000_err": ERROR},
        {"flux1000": ["2e-9", "< 1.5e-9", "3e-9"], "flux1000_err": ERROR},
        {"l_flux1000": ["", "<", ""], "flux1000": np.fmax(VALUE, LIMIT), "flux1000_err": ERROR},
        KNOWN | {"flux1000_pos": 1.5 * ERROR, "flux1000_neg": -0.5 * ERROR},
        KNOWN | {"flux1000_errp": 0.5 * ERROR, "flux1000_errn": 1.5 * ERROR},
    ],
)
def test_limits_and_errors_of_own_and_joined_tables(dr4, columns):
    few = dr4[[5, 9, 11]]
    table = Table({"Source_Name": few.names, "TS": np.full(3, 64.0), **columns})
    for catalog, name in ((join(few, table), "flux1000"), (read_sources(table), "Flux1000")):
        for form, expected in (("{}", VALUE), ("{}_UL", LIMIT), ("Unc_{}", ERROR)):
            np.testing.assert_allclose(catalog.column(form.format(name)), expected)
        assert not [name for name in catalog.table.colnames if name.endswith(("_pos", "_neg", "_errp", "_errn"))]


def test_an_ascii_table_of_a_fits_file_is_read_as_a_binary_one(tmp_path):
    columns = {"name": ["a", "b"], "ra": [10.0, 11], "flux1000": [1e-9, 2e-9], "flux1000_err": [1e-10, 2e-10]}
    kinds = {name: "A5" if name == "name" else "E15.7" for name in columns}
    wanted = [fits.Column(name, kinds[name], array=np.array(data), ascii=True) for name, data in columns.items()]
    fits.HDUList([fits.PrimaryHDU(), fits.TableHDU.from_columns(wanted)]).writeto(tmp_path / "ascii.fits")
    Table(columns).write(tmp_path / "binary.fits")
    one, other = (read_sources(tmp_path / f"{name}.fits") for name in ("ascii", "binary"))
    assert one.names.tolist() == other.names.tolist()
    np.testing.assert_allclose(one.column("Unc_Flux1000"), other.column("Unc_Flux1000"))


PLACES = ({"RA (J2000.0)": "00 00 20.4", "Dec (J2000.0)": "-3 2 1"}, {"R.A.": "00:00:20.4", "Dec": "+29:35:34"})


@pytest.mark.parametrize("name", ["BZCAT5 Source name", "3HSP Source name"])
@pytest.mark.parametrize("place", PLACES)
def test_names_of_published_columns(name, place):
    columns = {"id": [1, 2], name: ["A", "B"]} | {x: [y, "01"] for x, y in place.items()}
    table, _ = stranger(Table(columns), "theirs")
    listed = OtherList.of(table)
    assert listed.names.tolist() == ["A", "B"]
    assert np.isfinite([listed.ra, listed.dec]).all()
    assert listed.ra[0] == pytest.approx(15 * 20.4 / 3600)


@pytest.mark.parametrize("error", [np.inf, 1e5])
def test_a_value_with_an_endless_error_is_not_known(dr4, error):
    """An infinite one, or one beyond all: not one with a usual error."""
    rows = {"name": ["a", "b"], "ra": [10.0, 11], "dec": [5.0, 6], "TS": [64.0, 64], "alpha": [2.2, 2.3]}
    with warnings.catch_warnings(action="ignore"):
        found = read_sources(Table({**rows, "alpha_err": [0.1, error], "beta": [0.1, 0.1]}))
    np.testing.assert_array_equal(np.isnan(found.column("LP_Index")), [False, True])
    few = dr4[[5, 9]]
    joined = join(few, Table({"Source_Name": few.names, "XFLUX": [2e-13, 3e-13], "XFLUX_err": [4e-14, np.inf]}))
    np.testing.assert_array_equal(np.isnan(joined.column("XFLUX")), [False, True])
