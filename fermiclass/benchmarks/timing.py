"""Cost of a training step and of a prediction, compared with the SVGP of GPflow in the same run.

A step has 3 classes, 100 inducing points per class, 6 features and 50 sources, and uses Adam.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from rich.console import Console

from fermiclass.benchmarks.tables import plain_table

#: Seconds per epoch of MNIST relative to MGP (the paper's table 8 has 7.19, 11.93, 7.62 and 24.01 seconds).
PAPER_OVER_MGP: Mapping[str, float] = MappingProxyType({"nimgp": 1.66, "nimgp-nn": 1.06, "nimgp-fo": 3.34})

_METHODS, _LIKELIHOODS, _GPFLOW = ("mgp", "nimgp", "nimgp-nn", "nimgp-fo"), ("softmax", "step"), "gpflow-svgp"

_C, _M, _D, _B = 3, 100, 6, 50
_STEPS_A_CALL = 20
_NUM_TARGETS, _NUM_DRAWS = 2000, 300


def run(*, repetitions: int = 15, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """Time all methods in turn, ``repetitions`` times, and return medians.

    Returns
    -------
    dict
        ``"step"``: by method and likelihood (``"nimgp softmax"``), and for ``"gpflow-svgp"``, milliseconds per training
        step (``"ms"``). ``"over_mgp"`` is the ratio to MGP with the same likelihood, ``"over_gpflow"`` the ratio to
        GPflow, and ``"paper"`` the ratio to MGP in the paper's table 8. ``"predict_per_second"``: by likelihood the
        number of sources per second, each averaged over 300 draws of its input.
    """
    steps = {_GPFLOW: _gpflow_steps()}
    steps |= {f"{m} {likelihood}": our_steps(m, likelihood) for likelihood in _LIKELIHOODS for m in _METHODS}
    predictions = {likelihood: _prediction(likelihood) for likelihood in _LIKELIHOODS}
    times: dict[str, list[float]] = {name: [] for name in (*steps, *predictions)}
    calls = {name: call for name, (call, _) in steps.items()} | predictions
    for k in range(repetitions):
        for name, call in calls.items():  # in turn, so that all methods run under the same load
            started = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - started)
        if progress is not None:
            progress(k + 1, repetitions)
    ms = {name: float(1e3 * np.median(times[name]) / steps_a_call) for name, (_, steps_a_call) in steps.items()}
    return {
        "benchmark": "timing",
        "repetitions": repetitions,
        "step": {name: {"ms": value} | _ratios(name, ms) for name, value in ms.items()},
        "predict_per_second": {name: float(_NUM_TARGETS / np.median(times[name])) for name in predictions},
    }


def _ratios(name: str, ms: Mapping[str, float]) -> dict[str, float]:
    if name == _GPFLOW:
        return {}
    method, likelihood = name.split()
    ratios = {"over_mgp": ms[name] / ms[f"mgp {likelihood}"], "over_gpflow": ms[name] / ms[_GPFLOW]}
    return ratios | ({"paper": PAPER_OVER_MGP[method]} if method in PAPER_OVER_MGP else {})


def print_timing(results: Mapping[str, Any], console: Console | None = None) -> None:
    """Print the times of steps and predictions."""
    console = console or Console(highlight=False)
    table = plain_table("a training step", numbers=("ms", "over MGP", "paper", "over GPflow's SVGP"))
    previous = None
    for name, step in results["step"].items():
        likelihood = name.partition(" ")[2]
        if previous not in (None, likelihood):
            table.add_section()
        previous = likelihood
        ratios = [f"{step[key]:.2f}" if key in step else "" for key in ("over_mgp", "paper", "over_gpflow")]
        table.add_row(name.replace(" ", ", "), f"{step['ms']:.2f}", *ratios)
    console.print(table)
    console.print()
    table = plain_table("a prediction", numbers=["sources per second"])
    for likelihood, value in results["predict_per_second"].items():
        table.add_row(f"nimgp, {likelihood}", f"{value:,.0f}")
    console.print(table)
    console.print()
    console.print(
        f"A step: {_C} classes, {_M} inducing points per class, {_D} features, {_B} sources. A prediction: the mean "
        f"over {_NUM_DRAWS} draws of the features of a source. Medians of {results['repetitions']} repetitions. Our "
        "methods have a squared exponential and a linear kernel; GPflow has a squared exponential only. paper: table 8 "
        "of the paper."
    )


def _data(num: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(num, _D)), np.full((num, _D), 0.1), rng.integers(0, _C, num)


def our_steps(method: str, likelihood: str) -> tuple[Callable[[], Any], int]:
    """Return a function that makes some steps, and their number. The graph is traced."""
    import tensorflow as tf

    from fermiclass.nimgp.build import build_model
    from fermiclass.nimgp.inputs.prior import InputPrior
    from fermiclass.nimgp.settings import Settings
    from fermiclass.nimgp.training.feeds import TrainingData
    from fermiclass.nimgp.training.loop import Schedule, train

    X, X_var, y = _data(10 * _B)
    settings, priors = Settings(method, likelihood), [InputPrior.isotropic(_D, 1.0)]
    model = build_model(settings, X[:_M], num_classes=_C, num_data=len(X), input_priors=priors, dtype=tf.float32)
    states = train(model, TrainingData(X, X_var, y), Schedule(steps=10**9, batch_size=_B))
    done = next(states).step  # traces the graph
    return lambda: next(states), done


def _gpflow_steps() -> tuple[Callable[[], Any], int]:
    from fermiclass.benchmarks.gpflow_svgp import svgp_steps

    X, _, y = _data(10 * _B)
    return svgp_steps(X, y, num_inducing=_M, batch_size=_B, steps_a_call=_STEPS_A_CALL), _STEPS_A_CALL


def _prediction(likelihood: str) -> Callable[[], Any]:
    import tensorflow as tf

    from fermiclass.nimgp.build import build_model
    from fermiclass.nimgp.prediction.predictor import ClassPredictor
    from fermiclass.nimgp.settings import Settings

    X, X_var, _ = _data(_NUM_TARGETS)
    model = build_model(Settings("nimgp", likelihood), X[:_M], num_classes=_C, num_data=len(X), dtype=tf.float32)
    predictor = ClassPredictor(model)
    predictor.predict(X, X_var, num_draws=_NUM_DRAWS)  # traces the graph
    return lambda: predictor.predict(X, X_var, num_draws=_NUM_DRAWS)
