# %% [markdown]
# # How far you can trust the probabilities
#
# Of all sources with a probability of 0.9, nine in ten should have the predicted class. You
# can check this: many sources without a class in DR1 (2019) have a class in DR4 (2023).
# This notebook learns from DR1, labels the sources of DR1 that have no class, and takes
# their true classes from DR4. It has two tests.
#
# - In a closed world there are three classes. The test leaves out all sources that are
#   neither `bll` nor `fsrq` nor a pulsar in DR4. It trains `nimgp` with the evidence lower
#   bound, which predicts with the class frequencies of the training sources.
# - In the open world every class of DR4 counts. This test trains the default of `classify`.
#
# ## The closed world

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import fermiclass as fc
from fermiclass import plots
from fermiclass.evaluation import (
    baseline_methods,
    default_method,
    estimator_method,
    evaluate,
    later_release,
    open_world,
)

CATALOGS = Path("../catalogs")

dr1 = fc.read_catalog(CATALOGS / "4FGL-DR1.fits.gz")
dr4 = fc.read_catalog(CATALOGS / "4FGL-DR4.fits.gz")
methods = [
    estimator_method("nimgp", fc.NIMGPClassifier("nimgp")),
    estimator_method("mgp", fc.NIMGPClassifier("mgp")),
    *baseline_methods(["logistic", "forest"]),
]
targets = later_release(dr1, dr4, features="extended", classes="bll,fsrq,psr")
evaluation = evaluate(targets, methods)
targets.description, len(evaluation)

# %% [markdown]
# Which sources are scored? Most of them are `bcu` in DR1 and `bll` in DR4. All unassociated
# sources are pulsars in DR4.

# %%
status = targets.status[targets.scored]
in_dr1 = np.where(status == "", "unassociated", status)
pd.crosstab(pd.Series(in_dr1, name="in DR1"), pd.Series(evaluation.y, name="in DR4"))

# %% [markdown]
# **These sources are no random sample.** Astronomers search for pulsars among the
# unassociated sources, and therefore find pulsars. This does not mean that the remaining
# unassociated sources are pulsars. Remember this when you read the scores.
#
# ## Scores
#
# `nimgp` uses the error bars, and `mgp` ignores them. `logistic` and `forest` are logistic
# regression and a random forest of scikit-learn. With `+estimated`, the probabilities
# are corrected for class priors that are estimated from the sources to label. `nll` is the
# mean of −ln P(true class), and `nll_se` its standard error. `error` is the fraction of
# sources with a wrong most probable class. `ece` is the mean distance between confidence
# and accuracy. Lower is better in all of them.

# %%
table = evaluation.table[["nll", "nll_se", "error", "ece"]]
table.assign(nll_unassociated=evaluation.figures.loc["unassociated"]["nll"]).round(3)

# %% [markdown]
# Compare two methods by their difference on the same sources. The standard error of the
# difference is smaller than that of each score.

# %%
for other in ("mgp+estimated", "logistic+estimated", "forest+estimated", "nimgp"):
    difference = evaluation.difference("nimgp+estimated", other)
    print(f"nimgp+estimated − {other:18s} {difference}")

# %% [markdown]
# Estimated class priors improve every method, and by more than the methods differ. They
# assume a closed world: `classify` does not use them by default.
#
# ## Calibration
#
# On the left, each point is a bin of 31 sources. On the dashed line, the probability of the
# most probable class is equal to the fraction of sources that have this class. On the right
# you see which classes the model confuses.

# %%
P = evaluation.probabilities("nimgp+estimated")
classes = evaluation.classes
chosen = np.array(classes)[P.argmax(axis=1)]
figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.3), layout="constrained")
plots.reliability_diagram(P, evaluation.y, classes, axes=left)
plots.confusion_matrix(evaluation.y, chosen, classes, axes=right)
plt.show()

# %% [markdown]
# The next picture shows `nimgp` and the random forest without estimated class priors. Above
# the line the probabilities are too low, below it they are too high.

# %%
figure, both = plt.subplots(1, 2, figsize=(7.5, 3.3), layout="constrained")
for axes, name in zip(both, ("nimgp", "forest"), strict=True):
    plots.reliability_diagram(
        evaluation.probabilities(name), evaluation.y, classes, axes=axes
    )
    axes.set_title(name, fontsize="medium")

# %% [markdown]
# ## Wrong labels
#
# The colour of a point is the class of the source in DR4. A point in the region of another
# class is a wrong label. The table has the six sources with the lowest probability of their
# class in DR4.

# %%
plots.probability_triangle(P, classes, evaluation.y, size=16.0)
plt.show()

# %%
P_true = P[evaluation.truth]
worst = np.argsort(P_true)[:6]
pd.DataFrame(
    {
        "source": targets.names[targets.scored][worst],
        "in DR1": in_dr1[worst],
        "label": chosen[worst],
        "P(label)": P.max(axis=1)[worst].round(3),
        "in DR4": evaluation.y[worst],
        "P(class in DR4)": P_true[worst].round(3),
        "Signif_Avg": targets.significance[targets.scored][worst].round(1),
    }
)

# %% [markdown]
# ## The open world
#
# A source can also be a remnant, a binary, or a blazar of uncertain type. `open_world`
# counts every class of DR4 as AGN, pulsar or other. It trains the default of `classify`,
# and scores the unassociated sources of DR1. The other columns are baselines.

# %%
methods = [default_method(), *baseline_methods(["logistic", "forest"])]
opened = evaluate(open_world(dr1, dr4), methods)
found = {name: row["n"] for name, row in opened.per_class("default").items()}
pd.DataFrame(
    {
        name: {
            "NLL": opened.figures.loc[("all", name), "nll"],
            "±": opened.figures.loc[("all", name), "nll_se"],
            "NLL, AGN or pulsar": opened.figures.loc[("agn_or_psr", name), "nll"],
            **{
                f"expected {group} (found: {found[group]})": row["expected"]
                for group, row in opened.per_class(name).items()
            },
        }
        for name in opened.table.index
    }
).round(2)

# %% [markdown]
# The NLL is much higher than in the closed world. Most of these sources are pulsars in DR4,
# because astronomers searched for pulsars. No method expects so many. The 16-year list
# FL16Y is later than DR4, and gives a class to more AGN (`docs/benchmarks.md`).
#
# ## Conclusions
#
# - In the closed world, the probabilities with estimated class priors agree with the
#   fractions found, as far as 310 sources can show.
# - The closed world makes all methods look better than they are. Use its scores only to
#   compare methods.
# - Expected numbers depend on which sources get a class. `docs/limitations.md` explains
#   this.
#
# These commands do the two tests, with more baselines:
#
#     fermiclass evaluate catalogs/4FGL-DR1.fits.gz --future catalogs/4FGL-DR4.fits.gz \
#         --features extended --classes bll,fsrq,psr --methods nimgp,mgp --baselines
#     fermiclass evaluate catalogs/4FGL-DR1.fits.gz --open catalogs/4FGL-DR4.fits.gz \
#         --baselines
