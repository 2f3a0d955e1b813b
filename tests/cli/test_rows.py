"""``train-rows`` and ``classify-rows`` as a user runs them, on the features of the real catalogue."""

import subprocess
import sys

import numpy as np
import pytest

from fermiclass.io.tables import read_table
from tests.cli.test_cli import DR4
from tests.commands import imported_by, refuses, run, run_well

QUICK = ("--steps", "100", "--inducing", "15", "--batch-size", "256")


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    path = tmp_path_factory.mktemp("features") / "features.parquet"
    run_well("features", DR4, "-o", path)
    return path


@pytest.fixture(scope="module")
def model(features):
    folder = features.parent / "model"
    printed = run_well("train-rows", features, "-o", folder, *QUICK)
    words = " ".join(printed.split())
    assert " rows with a label. Classes: bll, fsrq, msp, other, psr. Features: ln_Flux1000," in words
    return folder


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Dask's own
def test_a_row_for_each_row_here_and_on_a_cluster(features, model, tmp_path):
    distributed = pytest.importorskip("distributed")
    arguments = ("classify-rows", features, "--model", model, "--keep", "Source_Name,CLASS", "--block-rows", "2000")
    printed = run_well(*arguments, "-o", tmp_path / "here.parquet")
    assert printed.startswith("7,195 rows labelled: ")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=None,
        host="127.0.0.1",
        env={"TF_ENABLE_ONEDNN_OPTS": "1", "TF_NUM_INTRAOP_THREADS": "2"},  # the workers get the command's
    ) as cluster:
        run_well(*arguments, "-o", tmp_path / "there.parquet", "--dask", cluster.scheduler_address)
    assert (tmp_path / "there.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()
    labels, given = read_table(tmp_path / "here.parquet"), read_table(features)
    assert labels["Source_Name"].tolist() == given["Source_Name"].tolist()
    names = ["P_bll", "P_fsrq", "P_psr", "P_msp", "P_other"]
    np.testing.assert_allclose(sum(labels[name] for name in names), 1.0, atol=1e-6)
    known = np.isin(given["CLASS"], ["bll", "fsrq", "psr", "msp", "other"])
    assert np.mean(np.asarray(labels["PRED_CLASS"] == given["CLASS"])[known]) > 0.8


#: Ctrl-C at a known moment: when so many steps are done.
INTERRUPTED = """
import os, signal, sys
from contextlib import contextmanager
from fermiclass.cli import train_rows
from fermiclass.cli.app import main

@contextmanager
def interrupting_bar(*_, **__):
    yield lambda step, steps: step == 60 and os.kill(os.getpid(), signal.SIGINT)

sys.modules["fermiclass.cli.train_rows"].progress_bar = interrupting_bar
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
sys.argv[0] = "fermiclass"
main()
"""


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_learned(features, tmp_path):
    arguments = ["train-rows", str(features), "-o", "model", *QUICK, "--checkpoint", "training.npz"]
    command = [sys.executable, "-c", INTERRUPTED, *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last == "fermiclass: interrupted; 'training.npz' has the training so far; the same command continues from it"
    assert [path.name for path in tmp_path.iterdir()] == ["training.npz"]
    with np.load(tmp_path / "training.npz") as kept:
        assert kept["progress_done"] == 60


def test_what_cannot_be_learned(features, tmp_path):
    command = ("train-rows", features, "-o", tmp_path / "model")
    refuses(tmp_path, "'nimgp' is not one of 'mgp', 'nimgp-nn'", *command, "--method", "nimgp")
    named = ("--features", "LP_Index,LP_beta", "--uncertainties", "Unc_LP_Index")
    refuses(tmp_path, "1 columns of uncertainties were", *command, *named)


def test_what_cannot_be_labelled(features, model, tmp_path):
    command = ("classify-rows", features, "--model", model, "-o", "labels.parquet", "--keep", "Source")
    refuses(tmp_path, "has no column 'Source'. Did you mean Source_Name", *command)


@pytest.mark.parametrize("as_folder", [False, True])
def test_what_is_read_is_not_overwritten(features, tmp_path, as_folder):
    """This, and the ending, are said before there is any model."""
    part = tmp_path / "part.parquet"
    part.write_bytes(features.read_bytes())
    rows = tmp_path if as_folder else part
    for output, message in ((part, "is an input"), (tmp_path / "labels.fits", r"ending of rows; expected .parquet")):
        done = run("classify-rows", rows, "--model", "nothing", "-o", output)
        assert done.returncode == 2
        assert message in done.stderr
    assert part.read_bytes() == features.read_bytes()
    assert list(tmp_path.iterdir()) == [part]


def test_rows_are_labelled_without_tensorflow(features, model, tmp_path):
    _, imported = imported_by("classify-rows", features, "--model", model, "-o", tmp_path / "labels.parquet")
    assert len(read_table(tmp_path / "labels.parquet")) == 7195
    assert not {"tensorflow", "gpflow", "sklearn", "scipy.stats"} & imported


@pytest.mark.slow
def test_models_of_the_other_kind(features, model, tmp_path):
    done = run("classify", DR4, "--model", model, "-o", tmp_path / "labels.fits")
    assert done.returncode == 2
    assert "was trained on rows: use 'fermiclass classify-rows'" in done.stderr
    run_well("train", DR4, "-o", tmp_path / "catalogue", "--steps", "20", "--set", "num_inducing=10")
    done = run("classify-rows", features, "--model", tmp_path / "catalogue", "-o", tmp_path / "labels.parquet")
    assert done.returncode == 2
    assert "was trained on a catalogue: use 'fermiclass classify'" in done.stderr
