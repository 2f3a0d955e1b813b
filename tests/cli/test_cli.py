"""Every command as a user runs it, on the real catalogue and on damaged input."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table

from fermiclass import read_catalog
from fermiclass.cli.classify import classify
from fermiclass.cli.folders import stem_of
from fermiclass.features import FEATURE_SETS, extract_features
from fermiclass.io.tables import read_table
from fermiclass.labelling.class_priors import read_priors
from tests.commands import imported_by, refuses, run, run_well
from tests.conftest import RELEASES, slim_path

DR4 = slim_path("4FGL-DR4")
STEP = ("--set", "likelihood=step", "--set", "temperature=2")
QUICK = ("--steps", "40", "--set", "num_inducing=20")
THREE = ("--classes", "bll,fsrq,psr", "--features", "extended")
CLASSES = ("bll", "fsrq", "msp", "other", "psr")


@pytest.fixture(scope="module")
def labels(tmp_path_factory):
    """Labels of DR4 by the README's first command, but hardly trained, in a process: the file and what was printed."""
    folder = tmp_path_factory.mktemp("labels")
    printed = run_well("classify", DR4, *QUICK, cwd=folder, alone=True)
    return folder / "4FGL-DR4-labels.fits", printed


@pytest.fixture(scope="module")
def model_folder(few_file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "model"
    run_well("train", few_file, "-o", folder, *QUICK, *THREE)
    return folder


def test_the_help_of_all_commands_imports_none_of_them():
    printed, modules = imported_by("--help")
    assert not {"astropy", "numpy", "sklearn", "fermiclass.cli.info", "fermiclass_benchmarks"} & modules
    assert all(f"\n  {name} " in printed for name in ("info", "train-rows"))


def test_info_does_without_tensorflow():
    assert not {"tensorflow", "gpflow", "pandas", "sklearn"} & imported_by("info", DR4)[1]


@pytest.fixture
def greeting(tmp_path, monkeypatch):
    """A distribution that adds a command, and one that does not fit."""
    (tmp_path / "greeting.py").write_text("import click\n\n@click.command()\ndef hello(): click.echo('hello')\n")
    about = tmp_path / "greeting-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: greeting\nVersion: 1\nSummary: Greet.\n")
    (about / "entry_points.txt").write_text("[fermiclass.commands]\nhello = greeting:hello\nbye = greeting:bye\n")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("greeting")
def test_another_distribution_adds_a_command(tmp_path):
    assert re.search(r"^  hello +Greet\.$", run_well("--help"), re.MULTILINE)
    assert run_well("hello") == "hello\n"
    refuses(tmp_path, "the command 'bye' cannot be loaded .*no attribute 'bye'.*: install its package again", "bye")
    refuses(tmp_path, "No such command 'hi'", "hi")


def test_benchmark_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    refuses(tmp_path, "'benchmark' is not installed: .* pip install ./benchmarks", "benchmark", "uci", "--splits", "1")
    assert "benchmark" not in run_well("--help")


def test_the_help_of_class_priors_shows_a_file_that_can_be_read():
    (text,) = [option.help for option in classify.params if option.name == "class_priors"]
    priors = read_priors(re.search(r"\{.*\}\}", text).group())
    assert list(priors) == ["unassociated"]
    assert sorted(priors["unassociated"]) == sorted(CLASSES)
    assert sum(priors["unassociated"].values()) == pytest.approx(1)


@pytest.mark.parametrize("release", RELEASES)
def test_info(release):
    printed = run_well("info", slim_path(release))
    assert printed.startswith(release)
    assert re.search(r"bcu +\d{3}", printed)
    assert re.search(r"PL_Index +\d+ +\d+ +extended", printed)
    catalog = read_catalog(slim_path(release))
    flagged = np.sum(
        extract_features(catalog, [f for f in FEATURE_SETS["galactic"] if not f.missing(catalog)]).flags > 0
    )
    assert f"flagged: {flagged} with the default features." in " ".join(printed.split())


def test_features(tmp_path):
    run_well("features", DR4, "-o", tmp_path / "features.fits")
    table = read_table(tmp_path / "features.fits")
    assert len(table) == 7195
    assert np.all(np.isfinite(table["Unc_LP_beta"]))
    assert "ln_Flux1000" in table.meta["features"]
    assert table["ln_Flux1000"].meta["ucd"] == "phot.flux;em.gamma"


def test_the_papers_features(tmp_path, shared_data):
    """On DR1 and above 30 σ the table has the 454 sources of the main paper's data."""
    output = tmp_path / "paper.csv"
    run_well("features", slim_path("4FGL-DR1"), "--paper", "--min-significance", "30", "-o", output)
    table = read_table(output)
    names = Table.read(shared_data / "data" / "astro454" / "sources.csv")
    assert sorted(names["Source_Name"]) == sorted(table["Source_Name"][table["CLASS"] != ""])
    assert table.colnames[2::2] == [*(feature.name for feature in FEATURE_SETS["paper"]), "FEATURE_FLAGS"]


def test_classify_labels_every_source_that_has_no_class(labels):
    path, printed = labels
    table, catalog = Table.read(path), Table.read(DR4, hdu=1)
    codes = np.char.lower(np.char.strip(np.asarray(catalog["CLASS1"].filled(""), str)))
    wanted = np.isin(codes, ["", "bcu", "unk"])
    assert list(table["Source_Name"]) == [name.strip() for name in catalog["Source_Name"][wanted]]
    assert len(table) == 4186
    np.testing.assert_allclose(sum(table[f"P_{name}"] for name in CLASSES), 1.0, atol=1e-6)
    assert "all 4186" in " ".join(printed.split())
    assert "agn (bll + fsrq)" in printed
    assert "4FGL-DR4-labels.fits" in printed


@pytest.mark.slow
def test_same_seed_same_bytes_and_rows_in_any_order(tmp_path):
    """The catalogue with its rows shuffled gives the same labels, bit by bit but for OOD_SCORE; another seed others."""
    shuffled = tmp_path / "shuffled.fits"
    with fits.open(DR4) as hdus:
        order = np.random.default_rng(0).permutation(len(hdus[1].data))
        hdus[1].data = hdus[1].data[order]
        hdus.writeto(shuffled)
    first, again, other, mixed = (tmp_path / f"{name}.fits" for name in ("first", "again", "other", "mixed"))
    for output, catalog, seed in ((first, DR4, 0), (again, DR4, 0), (other, DR4, 1), (mixed, shuffled, 0)):
        run_well("classify", catalog, "-o", output, "--seed", seed, *QUICK)
    assert first.read_bytes() == again.read_bytes()
    expected, mixed_up, differs = (Table.read(path) for path in (first, mixed, other))
    expected.sort("Source_Name")
    mixed_up.sort("Source_Name")
    for name in expected.colnames:
        if name == "OOD_SCORE":  # sums over rows in their order
            np.testing.assert_allclose(expected[name], mixed_up[name], rtol=1e-9)
        else:
            assert np.asarray(expected[name]).tobytes() == np.asarray(mixed_up[name]).tobytes(), name
    assert not np.array_equal(Table.read(first)["P_psr"], differs["P_psr"])


def test_train_then_classify_is_classify(tmp_path, few_file, model_folder):
    direct, by_model = tmp_path / "direct.csv", tmp_path / "by_model.csv"
    imported = imported_by("classify", few_file, "-o", direct, *QUICK, *THREE)[1]
    assert "tensorflow" in imported
    assert not {"gpflow", "sklearn", "scipy.stats"} & imported
    imported = imported_by("classify", few_file, "-o", by_model, "--model", model_folder)[1]
    imported |= imported_by("explain", model_folder, read_table(by_model)["Source_Name"][0], "--catalog", few_file)[1]
    assert not {"tensorflow", "gpflow", "sklearn", "scipy.stats"} & imported
    assert direct.read_bytes() == by_model.read_bytes()


def test_given_class_priors(tmp_path, few_file, model_folder):
    priors, output = tmp_path / "priors.json", tmp_path / "labels.ecsv"
    priors.write_text('{"unassociated": {"bll": 0.4, "fsrq": 0.3, "psr": 0.3}}')
    printed = run_well("classify", few_file, "--model", model_folder, "-o", output, "--class-priors", priors)
    meta = read_table(output).meta
    assert (meta["class_priors"], json.loads(meta["priors"])) == ("given", json.loads(priors.read_text()))
    assert "The class priors are given, on the assumption" in " ".join(printed.split())


@pytest.mark.parametrize("ending", [".fits", ".FITS.gz", ".fit.bz2", ".vot.xz", ".fits.xz", ".parquet", ".xml", ""])
def test_labels_are_called_by_the_catalogue(ending):
    assert stem_of(Path("folder", f"my.catalogue-v1{ending}")) == "my.catalogue-v1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("classify", DR4, "-o", "nowhere/labels.fits"), "there is no folder .*nowhere'"),
        (("classify", DR4, "-o", "labels.xlsx"), r"ending of a table; expected \.fits"),
        (("classify", DR4, "--features", "LP_Indx", "-o", "l.fits"), "LP_Indx.*LP_Index"),
        (("classify", DR4, "--model", "nothing", "-o", "l.fits"), "'nothing' is not a model folder"),
        (("classify", DR4, "--class-priors", "nothing.json"), "the class priors cannot be read from 'nothing.json'"),
        (("classify", DR4, "--steps", "5", "--set", "epochs=5"), "steps and epochs"),
        (("train", DR4, "-o", "m", *STEP), "temperature has no effect on the step"),
        (("train", DR4, "-o", "m", "--set", "numinducing=3"), "near it are num_inducing"),
        (("train", DR4, "-o", "m", "--set", "training.pairs=3"), "training has no setting 'pairs'"),
        (("classify", DR4, "--model", "m", "--set", "kernel=se"), "leave out --set kernel"),
        (("classify", DR4, "--counterparts", "a.csv:clams"), "'clams' behind a.csv"),
        (("classify", DR4, "--model", "m", "--method", "mgp"), "--model brings its own settings: leave out --method"),
        (("evaluate", DR4, "--open", DR4, "--folds", "3"), "cannot be combined"),
        (("evaluate", DR4, "--plot", "e.xyz"), r"expected \.png, \.pdf, \.svg"),
        (("evaluate", DR4, "--open", slim_path("4FGL-DR1"), "--json", "no/e.json"), "there is no folder .*no'"),
        (("evaluate", DR4, "--faint", "nan"), "fraction=nan"),
        (("classify", DR4, "-o", "l.fits", "--features", ""), "nothing is given after --features"),
        (("evaluate", DR4, "--classes="), "nothing is given after --classes="),
        (("info",), "Missing argument 'CATALOG'"),
    ],
)
def test_bad_arguments(tmp_path, arguments, message):
    refuses(tmp_path, message, *arguments)


@pytest.mark.parametrize("command", ["info", "features", "classify", "train"])
def test_a_damaged_catalogue_leaves_nothing_behind(tmp_path, command):
    path = tmp_path / "truncated.fits"
    path.write_bytes(gzip.decompress(DR4.read_bytes())[:2_000_000])
    output = () if command == "info" else ("-o", tmp_path / "output.fits")
    refuses(tmp_path, r"fermiclass: error: .*truncated\.fits' cannot be read", command, path, *output)


def test_debug_shows_the_traceback(tmp_path):
    done = run("info", tmp_path / "nothing.fits", "--debug")
    assert done.returncode == 2
    assert "Traceback" in done.stderr


def test_a_warning_is_printed_once():
    done = run("evaluate", slim_path("3FGL"), "--methods", "logistic,logistic+unc", "--folds", "2", "--quiet")
    assert done.stderr.count("fermiclass: warning: 3FGL (3FGL.fits.gz) lacks LP_Index") == 1


def test_a_batch_system_that_ends_a_command_finds_no_hidden_file(few_file, tmp_path):
    code = """if True:
    import os, signal, sys
    from fermiclass.cli.app import main
    from fermiclass.io import files
    files.move_into_place = lambda temporary, _: print(temporary.name) or os.kill(os.getpid(), signal.SIGTERM)
    main(["features", sys.argv[1], "-o", "features.fits"])"""
    command = [sys.executable, "-c", code, str(few_file)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.startswith(".features.fits.")
    assert (done.returncode, done.stderr) == (130, "fermiclass: interrupted; nothing was written\n")
    assert list(tmp_path.iterdir()) == []
