# %% [markdown]
# # What error bars change
#
# Most classifiers ignore the error bars of a catalogue. fermiclass uses them in training
# and in prediction. In this notebook you train one model with error bars and one without,
# and compare them.
#
# The models are not the default of `classify`. They know only three classes: this makes the
# pictures simpler. The model with error bars is `nimgp`. It averages each prediction over
# the values that the error bars allow. The default, `nimgp-fo`, uses the error bars to
# first order only.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import fermiclass as fc
from fermiclass import plots

fc.load_tensorflow(quiet=True)  # it prints nothing

PLACES = (Path.cwd(), *Path.cwd().parents, *Path(fc.__file__).parents)
CATALOGS = next(place / "catalogs" for place in PLACES if (place / "catalogs").is_dir())
CLASSES = ["bll", "fsrq", "psr"]

catalog = fc.read_catalog(CATALOGS / "4FGL-DR4.fits.gz")
choices = {"features": "extended", "classes": "bll,fsrq,psr"}
data = fc.extract_features(catalog, **choices)

# %% [markdown]
# ## Unassociated sources have larger errors
#
# The model learns from sources with a known class. They are brighter than the unassociated
# sources, and the errors of their features are smaller. The picture shows this for one
# feature.

# %%
names = [feature.name for feature in data.features]
column = names.index("LP_Index")
error = np.sqrt(data.X_var[:, column])
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
spread = np.std(data.X[known, column])
axes.axvline(spread, color="k", linestyle="--", linewidth=1)
axes.text(spread * 1.05, 250, "spread of\nthe index\nitself", fontsize="small")
axes.set_xscale("log")
axes.set_xlabel("error of the spectral index")
axes.set_ylabel("sources")
axes.legend(frameon=False, loc="upper left")
print(f"median error, with a class:  {np.median(error[known]):.3f}")
print(f"median error, unassociated: {np.median(error[unknown]):.3f}")

# %% [markdown]
# ## Train with and without error bars
#
# `nimgp` uses the error bars, and `mgp` ignores them. All other settings are equal: both
# models maximise the evidence lower bound, with all sources in every step, while `classify`
# maximises the predictive log probability. `class_priors="trained"` takes the class priors
# from the training sources, without a correction.

# %%
BOUND = {"objective": "elbo", "label_noise": 0, "batch_size": None, "learning_rate": 0.03}
BOUND |= {"steps": "auto", "training": {"draw_pairs": 16}}
recipe = fc.Recipe(**choices).with_settings(**BOUND)
nimgp = fc.train(catalog, recipe.with_settings(method="nimgp"))
mgp = fc.train(catalog, recipe.with_settings(method="mgp"))
labels_nimgp = nimgp.label(catalog, class_priors="trained")
labels_mgp = mgp.label(catalog, class_priors="trained")


def probabilities(labels):
    return np.array([labels[f"P_{name}"] for name in CLASSES]).T


P_nimgp, P_mgp = probabilities(labels_nimgp), probabilities(labels_mgp)
shift = 0.5 * np.abs(P_nimgp - P_mgp).sum(axis=1)  # total variation distance
changed = np.asarray(labels_nimgp["PRED_CLASS"]) != np.asarray(labels_mgp["PRED_CLASS"])
print(f"mean shift of the probabilities: {shift.mean():.3f}")
print(f"shift above 0.1: {np.sum(shift > 0.1)} of {len(shift)} sources")
print(f"another most probable class: {changed.sum()} sources")

# %% [markdown]
# ## The source that changes most
#
# The picture explains this source with `nimgp`. It shows the features with their errors
# (black) beside those of each class (bars: 68 and 95 % of the training sources), and how
# much each feature moves the log-odds of the classes. The circles are the probabilities
# that `nimgp` gives without the errors of this source. They are not those of `mgp` in the
# table, because `mgp` had no error bars in training either.

# %%
largest = int(np.argmax(shift))
name = str(labels_nimgp["Source_Name"][largest])
explained = fc.explain(nimgp, catalog, name)
plots.explanation(explained)
pd.DataFrame([P_nimgp[largest], P_mgp[largest]], ["nimgp", "mgp"], CLASSES).round(3)

# %% [markdown]
# How do the probabilities change with the errors? Here `nimgp` predicts the source again,
# with its errors multiplied by 0 to 2. Without errors, the curved spectrum makes a pulsar
# more probable. With the errors of the catalogue, the curvature is less certain, and a
# pulsar is less probable.

# %%
row = int(np.flatnonzero(catalog.names == name)[0])
factors = np.linspace(0.0, 2.0, 17)
P = nimgp.estimator.predict_proba(
    np.repeat(data.X[[row]], len(factors), axis=0),
    X_var=factors[:, None] ** 2 * data.X_var[[row]],
)
figure, axes = plt.subplots(figsize=(5.0, 3.0), layout="constrained")
colours = plots.class_colours(CLASSES)
for c, label in enumerate(CLASSES):
    axes.plot(factors, P[:, c], color=colours[label], linewidth=2, label=label)
axes.axvline(1.0, color="0.5", linestyle=":")
axes.set_xlabel("errors, multiplied by")
axes.set_ylabel("probability")
axes.set_ylim(0, 1)
axes.set_title(name, fontsize="medium")
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# ## Which model is better?
#
# To find out, you need sources with a known class. This test learns from the brighter half
# of each class of DR1, and labels the fainter half. `NLL` is the mean of −ln P(true class),
# and `±` its standard error. `error` is the fraction of sources with a wrong most probable
# class. `ECE` is the mean distance between confidence and accuracy. Lower is better in all
# of them.

# %%
from fermiclass.evaluation import bright_to_faint, estimator_method, evaluate

dr1 = fc.read_catalog(CATALOGS / "4FGL-DR1.fits.gz")
methods = [
    estimator_method(name, fc.NIMGPClassifier(method=name, **BOUND))
    for name in ("nimgp", "mgp")
]
evaluation = evaluate(bright_to_faint(dr1, features="six", classes="bll,fsrq,psr"), methods)
evaluation.table[["nll", "nll_se", "error", "ece"]].round(3)

# %% [markdown]
# The error bars lower the NLL. The next picture shows the difference by significance. Error
# bars help faint sources, and most unassociated sources are faint. They cost a little for
# bright sources. This test uses six features. With 17 features the gain is smaller
# (`docs/development/benchmarks.md`).

# %%
gain = evaluation.by_significance("nimgp", "mgp")
figure, axes = plt.subplots(figsize=(5.0, 3.0), layout="constrained")
texts = [
    f"{bin.left:g}–{bin.right:g}" if np.isfinite(bin.right) else f"> {bin.left:g}"
    for bin in gain.index
]
axes.errorbar(
    range(len(texts)), gain["mean"], gain["se"], fmt="o", color="#0072B2", capsize=3
)
axes.axhline(0.0, color="0.5", linewidth=1)
axes.set_xticks(range(len(texts)), texts)
axes.set_xlabel("Signif_Avg")
axes.set_ylabel("NLL of nimgp − NLL of mgp")
axes.text(0.4, 0.05, "below 0: error bars help", transform=axes.transAxes, fontsize="small")
plt.show()
