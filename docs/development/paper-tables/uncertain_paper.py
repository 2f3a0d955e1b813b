"""Figures 2, 3, 5, 6 and 8 of "An approximate inference with Gaussian process to latent functions from uncertain data".

    python docs/development/paper-tables/uncertain_paper.py fits
    python docs/development/paper-tables/uncertain_paper.py curves sincsig.jsonl

``fits`` draws figures 2 and 8. ``curves`` draws figures 3, 5 and 6 from the records of ``fermiclass benchmark sincsig
--results sincsig.jsonl``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fermiclass.nimgp.estimators.exact_regressor import UncertainGPRegressor
from fermiclass.nimgp.estimators.of_papers import KERNELS
from fermiclass.plots.style import PALETTE
from fermiclass_benchmarks.regression import draw_sincsig, sincsig

FIGURES = Path(__file__).parents[2] / "figures"
COLOURS = {"uncertain": PALETTE[1], "mixture": PALETTE[1], "classic": PALETTE[0], "mlp": PALETTE[2]}
TITLES = {"uncertain": "expected covariances", "mixture": "expected + classic (20)", "classic": "classic", "mlp": "MLP"}
SIZES, BOUNDS = ("50", "100", "200", "300"), ("0.1", "0.4", "1", "3")
GRID = np.linspace(-10.0, 10.0, 200)


def sinc(x: np.ndarray) -> np.ndarray:
    """Return sin(x)/x."""
    return np.sinc(x / np.pi)


def fits() -> None:
    """Draw a fit of each process: figure 2 (sincsig), and figure 8 (sinc, noise in outputs too)."""
    for number, function, output, size in ((2, sincsig, 0.1, 100), (8, sinc, (0.2, 0.5), 200)):
        data = draw_sincsig(size, np.random.default_rng(3), bound=2.5, output_std=output)
        # Outputs of another function, with the same noise.
        x = np.random.default_rng(3).uniform(-10, 10, size)
        y = data.Y[:, 0] - sincsig(x) + function(x)
        y_var = None if data.Y_var is None else data.Y_var[:, 0]
        figure = Figure(figsize=(6.4, 5.2), layout="constrained")
        for panel, method in zip(figure.subplots(2, sharex=True, sharey=True), ("uncertain", "classic"), strict=True):
            fitted = UncertainGPRegressor(kernel=KERNELS[method], starts=2).fit(
                data.X, y, X_var=data.X_var, y_var=y_var
            )
            mean, std = fitted.predict(GRID[:, None], return_std=True)
            inside = np.mean(np.abs(mean - function(GRID)) < 2 * std)
            panel.plot(data.X[:, 0], y, "x", color="0.6", ms=4, label="observed")
            panel.fill_between(GRID, mean - 2 * std, mean + 2 * std, color=COLOURS[method], alpha=0.25, lw=0)
            panel.plot(GRID, mean, color=COLOURS[method], lw=1.2, label="mean, 2 standard deviations")
            panel.plot(GRID, function(GRID), color="black", lw=1.6, label="truth")
            error = np.mean((mean - function(GRID)) ** 2)
            panel.set_title(
                f"{TITLES[method]}: MSE {error:.4f}, truth inside {100 * inside:.0f} %", fontsize="medium", loc="left"
            )
            panel.set(xlim=(-10.5, 10.5), ylim=(-1.1, 2.1))
            panel.spines[["top", "right"]].set_visible(False)
            print(f"figure {number}, {method}: MSE {error:.4f}, truth within two standard deviations {inside:.2f}")
        figure.axes[0].legend(frameon=False, fontsize="small", ncols=3, loc="upper left")
        figure.savefig(FIGURES / f"uncertain-{number}.png", dpi=130)


def curves(records: Path) -> None:
    """Draw means over the training sets against N."""
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    frame = pd.DataFrame([line for line in lines if "split" in line])
    panels = {"a: σ_y = 0.1, unknown": lambda n: n, "b: σ_y from 0.2 to 0.5, known": lambda n: f"known/{n}"}
    draw(frame, "mse", panels, ("uncertain", "classic", "mlp"), 3)
    of_bound = {
        f"{letter}: ν = {bound}": lambda n, bound=bound: f"{n}/{bound}"
        for letter, bound in zip("abcd", BOUNDS, strict=True)
    }
    draw(frame, "mse", of_bound, ("mixture", "classic"), 5)
    draw(frame, "log_density", of_bound, ("mixture", "classic"), 6)


def draw(
    frame: pd.DataFrame, score: str, panels: Mapping[str, Callable[[str], str]], methods: tuple[str, ...], number: int
) -> None:
    """Draw one figure."""
    figure = Figure(figsize=(3.2 * len(panels), 2.9), layout="constrained")
    for axes, (title, cell) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        table = {n: frame[frame["cell"] == cell(n)].pivot(index="split", columns="method", values=score) for n in SIZES}
        for method in methods:
            means = [(int(n), t[method].mean(), t[method].sem()) for n, t in table.items() if method in t]
            if means:
                axes.errorbar(*np.transpose(means), color=COLOURS[method], marker="o", ms=4, label=TITLES[method])
        if score == "mse":
            axes.set_yscale("log")
        axes.set_title(title, fontsize="medium", loc="left")
        axes.set_xlabel("N")
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("mean squared error" if score == "mse" else "log density of the truth")
    figure.axes[0].legend(frameon=False, fontsize="small")
    figure.savefig(FIGURES / f"uncertain-{number}.png", dpi=130)


parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parts = parser.add_subparsers(dest="part", required=True)
parts.add_parser("fits")
parts.add_parser("curves").add_argument("records", type=Path)
options = parser.parse_args()
if options.part == "fits":
    fits()
else:
    curves(options.records)
