# %% [markdown]
# # Sources of your own
#
# Your sources come from a fit of your own, and are in no catalogue. In this notebook you
# label them with what you know, see what an unknown value does, and bring in a column and
# labels of your own. For the example, forty unassociated sources of 4FGL-DR4 play the part
# of your fit.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from astropy.table import Table

import fermiclass as fc

fc.load_tensorflow(quiet=True)  # it prints nothing

PLACES = (Path.cwd(), *Path.cwd().parents, *Path(fc.__file__).parents)
CATALOGS = next(place / "catalogs" for place in PLACES if (place / "catalogs").is_dir())
catalog = fc.read_catalog(CATALOGS / "4FGL-DR4.fits.gz")

# %% [markdown]
# ## A table
#
# Any table works, and upper and lower case do not matter. The names here are those of
# fermipy. `ts` becomes the significance; `delta_ts` would become the significance of the
# curvature. There are no energy bands, no variability, and no classes.

# %%
unassociated = np.flatnonzero(catalog.classes == "")
brightest = np.argsort(-np.asarray(catalog.table["Signif_Avg"])[unassociated])
rows = catalog.table[unassociated[brightest[:400:10]]]
mine = Table(
    {
        "name": [f"mine {k}" for k in range(len(rows))],
        "ra": rows["RAJ2000"],
        "dec": rows["DEJ2000"],
        "ts": np.asarray(rows["Signif_Avg"]) ** 2,
        "flux1000": rows["Flux1000"],
        "flux1000_err": rows["Unc_Flux1000"],
        "e_pivot": rows["Pivot_Energy"],
        "alpha": rows["LP_Index"],
        "alpha_err": rows["Unc_LP_Index"],
        "beta": rows["LP_beta"],
        "beta_err": rows["Unc_LP_beta"],
    }
)
sources = fc.read_sources(mine)
few = fc.classify(sources, train_on=catalog)
few[
    "Source_Name",
    "PRED_CLASS",
    "P_MAX",
    "Sum_P_agn",
    "Sum_P_pulsar",
    "P_other",
    "LABEL_FLAGS",
][:5].to_pandas().round(3)

# %% [markdown]
# The model learned from the features that the table has. How do the labels compare with
# those from all features of the catalogue?

# %%
labels = fc.classify(catalog)
named = {name: k for k, name in enumerate(labels["Source_Name"])}
full = labels[[named[name] for name in rows["Source_Name"]]]

figure, axes = plt.subplots(figsize=(4.5, 4.5), layout="constrained")
axes.plot([0, 1], [0, 1], color="0.7", lw=1)
axes.plot(full["Sum_P_pulsar"], few["Sum_P_pulsar"], "o", ms=5)
axes.set(
    xlabel="Sum_P_pulsar, all features of the catalogue",
    ylabel="Sum_P_pulsar, features of the table",
    aspect="equal",
)
plt.show()

# %%
confident = [int(np.sum(np.asarray(table["P_MAX"]) >= 0.9)) for table in (full, few)]
print("labels with P_MAX of 0.9 and more:", *confident)

# %% [markdown]
# ## One source
#
# A row may be a dictionary. A value that is missing here is averaged over, or left out of
# the model: nothing has to be made up. An upper limit of the flux is `flux1000_ul`, beside
# an empty `flux1000`.

# %%
one = fc.read_sources(
    {
        "name": "a new source",
        "ra": 83.6,
        "dec": -12.0,
        "ts": 64,
        "alpha": 2.2,
        "alpha_err": 0.1,
    }
)
fc.classify(one, train_on=catalog)[
    "Source_Name", "P_bll", "P_fsrq", "P_psr", "P_msp", "P_other", "LABEL_FLAGS"
].to_pandas().round(3)

# %% [markdown]
# ## A column of your own
#
# `join` brings a column of another table to the catalogue, by name or by position. The
# numbers here are made up: an X-ray flux for a third of the sources, higher for AGN.

# %%
generator = np.random.default_rng(0)
observed = generator.random(len(catalog)) < 1 / 3
agn = np.isin(catalog.classes, ["bll", "fsrq", "bcu"])
flux = np.exp(generator.normal(-28.5 + agn, 1.0))
x_rays = Table(
    {
        "Source_Name": catalog.names[observed],
        "XFLUX": flux[observed],
        "XFLUX_err": 0.2 * flux[observed],
    }
)
with_x_rays = fc.join(catalog, x_rays)
joined = fc.classify(with_x_rays, features="galactic,ln_XFLUX")
seen = np.isin(labels["Source_Name"], x_rays["Source_Name"])
moved = np.abs(np.asarray(joined["Sum_P_agn"]) - np.asarray(labels["Sum_P_agn"]))
print(f"mean change of Sum_P_agn with an X-ray flux: {moved[seen].mean():.3f}")
print(f"of the other sources: {moved[~seen].mean():.3f}")

figure, axes = plt.subplots(figsize=(4.5, 4.5), layout="constrained")
axes.plot([0, 1], [0, 1], color="0.7", lw=1)
axes.plot(labels["Sum_P_agn"][seen], joined["Sum_P_agn"][seen], ".", ms=3)
axes.set(xlabel="Sum_P_agn", ylabel="Sum_P_agn with the X-ray flux", aspect="equal")
plt.show()

# %% [markdown]
# ## Labels of your own
#
# `relabel` adds labels, or replaces those of the catalogue. Say that three candidates were
# found to pulse: they teach `msp` from now on, and are not labelled any more.

# %%
candidates = fc.followup(labels, want="msp", status="unassociated", top=3)
found = Table({"Source_Name": candidates["Source_Name"], "label": ["msp"] * 3})
again = fc.classify(fc.relabel(catalog, found))
print(len(labels), "labels before,", len(again), "with the labels of your own")

# %% [markdown]
# The page "How to label your own sources" of the documents has all names of columns, flux
# points of gammapy and fermipy, and kinds of classes of your own.
