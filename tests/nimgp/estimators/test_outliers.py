"""A wild number in a training row: the answer for other rows is nearly that without it, and a warning names it."""

import warnings

import numpy as np
import pandas as pd
import pytest

from fermiclass.nimgp.arrays import usual_range, without_outliers
from fermiclass.nimgp.domain import TrainingDomain
from fermiclass.nimgp.errors import TrainingWarning
from fermiclass.nimgp.estimators.classifier import NIMGPClassifier
from fermiclass.nimgp.estimators.exact_regressor import UncertainGPRegressor
from fermiclass.nimgp.estimators.robust_classifier import RobustGPClassifier
from fermiclass.nimgp.estimators.sparse_regressor import NIMGPRegressor
from fermiclass.rows import open_rows
from fermiclass.rows.rows_model import fit_rows

FEW = {"steps": 15, "num_inducing": 10, "learning_rate": 0.2}
ESTIMATORS = {
    "classifier": NIMGPClassifier(method="nimgp-fo", **FEW),
    "robust": RobustGPClassifier(),
    "sparse": NIMGPRegressor(**FEW),
    "exact": UncertainGPRegressor(starts=1),
}


def make_data():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 120)
    return rng.normal(size=(120, 2)) + 2.0 * y[:, None], y


def answers(estimator, new):
    return estimator.predict_proba(new)[:, 1] if hasattr(estimator, "predict_proba") else estimator.predict(new)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.usefixtures("eagerly")
def test_one_wild_number_hardly_moves_the_others(name):
    (X, y), new = make_data(), np.random.default_rng(4).normal(size=(50, 2)) + 1.0
    clean = answers(ESTIMATORS[name].fit(X, y), new)
    for wild in (1e6, -1e12):
        X[7, 1] = wild
        with pytest.warns(TrainingWarning, match=r"feature 1 .* in 1 row"):
            found = answers(ESTIMATORS[name].fit(X, y), new)
        assert np.abs(found - clean).mean() < 0.04


@pytest.mark.usefixtures("eagerly")
def test_a_wild_number_in_rows_on_disk(tmp_path):
    """The warning has the name of the column; without outliers nothing is limited."""
    X, y = make_data()
    wild = X.copy()
    wild[7, 1] = 1e8
    found = []
    for k, values in enumerate((X, wild)):
        path = tmp_path / f"{k}.parquet"
        pd.DataFrame({"a": values[:, 0], "b": values[:, 1], "CLASS": np.where(y == 1, "x", "z")}).to_parquet(path)
        rows = open_rows(path, ("a", "b"), label="CLASS")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", TrainingWarning)
            model = fit_rows(NIMGPClassifier(method="mgp", **FEW), rows)
        found.append((model.estimator.predict_proba(X), [str(w.message) for w in caught], model.domain))
    (clean, nothing, _), (p, said, domain) = found
    assert not nothing
    assert "feature b" in said[0]
    assert np.abs(p - clean).max() < 0.1
    assert domain.score(wild[7:8], np.zeros((1, 2)))[0] == 1.0


def test_the_domain_of_a_wild_number():
    """Other sources keep their scores."""
    X, y = make_data()
    clean = TrainingDomain.fit(X, np.zeros_like(X), y.astype(str)).score(X, np.zeros_like(X))
    wild = X.copy()
    wild[7, 1] = 1e8
    scores = TrainingDomain.fit(wild, np.zeros_like(X), y.astype(str)).score(wild, np.zeros_like(X))
    assert scores[7] == 1.0
    assert np.median(np.abs(np.delete(scores - clean, 7))) < 0.02


@pytest.mark.parametrize(
    "column",
    [
        np.random.default_rng(0).standard_normal(3000),
        np.random.default_rng(0).standard_t(3, 3000),
        np.exp(np.random.default_rng(0).standard_normal(3000)),
        np.where(np.arange(3000) % 4, 0.0, 1e6),  # half of the values are equal
        np.where(np.arange(3000) % 5, np.random.default_rng(0).standard_normal(3000), 1e6),  # too many
        np.full(3000, 7.0),
    ],
    ids=["normal", "t", "log-normal", "flag", "two groups", "constant"],
)
def test_what_is_no_outlier(column):
    X = column[:, None]
    assert without_outliers(X) is X


def test_outliers_become_the_nearest_of_the_others():
    X = np.random.default_rng(0).standard_normal((100, 1))
    X[:3, 0] = 1e3, -1e9, 1e300
    (low, high), _ = usual_range(X)
    assert (low, high) == (X[3:].min(), X[3:].max())
    with pytest.warns(TrainingWarning, match="3 row"):
        np.testing.assert_array_equal(without_outliers(X)[:3, 0], np.concatenate([high, low, high]))
