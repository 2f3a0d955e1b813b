"""The choices by name, importable without TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Input models.
METHODS = ("mgp", "nimgp", "nimgp-nn", "nimgp-fo", "nimgp-fo-marginal", "mgp-aug", "mgp-sampling")
#: Input models that turn input noise into noise of the latent functions, in prediction too.
FIRST_ORDER = ("nimgp-fo", "nimgp-fo-marginal")
#: Input models that average predictions over draws of a source's noiseless input.
AVERAGING = ("nimgp", "nimgp-nn")
#: Input models with parameters for every source. They need all sources in memory.
PER_SOURCE = ("nimgp", "mgp-aug")
#: Methods of :mod:`fermiclass.nimgp.ep`, which have no input model: robust to wrong labels, and not robust.
EP_METHODS = ("rmgpc", "smgpc")
LIKELIHOODS = ("softmax", "softmax-bound", "step", "probit", "logit")  #: Likelihoods of classes.
#: Likelihoods of outputs in regression; any other likelihood of GPflow may be given as an object.
RESPONSES = ("gaussian", "student-t", "poisson", "bernoulli")
#: Kernels, which may be joined by +.
KERNELS = ("se", "linear", "polynomial", "matern32", "matern52")
NOISES = ("given", "per-feature", "shared")
INPUT_PRIORS = ("isotropic", "population", "mixture")
#: Choices of the inducing points.
INDUCING = ("kmeans", "random")
PRECISIONS = ("float32", "float64")
OBJECTIVES = ("elbo", "predictive")  #: Functions that training maximises.
UNCERTAINTY_PREFIX = "Unc_"  #: What the name of a column of standard deviations begins with: Unc_x beside x.
LEARNED = "learned"  #: A number that is to be learned.

#: Estimator settings of the evidence lower bound with all sources in every step.
FULL_BATCH: Mapping[str, Any] = {
    "method": "nimgp",
    "objective": "elbo",
    "label_noise": 0.0,
    "batch_size": None,
    "steps": 500,
    "learning_rate": 0.03,
    "training": {"mean": False, "draw_pairs": 4},
}

#: Estimator settings of the main paper (Villacampa-Calvo et al. 2021, section 5).
PAPER_ESTIMATOR: Mapping[str, Any] = {
    "method": "nimgp",
    "objective": "elbo",
    "label_noise": 0.0,
    "likelihood": "step",
    "kernel": "se",
    "num_inducing": 0.05,
    "batch_size": 50,
    "epochs": 750,
    "learning_rate": 0.01,
    "num_draws": 300,
    "inputs": {"prior": "isotropic", "prior_variance": 1000.0, "clip": None},
    "hyper": {"epsilon": 1e-3, "priors": False},
    "training": {"decay": False, "mean": False, "draw_pairs": 4},
}
