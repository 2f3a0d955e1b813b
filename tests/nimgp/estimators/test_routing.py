"""Variances through scikit-learn's metadata routing."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate

from fermiclass.nimgp.estimators.mixins import NoisyRegressorMixin, new_rows

LOST = "X_var is requested in fit, but did not come to the prediction"


@pytest.fixture(autouse=True)
def routed():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2))
    return X, X[:, 0] + X[:, 1], X**2


class Recorder(NoisyRegressorMixin, sklearn.base.BaseEstimator):
    """It predicts the first variance, so that what arrives is seen."""

    def __init__(self, offset=0.0):
        self.offset = offset

    def fit(self, X, y, *, X_var=None):
        assert X_var is not None
        self.fitted_ = True
        return self

    def predict(self, X, *, X_var=None):
        return self.offset + new_rows(self, X, X_var)[1][:, 0]


def test_variances_come_to_the_score(data):
    X, _, X_var = data
    recorder = Recorder().set_fit_request(X_var=True).set_score_request(X_var=True)
    found = cross_validate(recorder, X, X_var[:, 0], params={"X_var": X_var}, cv=3, error_score="raise")
    assert found["test_score"].tolist() == [1.0] * 3
    search = GridSearchCV(recorder, {"offset": [0.5, 0.0]}, cv=3, error_score="raise").fit(X, X_var[:, 0], X_var=X_var)
    assert search.best_params_ == {"offset": 0.0}
    assert search.best_score_ == 1.0


def test_predictions_without_the_variances_that_were_asked_for_are_refused(data):
    X, _, X_var = data
    recorder = Recorder().set_fit_request(X_var=True).set_predict_request(X_var=True)
    with pytest.raises(ValueError, match=LOST):
        cross_val_predict(recorder, X, X_var[:, 0], params={"X_var": X_var}, cv=3)
    with pytest.raises(ValueError, match=LOST):
        cross_validate(recorder, X, X_var[:, 0], params={"X_var": X_var}, cv=3, scoring="r2", error_score="raise")
