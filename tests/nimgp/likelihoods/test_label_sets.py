"""Labels that stand for a set of classes: against sampling, in every likelihood, input model and estimator."""

import numpy as np
import pytest
import tensorflow as tf

from fermiclass import NIMGPClassifier
from fermiclass.nimgp.inputs.models import Batch
from fermiclass.nimgp.likelihoods.named import NOISE_VARIANCE, make_likelihood
from fermiclass.nimgp.model import build_model
from fermiclass.nimgp.names import LIKELIHOODS, METHODS
from fermiclass.nimgp.posterior import LatentMoments
from fermiclass.nimgp.settings import Settings
from fermiclass.nimgp.targets import LabelTable
from fermiclass.rows import fit_rows
from fermiclass.rows.opening import ArrayRows
from tests.nimgp.conftest import SEED
from tests.nimgp.likelihoods.definitions import EPSILON, PROBABILITIES

C, N = 4, 5
SETS = np.array([*np.eye(C), [1, 1, 0, 0], [0, 1, 0, 1], [1, 1, 0, 1]])
Y = np.array([4, 5, 6, 2, 0])


@pytest.fixture(scope="module")
def latent():
    rng = np.random.default_rng(0)
    return LatentMoments(tf.constant(rng.normal(size=(C, N))), tf.constant(rng.uniform(0.2, 1.5, (C, N))))


@pytest.fixture(scope="module")
def draws(latent):
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(200_000, C, N))
    return latent.mean.numpy() + np.sqrt(latent.var.numpy()) * noise


def probability_of_sets(kind, draws):
    """p(S | f) for draws of f, (S, n), from the definition; noise of f is drawn, too."""
    noise = NOISE_VARIANCE.get(kind, 0.0)
    noisy = draws + np.sqrt(noise) * np.random.default_rng(2).normal(size=draws.shape)
    return (PROBABILITIES["step" if noise else kind](noisy) * SETS[Y].T).sum(axis=1)


@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_against_sampling(kind, latent, draws):
    likelihood = make_likelihood(kind, C, epsilon=EPSILON, sets=SETS)
    for part in (likelihood, *likelihood.submodules):
        if hasattr(part, "num_draws"):
            part.num_draws = 60_000
    p = probability_of_sets(kind, draws)
    found = likelihood.variational_expectations(latent, tf.constant(Y), SEED).numpy()
    if kind == "softmax-bound":
        assert np.all(found <= np.log(p).mean(axis=0) + 0.01)
        assert np.all(found > np.log(p).mean(axis=0) - 1.0)
    else:
        np.testing.assert_allclose(found, np.log(p).mean(axis=0), atol=0.015)
    predictive = likelihood.log_predictive(latent, tf.constant(Y), SEED).numpy()
    np.testing.assert_allclose(predictive, np.log(p.mean(axis=0)), atol=0.015)


@pytest.mark.parametrize("method", METHODS)
def test_every_input_model_takes_them(method):
    """The objective of a row is the likelihood's term for its set, and has a gradient everywhere."""
    rng = np.random.default_rng(5)
    X, X_var = rng.normal(size=(N, 2)), np.full((N, 2), 0.1)
    batch = Batch(None, tf.constant(X), tf.constant(X_var), tf.constant(Y), tf.constant(np.linspace(0.2, 1.4, N)))
    model = build_model(Settings(method), X[:4], num_classes=C, num_data=N, sets=SETS)
    for predictive in (False, True):
        model.predictive = predictive
        with tf.GradientTape() as tape:
            value = model.objective(batch, SEED)
        gradients = tape.gradient(value, model.trainable_variables, unconnected_gradients="zero")
        assert np.isfinite(value)
        assert all(np.all(np.isfinite(gradient)) for gradient in gradients)
        assert model.objective(batch._replace(weight=None), SEED) != value
        assert model.objective(batch._replace(y=tf.constant(Y[[0, 1, 2, 3, 0]])), SEED) != value


def test_table_of_labels():
    sets = {"bcu": ("bll", "fsrq"), "agn": ("bll", "fsrq"), "unk": ("bll", "fsrq", "psr")}
    table = LabelTable.of(np.array(["psr", "bcu", "fsrq", "unk", "bll"]), sets)
    assert table.classes.tolist() == ["bll", "fsrq", "psr"]
    assert table.names.tolist() == ["bll", "fsrq", "psr", "bcu"]  # unk may be anything, which says nothing
    assert table.sets.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]]
    assert table.weights(np.array([3, 0]), {"bcu": 0.5}).tolist() == [0.5, 1]
    assert table.codes(np.array(["bcu", "bll", "bcu", "psr"])).tolist() == [3, 0, 3, 2]
    plain = LabelTable.of(np.array([2, 1, 1]), sets)
    assert plain.sets is None
    assert plain.codes(np.array([2, 1])).tolist() == [1, 0]
    with pytest.raises(ValueError, match="'bcu' may stand for the class 'fsrq', but no row has that class"):
        LabelTable.of(np.array(["bll", "psr", "bcu"]), sets)


# --- the estimator ---------------------------------------------------------------------------------------------------

FEW = {"steps": 60, "num_inducing": 10, "num_draws": 16, "learning_rate": 0.1, "training": {"precision": "float64"}}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(8)
    kind = rng.integers(0, 3, 240)
    centres = np.array([[0.0, 2.0], [-2.0, -1.0], [2.0, -1.0]])
    y = np.array(["bll", "fsrq", "psr"])[kind].astype(object)
    X = centres[kind] + 0.8 * rng.normal(size=(240, 2))
    y[(kind < 2) & (rng.uniform(size=240) < 0.7)] = "bcu"
    return X, y.astype(str), np.full(X.shape, 0.05)


def test_rows_of_a_set_teach(data):
    X, y, X_var = data
    settings = {**FEW, "label_sets": {"bcu": ("bll", "fsrq")}}
    model = NIMGPClassifier(method="mgp", **settings).fit(X, y, X_var=X_var)
    assert model.classes_.tolist() == ["bll", "fsrq", "psr"]
    P = model.predict_proba(X, X_var=X_var)
    of_set = P[y == "bcu"][:, :2].sum(axis=1)
    assert of_set.mean() > 0.9
    without = NIMGPClassifier(method="mgp", **FEW).fit(X[y != "bcu"], y[y != "bcu"], X_var=X_var[y != "bcu"])
    alone = without.predict_proba(X, X_var=X_var)[y == "bcu"][:, :2].sum(axis=1)
    assert -np.log(of_set).mean() < -np.log(alone).mean()


@pytest.mark.usefixtures("eagerly")
def test_rows_that_say_nothing_are_left_out(data):
    X, y, X_var = data
    everything = {**FEW, "steps": 4, "label_sets": {"bcu": ("bll", "fsrq", "psr")}}
    with_them = NIMGPClassifier(method="mgp", **everything).fit(X, y, X_var=X_var)
    typed = y != "bcu"
    without = NIMGPClassifier(method="mgp", **{**FEW, "steps": 4}).fit(X[typed], y[typed], X_var=X_var[typed])
    np.testing.assert_array_equal(with_them.predict_proba(X, X_var=X_var), without.predict_proba(X, X_var=X_var))
    rows = ArrayRows(X, X_var=X_var, y=y)
    with pytest.raises(ValueError, match="bcu stand for every class"):
        fit_rows(NIMGPClassifier(method="mgp", **everything), rows)
