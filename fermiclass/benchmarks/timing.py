"""What a training step and a prediction cost, beside GPflow's SVGP in the same run.

The step is that of the project's targets: 3 classes, 100 inducing points a class, 6 features, 50 sources, Adam.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

#: Seconds an epoch of MNIST over MGP's (the paper's table 8: 7.19, 11.93, 7.62 and 24.01).
PAPER_OVER_MGP: Mapping[str, float] = MappingProxyType({"nimgp": 1.66, "nimgp-nn": 1.06, "nimgp-fo": 3.34})

_METHODS, _LIKELIHOODS, _GPFLOW = ("mgp", "nimgp", "nimgp-nn", "nimgp-fo"), ("softmax", "step"), "gpflow-svgp"

_C, _M, _D, _B = 3, 100, 6, 50
_STEPS_A_CALL = 20
_NUM_TARGETS, _NUM_DRAWS = 2000, 300


def run(*, repetitions: int = 15, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """Time everything in turn, ``repetitions`` times, and report medians.

    Returns
    -------
    dict
        ``"step"``: by method and likelihood (``"nimgp softmax"``; ``"gpflow-svgp"`` beside ours) milliseconds a
        training step (``"ms"``), and how often MGP's with the same likelihood, and GPflow's, go into it
        (``"over_mgp"``, ``"over_gpflow"``); ``"paper"`` has the ratio to MGP of the paper's table 8.
        ``"predict_per_second"``: by likelihood sources a second, each averaged over 300 draws of its input.
    """
    steps = {_GPFLOW: _gpflow_steps()}
    steps |= {f"{m} {likelihood}": _our_steps(m, likelihood) for likelihood in _LIKELIHOODS for m in _METHODS}
    predictions = {likelihood: _prediction(likelihood) for likelihood in _LIKELIHOODS}
    times: dict[str, list[float]] = {name: [] for name in (*steps, *predictions)}
    calls = {name: call for name, (call, _) in steps.items()} | predictions
    for k in range(repetitions):
        for name, call in calls.items():  # in turn, so that all see the same machine
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
    """Print what steps and predictions cost."""
    console = console or Console(highlight=False)
    table = Table("a training step", box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for name in ("ms", "over MGP", "paper", "over GPflow's SVGP"):
        table.add_column(name, justify="right")
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
    table = Table("a prediction", box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("sources a second", justify="right")
    for likelihood, value in results["predict_per_second"].items():
        table.add_row(f"nimgp, {likelihood}", f"{value:,.0f}")
    console.print(table)
    console.print()
    console.print(
        f"A step: {_C} classes, {_M} inducing points a class, {_D} features, {_B} sources. A prediction: the mean over "
        f"{_NUM_DRAWS} draws of a source's features. Medians of {results['repetitions']}. Ours have a linear kernel "
        "beside the squared exponential, GPflow's has not. The paper: its table 8."
    )


def _data(num: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(num, _D)), np.full((num, _D), 0.1), rng.integers(0, _C, num)


def _our_steps(method: str, likelihood: str) -> tuple[Callable[[], Any], int]:
    """Return a call that makes some steps, and how many."""
    import tensorflow as tf

    from fermiclass.nimgp.build import ModelSettings, build_model
    from fermiclass.nimgp.feeds import TrainingData
    from fermiclass.nimgp.input_prior import InputPrior
    from fermiclass.nimgp.training import TrainingSettings, train

    X, X_var, y = _data(10 * _B)
    settings, priors = ModelSettings(method, likelihood), [InputPrior.isotropic(_D, 1.0)]
    model = build_model(settings, X[:_M], num_classes=_C, num_data=len(X), input_priors=priors, dtype=tf.float32)
    states = train(model, TrainingData(X, X_var, y), TrainingSettings(steps=10**9, batch_size=_B))
    done = next(states).step  # traces the graph
    return lambda: next(states), done


def _gpflow_steps() -> tuple[Callable[[], Any], int]:
    from fermiclass.benchmarks.gpflow_svgp import svgp_steps

    X, _, y = _data(10 * _B)
    return svgp_steps(X, y, num_inducing=_M, batch_size=_B, steps_a_call=_STEPS_A_CALL), _STEPS_A_CALL


def _prediction(likelihood: str) -> Callable[[], Any]:
    import tensorflow as tf

    from fermiclass.nimgp.build import ModelSettings, build_model
    from fermiclass.nimgp.prediction import Predictor

    X, X_var, _ = _data(_NUM_TARGETS)
    model = build_model(ModelSettings("nimgp", likelihood), X[:_M], num_classes=_C, num_data=len(X), dtype=tf.float32)
    predictor = Predictor(model)
    predictor.predict(X, X_var, num_draws=_NUM_DRAWS)  # traces the graph
    return lambda: predictor.predict(X, X_var, num_draws=_NUM_DRAWS)
