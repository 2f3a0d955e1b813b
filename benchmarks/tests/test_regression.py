"""Regression with uncertain inputs: the functions, what is drawn, and what is measured."""

import numpy as np
import pytest

from fermiclass_benchmarks import regression
from fermiclass_benchmarks.harness import run
from fermiclass_benchmarks.methods import MethodOptions
from fermiclass_benchmarks.regression import OUTPUTS, CartPole, SincSig


def test_the_function_sincsig():
    x = np.array([-1e4, -10.0, -0.5, -1e-9, 0.0, np.pi / 2, np.pi])
    np.testing.assert_allclose(regression.sincsig(x), [0.5, 0.5, 0.75, 0.99665, 1.0, 2 / np.pi, 0.0], atol=1e-5)


def test_the_noise_of_sincsig():
    rng = np.random.default_rng(0)
    first = regression.draw_sincsig(4000, rng, bound=2.5, output_std=0.1)
    assert first.Y_var is None
    assert first.X.shape == first.X_var.shape == (4000, 1)
    assert np.sqrt(first.X_var).max() == pytest.approx(2.5, abs=0.01)
    assert first.X.var() == pytest.approx(400 / 12 + 2.5**2 / 3, rel=0.05)
    third = regression.draw_sincsig(4000, rng, bound=0.4, output_std=(0.2, 0.5))
    assert np.sqrt(third.Y_var).min() == pytest.approx(0.2, abs=0.01)
    assert np.sqrt(third.Y_var).max() == pytest.approx(0.5, abs=0.01)
    assert np.sqrt(third.X_var).max() == pytest.approx(0.4, abs=0.01)


def accelerations(state):
    return (regression.next_state(state) - state[:, :4])[:, [1, 3]].T / 0.1


def test_it_obeys_the_equations_of_motion():
    """Momentum along the track, and angular momentum of the rod about its end."""
    state = np.random.default_rng(0).uniform(-3, 3, (50, 5))
    _, _, angle, spin, force = state.T
    push, turn = accelerations(state)
    np.testing.assert_allclose(regression.next_state(state)[:, [0, 2]], state[:, [0, 2]] + 0.1 * state[:, [1, 3]])
    np.testing.assert_allclose(1.1 * push + 0.05 * (turn * np.cos(angle) - spin**2 * np.sin(angle)), force, atol=1e-10)
    np.testing.assert_allclose(4 / 3 * 0.5 * turn, 9.8 * np.sin(angle) - push * np.cos(angle), atol=1e-10)


def test_what_is_drawn():
    data = regression.draw_cartpole(5000, np.random.default_rng(1))
    assert data.X.shape == data.X_var.shape == (5000, 5)
    assert data.Y.shape == data.Y_var.shape == (5000, 4)
    assert np.sqrt(data.X_var).max() == pytest.approx(2.5, abs=0.01)
    assert np.sqrt(data.Y_var).max() == pytest.approx(2.5, abs=0.01)
    expected = np.array([10, 10, np.pi, 10, 10]) ** 2 / 3 + 2.5**2 / 3
    np.testing.assert_allclose(data.X.var(axis=0), expected, rtol=0.05)


def run_small(benchmark, cell):
    estimators = {(cell, method): benchmark.estimator(cell, method, MethodOptions()) for method in benchmark.methods}
    return run(benchmark, estimators, 1).set_index("method")


@pytest.mark.parametrize("cell", ["15", "known/15", "15/0.1"])
def test_what_is_measured_of_sincsig(monkeypatch, cell):
    monkeypatch.setattr(SincSig, "cells", ("15", "known/15", "15/0.1"))
    records = run_small(SincSig(), cell)
    white = {settings.get("noise_variance") for settings in records["settings"][:3]}
    assert white == {0.0 if cell == "known/15" else "learned"}
    assert np.all(records["mse"] > 0)
    assert np.isfinite(records["log_density"]).tolist() == [True, True, True, False]  # the network has none
    assert not records["settings"].map(lambda settings: settings == {}).any()


@pytest.mark.filterwarnings("ignore:the best of 1 starts is not at a maximum")
def test_what_is_measured_of_the_cart_pole():
    records = run_small(CartPole(), "15")
    assert np.all((records[list(OUTPUTS)] > 0) & (records[list(OUTPUTS)] < 100))
