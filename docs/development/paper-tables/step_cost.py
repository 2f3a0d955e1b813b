"""Cost of a training step and of a prediction, beside the SVGP of GPflow in the same process.

    taskset -c 0 python docs/development/paper-tables/step_cost.py
    python docs/development/paper-tables/step_cost.py --repetitions 1

A step has 3 classes, 100 inducing points per class, 6 features and 50 sources, and uses Adam. Ours have a squared
exponential and a linear kernel and compute in single precision; GPflow has a squared exponential kernel and double
precision. All take turns, so that they run under the same load; the script prints medians. A prediction is the mean
over 300 draws of the features of a source.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ |= {"TF_ENABLE_ONEDNN_OPTS": "0", "TF_NUM_INTRAOP_THREADS": "1"}  # as the commands set them

import numpy as np
import pandas as pd

import fermiclass as fc
from fermiclass.nimgp.names import FULL_BATCH

METHODS, LIKELIHOODS = ("mgp", "nimgp", "nimgp-nn", "nimgp-fo"), ("softmax", "step")
#: Seconds per epoch of MNIST relative to MGP (the main paper's table 8: 7.19, 11.93, 7.62 and 24.01 seconds).
PAPER_OVER_MGP = {"nimgp": 1.66, "nimgp-nn": 1.06, "nimgp-fo": 3.34}
C, M, D, B = 3, 100, 6, 50
CALL, STEPS = 20, 200  # steps between two reports of progress, and steps of a fit
NUM_TARGETS, NUM_DRAWS = 2000, 300


def data(num_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X, X_var and y."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(num_rows, D)), np.full((num_rows, D), 0.1), rng.integers(0, C, num_rows)


def our_step(method: str, likelihood: str) -> tuple[float, fc.NIMGPClassifier]:
    """Return the milliseconds of a step in the second half of a fit, and the fitted classifier."""
    X, X_var, y = data(10 * B)
    own = {"method": method, "likelihood": likelihood, "num_inducing": M, "batch_size": B, "num_draws": NUM_DRAWS}
    model = fc.NIMGPClassifier(**{**FULL_BATCH, **own, "steps": STEPS})
    times: list[float] = []
    model.fit(X, y, X_var=X_var, progress=lambda _: times.append(time.perf_counter()))
    return 1e3 * float(np.median(np.diff(times)[len(times) // 2 - 1 :])) / CALL, model


def svgp_steps(X: np.ndarray, y: np.ndarray, *, num_inducing: int, batch_size: int) -> Callable[[], None]:
    """Return a function that trains SVGP for `CALL` steps, with separate kernels and the softmax likelihood."""
    import gpflow
    import tensorflow as tf

    num_classes, dtype = int(y.max()) + 1, gpflow.config.default_float()
    X = X.astype(dtype)
    Z = [gpflow.inducing_variables.InducingPoints(X[:num_inducing].copy()) for _ in range(num_classes)]
    kernels = [gpflow.kernels.RBF(lengthscales=np.ones(X.shape[1], dtype)) for _ in range(num_classes)]
    model = gpflow.models.SVGP(
        gpflow.kernels.SeparateIndependent(kernels),
        gpflow.likelihoods.Softmax(num_classes),
        gpflow.inducing_variables.SeparateIndependentInducingVariables(Z),
        num_latent_gps=num_classes,
        num_data=len(X),
    )
    rows = tf.data.Dataset.from_tensor_slices((X, y[:, None])).repeat()
    batches: Any = iter(rows.shuffle(min(len(X), 65536), seed=0).batch(batch_size).prefetch(4))
    optimiser = tf.keras.optimizers.Adam(0.01)
    variables = model.trainable_variables
    optimiser.build(variables)

    @tf.function
    def steps() -> None:
        for _ in tf.range(CALL):
            batch = next(batches)
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(variables)
                loss = model.training_loss(batch)
            optimiser.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

    steps()  # traces the graph
    return steps


def seconds_of(call: Callable[[], Any]) -> float:
    """Return the seconds of a call."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def main() -> None:
    """Print a table of steps, and the rates of prediction."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=15)
    num_repetitions = parser.parse_args().repetitions
    X, _, y = data(10 * B)
    gpflow_steps = svgp_steps(X, y, num_inducing=M, batch_size=B)
    X, X_var, _ = data(NUM_TARGETS)
    steps, gpflow, rates = [], [], []
    for _ in range(num_repetitions):
        gpflow.append(1e3 * seconds_of(gpflow_steps) / CALL)
        for likelihood in LIKELIHOODS:
            for method in METHODS:
                ms, model = our_step(method, likelihood)
                steps.append({"likelihood": likelihood, "method": method, "ms": ms})
                if method == "nimgp":
                    model.predict_proba(X[:1], X_var=X_var[:1])  # traces the graph
                    seconds = seconds_of(lambda model=model: model.predict_proba(X, X_var=X_var))
                    rates.append({"likelihood": likelihood, "sources per second": NUM_TARGETS / seconds})
    table = pd.DataFrame(steps).groupby(["likelihood", "method"], sort=False)["ms"].median().unstack(0)
    found = table.add_suffix(" / ms").join(table.div(table.loc["mgp"]).add_suffix(" over MGP"))
    found = found.join(table.div(np.median(gpflow)).add_suffix(" over GPflow"))
    print(found.assign(paper=pd.Series(PAPER_OVER_MGP)).round(2).to_string())
    print(f"GPflow's SVGP: {np.median(gpflow):.2f} ms")
    print(pd.DataFrame(rates).groupby("likelihood", sort=False).median().round(0).to_string())


if __name__ == "__main__":
    main()
