"""The cart-pole: that it moves as it should, what is drawn, and what is measured."""

import numpy as np
import pytest
from rich.console import Console

from fermiclass.benchmarks import cartpole


def accelerations(state):
    return (cartpole.next_state(state) - state[:, :4])[:, [1, 3]].T / 0.1


def test_it_obeys_the_equations_of_motion():
    """Momentum along the track, and angular momentum of the rod about its end."""
    state = np.random.default_rng(0).uniform(-3, 3, (50, 5))
    _, _, angle, spin, force = state.T
    push, turn = accelerations(state)
    np.testing.assert_allclose(1.1 * push + 0.05 * (turn * np.cos(angle) - spin**2 * np.sin(angle)), force, atol=1e-10)
    np.testing.assert_allclose(4 / 3 * 0.5 * turn, 9.8 * np.sin(angle) - push * np.cos(angle), atol=1e-10)


def test_where_it_stands_still():
    still = np.zeros((2, 5))
    still[1, 2] = np.pi
    np.testing.assert_allclose(cartpole.next_state(still), still[:, :4], atol=1e-12)


def test_positions_follow_velocities():
    state = np.array([[1.0, 2.0, 0.5, -3.0, 0.0]])
    np.testing.assert_allclose(cartpole.next_state(state)[0, [0, 2]], [1.2, 0.2])


def test_what_is_drawn():
    data = cartpole.draw(5000, np.random.default_rng(1))
    assert data.X.shape == data.X_var.shape == (5000, 5)
    assert data.Y.shape == data.Y_var.shape == (5000, 4)
    assert np.sqrt(data.X_var).max() == pytest.approx(2.5, abs=0.01)
    assert np.sqrt(data.Y_var).max() == pytest.approx(2.5, abs=0.01)
    expected = np.array([10, 10, np.pi, 10, 10]) ** 2 / 3 + 2.5**2 / 3
    np.testing.assert_allclose(data.X.var(axis=0), expected, rtol=0.05)


@pytest.mark.filterwarnings("ignore:the best of 1 starts is not at a maximum")
def test_what_is_measured(monkeypatch):
    monkeypatch.setattr(cartpole, "PROBLEMS", {"15": 15})
    results = cartpole.run(num_sets=1, problems=("15",))
    assert list(results["cells"]["15"]) == list(cartpole.METHODS)
    for score in results["cells"]["15"].values():
        assert len(score["mse"]) == len(score["mse_se"]) == 4
        assert all(0 < value < 100 for value in score["mse"])
    console = Console(width=110, highlight=False)
    with console.capture() as capture:
        cartpole.print_results(results, console)
    assert "angular velocity" in capture.get()
    assert "…" not in capture.get()
    drawn = cartpole.figure(results)
    assert [axes.get_title() for axes in drawn.axes] == list(cartpole.OUTPUTS)
    assert [len(axes.containers) for axes in drawn.axes] == [3] * 4
