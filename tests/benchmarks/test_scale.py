"""Training from disk at any size: that it runs and counts. No times are tested."""

import numpy as np
import pytest
from rich.console import Console

from fermiclass.benchmarks import scale
from fermiclass.rows import open_rows


@pytest.fixture(scope="module")
def results():
    done = []
    found = scale.run(sizes=(1100, 1200), steps=2, progress=lambda k, n: done.append((k, n)))
    assert done == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]
    return found


def test_what_is_measured(results):
    assert list(results["rows"]) == ["mgp 1100", "mgp 1200", "nimgp-fo 1200", "nimgp-nn 1200"]
    assert results["gpflow-svgp"]["ms"] > 0
    for case in results["rows"].values():
        assert set(case) == {"ms", "rows_per_second", "labels_per_second", "start_seconds", "peak_mb"}
        assert case["rows_per_second"] == pytest.approx(1024 / case["ms"] * 1e3)
        assert case["peak_mb"] > 100


def test_table(results):
    console = Console(width=80, highlight=False)
    with console.capture() as capture:
        scale.print_scale(results, console)
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in capture.get()
    assert any(line.split()[:2] == ["nimgp-nn", "1,200"] for line in lines)


def test_rows_can_be_told_apart(tmp_path):
    path = tmp_path / "rows.parquet"
    scale.write_rows(path, 70_000)
    rows = open_rows(path, ["x0", "x1", "x2"], uncertainties=["Unc_x0", "Unc_x1", "Unc_x2"], label="CLASS1")
    assert rows.num_rows == 70_000
    chunk = rows.read(49_000, 51_000)
    assert set(chunk.y) == {"bll", "fsrq", "psr"}
    assert np.mean(np.array(["bll", "fsrq", "psr"])[chunk.X.argmax(axis=1)] == chunk.y) > 0.7
    assert not np.array_equal(chunk.X[:1000], chunk.X[1000:])
