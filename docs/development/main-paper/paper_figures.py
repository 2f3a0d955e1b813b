"""Figures of the main paper that the benchmarks do not draw: 1, 3, 4, 5, 7 and 8.

    python docs/development/main-paper/paper_figures.py 1 3 8 --data DATA
    python docs/development/main-paper/paper_figures.py 4 5 7 --results FOLDER

Figures 4, 5 and 7 are drawn from the records that ``fermiclass benchmark synthetic``, ``mnist`` and ``active`` wrote to
FOLDER (such as ``--results FOLDER/synthetic.jsonl``; with ``--paper`` FOLDER/synthetic-paper.jsonl). Each goes to
docs/figures/paper-N.png.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fermiclass.plots.style import PALETTE
from fermiclass_benchmarks import make_benchmark
from fermiclass_benchmarks.figures import learning_curve, title_of
from fermiclass_benchmarks.harness import RecordFile
from fermiclass_benchmarks.methods import MethodOptions

FIGURES = Path(__file__).parents[2] / "figures"
METHODS = ("nimgp", "nimgp-nn", "nimgp-fo")


def panels(columns: int, rows: int = 1, **shared: Any) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels."""
    figure = Figure(figsize=(2.6 * columns, 2.5 * rows), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False, **shared).flat)


def fitted(name: str, cell: str, method: str, data: Path) -> tuple[Any, ...]:
    """Return the first problem of a cell and an estimator that is fitted to it."""
    benchmark = make_benchmark(name, data=data)
    problem = benchmark.problem(cell, 0)
    estimator = benchmark.estimator(cell, method, MethodOptions())
    return problem, estimator.fit(problem.X, problem.y, X_var=problem.X_var)


def figure_1(options: argparse.Namespace) -> Figure:
    """Draw latent functions of NIMGP_FO on the toy problem, with and without the noise's part of their variance."""
    _, estimator = fitted("toy", "toy/0.1", "nimgp-fo", options.data)
    x = np.linspace(-3.5, 3.5, 400)[:, None]
    figure, axes = panels(2, sharex=True, sharey=True)
    for panel, V, title in zip(axes, (0.0, 0.1), ("without the noise", "with ∇mᵀ V ∇m"), strict=True):
        mean, std = latent(estimator, x, np.full_like(x, V))
        for c, (m, s) in enumerate(zip(mean, std, strict=True)):
            panel.fill_between(x[:, 0], m - s, m + s, color=PALETTE[c], alpha=0.25, lw=0)
            panel.plot(x[:, 0], m, color=PALETTE[c], lw=1.4, label=f"f of class {c + 1}")
            at, height = inducing(estimator)[c, :, 0], 0.03 + 0.035 * c
            panel.plot(at, np.full_like(at, height), "|", color=PALETTE[c], ms=5, transform=panel.get_xaxis_transform())
        panel.set_title(title, fontsize="medium", loc="left")
        panel.set(xlabel="x", xlim=(-3.5, 3.5), ylim=(-6.0, 5.5))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize="small")
    return figure


def latent(estimator, x: np.ndarray, x_var: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of the latent functions at inputs (n, 1), (C, n) each."""
    import tensorflow as tf

    from fermiclass.nimgp.prediction.predictor import first_order_moments

    functions = estimator.fitted_.predictor._functions
    X, V = (
        tf.constant(a, functions.Z.dtype)
        for a in ((x - estimator.mean_) / estimator.scale_, x_var / estimator.scale_**2)
    )
    moments = first_order_moments(functions, X, tf.sqrt(V))
    return moments.mean.numpy(), np.sqrt(moments.var.numpy())


def inducing(estimator) -> np.ndarray:
    """Return the inducing points in the units of the inputs, (C, M, D)."""
    return estimator.mean_ + estimator.scale_ * estimator.fitted_.parameters["posterior.Z"]


def figure_3(options: argparse.Namespace) -> Figure:
    """Draw one of the synthetic problems, before the noise and after it."""
    figure, axes = panels(4, sharex=True, sharey=True)
    benchmark = make_benchmark("synthetic")
    problems = [benchmark.problem(f"n1000-d2-c3/{V}", 0) for V in ("0.1", "0.25", "0.5")]
    # The same draws, scaled: x = x̃ - √V ξ.
    noise = (problems[2].X - problems[0].X) / (np.sqrt(0.5) - np.sqrt(0.1))
    inputs = [problems[0].X - np.sqrt(0.1) * noise, *(problem.X for problem in problems)]
    for panel, X, title in zip(axes, inputs, ("no noise", "V = 0.1", "V = 0.25", "V = 0.5"), strict=True):
        for c in range(3):
            panel.plot(*X[problems[0].y == c].T, ".", color=PALETTE[c], ms=2)
        panel.set_title(title, fontsize="medium", loc="left")
    return figure


def figure_4(options: argparse.Namespace) -> Figure:
    """Draw histograms of the learned V of the synthetic problems, a row of panels for each optimiser."""
    rows = {}
    for optimiser, name in (("our optimiser", "synthetic"), ("the paper's", "synthetic-paper")):
        records = pd.DataFrame(RecordFile(options.results / f"{name}.jsonl", {"benchmark": "synthetic"}).load())
        if len(records) and records["cell"].str.contains("learned").any():
            rows[optimiser] = records[records["cell"].str.contains("learned")]
    figure, axes = panels(3, len(rows), sharex=True, sharey="row")
    cells = [(optimiser, V) for optimiser in rows for V in ("0.1", "0.25", "0.5")]
    for panel, (optimiser, V) in zip(axes, cells, strict=True):
        of = rows[optimiser][rows[optimiser]["cell"].str.endswith(f"/{V}")].groupby("method")["noise"]
        learned = {title_of(m): [noise[0] for noise in of.get_group(m)] for m in METHODS}
        panel.hist(
            list(learned.values()), bins=np.linspace(0.0, 1.0, 21).tolist(), color=PALETTE[:3], label=list(learned)
        )
        panel.axvline(float(V), color="black", lw=0.8, ls="--")
        panel.set_title(f"V = {V}, {optimiser}", fontsize="medium", loc="left")
        panel.set_xlabel("learned V")
    axes[0].set_ylabel("problems")
    axes[2].legend(frameon=False, fontsize="small")
    return figure


def figure_5(options: argparse.Namespace) -> Figure:
    """Draw histograms of the learned V of the pixels."""
    records = pd.DataFrame(RecordFile(options.results / "mnist.jsonl", {"benchmark": "mnist"}).load())
    noises = records[records["cell"].str.endswith("/0.5")].set_index("method")["noise"]
    figure, axes = panels(len(METHODS), sharey=True)
    for panel, method in zip(axes, METHODS, strict=True):
        panel.hist(np.clip(noises[method], 1e-6, 1.0), bins=np.geomspace(1e-6, 1.0, 49).tolist(), color=PALETTE[0])
        panel.axvline(0.5, color="black", lw=0.8, ls="--")
        panel.set_xscale("log")
        panel.set_title(title_of(method), fontsize="medium", loc="left")
        panel.set_xlabel("learned V of a pixel")
    axes[0].set_ylabel("pixels")
    return figure


def figure_7(options: argparse.Namespace) -> Figure:
    """Draw by how much the test error falls below that of the first training rows, with labels added by entropy."""
    records = pd.DataFrame(RecordFile(options.results / "active.jsonl", {"benchmark": "active"}).load())
    records[["acquisition", "noise"]] = records["cell"].str.split("/", expand=True)
    records = records[records["acquisition"] == "entropy"]
    records = records[records["split"] <= records.groupby(["noise", "method"])["split"].max().min()]  # the same for all
    found = sorted(records["noise"].unique(), key=float)
    figure, axes = panels(len(found), sharey=True)
    for panel, noise in zip(axes, found, strict=True):
        for method, group in records[records["noise"] == noise].groupby("method"):
            less = [c | {"error": np.subtract(c["error"][0], c["error"])} for c in group["curves"]]
            curve = learning_curve(less)
            panel.errorbar(curve.added, curve.mean, curve.se, lw=1, label=f"{title_of(method)} ({len(less)})")
        panel.axhline(0.0, color="black", lw=0.6)
        panel.set_title(f"noise {noise}", fontsize="medium", loc="left")
        panel.set_xlabel("labels added")
    axes[0].set_ylabel("error below the first")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), frameon=False)
    return figure


def figure_8(options: argparse.Namespace) -> Figure:
    """Draw two features of the 454 bright sources with their error bars."""
    benchmark = make_benchmark("astro454", data=options.data)
    problem = benchmark.problem("six", 0)
    figure, axes = panels(1)
    figure.set_size_inches(4.5, 3.6)
    for c, name in enumerate(np.unique(problem.y)):
        X, s = (
            np.concatenate([a, b])[np.concatenate([problem.y, problem.y_test]) == name]
            for a, b in ((problem.X, problem.X_test), (np.sqrt(problem.X_var), np.sqrt(problem.X_var_test)))
        )
        axes[0].errorbar(
            X[:, 3], X[:, 4], xerr=s[:, 3], yerr=s[:, 4], fmt=".", ms=3, lw=0.5, color=PALETTE[c], label=name
        )
    axes[0].set(xlabel="LP_Index", ylabel="LP_beta")
    axes[0].legend(frameon=False)
    return figure


figures = (figure_1, figure_3, figure_4, figure_5, figure_7, figure_8)
drawn = {figure.__name__.removeprefix("figure_"): figure for figure in figures}
parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("figures", nargs="+", choices=list(drawn))
parser.add_argument("--data", type=Path, default=Path())
parser.add_argument("--results", type=Path, default=Path())
options = parser.parse_args()
for number in options.figures:
    drawn[number](options).savefig(FIGURES / f"paper-{number}.png", dpi=130)
