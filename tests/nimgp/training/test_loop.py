"""Training: what it yields, that it is reproducible, and how it fails."""

import warnings

import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.errors import TrainingError, TrainingWarning
from fermiclass.nimgp.estimators.preparation import inducing_points
from fermiclass.nimgp.model import build_model, weights_of
from fermiclass.nimgp.settings import Settings
from fermiclass.nimgp.training.loop import StreamedData, TrainingData, maximise
from fermiclass.nimgp.training.optimisers import NaturalGradient, Optimiser, Schedule


@pytest.fixture
def problem(rng):
    y = rng.integers(0, 3, 90)
    centres = np.array([[0.0, 1.5], [1.5, -1.0], [-1.5, -1.0]])
    return centres[y] + 0.3 * rng.normal(size=(90, 2)), np.full((90, 2), 0.09), y


def trained(problem, settings, dtype=tf.float64, **model_settings):
    X, _, y = problem
    Z = inducing_points(Settings(num_inducing=12), X, len(X), 0)
    model = build_model(Settings(**model_settings, objective="elbo"), Z, num_classes=3, num_data=len(y), dtype=dtype)
    return model, list(maximise(model, TrainingData(*problem), settings))


@pytest.mark.parametrize(
    ("method", "likelihood", "batch_size", "dtype"),
    [("mgp-aug", "softmax", 20, tf.float32), ("nimgp", "probit", None, tf.float64)],
)
def test_bound_rises(problem, method, likelihood, batch_size, dtype):
    settings = Schedule(steps=50, batch_size=batch_size, learning_rate=0.05)
    model, states = trained(problem, settings, dtype, method=method, likelihood=likelihood)
    assert [s.step for s in states] == [20, 40, 50]
    assert states[0].value.shape == ()
    assert states[-1].value > states[0].value + 10
    assert model.posterior.q_mu.dtype == dtype


@pytest.mark.parametrize("gamma", [None, 0.1])
@pytest.mark.parametrize(("steps", "left_out"), [(1, 0), (2, 1), (5, 2)])
@pytest.mark.usefixtures("eagerly")
def test_all_parameters_end_at_their_mean(problem, steps, left_out, gamma):
    """That over the later steps, in which they move as without it."""

    def variables(steps, mean):
        settings = Schedule(steps, 20, 0.05, decay=False, mean=mean, natural_gradient=gamma)
        return [variable.numpy() for variable in trained(problem, settings, method="nimgp-nn")[0].trainable_variables]

    after_each = [variables(k, False) for k in range(left_out + 1, steps + 1)]
    for found, *values in zip(variables(steps, True), *after_each, strict=True):
        np.testing.assert_allclose(found, np.mean(values, axis=0), rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("eagerly")
def test_a_bound_that_is_no_number_is_an_error(problem):
    X, X_var, y = problem
    X_var = X_var.copy()
    X_var[3, 0] = np.nan
    with (
        pytest.warns(TrainingWarning, match="training diverged"),
        pytest.raises(TrainingError, match=r"between steps 0 and 2: .*A larger jitter and smaller steps did not help"),
    ):
        trained((X, X_var, y), Schedule(steps=2))


def test_inducing_points(rng):
    X = np.repeat(rng.normal(size=(30, 2)), 2, axis=0)
    for method in ("kmeans", "random"):
        settings = Settings(num_inducing=10, training={"inducing": method})
        Z = inducing_points(settings, X, len(X), 0)
        assert Z.shape == (10, 2)
        np.testing.assert_array_equal(Z, inducing_points(settings, X, len(X), 0))
    assert inducing_points(Settings(num_inducing=100), X, len(X), 0).shape == (30, 2)
    for fraction, of, expected in ((0.2, 90, 18), (0.05, 90, 4), (0.001, 90, 2), (0.9, 150, 100)):  # and its limits
        Z = inducing_points(Settings(num_inducing=fraction), rng.normal(size=(150, 2)), of, 0)
        assert len(Z) == expected


@pytest.mark.usefixtures("eagerly")
def test_a_stream_of_the_same_batches_trains_the_same_model(problem):
    """Random numbers, step sizes and scale of the bound are those of training in memory."""
    X, _, y = problem
    settings = Schedule(steps=6, batch_size=20, learning_rate=0.05, seed=4)
    take = TrainingData(*problem).feed(20, 4, tf.float64).open(0)

    def opened(first):
        while True:
            (rows,) = take(1)
            yield tuple(a[rows[0].numpy()] for a in problem)

    Z = inducing_points(Settings(num_inducing=12), X, len(X), 0)
    weights = []
    for data in (TrainingData(*problem), StreamedData(opened)):
        model = build_model(Settings("nimgp-nn", objective="elbo"), Z, num_classes=3, num_data=len(y))
        *_, last = maximise(model, data, settings)
        weights.append(weights_of(model))
        assert last.value.shape == ()
    for name, values in weights[0].items():
        np.testing.assert_array_equal(weights[1][name], values)


@pytest.mark.parametrize(
    ("method", "batch_size", "gamma"), [("mgp", 20, 0.1), ("nimgp-fo", None, None), ("nimgp-nn", 20, None)]
)
def test_models_that_are_alike_share_a_graph(problem, monkeypatch, method, batch_size, gamma):
    """With other sources, other numbers of them, initial values and seeds each is trained as alone."""
    traced, step = [], Optimiser.step
    monkeypatch.setattr(Optimiser, "step", lambda *args: traced.append(args) or step(*args))

    def trained_on(rows, alike):
        data = TrainingData(*(a[rows] for a in problem))
        settings, Z = Settings(method, objective="elbo"), data.X[:12]
        model = build_model(settings, Z, num_classes=3, num_data=len(data.y), seed=len(data.y))
        schedule = Schedule(8, batch_size, 0.05, seed=len(data.y), natural_gradient=gamma)
        *_, last = maximise(model, data, schedule, alike=alike)
        return weights_of(model), last.value

    trained_on(slice(0, 80), (method, batch_size))
    before = len(traced)
    weights, value = trained_on(slice(20, 90), (method, batch_size))
    assert len(traced) == before
    alone, value_alone = trained_on(slice(20, 90), None)
    assert len(traced) > before
    assert value == value_alone
    for name, each in weights.items():
        np.testing.assert_array_equal(each, alone[name])


def test_each_source_is_once_in_an_epoch(problem):
    (steps,) = TrainingData(*problem).feed(20, 4, tf.float64).open(0)(9)
    first, second = steps.numpy().reshape(2, 90)
    for epoch in (first, second):
        np.testing.assert_array_equal(np.sort(epoch), np.arange(90))
    assert np.any(first != second)


@pytest.mark.parametrize(("stuck", "restarts"), [(True, 3), (False, 0)])
def test_a_bound_that_stays_where_it_began_is_noticed(problem, monkeypatch, stuck, restarts):
    """As when natural gradients have moved q(u) to where a likelihood with fixed label noise is flat."""
    if stuck:
        monkeypatch.setattr(NaturalGradient, "apply_gradients", lambda *_: None)
    schedule = Schedule(steps=80, learning_rate=1e-3, natural_gradient=0.1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TrainingWarning)
        _, states = trained(problem, schedule, method="mgp", likelihood="probit", hyper={"epsilon": 1e-3})
    assert states[-1].attempt == restarts
    said = [str(w.message) for w in caught]
    assert len(said) == (restarts + 1 if stuck else 0)
    assert all("training diverged (the objective went from -" in text for text in said)
    assert all("starts again" in text for text in said[:restarts])
    assert all("do not trust the predictions" in text for text in said[restarts:])


def test_the_jitter_adapts(problem):
    """Inducing points in one place, in single precision, without jitter and white noise: no Cholesky factor."""
    settings = Settings("mgp", kernel="se", objective="elbo", hyper={"white": 1e-12})
    model = build_model(settings, np.zeros((12, 2)), num_classes=3, num_data=90, jitter=0.0, dtype=tf.float32)
    *_, last = maximise(model, TrainingData(*problem), Schedule(steps=20))
    assert np.isfinite(last.value)
    assert 1e-6 < model.posterior.jitter.numpy() < 0.1
    assert weights_of(model)["posterior.jitter"] == model.posterior.jitter.numpy()
