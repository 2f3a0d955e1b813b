# %% [markdown]
# # Label 4FGL-DR4 in five minutes
#
# A third of the gamma-ray sources that the Fermi Large Area Telescope has found have no
# known counterpart. Here we let those that have one teach us what the others probably are.
# You need fermiclass (`pip install .` in its folder) and the catalogue that comes with it.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import fermiclass as fc
from fermiclass import plots

CATALOGS = Path("../catalogs")
pd.set_option("display.float_format", "{:.3f}".format)

catalog = fc.read_catalog(CATALOGS / "4FGL-DR4.fits.gz")
catalog

# %% [markdown]
# Each source has a class code: `bll` and `fsrq` are two kinds of blazars (active galaxies
# whose jet points at us), `psr` and `msp` are pulsars, `bcu` is a blazar of uncertain kind,
# and an empty code means that nothing is known.

# %%
codes, counts = np.unique(catalog.classes, return_counts=True)
{str(code) or "(none)": int(counts[k]) for k, code in enumerate(codes) if counts[k] > 100}

# %% [markdown]
# ## What is learned from
#
# From the catalogue's columns come 18 features: how bright a source is, the shape of its
# spectrum, how variable it is, and its distance from the Galactic plane. Nearly every one
# has an error bar, and for faint sources these are large. `X` holds the features, `X_var`
# the squares of their errors.

# %%
data = fc.extract_features(catalog)
row = int(np.flatnonzero(catalog.names == "4FGL J0001.6+3503")[0])
for name, value, variance in zip(
    [feature.name for feature in data.features], data.X[row], data.X_var[row], strict=True
):
    print(f"{name:22s} {value:8.3f} ± {np.sqrt(variance):.3f}")

# %% [markdown]
# Two of the features in a plane: sources whose class is known as points, and ten faint ones
# without a class as ellipses of one standard deviation. How sure one can be depends on the
# size of the ellipse, too.

# %%
names = [feature.name for feature in data.features]
pair = [names.index("LP_Index"), names.index("LP_beta")]
significance = np.asarray(catalog.table["Signif_Avg"])
faint = (catalog.classes == "") & (significance < 6) & (data.flags == 0)
faint = np.flatnonzero(faint)[:10]
classes = ["bll", "fsrq", "psr", "other"]
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
# `train` learns four classes: `bll`, `fsrq`, `psr` (with `msp`), and `other` for remnants,
# nebulae, binaries, clusters and the like. Radio galaxies and other AGN teach "`bll` or
# `fsrq`": what all AGN have in common. `label` gives the 4186 sources without a class
# probabilities. It takes well under a minute on a quiet machine. (`fc.classify(catalog)`
# does both at once.)

# %%
model = fc.train(catalog)
labels = model.label(catalog, shares="selection")
probabilities = [f"P_{name}" for name in classes]
shown = ["Source_Name", "Signif_Avg", "CLASS1", *probabilities, "Sum_P_agn"]
labels.to_pandas()[shown].head(6)

# %% [markdown]
# The four probabilities of a row sum to 1; `Sum_P_agn` is the sum of the first two.
# `shares="selection"` is the default of `fermiclass classify`. It knows that associations
# are selected: nearly every bright AGN has a counterpart, so that a bright source without
# one is rather something else, and near the Galactic plane counterparts are hard to find.
# How much this matters is estimated from the catalogue. The odds of an AGN go down with
# significance by this power:

# %%
print(f"slope: {model.selection.slope:.2f}")

# %% [markdown]
# Expected numbers among the unassociated sources, near the Galactic plane and far from it:

# %%
unassociated = labels[labels["STATUS"] == "unassociated"]
near = np.abs(unassociated["GLAT"]) < 10
groups = {"AGN": "Sum_P_agn", "pulsars": "P_psr", "other": "P_other"}
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
# Galactic coordinates, the centre of the Milky Way in the middle. Sources of other kinds
# crowd in the plane of the Milky Way, pulsars around it, and blazars are everywhere. (The
# Galactic latitude is one of the features, the longitude is not.) The paler, the less sure.

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
# All sources at once in a triangle of AGN, pulsars and others: at a corner the class is
# certain, in the middle anything is possible. Most sources are AGN with little doubt. What
# is left are sources between pulsar and other.

# %%
P = np.array([labels[column] for column in groups.values()]).T
plots.probability_triangle(P, ["agn", "psr", "other"])
plt.show()

# %% [markdown]
# ## One source
#
# Why does a source have its probabilities? `explain` shows its features (the black points)
# beside those of the classes, and by how much the log-odds, ln(P / (1 − P)), would change
# without each of them, and without all of one kind.

# %%
explained = fc.explain(model, catalog, "4FGL J0001.6+3503", shares="selection")
plots.explanation(explained)
plt.show()

# %% [markdown]
# ## What to observe
#
# The most probable pulsars away from the Galactic plane that a telescope in the south can
# see, without flagged sources (`docs/labels.md` explains `LABEL_FLAGS`):

# %%
targets = fc.followup(
    labels, want="psr", dec=(-90, 20), abs_glat=(10, 90), status="unassociated", top=8
)
shown = ["RANK", "Source_Name", "RAJ2000", "DEJ2000", "Signif_Avg", "P_psr", "OOD_SCORE"]
targets.to_pandas()[shown]

# %% [markdown]
# ## Keep it
#
# The ending chooses the format: `.fits`, `.ecsv`, `.vot`, `.csv` or `.parquet`. The
# metadata say which catalogue, settings and versions made the table. On the command line
# all of this is `fermiclass classify 4FGL-DR4.fits.gz`, then `fermiclass explain` and
# `fermiclass followup`.

# %%
fc.write_table(labels, "dr4-labels.vot")
plt.close("all")
