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


@pytest.mark.slow
def test_the_table_is_what_the_command_writes(tmp_path):
    """Up to the last digits, in which processors and versions differ."""
    made = tmp_path / LABELS.name
    command = [sys.executable, "-m", "fermiclass", "classify", str(slim_path("4FGL-DR4")), "-o", str(made), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert done.returncode == 0, done.stderr
    with fits.open(LABELS) as stored, fits.open(made) as fresh:
        ignored = {"ignore_keywords": ["VERSIONS", "CREATOR", "CHECKSUM", "DATASUM"], "ignore_fields": ["PRED_CLASS"]}
        difference = fits.FITSDiff(stored, fresh, atol=0.01, **ignored)
    assert difference.identical, difference.report()


def test_all_sources_without_a_class_are_there(labels, dr4):
    wanted = np.isin(dr4.classes, ["", "bcu", "unk"])
    assert len(labels) == 4186
    assert set(labels["Source_Name"]) == set(dr4.names[wanted].tolist())
    total = sum(np.asarray(labels[f"P_{name}"]) for name in ("bll", "fsrq", "psr", "other"))
    np.testing.assert_allclose(total, 1.0, atol=1e-6)
    np.testing.assert_allclose(labels["P_bll"] + labels["P_fsrq"], labels["Sum_P_agn"], atol=1e-6)


@pytest.mark.parametrize(
    ("name", "heading", "near"),
    [
        ("psr", "Pulsars, 10°", False),
        ("psr", "Pulsars, closer", True),
        ("bll", "BL Lac objects:", False),
        ("fsrq", "Flat-spec", False),
    ],
)
def test_candidates_are_those_of_the_table(labels, result, name, heading, near):
    good = labels[(labels["CLASS1"] == "") & (np.asarray(labels["LABEL_FLAGS"]) & 12 == 0)]
    good = good[(np.abs(np.asarray(good["GLAT"])) < 10.0) == near]
    best = good[np.argsort(-np.asarray(good[f"P_{name}"]), kind="stable")[:10]]["Source_Name"]
    section = result.partition(f"\n{heading}")[2]
    told = re.findall(r"^\| (4FGL \S+) \|", section, flags=re.MULTILINE)[:10]
    assert told == best.tolist()


def test_no_candidate_is_a_soft_galactic_source(dr4, result):
    told = set(re.findall(r"^\| (4FGL \S+) \|", result, flags=re.MULTILINE))
    assert len(told) == 40
    assert not told & set(dr4.names[dr4.soft_galactic].tolist())


def test_numbers_are_those_of_the_table(labels, result):
    unassociated = labels[labels["CLASS1"] == ""]
    far = np.abs(np.asarray(unassociated["GLAT"])) >= 10.0
    assert f"4FGL-DR4 has {len(unassociated)} sources without any association" in result
    for place, rows in (("10° and more from the plane", far), ("closer to the plane", ~far)):
        sums = [np.asarray(unassociated[column], float)[rows] for column in ("Sum_P_agn", "P_psr", "P_other")]
        line = re.escape(f"| **4FGL-DR4, {place}** | **{rows.sum()}**")
        line += "".join(rf" \| \*\*{p.sum():.0f} \((\d+)–(\d+)\)\*\*" for p in sums)
        (intervals,) = re.findall(line, result)
        for p, low, high in zip(sums, intervals[::2], intervals[1::2], strict=True):
            # wider than the scatter of the sources alone
            scatter = 1.645 * np.sqrt(np.sum(p * (1.0 - p)))
            assert int(low) < p.sum() - scatter < p.sum() + scatter < int(high)
    assert f"{np.sum(unassociated['P_psr'] > 0.9)} unassociated sources have P_psr > 0.9" in result


def test_the_text_is_the_template_filled_in(result):
    """To mend it: python docs/build.py result."""
    template = (REPOSITORY / "docs" / "templates" / "result.md").read_text(encoding="utf-8")
    first, *others = re.split(r"\{\w+\}", template)
    assert result.startswith(first)
    rest = result.removeprefix(first)
    for text in others:  # one regular expression for all would take hours where it does not match
        number, found, rest = rest.partition(text)
        assert found, f"not in the result: {text!r}"
        assert number, f"nothing is filled in before {text!r}"
    assert not rest
