"""``fermiclass outliers``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fermiclass.catalog import read_catalog
from fermiclass.cli.options import (
    catalog_argument,
    classes_option,
    common_options,
    features_option,
    seed_option,
    setting_option,
    significance_option,
    table_option,
)
from fermiclass.features import DEFAULT_FEATURE_SET
from fermiclass.io.tables import check_writable, write_table
from fermiclass.labelling.training import training_table
from fermiclass.nimgp.names import EP_METHODS, LIKELIHOODS, METHODS
from fermiclass.show.summaries import print_outliers
from fermiclass.show.terminal import load_tensorflow, progress_bar

RMGPC = EP_METHODS[0]


@click.command()
@catalog_argument
@table_option()
@features_option
@classes_option
@significance_option(help="Use sources with Signif_Avg above S only.")
@click.option(
    "--method",
    type=click.Choice((*METHODS, RMGPC)),
    help="Treatment of the error bars; or rmgpc: expectation propagation without error bars, for up to 1000 sources. "
    "[default: nimgp-fo]",
)
@click.option("--likelihood", type=click.Choice(LIKELIHOODS), help="Likelihood of right labels. [default: softmax]")
@setting_option("num_inducing", flag="--inducing", type=click.IntRange(min=1), metavar="M")
@setting_option("steps")
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    default=5,
    show_default=True,
    help="Number of folds. A model that learned from the other folds judges the sources of a fold.",
)
@seed_option
@common_options
def outliers(catalog: Path, output: Path, folds: int, seed: int, quiet: bool, **chosen: Any) -> None:
    """Find associations that the data contradict: sources whose class is probably wrong.

    A model that learned from other sources judges the class of each source. It allows for wrong labels.

    \b
    Example:
      fermiclass outliers 4FGL-DR4.fits -o outliers.fits
      fermiclass outliers 4FGL-DR4.fits --classes agn=bll+fsrq+bcu+rdg,psr -o outliers.ecsv
      fermiclass outliers 4FGL-DR4.fits --method rmgpc --min-significance 40 -o bright.fits
    """  # noqa: D301
    check_writable(output, catalog)
    loaded = read_catalog(catalog)
    data = {
        "features": chosen["features"] or DEFAULT_FEATURE_SET,
        "classes": chosen["classes"],
        "min_significance": chosen["min_significance"],
    }
    training_table(loaded, **data)  # reports errors of the input before TensorFlow starts
    load_tensorflow(quiet=quiet)
    from fermiclass.analysis.outliers import default_estimator, find_outliers

    given = {key: chosen[key] for key in ("method", "likelihood", "num_inducing", "steps") if chosen[key]}
    if chosen["method"] == RMGPC:
        estimator: Any = _expectation_propagation({key for key in given if key != "method"})
    else:
        estimator = default_estimator(**given, random_state=seed)
    with progress_bar("training", quiet=quiet) as progress:
        found = find_outliers(loaded, estimator, **data, folds=folds, seed=seed, progress=progress)
    write_table(found, output)
    if not quiet:
        print_outliers(found, output)


def _expectation_propagation(unused: set[str]) -> Any:
    from fermiclass.nimgp.estimators.robust_classifier import RobustGPClassifier

    if unused:
        options = ", ".join(sorted("--" + {"num_inducing": "inducing"}.get(name, name) for name in unused))
        raise click.UsageError(f"--method {RMGPC} has its own likelihood and optimiser: leave out {options}.")
    return RobustGPClassifier()
