"""What is in a catalogue: ``info`` and ``features``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fermiclass.commands.options import catalog_argument, common_options, feature_options, table_option


@click.command()
@catalog_argument
@common_options
def info(catalog: Path, quiet: bool) -> None:
    """Say what is in a catalogue: release, classes, missing values, features.

    \b
    Example:
      fermiclass info 4FGL-DR4.fits
    """  # noqa: D301
    from fermiclass.catalog import read_catalog
    from fermiclass.summaries import print_info

    loaded = read_catalog(catalog)
    if not quiet:
        print_info(loaded)


@click.command()
@catalog_argument
@table_option()
@feature_options
@click.option("--paper", is_flag=True, help="The main paper's features, for whatever else is not given.")
@common_options
def features(catalog: Path, output: Path, paper: bool, quiet: bool, **chosen: Any) -> None:
    """Write the feature table with its uncertainties, a row for every source.

    \b
    Example:
      fermiclass features 4FGL-DR4.fits -o features.ecsv
      fermiclass features 4FGL-DR1.fits --paper --min-significance 30 -o astro454.csv
    """  # noqa: D301
    from fermiclass.catalog import read_catalog
    from fermiclass.features import DEFAULT_FEATURE_SET, extract_features
    from fermiclass.tables import check_writable, write_table

    check_writable(output, catalog)
    table = extract_features(
        read_catalog(catalog),
        chosen["features"] or ("paper" if paper else DEFAULT_FEATURE_SET),
        chosen["classes"] or "bll,fsrq,psr",
        min_significance=chosen["min_significance"],
    )
    write_table(table.to_table(), output)
    if not quiet:
        click.echo(f"{len(table)} sources, {len(table.features)} features: {output}")
