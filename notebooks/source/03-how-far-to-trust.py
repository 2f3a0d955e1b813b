# %% [markdown]
# # How far you can trust the probabilities
#
# Of all sources with a probability of 0.9, nine in ten should have the predicted class. You
# can check this. Many sources that DR1 (2019) leaves unassociated have a class in DR4
# (2023). This notebook learns from DR1, labels its sources without a class, and takes
# their classes from DR4.
#
# ## The open world
#
# This is the test of `classify`: every class of DR4 counts.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import fermiclass as fc
from fermiclass import plots
from fermiclass.evaluation import baseline_methods, default_method, evaluate, open_world

fc.load_tensorflow(quiet=True)  # it prints nothing
PLACES = (Path.cwd(), *Path.cwd().parents, *Path(fc.__file__).parents)
CATALOGS = next(place / "catalogs" for place in PLACES if (place / "catalogs").is_dir())

dr1 = fc.read_catalog(CATALOGS / "4FGL-DR1.fits.gz")
dr4 = fc.read_catalog(CATALOGS / "4FGL-DR4.fits.gz")
baselines = ["logistic+gas:spiders", "forest+gas:spiders"]
targets = open_world(dr1, dr4)
opened = evaluate(targets, [default_method(), *baseline_methods(baselines)])
targets.description, len(opened)

# %% [markdown]
# What are these sources in DR4? A class code does not always say the class. Binaries,
# globular clusters and `spp` (a chance overlap with a remnant or nebula) may be pulsars or
# other sources. In the test they may be either.

# %%
can_be = [
    " or ".join(
        name for name, possible in zip(opened.classes, row, strict=True) if possible
    )
    for row in opened.truth
]
pd.Series(can_be, name="in DR4").value_counts().to_frame()

# %% [markdown]
# **These sources are no random sample.** Astronomers search for pulsars among the
# unassociated sources, and therefore find pulsars. This does not mean that the remaining
# unassociated sources are pulsars. Remember this when you read the scores.
#
# ## Scores
#
# `nll` is the mean of −ln P(true class), and `nll_se` its standard error. `error` is the
# fraction of sources with a wrong most probable class. `ece` is the mean distance between
# confidence and accuracy. Lower is better in all of them. The baselines have the same
# features and the Galactic latitude, and learn binaries and clusters as pulsars.

# %%
print(f"NLL of the best constant probabilities: {opened.nll_of_constants:.3f}")
opened.table[["nll", "nll_se", "error", "ece"]].round(3)

# %% [markdown]
# Compare two methods by their difference on the same sources. The standard error of the
# difference is smaller than that of each score.

# %%
for other in baselines:
    print(f"default − {other:20s} {opened.difference('default', other)}")

# %% [markdown]
# ## Calibration
#
# On the left, each point is a bin of sources. On the dashed line, the probability of the
# most probable class is equal to the fraction of sources that have this class. On the right
# you see which classes the model confuses. Sources that may be of two classes are left out.

# %%
clear = opened.truth.sum(axis=1) == 1
P, true = opened.probabilities("default")[clear], opened.y[clear]
classes = opened.classes
said = np.array(classes)[P.argmax(axis=1)]
figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.3), layout="constrained")
plots.reliability_diagram(P, true, classes, num_bins=5, axes=left)
plots.confusion_matrix(true, said, classes, axes=right)
plt.show()

# %% [markdown]
# ## How many of each
#
# The sum of a probability is the expected number of sources of the class. The model expects
# more AGN than DR4 has. It does not know that astronomers searched for pulsars.

# %%
rows = opened.per_class("default")
pd.DataFrame(rows).T[["n", "expected", "expected_se"]].astype(float).round(1)

# %% [markdown]
# ## Pulsar candidates
#
# Candidates are sources with a probability of a pulsar at or above a limit. *Purity* is the
# fraction of them that are pulsars in DR4. In the first row it is that of all sources: what
# you get without any choice. There are two readings. At face value a binary is no pulsar.
# But most of these binaries are "spiders", which contain a millisecond pulsar.


# %%
def purity(population):
    found = opened.candidates("default", population)["pulsar"]
    return pd.DataFrame(found).set_index("threshold")


pd.DataFrame(
    {
        "candidates": purity("face")["n"],
        "purity, face value": purity("face")["purity"],
        "purity, spiders are pulsars": purity("spiders")["purity"],
        "completeness, face value": purity("face")["completeness"],
    }
).round(2)

# %% [markdown]
# ## Wrong labels
#
# The colour of a point is the class of the source in DR4. A point in the region of another
# class is a wrong label. The table has the six sources with the lowest probability of their
# class in DR4.

# %%
plots.probability_triangle(P, classes, true, size=16.0)
plt.show()

# %%
P_true = P[opened.truth[clear]]
worst = np.argsort(P_true)[:6]
pd.DataFrame(
    {
        "source": targets.names[targets.scored][clear][worst],
        "label": said[worst],
        "P(label)": P.max(axis=1)[worst].round(3),
        "in DR4": true[worst],
        "P(class in DR4)": P_true[worst].round(3),
        "Signif_Avg": targets.significance[targets.scored][clear][worst].round(1),
    }
)

# %% [markdown]
# ## Conclusions
#
# - The open world is the test of the labels that `classify` writes.
# - Compare the purity of candidates with that of all scored sources.
# - Expected numbers depend on which sources get a class. `docs/trust.md` explains
#   this. The later list FL16Y gives a class to more AGN (`docs/development/benchmarks.md`).
#
# This command does the test, with more baselines:
#
#     fermiclass evaluate catalogs/4FGL-DR1.fits.gz --open catalogs/4FGL-DR4.fits.gz \
#         --baselines
