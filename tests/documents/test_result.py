"""The label table in ``catalogs/`` and what ``docs/result.md`` says of it."""

import re
import subprocess
import sys

import numpy as np
import pytest
from astropy.io import fits

from fermiclass import read_table
from tests.conftest import REPOSITORY, slim_path

LABELS = REPOSITORY / "catalogs" / "4FGL-DR4-labels.fits.gz"


@pytest.fixture(scope="module")
def labels():
    return read_table(LABELS)


@pytest.fixture(scope="module")
def result():
    return (REPOSITORY / "docs" / "result.md").read_text(encoding="utf-8")


def test_the_table_is_what_the_command_writes(tmp_path):
    """Up to the last digits, in which processors and versions differ."""
    made = tmp_path / LABELS.name
    command = [sys.executable, "-m", "fermiclass", "classify", str(slim_path("4FGL-DR4")), "-o", str(made), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert done.returncode == 0, done.stderr
    with fits.open(LABELS) as stored, fits.open(made) as fresh:
        ignored = {"ignore_keywords": ["VERSIONS", "CREATOR"], "ignore_fields": ["PRED_CLASS"]}
        difference = fits.FITSDiff(stored, fresh, atol=0.01, **ignored)
    assert difference.identical, difference.report()


def test_all_sources_without_a_class_are_there(labels, dr4):
    wanted = np.isin(dr4.classes, ["", "bcu", "unk"])
    assert len(labels) == 4186
    assert set(labels["Source_Name"]) == set(dr4.names[wanted].tolist())
    total = sum(np.asarray(labels[f"P_{name}"]) for name in ("bll", "fsrq", "psr"))
    np.testing.assert_allclose(total, 1.0, atol=1e-6)


@pytest.mark.parametrize(("name", "heading"), [("psr", "Pulsars, whole"), ("bll", "BL Lac obj"), ("fsrq", "Flat-spec")])
def test_candidates_are_those_of_the_table(labels, result, name, heading):
    good = labels[(labels["CLASS1"] == "") & (np.asarray(labels["LABEL_FLAGS"]) & 12 == 0)]
    best = good[np.argsort(-np.asarray(good[f"P_{name}"]), kind="stable")[:10]]["Source_Name"]
    section = result.partition(f"\n{heading}")[2]
    told = re.findall(r"^\| (4FGL \S+) \|", section, flags=re.MULTILINE)[:10]
    assert told == best.tolist()


def test_numbers_are_those_of_the_table(labels, result):
    unassociated = labels[labels["CLASS1"] == ""]
    assert f"among the {len(unassociated)} unassociated" in result
    share, std = re.search(r"psr=([\d.]+)\+-([\d.]+)", labels.meta["w_unass"]).groups()
    mean, error = re.search(r"\(the default\)\*\* \| \*\*(\d+) ± (\d+)\*\*", result).groups()
    assert int(mean) == pytest.approx(float(share) * len(unassociated), abs=2)
    assert int(error) == pytest.approx(float(std) * len(unassociated), abs=2)
    assert f"{np.sum(unassociated['P_psr'] > 0.9)} unassociated sources have P_psr > 0.9" in result


def test_the_text_is_the_template_filled_in(result):
    """To mend it: python docs/build.py result."""
    template = (REPOSITORY / "docs" / "templates" / "result.md").read_text(encoding="utf-8")
    pattern = ".+?".join(re.escape(text) for text in re.split(r"\{\w+\}", template))
    assert re.fullmatch(pattern, result, flags=re.DOTALL)
