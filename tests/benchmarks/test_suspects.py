"""Rankings of labels, on real catalogues."""

import json
import re

import numpy as np
import pytest

from fermiclass.analysis.outliers import default_estimator
from fermiclass.benchmarks import suspects
from fermiclass.errors import BenchmarkError
from tests.commands import run as run_command
from tests.conftest import REPOSITORY

CATALOGUES = REPOSITORY / "catalogs"
METHODS = ["outliers", "forest", "boosting", "logistic"]


@pytest.fixture(scope="module")
def results():
    """One seed, with a classifier that learns for a few steps."""
    patched = pytest.MonkeyPatch()
    patched.setattr(suspects, "SHARES", (0.05,))
    patched.setattr(suspects, "_PEERS", ("forest", "logistic"))
    seen = []
    found = suspects.run(
        CATALOGUES,
        seeds=1,
        estimator=default_estimator(steps=60, num_inducing=15, num_draws=16),
        progress=lambda *state: seen.append(state),
    )
    patched.undo()
    return found, seen


def test_labels_are_replaced_by_another_class():
    y = np.array(["bll", "fsrq", "psr"] * 100)
    labels = suspects.replaced(y, 0.1, np.random.default_rng(1))
    assert np.sum(labels != y) == 30
    assert set(labels) == {"bll", "fsrq", "psr"}
    assert set(labels[y == "psr"][labels[y == "psr"] != "psr"]) == {"bll", "fsrq"}


def test_wrong_labels_stand_far_ahead_of_chance(results):
    found, seen = results
    scores = found["planted"]["0.05"]
    for method in ("outliers", "forest", "logistic"):
        assert 0.5 < scores[method]["average_precision"] < 1.0  # 0.05 by chance
    lead = scores["outliers"]["average_precision"] - scores["forest"]["average_precision"]
    assert scores["forest"]["ours_ahead"] == pytest.approx(lead)
    assert scores["outliers"]["ours_ahead"] == 0.0
    assert seen == [(k, 6) for k in range(1, 7)]


def test_changed_sources_are_those_of_two_releases(results):
    from fermiclass import read_catalog
    from fermiclass.evaluation.crossmatch import match_sources

    changed = results[0]["changed"]
    earlier, later = (read_catalog(CATALOGUES / f"4FGL-{name}.fits.gz") for name in ("DR1", "DR4"))
    counterpart = dict(zip(earlier.names, match_sources(earlier, later)[0], strict=True))
    assert 5 <= len(changed["sources"]) <= 20
    for source in changed["sources"]:
        assert source["earlier"] != source["later"]
        assert counterpart[source["name"]] >= 0
        assert str(later.classes[counterpart[source["name"]]]) == source["later"]
        assert all(0 < value < 100 for value in source["percentile"].values())
    for method, mean in changed["mean_percentile"].items():
        assert mean == pytest.approx(np.mean([source["percentile"][method] for source in changed["sources"]]))
        assert mean > 55  # 50 by chance


def test_what_is_printed(results, capsys):
    suspects.print_suspects(results[0])
    printed = capsys.readouterr().out
    assert "5 % replaced" in " ".join(printed.split())
    assert len(re.findall("→", printed)) == len(results[0]["changed"]["sources"])
    assert json.loads(json.dumps(results[0])) == results[0]


def test_without_catalogues(tmp_path):
    with pytest.raises(BenchmarkError, match=r"needs 4FGL-DR1.fits.gz, which is not in"):
        suspects.run(tmp_path)
    done = run_command("benchmark", "outliers", "--data", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--data" in done.stderr
    assert "Traceback" not in done.stderr
    done = run_command("benchmark", "outliers", "--methods", "mgp")
    assert done.returncode == 2
    assert "has no option --methods" in " ".join(done.stderr.split())
