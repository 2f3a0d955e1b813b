"""The benchmarks of regression as a user runs them: processes of their own, made small."""

import json
import subprocess
import sys

import pytest

from tests.commands import run
from tests.conftest import REPOSITORY

SMALL = {
    "noisy-regression": "m._SETTINGS = {'steps': 2, 'num_inducing': 4}",
    "lp-index": "m.METHODS = ('boosting', 'linear')",
    "cartpole": "m.PROBLEMS = {'12': 12}; m.METHODS = ('classic', 'mlp')",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "arguments", "printed"),
    [
        ("noisy-regression", ["--splits", "1", "--datasets", "poisson"], "poisson"),
        ("lp-index", ["--data", str(REPOSITORY / "catalogs"), "--datasets", "shared errors"], "sources of DR1"),
        ("cartpole", ["--splits", "1", "--datasets", "12", "--plot", "figure.png"], "angular velocity"),
    ],
)
def test_benchmarks(tmp_path, name, arguments, printed):
    script = (
        "import sys\n"
        "sys.argv = ['fermiclass', *sys.argv[1:]]\n"
        f"from fermiclass.benchmarks import {name.replace('-', '_')} as m\n"
        f"{SMALL[name]}\n"
        "from fermiclass.cli.app import main\n"
        "main()"
    )
    command = ["benchmark", name, *arguments, "--json", "out.json", "--results", "kept.jsonl"]
    done = subprocess.run([sys.executable, "-c", script, *command], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout
    results = json.loads((tmp_path / "out.json").read_text())
    assert results["benchmark"] == name
    assert results["command"]["name"] == name
    lines = [json.loads(line) for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    assert lines[0]["benchmark"] == name
    assert len(lines) == 3  # a header, and a record of each method
    if "--plot" in arguments:
        assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cartpole", "--noise", "1"), "the benchmark 'cartpole' has no option --noise"),
        (
            ("cartpole", "--datasets", "7"),
            "the benchmark 'cartpole' has no data set '7': choose among 50, 100, 200, 300",
        ),
        (("cartpole", "--plot", "figure.bmp"), "does not have the ending of a figure format"),
        (("noisy-regression", "--plot", "a.png"), "the benchmark 'noisy-regression' has no option --plot"),
        (("lp-index",), "4FGL-DR1.fits.gz"),
    ],
)
def test_bad_arguments(tmp_path, arguments, message):
    done = run("benchmark", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
