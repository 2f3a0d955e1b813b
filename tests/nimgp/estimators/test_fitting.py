"""Many classifiers trained at once: each is what it would be alone, and may start from another."""

import numpy as np
import pytest
from sklearn.base import clone

from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

SMALL = {"steps": 4, "num_inducing": 12, "num_draws": 16, "learning_rate": 0.1, "training": {"precision": "float64"}}


def make_data(n, seed, classes=("bll", "fsrq", "psr")):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % len(classes)
    X_var = rng.gamma(2.0, 0.1, (n, 2))
    centres = np.array([[0.0, 2.0], [-2.0, -1.0], [2.0, -1.0]])
    return centres[y] + rng.normal(size=(n, 2)) * np.sqrt(0.25 + X_var), np.array(classes)[y], X_var


@pytest.fixture(scope="module")
def new():
    X, _, X_var = make_data(50, 9)
    return X, X_var


def assert_same(one, other, new):
    assert one.weights_.keys() == other.weights_.keys()
    for name, values in other.weights_.items():
        np.testing.assert_allclose(one.weights_[name], values, rtol=1e-5, atol=1e-7, err_msg=name)
    for name in ("mean_", "scale_", "classes_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_allclose(one.objective_, other.objective_, rtol=1e-8)
    X, X_var = new
    np.testing.assert_allclose(one.predict_proba(X, X_var=X_var), other.predict_proba(X, X_var=X_var), atol=1e-6)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"batch_size": 16},
        {"method": "nimgp-nn", "noise": "shared", "likelihood": "step", "inputs": {"hidden": (5,)}},
        pytest.param(
            {"method": "nimgp-fo-marginal", "likelihood": "logit", "noise": "per-feature"}, marks=pytest.mark.slow
        ),
        {"method": "mgp-aug", "inputs": {"prior": "mixture", "components": 2}},
        {"inputs": {"prior": "mixture", "components": 2}, "likelihood": "softmax-bound", "kernel": "matern32"},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())) or "default",
)
@pytest.mark.usefixtures("eagerly")
def test_each_is_what_fit_alone_makes_of_it(settings, new):
    """Also where data sets are of unequal size: what fills up an array counts for nothing."""
    data = [make_data(40, 1), make_data(30, 2)]
    estimator = NIMGPClassifier(**SMALL | settings)
    many = estimator.fit_many(data)
    assert not hasattr(estimator, "weights_")
    X, y, X_var = data[1]
    assert_same(many[1], clone(estimator).fit(X, y, X_var=X_var), new)
    assert np.abs(many[0].weights_["posterior.q_mu"] - many[1].weights_["posterior.q_mu"]).max() > 0.01


@pytest.mark.usefixtures("eagerly")
def test_data_sets_of_other_shapes_are_trained_in_groups_of_their_own(new):
    """Of other classes, or of too few inputs for the inducing points; results come in the order of the data."""
    data = [
        make_data(40, 1),
        make_data(40, 2, ("bll", "psr")),
        make_data(9, 3),
        make_data(30, 4, ("psr", "unk")),
        (make_data(36, 5)[0], make_data(36, 5)[1], None),
    ]
    estimator, states = NIMGPClassifier("mgp", likelihood="step", **SMALL), []
    many = estimator.fit_many(data, progress=states.append)
    assert [state.value.shape for state in states] == [(2,), (2,), ()]
    assert [list(model.classes_) for model in many] == [list(np.unique(y)) for _, y, _ in data]
    assert [model.weights_["posterior.Z"].shape[1] for model in many] == [12, 12, 9, 12, 12]
    for k in (3, 4):
        X, y, X_var = data[k]
        assert_same(many[k], clone(estimator).fit(X, y, X_var=X_var), new)


@pytest.mark.parametrize(
    "settings",
    [{"epochs": 2, "batch_size": 15}, pytest.param({"batch_size": 35}, marks=pytest.mark.slow)],
    ids=["epochs", "batch"],
)
@pytest.mark.usefixtures("eagerly")
def test_each_has_the_steps_it_would_have_alone(settings, new):
    """Passes over unequal data sets have unequal steps; a batch that holds one set may be a part of another."""
    data = [make_data(60, 1), make_data(30, 2)]
    estimator = NIMGPClassifier("mgp", likelihood="step", **SMALL | settings)
    for model, (X, y, X_var) in zip(estimator.fit_many(data), data, strict=True):
        assert_same(model, clone(estimator).fit(X, y, X_var=X_var), new)


def test_each_is_what_fit_alone_makes_of_it_after_many_steps_in_graphs(new):
    estimator, data = NIMGPClassifier(**SMALL | {"steps": 40}), [make_data(40, 1), make_data(30, 2)]
    X, y, X_var = data[1]
    assert_same(estimator.fit_many(data)[1], clone(estimator).fit(X, y, X_var=X_var), new)


def test_nothing_to_train_is_no_error():
    assert NIMGPClassifier(**SMALL).fit_many([]) == []


@pytest.mark.usefixtures("eagerly")
def test_rows_without_a_label_are_left_out(new):
    X, y, X_var = make_data(30, 1)
    y = y.astype(object)
    y[::7] = ""
    labelled = y != ""
    estimator = NIMGPClassifier("mgp", likelihood="step", **SMALL)
    one, other = estimator.fit_many([(X, y, X_var), (X[labelled], y[labelled], X_var[labelled])])
    assert_same(one, other, new)


# --- starting from others --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["given", "per-feature"])
def test_a_warm_start_goes_on_where_the_first_ended(noise):
    """Of a method without parameters of single sources, whose bound draws nothing."""
    data = [make_data(45, 1), make_data(36, 2)]
    settings = SMALL | {"learning_rate": 0.05, "training": {"decay": False, "precision": "float64"}, "noise": noise}
    estimator = NIMGPClassifier("nimgp-fo", likelihood="step", **settings | {"steps": 100})
    first = estimator.fit_many(data)
    assert np.all(np.diff(first[0].objective_) > 0)
    second = estimator.set_params(steps=20, learning_rate=1e-6).fit_many(data, start=first)
    cold = estimator.fit_many(data)
    for k in range(2):
        progress = first[k].objective_[-1] - first[k].objective_[0]
        assert abs(second[k].objective_[0] - first[k].objective_[-1]) < 0.1 * progress
        assert cold[k].objective_[0] < first[k].objective_[-1] - 0.9 * progress
        for name, values in first[k].fitted_.parameters.items():
            np.testing.assert_allclose(second[k].weights_[name], values, atol=1e-3, err_msg=name)


@pytest.mark.usefixtures("eagerly")
def test_a_warm_start_keeps_the_standardisation_and_the_inducing_points():
    """Of data that grow: the parameters mean something in the first data's units."""
    X, y, X_var = make_data(60, 1)
    first = NIMGPClassifier(**SMALL).fit_many([(X[:30], y[:30], X_var[:30])])
    estimator = NIMGPClassifier(**SMALL | {"steps": 1, "learning_rate": 1e-6})
    (second,) = estimator.fit_many([(3 * X + 1, y, 9 * X_var)], start=first)
    for name in ("mean_", "scale_"):
        np.testing.assert_array_equal(getattr(second, name), getattr(first[0], name))
    np.testing.assert_allclose(second.weights_["posterior.Z"], first[0].weights_["posterior.Z"], atol=1e-5)
    np.testing.assert_allclose(second.weights_["posterior.q_mu"], first[0].weights_["posterior.q_mu"], atol=1e-5)


@pytest.mark.usefixtures("eagerly")
def test_the_first_is_not_changed_by_a_warm_start(new):
    X, X_var = new
    data = [make_data(30, 1)]
    first = NIMGPClassifier(**SMALL).fit_many(data)
    before = first[0].predict_proba(X, X_var=X_var)
    second = NIMGPClassifier(**SMALL).fit_many(data, start=first)
    np.testing.assert_array_equal(first[0].predict_proba(X, X_var=X_var), before)
    assert np.any(second[0].predict_proba(X, X_var=X_var) != before)


@pytest.mark.usefixtures("eagerly")
def test_a_start_that_does_not_fit_is_refused():
    X, y, X_var = make_data(30, 1)
    first = NIMGPClassifier(**SMALL).fit_many([(X, y, X_var)])
    with pytest.raises(ValueError, match="with method='nimgp' cannot be the start of one with method='mgp'"):
        NIMGPClassifier("mgp", **SMALL).fit_many([(X, y, X_var)], start=first)
    others = np.char.add("other-", y.astype(str))
    with pytest.raises(ValueError, match="cannot be the start of one of other-"):
        NIMGPClassifier(**SMALL).fit_many([(X, others, X_var)], start=first)
