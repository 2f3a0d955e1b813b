"""Bad catalogues: the right answer with a warning, or a refusal that names fault and remedy; nothing in between."""

import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from astropy.io import fits
from click.testing import CliRunner

from fermiclass.cli.app import main
from fermiclass.io.tables import read_table
from tests.robustness.damage import Base, Refused, file_bytes
from tests.robustness.damages import DAMAGES


@pytest.fixture(scope="module")
def base():
    return Base()


def run(*arguments):
    """Run a command in this process as its main program does; numbers that overflow are faults."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.simplefilter("error", RuntimeWarning)
        return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def expected(base, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undamaged")
    (folder / "catalog.fits").write_bytes(base.content)
    done = run("features", folder / "catalog.fits", "-o", folder / "features.fits")
    assert (done.exit_code, done.stderr) == (0, "")
    return read_table(folder / "features.fits")


def test_names_of_damages_differ():
    names = [damage.name for damage in DAMAGES]
    assert len(set(names)) == len(names) >= 60


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_damage(damage, base, expected, tmp_path):
    (tmp_path / "input").mkdir()
    (tmp_path / "output").mkdir()
    path, output = damage.make(base, tmp_path / "input"), tmp_path / "output" / "features.fits"
    done = run("features", path, "-o", output, *damage.options)
    message = " ".join(done.stderr.split())
    outcome = damage.outcome
    if isinstance(outcome, Refused):
        assert done.exit_code == 2, (message, done.exception)
        assert re.fullmatch(r"(fermiclass: warning: .*)?fermiclass: error: .*", message)
        assert re.search(rf"error: .*({outcome.fault}).*({outcome.remedy})", message), message
        assert not list((tmp_path / "output").iterdir())
        return
    assert done.exit_code == 0, message
    assert re.search(outcome.warning, message) if outcome.warning else message == "", message
    assert [file.name for file in (tmp_path / "output").iterdir()] == ["features.fits"]
    check_features(read_table(output), expected, outcome)


def check_features(found, expected, outcome):
    order = np.arange(len(found)) if outcome.order is None else outcome.order(len(expected))
    assert len(found) == len(order)
    clean = (np.asarray(found["FEATURE_FLAGS"]) == 0) & (np.asarray(expected["FEATURE_FLAGS"])[order] == 0)
    clean[list(outcome.rows)] = False
    for name in found.colnames[2:-1]:
        values = np.asarray(found[name])
        assert np.all(np.isfinite(values)), name
        if name.startswith("Unc_"):
            assert np.all(values >= 0), name
        if name.removeprefix("Unc_") not in outcome.features:
            wanted = np.asarray(expected[name])[order]
            np.testing.assert_allclose(values[clean], wanted[clean], rtol=1e-6, atol=1e-12, err_msg=name)


def test_the_input_is_not_overwritten(base, tmp_path):
    path = tmp_path / "catalog.fits"
    path.write_bytes(base.content)
    (tmp_path / "link.fits").symlink_to(path)
    for output in (path, tmp_path / "link.fits"):
        done = run("features", path, "-o", output)
        assert done.exit_code == 2
        assert "is an input: writing would destroy it. Give the output another name" in done.stderr
    assert path.read_bytes() == base.content


@pytest.mark.parametrize(
    "arguments",
    [
        ("followup", "there.vot", "-o", "there.vot"),
        ("evaluate", "there.vot", "--json", "there.vot"),
        ("evaluate", "catalog.fits", "--future", "there.svg", "--plot", "there.svg"),
        ("explain", "labels.fits", "a source", "--catalog", "there.svg", "--plot", "there.svg"),
        ("report", "labels.fits", "--metrics", "there.html", "-o", "there.html"),
        ("benchmark", "toy", "--results", "there.jsonl", "--json", "there.jsonl"),
    ],
)
def test_no_command_overwrites_what_it_reads(tmp_path, monkeypatch, arguments):
    """Whatever it holds: this is said before anything is read."""
    monkeypatch.chdir(tmp_path)
    there = tmp_path / arguments[-1]
    there.write_text("kept")
    done = run(*arguments)
    assert done.exit_code == 2
    assert "is an input: writing would destroy it" in done.stderr
    assert there.read_text() == "kept"
    assert list(tmp_path.iterdir()) == [there]


_LONG = "x" * 300


@pytest.mark.parametrize(
    "arguments",
    [
        ("info", _LONG),
        ("features", "catalog.fits", "-o", f"{_LONG}.fits"),
        ("features", "catalog.fits", "-o", f"{_LONG}/x.fits"),
        ("features", "catalog.fits", "-o", f"{'x' * 245}.fits"),  # that of the temporary file is too long
        ("explain", _LONG, "a source"),
        ("report", f"{_LONG}.fits"),
        ("train", "catalog.fits", "-o", _LONG),
        ("classify", "catalog.fits", "--model", _LONG),
        ("train-rows", f"{_LONG}.parquet", "-o", "model"),
        ("train-rows", f"{_LONG}.fits", "-o", "model", "--features", "a"),
        ("classify-rows", _LONG, "--model", _LONG, "-o", "labels.parquet"),
    ],
)
def test_names_that_are_too_long(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.exit_code == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("fermiclass: error: ")
    assert list(tmp_path.iterdir()) == []


def test_damage_in_places_leaves_other_rows_unflagged(base, expected, tmp_path):
    """A few absurd numbers must not move what is usual, and with it the uncertainties of all others."""
    table = base.table
    for name in ("Flux1000", "LP_Index", "LP_beta", "Signif_Avg", "PL_Index", "Energy_Flux100"):
        table[name][[3, 50, 400]] = (1e30, 1e-30, 1e15)
    hdu = fits.table_to_hdu(table)
    hdu.name = "LAT_Point_Source_Catalog"
    (tmp_path / "catalog.fits").write_bytes(file_bytes(fits.PrimaryHDU(), hdu))
    done = run("features", tmp_path / "catalog.fits", "-o", tmp_path / "features.fits")
    assert done.exit_code == 0, done.stderr
    flags = np.asarray(read_table(tmp_path / "features.fits")["FEATURE_FLAGS"])
    assert np.all(flags[[3, 50, 400]] & 2)
    others = np.delete(np.arange(len(flags)), [3, 50, 400])
    np.testing.assert_array_equal(flags[others], np.asarray(expected["FEATURE_FLAGS"])[others])


def test_classify_in_a_process_of_its_own(base, tmp_path):
    """What most damages come to is tested in one process; the command as a whole is this one."""
    for damage, options in (("cut at 0.5", ()), ("all uncertainties zero", ("--classes", "agn=bll+fsrq,psr"))):
        found = next(one for one in DAMAGES if one.name == damage)
        path = found.make(base, tmp_path)
        command = [sys.executable, "-m", "fermiclass", "classify", path, "-o", tmp_path / "labels.fits", *options]
        done = subprocess.run([*command, "--steps", "5", "--inducing", "5"], capture_output=True, text=True)
        assert "Traceback" not in done.stderr
        if isinstance(found.outcome, Refused):
            assert done.returncode == 2
            assert re.search(found.outcome.fault, done.stderr)
            assert not (tmp_path / "labels.fits").exists()
        else:
            assert done.returncode == 0, done.stderr
            assert re.search(found.outcome.warning, done.stderr)
            labels = read_table(tmp_path / "labels.fits")
            np.testing.assert_allclose(labels["P_agn"] + labels["P_psr"], 1.0, atol=1e-6)
            assert np.all(np.asarray(labels["LABEL_FLAGS"]) & 1)
