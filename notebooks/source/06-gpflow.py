# %% [markdown]
# # Kernels and likelihoods of GPflow
#
# The classifier knows some kernels and likelihoods by name. It also takes those of
# [GPflow](https://gpflow.github.io/GPflow) as objects: sums, products, periodic kernels,
# kernels of some features only, and your own.

# %%
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import fermiclass as fc

fc.load_tensorflow(quiet=True)  # it prints nothing, if GPflow is imported later
warnings.filterwarnings("ignore", message="pkg_resources")  # of GPflow

PLACES = (Path.cwd(), *Path.cwd().parents, *Path(fc.__file__).parents)
CATALOGS = next(place / "catalogs" for place in PLACES if (place / "catalogs").is_dir())
catalog = fc.read_catalog(CATALOGS / "4FGL-DR4.fits.gz")
named = fc.train(catalog).label(catalog)

# %% [markdown]
# ## A kernel
#
# Inputs are standardised: a length-scale of 1 is the standard deviation of a feature over
# the training sources. With a vector of length-scales each feature has its own. The priors
# of GPflow's parameters count in training. Each class gets its own copy, and your object
# does not change. White noise is always added.

# %%
import gpflow
import tensorflow_probability as tfp

features = fc.extract_features(catalog).features
D = len(features)
smooth = gpflow.kernels.RationalQuadratic(lengthscales=np.full(D, 3.0 * np.sqrt(D)))
smooth.lengthscales.prior = tfp.distributions.LogNormal(
    np.log(3.0 * np.sqrt(D)), np.float64(0.5)
)
kernel = smooth + gpflow.kernels.Linear(variance=0.1)
model = fc.train(catalog, recipe=fc.Recipe().with_settings(kernel=kernel))
labels = model.label(catalog)

# %% [markdown]
# The kernel hardly matters for most sources.

# %%
figure, axes = plt.subplots(figsize=(4, 4))
axes.plot(named["P_msp"], labels["P_msp"], ".", markersize=2)
axes.set(xlabel="P(msp), kernel by name", ylabel="P(msp), kernel of GPflow")
shift = np.abs(named["P_msp"] - labels["P_msp"])
print(f"mean change {np.mean(shift):.4f}")

# %% [markdown]
# Trained parameters have the names that GPflow gives them. Short length-scales show the
# features that matter.

# %%
found = model.estimator.weights_
number = list(model.estimator.classes_).index("msp")
scales = found[f"kernel.kernels[0].kernels[{number}].kernels[0].lengthscales"]
figure, axes = plt.subplots(figsize=(5, 4))
axes.barh([feature.name for feature in features], scales)
axes.set(xlabel="length-scale for msp", title="Rational quadratic kernel")
figure.tight_layout()

# %% [markdown]
# ## A likelihood
#
# A likelihood of GPflow says how probable each class is, given the latent functions. The
# classes are in the order of `classes_`. Labels that stand for several classes, which the
# default classes have, need a likelihood that GPflow evaluates by draws, such as `Softmax`.
# `MultiClass` and your own likelihoods serve where each label is one class.

# %%
softmax = fc.Recipe().with_settings(likelihood=gpflow.likelihoods.Softmax(5))
by_softmax = fc.train(catalog, recipe=softmax).label(catalog)
print(f"mean change {np.mean(np.abs(named['P_msp'] - by_softmax['P_msp'])):.4f}")

# %% [markdown]
# A model with such objects is trained in double precision, which takes longer. It can be
# pickled, and `fc.save_model` saves it, unless a class is not GPflow's or a parameter has a
# prior.
