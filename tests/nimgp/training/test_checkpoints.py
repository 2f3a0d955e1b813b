"""An interrupted training goes on where it was, bit for bit."""

import numpy as np
import pytest

from fermiclass.nimgp.errors import CheckpointError
from fermiclass.nimgp.model import build_model, weights_of
from fermiclass.nimgp.settings import Settings
from fermiclass.nimgp.training import loop
from fermiclass.nimgp.training.checkpoints import Checkpoint
from fermiclass.nimgp.training.loop import StreamedData, TrainingData, maximise
from fermiclass.nimgp.training.optimisers import Schedule
from tests.nimgp.conftest import C, D, M

N, STEPS = 30, 6

pytestmark = pytest.mark.usefixtures("eagerly", "short_calls")


@pytest.fixture
def short_calls(monkeypatch):
    """A state, which can be kept, after every second step; so few need not have risen."""
    monkeypatch.setattr(loop, "_STEPS_PER_CALL", 2)
    monkeypatch.setattr(loop, "_LOW", -np.inf)


@pytest.fixture
def arrays(rng):
    return rng.normal(size=(N, D)), rng.uniform(0.05, 0.3, (N, D)), rng.integers(0, C, N)


def stream(arrays):
    """Batches that depend on nothing but their number."""

    def opened(first):
        step = first
        while True:
            rows = np.random.default_rng([1, step]).permutation(N)[:10]
            yield tuple(a[rows] for a in arrays)
            step += 1

    return StreamedData(opened)


def run(data, checkpoint=None, until=STEPS, gamma=None, method="nimgp-nn"):
    rng = np.random.default_rng(3)
    model = build_model(Settings(method, objective="elbo"), rng.normal(size=(M, D)), num_classes=C, num_data=N)
    settings = Schedule(STEPS, 10, 0.05, mean=gamma is not None, natural_gradient=gamma)
    states = []
    for state in maximise(model, data, settings, checkpoint=checkpoint):
        states.append(state)
        if state.step >= until:
            break
    return weights_of(model), states


def memory(arrays):
    return TrainingData(*arrays)


@pytest.mark.parametrize("gamma", [0.1, None])
@pytest.mark.parametrize("make", [memory, stream])
def test_resumed_training_ends_where_the_other_does(arrays, tmp_path, make, gamma):
    whole, _ = run(make(arrays), gamma=gamma)
    path = tmp_path / "training.npz"
    run(make(arrays), Checkpoint(path, {"N": N}, seconds=0), until=2, gamma=gamma)
    resumed, states = run(make(arrays), Checkpoint(path, {"N": N}), gamma=gamma)
    assert [state.step for state in states] == [2, 4, 6]
    for name, values in whole.items():
        np.testing.assert_array_equal(resumed[name], values)
    again, states = run(make(arrays), Checkpoint(path, {"N": N}), gamma=gamma)  # the last step is written, too
    assert [state.step for state in states] == [6]
    np.testing.assert_array_equal(again["posterior.q_mu"], whole["posterior.q_mu"])
    assert [file.name for file in tmp_path.iterdir()] == ["training.npz"]


@pytest.mark.parametrize("change", [{}, {"format": 4}], ids=["earlier", "later"])
def test_a_checkpoint_of_another_version(arrays, tmp_path, change):
    path = tmp_path / "training.npz"
    run(TrainingData(*arrays), Checkpoint(path, {}, seconds=0), until=2)
    with np.load(path) as saved:
        np.savez(path, **{name: saved[name] for name in saved if name != "format"}, **change)
    with pytest.raises(CheckpointError, match="is a checkpoint of another version of fermiclass: name another file"):
        run(TrainingData(*arrays), Checkpoint(path, {}))


def test_what_is_broken_off_is_written(arrays, tmp_path):
    """All that is done is kept, though it was not yet time to write it."""
    whole, _ = run(TrainingData(*arrays))
    path = tmp_path / "training.npz"

    def broken_off():
        with Checkpoint(path, {}, seconds=1000) as checkpoint:
            run(TrainingData(*arrays), checkpoint, until=4)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    resumed, states = run(TrainingData(*arrays), Checkpoint(path, {}))
    assert [state.step for state in states] == [4, 6]
    for name, values in whole.items():
        np.testing.assert_array_equal(resumed[name], values)


def test_of_another_training(arrays, tmp_path):
    path = tmp_path / "training.npz"
    run(TrainingData(*arrays), Checkpoint(path, {"N": N, "method": "mgp"}, seconds=0), until=2)
    with pytest.raises(CheckpointError, match="of a model of another size"):
        run(TrainingData(*arrays), Checkpoint(path, {"N": N, "method": "mgp"}), method="mgp")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(CheckpointError, match=r"is not a checkpoint, or is damaged \(.*\): remove it"):
        run(TrainingData(*arrays), Checkpoint(path, {"N": N, "method": "mgp"}))
