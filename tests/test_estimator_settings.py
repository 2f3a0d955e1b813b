"""What an estimator's parameters may be, and what is made of them."""

import inspect

import numpy as np
import pytest

from fermiclass.estimator_settings import (
    INPUT_PRIORS,
    check_parameters,
    check_variances,
    input_prior,
    model_settings,
    read_prior,
    standardise,
    tensor_type,
    written_prior,
)
from fermiclass.estimators import NIMGPClassifier
from fermiclass.nimgp.input_prior import InputPrior
from fermiclass.nimgp.names import KERNELS, LIKELIHOODS, METHODS, NOISES, OBJECTIVES

NOT_NEGATIVE = "expected a number of 0 or more"
WHOLE, NUMBER = "expected a whole number above 0", "expected a number above 0"
REFUSED = [
    *(
        ({name: value}, rf"^{name}={value!r} does not do: {WHOLE}$")
        for name in ("steps", "num_draws", "components", "hidden_units", "hidden_layers", "degree")
        for value in (0, -1, 2.5, "3", None, True)
    ),
    *(
        ({name: value}, rf"^{name}={value!r} does not do: {WHOLE}, or None$")
        for name in ("batch_size", "epochs")
        for value in (0, -1, 2.5, "3", True)
    ),
    *(
        ({name: value}, rf"^{name}={value!r} does not do: {NUMBER}$")
        for name in (
            "learning_rate",
            "num_inducing",
            "initial_noise",
            "initial_white",
            "initial_spread",
            "temperature",
        )
        for value in (0, -0.1, float("nan"), "a", None, True)
    ),
    *(
        ({name: value}, rf"^{name}={value!r} does not do: {NUMBER}, or None$")
        for name in ("clip", "epsilon", "input_prior_variance", "initial_lengthscale")
        for value in (0, -0.1, float("nan"), "a", True)
    ),
    *(({"jitter": value}, rf"^jitter={value!r} does not do: {NOT_NEGATIVE}$") for value in (-1.0, "a", None)),
    *(({"max_noise": value}, rf"^max_noise={value!r} does not do: {NOT_NEGATIVE}, or None$") for value in (-1.0, "a")),
    ({"patience": 0}, rf"^patience=0 does not do: {WHOLE}, or None$"),
    ({"natural_gradient": 0.0}, rf"^natural_gradient=0\.0 does not do: {NUMBER}, or None$"),
    ({"natural_gradient": 1.5}, r"^natural_gradient=1\.5 does not do: expected a number up to 1, or None$"),
    ({"epsilon": 1}, "^epsilon=1 does not do: expected a number between 0 and 1, or None$"),
    ({"num_inducing": 60.0}, r"^num_inducing=60\.0 does not do: expected a whole number, or a fraction below 1$"),
    ({"likelihood": "step", "temperature": 2.0}, r"^temperature=2\.0 does not do: the step likelihood knows no scale"),
    ({"likelihood": "step", "temperature": "folds"}, r"^temperature='folds' does not do: the step likelihood knows no"),
    ({"method": "gp"}, f"^method='gp' is unknown: choose one of {', '.join(METHODS)}$"),
    ({"likelihood": "gauss"}, f"^likelihood='gauss' is unknown: choose one of {', '.join(LIKELIHOODS)}$"),
    ({"kernel": "se+rbf"}, rf"^kernel='se\+rbf' is unknown: join some of {', '.join(KERNELS)} by '\+'$"),
    ({"objective": "loss"}, f"^objective='loss' is unknown: choose one of {', '.join(OBJECTIVES)}$"),
    ({"noise": "some"}, f"^noise='some' is unknown: choose one of {', '.join(NOISES)}$"),
    ({"label_noise": 1.0}, r"^label_noise=1\.0 does not do: expected 'learned', or a number from 0 to below 1$"),
    ({"label_noise": None}, r"^label_noise=None does not do: expected 'learned', or a number from 0 to below 1$"),
    ({"precision": "float16"}, r"^precision='float16' is unknown: choose 'float32' or 'float64'$"),
    ({"inducing": "grid"}, "^inducing='grid' is unknown: choose one of kmeans, random$"),
    ({"input_prior": "flat"}, f"^input_prior='flat' is unknown: choose one of {', '.join(INPUT_PRIORS)}$"),
]
UNCHECKED = {"decay", "hyper_priors", "average_noise", "random_state"}  # truth values, and scikit-learn's own


@pytest.mark.parametrize(("settings", "message"), REFUSED, ids=lambda s: str(s) if isinstance(s, dict) else "")
def test_settings_that_do_not_do(settings, message):
    with pytest.raises(ValueError, match=message):
        NIMGPClassifier(**settings).fit([[0.0], [1.0]], ["a", "b"])


def test_every_parameter_is_checked():
    parameters = set(inspect.signature(NIMGPClassifier).parameters)
    assert {name for settings, _ in REFUSED for name in settings} == parameters - UNCHECKED


@pytest.mark.parametrize(
    "settings",
    [
        {"jitter": 0, "max_noise": 0, "num_inducing": 0.05, "epsilon": 1e-3, "batch_size": 1, "epochs": 1},
        {"clip": None, "max_noise": None, "input_prior_variance": None, "epsilon": None, "epochs": None},
        {"steps": np.int64(3), "learning_rate": np.float32(0.1), "num_inducing": np.int32(5), "num_draws": 1},
        {"likelihood": "step", "temperature": 1},
        {"likelihood": "probit", "temperature": 2},
        {"temperature": "folds"},
        {"label_noise": "learned"},
        {"label_noise": 0.1, "likelihood": "step"},
        *({"method": name} for name in METHODS),
        *({"likelihood": name} for name in LIKELIHOODS),
        *({"kernel": name} for name in (*KERNELS, "se+linear", "matern32+polynomial")),
        *({"noise": name} for name in NOISES),
        *({"input_prior": name} for name in INPUT_PRIORS),
    ],
    ids=str,
)
def test_settings_that_do(settings):
    estimator = NIMGPClassifier(**settings)
    check_parameters(estimator)
    made = model_settings(estimator)
    assert {name: getattr(made, name) for name in settings if hasattr(made, name)} == {
        name: value for name, value in settings.items() if hasattr(made, name)
    }


def test_types_by_name():
    assert [tensor_type(name).as_numpy_dtype for name in ("float32", "float64")] == [np.float32, np.float64]


# --- inputs ----------------------------------------------------------------------------------------------------------


def fitted_to(X, **settings):
    """What `standardise` needs of a fitted estimator."""
    estimator = NIMGPClassifier(**settings)
    estimator.mean_, estimator.scale_ = X.mean(axis=0), X.std(axis=0)
    return estimator


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 1e-3, 1e3] + [0.0, 1.0, 1e4]


def test_standardised_inputs_and_variances(X):
    X_std, V_std = standardise(fitted_to(X, clip=None, max_noise=None), X, 0.25 * np.tile(X.var(axis=0), (50, 1)))
    np.testing.assert_allclose(X_std.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(X_std.std(axis=0), 1)
    np.testing.assert_allclose(V_std, 0.25)


def test_limits_of_inputs_and_variances(X):
    estimator = fitted_to(X, clip=1.5, max_noise=0.5)
    X_std, V_std = standardise(estimator, X, np.tile(X.var(axis=0) * [0.1, 0.5, 9.0], (50, 1)))
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
    estimator = NIMGPClassifier(input_prior=kind, components=2, input_prior_variance=None)
    flat = input_prior(estimator, X_std, V, 0)
    np.testing.assert_array_equal(flat.precision, np.zeros((1, 3, 3)))
    prior = input_prior(estimator.set_params(input_prior_variance=3.0), X_std, V, 0)
    assert prior.mean.shape == (components, 3)
    expected = InputPrior.isotropic(3, 1.0)
    if kind != "isotropic":
        expected = InputPrior.population(X_std, V, components=components, seed=0)
    np.testing.assert_allclose(np.linalg.inv(prior.precision), 3.0 * np.linalg.inv(expected.precision))
    np.testing.assert_array_equal(prior.mean, expected.mean)
    prior = input_prior(estimator.set_params(method="mgp"), X_std, V, 0)  # which does without
    np.testing.assert_array_equal(prior.precision, InputPrior.isotropic(3, 3.0).precision)


@pytest.fixture
def written():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(2, 3, 3))
    return written_prior(InputPrior(np.array([0.4, 0.6]), rng.normal(size=(2, 3)), A @ A.swapaxes(1, 2) + np.eye(3)))


def test_prior_round_trip(written):
    weights = {"posterior.Z": np.zeros(3), **written}
    prior = read_prior(weights)
    assert set(weights) == {"posterior.Z"}
    for name, array in written_prior(prior).items():
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
        read_prior(spoilt)
    with pytest.raises(ValueError, match=LACKING):
        read_prior({key: array for key, array in written.items() if not key.endswith(name)})


def test_a_single_component_may_be_flat():
    flat = InputPrior.isotropic(3, np.inf)
    np.testing.assert_array_equal(read_prior(written_prior(flat)).precision, flat.precision)
