"""The label table: all its columns with what describes them, its flags, and what each file format keeps of it."""

import warnings

import numpy as np
import pytest
from astropy.io.votable.ucd import check_ucd
from astropy.table import MaskedColumn, Table

from fermiclass import read_catalog
from fermiclass.errors import CatalogError
from fermiclass.io.tables import write_table
from fermiclass.labelling.labels import (
    CATALOGUE_COLUMNS,
    FORMAT_KEY,
    FORMAT_VERSION,
    Labels,
    class_sets,
    label_table,
    second_association,
)
from fermiclass.labelling.prediction_columns import OOD_LIMIT
from fermiclass.nimgp.prediction.prediction import Prediction

CLASSES = ["bll", "fsrq", "psr"]
COMPUTED = [
    "STATUS",
    *(f"P_{name}" for name in CLASSES),
    *(f"Unc_P_{name}" for name in CLASSES),
    *("PRED_CLASS", "P_MAX", "ENTROPY", "INFORMATION", "NOISE_ENTROPY"),
    *("CLASS_SET", "OOD_SCORE", "LABEL_FLAGS", "LASTS"),
]
META = {
    "creator": "fermiclass",
    "catalog": "4FGL-DR4.fits.gz",
    "sha256": "0123456789abcdef" * 4,
    "classes": "bll,fsrq,psr",
    "training_counts": "bll=1490,fsrq=820,psr=320",
    "random_state": "0",
    "epsilon": "None",
}


def test_no_smaller_set_of_classes_is_as_probable():
    """By trying all sets of four classes."""
    names = np.array(["a", "b", "c", "d"])
    every = (np.arange(1, 16)[:, None] >> np.arange(4)) % 2 == 1
    P = np.random.default_rng(2).dirichlet(np.full(4, 0.4), 200)
    found = class_sets(P, names, 0.9)
    for p, words in zip(P, found, strict=True):
        enough = every[p @ every.T >= 0.9]
        best = enough[np.lexsort((-(enough @ p), enough.sum(axis=1)))[0]]
        assert words == "|".join(names[best])


def prediction_of(n, seed=0):
    """A prediction of n sources whose numbers are plausible, but not a model's."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(len(CLASSES)), n)
    entropy = -np.sum(P * np.log(P), axis=1)
    return Prediction(
        probabilities=P,
        std=rng.uniform(0.0, 0.5, P.shape).astype(np.float32),
        entropy=entropy,
        information=(0.3 * entropy).astype(np.float32),
        noise_entropy=0.2 * entropy,
    )


def labelled(catalog, **changes):
    n = len(catalog)
    given = {"feature_flags": np.zeros(n, np.int32), "ood_score": np.linspace(0.0, 0.99, n), "meta": META} | changes
    return label_table(catalog, CLASSES, prediction_of(n), **given)


@pytest.fixture(scope="module")
def few(dr4):
    return dr4[::400]


@pytest.fixture(scope="module")
def labels(few):
    return labelled(few)


def test_columns_and_their_order(labels, few):
    assert labels.colnames == [*CATALOGUE_COLUMNS, *COMPUTED]
    assert len(labels) == len(few)
    assert labels.meta == {FORMAT_KEY: FORMAT_VERSION} | META


def test_catalogue_columns_are_as_in_the_catalogue(labels, few):
    for name in CATALOGUE_COLUMNS:
        original = few.table[name]
        np.testing.assert_array_equal(labels[name], original)
        assert labels[name].dtype == original.dtype
        assert labels[name].unit == original.unit
        assert labels[name].description == CATALOGUE_COLUMNS[name]  # the release has none
        own = original.meta.get("ucd")
        assert labels[name].meta["ucd"] == own or not own or not check_ucd(own, True)  # some break the standard
        assert check_ucd(labels[name].meta["ucd"], check_controlled_vocabulary=True)
    assert {str(labels[name].unit) for name in ("RAJ2000", "DEJ2000", "GLON", "GLAT")} == {"deg"}


@pytest.mark.parametrize(
    ("status", "name", "code", "bay", "lr", "words"),
    [
        ("unassociated", "PKS 0056-572", "agn", 0.31, 0.0, "PKS 0056-572 (agn, probability 0.31)"),
        ("unassociated", "PKS 0056-572", "", np.nan, 0.4, "PKS 0056-572 (probability 0.40)"),
        ("unassociated", "", "", 0.31, 0.0, ""),
        ("identified", "Crab IC field", "", 1.0, 1.0, "Crab IC field"),  # the probability is that of ASSOC1
    ],
)
def test_the_second_association_in_words(status, name, code, bay, lr, words, tmp_path):
    """In a .csv file, where empty text is masked, too."""
    row = {"STATUS": status, "ASSOC2": name, "CLASS2": code, "ASSOC_PROB_BAY": bay, "ASSOC_PROB_LR": lr}
    table = Table([row])
    table.write(tmp_path / "one.csv")
    assert second_association(table[0]) == words
    assert second_association(Table.read(tmp_path / "one.csv")[0]) == words


def test_the_catalogue_is_not_changed(few, labels):
    before = few.table.copy()
    made = labelled(few)
    made["Signif_Avg"][:] = -1.0
    made["Source_Name"][:] = "?"
    np.testing.assert_array_equal(few.table["Signif_Avg"], before["Signif_Avg"])
    np.testing.assert_array_equal(few.names, before["Source_Name"])
    assert few.table.colnames == before.colnames


def test_values_are_the_predictions(labels):
    expected = prediction_of(len(labels))
    for c, name in enumerate(CLASSES):
        np.testing.assert_array_equal(labels[f"P_{name}"], expected.probabilities[:, c])
        np.testing.assert_array_equal(labels[f"Unc_P_{name}"], expected.std[:, c])
    best = expected.probabilities.argmax(axis=1)
    np.testing.assert_array_equal(labels["PRED_CLASS"], np.array(CLASSES)[best])
    np.testing.assert_array_equal(labels["P_MAX"], expected.probabilities[np.arange(len(best)), best])
    np.testing.assert_array_equal(labels["ENTROPY"], expected.entropy)
    np.testing.assert_array_equal(labels["INFORMATION"], expected.information)
    np.testing.assert_array_equal(labels["NOISE_ENTROPY"], expected.noise_entropy)


def test_counts_of_classes_and_groups(labels):
    """A group counts with the sum of its classes: more sources are surely AGN than surely of one kind."""
    counts = {count.name: count for count in Labels(labels).counts()}
    assert list(counts) == CLASSES
    assert sum(count.best for count in counts.values()) == len(labels)
    table = labels.copy()
    table["Sum_P_agn"] = labels["P_bll"] + labels["P_fsrq"]
    agn = Labels(table).counts()[-1]
    assert agn.words == "agn (bll + fsrq)"
    assert agn.best == counts["bll"].best + counts["fsrq"].best
    assert sum(count.lasting for count in counts.values()) == pytest.approx(np.sum(labels["LASTS"]))
    assert agn.expected == pytest.approx(counts["bll"].expected + counts["fsrq"].expected)
    assert agn.confident == np.sum(table["Sum_P_agn"] >= 0.9) > counts["bll"].confident + counts["fsrq"].confident
    table["P_psr"][:2] = [np.nan, np.inf]
    assert Labels(table).counts()[2].expected == pytest.approx(labels["P_psr"][2:].sum())


def test_flags(few):
    n = len(few)
    feature_flags = np.arange(n, dtype=np.int32) % 4
    ood_score = np.where(np.arange(n) % 3 == 0, 1.0, 0.5)
    ood_score[1] = OOD_LIMIT  # not above it
    given = np.where(np.arange(n) % 5 == 0, 2048, np.arange(n) == 7).astype(np.int16)
    few = read_catalog_with(few, Flags=MaskedColumn(given, mask=np.arange(n) == 7))  # which is no flag
    flags = np.asarray(labelled(few, feature_flags=feature_flags, ood_score=ood_score)["LABEL_FLAGS"])
    for i in range(n):
        expected = (i % 4) + 4 * (i % 3 == 0) + 8 * (i % 5 == 0)
        assert flags[i] == expected, i
    assert flags.dtype == np.int16


def read_catalog_with(catalog, *, drop=(), **columns):
    """The catalogue read again with columns left out or replaced; a table says no longer which release it is."""
    table = catalog.table.copy()
    table.remove_columns(list(drop))
    for name, values in columns.items():
        table[name] = values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_catalog(table)


def test_a_table_without_metadata_is_read(labels, tmp_path):
    write_table(labels, tmp_path / "labels.csv")
    assert Labels.read(tmp_path / "labels.csv").table.colnames == labels.colnames


@pytest.mark.parametrize("version", ["3", "99", "one"])
def test_other_versions_are_refused(labels, tmp_path, version):
    other = labels.copy()
    other.meta[FORMAT_KEY] = version
    write_table(other, tmp_path / "labels.fits")
    with pytest.raises(CatalogError, match=f"version {version}"):
        Labels.read(tmp_path / "labels.fits")
