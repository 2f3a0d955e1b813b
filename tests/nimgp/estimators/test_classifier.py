"""The estimators' contract: scikit-learn's own checks, variances, limits, invariances."""

import numpy as np
import pytest
from sklearn.base import clone

from fermiclass.nimgp.estimators.classifier import NIMGPClassifier
from tests.conftest import without_graphs
from tests.nimgp.estimators.scikit_learn import learns, scikit_learn_checks

SMALL = {"num_inducing": 15, "num_draws": 16, "learning_rate": 0.3}
TINY = {"steps": 40, "num_inducing": 15, "num_draws": 16, "learning_rate": 0.1}
FEW = TINY | {"steps": 3}
VARIANTS = {
    "nimgp": {"method": "nimgp"},
    "mgp step": {"method": "mgp", "likelihood": "step"},
    "minibatch double": {"method": "nimgp", "batch_size": 32, "training": {"precision": "float64"}},
    "network learned": {"method": "nimgp-nn", "noise": "per-feature"},
    "first order": {"method": "nimgp-fo", "likelihood": "softmax-bound"},
    "mixture": {"method": "nimgp", "inputs": {"prior": "mixture", "components": 2}},
}


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        *scikit_learn_checks(NIMGPClassifier(**SMALL), "nimgp-"),
        *scikit_learn_checks(  # those that look at predictions
            NIMGPClassifier(method="mgp", likelihood="step", **SMALL),
            "mgp-",
            lambda name: "classifiers" in name or "methods" in name,
        ),
    ],
)
@pytest.mark.usefixtures("eagerly", "small_blocks")
def test_scikit_learn_contract(estimator, check):
    check(clone(estimator).set_params(steps=12 if learns(check) else 2))


def make_data(n=90, seed=0):
    """Three classes in two dimensions of different units, every input with its own noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    units = np.array([1.0, 1e-3])
    X_var = rng.gamma(2.0, 0.1, (n, 2)) * units**2
    centres = np.array([[0.0, 2.0], [-2.0, -1.0], [2.0, -1.0]])
    X = centres[y] * units + rng.normal(size=(n, 2)) * np.sqrt(0.25 * units**2 + X_var)
    return X, np.array(["bll", "fsrq", "psr"])[y], X_var


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def new():
    X, _, X_var = make_data(300, seed=1)
    return X, X_var


@pytest.fixture(scope="module", params=VARIANTS, ids=lambda name: name.replace(" ", "-"))
def fitted(request, data):
    X, y, X_var = data
    return NIMGPClassifier(**TINY, **VARIANTS[request.param]).fit(X, y, X_var=X_var)


@pytest.fixture(scope="module")
def usual(data):
    X, y, X_var = data
    return NIMGPClassifier(method="nimgp", **TINY).fit(X, y, X_var=X_var)


@pytest.fixture(scope="module")
def few(data):
    """Hardly trained, and without graphs."""
    X, y, X_var = data
    with without_graphs():
        return NIMGPClassifier(**FEW).fit(X, y, X_var=X_var)


def same_weights(one, other):
    assert one.weights_.keys() == other.weights_.keys()
    for name in one.weights_:
        np.testing.assert_array_equal(one.weights_[name], other.weights_[name], err_msg=name)


def same_prediction(one, other):
    for name in ("probabilities", "std", "entropy", "information", "noise_entropy"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_it_learns(fitted, data):
    X, y, _ = data
    assert fitted.score(X, y) > 0.9
    assert np.all(np.isfinite(fitted.objective_))
    assert fitted.objective_[-1] > fitted.objective_[0]
    np.testing.assert_array_equal(fitted.classes_, ["bll", "fsrq", "psr"])
    assert fitted.n_features_in_ == 2


def test_probabilities_sum_to_one(fitted, new):
    X, X_var = new
    P = fitted.predict_proba(X, X_var=X_var)
    assert P.shape == (300, 3)
    assert P.dtype == np.float64
    assert P.min() >= 0.0
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(fitted.predict(X, X_var=X_var), fitted.classes_[P.argmax(axis=1)])


def test_a_row_alone_is_the_row_among_others(fitted, new):
    X, X_var = new
    whole = fitted.predict_distribution(X, X_var=X_var)
    for i in (0, 1, 150, 255, 256, 299):  # a block has 256 rows
        alone = fitted.predict_distribution(X[[i]], X_var=X_var[[i]])
        for name in ("probabilities", "std", "entropy", "information", "noise_entropy"):
            np.testing.assert_array_equal(getattr(alone, name)[0], getattr(whole, name)[i], err_msg=name)


def test_a_noiseless_row_among_noisy_ones(usual, new):
    X, X_var = new
    X_var = X_var.copy()
    X_var[0] = 0.0
    whole = usual.predict_proba(X, X_var=X_var)
    np.testing.assert_array_equal(usual.predict_proba(X[:1], X_var=X_var[:1])[0], whole[0])


@pytest.mark.parametrize("variant", ["nimgp", "minibatch double", "mixture"])
@pytest.mark.usefixtures("eagerly")
def test_the_order_of_training_rows_changes_no_bit(data, variant):
    X, y, X_var = (np.concatenate([a, a[:30]]) for a in data)
    X_var[-30:] *= 2.0  # the same inputs and labels, other noise
    order = np.random.default_rng(3).permutation(len(X))
    estimator = NIMGPClassifier(**FEW, **VARIANTS[variant])
    one, other = (clone(estimator).fit(X[rows], y[rows], X_var=X_var[rows]) for rows in (np.arange(len(X)), order))
    same_weights(one, other)
    np.testing.assert_array_equal(one.objective_, other.objective_)


@pytest.mark.usefixtures("eagerly")
def test_unlabelled_rows_change_no_bit(few, data):
    X, y, X_var = data
    rng = np.random.default_rng(5)
    more = rng.normal(size=(25, 2)) * 50.0
    where = np.sort(rng.integers(len(X), size=25))
    X_all, X_var_all = np.insert(X, where, more, axis=0), np.insert(X_var, where, more**2, axis=0)
    y_all = np.insert(y.astype(object), where, "")
    other = NIMGPClassifier(**FEW).fit(X_all, y_all, X_var=X_var_all)
    same_weights(few, other)
    np.testing.assert_array_equal(other.classes_, ["bll", "fsrq", "psr"])
    np.testing.assert_array_equal(other.mean_, few.mean_)


@pytest.mark.usefixtures("eagerly")
def test_no_variances_are_variances_of_zero(few, usual, data, new):
    X, y, _ = data
    one, other = NIMGPClassifier(**FEW).fit(X, y), NIMGPClassifier(**FEW).fit(X, y, X_var=np.zeros_like(X))
    same_weights(one, other)
    same_prediction(one.predict_distribution(new[0]), other.predict_distribution(new[0], X_var=np.zeros_like(new[0])))
    # and they are not those of noisy inputs
    assert np.any(one.weights_["posterior.q_mu"] != few.weights_["posterior.q_mu"])
    assert np.abs(usual.predict_proba(new[0], X_var=new[1]) - usual.predict_proba(new[0])).max() > 0.01


@pytest.mark.usefixtures("eagerly")
def test_units_do_not_matter(few, data, new):
    X, y, X_var = data
    factor = 2.0**-20
    other = NIMGPClassifier(**FEW).fit(X * factor, y, X_var=X_var * factor**2)
    P = other.predict_proba(new[0] * factor, X_var=new[1] * factor**2)
    np.testing.assert_allclose(P, few.predict_proba(new[0], X_var=new[1]), atol=1e-5)


@pytest.mark.usefixtures("eagerly")
def test_single_and_double_precision_agree(data, new):
    X, y, _ = data
    # This pair draws nothing in training, so that rounding is all that differs.
    single, double = (
        NIMGPClassifier(method="mgp", likelihood="step", training={"precision": precision}, **TINY | {"steps": 15})
        .fit(X, y)
        .predict_proba(new[0])
        for precision in ("float32", "float64")
    )
    np.testing.assert_allclose(single, double, atol=0.01)


def changed(V, value):
    V = V.copy()
    V[3, 1] = value
    return V


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda V: V[:-1], r"X_var has shape \(89, 2\), X has \(90, 2\): every value of X needs its variance"),
        (lambda V: V[:, :1], r"X_var has shape \(90, 1\), X has \(90, 2\): every value of X needs its variance"),
        (lambda V: V[:, 0], r"X_var has shape \(\d+,\), X has"),
        (lambda V: 0.1, r"X_var has shape \(\), X has"),
        (lambda V: changed(V, -1e-9), r"X_var is negative in row 3, column 1: variances are zero or"),
        (lambda V: changed(V, np.inf), r"Input X_var contains infinity"),
        (lambda V: V.astype(str)[:, :1] + "x", r"could not convert string to float"),
    ],
    ids=["rows", "columns", "one-dimensional", "scalar", "negative", "infinite", "text"],
)
@pytest.mark.usefixtures("eagerly")
def test_odd_variances_are_refused(usual, data, change, message):
    X, y, X_var = data
    odd = change(X_var)
    with pytest.raises(ValueError, match=message):
        NIMGPClassifier(**TINY).fit(X, y, X_var=odd)
    with pytest.raises(ValueError, match=message):
        usual.predict_proba(X, X_var=odd)


# --- learned noise ---------------------------------------------------------------------------------------------------

LEARNED = TINY | {"steps": 20, "method": "nimgp-nn", "training": {"precision": "float64"}}


@pytest.fixture(scope="module", params=["shared", "per-feature"])
def learned(request, data):
    X, y, _ = data
    with without_graphs():
        return NIMGPClassifier(noise=request.param, **LEARNED).fit(X, y)


@pytest.mark.usefixtures("eagerly")
def test_learned_noise_is_in_the_units_of_the_inputs(learned, data):
    X, y, _ = data
    factor = np.array([10.0, 0.5])
    other = clone(learned).fit(X * factor, y)
    assert learned.noise_variance_.shape == (2,)
    assert np.all(learned.noise_variance_ > 0)
    np.testing.assert_allclose(other.noise_variance_, learned.noise_variance_ * factor**2, rtol=1e-6)
    standardised = learned.noise_variance_ / learned.scale_**2
    assert np.all(np.abs(standardised / 0.1 - 1) > 0.01)  # where it started
    assert np.isclose(*standardised) == (learned.noise == "shared")


@pytest.mark.usefixtures("eagerly")
def test_mgp_learns_no_noise(data):
    """Its V would be that of the start."""
    X, y, _ = data
    assert NIMGPClassifier(noise="per-feature", **LEARNED | {"method": "mgp"}).fit(X, y).noise_variance_ is None


@pytest.mark.usefixtures("eagerly")
def test_predictions_are_averaged_over_learned_noise(learned, new):
    """As if the learned variances had been given; what is given is not looked at."""
    X, X_var = new
    prediction = learned.predict_distribution(X)
    same_prediction(prediction, learned.predict_distribution(X, X_var=X_var))
    given = clone(learned).set_params(noise="given")
    weights = {name: array for name, array in learned.weights_.items() if name != "noise"}
    given.restore(weights, learned.classes_)
    V = np.broadcast_to(learned.noise_variance_, X.shape)
    np.testing.assert_allclose(given.predict_proba(X, X_var=V), prediction.probabilities, atol=1e-9)
    assert prediction.noise_entropy.mean() > 0.01
    assert np.all(given.predict_distribution(X).noise_entropy < 1e-9)


@pytest.mark.parametrize("method", ["mgp", "mgp-aug", "mgp-sampling"])
@pytest.mark.usefixtures("eagerly")
def test_methods_that_do_not_average(data, new, method):
    (X, y, X_var), (X_new, X_var_new) = data, new
    model = NIMGPClassifier(method=method, **FEW).fit(X, y, X_var=X_var)
    same_prediction(model.predict_distribution(X_new), model.predict_distribution(X_new, X_var=X_var_new))
