"""``fermiclass outliers``."""

from __future__ import annotations

from pathlib import Path

import click

from fermiclass.catalog import read_catalog
from fermiclass.cli import options
from fermiclass.cli.app import SectionedCommand
from fermiclass.cli.options import BroughtIn
from fermiclass.io.tables import check_writable, write_table
from fermiclass.labelling.recipe import Recipe
from fermiclass.nimgp.names import EP_METHODS, METHODS
from fermiclass.show.summaries import print_outliers, print_sources
from fermiclass.show.terminal import load_tensorflow, progress_bar

RMGPC = EP_METHODS[0]


def _base() -> Recipe:
    from fermiclass.analysis.outliers import default_recipe

    return default_recipe()


@click.command(cls=SectionedCommand)
@options.catalog_argument
@options.table_option()
@options.brought_to_catalog_options
@options.features_option
@options.classes_option
@options.significance_option(help="Use sources with Signif_Avg above S only.")
@click.option(
    "--method",
    "by",
    type=click.Choice((*METHODS, RMGPC)),
    help="Treatment of the error bars; or rmgpc: expectation propagation without error bars, for up to 1000 sources. "
    "[default: nimgp-fo]",
)
@options.setting_option("steps")
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    default=5,
    show_default=True,
    help="Number of folds. A model that learned from the other folds judges the sources of a fold.",
)
@options.recipe_options
@options.with_recipe(_base)
def outliers(catalog: Path, output: Path, brought: BroughtIn, recipe: Recipe, by: str | None, folds: int) -> None:
    """Find associations that the data contradict: sources whose class is probably wrong.

    A model that learned from other sources judges the class of each source. It allows for wrong labels.

    \b
    Example:
      fermiclass outliers 4FGL-DR4.fits -o outliers.fits
      fermiclass outliers 4FGL-DR4.fits --classes agn=bll+fsrq+bcu+rdg,psr -o outliers.ecsv
      fermiclass outliers 4FGL-DR4.fits --method rmgpc --min-significance 40 -o bright.fits
    """  # noqa: D301
    check_writable(output, catalog, *brought.files)
    if by == RMGPC:
        if given := options.given_options("steps", "config", "changes"):
            named = ", ".join(sorted(each.opts[0] for each in given))
            raise click.UsageError(f"--method {RMGPC} has its own likelihood and optimiser: leave out {named}.")
    elif by is not None:
        recipe = recipe.with_settings(method=by)
    loaded = brought.into(read_catalog(catalog))
    recipe.check(loaded)  # reports errors of the input before TensorFlow starts
    load_tensorflow()
    from fermiclass.analysis.outliers import find_outliers

    with progress_bar("training") as progress:
        seed = recipe.settings.random_state or 0
        found = find_outliers(loaded, recipe, rmgpc=by == RMGPC, folds=folds, seed=seed, progress=progress)
    write_table(found, output)
    print_sources(loaded, [])
    print_outliers(found, output)
