"""Counts and outliers against a noisy predictor: what is drawn, what is measured, and that a stopped run goes on."""

import numpy as np
import pytest
from rich.console import Console
from scipy.stats import poisson

from fermiclass.benchmarks import noisy_regression
from fermiclass.benchmarks.records import RecordFile
from fermiclass.errors import BenchmarkError


@pytest.fixture
def small(monkeypatch):
    settings = {"num_inducing": 10, "steps": 150, "learning_rate": 0.1, "num_draws": 32}
    monkeypatch.setattr(noisy_regression, "_SETTINGS", settings)


def test_what_is_drawn():
    rng = np.random.default_rng(0)
    counts = noisy_regression.draw("poisson", 20_000, rng)
    assert counts.X.shape == counts.X_var.shape == (20_000, 1)
    assert 0 <= counts.X_var.min() <= counts.X_var.max() <= 1
    sure = counts.X_var[:, 0] < 1e-4
    rate = np.exp(1 + 1.5 * np.sin(1.5 * counts.X[sure, 0]))
    assert np.mean(poisson.logpmf(counts.y[sure], rate)) == pytest.approx(-poisson(rate).entropy().mean(), abs=0.15)
    numbers = noisy_regression.draw("student-t", 20_000, rng)
    sure = numbers.X_var[:, 0] < 1e-4
    off = numbers.y[sure] - 1 - 1.5 * np.sin(1.5 * numbers.X[sure, 0])
    assert np.median(np.abs(off)) == pytest.approx(0.2 * 0.765, rel=0.2)


def test_knowing_the_noise_pays(small, tmp_path, monkeypatch):
    file = tmp_path / "records.jsonl"
    header = {"benchmark": "noisy-regression"}
    done = []

    def run():
        return noisy_regression.run(
            num_sets=1,
            problems=("poisson",),
            file=RecordFile(file, header, needed=noisy_regression.NEEDED),
            progress=lambda k, n: done.append((k, n)),
        )

    results = run()
    assert done == [(0, 2), (1, 2), (2, 2)]
    ignored, known = (results["cells"]["poisson"][method] for method in noisy_regression.METHODS)
    assert set(ignored) == {"log_density", "log_density_se", "seconds"}
    assert known["above_first"] == pytest.approx(known["log_density"] - ignored["log_density"])
    assert known["above_first"] > 0.1
    assert known["better"] == 1
    console = Console(width=100, highlight=False)
    with console.capture() as capture:
        noisy_regression.print_results(results, console)
    assert f"{known['log_density']:.4f}" in capture.get()
    assert "…" not in capture.get()

    def never(*arguments):
        raise AssertionError("done again")

    monkeypatch.setattr(noisy_regression, "_score", never)
    assert run() == results
    with pytest.raises(BenchmarkError, match="holds results of the benchmark 'noisy-regression', not of 'cartpole'"):
        RecordFile(file, {"benchmark": "cartpole"}, needed=noisy_regression.NEEDED).load()
