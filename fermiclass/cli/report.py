"""``fermiclass report``."""

from __future__ import annotations

from pathlib import Path

import click

from fermiclass.cli.folders import candidates_beside, stem_of
from fermiclass.cli.options import FILE, BroughtIn, brought_options, file_option
from fermiclass.labelling.labels import Labels
from fermiclass.show.page import check_page_place, read_metrics, write_report
from fermiclass.show.terminal import say


@click.command()
@click.argument("labels", type=FILE)
@file_option("-o", "--output", help="The page to write: .html. [default: LABELS.html]")
@file_option("--catalog", help="The catalogue that was labelled. It adds features with error bars.")
@file_option(
    "--train-on",
    metavar="CATALOG",
    help="The training catalogue, if it is another one: its sources of known class are shown among the features.",
)
@brought_options
@file_option(
    "--metrics",
    help="The file that 'evaluate --json' wrote. It adds the measured reliability of the labels, and with --open LATER "
    "what became of earlier pulsar candidates.",
)
@file_option("--since", metavar="LABELS", help="Earlier labels: the page says what has changed, as 'compare' does.")
def report(
    labels: Path,
    output: Path | None,
    catalog: Path | None,
    train_on: Path | None,
    brought: BroughtIn,
    metrics: Path | None,
    since: Path | None,
) -> None:
    """Write a self-contained HTML page of labelled sources: table, sky, features, reliability, provenance.

    \b
    Example:
      fermiclass report 4FGL-DR4-labels.fits
      fermiclass evaluate 4FGL-DR1.fits --open 4FGL-DR4.fits --json metrics.json
      fermiclass report labels.fits --catalog 4FGL-DR4.fits --metrics metrics.json -o labels.html
    """  # noqa: D301
    output = output or Path(f"{stem_of(labels)}.html")
    if train_on is not None and catalog is None:
        raise click.UsageError("--train-on needs the catalogue that was labelled: give --catalog, too")
    check_page_place(output, labels, catalog, train_on, metrics, since, *brought.files)
    about = Labels.read(labels)
    loaded = None if catalog is None else brought.again(catalog, about)
    earlier = None
    if since is not None:
        from fermiclass.analysis.compare import compare

        earlier = compare(about.table, since, catalog=loaded)
    write_report(
        about.table,
        output,
        catalog=loaded,
        trained_on=None if train_on is None else brought.again(train_on, about, training=True),
        trust=None if metrics is None else read_metrics(metrics, about.meta),
        candidates=candidates_beside(labels, about),
        since=earlier,
    )
    say(f"{len(about)} sources, {output.stat().st_size / 1e6:.1f} MB: {output}", wrap=False)
