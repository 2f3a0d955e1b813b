"""Extraction from whole catalogues, and the table it gives."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from fermiclass.catalog import THREE_CLASSES
from fermiclass.features import Imputation, extract_features
from fermiclass.io.plain import typed


def same(a, b):
    """Whether two feature tables agree in every bit of their numbers."""
    return (
        a.X.tobytes() == b.X.tobytes()
        and a.X_var.tobytes() == b.X_var.tobytes()
        and all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("y", "names", "flags"))
    )


def damaged(catalog):
    """Take away a value here and an uncertainty there."""
    table = catalog.table
    table["Unc_LP_beta"][::5] = np.nan
    table["LP_Index"][3] = np.nan
    table["Signif_Avg"][4] = np.nan
    table["Flux1000"][6] = -1.0
    table["Unc_Flux_Band"][8, 2] = np.nan
    return catalog


@pytest.mark.parametrize(
    ("features", "n_features"), [("six", 6), ("extended", 17), ("paper", 6), ("galactic", 18), ("gas", 20)]
)
def test_every_release_gives_finite_rows_and_right_flags(release, features, n_features):
    data = extract_features(release, features)
    assert data.X.shape == data.X_var.shape == (len(release), n_features)
    assert len(data) == len(release)
    assert np.isfinite(data.X).all()
    assert np.isfinite(data.X_var).all()
    assert (data.X_var >= 0.0).all()
    np.testing.assert_array_equal(data.names, release.names)
    np.testing.assert_array_equal(data.flags & 1 != 0, data.imputed_uncertainty.any(axis=1))
    np.testing.assert_array_equal(data.flags & 2 != 0, data.imputed_value.any(axis=1))
    j = [feature.name for feature in data.features].index("LP_beta")
    table = release.table
    assert data.imputed_value[~np.isfinite(np.asarray(table["LP_beta"])), j].all()
    unknown = np.isfinite(np.asarray(table["LP_beta"])) & ~np.isfinite(np.asarray(table["Unc_LP_beta"]))
    assert data.imputed_uncertainty[unknown, j].all()
    assert unknown.any()
    # Those whose uncertainty is there but absurd are few.
    assert (data.imputed_uncertainty[:, j] & ~unknown).sum() < 0.02 * len(data)


def test_unassociated_sources_of_a_release_have_no_class(release):
    data = extract_features(release)
    two_kinds = "msp" in release.classes
    pulsars = {"psr", "msp", "msp|other", "psr|other"} if two_kinds else {"psr", "psr|other"}
    assert set(data.y) == {"", "bll", "fsrq", "other", "bll|fsrq"} | pulsars
    np.testing.assert_array_equal(data.labelled, ~np.isin(release.classes, ["", "bcu", "unk"]))
    three = extract_features(release, classes=THREE_CLASSES)
    assert set(three.y) == {"", "bll", "fsrq", "psr"}
    np.testing.assert_array_equal(three.labelled, np.isin(release.classes, ["bll", "fsrq", "psr", "msp"]))


def test_neither_order_nor_batch_matters_in_a_real_release(release):
    whole = extract_features(release, "extended", THREE_CLASSES)
    order = np.random.default_rng(0).permutation(len(release))
    assert same(whole[order], extract_features(release[order], "extended", THREE_CLASSES))
    for row in [*np.flatnonzero(whole.flags)[::200], 17]:
        one = extract_features(release[row : row + 1], "extended", THREE_CLASSES, imputation=whole.imputation)
        assert same(one, whole[row])


@pytest.mark.parametrize("row", [0, 3, 4, 6, 8, 300])
def test_single_row_with_stored_imputation_equals_its_row_of_the_whole(make_catalog, row):
    catalog = damaged(make_catalog(301))
    whole = extract_features(catalog, "extended")
    stored = typed(Imputation, json.loads(json.dumps(asdict(whole.imputation))))
    assert same(extract_features(catalog[row : row + 1], "extended", imputation=stored), whole[row])


def test_flags_of_damaged_rows(make_catalog):
    data = extract_features(damaged(make_catalog(301)), "extended")
    assert data.flags[[0, 1, 3, 4, 6, 8]].tolist() == [1, 0, 2, 2, 2, 1]


def test_choice_by_significance_does_not_change_the_rows(make_catalog):
    catalog = damaged(make_catalog(301))
    whole = extract_features(catalog)
    bright = extract_features(catalog, min_significance=8.0)
    chosen = np.asarray(catalog.table["Signif_Avg"]) > 8.0
    assert 0 < len(bright) < len(whole)
    assert same(bright, whole[chosen])


def test_astropy_table_carries_units_descriptions_ucds_and_origin(make_catalog):
    data = extract_features(make_catalog(20), "paper", THREE_CLASSES)
    table = data.to_table()
    expected = ["Source_Name", "CLASS"]
    for feature in data.features:
        expected += [feature.name, f"Unc_{feature.name}"]
    assert table.colnames == [*expected, "FEATURE_FLAGS"]
    assert str(table["Flux1000"].unit) == str(table["Unc_Flux1000"].unit) == "ph / (s cm2)"
    assert table["Unc_Flux1000"].meta["ucd"] == "stat.error;phot.flux;em.gamma"
    assert all(column.description and column.meta["ucd"] for column in table.itercols())
    np.testing.assert_array_equal(table["Unc_LP_beta"], np.sqrt(data.X_var[:, 4]))
    assert table.meta == {
        "catalog": "4FGL-DR4.fits",
        "sha256": "0" * 64,
        "release": "4FGL-DR4",
        "classes": "bll,fsrq,psr",
        "features": [feature.name for feature in data.features],
    }
