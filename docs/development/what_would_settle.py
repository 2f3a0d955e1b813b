"""Whether the entropy that a source's error bars add tells which labels change with more photons.

    python docs/development/what_would_settle.py DR2 DR3 DR4 --plot docs/figures/what-would-settle.png

A source of DR1 without a class has the label p(y | x̃, V). Its noise entropy is H[p(y | x̃, V)] - H[p(y | x̃, 0)] for the
default method, which turns errors into noise of the latent functions; and H[p(y | x̃, V)] - E H[p(y | x)] with draws of
x from the population given x̃ and V, which is never negative. The change is the entropy lost by the same model with the
features of a later release, and the total variation between both labels. The script prints Spearman's correlation of
each score with both, over all sources that the later release has.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import fermiclass as fc
from fermiclass.evaluation.crossmatch import UNMATCHED, match_sources
from fermiclass.nimgp.inputs.prior import InputPrior

CATALOGS = Path(__file__).parents[2] / "catalogs"
DRAWS, COMPONENTS = 16, 5
#: Features that more photons, or a better spectrum, would measure.
GROUPS = {"flux": ("Flux",), "spectrum": ("Index", "beta", "HR_", "Pivot", "SigCurv"), "variability": ("Variability",)}


def entropy(P: np.ndarray) -> np.ndarray:
    """Return the entropies of probabilities (..., C), in nats."""
    return -np.sum(P * np.log(np.maximum(P, 1e-300)), axis=-1)


def main() -> None:
    """Print the correlations, and draw the change against the score."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("releases", nargs="+")
    parser.add_argument("--model", default="DR1.model", help="folder of a model of DR1")
    parser.add_argument("--plot")
    options = parser.parse_args()
    first, model = fc.read_catalog(CATALOGS / "4FGL-DR1.fits.gz"), fc.load_model(options.model)
    bare = np.flatnonzero(first.classes == "")
    table, sources = model.features_of(first), first[bare]
    prior = InputPrior.population(table.X, table.X_var, components=COMPONENTS)
    table, ratio = table[bare], model.ratios(sources)

    def predict(X: np.ndarray, X_var: np.ndarray, ratio: np.ndarray | None = ratio) -> np.ndarray:
        blocks = model.estimator.predict_blocks(X, X_var=X_var, ratio=ratio)
        return np.concatenate([block.probabilities for block in blocks])

    X, V = table.X, table.X_var
    P, nothing = predict(X, V), np.zeros_like(V)
    posterior, rng = prior.condition(X, V), np.random.default_rng(0)
    given_x = np.zeros(len(X))
    for _ in range(DRAWS):
        k = (posterior.weights.cumsum(axis=1) < rng.random(len(X))[:, None]).sum(axis=1)
        rows = np.arange(len(X))
        factor, xi = posterior.factor[rows, k], rng.standard_normal(X.shape)
        given_x += entropy(predict(posterior.mean[rows, k] + np.einsum("nij,nj->ni", factor, xi), nothing)) / DRAWS
    scores = {
        "noise entropy, V against 0": entropy(P) - entropy(predict(X, nothing)),
        "noise entropy, draws": entropy(P) - given_x,
        "entropy": entropy(P),
        "-significance": -sources.column("Signif_Avg"),
        "total variation, V against 0": 0.5 * np.abs(P - predict(X, nothing)).sum(axis=1),
    }
    for group, words in GROUPS.items():
        of_group = np.array([any(word in f.name for word in words) for f in table.features])
        scores[f"V against 0 of {group}"] = entropy(P) - entropy(predict(X, np.where(of_group, 0.0, V)))
    for release in options.releases:
        later = fc.read_catalog(CATALOGS / f"4FGL-{release}.fits.gz")
        found = match_sources(first, later)[0][bare]
        kept = found != UNMATCHED
        new = model.features_of(later)[found[kept]]
        Q = predict(new.X, new.X_var, None if ratio is None else ratio[kept])
        change = {
            "entropy lost": entropy(P[kept]) - entropy(Q),
            "total variation": 0.5 * np.abs(P[kept] - Q).sum(axis=1),
        }
        print(f"{release}: {kept.sum()} of {len(bare)} sources of DR1 without a class")
        for name, score in scores.items():
            cells = " ".join(f"{what} {spearmanr(score[kept], of).statistic:+.3f}" for what, of in change.items())
            print(f"  {name:32s} {cells}", flush=True)
    if options.plot:
        draw(f"DR1 to {options.releases[-1]}", {n: of[kept] for n, of in scores.items()}, change, options.plot)


def draw(title: str, scores: dict[str, np.ndarray], change: dict[str, np.ndarray], path: str) -> None:
    """Draw the mean of both changes in ten equal groups of each score."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 3.0), layout="constrained")
    for axes, (what, of) in zip(figure.subplots(1, 2), change.items(), strict=True):
        for name in ("entropy", "noise entropy, draws", "noise entropy, V against 0"):
            groups = np.array_split(np.argsort(scores[name]), 10)
            mean, se = (
                np.array(a) for a in zip(*((of[g].mean(), of[g].std() / len(g) ** 0.5) for g in groups), strict=True)
            )
            axes.errorbar(np.arange(1, 11), mean, se, marker="o", markersize=3, lw=1, label=name)
        axes.set(xlabel="tenth of the sources, by the score", ylabel=what)
    axes.legend(frameon=False, fontsize="small", title=title)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main()
