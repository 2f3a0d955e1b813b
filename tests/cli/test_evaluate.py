"""``fermiclass evaluate`` as a user runs it, on the real catalogues."""

import json

import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table

from fermiclass import read_catalog
from tests.commands import refuses, run, run_well
from tests.conftest import slim_path

THREE = ("--classes", "bll,fsrq,psr", "--features", "extended")
DR1, DR4 = slim_path("4FGL-DR1"), slim_path("4FGL-DR4")


def test_the_faintest_sources(tmp_path):
    """The JSON that other programs rely on, the figure, and what is printed."""
    json_file, plot = tmp_path / "e.json", tmp_path / "e.png"
    printed = run_well(
        "evaluate", DR1, "--faint", "0.5", "--methods", "logistic,svm", "--json", json_file,
        "--plot", plot, *THREE,
    )  # fmt: skip
    result = json.loads(json_file.read_text())
    assert (result["protocol"], result["catalog"], result["later"]) == ("faint", DR1.name, None)
    assert set(result["methods"]) == {"logistic", "svm"}
    scores = result["methods"]["logistic"]
    assert {"nll", "nll_se", "error", "ece", "brier", "seconds", "n", "per_class"} <= set(scores)
    assert scores["n"] == result["n"] == 1031
    assert {"precision", "recall", "n"} <= set(scores["per_class"]["psr"])
    assert scores["class_priors"] == "trained"
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "the faintest 50% of each class, learned from the others: 1031 sources" in " ".join(printed.split())


def test_folds_say_where_they_are():
    """A line for each stage, where standard error is no terminal; none with --quiet."""
    arguments = ("evaluate", DR4, "--folds", "3", "--methods", "logistic,svm", *THREE)
    done = run(*arguments)
    stages = ["logistic, 0", "logistic, 1", "logistic, 2", "svm, 3", "svm, 4", "svm, 5"]
    assert done.stderr.splitlines() == [f"fermiclass: {stage} of 6 done" for stage in stages]
    assert "in 3 folds: 2630 sources" in " ".join(done.stdout.split())
    quiet = run("evaluate", DR4, "--folds", "2", "--methods", "logistic", *THREE, "--quiet")
    assert (quiet.stderr, quiet.stdout) == ("", "")


def test_counterparts_of_the_later_release_are_found(tmp_path):
    """A table that has the later counterparts among others lowers the loss, and its candidates are those objects."""
    later, earlier = read_catalog(DR4), tmp_path / "earlier.fits"
    table, json_file, config = tmp_path / "c.csv", tmp_path / "e.json", tmp_path / "c.toml"
    known = np.isfinite(later.column("RA_Counterpart")) & np.isin(later.classes, ["bll", "fsrq", "bcu"])
    with fits.open(DR4) as hdus:  # the same list before a tenth of its AGN had an association
        hdus[1].data["CLASS1"][np.flatnonzero(known)[::10]] = ""
        hdus.writeto(earlier)
    objects = {"ra": later.column("RA_Counterpart")[known], "dec": later.column("DEC_Counterpart")[known]}
    Table(objects).write(table)
    config.write_text('features = "six"\n[settings]\nsteps = 40\nnum_inducing = 15\n')
    printed = run_well(
        "evaluate", earlier, "--open", DR4, "--counterparts", table, "--config", config, "--json", json_file
    )  # fmt: skip
    found = json.loads(json_file.read_text())
    without, with_table = (found["methods"][name]["nll"] for name in ("default", "default+counterparts"))
    assert with_table < 0.9 * without
    best = found["counterparts"][-1]
    assert best["same"] > 20 > 10 * best["other"]
    assert best["number"] == best["same"] + best["other"] + best["undecided"]
    assert "Counterparts change the NLL of all scored sources by -" in " ".join(printed.split())


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [("--open", DR4), ("--faint", "0.9")])
def test_the_default_is_the_model_of_classify(tmp_path, protocol):
    json_file = tmp_path / "e.json"
    run_well("evaluate", DR1, *protocol, "--json", json_file, "--seed", "2")
    found = json.loads(json_file.read_text())
    assert list(found["methods"]) == ["default"]
    about = found["methods"]["default"]
    settings = {name: about["settings"][name] for name in ("method", "objective", "batch_size", "random_state")}
    assert settings == {"method": "nimgp-fo", "objective": "predictive", "batch_size": 512, "random_state": 2}
    assert about["class_priors"] == "selection"
    assert about["nll"] < 1.2


def test_baselines_in_the_open_world(tmp_path):
    json_file = tmp_path / "e.json"
    printed = run_well(
        "evaluate", DR1, "--open", DR4, "--methods", "logistic,svm-four,logistic+gas:spiders,svm+gas:spiders",
        "--json", json_file, "--plot", tmp_path / "e.png",
    )  # fmt: skip
    found = json.loads(json_file.read_text())
    assert list(found["methods"]) == [
        "logistic",
        "svm-four",
        "logistic+gas:spiders",
        "svm+gas:spiders",
        "mean+gas:spiders",
    ]
    assert found["found"]["pulsar|other"] + found["found"]["agn"] == found["n"]
    assert f"{found['gone']} unassociated sources have none" in " ".join(printed.split())
    about = found["methods"]["logistic+gas:spiders"]
    face, spiders = (about[reading]["candidates"]["pulsar"] for reading in ("face", "spiders"))
    for a, b in zip(face, spiders, strict=True):
        assert a["n"] == b["n"]
        assert a["purity"] is None or a["purity"] <= b["purity"]
    assert face[0]["purity"] == about["face"]["per_class"]["pulsar"]["n"] / found["n"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--methods", "logistic,svm,logistic"), "the method 'logistic' is named more than once"),
        (("--folds", "3", "--methods", "svm:spiders"), "is for --open"),
        (("--methods", "magic"), "choose among default, mgp, nimgp"),
        (("--cells", "even"), r"cells and targets are for an open world \(--open\)"),
    ],
)
def test_what_it_refuses(tmp_path, options, message):
    refuses(tmp_path, message, "evaluate", DR1, *options)
