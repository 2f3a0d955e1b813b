# %% [markdown]
# # Your own classes and features
#
# In this notebook you choose your own classes: AGN as one class, pulsars, millisecond
# pulsars, and everything else. You also choose the features, test the classifier, and label
# the unassociated sources. The classifier itself is the default of `classify`.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import fermiclass as fc
from fermiclass import plots
from fermiclass.evaluation import default_method, evaluate, folds

fc.load_tensorflow(quiet=True)  # it prints nothing

pd.set_option("display.float_format", "{:.3f}".format)
PLACES = (Path.cwd(), *Path.cwd().parents, *Path(fc.__file__).parents)
CATALOGS = next(place / "catalogs" for place in PLACES if (place / "catalogs").is_dir())
catalog = fc.read_catalog(CATALOGS / "4FGL-DR4.fits.gz")

# %% [markdown]
# ## Classes
#
# `agn=bll+fsrq+rdg+...` makes one class, `agn`, of several class codes of the catalogue.
# `psr` and `msp` are codes: because `msp` is named, `psr` contains the other pulsars only.
# `other` contains every code that is named nowhere else. Keep it: without it, a supernova
# remnant is labelled as a pulsar or an AGN. `msp|other=bin+lmb+glc` says that binaries and
# globular clusters are one of the two, unknown which.

# %%
CLASSES = (
    "agn=bll+fsrq+rdg+agn+nlsy1+css+ssrq+sey+sbg+gal,psr,msp,other,"
    "msp|other=bin+lmb+glc,psr|other=spp"
)
NAMES = ["agn", "psr", "msp", "other"]

# %% [markdown]
# ## Features
#
# You can name sets of features (`six`, `extended`), single features, and numeric columns of
# the catalogue. `ln_` before a column takes its logarithm. The errors of a column come from
# `Unc_<column>`, if the catalogue has this column. Here `PLEC_IndexS` is such a column: the
# spectral index of a power law with an exponential cut-off, a usual model of pulsars.

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
# Do the classes differ in these features? The picture shows three of them in pairs.

# %%
shown = ["asinh_PLEC_SigCurv", "LP_Index", "ln_Variability_Index"]
names = [feature.name for feature in data.features]
columns = [names.index(name) for name in shown]
certain = known[np.isin(known.y, NAMES)]
X = certain.X[:, columns]
low, high = np.percentile(X, [0.2, 99.8], axis=0)
figure, panels = plt.subplots(1, 3, figsize=(9.0, 3.0), layout="constrained")
for axes, pair in zip(panels, ([0, 1], [1, 2], [0, 2]), strict=True):
    both = [shown[j] for j in pair]
    plots.feature_pair(X[:, pair], certain.y, both, names=NAMES, axes=axes)
    axes.set(xlim=(low[pair[0]], high[pair[0]]), ylim=(low[pair[1]], high[pair[1]]))
panels[0].legend(frameon=False, markerscale=2.0)
plt.show()

# %% [markdown]
# ## Test
#
# `folds` divides the sources with a known class into three parts. `evaluate` learns from
# two parts and scores the third, in turn. `default_method` is the model that `classify`
# and `train` use.

# %%
evaluation = evaluate(
    folds(catalog, 3, features=FEATURES, classes=CLASSES), [default_method()]
)
P = evaluation.probabilities("default")
chosen = np.array(evaluation.classes)[P.argmax(axis=1)]
figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.3), layout="constrained")
plots.confusion_matrix(evaluation.y, chosen, evaluation.classes, axes=left)
plots.reliability_diagram(P, evaluation.y, evaluation.classes, axes=right)
pd.DataFrame(evaluation.per_class("default")).T.round(3)

# %% [markdown]
# The model recognises nearly all AGN. It confuses the two kinds of pulsars more often than
# pulsars and AGN, and knows little of `other`. These results are too optimistic: the scored
# sources are brighter than the sources that you will label.
#
# ## Relevance of the features
#
# The picture shows how far one standard deviation of a feature moves the log-odds of each
# class: a larger move means a more relevant feature.

# %%
model = fc.train(catalog, features=FEATURES, classes=CLASSES)
slopes = plots.log_odds_slopes(
    lambda X: model.estimator.predict_proba(X, X_var=certain.X_var),
    certain.X,
    model.estimator.scale_,
)
plots.ard_relevances(slopes, model.features, model.classes)
plt.show()

# %% [markdown]
# ## Labels
#
# The classes cover all sources, so the class priors are those of the default: the odds of
# AGN are corrected for how completely they are associated, also by latitude.
#
# The latitude is not among the features, so the model cannot tell the two kinds of pulsars
# by it. Their positions are a test: `psr` should lie closer to the Galactic plane than
# `msp`.

# %%
labels = model.label(catalog, "unassociated")
latitude = np.asarray(labels["GLAT"], float)
figure, axes = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
edges = np.linspace(-1, 1, 21)  # equal areas of the sky
colours = plots.class_colours(NAMES)
for name in NAMES:
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
# The peak of `psr` is narrow, and that of `msp` is wide: their spectra tell the two kinds
# apart.
#
# These are the 8 best candidates for millisecond pulsars at least 10° from the plane,
# without sources that have flags 4 or 8:

# %%
best = fc.followup(labels, want="msp", abs_glat=(10, 90), status="unassociated", top=8)
columns = ["RANK", "Source_Name", "GLAT", "Signif_Avg", "P_agn", "P_psr", "P_msp", "LASTS"]
best.to_pandas()[columns]

# %% [markdown]
# These commands do the same:
#
#     fermiclass train catalogs/4FGL-DR4.fits.gz -o msp-model \
#         --classes "agn=bll+fsrq+rdg+agn+nlsy1+css+ssrq+sey+sbg+gal,psr,msp,other,\
#     msp|other=bin+lmb+glc,psr|other=spp" --features six,asinh_PLEC_SigCurv,PLEC_IndexS,\
#     ln_Variability_Index,ln_Energy_Flux100,HR_45,HR_56,HR_67
#     fermiclass classify catalogs/4FGL-DR4.fits.gz --model msp-model -o msp.fits \
#         --targets unassociated
#     fermiclass followup msp.fits --want msp --abs-glat 10 90 --status unassociated --top 8
