"""What a user may write for --features."""

from __future__ import annotations

import numpy as np
import pytest

from fermiclass.catalog import CatalogWarning
from fermiclass.errors import FeatureError
from fermiclass.features import FEATURE_SETS, FEATURES, extract_features, parse_features


def test_names_keep_their_order_and_sets_mix_with_names():
    assert [f.name for f in parse_features(" LP_beta, ln_Flux1000,")] == ["LP_beta", "ln_Flux1000"]
    assert parse_features("six,HR_12") == (*FEATURE_SETS["six"], FEATURES["HR_12"])
    assert parse_features([FEATURES["HR_12"], "LP_beta"]) == (FEATURES["HR_12"], FEATURES["LP_beta"])


def test_raw_column_takes_the_uncertainty_that_the_catalogue_has(make_catalog):
    catalog = make_catalog(20)
    plain, logarithm = parse_features("Npred,ln_Npred")
    np.testing.assert_array_equal(plain.measure(catalog).sigma, catalog.table["Unc_Npred"])
    np.testing.assert_allclose(logarithm.measure(catalog).sigma, catalog.table["Unc_Npred"] / catalog.table["Npred"])
    catalog.table.remove_column("Unc_Npred")
    value, sigma, measured, _ = logarithm.measure(catalog)
    np.testing.assert_array_equal(value, np.log(catalog.table["Npred"]))
    assert not measured
    assert not sigma.any()


def test_columns_of_the_catalogue_at_hand(make_catalog):
    catalog = make_catalog(5)
    catalog.table["New_Quantity"] = np.arange(1.0, 6.0)
    with pytest.raises(FeatureError, match="unknown feature 'New_Quantity'"):
        parse_features("New_Quantity")
    (feature,) = parse_features("New_Quantity", catalog)
    np.testing.assert_array_equal(feature.measure(catalog).value, np.arange(1.0, 6.0))


def test_a_set_has_what_the_catalogue_supports_and_says_what_it_leaves_out(make_catalog):
    catalog = make_catalog(5, bands=5)
    catalog.table.remove_column("Unc_LP_beta")
    with pytest.warns(
        CatalogWarning, match=r"lacks Unc_LP_beta, Flux_Band from 50 MeV.* without LP_beta, HR_12, HR_67"
    ):
        chosen = parse_features("extended", catalog)
    left_out = {feature.name for feature in FEATURE_SETS["extended"]} - {feature.name for feature in chosen}
    assert left_out == {"LP_beta", "HR_12", "HR_67"}
    # A feature that is named is needed.
    with pytest.raises(FeatureError, match="LP_beta"):
        extract_features(catalog, "ln_Flux1000,LP_beta")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("lp_Beta", r"'lp_Beta'\. Did you mean .*LP_beta"),
        ("ln_Flux100", r"'ln_Flux100'\. Did you mean .*ln_Flux1000"),
        ("qqqqqqqq", "six, paper, extended"),
        ("", "no features"),
        (" , ", "no features"),
        ([], "no features"),
        ("six,LP_beta", "more than once: LP_beta"),
    ],
)
def test_what_names_no_features(spec, message):
    with pytest.raises(FeatureError, match=message):
        parse_features(spec)
