"""``fermiclass info``."""

from __future__ import annotations

from pathlib import Path

import click

from fermiclass.cli.options import BroughtIn, brought_options, catalog_argument, common_options
from fermiclass.labelling.labels import Labels
from fermiclass.show.summaries import print_info, recipe_text


@click.command()
@catalog_argument
@brought_options
@click.option("--recipe", is_flag=True, help="Print the recipe of a label table, as a configuration file (--config).")
@common_options
def info(catalog: Path, brought: BroughtIn, recipe: bool, quiet: bool) -> None:
    """Print the content of a catalogue, or of a table of your own: release, classes, missing values, features.

    \b
    Example:
      fermiclass info 4FGL-DR4.fits
      fermiclass info labels.fits --recipe > labels.toml
    """  # noqa: D301
    if recipe:
        click.echo(recipe_text(Labels.read(catalog)), nl=False)
        return
    loaded = brought.read(catalog)
    if not quiet:
        print_info(loaded)
