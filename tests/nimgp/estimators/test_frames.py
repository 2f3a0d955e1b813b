"""Values and errors in one frame, unknown values, and weights of rows: through scikit-learn, and as relations."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, PowerTransformer, StandardScaler

from fermiclass import NIMGPClassifier, NIMGPRegressor, UncertainGPRegressor, load_model, save_model

FEW = {"steps": 4, "num_inducing": 6, "learning_rate": 0.1}
MODEL = NIMGPClassifier(method="nimgp-fo", **FEW)

pytestmark = pytest.mark.usefixtures("eagerly", "small_blocks")


@pytest.fixture(scope="module")
def rows():
    """Two features, of which one has errors, as a frame, as arrays, and labels."""
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(60, 2)), np.c_[rng.gamma(1.0, 0.3, 60), np.zeros(60)]
    y = np.array(["a", "b"])[(X[:, 0] + 0.2 * X[:, 1] > 0) * 1]
    frame = pd.DataFrame({"u": X[:, 0], "Unc_u": np.sqrt(V[:, 0]), "v": X[:, 1]})
    return frame, X, V, y


@pytest.mark.parametrize("estimator", [MODEL, NIMGPRegressor(steps=2, num_inducing=4), UncertainGPRegressor(steps=1)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_frame_with_errors_is_values_and_variances(estimator, rows):
    frame, X, V, y = rows
    y = X[:, 0] if is_regressor(estimator) else y
    both, parted = clone(estimator).fit(frame, y), clone(estimator).fit(X, y, X_var=V)
    assert both.feature_names_in_.tolist() == ["u", "v"]
    name = "predict" if is_regressor(estimator) else "predict_proba"
    found = getattr(both, name)(frame[["v", "u", "Unc_u"]][["u", "v", "Unc_u"]])
    np.testing.assert_allclose(found, getattr(parted, name)(X, X_var=V), rtol=1e-6)
    assert both.score(frame, y) == pytest.approx(parted.score(X, y, X_var=V))


def test_scikit_learn_keeps_values_and_errors_together(rows):
    """Each of its tools gives what a loop over the same folds gives with X and X_var."""
    frame, X, V, y = rows
    folds = StratifiedKFold(2)
    by_hand = np.empty((len(y), 2))
    for train, test in folds.split(X, y):
        by_hand[test] = clone(MODEL).fit(X[train], y[train], X_var=V[train]).predict_proba(X[test], X_var=V[test])
    found = cross_val_predict(MODEL, frame, y, cv=folds, method="predict_proba")
    np.testing.assert_allclose(found, by_hand, atol=1e-6)
    scores = [-log_loss(y[test], by_hand[test]) for _, test in folds.split(X, y)]
    pipeline = make_pipeline(FunctionTransformer(), MODEL)
    np.testing.assert_allclose(cross_val_score(pipeline, frame, y, cv=folds, scoring="neg_log_loss"), scores, atol=1e-6)
    search = GridSearchCV(MODEL, {"num_inducing": [6]}, cv=folds, scoring="neg_log_loss").fit(frame, y)
    assert search.best_score_ == pytest.approx(np.mean(scores), abs=1e-6)
    calibrated = CalibratedClassifierCV(MODEL, cv=folds).fit(frame, y)
    one, other = (calibrated.predict_proba(frame.assign(Unc_u=error))[:, 0] for error in (0.0, 2.0))
    assert np.abs(one - 0.5).mean() > np.abs(other - 0.5).mean()  # the errors arrive


def test_what_would_part_them_is_refused(rows):
    frame, X, V, y = rows
    fitted = clone(MODEL).fit(frame, y)
    for X_new, X_var, word in (
        (frame[["u", "v"]], None, "lacks Unc_u"),
        (frame, V, "errors once"),
        (frame.rename(columns={"u": "w"}), None, "Unc_u"),
        (frame.assign(Unc_u=-1.0), None, "negative"),
    ):
        with pytest.raises(ValueError, match=word):
            fitted.predict_proba(X_new, X_var=X_var)
    np.testing.assert_allclose(fitted.predict_proba(frame[["u", "v"]], X_var=V), fitted.predict_proba(frame))
    with pytest.raises(ValueError, match="rescale"):
        clone(MODEL).fit(StandardScaler().fit_transform(100.0 * X), y, X_var=1e4 * np.maximum(V, 0.1))


@pytest.mark.parametrize("errors", [None, 0.3], ids=["own errors", "the same error"])
@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), MaxAbsScaler(), PowerTransformer()])
def test_a_scaler_of_values_and_errors_is_refused(rows, scaler, errors):
    frame, _, _, y = rows
    frame = frame if errors is None else frame.assign(Unc_u=errors, v=1.0)
    with pytest.raises(ValueError, match="rescale"):
        make_pipeline(scaler.set_output(transform="pandas"), MODEL).fit(frame, y)


def test_an_unknown_value_is_the_mean_with_the_variance_of_all(rows):
    _, X, V, y = rows
    fitted = clone(MODEL).fit(X, y, X_var=V)
    unknown, filled, of_all = X.copy(), X.copy(), V.copy()
    unknown[:9, 0], filled[:9, 0], of_all[:9, 0] = np.nan, fitted.mean_[0], fitted.scale_[0] ** 2
    found = fitted.predict_proba(unknown, X_var=V)
    np.testing.assert_allclose(found, fitted.predict_proba(filled, X_var=of_all), rtol=1e-5)
    trained = clone(MODEL).fit(unknown, y, X_var=V)
    np.testing.assert_allclose(trained.mean_, np.nanmean(unknown, axis=0))
    assert np.abs(trained.predict_proba(X, X_var=V) - fitted.predict_proba(X, X_var=V)).mean() < 0.1
    unknown[:, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fitted.fit(unknown, y, X_var=V)
    with pytest.raises(NotFittedError):
        fitted.predict(X)


def test_a_weight_counts_as_so_many_rows(rows):
    _, X, V, y = rows
    settings = {**FEW, "steps": 8, "likelihood": "step", "num_inducing": 100, "batch_size": None}
    model = NIMGPClassifier(method="nimgp-fo", **settings)
    twice = [np.repeat(each, 2, axis=0) for each in (X, V, y)]
    doubled = clone(model).fit(twice[0], twice[2], X_var=twice[1])
    weighted = clone(model).fit(X, y, X_var=V, sample_weight=np.full(len(y), 2.0))
    plain = clone(model).fit(X, y, X_var=V)
    expected = doubled.predict_proba(X, X_var=V)
    np.testing.assert_allclose(weighted.predict_proba(X, X_var=V), expected, atol=1e-3)
    assert np.abs(plain.predict_proba(X, X_var=V) - expected).max() > 0.01
    weight = (np.arange(len(y)) % 3 > 0) * 1.0
    some = weight > 0
    without = clone(model).fit(X, y, X_var=V, sample_weight=weight).predict_proba(X, X_var=V)
    only = clone(model).fit(X[some], y[some], X_var=V[some]).predict_proba(X, X_var=V)
    np.testing.assert_allclose(without, only, atol=1e-3)


def test_an_error_that_is_not_known_is_the_usual_one_of_the_training(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat(["a", "b"], 30)
    X[:, 1] *= 3.0
    V = rng.uniform(0.1, 0.3, X.shape)
    some = np.where(rng.random(X.shape) < 0.3, np.nan, V)
    filled = np.where(np.isnan(some), np.nanmedian(some, axis=0), some)
    one, other = (clone(MODEL).fit(X, y, X_var=each) for each in (some, filled))
    expected = other.predict_proba(X[:5], X_var=filled[:5])
    np.testing.assert_array_equal(one.predict_proba(X[:5], X_var=filled[:5]), expected)
    unknown = np.full((5, 2), np.nan)  # not the median of the new rows
    usual = one.predict_proba(X[:5], X_var=np.tile(np.nanmedian(some, axis=0), (5, 1)))
    save_model(one, tmp_path / "model")
    for model in (one, load_model(tmp_path / "model")):
        np.testing.assert_array_equal(model.predict_proba(X[:5], X_var=unknown), usual)
    frame = pd.DataFrame({"u": X[:, 0], "Unc_u": np.sqrt(some[:, 0]), "v": X[:, 1], "Unc_v": np.nan})
    spread = np.column_stack([some[:, 0], np.full(60, X[:, 1].var())])
    one = clone(MODEL).fit(frame, y).predict_proba(frame)
    np.testing.assert_allclose(one, clone(MODEL).fit(X, y, X_var=spread).predict_proba(X, X_var=spread))


@pytest.mark.parametrize("method", ["nimgp-fo", "mgp"])
def test_a_regressor_takes_what_is_not_known_as_a_classifier_does(method):
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(60, 2)), rng.uniform(0.1, 0.3, (60, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    model = NIMGPRegressor(method=method, steps=20, num_inducing=10)
    some = np.where(rng.random(X.shape) < 0.3, np.nan, V)
    usual = np.nanmedian(some, axis=0)
    one, other = (clone(model).fit(X, y, X_var=each) for each in (some, np.where(np.isnan(some), usual, some)))
    np.testing.assert_array_equal(one.predict(X, X_var=V), other.predict(X, X_var=V))
    np.testing.assert_array_equal(one.predict(X, X_var=V * np.nan), other.predict(X, X_var=np.tile(usual, (60, 1))))
    unknown, filled, of_all = X.copy(), X.copy(), V.copy()
    unknown[:9, 1], filled[:9, 1], of_all[:9, 1] = np.nan, one.mean_[1], one.scale_[1] ** 2
    for what in (one.predict, one.predict_quantiles):
        np.testing.assert_allclose(what(unknown, X_var=V), what(filled, X_var=of_all), rtol=1e-6)
    density = one.log_density(unknown, y, X_var=V)
    np.testing.assert_allclose(density, one.log_density(filled, y, X_var=of_all), rtol=1e-6)
    np.testing.assert_allclose(clone(model).fit(unknown, y).mean_, np.nanmean(unknown, axis=0))
    unknown[:, 1] = np.nan
    with pytest.raises(ValueError, match=r"feature 1 .* NaN in every row"):
        one.fit(unknown, y)
    with pytest.raises(ValueError, match="NaN"):
        one.fit(X, y * np.nan)


@pytest.mark.parametrize("model", [MODEL, NIMGPRegressor(likelihood="bernoulli", steps=21, num_inducing=5)])
def test_a_verbose_estimator_prints_its_objective(rows, model, capsys):
    _, X, V, y = rows
    y, seen = (np.unique(y, return_inverse=True)[1] > 0) * 1.0, []
    quiet = clone(model).fit(X, y, X_var=V)
    assert capsys.readouterr().out == ""
    loud = clone(model).set_params(verbose=1).fit(X, y, X_var=V, progress=seen.append)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(seen) == len(loud.objective_)
    assert [float(line.rpartition(" ")[2]) for line in lines] == pytest.approx(loud.objective_.tolist(), rel=1e-5)
    np.testing.assert_array_equal(loud.objective_, quiet.objective_)
