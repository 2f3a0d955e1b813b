"""Objective and labels of DR4 with other numbers of steps and step sizes, for several seeds.

    python docs/development/training/fewer_steps.py CATALOG 500:0.03 350:0.06 250:0.06:0.1 --seeds 3

Each argument is a number of steps, a step size, and the step size of natural gradients where they are used. The
objective is that of all training sources, mean of eight seeds of its draws. Differences are the root mean square and
the largest of the probabilities, and the largest of the expected numbers: means over pairs of seeds, and from the
first.
"""

import argparse
from dataclasses import replace
from itertools import combinations

import numpy as np
import tensorflow as tf

import fermiclass as fc
from fermiclass.labelling.training import train
from fermiclass.nimgp.estimators import classifier
from fermiclass.nimgp.estimators.fitted import untrained
from fermiclass.nimgp.model import assign_weights

fit, seen = classifier.fit_prepared, {}


def watched(prepared, data, **options):
    """Fit, and remember the rows."""
    seen.update(prepared=prepared, data=data)
    return fit(prepared, data, **options)


def objective(fitted):
    """Return the objective of all rows, with the priors."""
    prepared, data = seen["prepared"], seen["data"]
    model = untrained(prepared.settings, prepared.target, prepared.Z, num_data=prepared.num_data)
    assign_weights(model, fitted.parameters)
    feed = data.feed(None, 0, model.posterior.q_mu.dtype)
    batch, seeds = feed.batch((), feed.data, tf.constant(0)), [tf.constant([k, 7], tf.int32) for k in range(8)]
    return float(np.mean([model.objective(batch, seed) for seed in seeds]) + model.log_prior_density())


def difference(one, other):
    """Return root mean square and largest difference, and that of the expected numbers."""
    d = one - other
    return np.sqrt(np.mean(d**2)), np.abs(d).max(), np.abs(d.sum(axis=0)).max()


def main():
    """Run the variants."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("catalog")
    parser.add_argument("variants", nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    classifier.fit_prepared = watched
    catalog, usual, first = fc.read_catalog(given.catalog), fc.Recipe().settings, None
    for variant in given.variants:
        steps, rate, *natural = variant.split(":")
        training = replace(usual.training, natural_gradient=float(natural[0]) if natural else None)
        values, labels = [], []
        for seed in range(given.seeds):
            settings = replace(usual, steps=int(steps), learning_rate=float(rate), training=training, random_state=seed)
            model = train(catalog, recipe=fc.Recipe(settings=settings))
            values.append(objective(model.fitted))
            table = model.label(catalog)
            labels.append(np.array([table[f"P_{name}"] for name in model.classes]).T)
        first = labels if first is None else first
        scatter = np.mean([difference(*pair) for pair in combinations(labels, 2)], axis=0)
        from_first = np.mean([difference(*pair)[0] for pair in zip(labels, first, strict=True)])
        print(f"{variant}: {np.mean(values):.1f}, scatter {np.round(scatter, 4)}, from the first {from_first:.4f}")


if __name__ == "__main__":
    main()
