"""Bound and processor time of a benchmark's methods with several schedules of Adam.

    python docs/development/training/schedules.py astro454 DATA six mgp,nimgp 0,1,2,3 300x0.03 120x0.2
    python docs/development/training/schedules.py synthetic DATA n1000-d2-c3/0.25 mgp 0 2000x0.01x200 250x0.1

A schedule is a number of steps and the first step size, and the rows of a step if these are not all. The bound is the
mean over 20 draws after training, with the log density of the priors. All figures are means over the given splits.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.inputs.models import Batch
from fermiclass.nimgp.training import loop
from fermiclass_benchmarks.astro454 import Astro454
from fermiclass_benchmarks.methods import MethodOptions
from fermiclass_benchmarks.synthetic import Synthetic
from fermiclass_benchmarks.toy import Toy
from fermiclass_benchmarks.uci import UCI

maximise = loop.maximise
bounds: list[float] = []


def bound_after(model, data, settings, **more):
    """Train as :func:`maximise`, and note the bound at the end."""
    yield from maximise(model, data, settings, **more)
    rows = Batch(None, *data.feed(None, 0, model.dtype).data)
    bound = tf.function(lambda seed: model.objective(rows, seed) + tf.cast(model.log_prior_density(), model.dtype))
    bounds.append(np.mean([bound(tf.constant([k, 5], tf.int32)).numpy() for k in range(20)]))


name, folder, cells, methods, splits, *schedules = sys.argv[1:]
benchmark = {each.name: each for each in (Astro454, Synthetic, Toy, UCI)}[name](Path(folder))
for cell in cells.split(","):
    for method in methods.split(","):
        for schedule in schedules:
            steps, rate, *batch = schedule.split("x")
            loop.maximise = lambda model, data, settings, size=batch, **more: bound_after(
                model, data, replace(settings, batch_size=int(size[0]) if size else None), **more
            )
            bounds.clear()
            scores, seconds = [], []
            for split in map(int, splits.split(",")):
                problem = benchmark.problem(cell, split)
                estimator = benchmark.estimator(cell, method, MethodOptions())
                estimator.set_params(steps=int(steps), learning_rate=float(rate))
                begin = time.process_time()
                estimator.fit(problem.X, problem.y, X_var=problem.X_var)
                seconds.append(time.process_time() - begin)
                p = estimator.predict_proba(problem.X_test, X_var=problem.X_var_test)
                true = p[np.arange(len(p)), np.searchsorted(estimator.classes_, problem.y_test)]
                scores.append((-np.mean(np.log(np.maximum(true, 1e-5))), np.mean(true < p.max(axis=1))))
            nll, error = np.mean(scores, axis=0)
            figures = f"bound {np.mean(bounds):9.2f}  NLL {nll:.4f}  error {error:.4f}  {np.mean(seconds):5.2f} s"
            print(f"{cell:12s} {method:12s} {schedule:12s} {figures}", flush=True)
