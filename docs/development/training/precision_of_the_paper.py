"""MGP with the paper's optimiser on its 454 sources, in another precision and with another jitter (its table 9).

python docs/development/training/precision_of_the_paper.py DATA 1e-6 float64 5
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import fermiclass.nimgp.model
from fermiclass_benchmarks.astro454 import Astro454
from fermiclass_benchmarks.methods import MethodOptions, make_estimator

data, jitter, precision, splits = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3], int(sys.argv[4])
fermiclass.nimgp.model.compose_model.__kwdefaults__["jitter"] = jitter
benchmark = Astro454(data)
estimator = make_estimator("mgp", benchmark.settings("six"), MethodOptions(paper=True))
estimator.set_params(training={**estimator.training, "precision": precision})
records = benchmark.run("six", estimator, list(range(splits)))
losses = [record["nll"] for record in records]
print(np.round(losses, 4), np.mean(losses), np.mean([record["error"] for record in records]))
