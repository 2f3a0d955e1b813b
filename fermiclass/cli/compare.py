"""``fermiclass compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fermiclass.cli.folders import found_beside
from fermiclass.cli.options import FILE, BroughtIn, file_option, table_option
from fermiclass.io.files import check_figure_place, write_figure
from fermiclass.io.tables import check_writable, write_table
from fermiclass.labelling.labels import Labels
from fermiclass.show.summaries import print_comparison


@click.command()
@click.argument("labels", type=FILE)
@click.argument("other", type=FILE)
@table_option("The table of the sources in both lists, the clearest disagreements first", default="none")
@click.option(
    "--of",
    metavar="CLASS",
    help="Class, or group such as pulsar, of all sources in the other list, or of its probabilities.",
)
@click.option(
    "--class-column", metavar="COLUMN", help="The other list's classes. [default: PRED_CLASS, CLASS or similar]"
)
@click.option("--probability", metavar="COLUMN", help="The other list's probability of the class --of.")
@click.option("--name", metavar="COLUMN", help="The other list's 4FGL names. [default: Source_Name, Name or similar]")
@click.option(
    "--ra-column",
    "ra",
    metavar="COLUMN",
    help="Right ascension: degrees, or hours as 05:34:32. [default: RAJ2000 or similar]",
)
@click.option("--dec-column", "dec", metavar="COLUMN", help="Declination. [default: DEJ2000 or similar]")
@click.option(
    "--radius",
    type=float,
    default=0.1,
    show_default=True,
    metavar="DEG",
    help="Largest separation of sources that have no common name.",
)
@click.option("--truth", is_flag=True, help="Take the other list as right, and measure ROC curves against it.")
@file_option("--rest", metavar="FILE", help="Table of the sources without a label, and what became of them.")
@file_option(
    "--catalog",
    help="The catalogue that says what became of sources without a label. [default: that of the labels, if it is in "
    "this folder or beside them]",
)
@file_option("--plot", metavar="FILE", help="Figure of the comparison: .png, .pdf or .svg.")
def compare(
    labels: Path,
    other: Path,
    output: Path | None,
    of: str | None,
    truth: bool,
    rest: Path | None,
    catalog: Path | None,
    plot: Path | None,
    **columns: Any,
) -> None:
    """Compare labels with another list, which has names or positions, and maybe classes or probabilities.

    The other list is a table, a .txt file with a name in each line, or the labels of another catalogue.

    \b
    Example:
      fermiclass compare labels.fits published.fits --class-column Pred --plot compared.png
      fermiclass compare labels.fits candidates.csv --of pulsar --probability P
      fermiclass compare labels.fits new-pulsars.vot --of pulsar --truth -o found.csv
      fermiclass compare labels.fits earlier-labels.fits --catalog catalog.fits --rest gone.csv
    """  # noqa: D301
    from fermiclass.analysis.compare import compare as compared

    tables = {path: part for path, part in ((output, "table"), (rest, "rest")) if path is not None}
    for path in tables:
        check_writable(path, labels, other, catalog)
    if plot is not None:
        check_figure_place(plot, labels, other, catalog)
    about = Labels.read(labels)
    loaded = BroughtIn().again(catalog, about) if catalog else found_beside(about, labels)
    found = compared(about.table, other, of=of, truth=truth, catalog=loaded, **columns)
    for path, part in tables.items():
        write_table(getattr(found, part), path)
    if plot is not None:
        from fermiclass.plots.evaluation import comparison_figure

        write_figure(plot, comparison_figure(found))
    print_comparison(found, output)
