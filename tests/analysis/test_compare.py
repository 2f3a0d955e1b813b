"""Comparison with another list: what is matched, what agrees, and what comes first."""

import re

import numpy as np
import pytest
from astropy.table import Table
from sklearn.metrics import roc_auc_score

from fermiclass.analysis.compare import compare
from fermiclass.analysis.other_list import OtherList
from fermiclass.errors import CatalogError, ClassError, SelectionError
from fermiclass.io.tables import read_table, write_table
from fermiclass.plots.comparison import comparison_figure
from tests.cli.test_cli import run, run_well
from tests.show.page.conftest import make_up_labels


@pytest.fixture(scope="module")
def labels(dr4):
    return make_up_labels(dr4[dr4.classes == ""][::8])


@pytest.fixture
def published(labels):
    """Every second source: our class, but for the first three, which are called pulsars."""
    chosen = labels[::2]
    words = {"bll": "BL Lac", "fsrq": "FSRQ", "psr": "PSR"}
    said = np.array([words[name] for name in chosen["PRED_CLASS"]])
    said[:3] = "PSR"
    return Table({"Name": chosen["Source_Name"], "RA": chosen["RAJ2000"], "DEC": chosen["DEJ2000"], "Class": said})


def test_classes(labels, published):
    found = compare(labels, OtherList.of(published))
    n = len(published)
    assert found.numbers == {"labels": len(labels), "others": n, "by_name": n, "by_position": 0, "unmatched": 0}
    assert found.unknown == {}
    for word, name in {"BL Lac": "bll", "FSRQ": "fsrq", "PSR": "psr"}.items():
        rows = np.asarray(published["Class"]) == word
        p = np.asarray(labels[f"P_{name}"])[::2][rows]
        right = np.asarray(labels["PRED_CLASS"])[::2][rows] == name
        assert found.agreement[word] == {"n": rows.sum(), "agree": right.mean(), "mean_p": pytest.approx(p.mean())}
        assert found.confusion[word][name] == right.sum()
    p = np.asarray(found.table["P_OTHER_CLASS"])
    assert np.all(np.diff(p) >= 0)  # the surest disagreement first
    np.testing.assert_allclose(found.table["SURPRISE"], -np.log(np.maximum(p, 1e-5)))
    assert found.table["SEPARATION"].max() < 1e-4


def test_names_in_other_spellings_and_positions(labels, published):
    """Names without prefix; then positions moved by 3 arcmin, as text; a source far from all is left over."""
    published["Name"] = [str(name).removeprefix("4FGL ") for name in published["Name"]]
    assert compare(labels, OtherList.of(published)).numbers["by_name"] == len(published)
    moved = Table(published["RA", "DEC", "Class"], copy=True)
    moved["DEC"] = [f"{value + 0.05:.5f}" for value in published["DEC"]]
    moved["RA"] = [f"{value / 15:.7f}" for value in published["RA"]]
    moved.add_row(["0", "-89.999", "PSR"])
    found = compare(labels, OtherList.of(moved))
    assert found.numbers["by_position"] > 0.95 * len(published)
    assert found.numbers["by_name"] == 0
    assert found.numbers["unmatched"] >= 1
    assert len(set(found.table["Source_Name"])) == len(found.table)
    with pytest.raises(CatalogError, match=r"none of \d+ sources of '<Table>' is among the \d+ labelled ones"):
        compare(labels, OtherList.of(moved, radius=0.001))


def test_wider_and_unknown_classes(labels, published):
    published["Class"][3:6] = "agn"
    published["Class"][6] = "?"
    found = compare(labels, OtherList.of(published))
    assert found.unknown == {"?": 1}
    agn = np.asarray(labels["P_bll"] + labels["P_fsrq"])[::2][3:6]
    assert found.agreement["agn"]["mean_p"] == pytest.approx(agn.mean())
    assert found.table["Source_Name"][-1] == published["Name"][6]  # it cannot disagree


def test_probabilities(labels, published):
    table = Table({"4FGL": published["Name"], "P_young": 1.0 - np.asarray(labels["P_psr"])[::2]})
    found = compare(labels, OtherList.of(table, probability="P_young"), of="psr")
    assert found.ranks == {"n": len(table), "rho": pytest.approx(-1.0)}
    assert np.all(np.diff(np.abs(found.table["DIFFERENCE"])) <= 0)
    assert found.agreement == {}
    assert len(comparison_figure(found).axes) == 1


def test_a_truth(labels, published):
    found = compare(labels, OtherList.of(published), truth=True)
    is_psr = np.asarray(published["Class"]) == "PSR"
    curve = found.roc["psr"]
    assert curve["auc"] == pytest.approx(roc_auc_score(is_psr, np.asarray(labels["P_psr"])[::2]))
    assert (curve["positive"], curve["negative"]) == (is_psr.sum(), (~is_psr).sum())
    found = compare(labels, OtherList.of(Table({"Name": published["Name"][:20]})), of="psr", truth=True)
    assert found.roc["psr"]["negative"] == len(labels) - 20
    assert len(comparison_figure(found).axes) == 2


def test_words_that_may_be_one_class_or_another_are_no_counterexamples(labels, published):
    """A bcu may be a bll: it counts neither for it nor against it. PSR and psr are one word."""
    table = Table(published, copy=True)
    table["Class"] = np.resize(["bll", "psr", "bcu", "PSR", "BCU", "msp"], len(table))
    found = compare(labels, OtherList.of(table), truth=True)
    number = {word: int(np.sum(np.char.lower(table["Class"]) == word)) for word in ("bll", "psr", "bcu", "msp")}
    assert set(found.agreement) >= {"bll", "psr", "bcu"}
    assert not {"PSR", "BCU"} & set(found.agreement)
    pulsars = sum(number[word] for word in ("psr", "msp") if word in found.agreement)
    assert set(found.roc) == {"bll", "bll or fsrq", "psr"}
    assert (found.roc["bll"]["positive"], found.roc["bll"]["negative"]) == (number["bll"], pulsars)
    agn = number["bll"] + number["bcu"]
    assert (found.roc["bll or fsrq"]["positive"], found.roc["bll or fsrq"]["negative"]) == (agn, pulsars)
    assert (found.roc["psr"]["positive"], found.roc["psr"]["negative"]) == (pulsars, agn)


def test_refusals(labels, published):
    with pytest.raises(SelectionError, match="'gc' is not a class of the labels: choose one of bll, fsrq, psr"):
        compare(labels, OtherList.of(published), of="gc")
    with pytest.raises(SelectionError, match=r"not known what class the other list is of: .*\(--of\)"):
        compare(labels, OtherList.of(published["Name", "RA"]))
    star = Table(published, copy=True)
    star["Class"] = "star"
    with pytest.raises(
        ClassError, match=r"no class of the other list is known: it has star, the labels have bll, fsrq"
    ):
        compare(labels, OtherList.of(star))
    with pytest.raises(CatalogError, match=r"neither a column of names nor of positions .*it has Class"):
        OtherList.of(published["Class", "RA"])
    with pytest.raises(CatalogError, match="'<Table>' has no column Klasse; it has Name, RA, DEC, Class"):
        OtherList.of(published, class_column="Klasse")
    with pytest.raises(CatalogError, match="the column Class of '<Table>' does not hold numbers"):
        OtherList.of(published, probability="Class")
    with pytest.raises(CatalogError, match="radius=0 is not valid"):
        OtherList.of(published, radius=0.0)


def test_the_command(labels, published, tmp_path):
    write_table(labels, tmp_path / "labels.fits")
    write_table(published, tmp_path / "published.csv")
    lists = (tmp_path / "labels.fits", tmp_path / "published.csv")
    printed = run_well("compare", *lists, "--truth", "-o", tmp_path / "both.ecsv", "--plot", tmp_path / "both.png")
    words = " ".join(printed.split())
    assert f"{len(published)} sources are in both lists ({len(published)} by name, 0 by position); 0 of" in words
    assert re.search(r"area under the ROC curve.* psr \d+ \d+ [01]\.\d{3}", words)
    assert (tmp_path / "both.png").read_bytes().startswith(b"\x89PNG")
    first = read_table(tmp_path / "both.ecsv")[0]
    assert first["OTHER_CLASS"] == "PSR"
    assert str(first["Source_Name"]) in printed
    done = run("compare", tmp_path / "labels.fits", tmp_path / "nothing.csv", "-o", tmp_path / "no.csv")
    assert done.returncode == 2
    assert "there is no file" in done.stderr
    assert not (tmp_path / "no.csv").exists()
