# %% [markdown]
# # What error bars change, on real sources
#
# Most classifiers take a catalogue's numbers for the truth. fermiclass knows how uncertain
# each of them is, in learning and in predicting. Here we train two models that differ in
# nothing else, and look at what comes out differently. To keep things simple they know
# three classes.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import fermiclass as fc
from fermiclass import plots

CATALOGS = Path("../catalogs")
CLASSES = ["bll", "fsrq", "psr"]

catalog = fc.read_catalog(CATALOGS / "4FGL-DR4.fits.gz")
data = fc.extract_features(catalog, "extended", "bll,fsrq,psr")

# %% [markdown]
# ## Those to be labelled are faint
#
# Sources whose class is known are brighter than those whose class we want, and the errors
# of their features are smaller: what is learned from is not like what it is used for.

# %%
names = [feature.name for feature in data.features]
j = names.index("LP_Index")
error = np.sqrt(data.X_var[:, j])
known, unknown = data.labelled, catalog.classes == ""
figure, axes = plt.subplots(figsize=(5.5, 3.0), layout="constrained")
bins = np.geomspace(0.01, 1.0, 40)
axes.hist(error[known], bins, color="0.7", label="with a class")
axes.hist(
    error[unknown],
    bins,
    histtype="step",
    color="#D55E00",
    linewidth=1.8,
    label="unassociated",
)
axes.axvline(np.std(data.X[known, j]), color="k", linestyle="--", linewidth=1)
axes.text(
    np.std(data.X[known, j]) * 1.05, 250, "spread of\nthe index\nitself", fontsize="small"
)
axes.set_xscale("log")
axes.set_xlabel("error of the spectral index")
axes.set_ylabel("sources")
axes.legend(frameon=False, loc="upper left")
print(f"median error, with a class:  {np.median(error[known]):.3f}")
print(f"median error, unassociated: {np.median(error[unknown]):.3f}")

# %% [markdown]
# ## Two models
#
# `nimgp` treats every feature as measured with its error, `mgp` ignores the errors. To keep
# the comparison clean we leave the probabilities as trained (`shares="trained"`).

# %%
question = {"features": "extended", "classes": "bll,fsrq,psr"}
with_errors = fc.train(catalog, fc.NIMGPClassifier("nimgp"), **question)
without_errors = fc.train(catalog, fc.NIMGPClassifier("mgp"), **question)
a = with_errors.label(catalog, shares="trained")
b = without_errors.label(catalog, shares="trained")


def probabilities(table):
    return np.array([table[f"P_{name}"] for name in CLASSES]).T


# total variation distance
shift = 0.5 * np.abs(probabilities(a) - probabilities(b)).sum(axis=1)
changed = np.asarray(a["PRED_CLASS"]) != np.asarray(b["PRED_CLASS"])
print(f"mean shift of the probabilities: {shift.mean():.3f}")
print(f"shifted by more than 0.1: {np.sum(shift > 0.1)} of {len(a)} sources")
print(f"{changed.sum()} sources get another class")

# %% [markdown]
# ## The source that changes most
#
# Its features, with their errors, beside the classes (bars: 68 and 95 % of the training
# sources), and what each of them does to the log-odds of the most probable classes:

# %%
name = str(a["Source_Name"][np.argmax(shift)])
explained = fc.explain(with_errors, catalog, name)
plots.explanation(explained)
row = int(np.argmax(shift))
pd.DataFrame(
    [probabilities(a)[row], probabilities(b)[row]], ["with error bars", "without"], CLASSES
).round(3)

# %% [markdown]
# Now we scale this source's errors from nothing to twice what they are, and let the model
# that knows of errors predict again. Measured better, its curved spectrum would speak more
# for a pulsar; as uncertain as it is, it may as well be chance.

# %%
at = int(np.flatnonzero(catalog.names == name)[0])
scales = np.linspace(0.0, 2.0, 17)
P = with_errors.estimator.predict_proba(
    np.repeat(data.X[[at]], len(scales), axis=0),
    X_var=scales[:, None] ** 2 * data.X_var[[at]],
)
figure, axes = plt.subplots(figsize=(5.0, 3.0), layout="constrained")
colours = plots.class_colours(CLASSES)
for c, label in enumerate(CLASSES):
    axes.plot(scales, P[:, c], color=colours[label], linewidth=2, label=label)
axes.axvline(1.0, color="0.5", linestyle=":")
axes.set_xlabel("errors, in units of the catalogue's")
axes.set_ylabel("probability")
axes.set_ylim(0, 1)
axes.set_title(name, fontsize="medium")
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# ## Is it better, too?
#
# That labels differ does not say which are right. So we learn from the brighter half of
# each class of DR1's associated sources, and predict the fainter half, whose class we know.
# NLL is the mean of −ln P(true class): less is better, and whoever is too sure of the wrong
# thing pays for it.

# %%
from fermiclass.evaluation import EstimatorMethod, evaluate_faint, noise_gains

dr1 = fc.read_catalog(CATALOGS / "4FGL-DR1.fits.gz")
methods = [
    EstimatorMethod("nimgp", fc.NIMGPClassifier("nimgp")),
    EstimatorMethod("mgp", fc.NIMGPClassifier("mgp")),
]
evaluation = evaluate_faint(dr1, methods, features="six", classes="bll,fsrq,psr")
pd.DataFrame(
    {
        method: {
            "NLL": result.scores.nll,
            "±": result.scores.nll_se,
            "error": result.scores.error,
            "ECE": result.scores.ece,
        }
        for method, result in evaluation.methods.items()
    }
).T.round(3)

# %% [markdown]
# Where does the gain come from? From the faintest, which are those that we want to label.
# Bright sources pay a little. (Six features are used here; with all 17 the gain is smaller,
# as `docs/benchmarks.md` shows.)

# %%
gain = noise_gains(evaluation)[0]
figure, axes = plt.subplots(figsize=(5.0, 3.0), layout="constrained")
texts = [
    f"{bin.low:g}–{bin.high:g}" if bin.high is not None else f"> {bin.low:g}"
    for bin in gain.by_significance
]
axes.errorbar(
    range(len(texts)),
    [bin.difference.mean for bin in gain.by_significance],
    [bin.difference.se for bin in gain.by_significance],
    fmt="o",
    color="#0072B2",
    capsize=3,
)
axes.axhline(0.0, color="0.5", linewidth=1)
axes.set_xticks(range(len(texts)), texts)
axes.set_xlabel("significance, σ")
axes.set_ylabel("NLL with − without error bars")
axes.text(0.4, 0.05, "below 0: error bars help", transform=axes.transAxes, fontsize="small")
plt.show()
