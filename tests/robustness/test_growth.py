"""Hundreds of models in one process: nothing of those that are gone stays."""

import gc
import logging

import numpy as np
import pytest
import tensorflow as tf

from fermiclass import NIMGPClassifier, NIMGPRegressor, UncertainGPRegressor


def graphs():
    """Count TensorFlow's graphs that are alive."""
    gc.collect()
    return sum(type(thing).__name__ == "FuncGraph" for thing in gc.get_objects())


@pytest.mark.parametrize(
    "make",
    [
        lambda: NIMGPClassifier(num_inducing=5, steps=5),
        lambda: NIMGPClassifier(method="nimgp-nn", num_inducing=5, steps=5, noise="shared", label_noise="learned"),
        lambda: NIMGPClassifier(
            method="nimgp-fo", likelihood="step", kernel="matern52+polynomial", num_inducing=5, steps=5
        ),
        lambda: NIMGPRegressor(num_inducing=5, steps=5),
        lambda: NIMGPRegressor(likelihood="student-t", num_inducing=5, steps=5),
        lambda: UncertainGPRegressor(starts=1, steps=5),
    ],
    ids=["nimgp", "nn", "fo", "gaussian", "student-t", "uncertain"],
)
@pytest.mark.filterwarnings("ignore:the best of 1 starts")
def test_fits_in_a_loop_leave_nothing_behind(make, monkeypatch):
    """No graph; no name of a variable, by which TensorFlow keeps what made it; and no warning that all this is slow."""
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    X = rng.normal(size=(30, 2)) + y[:, None]
    names, warned = set(), []

    def creator(next_creator, **kwargs):
        variable = next_creator(**kwargs)
        names.add((variable.name, tuple(variable.shape)))
        return variable

    def left():
        with tf.variable_creator_scope(creator):
            make().fit(X, y, X_var=np.full_like(X, 0.1)).predict(X, X_var=np.full_like(X, 0.1))
        return graphs(), len(names)

    # TensorFlow warns of five traces in ten calls, and twice in a process.
    monkeypatch.setattr(logging.getLogger("tensorflow"), "warning", lambda message, *_: warned.append(message))
    first = left()
    assert [left() for _ in range(5)] == [first] * 5
    assert not warned


def test_graphs_of_kinds_that_were_not_used_for_long_go():
    rng, counts = np.random.default_rng(0), []
    for size in range(30, 38):  # a source more is another kind, as it has a q(x)
        X, y = rng.normal(size=(size, 2)), np.arange(size) % 3
        NIMGPClassifier(method="nimgp", num_inducing=5, steps=1).fit(X, y, X_var=np.full_like(X, 0.1))
        counts.append(graphs())
    assert counts[-1] == counts[-2] == counts[-3]
