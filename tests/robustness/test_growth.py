"""Hundreds of models in one process: nothing of those that are gone stays."""

import gc

import numpy as np
import pytest

from fermiclass import NIMGPClassifier, NIMGPRegressor, UncertainGPRegressor


def graphs():
    """Count TensorFlow's graphs that are alive."""
    gc.collect()
    return sum(type(thing).__name__ == "FuncGraph" for thing in gc.get_objects())


@pytest.mark.parametrize(
    "make",
    [
        lambda: NIMGPClassifier(num_inducing=5, steps=5),
        lambda: NIMGPClassifier("nimgp-nn", num_inducing=5, steps=5, noise="shared", label_noise="learned"),
        lambda: NIMGPClassifier("nimgp-fo", likelihood="step", kernel="matern52+polynomial", num_inducing=5, steps=5),
        lambda: NIMGPRegressor(num_inducing=5, steps=5),
        lambda: NIMGPRegressor("ordinal", num_inducing=5, steps=5),
        lambda: UncertainGPRegressor(starts=1, steps=5),
    ],
    ids=["nimgp", "nn", "fo", "gaussian", "ordinal", "uncertain"],
)
@pytest.mark.filterwarnings("ignore:the best of 1 starts")
def test_no_graph_outlives_its_model(make):
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    X = rng.normal(size=(30, 2)) + y[:, None]

    def fit_and_predict():
        make().fit(X, y, X_var=np.full_like(X, 0.1)).predict(X, X_var=np.full_like(X, 0.1))
        return graphs()

    first = fit_and_predict()
    assert [fit_and_predict() for _ in range(3)] == [first] * 3
