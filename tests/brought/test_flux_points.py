"""Flux points of gammapy and fermipy as fluxes in the bands of the catalogue."""

import itertools

import astropy.units as u
import numpy as np
import pytest
from astropy.table import QTable, Table

from fermiclass import extract_features, read_sources
from fermiclass.brought.entries import band_fluxes
from fermiclass.catalog.releases import BAND_EDGES
from fermiclass.errors import CatalogError

EDGES = np.array(BAND_EDGES[8])


def points_of(edges, index=2.0, relative=0.1):
    """Points of a power law, 1e-9 (E / MeV)^-index, with errors."""
    flux = 1e-9 * -np.diff(edges ** (1.0 - index)) / (index - 1.0)
    return Table(
        {"e_min": edges[:-1] * u.MeV, "e_max": edges[1:] * u.MeV}
        | {"flux": flux * u.Unit("cm-2 s-1"), "flux_err": relative * flux * u.Unit("cm-2 s-1")}
    )


def flux_and_error(points):
    flux, errors = band_fluxes(points)
    np.testing.assert_allclose(errors[:, 0], -errors[:, 1])
    return flux.to_value("ph cm-2 s-1"), errors[:, 1].to_value("ph cm-2 s-1")


def test_points_in_the_bands_of_the_catalogue():
    points = points_of(EDGES, index=2.7)
    for same in (points, QTable(points), dict(zip(points.colnames, map(np.asarray, points.itercols()), strict=True))):
        flux, error = flux_and_error(same)
        np.testing.assert_allclose(flux, points["flux"])
        np.testing.assert_allclose(error, points["flux_err"])


def test_units_are_converted():
    points = points_of(EDGES)
    other = QTable(points)
    for name, unit in (("e_min", "GeV"), ("e_max", "TeV"), ("flux", "ph m-2 s-1")):
        other[name] = (other[name] * (u.ph if name == "flux" else 1)).to(unit)
    np.testing.assert_allclose(flux_and_error(other), flux_and_error(points))
    other["flux"] = np.asarray(points["flux"]) * u.Unit("erg cm-2 s-1")
    with pytest.raises(CatalogError, match="column flux is in"):
        band_fluxes(other)


def test_finer_points_are_added_and_divided_between_bands():
    """Edges of 16 points per decade are no edges of bands. A power law of index 2 is divided exactly."""
    points = points_of(np.geomspace(1e2, 1e5, 49))
    flux, error = flux_and_error(points)
    np.testing.assert_allclose(flux[1:7], points_of(EDGES)["flux"][1:7])
    assert np.isnan(flux[[0, 7]]).all()
    low, high, sigma = (np.asarray(points[name]) for name in ("e_min", "e_max", "flux_err"))
    part = np.clip(1 / np.maximum(low, 1e3) - 1 / np.minimum(high, 3e3), 0, None) / (1 / low - 1 / high)
    assert error[3] == pytest.approx(np.sqrt(np.sum((part * sigma) ** 2)))


def test_a_point_in_two_bands_tells_neither():
    flux, _ = flux_and_error(points_of(np.array([50.0, 100.0, 1000.0, 3000.0])))
    assert np.isfinite(flux).tolist() == [True, True, False, True, False, False, False, False]
    for edges in ([50.0, 5000.0], [100.0, 500.0, 2000.0, 1e4, 5e4, 3e5]):  # the last ones give bands 2 and 6
        with pytest.raises(CatalogError, match=r"no two neighbouring energy bands.*50, 100, 300"):
            band_fluxes(points_of(np.array(edges)))


def test_limits_are_anything_from_zero_to_the_limit():
    points = points_of(EDGES)
    flux = np.asarray(points["flux"])
    points["flux_ul"] = 3.0 * flux
    points["is_ul"] = [True, *[False] * 7]
    points["flux_err"][1] = np.nan
    got, error = flux_and_error(points)
    np.testing.assert_allclose(got[:2], 1.5 * flux[:2])
    np.testing.assert_allclose(error[:2], 3.0 * flux[:2] / np.sqrt(12.0))
    np.testing.assert_allclose(got[2:], flux[2:])
    points["ts"] = [25.0, 25.0, 0.5, *[25.0] * 5]  # what a point says of itself counts without a TS only
    got, _ = flux_and_error(points)
    np.testing.assert_allclose(got / flux, [1.0, 1.5, 1.5, *[1.0] * 5])


def test_a_file_of_fermipy():
    """Its FITS file has norms, errors to both sides, and scans; its dictionary the fluxes with other names."""
    points = points_of(EDGES)
    n, flux = len(points), np.asarray(points["flux"])
    norm = np.linspace(0.5, 2.0, n)
    file = Table({"e_min": points["e_min"], "e_max": points["e_max"], "ref_flux": flux * u.Unit("ph cm-2 s-1")})
    file |= {"norm": norm, "norm_err": 0.2 * norm, "norm_errp": 0.3 * norm, "norm_errn": 0.1 * norm}
    file |= {"norm_ul": 2 * norm, "ts": np.full(n, 9.0), "norm_scan": np.ones((n, 5))}
    sed = {"e_min": EDGES[:-1], "e_max": EDGES[1:], "name": "mine", "flux": norm * flux, "ts": np.full(n, 9.0)}
    sed |= {"flux_err_lo": 0.1 * norm * flux, "flux_err_hi": 0.3 * norm * flux, "config": {}}
    for points in (file, sed):
        got, errors = band_fluxes(points)
        np.testing.assert_allclose(got.value, norm * flux)
        np.testing.assert_allclose(errors.value, (norm * flux)[:, None] * [-0.1, 0.3])


def test_hardness_ratios_of_a_source():
    row = {"name": "mine", "ra": 83.6, "dec": 22.0, "TS": 64.0, "flux1000": 1e-12, "flux1000_err": 1e-13}
    sed = dict(zip(("e_min", "e_max", "flux", "flux_err"), points_of(EDGES).itercols(), strict=True))
    both = read_sources([row | {"flux_points": points_of(EDGES)}, row | {"sed": sed}, row | {"sed": {}}])
    table = extract_features(both, "HR_12,HR_45")
    np.testing.assert_allclose(table.X[:2], 0.0, atol=1e-9)
    assert table.imputed_value.tolist() == [[False, False], [False, False], [True, True]]


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (Table({"e_min": [100.0], "flux": [1e-9]}), "no column e_max"),
        (Table({"e_min": [100.0], "e_max": [300.0], "dnde": [1e-12]}), "no column flux; .* Give points of gammapy"),
        ([1.0, 2.0], "expected gammapy's FluxPoints"),
    ],
)
def test_what_are_no_flux_points(points, words):
    with pytest.raises(CatalogError, match=words):
        band_fluxes(points)


def test_points_of_gammapy():
    estimators = pytest.importorskip("gammapy.estimators", reason="gammapy is not installed")
    models = pytest.importorskip("gammapy.modeling.models", reason="gammapy is not installed")
    spectrum = models.LogParabolaSpectralModel(amplitude="1e-12 cm-2 s-1 MeV-1", reference="1 GeV", alpha=2.2, beta=0.1)
    spectrum.covariance = np.diag([1e-13, 0.0, 0.1, 0.05]) ** 2
    flux = u.Quantity([spectrum.integral(a * u.MeV, b * u.MeV) for a, b in itertools.pairwise(EDGES)])
    given = points_of(EDGES)
    given["flux"], given["flux_err"], given["flux_ul"] = flux, 0.1 * flux, 2.0 * flux
    given["sqrt_ts"] = [0.5, *[10.0] * 7]
    points = estimators.FluxPoints.from_table(given, sed_type="flux", reference_model=spectrum)
    model = models.SkyModel(spectral_model=spectrum, name="mine")
    for each in (points, points.to_table(sed_type="flux"), points.to_table(sed_type="likelihood")):
        got, error = flux_and_error(each)
        np.testing.assert_allclose(got, flux.to_value("cm-2 s-1"), rtol=1e-4)
        np.testing.assert_allclose(error[1:] / got[1:], 0.1, rtol=1e-4)
    halves = np.sort([*EDGES, *np.sqrt(EDGES[1:] * EDGES[:-1])])[1:]  # from 70 MeV on, by the shape of the spectrum
    finer = points_of(halves)
    finer["flux"] = u.Quantity([spectrum.integral(a * u.MeV, b * u.MeV) for a, b in itertools.pairwise(halves)])
    np.testing.assert_allclose(flux_and_error(finer)[0][1:], flux.to_value("cm-2 s-1")[1:], rtol=1e-3)
    catalog = read_sources({"model": model, "flux_points": points, "TS": 64.0})
    assert not extract_features(catalog, "HR_12").imputed_value.any()
