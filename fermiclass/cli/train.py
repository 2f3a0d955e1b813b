"""``fermiclass train``."""

from __future__ import annotations

from pathlib import Path

import click

from fermiclass.catalog import read_catalog
from fermiclass.cli import options
from fermiclass.cli.app import SectionedCommand
from fermiclass.cli.options import BroughtIn
from fermiclass.io.model_folder import check_model_folder_writable
from fermiclass.labelling.recipe import Recipe
from fermiclass.saved import save_model
from fermiclass.show.summaries import print_sources, print_training
from fermiclass.show.terminal import train_with_bar


@click.command(cls=SectionedCommand)
@options.catalog_argument
@options.file_option("-o", "--output", required=True, help="The model folder to write.")
@options.brought_to_catalog_options
@options.feature_options
@options.model_options
@options.with_recipe()
def train(catalog: Path, output: Path, brought: BroughtIn, recipe: Recipe) -> None:
    """Train on the associated sources of a catalogue and save the model.

    \b
    Example:
      fermiclass train 4FGL-DR4.fits -o dr4-model
      fermiclass classify 4FGL-DR4.fits --model dr4-model
    """  # noqa: D301
    check_model_folder_writable(output)
    loaded = brought.into(read_catalog(catalog))
    model = train_with_bar(recipe.check(loaded))
    save_model(model, output)
    print_sources(loaded, [])
    print_training(model, output)
