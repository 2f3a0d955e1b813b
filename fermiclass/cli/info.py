"""``fermiclass info``."""

from __future__ import annotations

from pathlib import Path

import click

from fermiclass.catalog import read_sources
from fermiclass.cli.options import catalog_argument, columns_option, common_options
from fermiclass.show.summaries import print_info


@click.command()
@catalog_argument
@columns_option
@common_options
def info(catalog: Path, columns: dict[str, str] | None, quiet: bool) -> None:
    """Print the content of a catalogue, or of a table of your own: release, classes, missing values, features.

    \b
    Example:
      fermiclass info 4FGL-DR4.fits
    """  # noqa: D301
    loaded = read_sources(catalog, columns)
    if not quiet:
        print_info(loaded)
