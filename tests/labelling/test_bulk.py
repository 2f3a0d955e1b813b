"""Labels written a part of the catalogue at a time are those of the whole."""

import gzip
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from fermiclass import NIMGPClassifier, read_catalog, train
from fermiclass.catalog import THREE_CLASSES, CatalogParts
from fermiclass.errors import ClassError, OutputError
from fermiclass.io.tables import write_table
from fermiclass.labelling.archive import save_model
from fermiclass.labelling.bulk import write_labels
from fermiclass.labelling.counts import LabelCounts
from fermiclass.labelling.labels import LABEL_FLAGS, read_labels
from fermiclass.labelling.selection import SelectionPrior
from tests.conftest import slim_path

GIVEN = {"unassociated": {"bll": 0.5, "fsrq": 0.3, "psr": 0.2}}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    path = tmp_path_factory.mktemp("unpacked") / "dr4.fits"
    path.write_bytes(gzip.decompress(slim_path("4FGL-DR4").read_bytes()))
    return path


@pytest.fixture(scope="module")
def model(dr4):
    """Its selection prior is made up: three classes have none."""
    trained = train(dr4, NIMGPClassifier(steps=40, num_inducing=15), features="six", classes=THREE_CLASSES)
    return replace(trained, selection=SelectionPrior(slope=-0.7, intercept=1.5, gradient=-0.4, norm=1.25))


def same_tables(*paths):
    """The bytes of FITS differ: text that grows is as wide as the catalogue's, not as its longest."""
    one, other = map(read_labels, paths)
    assert one.meta == other.meta
    assert one.colnames == other.colnames
    for name in one.colnames:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)
        assert (one[name].unit, one[name].description) == (other[name].unit, other[name].description)


@pytest.mark.parametrize(
    "shares",
    [
        "trained",
        "selection",
        *(pytest.param(shares, marks=pytest.mark.slow) for shares in ("estimated", "latitude", GIVEN)),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("targets", "ending"), [("uncertain", ".fits"), pytest.param("all", ".parquet", marks=pytest.mark.slow)]
)
def test_the_same_table(model, unpacked, tmp_path, targets, ending, shares):
    whole = model.label(read_catalog(unpacked), targets, shares=shares)
    write_table(whole, tmp_path / f"whole{ending}")
    seen = []
    counts, meta = write_labels(
        model,
        CatalogParts(unpacked, 1500),
        tmp_path / f"parts{ending}",
        targets,
        shares=shares,
        progress=lambda *state: seen.append(state),
    )
    assert meta == whole.meta
    same_tables(tmp_path / f"whole{ending}", tmp_path / f"parts{ending}")
    done, totals = zip(*seen, strict=True)
    assert list(done) == sorted(done)
    assert set(totals) == {done[-1]}
    of_whole = LabelCounts.of(whole)
    assert (counts.total, counts.flagged) == (of_whole.total, of_whole.flagged)
    for name in ("best", "confident", "flags"):
        np.testing.assert_array_equal(getattr(counts, name), getattr(of_whole, name))
    np.testing.assert_allclose(counts.expected, of_whole.expected)


def test_counts_are_those_of_the_table(model, dr4):
    labels = model.label(dr4)
    counts = LabelCounts.of(labels)
    assert counts.classes == ("bll", "fsrq", "psr")
    assert counts.total == counts.best.sum() == len(labels)
    is_fsrq = labels["PRED_CLASS"] == "fsrq"
    assert counts.best[1] == np.sum(is_fsrq)
    assert counts.confident[1] == np.sum(is_fsrq & (labels["P_MAX"] >= 0.9))
    np.testing.assert_allclose(counts.expected[2], np.sum(labels["P_psr"]))
    assert counts.flagged == np.sum(labels["LABEL_FLAGS"] != 0)
    expected = [np.sum(np.asarray(labels["LABEL_FLAGS"]) // bit % 2) for bit in LABEL_FLAGS]
    np.testing.assert_array_equal(counts.flags, expected)


def test_what_fails_leaves_nothing_behind(model, unpacked, tmp_path):
    parts = CatalogParts(unpacked, 4000)
    with pytest.raises(ClassError, match=r"shares='no' is unknown"):
        write_labels(model, parts, tmp_path / "a.fits", shares="no")
    with pytest.raises(ClassError, match="do not fit"):
        write_labels(model, parts, tmp_path / "a.fits", shares={"unassociated": {"bll": 1.0}})
    with pytest.raises(OutputError, match="expected the ending"):
        write_labels(model, parts, tmp_path / "a.csv")
    assert not list(tmp_path.iterdir())


def classify(folder, *arguments, rows=None):
    """Run `fermiclass classify`, with parts of that many sources."""
    script = "import sys\nfrom fermiclass.catalog import parts\nfrom fermiclass.cli.app import main\n"
    if rows:
        script += f"parts.PART_ROWS = {rows}\n"
    script += "main()"
    command = [sys.executable, "-c", script, "classify", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
def test_the_command_says_and_writes_the_same(model, unpacked, tmp_path):
    save_model(model, tmp_path / "model")
    printed = {}
    for name, rows in (("whole", None), ("parts", 2000)):
        done = classify(tmp_path, unpacked, "--model", tmp_path / "model", "-o", f"{name}.fits", rows=rows)
        assert done.returncode == 0, done.stderr
        printed[name] = done.stdout.replace(f"{name}.fits", "")
    assert printed["whole"] == printed["parts"]
    same_tables(tmp_path / "whole.fits", tmp_path / "parts.fits")


def test_the_command_refuses_a_damaged_one_before_any_work(model, unpacked, tmp_path):
    save_model(model, tmp_path / "model")
    damaged = tmp_path / "damaged.fits"
    damaged.write_bytes(unpacked.read_bytes()[:-2880])
    done = classify(tmp_path, damaged, "--model", tmp_path / "model", "-o", "out.fits", rows=2000)
    assert done.returncode == 2
    assert "is truncated" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out.fits").exists()
