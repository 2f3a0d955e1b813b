# %% [markdown]
# # Label 4FGL-DR4 in five minutes
#
# A third of the sources in the Fermi-LAT gamma-ray catalogue have no known counterpart. In
# this notebook you train the default model on the sources with a known class, label the
# others, and look at the result. You need fermiclass (`pip install .` in its folder) and
# the catalogue that comes with it.

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
pd.set_option("display.float_format", "{:.3f}".format)

catalog = fc.read_catalog(CATALOGS / "4FGL-DR4.fits.gz")
catalog

# %% [markdown]
# The catalogue gives each source a class. `bll` and `fsrq` are two kinds of blazars: active
# galaxies (AGN) whose jet points at us. `psr` are pulsars, and `msp` millisecond pulsars.
# `bcu` are blazars of uncertain type, and `unk` have a counterpart of unknown nature. `spp`
# overlap with a supernova remnant or a nebula, perhaps by chance. Unassociated sources have
# no class.

# %%
codes, counts = np.unique(catalog.classes, return_counts=True)
{str(code) or "(none)": int(counts[k]) for k, code in enumerate(codes) if counts[k] > 100}

# %% [markdown]
# ## Features
#
# The model uses 18 features: the brightness of a source, the shape of its spectrum, its
# variability, and its distance from the Galactic plane. Most features have an error bar,
# and faint sources have large ones. `X` has the features, and `X_var` the squares of their
# errors. These are the features of one source:

# %%
data = fc.extract_features(catalog)
row = int(np.flatnonzero(catalog.names == "4FGL J0001.6+3503")[0])
for name, value, variance in zip(
    [feature.name for feature in data.features], data.X[row], data.X_var[row], strict=True
):
    print(f"{name:22s} {value:8.3f} ± {np.sqrt(variance):.3f}")

# %% [markdown]
# The picture shows two of the features. Points are sources with a known class. Ellipses
# show the error bars (one standard deviation) of ten faint unassociated sources. A large
# ellipse covers several classes: the label of such a source is uncertain.

# %%
names = [feature.name for feature in data.features]
pair = [names.index("LP_Index"), names.index("LP_beta")]
significance = np.asarray(catalog.table["Signif_Avg"])
faint = (catalog.classes == "") & (significance < 6) & (data.flags == 0)
faint = np.flatnonzero(faint)[:10]
classes = ["bll", "fsrq", "psr", "msp", "other"]
known = np.isin(data.y, classes)
axes = plots.feature_pair(
    data.X[known][:, pair],
    data.y[known],
    ("spectral index", "curvature β"),
    noisy=data.X[faint][:, pair],
    noisy_var=data.X_var[faint][:, pair],
    names=classes,
)
axes.figure.set_size_inches(5.5, 4.2)
axes.set_xlim(1.2, 3.4)
axes.set_ylim(-0.4, 1.4)
axes.legend(frameon=False, markerscale=2)
plt.show()

# %% [markdown]
# ## Train and label
#
# `train` learns five classes: `bll`, `fsrq`, `psr` (pulsars that are not millisecond
# pulsars), `msp` and `other`: remnants, wind nebulae and all other kinds. Where the
# catalogue does not say the class, a source teaches what it can be. Radio galaxies and
# other AGN are "`bll` or `fsrq`". Binaries and globular clusters are "`msp` or `other`",
# because many of them shine by millisecond pulsars. `label` labels 4186 sources: the
# unassociated ones, `bcu` and `unk`. Both steps together take less than a minute.
# `fc.classify(catalog)` does both at once.

# %%
model = fc.train(catalog)
labels = model.label(catalog)
probabilities = [f"P_{name}" for name in classes]
shown = ["Source_Name", "Signif_Avg", "CLASS1", *probabilities, "Sum_P_agn", "Sum_P_pulsar"]
labels.to_pandas()[shown].head(6)

# %% [markdown]
# The five probabilities of a row sum to 1. `Sum_P_agn` is the probability of an AGN,
# `P_bll` + `P_fsrq`. `Sum_P_pulsar` is that of a pulsar of any kind, `P_psr` + `P_msp`.
#
# The probabilities depend on the class priors: how frequent each class is among the sources
# that you label. The default corrects for two facts: near the Galactic plane AGN are hard
# to associate, and nearly every bright AGN is associated already. So a bright unassociated
# source is less likely to be an AGN. The correction is learned from the catalogue. For an
# unassociated source it multiplies the odds of an AGN by a factor that changes with the
# significance as (`Signif_Avg` / reference)^slope. These are the two numbers:

# %%
print(f"reference: {model.selection.reference:.1f}, slope: {model.selection.slope:.2f}")

# %% [markdown]
# The sum of a probability over many sources is the expected number of sources of this
# class. Here are the expected numbers of unassociated sources, near the Galactic plane and
# far from it:

# %%
unassociated = labels[labels["STATUS"] == "unassociated"]
near = np.abs(unassociated["GLAT"]) < 10
groups = {"AGN": "Sum_P_agn", "pulsars": "Sum_P_pulsar", "other": "P_other"}
pd.DataFrame(
    {
        group: {
            place: np.sum(unassociated[column][rows])
            for place, rows in (("|b| < 10°", near), ("|b| ≥ 10°", ~near))
        }
        for group, column in groups.items()
    }
).round(0)

# %% [markdown]
# ## On the sky
#
# The map shows the most probable class of all labelled sources in Galactic coordinates.
# Pale points have a low probability. Sources labelled `other` or `psr` lie mostly in the
# Galactic plane, and blazars lie everywhere. The Galactic latitude is a feature of the
# model; the longitude is not.

# %%
plots.sky_map(
    labels["GLON"],
    labels["GLAT"],
    labels["PRED_CLASS"],
    labels["P_MAX"],
    names=classes,
)
plt.show()

# %% [markdown]
# The triangle shows the probabilities of AGN, pulsar and other for all labelled sources. At
# a corner the class is certain. In the middle all three are equally probable. Most sources
# are close to the AGN corner. Many of the remaining ones lie between pulsar and other.

# %%
P = np.array([labels[column] for column in groups.values()]).T
plots.probability_triangle(P, ["agn", "pulsar", "other"])
plt.show()

# %% [markdown]
# ## Explain one source
#
# `explain` shows why a source has its probabilities. On the left you see its features with
# their errors (black) beside those of each class (bars: 68 and 95 % of the training
# sources). On the right you see how much each feature, and each kind of feature, moves the
# log-odds ln(P / (1 − P)) of the classes, and of their groups.

# %%
explained = fc.explain(model, catalog, "4FGL J0001.6+3503")
plots.explanation(explained)
plt.show()

# %% [markdown]
# ## Choose targets
#
# These are the 8 best candidates for pulsars of any kind at declinations up to 20°, at
# least 10° from the Galactic plane. `followup` leaves out sources with flags 4 or 8
# (`docs/labels.md` explains `LABEL_FLAGS`). It ranks by `Sum_P_pulsar` times `LASTS`, the
# probability that a later list still has the source.

# %%
targets = fc.followup(
    labels, want="pulsar", dec=(-90, 20), abs_glat=(10, 90), status="unassociated", top=8
)
shown = ["RANK", "Source_Name", "Signif_Avg", "P_psr", "P_msp", "Sum_P_pulsar", "LASTS"]
targets.to_pandas()[shown]

# %% [markdown]
# ## Save the labels
#
# The ending of the file name chooses the format: `.fits`, `.ecsv`, `.vot`, `.csv` or
# `.parquet`. The metadata contain the catalogue, all settings and the versions. The
# commands `fermiclass classify`, `fermiclass explain` and `fermiclass followup` do the same
# as this notebook.

# %%
fc.write_table(labels, "dr4-labels.vot")
plt.close("all")
