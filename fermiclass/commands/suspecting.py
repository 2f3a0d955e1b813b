"""Which labels to doubt: ``outliers``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fermiclass.commands.options import catalog_argument, common_options, feature_options, table_option
from fermiclass.nimgp.names import EP_METHODS, LIKELIHOODS, METHODS
from fermiclass.terminal import load_tensorflow, progress_bar

RMGPC = EP_METHODS[0]


@click.command()
@catalog_argument
@table_option()
@feature_options
@click.option(
    "--method",
    type=click.Choice((*METHODS, RMGPC)),
    help="How input noise is treated, or rmgpc: expectation propagation, without it, for up to 1000 sources. "
    "[default: nimgp]",
)
@click.option("--likelihood", type=click.Choice(LIKELIHOODS), help="Of right labels. [default: softmax]")
@click.option("--inducing", "num_inducing", type=click.IntRange(min=1), metavar="M", help="Inducing points a class.")
@click.option("--steps", type=click.IntRange(min=1), help="Training steps.")
@click.option("--folds", type=click.IntRange(min=2), default=5, show_default=True, help="Each is judged by the others.")
@click.option("--seed", type=click.IntRange(min=0, max=2**32 - 1), default=0, show_default=True)
@common_options
def outliers(catalog: Path, output: Path, folds: int, seed: int, quiet: bool, **chosen: Any) -> None:
    """Find associations that the data contradict: sources whose class is probably wrong.

    A source's class is judged by classifiers that have learned from other sources, and that know of wrong labels.

    \b
    Example:
      fermiclass outliers 4FGL-DR4.fits -o outliers.fits
      fermiclass outliers 4FGL-DR4.fits --classes agn=bll+fsrq+bcu+rdg,psr -o outliers.ecsv
      fermiclass outliers 4FGL-DR4.fits --method rmgpc --min-significance 40 -o bright.fits
    """  # noqa: D301
    from fermiclass import settings
    from fermiclass.catalog import read_catalog
    from fermiclass.features import DEFAULT_FEATURE_SET
    from fermiclass.pipeline import training_table
    from fermiclass.summaries import print_outliers
    from fermiclass.tables import check_writable, write_table

    check_writable(output, catalog)
    loaded = read_catalog(catalog)
    data = {
        "features": chosen["features"] or DEFAULT_FEATURE_SET,
        "classes": chosen["classes"] or settings.PAPER_CLASSES,
        "min_significance": chosen["min_significance"],
    }
    training_table(loaded, **data)  # faults of the input come to light before TensorFlow starts
    load_tensorflow(quiet=quiet)
    from fermiclass.outliers import default_estimator, find_outliers

    given = {key: chosen[key] for key in ("method", "likelihood", "num_inducing", "steps") if chosen[key]}
    if chosen["method"] == RMGPC:
        estimator: Any = _expectation_propagation({key for key in given if key != "method"})
    else:
        estimator = default_estimator(**given, random_state=seed)
    with progress_bar("training", quiet=quiet) as progress:
        found = find_outliers(
            loaded,
            estimator,
            **data,
            folds=folds,
            seed=seed,
            progress=lambda state: progress(state.step, state.steps),
        )
    write_table(found, output)
    if not quiet:
        print_outliers(found, output)


def _expectation_propagation(unused: set[str]) -> Any:
    from fermiclass.robust_estimators import RobustGPClassifier

    if unused:
        options = ", ".join(sorted("--" + {"num_inducing": "inducing"}.get(name, name) for name in unused))
        raise click.UsageError(f"--method {RMGPC} has a likelihood and an optimiser of its own: leave out {options}.")
    return RobustGPClassifier()
