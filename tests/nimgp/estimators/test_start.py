"""What training starts from, and what is kept of it: standardised inputs, p(x), weights by name."""

import numpy as np
import pytest

from fermiclass.nimgp.build import type_of
from fermiclass.nimgp.estimators.checks import check_variances
from fermiclass.nimgp.estimators.scaling import Scaling
from fermiclass.nimgp.estimators.start import input_prior, schedule
from fermiclass.nimgp.estimators.weights import join_weights, part_weights
from fermiclass.nimgp.inputs.prior import InputPrior
from fermiclass.nimgp.settings import Settings


def test_types_by_name():
    types = [type_of(Settings(training={"precision": name})).as_numpy_dtype for name in ("float32", "float64")]
    assert types == [np.float32, np.float64]


def test_the_schedule_counts_passes():
    assert schedule(Settings(steps=7), 100, 0).steps == 7
    assert schedule(Settings(epochs=3, batch_size=10), 100, 0).steps == 30
    assert schedule(Settings(epochs=3), 100, 0).steps == 3
    replaced = schedule(Settings(epochs=3, batch_size=10), 100, 5, batch_size=50)
    assert (replaced.steps, replaced.batch_size, replaced.seed) == (6, 50, 5)


# --- inputs ----------------------------------------------------------------------------------------------------------


def standardise(X, X_var, **settings):
    return Scaling(X.mean(axis=0), X.std(axis=0)).apply(X, X_var, Settings(**settings))


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 1e-3, 1e3] + [0.0, 1.0, 1e4]


def test_standardised_inputs_and_variances(X):
    X_std, V_std = standardise(X, 0.25 * np.tile(X.var(axis=0), (50, 1)), inputs={"clip": None, "max_noise": None})
    np.testing.assert_allclose(X_std.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(X_std.std(axis=0), 1)
    np.testing.assert_allclose(V_std, 0.25)


def test_limits_of_inputs_and_variances(X):
    X_var = np.tile(X.var(axis=0) * [0.1, 0.5, 9.0], (50, 1))
    X_std, V_std = standardise(X, X_var, inputs={"clip": 1.5, "max_noise": 0.5})
    assert (X_std.min(), X_std.max()) == (-1.5, 1.5)
    np.testing.assert_allclose(V_std, np.tile([0.1, 0.5, 0.5], (50, 1)))


def test_variances_that_are_none_are_zero(X):
    np.testing.assert_array_equal(check_variances(X, None), np.zeros_like(X))
    np.testing.assert_array_equal(check_variances(X, X**2), X**2)
    with pytest.raises(ValueError, match=r"X_var has shape \(50, 2\), X has \(50, 3\): every value of X needs its"):
        check_variances(X, X[:, 1:] ** 2)
    with pytest.raises(ValueError, match=r"X_var is negative in row \d+, column 0: variances are zero or positive"):
        check_variances(X, X)


# --- p(x) ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "components"), [("isotropic", 1), ("population", 1), ("mixture", 2)])
def test_prior_by_name(X, kind, components):
    X_std, V = (X - X.mean(axis=0)) / X.std(axis=0), np.full(X.shape, 0.2)
    chosen = {"prior": kind, "components": 2}
    flat = input_prior(Settings(inputs={**chosen, "prior_variance": None}), X_std, V, 0)
    np.testing.assert_array_equal(flat.precision, np.zeros((1, 3, 3)))
    prior = input_prior(Settings(inputs=chosen), X_std, V, 0)
    assert prior.mean.shape == (components, 3)
    expected = InputPrior.isotropic(3, 1.0)
    if kind != "isotropic":
        expected = InputPrior.population(X_std, V, components=components, seed=0)
    np.testing.assert_allclose(np.linalg.inv(prior.precision), 3.0 * np.linalg.inv(expected.precision))
    np.testing.assert_array_equal(prior.mean, expected.mean)
    prior = input_prior(Settings("mgp", inputs=chosen), X_std, V, 0)  # which does without
    np.testing.assert_array_equal(prior.precision, InputPrior.isotropic(3, 3.0).precision)


@pytest.fixture
def written():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(2, 3, 3))
    prior = InputPrior(np.array([0.4, 0.6]), rng.normal(size=(2, 3)), A @ A.swapaxes(1, 2) + np.eye(3))
    return join_weights({"posterior.Z": np.zeros(3)}, prior, 1.5)


def test_weights_round_trip(written):
    model, prior, temperature = part_weights(written)
    assert set(model) == {"posterior.Z"}
    assert temperature == 1.5
    again = join_weights(model, prior, temperature)
    assert again.keys() == written.keys()
    for name, array in again.items():
        np.testing.assert_array_equal(array, written[name])


LACKING = r"the weights lack p\(x\) of the inputs"
WEIGHTS = "the components of p.x. have weights that are not positive, or do not sum to one"


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        *(("weights", change, LACKING) for change in (lambda a: a[:1], lambda a: a[None])),
        *(("mean", change, LACKING) for change in (lambda a: a[:, :2], lambda a: a[0], lambda a: a[:0])),
        *(("precision", change, LACKING) for change in (lambda a: a[0], lambda a: a[:, :2], lambda a: a[:, :, :2])),
        ("weights", lambda a: a - 0.5, WEIGHTS),
        ("weights", lambda a: 2 * a, WEIGHTS),
        ("weights", lambda a: a * [0, 1], WEIGHTS),
        ("precision", lambda a: -a, "has a negative precision along some direction"),
        ("precision", lambda a: 0 * a, "has a negative precision along some direction"),
    ],
)
def test_a_prior_that_is_none_is_refused(written, name, change, message):
    spoilt = written | {f"input_prior.{name}": change(written[f"input_prior.{name}"])}
    with pytest.raises(ValueError, match=message):
        part_weights(spoilt)
    with pytest.raises(ValueError, match=LACKING):
        part_weights({key: array for key, array in written.items() if not key.endswith(name)})


def test_a_single_component_may_be_flat():
    flat = InputPrior.isotropic(3, np.inf)
    np.testing.assert_array_equal(part_weights(join_weights({}, flat, 1.0))[1].precision, flat.precision)


@pytest.mark.parametrize(("temperature", "message"), [(0.0, "not positive"), (-1.0, "not positive"), ([1.0], LACKING)])
def test_a_temperature_that_is_none_is_refused(written, temperature, message):
    with pytest.raises(ValueError, match=message):
        part_weights(written | {"temperature": np.array(temperature)})
