"""Training on two devices: logical CPUs, which have to be there before TensorFlow starts, hence other processes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = """
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

method, likelihood, batch_size, devices, path = *sys.argv[1:3], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
if devices > 1:
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * devices)
    strategy = tf.distribute.MirroredStrategy([f"CPU:{k}" for k in range(devices)])
else:
    strategy = tf.distribute.get_strategy()

from fermiclass.nimgp.build import ModelSettings, build_model, weights_of
from fermiclass.nimgp.checkpoints import Checkpoint
from fermiclass.nimgp.feeds import TrainingData
from fermiclass.nimgp.training import TrainingSettings, train

rng = np.random.default_rng(0)
y = rng.integers(0, 3, 60)
X = np.array([[0.0, 1.5], [1.5, -1.0], [-1.5, -1.0]])[y] + 0.5 * rng.normal(size=(60, 2))
data = TrainingData(X, np.full_like(X, 0.1), y)
with strategy.scope():
    assert tf.distribute.get_strategy().num_replicas_in_sync == devices
    model = build_model(ModelSettings(method, likelihood), X[:8], num_classes=3, num_data=60)
    settings = TrainingSettings(40, batch_size or None, 0.05)
    kept = Checkpoint(Path(path + ".checkpoint.npz"), {}, seconds=0)
    elbo = [state.elbo for state in train(model, data, settings, checkpoint=kept)]
    again = [state.step for state in train(model, data, settings, checkpoint=kept)]
    assert again == [40]  # where it was, and no step more
np.savez(path, elbo=elbo, **weights_of(model))
"""


def run(folder: Path, method: str, likelihood: str, batch_size: int, devices: int) -> dict[str, np.ndarray]:
    path = folder / f"{method}-{devices}.npz"
    command = [sys.executable, "-c", SCRIPT, method, likelihood, str(batch_size), str(devices), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    with np.load(path) as file:
        return dict(file)


@pytest.mark.parametrize("batch_size", [0, 20], ids=["all", "minibatch"])
def test_two_devices_do_what_one_does(tmp_path, batch_size):
    """Without draws, the parts of a minibatch add up to the whole."""
    one, two = (run(tmp_path, "mgp", "softmax-bound", batch_size, devices) for devices in (1, 2))
    for name, values in one.items():
        # Adam turns the rounding of gradients near zero into steps: not the last digits, but the same place.
        np.testing.assert_allclose(two[name], values, rtol=1e-3, atol=3e-3, err_msg=name)


def test_every_source_has_its_own_parameters_on_every_device(tmp_path):
    two = run(tmp_path, "nimgp", "softmax", 0, 2)
    assert two["elbo"][-1] > two["elbo"][0] + 5
