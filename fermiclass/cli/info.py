"""``fermiclass info``."""

from __future__ import annotations

from pathlib import Path

import click

from fermiclass.catalog import read_catalog
from fermiclass.cli.options import catalog_argument, common_options
from fermiclass.show.summaries import print_info


@click.command()
@catalog_argument
@common_options
def info(catalog: Path, quiet: bool) -> None:
    """Print the content of a catalogue: release, classes, missing values, features.

    \b
    Example:
      fermiclass info 4FGL-DR4.fits
    """  # noqa: D301
    loaded = read_catalog(catalog)
    if not quiet:
        print_info(loaded)
