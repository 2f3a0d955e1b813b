"""What a training step and a prediction cost, beside GPflow's SVGP in the same run.

The step is that of the project's targets: 3 classes, 100 inducing points a class, 6 features, 50 sources, Adam.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

_C, _M, _D, _B = 3, 100, 6, 50
_STEPS_A_CALL = 20
_NUM_TARGETS, _NUM_DRAWS = 2000, 300


def run(*, repetitions: int = 15, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """Time everything in turn, ``repetitions`` times, and report medians.

    Returns
    -------
    dict
        ``"step_ms"``: milliseconds a training step by method (``gpflow-svgp`` beside ours), ``"predict_per_second"``:
        sources a second, each averaged over 300 draws of its input.
    """
    steps = {"gpflow-svgp": _gpflow_steps()}
    for method in ("mgp", "nimgp"):
        for likelihood in ("softmax", "step"):
            steps[f"{method} {likelihood}"] = _our_steps(method, likelihood)
    predictions = {likelihood: _prediction(likelihood) for likelihood in ("softmax", "step")}
    times: dict[str, list[float]] = {name: [] for name in (*steps, *predictions)}
    for k in range(repetitions):
        for name, call in (*steps.items(), *predictions.items()):  # in turn, so that all see the same machine
            started = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - started)
        if progress is not None:
            progress(k + 1, repetitions)
    return {
        "benchmark": "cost",
        "repetitions": repetitions,
        "step_ms": {name: float(1e3 * np.median(times[name]) / _STEPS_A_CALL) for name in steps},
        "predict_per_second": {name: float(_NUM_TARGETS / np.median(times[name])) for name in predictions},
    }


def _data(num: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(num, _D)), np.full((num, _D), 0.1), rng.integers(0, _C, num)


def _our_steps(method: str, likelihood: str) -> Callable[[], Any]:
    import tensorflow as tf

    from fermiclass.nimgp.build import ModelSettings, build_model
    from fermiclass.nimgp.input_prior import InputPrior
    from fermiclass.nimgp.training import TrainingSettings, train

    X, X_var, y = _data(10 * _B)
    settings, prior = ModelSettings(method, likelihood), InputPrior.isotropic(_D, 1.0)
    model = build_model(settings, X[:_M], num_classes=_C, num_data=len(X), input_prior=prior, dtype=tf.float32)
    states = train(model, X, X_var, y, TrainingSettings(steps=10**9, batch_size=_B))
    next(states)  # traces the graph
    return lambda: next(states)


def _gpflow_steps() -> Callable[[], Any]:
    import gpflow
    import tensorflow as tf

    X, _, y = _data(10 * _B)
    Z = [gpflow.inducing_variables.InducingPoints(X[:_M].copy()) for _ in range(_C)]
    model = gpflow.models.SVGP(
        gpflow.kernels.SeparateIndependent([gpflow.kernels.RBF(lengthscales=np.ones(_D)) for _ in range(_C)]),
        gpflow.likelihoods.Softmax(_C),
        gpflow.inducing_variables.SeparateIndependentInducingVariables(Z),
        num_latent_gps=_C,
        num_data=len(X),
    )
    batches = iter(
        tf.data.Dataset.from_tensor_slices((X, y[:, None])).repeat().shuffle(len(X), seed=0).batch(_B).prefetch(4)
    )
    optimiser = tf.keras.optimizers.Adam(0.01)
    variables = model.trainable_variables
    optimiser.build(variables)

    @tf.function
    def steps() -> None:
        for _ in tf.range(_STEPS_A_CALL):
            batch = next(batches)
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(variables)
                loss = model.training_loss(batch)
            optimiser.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

    steps()
    return steps


def _prediction(likelihood: str) -> Callable[[], Any]:
    import tensorflow as tf

    from fermiclass.nimgp.build import ModelSettings, build_model
    from fermiclass.nimgp.prediction import Predictor

    X, X_var, _ = _data(_NUM_TARGETS)
    model = build_model(ModelSettings("nimgp", likelihood), X[:_M], num_classes=_C, num_data=len(X), dtype=tf.float32)
    predictor = Predictor(model)
    return lambda: predictor.predict(X, X_var, num_draws=_NUM_DRAWS)
