# %% [markdown]
# # How far to trust it: releases against releases
#
# A probability is a promise: of the sources with P = 0.9, nine in ten should turn out as
# said. The catalogue lets us check, as sources without a class in DR1 (2019) have got one
# in DR4 (2023). We learn from DR1 alone, label its sources without a class, and look into
# DR4 only to score. First in a closed world of three classes, where only sources count that
# became `bll`, `fsrq` or a pulsar; then in the open world, where every later class counts.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import fermiclass as fc
from fermiclass import plots
from fermiclass.evaluation import EstimatorMethod, baseline_method, evaluate_future

CATALOGS = Path("../catalogs")

dr1 = fc.read_catalog(CATALOGS / "4FGL-DR1.fits.gz")
dr4 = fc.read_catalog(CATALOGS / "4FGL-DR4.fits.gz")
methods = [
    EstimatorMethod("nimgp", fc.NIMGPClassifier()),
    EstimatorMethod("mgp", fc.NIMGPClassifier("mgp")),
    baseline_method("logistic"),
    baseline_method("forest"),
]
evaluation = evaluate_future(dr1, dr4, methods, features="extended", classes="bll,fsrq,psr")
evaluation.protocol, len(evaluation)

# %% [markdown]
# Which sources are they? Most were `bcu`, blazars of uncertain kind, and became `bll`;
# those that had no association at all have all become pulsars.

# %%
before = np.where(evaluation.status == "", "unassociated", evaluation.status)
pd.crosstab(pd.Series(before, name="in DR1"), pd.Series(evaluation.y, name="in DR4"))

# %% [markdown]
# **Keep this in mind when you read any score below.** Unassociated sources are searched for
# pulsars, so pulsars is what is found in them. That all of them were pulsars does not mean
# that all the others are.
#
# ## Scores
#
# `nimgp` knows the error bars, `mgp` is the same without them, the others are what one
# would take from scikit-learn. `+shares` says that the class priors of the sources to label
# were estimated (`--shares estimated`). NLL is the mean of −ln P(true
# class), ECE the mean distance of promise and truth; less is better.

# %%
table = pd.DataFrame(
    {
        name: {
            "NLL": result.scores.nll,
            "±": result.scores.nll_se,
            "NLL, unassociated": result.unassociated.nll,
            "error": result.scores.error,
            "ECE": result.scores.ece,
        }
        for name, result in evaluation.methods.items()
    }
).T.round(3)
table.sort_values("NLL")

# %% [markdown]
# Differences on the same sources are known better than each score alone:

# %%
for other in ("mgp+shares", "logistic+shares", "forest+shares", "nimgp"):
    difference = evaluation.difference("nimgp+shares", other)
    print(f"nimgp+shares − {other:16s} {difference.mean:+.3f} ± {difference.se:.3f}")

# %% [markdown]
# Estimated class priors help most, with any method. Between good methods there
# is not much to choose on these sources.
#
# ## Promise and truth
#
# A point is a bin of some 31 sources: on the line, probabilities are what they say. Right:
# which classes are mistaken for which.

# %%
result = evaluation.methods["nimgp+shares"]
classes = evaluation.classes
chosen = np.array(classes)[result.probabilities.argmax(axis=1)]
figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.3), layout="constrained")
plots.reliability_diagram(result.probabilities, evaluation.y, classes, axes=left)
plots.confusion_matrix(evaluation.y, chosen, classes, axes=right)
plt.show()

# %% [markdown]
# The same without estimated class priors, and from a random forest: points above the line
# are too modest, points below too sure.

# %%
figure, both = plt.subplots(1, 2, figsize=(7.5, 3.3), layout="constrained")
for axes, name in zip(both, ("nimgp", "forest"), strict=True):
    plots.reliability_diagram(
        evaluation.methods[name].probabilities, evaluation.y, classes, axes=axes
    )
    axes.set_title(name, fontsize="medium")

# %% [markdown]
# ## Where it was wrong
#
# Points coloured by what the source turned out to be. Sources far from the corner of their
# colour are mistakes.

# %%
plots.probability_triangle(result.probabilities, classes, evaluation.y, size=16.0)
plt.show()

# %%
truth = result.probabilities[
    np.arange(len(evaluation)), [classes.index(y) for y in evaluation.y]
]
worst = np.argsort(truth)[:6]
pd.DataFrame(
    {
        "source": evaluation.names[worst],
        "in DR1": before[worst],
        "labelled": chosen[worst],
        "with P": result.probabilities.max(axis=1)[worst].round(3),
        "in DR4": evaluation.y[worst],
        "P of that": truth[worst].round(3),
        "σ": evaluation.significance[worst].round(1),
    }
)

# %% [markdown]
# ## The open world
#
# Sources also turn out to be remnants, binaries, or blazars of a type that nobody knows.
# `evaluate_open` counts all of them as AGN, pulsar or other. Here is the default of
# `fermiclass classify`, with four classes, on the sources of DR1 without any association.

# %%
from fermiclass.evaluation.open_methods import evaluate_open

open_world = evaluate_open(dr1, dr4, baselines=("logistic", "forest"))
figures = open_world.to_dict()
pd.DataFrame(
    {
        name: {
            "NLL": scores["nll"],
            "±": scores["nll_se"],
            "NLL, AGN or pulsar": scores["agn_psr"],
            **{
                f"{group} expected (found {number['found']})": number["expected"]
                for group, number in scores["numbers"]["all"].items()
            },
        }
        for name, scores in figures["methods"].items()
    }
).round(2)

# %% [markdown]
# The three groups are much harder to tell apart than three classes in a closed world. Most
# sources found between DR1 and DR4 are pulsars, as this is what people searched for, and no
# method expects so many. The 16-year list, which is later than DR4, has more AGN:
# `docs/benchmarks.md` has the figures.
#
# ## So how far?
#
# - In the closed world, probabilities of bcu and unassociated sources that somebody found
#   something in were what they said, within what 310 sources can show.
# - The closed world flatters every method. Use its figures to compare, not to trust.
# - Expected numbers depend on who gets a class. Be most careful near the Galactic plane.
#
# `fermiclass evaluate catalogs/4FGL-DR1.fits.gz --future catalogs/4FGL-DR4.fits.gz --peers
# --classes bll,fsrq,psr` is the first comparison with all methods.
