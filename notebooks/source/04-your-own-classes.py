# %% [markdown]
# # A classifier of your own classes and features
#
# Blazars of any kind, young pulsars or millisecond pulsars? That is another question than
# the default's, and takes three changes: the classes, the features, and a look at whether
# it works.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import fermiclass as fc
from fermiclass import plots
from fermiclass.evaluation import EstimatorMethod, evaluate_folds

pd.set_option("display.float_format", "{:.3f}".format)
catalog = fc.read_catalog(Path("../catalogs") / "4FGL-DR4.fits.gz")

# %% [markdown]
# ## Classes
#
# A name of your own, `=`, and the catalogue's codes joined by `+`; a code alone is a class
# of that name. What is not named is not learned from. `other` would be all that is named
# nowhere else.

# %%
CLASSES = "agn=bll+fsrq,psr,msp"

# %% [markdown]
# ## Features
#
# Sets (`six`, `extended`), defined features, or any numeric column of the catalogue, with
# `ln_` before it for its logarithm. A column takes its errors from `Unc_<column>` where
# there is one: here the curvature of the spectrum as a pulsar's is modelled, with the
# errors that the catalogue gives.

# %%
FEATURES = (
    "six,asinh_PLEC_SigCurv,PLEC_IndexS,"
    "ln_Variability_Index,ln_Energy_Flux100,HR_45,HR_56,HR_67"
)
data = fc.extract_features(catalog, FEATURES, CLASSES)
known = data[data.labelled]
print({str(name): int(np.sum(known.y == name)) for name in np.unique(known.y)})
print(f"missing: {known.imputed_uncertainty.mean():.1%} of the errors,", end=" ")
print(f"{known.imputed_value.mean():.1%} of the values")

# %% [markdown]
# Before any model: do the classes differ in these features?

# %%
shown = ["asinh_PLEC_SigCurv", "LP_Index", "ln_Variability_Index"]
names = [feature.name for feature in data.features]
columns = [names.index(name) for name in shown]
grid = plots.feature_pairs(
    known.X[:, columns], known.y, shown, names=["agn", "psr", "msp"], size=6.0
)
grid[0, 0].set_ylim(*np.percentile(known.X[:, columns[1]], [0.2, 99.8]))
for axes in grid[:, 0]:
    axes.set_xlim(*np.percentile(known.X[:, columns[0]], [0.2, 99.8]))

# %% [markdown]
# ## Does it work?
#
# Every associated source is predicted by a model that has not seen it: three folds, three
# models trained at once.

# %%
evaluation = evaluate_folds(
    catalog,
    [EstimatorMethod("nimgp", fc.NIMGPClassifier())],
    folds=3,
    features=FEATURES,
    classes=CLASSES,
)
result = evaluation.methods["nimgp"]
chosen = np.array(evaluation.classes)[result.probabilities.argmax(axis=1)]
figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.3), layout="constrained")
plots.confusion_matrix(evaluation.y, chosen, evaluation.classes, axes=left)
plots.reliability_diagram(
    result.probabilities, evaluation.y, evaluation.classes, axes=right
)
pd.DataFrame(result.scores.per_class).T.round(3)

# %% [markdown]
# Active galaxies are told from pulsars; young from millisecond pulsars only in part.
# Associated sources are brighter than those to be labelled, so that these figures flatter.
#
# ## What it looks at
#
# How fast each latent function changes with a feature, in standard deviations of that
# feature:

# %%
model = fc.train(catalog, fc.NIMGPClassifier(), features=FEATURES, classes=CLASSES)
slopes = plots.kernel_slopes(model.estimator.weights_, model.estimator.kernel)
plots.ard_relevances(slopes, model.features, list(model.estimator.classes_))
plt.show()

# %% [markdown]
# ## Labels
#
# Now a test that nobody has tuned for: positions are not among the features, and the class
# priors are estimated for the whole sky at once (`shares="estimated"`). And yet young
# pulsars should lie in the plane of the Milky Way, millisecond pulsars, which are older and
# nearer, further out, and active galaxies anywhere.

# %%
labels = model.label(catalog, "unassociated", shares="estimated")
latitude = np.asarray(labels["GLAT"], float)
figure, axes = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
edges = np.linspace(-1, 1, 21)  # equal areas of the sky
colours = plots.class_colours(["agn", "psr", "msp"])
for name in ("agn", "msp", "psr"):
    density = np.histogram(
        np.sin(np.radians(latitude)), edges, weights=labels[f"P_{name}"]
    )[0]
    axes.stairs(
        density,
        edges,
        color=colours[name],
        linewidth=1.8,
        label=f"{name}: {density.sum():.0f} expected",
    )
axes.set_xlabel("sin (Galactic latitude): equal areas")
axes.set_ylabel("expected sources")
axes.set_yscale("symlog", linthresh=10)
axes.set_ylim(bottom=0)
axes.legend(frameon=False, fontsize="small")
plt.show()

# %% [markdown]
# That is how they lie, all from spectra and variability. Remnants, nebulae and false
# detections in the plane count among the pulsars, as there is no other class for them here.
# The best candidates for millisecond pulsars away from the plane, without flags:

# %%
best = fc.followup(labels, want="msp", abs_glat=(10, 90), status="unassociated", top=8)
columns = ["RANK", "Source_Name", "GLON", "GLAT", "Signif_Avg", "P_agn", "P_psr", "P_msp"]
best.to_pandas()[columns]

# %% [markdown]
# The same on the command line:
#
#     fermiclass train catalogs/4FGL-DR4.fits.gz -o msp-model --method nimgp \
#         --classes agn=bll+fsrq,psr,msp --features six,asinh_PLEC_SigCurv,PLEC_IndexS,\
#     ln_Variability_Index,ln_Energy_Flux100,HR_45,HR_56,HR_67
#     fermiclass classify catalogs/4FGL-DR4.fits.gz --model msp-model -o msp.fits \
#         --targets unassociated --shares estimated
#     fermiclass followup msp.fits --want msp --abs-glat 10 90 --status unassociated --top 8
