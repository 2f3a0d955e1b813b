"""The label table in ``catalogs/`` and what ``docs/result.md`` says of it."""

import json
import re
import subprocess
import sys

import pytest
from astropy.io import fits

from tests.conftest import REPOSITORY, slim_path

LABELS = REPOSITORY / "catalogs" / "4FGL-DR4-labels.fits.gz"


@pytest.mark.slow
def test_the_table_is_what_the_command_writes(tmp_path):
    """Up to the last digits, in which processors and versions differ."""
    made = tmp_path / LABELS.name
    command = [sys.executable, "-m", "fermiclass", "classify", str(slim_path("4FGL-DR4")), "-o", str(made), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert done.returncode == 0, done.stderr
    with fits.open(LABELS) as stored, fits.open(made) as fresh:
        for key in ("CLASS2", "PRIORS"):  # learned numbers, as JSON
            old, new = (json.loads(table[1].header[key]) for table in (stored, fresh))
            assert new == pytest.approx(old, rel=1e-3)
        ignored = {
            "ignore_keywords": ["VERSIONS", "CREATOR", "CHECKSUM", "DATASUM", "CLASS2", "PRIORS"],
            "ignore_fields": ["PRED_CLASS"],
        }
        difference = fits.FITSDiff(stored, fresh, atol=0.01, **ignored)
    assert difference.identical, difference.report()


def test_the_text_is_the_template_filled_in():
    """To mend it: python docs/build.py result."""
    result = (REPOSITORY / "docs" / "result.md").read_text(encoding="utf-8")
    template = (REPOSITORY / "docs" / "templates" / "result.md").read_text(encoding="utf-8")
    first, *others = re.split(r"\{\w+\}", template)
    assert result.startswith(first)
    rest = result.removeprefix(first)
    for text in others:  # one regular expression for all would take hours where it does not match
        number, found, rest = rest.partition(text)
        assert found, f"not in the result: {text!r}"
        assert number, f"nothing is filled in before {text!r}"
    assert not rest
