"""Compare settings of the training of the default classifier: processor time against the objective at the end.

    python docs/development/fit_speed.py DR4
    python docs/development/fit_speed.py DR4 batch_size=None learning_rate=0.03

Each NAME=VALUE is a parameter of ``NIMGPClassifier``. The script prints the processor time of the fit and the objective
(with the priors of hyper-parameters) of all training sources, the mean over 30 seeds of the draws of f.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import tensorflow as tf
from compare_settings import CATALOGS, value_of

import fermiclass as fc
from fermiclass.labelling.training import default_estimator, train, training_table
from fermiclass.nimgp.inputs.models import Batch
from fermiclass.nimgp.label_sets import LabelTable
from fermiclass.nimgp.model import assign_weights, build_model


def objective(estimator: fc.NIMGPClassifier, table: fc.FeatureTable) -> float:
    """Return the objective of a fitted classifier on its training sources."""
    trained = estimator.fitted_
    settings, weights = trained.settings, trained.parameters
    labels, dtype = LabelTable.of(table.y, settings.label_sets), settings.precision
    X, X_var = trained.scaling.apply(table.X, table.X_var, settings)
    model = build_model(
        settings,
        weights["posterior.Z"][0],
        num_data=len(X),
        num_classes=len(labels.classes),
        dtype=dtype,
        sets=labels.sets,
    )
    assign_weights(model, weights)
    noisy, weight = (tf.constant(each, dtype) for each in (X_var, table.weight))
    batch = Batch(None, tf.constant(X, dtype), noisy, tf.constant(labels.codes(table.y)), weight)
    values = [float(model.objective(batch, tf.constant([7, k]))) for k in range(30)]
    return float(np.mean(values)) + float(model.log_prior_density())


def main() -> None:
    """Print a line."""
    release, *texts = sys.argv[1:]
    settings = {name: value_of(text) for name, _, text in (each.partition("=") for each in texts)}
    catalog = fc.read_catalog(CATALOGS / f"4FGL-{release}.fits.gz")
    table = training_table(catalog)
    begin = time.process_time()
    model = train(catalog, default_estimator(random_state=0, **settings))
    seconds = time.process_time() - begin
    print(f"{release} {settings}: {seconds:.1f} s, objective {objective(model.estimator, table):.1f}")


if __name__ == "__main__":
    main()
