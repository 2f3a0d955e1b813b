"""From a catalogue to labels, on real catalogues: counts, independence of rows, what is missing, what is refused."""

import re

import numpy as np
import pytest
from astropy.table import MaskedColumn

from fermiclass import Catalog, classify, read_catalog
from fermiclass.catalog import THREE_CLASSES
from fermiclass.catalog.releases import CatalogWarning
from fermiclass.errors import CatalogError, ClassError
from fermiclass.labelling.recipe import Recipe
from fermiclass.labelling.training_rows import MIN_PER_CLASS
from fermiclass.nimgp.settings import Settings
from tests.conftest import slim_path

TINY = Settings(steps=40, num_inducing=15)
CLASSES = ["bll", "fsrq", "psr"]
THREE = {"classes": THREE_CLASSES, "features": "six"}


@pytest.fixture(scope="module")
def labels(model, few):
    return model.label(few, "all")


def same_rows(one, other):
    assert one.colnames == other.colnames
    assert len(one) == len(other)
    for name in one.colnames:
        if one[name].dtype.kind == "f":
            np.testing.assert_allclose(one[name], other[name], atol=1e-3, err_msg=name)
        else:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def with_columns(catalog, **columns):
    """The same catalogue with columns replaced."""
    table = catalog.table.copy()
    for name, values in columns.items():
        table[name] = values
    return Catalog(table, catalog.release, catalog.source, catalog.sha256)


def test_what_a_model_is_made_of(model, few):
    counts = {name: int(np.isin(few.classes, [name, "msp"] if name == "psr" else name).sum()) for name in CLASSES}
    assert dict(model.provenance.training_counts) == counts
    origin = model.provenance.origin
    assert (origin.source, origin.sha256, origin.release) == ("4FGL-DR4.fits.gz", few.sha256, "4FGL-DR4")
    assert set(model.provenance.versions) == {"fermiclass", "tensorflow", "numpy", "astropy"}
    assert len(model.domain.X) == sum(counts.values())


def test_how_few_is_too_few(dr4):
    codes = dr4.classes
    rows = np.concatenate([np.flatnonzero(codes == name)[:MIN_PER_CLASS] for name in CLASSES])
    assert len(Recipe(classes=THREE_CLASSES).check(dr4[rows]).rows) == 15
    with pytest.raises(ClassError, match=r"has 4 sources of class 'psr' .*bll 5, fsrq 5, psr 4"):
        Recipe(classes=THREE_CLASSES).check(dr4[rows[:-1]])


def test_labels_make_sense(labels, few):
    assert len(labels) == len(few)
    np.testing.assert_array_equal(labels["Source_Name"], few.names)
    P = np.column_stack([labels[f"P_{name}"] for name in CLASSES])
    assert P.min() >= 0.0
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-6)
    trained = np.isin(few.classes, CLASSES)
    assert np.mean(np.asarray(labels["PRED_CLASS"])[trained] == few.classes[trained]) > 0.75


def test_entropies_add_up(labels):
    P = np.column_stack([labels[f"P_{name}"] for name in CLASSES])
    entropy, information, noise = (np.asarray(labels[n], float) for n in ("ENTROPY", "INFORMATION", "NOISE_ENTROPY"))
    np.testing.assert_allclose(entropy, -np.sum(P * np.log(P), axis=1), rtol=1e-10)
    assert entropy.max() <= np.log(3) + 1e-12
    assert information.min() >= 0.0
    assert noise.min() >= 0.0
    # What is left is the mean entropy of the label given latent functions and noiseless features.
    assert np.all(information + noise <= entropy + 1e-6)
    assert information.max() > 0.01
    assert noise.max() > 0.01
    for name in CLASSES:
        p, std = np.asarray(labels[f"P_{name}"]), np.asarray(labels[f"Unc_P_{name}"], float)
        assert np.all(std >= 0.0)
        assert np.all(std**2 <= p * (1.0 - p) + 1e-6)  # the most that values between 0 and 1 can vary


def test_targets_are_rows_of_all(model, few, labels):
    for targets in ("unassociated", "uncertain"):
        chosen = model.label(few, targets)
        same_rows(chosen, labels[np.isin(few.names, chosen["Source_Name"])])
        assert chosen.meta["targets"] == targets


@pytest.mark.parametrize("targets", ["uncertain", "all"])
def test_a_catalogue_with_nothing_to_label(model, few, targets):
    pulsars = few[few.classes == "psr"] if targets != "all" else few[[]]
    with pytest.raises(CatalogError, match="nothing to label"):
        model.label(pulsars, targets)


def test_missing_and_absurd_values_are_labelled_and_flagged(model, few, labels):
    n = len(few)
    curved = np.asarray(few.table["LP_beta"], float).copy()
    curved[[3, 4, 5]] = np.nan, 1e30, 1e3  # missing, no curvature at all, and one that no source has
    flux = np.asarray(few.table["Flux1000"], float).copy()
    flux[[7, 8, 9]] = -1.0, 0.0, np.inf
    error = np.asarray(few.table["Unc_LP_Index"], float).copy()
    error[[11, 12, 13, 14]] = np.nan, 0.0, -1.0, np.inf
    significance = np.asarray(few.table["Signif_Avg"], float).copy()
    significance[15] = np.nan
    spoilt = with_columns(few, LP_beta=curved, Flux1000=flux, Unc_LP_Index=error, Signif_Avg=significance)
    table = model.label(spoilt, "all")
    assert len(table) == n
    P = np.column_stack([table[f"P_{name}"] for name in CLASSES])
    assert np.all(np.isfinite(P))
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-6)
    flags = np.asarray(table["LABEL_FLAGS"])
    assert np.all(flags[[3, 4, 7, 8, 9, 15]] & 2)
    assert np.all(flags[[11, 12, 13, 14]] & 1)
    assert flags[5] & 4
    untouched = np.ones(n, bool)
    untouched[[3, 4, 5, 7, 8, 9, 11, 12, 13, 14, 15]] = False
    for name in ("P_bll", "ENTROPY", "OOD_SCORE", "LABEL_FLAGS"):
        np.testing.assert_array_equal(table[name][untouched], labels[name][untouched], err_msg=name)


def test_masked_text_and_missing_columns(model, few, labels):
    table = few.table.copy()
    table.remove_columns(["ASSOC1", "Flags"])
    table["CLASS1"] = MaskedColumn(table["CLASS1"], mask=table["CLASS1"] == "")
    table.meta["CDS-NAME"], table.meta["VERSION"] = "4FGL", "v35"
    made = model.label(read_catalog(table), "all")
    assert set(made["ASSOC1"]) == {""}
    assert "Flags" not in made.colnames
    for name in ("CLASS1", "P_bll", "P_fsrq", "P_psr", "OOD_SCORE"):
        np.testing.assert_array_equal(made[name], labels[name], err_msg=name)


@pytest.mark.usefixtures("eagerly")
@pytest.mark.filterwarnings("ignore:.*years of data")
def test_train_on_another_release(few):
    earlier = read_catalog(slim_path("4FGL-DR1"))[::10]
    settings = Settings(steps=5, num_inducing=10)
    with pytest.warns(CatalogWarning, match="4FGL-DR4 fits LP_beta with a Gaussian prior .* 4FGL-DR1, .* no prior"):
        table = classify(few, settings=settings, train_on=earlier, targets="unassociated", **THREE)
    assert len(table) == np.sum(few.classes == "")
    assert table.meta["release"] == "4FGL-DR4"
    assert table.meta["catalog"] == "4FGL-DR4.fits.gz"
    assert table.meta["train_on"] == "4FGL-DR1.fits.gz"
    assert table.meta["trainsha"] == earlier.sha256 != table.meta["sha256"]


@pytest.mark.parametrize("release", ["4FGL-DR1", "4FGL-DR3"])
@pytest.mark.filterwarnings("ignore:.*years of data")
def test_every_release_can_be_labelled(model, release):
    catalog = read_catalog(slim_path(release))[::50]
    with pytest.warns(CatalogWarning, match=f"{release} fits LP_beta with no prior, and 4FGL-DR4, .* mean 0.1"):
        table = model.label(catalog, "all")
    assert len(table) == len(catalog)
    P = np.column_stack([table[f"P_{name}"] for name in CLASSES])
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-6)
    assert table.meta["release"] == release


@pytest.mark.usefixtures("eagerly")
def test_metadata_says_how_it_was_made(few):
    settings = Settings(method="mgp", steps=1, num_inducing=5, random_state=7)
    table = classify(few, settings=settings, classes=THREE_CLASSES, features="extended", min_significance=5.0)
    meta = table.meta
    assert meta["creator"].startswith("fermiclass ")
    assert re.fullmatch("[0-9a-f]{64}", meta["sha256"])
    expected = {"targets": "uncertain", "classes": "bll,fsrq,psr", "method": "mgp", "likelihood": "softmax"}
    expected |= {"random_state": 7, "steps": 1, "min_significance": 5.0}
    assert {key: meta[key] for key in expected} == expected
    assert re.fullmatch(r"bll=\d+,fsrq=\d+,psr=\d+", meta["counts"])
    assert meta["features"].count(",") == 16
    assert "tensorflow=" in meta["versions"]
    assert not {"epochs"} & meta.keys()  # None is absent
    assert not any(value is None or value == "None" for value in meta.values())
