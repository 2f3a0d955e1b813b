"""Frames, series and masked arrays beside each other: refused, or the same as NumPy."""

import numpy as np
import pandas as pd
import pytest
from astropy import units as u
from astropy.table import Column
from sklearn.base import clone, is_regressor
from sklearn.exceptions import DataConversionWarning

from fermiclass import NIMGPClassifier, NIMGPRegressor, RobustGPClassifier, UncertainGPRegressor
from tests.conftest import without_graphs

SMALL = {"steps": 1, "num_inducing": 4, "num_draws": 4}
ESTIMATORS = {
    "classifier": NIMGPClassifier(method="nimgp-fo", likelihood="step", **SMALL),
    "robust": RobustGPClassifier(max_iter=2, tol=1e-2),
    "regressor": NIMGPRegressor(**SMALL),
    "exact regressor": UncertainGPRegressor(starts=1, steps=1),
}
pytestmark = [
    pytest.mark.usefixtures("small_blocks"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def every_fit_eagerly():
    """For the fixtures of this module, too."""
    with without_graphs():
        yield


@pytest.fixture(scope="module")
def frames():
    """Inputs of two units, their variances, and labels 0 and 1, with names of rows and columns."""
    rng = np.random.default_rng(2)
    rows, columns = [f"source {k}" for k in range(12)], ["flux", "index"]
    y = pd.Series(np.arange(12) % 2, rows)
    X = pd.DataFrame(rng.normal(size=(12, 2)) + np.c_[y, -y], rows, columns)
    return X, y, pd.DataFrame(rng.gamma(2.0, [0.01, 1.0], (12, 2)), rows, columns)


@pytest.fixture(scope="module", params=ESTIMATORS)
def estimator(request):
    return ESTIMATORS[request.param]


@pytest.fixture(scope="module")
def fitted(estimator, frames):
    """An estimator that knows the names of its features, but saw arrays beside them."""
    X, y, X_var = frames
    return clone(estimator).fit(X, y.to_numpy(), X_var=X_var.to_numpy())


def answer(estimator, X, X_var):
    return estimator.predict(X, X_var=X_var) if is_regressor(estimator) else estimator.predict_proba(X, X_var=X_var)


def test_columns_in_another_order_are_the_same(estimator, fitted, frames):
    X, y, X_var = frames
    swapped = X_var[["index", "flux"]]
    expected = answer(fitted, X, X_var.to_numpy())
    np.testing.assert_array_equal(answer(fitted, X, swapped), expected)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        np.testing.assert_array_equal(answer(fitted, X.to_numpy(), swapped), expected)
    again = clone(estimator).fit(X, y, X_var=swapped)
    np.testing.assert_array_equal(answer(again, X, X_var), expected)


def masked(frame):
    return np.ma.masked_greater(frame.to_numpy(), 0.5)


ODD = {
    "other columns": (lambda X, y, V: (X, y, V.add_prefix("Unc_")), "X_var has the columns Unc_flux, Unc_index, X has"),
    "a column twice": (
        lambda X, y, V: (X, y, V[["flux", "flux"]]),
        "X_var has the columns flux, flux, X has flux, index: give the same names, or X_var as an array",
    ),
    "other rows": (
        lambda X, y, V: (X, y, V[::-1]),
        r"the rows of X_var have other names \(index\) .*: row 0 is source 11, in X source 0. Give X_var.loc\[X.index",
    ),
    "no row names": (lambda X, y, V: (X, y, V.reset_index(drop=True)), "row 0 is 0, in X source 0"),
    "other rows of y": (lambda X, y, V: (X, y[::-1], V), "the rows of y have other names"),
    "masked X": (lambda X, y, V: (masked(X), y, V), r"X has \d+ masked value\(s\), and what is behind a mask is no"),
    "sparse X": (lambda X, y, V: (X.astype(pd.SparseDtype(float)), y, V), r"X has only sparse columns: give X.sparse"),
    "masked X_var": (lambda X, y, V: (X, y, masked(V)), r"X_var has \d+ masked value"),
    "masked rows": (lambda X, y, V: (list(masked(X)), y, V), r"X has \d+ masked value"),
    "masked y": (lambda X, y, V: (X, masked(y), V), r"y has 6 masked .* in y '' for no label"),
    "X with a unit": (lambda X, y, V: (X.to_numpy() * u.km, y, V), "X is in km, and units are not converted"),
    "a column with a unit": (lambda X, y, V: (Column(X, unit="m"), y, V), "X is in m, and units"),
    "rows with a unit": (lambda X, y, V: (list(X.to_numpy() * u.m), y, V), "X is in m, and units"),
    "X_var with a unit": (lambda X, y, V: (X, y, V.to_numpy() * u.m**2), "X_var is in m2, and units"),
    "no y": (lambda X, y, V: (X, y.astype("string").mask(y == 1), V), r"y has no value in row 1 \(<NA>\): leave the"),
}


@pytest.mark.parametrize(("change", "message"), ODD.values(), ids=ODD)
def test_what_does_not_fit_is_refused(estimator, fitted, frames, change, message):
    X, y, X_var = change(*frames)
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(X, y, X_var=X_var)
    if y is frames[1]:
        with pytest.raises(ValueError, match=message):
            answer(fitted, X, X_var)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_no_unit_is_as_no_quantity(estimator, fitted, frames):
    X, _, X_var = (frame.to_numpy() for frame in frames)
    found = answer(fitted, u.Quantity(X), u.Quantity(X_var))
    np.testing.assert_array_equal(found, answer(fitted, X, X_var))


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("name", ["classifier", "robust"])
def test_what_is_no_class_is_refused(name):
    """Times, and names of sources: 1,001 of five rows each are refused at once, 3 of them are learned."""
    n = 5005
    X = np.arange(2.0 * n).reshape(n, 2)
    labels = np.char.add("0.", np.arange(n).astype(str))
    with pytest.raises(TypeError, match=r"y holds times \(datetime64"):
        clone(ESTIMATORS[name]).fit(X[:4], np.arange(4).astype("M8[D]"))
    for few in (labels[:202], labels[np.arange(n) % 1001]):
        with pytest.raises(ValueError, match="are these labels names or measurements"):
            clone(ESTIMATORS[name]).fit(X[: len(few)], few)
    same_numbers = np.array(["0", "0.0", "00"])[np.arange(12) % 3]
    assert clone(ESTIMATORS[name]).fit(X[:12], same_numbers).classes_.tolist() == ["0", "0.0", "00"]


def test_output_noise_belongs_to_its_rows(frames):
    X, y, _ = frames
    with pytest.raises(ValueError, match="the rows of y_var have other names"):
        UncertainGPRegressor().fit(X, y, y_var=y[::-1])
    with pytest.raises(ValueError, match="y_var has 6 masked value"):
        UncertainGPRegressor().fit(X, y, y_var=masked(y))


def test_density_goes_by_names(frames):
    X, y, X_var = frames
    regressor = clone(ESTIMATORS["regressor"]).fit(X, y, X_var=X_var)
    swapped = X_var[["index", "flux"]]
    expected = regressor.log_density(X, y, X_var=X_var.to_numpy())
    np.testing.assert_array_equal(regressor.log_density(X, y, X_var=swapped), expected)
    with pytest.raises(ValueError, match="the rows of y have other names"):
        regressor.log_density(X, y[::-1], X_var=X_var)


@pytest.mark.parametrize("name", ["classifier", "robust"])
def test_judged_labels_belong_to_their_rows(frames, name):
    X, y, X_var = frames
    classifier = clone(ESTIMATORS[name]).fit(X, y, X_var=X_var)
    expected = classifier.predict_wrong_label(X, y.to_numpy())
    np.testing.assert_array_equal(classifier.predict_wrong_label(X, y.astype(str)), expected)
    with pytest.raises(ValueError, match="the rows of y have other names"):
        classifier.predict_wrong_label(X, y[::-1])


def test_a_column_of_labels_is_the_labels(estimator, fitted, frames):
    X, y, X_var = frames
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        again = clone(estimator).fit(X, y.to_numpy()[:, None], X_var=X_var)
    np.testing.assert_array_equal(answer(again, X, X_var), answer(fitted, X, X_var))


@pytest.mark.parametrize("name", ["classifier", "robust"])
def test_blanks_are_no_label(frames, name):
    X, y, X_var = frames
    classifier, text = clone(ESTIMATORS[name]), y.map({0: "bll", 1: "fsrq"})
    text.iloc[[3, 4]] = ["  ", "\t"]
    classifier.fit(X, text, X_var=X_var)
    assert classifier.classes_.tolist() == ["bll", "fsrq"]
    text.iloc[5] = "bll "
    with pytest.raises(ValueError, match="the labels 'bll' and 'bll ' differ by blanks alone"):
        classifier.fit(X, text, X_var=X_var)
