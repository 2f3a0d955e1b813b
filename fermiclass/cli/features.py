"""``fermiclass features``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fermiclass.catalog import THREE_CLASSES, read_catalog
from fermiclass.cli.options import (
    catalog_argument,
    classes_option,
    common_options,
    features_option,
    significance_option,
    table_option,
)
from fermiclass.features import DEFAULT_FEATURE_SET, extract_features
from fermiclass.io.tables import check_writable, write_table


@click.command()
@catalog_argument
@table_option()
@features_option
@classes_option
@significance_option(help="Write sources with Signif_Avg above S only.")
@click.option("--paper", is_flag=True, help="Features and classes of Villacampa-Calvo et al. (2021) as default.")
@common_options
def features(catalog: Path, output: Path, paper: bool, quiet: bool, **chosen: Any) -> None:
    """Write the table of features with their uncertainties, one row for each source.

    \b
    Example:
      fermiclass features 4FGL-DR4.fits -o features.ecsv
      fermiclass features 4FGL-DR1.fits --paper --min-significance 30 -o astro454.csv
    """  # noqa: D301
    check_writable(output, catalog)
    table = extract_features(
        read_catalog(catalog),
        chosen["features"] or ("paper" if paper else DEFAULT_FEATURE_SET),
        chosen["classes"] or (THREE_CLASSES if paper else None),
        min_significance=chosen["min_significance"],
    )
    write_table(table.to_table(), output)
    if not quiet:
        click.echo(f"{len(table)} sources, {len(table.features)} features: {output}")
