"""The script that computes labels again without fermiclass."""

import subprocess
import sys

import numpy as np
import pytest
from astropy.table import Table

from fermiclass import Recipe, read_catalog, save_model, train
from fermiclass.io.tables import write_table
from tests.conftest import REPOSITORY

SCRIPT = REPOSITORY / "docs" / "development" / "mathematics" / "recompute.py"


@pytest.mark.slow
def test_labels_are_what_the_formulas_say(few_file, tmp_path):
    """Also where values are not known. The script notices a probability that is wrong by 0.0001."""
    table = Table.read(few_file)
    bare = np.flatnonzero(table["CLASS1"].mask)
    for name, rows in {"LP_beta": bare[:2], "Flux1000": bare[1:3]}.items():
        table[name][rows] = np.nan
    model, catalog, labels = paths = [tmp_path / name for name in ("model", "catalog.fits", "labels.fits")]
    write_table(table, catalog)
    trained = train(read_catalog(catalog), recipe=Recipe(features="gas").with_settings(steps=20, num_inducing=10))
    save_model(trained, model)
    made = trained.label(read_catalog(catalog), "all")
    for error, status in ((0.0, 0), (1e-4, 1)):
        made["P_psr"][-1] += error
        write_table(made, labels)
        command = [sys.executable, SCRIPT, *paths]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        assert done.stderr == ""
