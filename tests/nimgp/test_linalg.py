"""Products with one matrix for a batch of batches, in a process of their own: what goes wrong kills it."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.linalg import matmul, matvec


@pytest.mark.parametrize("classes", [1, 3])
def test_products_are_numpys(classes, rng):
    A, B, b = rng.normal(size=(50, classes, 8, 5)), rng.normal(size=(classes, 4, 5)), rng.normal(size=(classes, 5))
    product, along = A @ np.swapaxes(B, -1, -2), (A @ b[..., None])[..., 0]
    of_A, of_B, of_b, turned = (tf.constant(a) for a in (A, B, b, np.swapaxes(A, -1, -2)))
    np.testing.assert_allclose(matmul(of_A, of_B, transpose_b=True), product, atol=1e-12)
    np.testing.assert_allclose(matvec(of_A, of_b), along, atol=1e-12)
    np.testing.assert_allclose(matvec(turned, of_b, transpose_a=True), along, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["nimgp", "nimgp-fo"])
def test_two_classes_with_onednn(method):
    """One latent function, many sources and many draws, with the products that TensorFlow has by default."""
    script = f"""
import numpy as np
from fermiclass import NIMGPClassifier

rng = np.random.default_rng(0)
y = np.arange(400) % 2
X = rng.normal(size=(400, 3)) + y[:, None]
settings = dict(kernel="matern52+linear+polynomial", num_inducing=8, num_draws=8, steps=3)
model = NIMGPClassifier({method!r}, **settings).fit(X, y, X_var=np.full_like(X, 0.1))
for _ in range(20):
    p = model.predict_proba(X, X_var=np.full_like(X, 0.1))
assert np.all(np.isfinite(p))
"""
    environment = os.environ | {"TF_ENABLE_ONEDNN_OPTS": "1"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
