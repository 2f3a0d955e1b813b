"""Settings that belong together, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Estimator settings of the main paper (Villacampa-Calvo et al. 2021, section 5), beside the method.
PAPER_ESTIMATOR: Mapping[str, Any] = {
    "likelihood": "step",
    "kernel": "se",
    "epsilon": 1e-3,
    "num_inducing": 0.05,
    "batch_size": 50,
    "epochs": 750,
    "learning_rate": 0.01,
    "decay": False,
    "input_prior": "isotropic",
    "input_prior_variance": 1000.0,
    "hyper_priors": False,
    "clip": None,
    "max_noise": None,
    "num_draws": 300,
}

#: The paper's features, classes and choice of sources (section 5.6).
PAPER_FEATURES, PAPER_CLASSES, PAPER_MIN_SIGNIFICANCE = "paper", "bll,fsrq,psr", 30.0

#: What sources can be ranked by, and the column of the label table that says it, highest first.
CRITERIA = {
    "information": "INFORMATION",
    "bald": "INFORMATION",
    "entropy": "ENTROPY",
    "noise": "NOISE_ENTROPY",
    "ood": "OOD_SCORE",
    "significance": "Signif_Avg",
    "probability": "P_MAX",
}

#: Endings of tables that can be sent to other applications, and the types of the messages.
SENDABLE = {".fits": "table.load.fits", ".fits.gz": "table.load.fits", ".vot": "table.load.votable"}
