"""Classes that label tables and model folders can name."""

from types import SimpleNamespace

import numpy as np
import pytest

from fermiclass import NIMGPClassifier
from fermiclass.errors import OutputError, RowsError
from fermiclass.rows import ArrayRows
from fermiclass.rows.labelling import check_classes, predict_rows

X = np.zeros((20, 1))
ODD = {
    "P_MAX": (["MAX", "bll"], "the class 'MAX' and P_MAX name the same column: rename"),
    "P_MAX in FITS": (["bll", "max"], "the class 'max' and P_MAX name the same column"),
    "case": (["AGN", "agn"], "the class 'agn' and 'AGN' name the same column"),
    "long": (["bll", "x" * 61], r"the class 'x{60}'\.\.\. has 61 letters, expected up to 60: shorten it"),
    "unprintable": (["bll", "p\x00sr"], r"the class 'p\\x00sr' has letters that cannot be printed"),
}
TRUTH = ([False, True], "the class 'False' is a truth value: give texts or whole numbers")


@pytest.mark.parametrize(("classes", "message"), [*ODD.values(), TRUTH], ids=[*ODD, "truth values"])
def test_training_refuses_classes_that_cannot_be_named(classes, message, monkeypatch):
    monkeypatch.setattr("fermiclass.rows.fitting.maximise", lambda *_: pytest.fail("it trains"))
    rows = ArrayRows(X, np.array(classes)[np.arange(20) % 2])
    with pytest.raises(RowsError, match=message):
        NIMGPClassifier("mgp").fit_rows(rows)


@pytest.mark.parametrize(("classes", "message"), ODD.values(), ids=ODD)
def test_nothing_is_labelled_with_them(classes, message, tmp_path):
    with pytest.raises(RowsError, match=message):
        predict_rows(SimpleNamespace(classes_=np.array(classes)), ArrayRows(X), tmp_path / "labels.parquet")
    assert list(tmp_path.iterdir()) == []


def test_other_classes_can_be_named():
    check_classes(["bll|fsrq", "x" * 60, "supernova remnant", "σ", "maximal"])
    check_classes([0, 1, 2])


def test_fits_cannot_name_every_class(tmp_path):
    with pytest.raises(OutputError, match=r"cannot be written as FITS \(.*ASCII.* Write a .parquet file"):
        predict_rows(SimpleNamespace(classes_=np.array(["bll", "σ"])), ArrayRows(X), tmp_path / "labels.fits")
    assert list(tmp_path.iterdir()) == []
