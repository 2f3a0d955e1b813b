"""Regression on sincsig: the function, the noise, and that it runs and counts."""

import numpy as np
import pytest
from rich.console import Console

from fermiclass.benchmarks import sincsig


@pytest.fixture(scope="module")
def results():
    done = []
    found = sincsig.run(num_sets=1, sizes=(15,), bounds=(0.1,), progress=lambda k, n: done.append((k, n)))
    assert done == [(1, 2), (2, 2)]
    return found


def test_the_function():
    x = np.array([-1e4, -10.0, -0.5, -1e-9, 0.0, np.pi / 2, np.pi])
    np.testing.assert_allclose(sincsig.sincsig(x), [0.5, 0.5, 0.75, 0.99665, 1.0, 2 / np.pi, 0.0], atol=1e-5)


def test_noise():
    rng = np.random.default_rng(0)
    first = sincsig.draw(4000, rng, bound=2.5, output_std=0.1)
    assert first.y_var is None
    assert first.X.shape == first.X_var.shape == (4000, 1)
    assert np.sqrt(first.X_var).max() == pytest.approx(2.5, abs=0.01)
    assert first.X.var() == pytest.approx(400 / 12 + 2.5**2 / 3, rel=0.05)
    third = sincsig.draw(4000, rng, bound=0.4)
    assert np.sqrt(third.y_var).max() == pytest.approx(0.4, abs=0.01)
    assert np.sqrt(third.X_var).max() == pytest.approx(0.4, abs=0.01)


def test_what_is_measured(results):
    assert list(results["cells"]) == ["N = 15", "noise to 0.1"]
    for cell in results["cells"].values():
        assert list(cell) == ["classic", "uncertain", "mixture", "mlp"]
        assert set(cell["mlp"]) == {"mse", "mse_error"}
        for method in sincsig.KERNELS:
            assert cell[method]["mse"] > 0
            assert np.isfinite(cell[method]["log_density"])


def test_table(results):
    console = Console(width=80, highlight=False)
    with console.capture() as capture:
        sincsig.print_sincsig(results, console)
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in capture.get()
    assert sum(line.startswith("noise to 0.1") for line in lines) == 2
