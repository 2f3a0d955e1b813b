"""Transformations, inputs and definitions: values against the formula, errors against sampling."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from astropy.io.votable.ucd import check_ucd
from astropy.table import Table

from fermiclass import read_sources
from fermiclass.catalog import RELEASES, CatalogWarning
from fermiclass.errors import FeatureError
from fermiclass.features import FEATURES, extract_features, inputs, known_features, parse_features, supported_features
from fermiclass.features.inputs import BAND_EDGES, Band

# Each transformation with quantities (K, N) inside its domain and a step for central differences; the rounded one needs
# a step of many units of its rounding.
TRANSFORMS = [
    (inputs.IDENTITY, [[-1.0, 2.0]], 1e-5),
    (inputs.LOG, [[0.5, 20.0]], 1e-5),
    (inputs.ASINH, [[0.5, 20.0]], 1e-5),
    (inputs.ASINH_DISTANCE, [[-40.0, -0.5, 0.5, 20.0]], 1e-5),
    (inputs.ROUNDED_LOG, [[40.0, 90.0]], 1.0),
    (inputs.HARDNESS_RATIO, [[1.0, 2.0, 0.0], [3.0, 0.5, 1.0]], 1e-5),
]


@pytest.mark.parametrize(("transform", "q", "step"), TRANSFORMS)
def test_gradient_agrees_with_central_differences(transform, q, step):
    q = np.array(q)
    _, gradient = transform.formula(q)
    assert gradient.shape == q.shape
    for k in range(len(q)):
        shift = np.zeros_like(q)
        shift[k] = step
        numeric = (transform.formula(q + shift)[0] - transform.formula(q - shift)[0]) / (2 * step)
        np.testing.assert_allclose(gradient[k], numeric, rtol=1e-3, atol=1e-8)


@pytest.mark.parametrize(
    ("transform", "q"),
    [
        (inputs.LOG, [[0.0, -1.0, np.nan]]),
        (inputs.ASINH, [[np.nan]]),
        (inputs.ASINH_DISTANCE, [[np.nan]]),
        (inputs.ROUNDED_LOG, [[-1.0, np.nan]]),
        (inputs.HARDNESS_RATIO, [[0.0, 1.0, np.nan], [0.0, -2.0, 1.0]]),
    ],
)
def test_outside_the_domain_is_nan(transform, q):
    assert np.isnan(transform.formula(np.array(q))[0]).all()


def test_the_distance_from_the_plane():
    found = inputs.ASINH_DISTANCE.formula(np.array([[-3.0, 3.0, 0.0, -90.0]]))[0]
    np.testing.assert_allclose(found, [np.log(1.0 + np.sqrt(2.0))] * 2 + [0.0, np.arcsinh(30.0)])


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("bands", BAND_EDGES)
def test_every_feature_error_agrees_with_sampling(name, bands, make_catalog):
    feature = FEATURES[name]
    rng = np.random.default_rng(1)
    draws = 20_000
    catalog = make_catalog(1, bands=bands)[np.zeros(draws, int)]
    if feature.missing(catalog):
        with pytest.raises(FeatureError, match="Flux_Band from"):
            feature.measure(catalog)
        return
    table = catalog.table
    for column in feature.columns:
        if column == "Unc_Flux_Band":
            # Symmetric errors of 1 %, small enough for first order.
            sigma = 0.01 * table["Flux_Band"]
            table["Unc_Flux_Band"] = np.stack([-sigma, sigma], axis=-1)
            table["Flux_Band"] = table["Flux_Band"] + sigma * rng.normal(size=sigma.shape)
        elif column.startswith("Unc_"):
            value = table[column.removeprefix("Unc_")]
            table[column] = 0.01 * np.abs(value)
            table[column.removeprefix("Unc_")] = value + table[column] * rng.normal(size=draws)
    value, sigma, measured, _ = feature.measure(catalog)
    assert measured == any(column.startswith("Unc_") for column in feature.columns)
    if measured:
        np.testing.assert_allclose(np.median(sigma), np.std(value), rtol=0.03)
    else:
        assert np.all(sigma == 0.0)


@pytest.mark.parametrize("feature", FEATURES.values(), ids=FEATURES)
def test_descriptions_and_ucds_are_fit_for_publication(feature):
    assert feature.description
    assert check_ucd(feature.ucd, check_controlled_vocabulary=True)
    assert check_ucd(f"stat.error;{feature.ucd}")


def test_power_law_of_index_two_has_no_hardness(make_catalog):
    for bands, edges in BAND_EDGES.items():
        catalog = make_catalog(3, bands=bands)
        lower, upper = np.array(edges[:-1]), np.array(edges[1:])
        catalog.table["Flux_Band"] = np.tile(1e-6 * (1 / lower - 1 / upper), (3, 1))
        supported = [feature for feature in supported_features(catalog) if feature.name.startswith("HR_")]
        assert len(supported) == min(bands, 7) - 1
        for feature in supported:
            np.testing.assert_allclose(feature.measure(catalog).value, 0.0, atol=1e-12)


def test_upper_limit_counts_as_anything_from_zero_to_the_limit(make_catalog):
    catalog = make_catalog(2)
    catalog.table["Flux_Band"][:, 2] = 1e-13
    catalog.table["Unc_Flux_Band"][:, 2] = [np.nan, 2e-10]
    value, sigma, *_ = Band(3e2).read(catalog)
    limit = (1e-13 + 2 * 2e-10) * 300 * 1000 / 700
    np.testing.assert_allclose(value, limit / 2)
    np.testing.assert_allclose(sigma, limit / np.sqrt(12))


def test_unknown_band_errors_are_unknown(make_catalog):
    catalog = make_catalog(3)
    catalog.table["Unc_Flux_Band"][:, 2] = [[np.nan, np.nan], [np.nan, 0.0], [-1e-11, np.inf]]
    assert np.isnan(Band(3e2).read(catalog).sigma).all()


def test_unknown_number_of_bands(make_catalog):
    with pytest.raises(FeatureError, match=r"expected 5 or 7 or 8 bands.*--features six"):
        FEATURES["HR_12"].measure(make_catalog(5, bands=9))


def test_unconstrained_fractional_variability_has_no_known_error(make_catalog):
    catalog = make_catalog(3)
    catalog.table["Unc_Frac_Variability"] = [0.2, 9.999999, 10.0]
    np.testing.assert_array_equal(FEATURES["Frac_Variability"].measure(catalog).sigma, [0.2, np.nan, np.nan])


def test_distance_from_large_hii_regions_agrees_with_astropy(dr4):
    """Region by region, and in any order of the sources."""
    rows = np.random.default_rng(0).permutation(len(dr4))[:600]
    catalog = dr4[rows]
    at = SkyCoord(catalog.table["GLON"], catalog.table["GLAT"], unit="deg", frame="galactic")
    least = np.full(len(rows), 30.0)
    for region in Table.read(files("fermiclass.catalog") / "hii_regions.csv", format="ascii.csv"):
        distance = at.separation(SkyCoord(region["glon"], region["glat"], unit="deg", frame="galactic"))
        least = np.minimum(least, distance.arcsec / region["radius"])
    found = FEATURES["HIID"].measure(catalog).value
    np.testing.assert_allclose(found, np.log(np.maximum(least, 0.3)), atol=1e-5)
    assert np.sum(found < 0) > 5
    np.testing.assert_array_equal(found, FEATURES["HIID"].measure(dr4).value[rows])
    assert not extract_features(dr4[np.abs(dr4.column("GLAT")) > 15], "HIID").imputed_value.any()


def test_gas_clumps_are_known_by_release_and_column(dr4):
    """Their names have a "c", but for extended sources and one pulsar. A list may have Flags without this bit."""
    without = FEATURES["BIT6"].measure(dr4).value != np.char.endswith(dr4.names, "c")
    assert dr4.names[without & ~np.char.endswith(dr4.names, "e")].tolist() == ["4FGL J1614.1-5047"]
    catalog, (later,) = dr4[:50], (release for release in RELEASES if release.name == "FL16Y")
    bare = replace(catalog, table=catalog.table[[name for name in catalog.table.colnames if name != "Flags"]])
    for lacking in (replace(catalog, release=later), bare):
        with pytest.warns(CatalogWarning, match="lacks bit 6 of Flags: the set 'gas' is used without BIT6"):
            assert [feature.name for feature in parse_features("gas", lacking)][-2:] == ["asinh_GLAT", "HIID"]
        with pytest.raises(FeatureError, match="'BIT6' needs column 'bit 6 of Flags'"):
            extract_features(lacking, "galactic,BIT6")


@pytest.mark.parametrize(
    ("more", "left_out", "known"),
    [({}, ["BIT6", "HIID"], []), ({"ra": 266.16, "dec": -28.78}, ["BIT6"], [np.log(0.3)]),
     ({"glon": 159.957, "glat": -12.737 - 2 * 5689 / 3600, "flags": 33}, [], [1.0, np.log(2.0)])],
)  # fmt: skip
def test_gas_of_sources_of_ones_own(dr4, more, left_out, known):
    own = read_sources({"PL_Index": 2.3, **more})
    names, without = known_features("PL_Index,BIT6,HIID", dr4, own)
    assert without == left_out
    np.testing.assert_allclose(extract_features(own, names).X[0, 1:], known, atol=1e-6)


def test_missing_column_names_column_catalogue_and_alternative(make_catalog):
    catalog = make_catalog(5)
    catalog.table.remove_columns(["LP_beta", "Unc_LP_beta"])
    message = r"'LP_beta' needs column 'LP_beta', 'Unc_LP_beta', but 4FGL-DR4 .*4FGL-DR4\.fits.*--features ln_Flux1000"
    with pytest.raises(FeatureError, match=message):
        FEATURES["LP_beta"].measure(catalog)
    assert "LP_beta" not in {feature.name for feature in supported_features(catalog)}
    assert len(supported_features(catalog)) == len(FEATURES) - 1
    catalog.table.keep_columns(["Pivot_Energy"])
    catalog.table.rename_column("Pivot_Energy", "Other")
    with pytest.raises(FeatureError, match="supports none of the defined features"):
        FEATURES["LP_beta"].measure(catalog)


def test_columns_that_cannot_be_features(make_catalog):
    catalog = make_catalog(3)
    catalog.table["Pivot_Energy"] = ["a", "b", "c"]
    with pytest.raises(FeatureError, match=r"'Pivot_Energy'.*holds text, expected numbers.*numeric column"):
        FEATURES["ln_Pivot_Energy"].measure(catalog)
    with pytest.raises(FeatureError, match=r"'Flux_Band'.*one number for each source"):
        parse_features("Flux_Band", catalog)[0].measure(catalog)


def test_paper_features_equal_the_papers_data_set(dr1, shared_data):
    from astropy.table import Table

    from fermiclass.features import extract_features

    folder = shared_data / "data" / "astro454"
    expected = Table.read(folder / "features.csv", format="ascii.csv")
    sources = Table.read(folder / "sources.csv", format="ascii.csv")
    data = extract_features(dr1, "paper", "bll,fsrq,psr", min_significance=30.0)
    data = data[data.labelled]
    assert sorted(data.names) == sorted(sources["Source_Name"])
    row = {name: k for k, name in enumerate(data.names)}
    data = data[[row[name] for name in sources["Source_Name"]]]
    np.testing.assert_array_equal(data.y, np.asarray(sources["class"]))
    assert not data.flags.any()
    # The file has five digits of the fluxes, but four decimals of LP_Index, LP_beta and their errors.
    columns = ["flux1000", "ln_signif_avg", "ln_pivot_energy", "lp_index", "lp_beta", "ln_lp_sigcurv"]
    decimals = [0.0, 0.0, 0.0, 5.01e-5, 5.01e-5]
    for j, (name, atol) in enumerate(zip(columns[:-1], decimals, strict=True)):
        np.testing.assert_allclose(data.X[:, j], expected[name], rtol=1e-4 * (atol == 0.0), atol=atol, err_msg=name)
    np.testing.assert_allclose(data.X[:, 5], expected["ln_lp_sigcurv"], rtol=0, atol=1e-6)
    for j, name in ((0, "unc_flux1000"), (3, "unc_lp_index"), (4, "unc_lp_beta")):
        sigma = np.sqrt(data.X_var[:, j])
        rtol = 1e-4 * (decimals[j] == 0.0)
        np.testing.assert_allclose(sigma, expected[name], rtol=rtol, atol=decimals[j], err_msg=name)
    assert not data.X_var[:, [1, 2, 5]].any()
