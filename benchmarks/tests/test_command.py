"""``fermiclass benchmark`` as a user runs it: a process of its own, on the real data."""

import json
import re
import shlex

import pytest

from fermiclass.errors import BenchmarkError
from fermiclass_benchmarks import harness
from fermiclass_benchmarks.benchmark import Benchmark
from tests.commands import imported_by, refuses, run, run_well
from tests.conftest import REPOSITORY

_MEANS = ("nll", "error", "seconds")
FIGURES = {"confusion", "settings", *_MEANS, *(f"{name}_se" for name in _MEANS)}


def documented():
    """The commands of the documents, without the name of the command."""
    notes = REPOSITORY / "docs" / "development"
    text = "".join((notes / name).read_text() for name in (*notes.glob("*paper*.md"), "training.md"))
    return re.findall(r"^    fermiclass benchmark (.*)$", text.replace("\\\n", " "), re.MULTILINE)


@pytest.fixture
def planned(monkeypatch):
    """The estimators of a command, which does no work."""
    estimators = []

    def plan(benchmark, of_cells, num_splits, **_):
        estimators.extend(of_cells.values())
        raise BenchmarkError("no work")

    monkeypatch.setattr(harness, "run", plan)
    monkeypatch.setattr(Benchmark, "check_data", lambda self, cells: None)
    return estimators


@pytest.fixture
def data(shared_data):
    return shared_data / "data"


def test_help_does_without_tensorflow():
    assert not {"tensorflow", "gpflow", "pandas", "sklearn"} & imported_by("benchmark", "--help")[1]


def test_one_cell(tmp_path, data):
    """The JSON that other programs rely on, and what is printed."""
    output = tmp_path / "results.json"
    printed = run_well(
        "benchmark", "astro454", "--data", data, "--methods", "logistic,logistic-squares", "--splits", "3",
        "--json", output,
    )  # fmt: skip
    results = json.loads(output.read_text())
    assert set(results) == {"benchmark", "splits", "methods", "command", "versions"}
    assert (results["benchmark"], results["splits"]) == ("astro454", 3)
    assert results["command"] == {"name": "astro454", "methods": "logistic,logistic-squares", "splits": 3}
    assert {"python", "fermiclass", "tensorflow", "numpy"} <= set(results["versions"])
    first, second = results["methods"].values()
    assert set(first) == FIGURES
    assert set(second) == FIGURES | {"nll_above_first", "nll_above_first_se"}
    assert 0.1 < first["nll"] < 0.3
    assert sum(map(sum, first["confusion"]["predicted_by_true"])) == pytest.approx(46)
    assert re.search(rf"logistic +{first['nll']:.4f} ± {first['nll_se']:.4f}", printed)
    assert "Means over 3 splits" in printed


def test_wrong_labels(tmp_path, data):
    """Ours find them; without TensorFlow, and quickly."""
    output, records = tmp_path / "results.json", tmp_path / "records.jsonl"
    printed = run_well(
        "benchmark", "rmgpc", "--data", data, "--datasets", "wine", "--noise", "0.1", "--splits", "2",
        "--methods", "rmgpc,logistic", "--json", output, "--results", records,
    )  # fmt: skip
    robust, logistic = json.loads(output.read_text())["methods"].values()
    assert set(robust) == FIGURES | {"bcr", "bcr_se", "found", "published"}
    assert set(logistic) == FIGURES | {"bcr", "bcr_se", "nll_above_first", "nll_above_first_se"}
    assert robust["published"] == {"bcr": 0.97}
    assert robust["bcr"] > 0.9
    assert robust["found"] >= 0.8
    assert re.search(r"BCR +paper +found", printed)
    lines = list(map(json.loads, records.read_text().splitlines()))
    for line in lines[1:]:
        assert 0 < line["wrong"] <= 12
        assert ("found" in line) == (line["method"] == "rmgpc")


@pytest.mark.slow
def test_our_methods(tmp_path, data):
    output = tmp_path / "results.json"
    printed = run_well(
        "benchmark", "astro454", "--data", data, "--methods", "default,default:mgp", "--splits", "1", "--json", output
    )
    figures = json.loads(output.read_text())["methods"]
    assert figures["default"]["settings"]["method"] == "nimgp-fo"
    assert figures["default"]["settings"]["objective"] == "predictive"
    assert figures["default:mgp"]["settings"]["method"] == "mgp"
    assert all(0.05 < of_one["nll"] < 0.4 for of_one in figures.values())
    assert figures["default"]["nll"] != figures["default:mgp"]["nll"]
    assert "default:mgp" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("astro454", "--data", "nowhere"), "cannot be read from '.*nowhere.* --data"),
        (("uci",), "'glass' of the benchmark 'uci' cannot be read from '.*uci/glass'.*--data"),
        (("nothing",), "Invalid value for .*'nothing' is not one of"),
        (("toy", "--methods", "magic"), "the method 'magic' is unknown: choose among mgp, nimgp"),
        (("toy", "--methods", "mgp,svm,mgp"), "'mgp' is named more than once"),
        (("toy", "--noise", "0.1"), "the benchmark 'toy' has no option --noise"),
        (("cartpole", "--paper", "--per-round", "2"), "the benchmark 'cartpole' has no option --paper, --per-round"),
        (("toy", "--kernel", "se+rbf"), r"Invalid value for '--kernel': 'se\+rbf' is not a sum of some of se, linear"),
        (("synthetic", "--plot", "a.png"), "the benchmark 'synthetic' has no option --plot"),
        (("toy", "--results", "nowhere/r.jsonl"), "there is no folder '.*nowhere'"),
        (("toy", "--quick"), "the benchmark 'toy' has no option --quick"),
        (("all", "--papers", "main"), "give --results"),
        (
            ("all", "--papers", "wrong-labels", "--results", "."),
            "no table of the paper 'wrong-labels' was filled: give its",
        ),
        (("all", "--papers", "main", "--results", "nowhere/r"), "cannot write 'nowhere/r': No such file"),
        (("all", "--papers", "main", "--results", ".", "--methods", "mgp"), "'all' has no option --methods"),
    ],
)
def test_bad_arguments(tmp_path, arguments, message):
    refuses(tmp_path, message, "benchmark", *arguments)


@pytest.mark.parametrize(
    ("command", "is_paper"), [("astro454", True), ("astro454 --fast", False), ("toy", False), ("toy --paper", True)]
)
def test_which_optimiser_a_command_has(planned, data, command, is_paper):
    run("benchmark", *command.split(), "--methods", "nimgp", *(("--data", data) if "astro" in command else ()))
    (estimator,) = planned
    assert (estimator.batch_size is not None, estimator.training["decay"]) == (is_paper, not is_paper)


@pytest.mark.parametrize("command", documented(), ids=lambda command: command[:60])
def test_documented_commands_are_understood(planned, tmp_path, command):
    """Up to the work: options, data sets, methods and settings."""
    (tmp_path / "docs" / "figures").mkdir(parents=True)
    (tmp_path / "FOLDER").mkdir()
    run("benchmark", *shlex.split(command), "--quiet", cwd=tmp_path)
    assert planned
