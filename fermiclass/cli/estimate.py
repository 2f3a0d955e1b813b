"""``fermiclass estimate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fermiclass.catalog import TARGETS, read_catalog
from fermiclass.cli import options
from fermiclass.cli.options import BroughtIn
from fermiclass.errors import CatalogError
from fermiclass.io.tables import check_writable, write_table
from fermiclass.labelling.recipe import Recipe
from fermiclass.show.summaries import print_estimates, print_sources
from fermiclass.show.terminal import load_tensorflow, progress_bar


@click.command()
@options.catalog_argument
@options.table_option()
@options.join_option
@click.option("--column", required=True, metavar="X|log_X|ln_X", help="The number: a column, or its logarithm.")
@options.file_option("--later", help="A later table with the column, whose new numbers test the estimates.")
@options.features_option
@click.option("--targets", type=click.Choice(TARGETS), help="Which sources to estimate. [default: uncertain]")
@click.option("--folds", type=click.IntRange(min=2), default=5, show_default=True, help="Number of folds.")
@click.option("--force", is_flag=True, help="Write estimates that are no better than the mean, too.")
@options.recipe_options
@options.with_recipe()
def estimate(
    catalog: Path,
    output: Path,
    joined: tuple[Path, ...],
    column: str,
    later: Path | None,
    recipe: Recipe,
    **chosen: Any,
) -> None:
    """Estimate a number that some sources have, for those that lack it.

    A source gets a mean, a standard deviation and quantiles. Held-out sources tell what these are worth.

    \b
    Example:
      fermiclass estimate 4FGL-DR4.fits --join 4lac.fits --column log_nu_syn -o peaks.fits
    """  # noqa: D301
    of_later = (later,) if later else ()
    check_writable(output, catalog, *joined, *of_later)
    plain = read_catalog(catalog)
    loaded = BroughtIn(joined).into(plain)
    load_tensorflow()
    from fermiclass.analysis.estimate import estimate as estimated

    seed = recipe.settings.random_state or 0
    with progress_bar("training") as progress:
        later_numbers = BroughtIn(of_later).into(plain) if later else None
        found = estimated(loaded, column, recipe, later=later_numbers, seed=seed, progress=progress, **chosen)
    print_sources(loaded, [])
    print_estimates(found, column)
    if not (found.better or chosen["force"]):
        raise CatalogError(f"estimates of {column} are no better than the mean, so nothing is written (--force does)")
    write_table(found.table, output)
