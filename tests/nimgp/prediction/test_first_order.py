"""First-order prediction in NumPy: equal to the graph, and the same for any neighbours of a row."""

from dataclasses import fields

import numpy as np
import pytest
from scipy.special import softmax

from fermiclass.nimgp.likelihoods.draws import POINTS_OF_F, gaussian_points, moments_by
from fermiclass.nimgp.model import build_model, weights_of
from fermiclass.nimgp.prediction.first_order import FirstOrderPredictor
from fermiclass.nimgp.prediction.prediction import Prediction
from fermiclass.nimgp.prediction.predictor import ClassPredictor
from fermiclass.nimgp.settings import Settings
from tests.nimgp.conftest import D, M, perturbed


@pytest.mark.parametrize(
    ("kernel", "num_classes", "precision", "close"),
    [
        *(("se", 2, "float64", 1e-9), ("linear", 3, "float64", 1e-9)),
        *(("linear+se+se", 2, "float32", 2e-5), ("se+linear", 3, "float32", 2e-5)),
    ],
)
@pytest.mark.usefixtures("eagerly")
def test_equals_the_graph(rng, kernel, num_classes, precision, close):
    training = {"precision": precision}
    for settings in (
        Settings(kernel=kernel, training=training),
        Settings("mgp", "softmax-bound", kernel, noise="per-feature", label_noise=0.0, training=training),
    ):
        Z = rng.normal(size=(M, D))
        model = perturbed(build_model(settings, Z, num_classes=num_classes, num_data=9, dtype=precision), rng)
        ours = FirstOrderPredictor(settings, num_classes, weights_of(model))
        X, X_var = 2.0 * rng.normal(size=(300, D)), rng.uniform(0.0, 0.5, (300, D))
        options = {"ratio": rng.uniform(0.2, 3.0, (300, num_classes)), "temperature": 1.7}
        for given in ({}, options):
            graph = ClassPredictor(model, first_order=True).predict(X, X_var, **given)
            found = list(ours.blocks(X, X_var, **given))
            for name in (field.name for field in fields(Prediction)):
                one = np.concatenate([getattr(block, name) for block in found])
                # A standard deviation is a root of a difference.
                np.testing.assert_allclose(one, getattr(graph, name), atol=close**0.5 if name == "std" else close)


def test_points_of_f_against_quadrature(rng):
    """Means and variances of the probabilities of three classes, by a product of Gauss-Hermite rules."""
    mean, scale = 3.0 * rng.normal(size=(3, 40)), np.sqrt(rng.uniform(0.2, 3.0, (3, 40)))
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    grid = np.stack(np.meshgrid(nodes, nodes, nodes), axis=-1).reshape(-1, 3, 1)
    weight = np.prod(np.stack(np.meshgrid(weights, weights, weights), axis=-1), axis=-1).ravel() / weights.sum() ** 3
    pi = softmax(mean + scale * grid, axis=1)
    true = [np.einsum("s,scn->cn", weight, moment) for moment in (pi, pi**2)]
    found = moments_by(np, mean + scale * gaussian_points(POINTS_OF_F, 3)[..., None], np.ones((3, 40)))
    for one, other in zip(found, true, strict=False):
        assert np.abs(one - other).max() < 0.003
        assert np.sqrt(np.mean((one - other) ** 2)) < 0.0006


def test_scatter_of_nearly_certain_classes_in_single_precision(rng):
    f = np.array([[9.0], [0.0], [-2.0]]) + rng.normal(size=(POINTS_OF_F, 3, 40))
    single, double = (moments_by(np, f.astype(dtype), np.ones((3, 1), dtype)) for dtype in (np.float32, np.float64))
    scatter, expected = (np.sqrt(each.second - each.mean**2) for each in (single, double))
    np.testing.assert_allclose(scatter, expected, rtol=0.01)
