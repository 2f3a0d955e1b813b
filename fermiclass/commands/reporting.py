"""The page of labelled sources: ``report``."""

from __future__ import annotations

from pathlib import Path

import click

from fermiclass.commands.options import common_options


@click.command()
@click.argument("labels", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The page to write: .html. [default: LABELS.html]"
)
@click.option(
    "--catalog",
    type=click.Path(path_type=Path),
    help="The catalogue that was labelled: adds features with error bars, fluxes and error ellipses.",
)
@click.option(
    "--metrics",
    type=click.Path(path_type=Path),
    help="What 'evaluate --json' wrote: adds how far the labels can be trusted.",
)
@common_options
def report(labels: Path, output: Path | None, catalog: Path | None, metrics: Path | None, quiet: bool) -> None:
    """Write one page, complete in itself, to look at labelled sources: table, sky, features, trust, provenance.

    \b
    Example:
      fermiclass report 4FGL-DR4-labels.fits
      fermiclass evaluate 4FGL-DR4.fits --json metrics.json
      fermiclass report labels.fits --catalog 4FGL-DR4.fits --metrics metrics.json -o labels.html
    """  # noqa: D301
    from fermiclass.catalog import read_catalog
    from fermiclass.labels import read_labels
    from fermiclass.report import check_page_place, read_metrics, write_report
    from fermiclass.tables import table_endings

    if output is None:
        ending = next((ending for ending in table_endings if labels.name.lower().endswith(ending)), "")
        output = Path(f"{labels.name[: len(labels.name) - len(ending)]}.html")
    check_page_place(output, labels, catalog, metrics)
    table = read_labels(labels)
    write_report(
        table,
        output,
        catalog=None if catalog is None else read_catalog(catalog),
        trust=None if metrics is None else read_metrics(metrics, table.meta),
    )
    if not quiet:
        click.echo(f"{len(table)} sources, {output.stat().st_size / 1e6:.1f} MB: {output}")
