"""``fermiclass evaluate`` as a user runs it: a process of its own, on the real catalogues."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from fermiclass.catalog import DEFAULT_CLASSES, ClassGrouping
from tests.commands import run, run_well
from tests.conftest import slim_path

THREE = ("--classes", "bll,fsrq,psr", "--features", "extended")
DR1, DR4 = slim_path("4FGL-DR1"), slim_path("4FGL-DR4")


def test_evaluate_across_releases(tmp_path):
    """On DR1 -> DR4 with cheap baselines: the JSON that other programs rely on, the figure, and what is printed."""
    json_file, plot = tmp_path / "e.json", tmp_path / "e.png"
    printed = run_well(
        "evaluate", DR1, "--future", DR4, "--methods", "logistic,svm", "--json", json_file,
        "--plot", plot, *THREE,
    )  # fmt: skip
    result = json.loads(json_file.read_text())
    assert {"catalog", "protocol", "n", "methods", "likelihood"} <= set(result)
    assert set(result["methods"]) == {"logistic", "logistic+shares", "svm", "svm+shares"}
    scores = result["methods"]["logistic"]
    assert {"nll", "nll_se", "error", "ece", "brier", "fit_seconds", "predict_seconds", "n", "per_class"} <= set(scores)
    assert scores["n"] == result["n"] == 310
    assert scores["unassociated"]["n"] == 67
    assert set(scores["per_class"]["psr"]) >= {"precision", "recall", "n"}
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "310 sources" in printed


def test_evaluate_by_folds():
    printed = run_well("evaluate", DR4, "--folds", "3", "--methods", "logistic", *THREE)
    assert "3 folds: 2630 sources" in " ".join(printed.split())


def test_evaluate_says_where_it_is():
    """A line for each stage, where standard error is no terminal; none with --quiet."""
    arguments = ("evaluate", DR4, "--folds", "3", "--methods", "logistic,svm", *THREE)
    lines = run(*arguments).stderr.splitlines()
    stages = ["logistic, 0", "logistic, 1", "logistic, 2", "svm, 3", "svm, 4", "svm, 5"]
    assert lines == [f"fermiclass: {stage} of 6 done" for stage in stages]
    assert run(*arguments, "--quiet").stderr == ""


def test_evaluate_of_the_default_counts_sources_of_one_class_each(tmp_path, dr4):
    """AGN that are bll or fsrq, but of unknown type, are not among the learned and scored ones."""
    json_file = tmp_path / "e.json"
    run_well("evaluate", DR4, "--folds", "3", "--methods", "logistic", "--json", json_file)
    found = json.loads(json_file.read_text())
    y = ClassGrouping.parse(DEFAULT_CLASSES).assign(dr4.classes)
    assert found["classes"] == ["bll", "fsrq", "psr", "other"]
    assert found["n"] == np.isin(y, found["classes"]).sum() < np.sum(y != "")
    assert len(found["features"]) == 18


def test_evaluate_from_bright_to_faint():
    printed = run_well("evaluate", DR1, "--faint", "0.5", "--methods", "logistic", *THREE)
    assert "the faintest 50% of each class, learned from the others: 1031 sources" in " ".join(printed.split())


@pytest.fixture(scope="module")
def side_by_side(tmp_path_factory):
    """Two sets of features with both own methods and cheap baselines: JSON, and what an 80-column terminal shows."""
    json_file = tmp_path_factory.mktemp("evaluation") / "e.json"
    printed = run_well(
        "evaluate", DR1, "--future", DR4, "--features", "six", "--features", "LP_beta,LP_Index",
        "--methods", "nimgp,mgp,logistic,svm+unc", "--json", json_file, *THREE[:2], env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip
    return json.loads(json_file.read_text()), printed


@pytest.mark.slow
def test_evaluate_feature_sets_side_by_side(side_by_side):
    found, printed = side_by_side
    assert {label: len(names) for label, names in found["features"].items()} == {"six": 6, "list1": 2}
    assert set(found["methods"]) == {
        f"{method}@{features}{correction}"
        for method in ("nimgp", "mgp", "logistic", "svm+unc")
        for features in ("six", "list1")
        for correction in ("", "+shares")
    }
    assert {method["n"] for method in found["methods"].values()} == {310}
    assert {method["unassociated"]["n"] for method in found["methods"].values()} == {67}
    assert max(map(len, printed.splitlines())) <= 80
    for group in ("@six", "@six+shares", "@list1", "@list1+shares"):
        assert re.search(rf"^ {re.escape(group)} *$", printed, re.MULTILINE)


@pytest.mark.slow
def test_evaluate_tells_own_methods_against_baselines(side_by_side):
    found, printed = side_by_side
    methods = found["methods"]
    assert set(found["versus_peers"]) == {name for name, method in methods.items() if not method["is_peer"]}
    against = found["versus_peers"]["nimgp@six+shares"]
    as_used = {name: m["nll"] for name, m in methods.items() if m["is_peer"] and not m["correction"]}
    assert against["as_used"]["all"]["peer"] == min(as_used, key=as_used.get)
    alike = {name: methods[name]["unassociated"]["nll"] for name in ("logistic@six+shares", "svm+unc@six+shares")}
    row = against["like_for_like"]["unassociated"]
    assert row["peer"] == min(alike, key=alike.get)
    assert row["difference"] == pytest.approx(methods["nimgp@six+shares"]["unassociated"]["nll"] - alike[row["peer"]])
    assert row["n"] == 67
    assert f"{row['difference']:+.3f}±{row['se']:.3f}" in printed


@pytest.mark.slow
def test_evaluate_tells_what_input_noise_and_shares_change(side_by_side):
    found, printed = side_by_side
    pairs = {row["method"]: row for row in found["input_noise"]}
    assert pairs["nimgp@six"]["other"] == "mgp@six"
    bins = pairs["nimgp@six"]["by_significance"]
    assert sum(row["n"] for row in bins) == 310
    for row, nimgp, mgp in zip(
        bins, *(found["methods"][name]["by_significance"] for name in ("nimgp@six", "mgp@six")), strict=True
    ):
        assert row["difference"] == pytest.approx(nimgp["nll"] - mgp["nll"])
    assert " ".join(f"{row['difference']:+.3f}" for row in bins) in printed
    shares = found["methods"]["nimgp@six+shares"]["shares"]["bcu"]
    assert " ".join(f"{share['mean']:.3f}±{share['std']:.3f}" for share in shares.values()) in printed
    effect = found["correction"]["nimgp@six+shares"]
    assert effect["all"]["difference"] < 0
    assert f"({effect['all']['difference']:+.3f}±" in printed


@pytest.mark.slow
def test_evaluate_shows_all_baselines_if_asked():
    methods = ("--methods", "logistic,svm,logistic-squares,logistic+unc,svm+unc")
    arguments = ("evaluate", DR1, "--faint", "0.3", *methods, *THREE[:2])
    sets = [argument for name in ("LP_beta", "LP_Index", "Npred", "GLAT", "six") for argument in ("--features", name)]
    some, every = (run_well(*arguments, *sets, *option) for option in ((), ("--all",)))
    assert "10 more rows of baselines" in " ".join(some.split())
    assert "more rows" not in every
    main, every_main = (text[: text.index("perfectly calibrated")] for text in (some, every))
    assert (main.count("±"), every_main.count("±")) == (15, 25)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (("six", "six"), "features 'six' are named more than once: name each set once"),
        (("six", "LP_betta"), "unknown feature 'LP_betta'. Did you mean LP_beta"),
    ],
)
def test_evaluate_refuses_feature_sets(tmp_path, features, message):
    options = [argument for name in features for argument in ("--features", name)]
    done = run("evaluate", DR1, "--folds", "2", "--methods", "logistic", *options, "--json", "e.json", cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_methods_are_named_once(tmp_path):
    done = run("evaluate", DR1, "--methods", "logistic,svm,logistic", cwd=tmp_path)
    assert done.returncode == 2
    assert "the method 'logistic' is named more than once" in done.stderr


@pytest.mark.slow
def test_evaluate_with_temperature(tmp_path):
    """The temperature changes the probabilities and hardly the class; its methods are variants like all others."""
    json_file = tmp_path / "e.json"
    run_well(
        "evaluate", DR1, "--future", DR4, "--features", "LP_beta,LP_Index", "--min-significance", "30",
        "--methods", "mgp,mgp+temperature", "--json", json_file, *THREE[:2],
    )  # fmt: skip
    found = json.loads(json_file.read_text())
    methods = found["methods"]
    names = ("mgp", "mgp+temperature")
    assert set(methods) == {f"{name}{correction}" for name in names for correction in ("", "+shares")}
    for name in names:
        described = methods[f"{name}+shares"]
        assert (described["method"], described["correction"], described["is_peer"]) == (name, "shares", False)
    plain, scaled = methods["mgp"], methods["mgp+temperature"]
    assert scaled["nll"] != plain["nll"]
    assert scaled["error"] == pytest.approx(plain["error"], abs=0.02)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--methods", "nimgp+temperature", "--likelihood", "step"),
            "'nimgp+temperature' is not possible with the likelihood step",
        ),
        (("--methods", "svm+temperature"), "the method 'svm+temperature' is unknown"),
    ],
)
def test_temperature_where_it_does_not_apply(options, message):
    done = run("evaluate", DR1, *options)
    assert done.returncode == 2
    assert message in done.stderr


def test_evaluate_ood(tmp_path):
    json_file = tmp_path / "ood.json"
    printed = run_well("evaluate", DR1, "--ood", *THREE[2:], "--json", json_file, env={**os.environ, "COLUMNS": "80"})
    found = json.loads(json_file.read_text())
    assert (found["catalog"], found["n"]) == ("4FGL-DR1.fits.gz", 2325)
    assert "novel classes" in found["protocol"]
    assert found["auc"] > 0.8
    assert max(map(len, printed.splitlines())) <= 80
    said = " ".join(printed.split())
    assert f"all {found['auc']:.3f}±{found['auc_se']:.3f} 261 2064" in said
    assert "OOD_SCORE is the out-of-distribution score: the fraction of training sources" in said
    assert (
        f"Sources of psr are scattered: half of the held-out ones score above {found['median_score']['psr']:.2f}"
        in said
    )
    assert "Sources of bll" not in said


@pytest.mark.slow
def test_evaluate_ood_of_several_feature_sets(tmp_path):
    options = ("--classes", "agn=bll+fsrq,psr", "--min-significance", "7", "--seed", "1")
    sets = ("--features", "six", "--features", "LP_beta,LP_Index")
    json_file, alone = tmp_path / "ood.json", tmp_path / "alone.json"
    printed = run_well("evaluate", DR1, "--ood", *sets, *options, "--json", json_file)
    assert run_well("evaluate", DR1, "--ood", *sets[:2], *options, "--json", alone, "--quiet") == ""
    found = json.loads(json_file.read_text())
    assert list(found) == ["six", "list1"]
    assert found["six"] == json.loads(alone.read_text())
    assert found["six"]["n"] == found["list1"]["n"]
    assert (found["list1"]["classes"], found["list1"]["features"]) == (["agn", "psr"], ["LP_beta", "LP_Index"])
    assert (found["list1"]["seed"], found["list1"]["min_significance"]) == (1, 7)
    said = " ".join(printed.split())
    assert said.index("6 features (six)") < said.index("2 features (LP_beta,LP_Index)")


def test_evaluate_ood_does_without_tensorflow():
    script = (
        "import sys; sys.argv = ['fermiclass', 'evaluate', sys.argv[1], '--ood', '--quiet']\n"
        "from fermiclass.cli.app import main\n"
        "try: main()\n"
        "except SystemExit as stop: assert not stop.code\n"
        "assert not {'tensorflow', 'gpflow'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(DR1)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--future", DR4), "leave out --future"),
        (("--folds", "5"), "leave out --folds"),
        (("--faint", "0.5", "--methods", "nimgp", "--peers"), "leave out --faint, --methods, --peers"),
        (("--all", "--likelihood", "softmax", "--plot", "e.png"), "leave out --likelihood, --all, --plot"),
        (("--json", "no/ood.json"), "there is no folder"),
        (("--features", "six", "--features", "six"), "features 'six' are named more than once"),
        (("--features", "six", "--features", "LP_betta", "--json", "ood.json"), "unknown feature 'LP_betta'"),
        (("--classes", "bll,psr,other"), "no source of a class outside"),
    ],
)
def test_evaluate_ood_refuses(tmp_path, options, message):
    done = run("evaluate", DR1, "--ood", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
