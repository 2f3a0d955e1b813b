"""What the numbers set by hand do: the losses on pairs of releases as each of them varies.

The numbers are the reference significance S₀, the odds of fsrq and of sources that are no AGN among bcu, the ratio of
CLASS2 (fermiclass.labelling.associations), and the weight of guessed labels, of soft Galactic sources and of spp
(fermiclass.labelling.training_rows).

    python docs/development/open-world/constants.py EARLIER LATER [--cells even] [--weights]

A line for each value has the mean loss of the sources that the later release classifies, and its difference from that
of the present value, with the paired standard error. --weights trains once more for each weight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from unittest.mock import patch

import numpy as np
from halves import arguments, paired

import fermiclass as fc
from fermiclass.evaluation import open_world
from fermiclass.evaluation.methods import Split, open_classes
from fermiclass.evaluation.metrics import known, nll_per_source
from fermiclass.evaluation.protocols import Targets
from fermiclass.io import FloatArray
from fermiclass.labelling import associations, training, training_rows
from fermiclass.labelling.catalog_model import CatalogModel


def trained(split: Split) -> CatalogModel:
    """Return the model that ``classify`` trains on the earlier release."""
    return training.train(split.catalog, recipe=split.recipe)


def losses(targets: Targets, model: CatalogModel) -> dict[str, FloatArray]:
    """Return −ln P of what is true, by population: unassociated sources, bcu by type, and bcu as AGN or not."""
    split = targets.splits[0][0]
    labels = model.label(split.catalog[split.rows], "all", class_priors="selection")
    p = np.stack([np.asarray(labels[f"P_{name}"], float) for name in split.grouping.names], axis=1)
    p = p @ open_classes(split.grouping)
    of_bcu = (targets.status == "bcu") & known(targets.truth_of("all"))
    typed = targets.populations["bll_or_fsrq"].mask
    return {
        "all": nll_per_source(targets.grouped(p, "all"), targets.truth_of("all"))[targets.scored],
        "bll_or_fsrq": nll_per_source(targets.grouped(p, "bll_or_fsrq"), targets.truth_of("bll_or_fsrq"))[typed],
        "bcu": nll_per_source(targets.grouped(p, "all"), targets.truth_of("all"))[of_bcu],
    }


def vary(name: str, present: float, values: Iterable[float], loss: Callable[[float], FloatArray]) -> None:
    """Print the loss for each value of a number."""
    reference = loss(present)
    print(f"{name}, {len(reference)} sources")
    for value in values:
        other = loss(value)
        print(f"{name} {value:g}: {other.mean():.4f}, {paired(other, reference)} than at {present:g}", flush=True)


def vary_number(module: object, name: str, values: Iterable[float], loss: Callable[[], FloatArray]) -> None:
    """Print the loss for each value of a number of a module."""

    def with_value(value: float) -> FloatArray:
        with patch.object(module, name, value):
            return loss()

    vary(name, getattr(module, name), values, with_value)


def main() -> None:
    """Read the pair, and vary each number."""
    given = arguments(__doc__, "earlier", "later", cells="all", weights=False)
    targets = open_world(fc.read_catalog(given.earlier), fc.read_catalog(given.later), cells=given.cells)
    split = targets.splits[0][0]
    model = trained(split)
    print(f"{given.earlier} -> {given.later}, {given.cells} cells; slope {model.selection.slope:.2f}")

    def of_reference(value: float) -> FloatArray:
        return losses(targets, replace(model, selection=replace(model.selection, reference=value)))["all"]

    vary("S0", model.selection.reference, (4, 5, 6, 7, 8, 10), of_reference)
    fsrq, not_agn = (0.25, 0.35, 0.5, 0.7, 1), (0.005, 0.02, 0.05, 0.2, 1)
    vary_number(associations, "UNTYPED_FSRQ", fsrq, lambda: losses(targets, model)["bll_or_fsrq"])
    vary_number(associations, "BCU_NOT_AGN", not_agn, lambda: losses(targets, model)["bcu"])
    table = model.features_of(split.catalog)

    def estimated_again() -> FloatArray:
        known = model.associations(split.catalog, table)
        return losses(targets, replace(model, selection=known.selection, second=known.second))["all"]

    vary_number(associations, "RATIO", (1, 3, 6, 10), estimated_again)
    if given.weights:
        vary_number(training_rows, "GUESS", (0.05, 0.15, 0.5, 1), lambda: losses(targets, trained(split))["all"])


if __name__ == "__main__":
    main()
