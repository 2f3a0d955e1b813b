"""Copies of a process in which TensorFlow has run refuse; they would wait for ever."""

import os
import pickle
import signal

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fermiclass.nimgp.estimators.classifier import NIMGPClassifier
from fermiclass.nimgp.estimators.exact_regressor import UncertainGPRegressor
from fermiclass.nimgp.estimators.robust_classifier import RobustGPClassifier
from fermiclass.nimgp.estimators.sparse_regressor import NIMGPRegressor

X = np.random.default_rng(0).normal(size=(24, 2))
CLASSES = (X[:, 0] > 0).astype(int)
MAKE = {
    "classifier": (lambda: NIMGPClassifier(steps=2, num_inducing=4), CLASSES),
    "regressor": (lambda: NIMGPRegressor(steps=2, num_inducing=4), X[:, 1]),
    "exact": (lambda: UncertainGPRegressor(), X[:, 1]),
}


@pytest.fixture(scope="module")
def fitted():
    """An estimator of each kind, fitted: TensorFlow has run."""
    return {name: make().fit(X, y) for name, (make, y) in MAKE.items()}


def answer_of_a_copy(ask):
    """What a forked process gets for its question; "hangs" if it gets nothing."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:  # must not return into pytest
        signal.alarm(20)
        try:
            answer = f"{ask()}"
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(writing, answer.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        answer = stream.read()
    os.waitpid(child, 0)
    return answer or "hangs"


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_copy_refuses(fitted, name):
    estimator, (make, y) = fitted[name], MAKE[name]
    stored = pickle.dumps(estimator)
    for ask in (lambda: estimator.predict(X), lambda: make().fit(X, y), lambda: pickle.loads(stored).predict(X)):
        answer = answer_of_a_copy(ask)
        assert answer.startswith("RuntimeError: this process is a copy (fork) of one that has used TensorFlow")
        assert "get_context('spawn'), or with joblib's backend 'loky'" in answer


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_what_needs_no_tensorflow_answers(fitted):
    robust = RobustGPClassifier(max_iter=1)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        robust.fit(X, CLASSES)
    assert answer_of_a_copy(lambda: robust.predict(X)[:5]) == str(robust.predict(X)[:5])
