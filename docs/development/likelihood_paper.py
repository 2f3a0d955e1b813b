"""Figure 5 of "Scalable Gaussian Process Classification with Additive Noise": the errors behind each likelihood.

    python docs/development/likelihood_paper.py

Densities and distribution functions of the errors, and of the Gaussians N(0, a) that replace them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy import stats

from fermiclass.nimgp.likelihoods.named import NOISE_VARIANCE
from fermiclass.plots.style import PALETTE

FIGURES = Path(__file__).parents[1] / "figures"


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


if __name__ == "__main__":
    errors()
