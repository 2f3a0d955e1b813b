"""Figures 4 and 5 of "Scalable Gaussian Process Classification with Additive Noise", and starts of training.

    python docs/development/paper-tables/likelihood_paper.py errors
    python docs/development/paper-tables/likelihood_paper.py curves
    python docs/development/paper-tables/likelihood_paper.py starts --dataset letter
    python docs/development/paper-tables/likelihood_paper.py bayes

``errors``, figure 5: densities and distribution functions of the errors, and of the Gaussians N(0, a) that replace
them. ``curves``, figure 4 without `adult`: error and NLL against the number of steps, with a free and a fixed ε (the
paper's δ). There are 100 inducing points (the paper: 300), and Adam begins again at each point with a step size of 0.03
(0.01) and length-scales of √D (0.1 √D, from which 800 steps of 0.01 leave the prior hardly or not).
``starts``: error, NLL and bound from several starts of ε and of the length-scale, of the first split.
``bayes``: NLL and error of the Bayes classifier on test rows of the waveforms, and on many more draws.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy import special, stats

from fermiclass import NIMGPClassifier
from fermiclass.nimgp.likelihoods.named import NOISE_VARIANCE
from fermiclass.plots.style import PALETTE
from fermiclass_benchmarks.benchmark import Problem, score_labels
from fermiclass_benchmarks.gpc import GPC, WAVES, drawn, waveform

FIGURES = Path(__file__).parents[2] / "figures"
#: ε, length-scale / √D, step size, whether it falls, and steps.
STARTS = (
    (0.05, 1.0, 0.1, True, 1000),
    (0.001, 1.0, 0.1, True, 1000),
    (0.05, 1.0, 0.1, True, 10_000),
    (0.05, 0.1, 0.01, False, 10_000),  # the paper's
)
SEGMENTS = (25, 25, 50, 100, 200, 400, 800)  # steps between the points of a curve


def process(likelihood: str, lengthscale: float, *, epsilon: float | None = None, **settings: Any) -> NIMGPClassifier:
    """Return an untrained process with the paper's kernel; None learns ε."""
    hyper = {"epsilon": epsilon, "lengthscale": lengthscale, "variance": 5.0, "white": 1e-8, "priors": False}
    fixed = {"method": "mgp", "objective": "elbo", "kernel": "se", "num_inducing": 100, "batch_size": 1024}
    return NIMGPClassifier(likelihood=likelihood, hyper=hyper, **fixed, **settings)


def scores(fitted: NIMGPClassifier, problem: Problem) -> tuple[float, float]:
    """Return NLL and error of the test rows."""
    of = score_labels(problem.y_test, fitted.predict_proba(problem.X_test), fitted.classes_)
    return of["nll"], of["error"]


def curves() -> None:
    """Draw figure 4 for waveform-noise."""
    problem = GPC().problem("waveform-noise/0", 0)
    figure = Figure(figsize=(8.4, 3.2), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True)
    names = [(name, epsilon) for name in ("step", "probit", "logit") for epsilon in (None, 1e-3)]
    how: dict[str, Any] = {"learning_rate": 0.03, "training": {"decay": False, "mean": False}}
    for name, epsilon in [*names, ("softmax-bound", None)]:
        fitted, found = None, []
        for steps in SEGMENTS:
            again = process(name, np.sqrt(problem.X.shape[1]), epsilon=epsilon, steps=steps, **how)
            started = time.process_time()
            fitted = again.fit(problem.X, problem.y, start=fitted)
            spent = time.process_time() - started
            found.append(scores(fitted, problem))
        label = name if name == "softmax-bound" else f"{name}, ε {'learned' if epsilon is None else 'fixed'}"
        text = ", ".join(f"{nll:.3f} {error:.3f}" for nll, error in found)
        print(f"{label} ({1000 * spent / steps:.0f} ms a step): {text}", flush=True)
        colour = PALETTE[("step", "probit", "logit", "softmax-bound").index(name)]
        for panel, values in zip(panels, np.transpose(found), strict=True):
            panel.plot(np.cumsum(SEGMENTS), values, "--" if epsilon else "-", color=colour, marker=".", label=label)
    for panel, title in zip(panels, ("NLL", "error"), strict=True):
        panel.set(xscale="log", xlabel="steps", ylabel=title)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].legend(frameon=False, fontsize="x-small")
    figure.savefig(FIGURES / "likelihoods-4.png", dpi=130)


def starts(data_set: str, likelihood: str) -> None:
    """Print what comes of several starts."""
    problem = GPC().problem(f"{data_set}/0", 0)
    root = float(np.sqrt(problem.X.shape[1]))
    for epsilon, lengthscale, rate, decay, steps in STARTS:
        how: dict[str, Any] = {"learning_rate": rate, "training": {"decay": decay, "mean": False}}
        start = process(likelihood, lengthscale * root, steps=1, **how).fit(problem.X, problem.y)
        start.fitted_.parameters["likelihood.epsilon"] = np.float32(epsilon)
        fitted = process(likelihood, lengthscale * root, steps=steps, **how).fit(problem.X, problem.y, start=start)
        nll, error = scores(fitted, problem)
        parameters = fitted.fitted_.parameters
        print(
            f"ε from {epsilon}, ℓ from {lengthscale} √D, {steps} steps of {rate}: NLL {nll:.4f}, error {error:.4f}, "
            f"bound {fitted.objective_[-5:].mean():.0f}, ε {parameters['likelihood.epsilon']:.4f}",
            flush=True,
        )


def bayes() -> None:
    """Print NLL and error of p(y = c | x) ∝ ∫₀¹ N(x | u a_c + (1 − u) b_c, I) du, by 64 Gauss–Legendre nodes."""
    nodes, weights = np.polynomial.legendre.leggauss(64)
    u = 0.5 * (1.0 + nodes)[:, None]
    means = u * WAVES[:, :1] + (1.0 - u) * WAVES[:, 1:]  # (3, 64, 21)

    def score(X: np.ndarray, y: np.ndarray) -> str:
        log_density = np.einsum("nd,cud->ncu", X[:, :21], means) - 0.5 * np.square(means).sum(axis=-1)
        p = special.softmax(special.logsumexp(log_density, b=weights, axis=-1), axis=1)
        of = score_labels(y, p, np.array(["0", "1", "2"]))
        return f"NLL {of['nll']:.4f}, error {of['error']:.4f}"

    for data_set in ("waveform", "waveform-noise"):
        rows, _ = drawn(data_set)
        for split in range(GPC.num_splits):
            problem = GPC().problem(f"{data_set}/0", split)
            X = rows.mean(axis=0) + rows.std(axis=0) * problem.X_test
            print(f"{data_set}, split {split}: {score(X, problem.y_test)}")
    print(f"100,000 draws: {score(*waveform(100_000, 21, np.random.default_rng(1)))}")


def errors() -> None:
    """Draw figure 5, and print the largest distance between the logistic error and its Gaussian."""
    x = np.linspace(-6.0, 6.0, 2001)
    logit = stats.norm(scale=np.sqrt(NOISE_VARIANCE["logit"]))
    distance = np.abs(stats.logistic.cdf(x) - logit.cdf(x)).max()
    print(f"logit: a = {NOISE_VARIANCE['logit']}, largest distance of the distribution functions {distance:.4f}")
    columns = {
        "step: Dirac": (None, stats.norm(scale=0.02)),
        "probit: normal": (stats.norm(), stats.norm()),
        "logit: logistic": (stats.logistic(), logit),
        "softmax: Gumbel": (stats.gumbel_r(), None),
    }
    figure = Figure(figsize=(9.6, 4.0), layout="constrained")
    panels = figure.subplots(2, 4, sharex=True, sharey="row")
    for k, (title, (error, gauss)) in enumerate(columns.items()):
        for row, name in enumerate(("pdf", "cdf")):
            axes = panels[row, k]
            if error is not None:
                axes.plot(x, getattr(error, name)(x), color=PALETTE[0], lw=1.6, label="error")
            elif row:
                axes.plot(x, x > 0, color=PALETTE[0], lw=1.6, label="error")
            else:
                axes.vlines(0.0, 0.0, 0.5, PALETTE[0], lw=1.6)
            if gauss is not None and (row or error is not None):
                axes.plot(x, getattr(gauss, name)(x), color=PALETTE[1], lw=1.2, ls="--", label="Gaussian")
            axes.set_ylim(0.0, 1.05 if row else 0.5)
            axes.spines[["top", "right"]].set_visible(False)
        panels[0, k].set_title(title, fontsize="medium", loc="left")
        panels[1, k].set_xlabel("error")
    panels[0, 0].set_ylabel("density")
    panels[1, 0].set_ylabel("distribution function")
    panels[1, 1].legend(frameon=False, fontsize="small", loc="lower right")
    figure.savefig(FIGURES / "likelihoods-5.png", dpi=130)


def main() -> None:
    """Do what the first argument names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["errors", "curves", "starts", "bayes"])
    parser.add_argument("--dataset", default="letter")
    parser.add_argument("--likelihood", default="step")
    options = parser.parse_args()
    if options.what == "starts":
        starts(options.dataset, options.likelihood)
    else:
        {"errors": errors, "curves": curves, "bayes": bayes}[options.what]()


if __name__ == "__main__":
    main()
