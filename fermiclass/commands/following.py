"""What to observe next: ``followup``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fermiclass.commands.options import common_options, table_option
from fermiclass.settings import CRITERIA


@click.command()
@click.argument("labels", type=click.Path(path_type=Path))
@table_option(default="none")
@click.option(
    "--by",
    type=click.Choice(list(CRITERIA)),
    help="What comes first: what a label would teach the model (information, also called bald), how open the class is "
    "(entropy), what better measurements could tell (noise), how unlike the training sources (ood), the significance, "
    "or the probability of the wanted or the most probable class. [default: probability with --want, else information]",
)
@click.option("--want", metavar="CLASS", help="Candidates of one class, such as psr.")
@click.option("--min-probability", type=float, metavar="P", help="Of the wanted, or the most probable class, at least.")
@click.option("--dec", type=float, nargs=2, metavar="MIN MAX", help="Declination, deg.")
@click.option("--ra", type=float, nargs=2, metavar="MIN MAX", help="Right ascension, deg; 330 30 runs through 0.")
@click.option("--abs-glat", type=float, nargs=2, metavar="MIN MAX", help="Galactic latitude without its sign, deg.")
@click.option("--min-significance", type=float, metavar="S", help="Signif_Avg, at least.")
@click.option("--min-flux", type=float, metavar="F", help="Flux1000 in ph cm-2 s-1, at least; needs --catalog.")
@click.option(
    "--max-error",
    type=float,
    metavar="DEG",
    help="Semi-major axis of the position's 95 % ellipse, at most; needs --catalog.",
)
@click.option("--unflagged", is_flag=True, help="Leave out sources with LABEL_FLAGS.")
@click.option(
    "--catalog",
    type=click.Path(path_type=Path),
    help="The catalogue that was labelled: adds fluxes and error ellipses to the table.",
)
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="Keep the first N sources only.")
@common_options
def followup(labels: Path, output: Path | None, catalog: Path | None, quiet: bool, **chosen: Any) -> None:
    """Rank labelled sources for observers: which to observe next.

    \b
    Example:
      fermiclass followup labels.fits --top 50 -o targets.vot
      fermiclass followup labels.fits --want psr --dec -30 90 --abs-glat 5 90 --unflagged -o pulsars.csv
      fermiclass followup labels.fits --want psr --catalog 4FGL-DR4.fits --max-error 0.1
    """  # noqa: D301
    from fermiclass.catalog import read_catalog
    from fermiclass.labels import read_labels
    from fermiclass.ranking import followup as rank
    from fermiclass.summaries import print_followup
    from fermiclass.tables import check_writable, write_table

    if output is not None:
        check_writable(output, labels, catalog)
    table = read_labels(labels)
    ranking = rank(table, catalog=None if catalog is None else read_catalog(catalog), **chosen)
    if output is not None:
        write_table(ranking, output)
    if not quiet:
        print_followup(ranking, output)
