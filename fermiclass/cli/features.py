"""``fermiclass features``."""

from __future__ import annotations

from pathlib import Path

import click

from fermiclass.cli import options
from fermiclass.cli.options import BroughtIn
from fermiclass.features import extract_features
from fermiclass.io.tables import check_writable, write_table
from fermiclass.labelling.recipe import Recipe
from fermiclass.show.terminal import say


@click.command()
@options.catalog_argument
@options.table_option()
@options.brought_options
@options.features_option
@options.classes_option
@options.significance_option(help="Write sources with Signif_Avg above S only.")
@click.option("--paper", is_flag=True, help="Features and classes of Villacampa-Calvo et al. (2021) as default.")
@options.with_recipe()
def features(catalog: Path, output: Path, brought: BroughtIn, recipe: Recipe) -> None:
    """Write the table of features with their uncertainties, one row for each source.

    \b
    Example:
      fermiclass features 4FGL-DR4.fits -o features.ecsv
      fermiclass features 4FGL-DR1.fits --paper --min-significance 30 -o astro454.csv
    """  # noqa: D301
    check_writable(output, catalog, *brought.files)
    loaded = brought.read(catalog)
    table = extract_features(loaded, recipe.features, recipe.classes, min_significance=recipe.min_significance)
    write_table(table.to_table(), output)
    say(f"{len(table)} sources, {len(table.features)} features: {output}", wrap=False)
