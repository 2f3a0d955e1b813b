"""``fermiclass info``."""

from __future__ import annotations

from pathlib import Path

import click

from fermiclass.cli.options import FILE, BroughtIn, brought_options
from fermiclass.labelling.labels import Labels
from fermiclass.labelling.recipe import Recipe
from fermiclass.show.summaries import print_info, recipe_text


@click.command()
@click.argument("catalog", type=FILE, required=False)
@brought_options
@click.option(
    "--recipe", is_flag=True, help="Print the recipe of a label table, or the default one, as a file for --config."
)
def info(catalog: Path | None, brought: BroughtIn, recipe: bool) -> None:
    """Print the content of a catalogue, or of a table of your own: release, classes, missing values, features.

    \b
    Example:
      fermiclass info 4FGL-DR4.fits
      fermiclass info labels.fits --recipe > labels.toml
      fermiclass info --recipe > default.toml
    """  # noqa: D301
    if recipe:
        click.echo(Recipe().to_toml() if catalog is None else recipe_text(Labels.read(catalog)), nl=False)
        return
    if catalog is None:
        raise click.UsageError("Missing argument 'CATALOG'. Without it, --recipe prints the default recipe")
    loaded = brought.read(catalog)
    print_info(loaded)
