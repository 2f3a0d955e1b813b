"""``fermiclass candidates``."""

from __future__ import annotations

from pathlib import Path

import click

from fermiclass.brought.object_columns import VIZIER, fetch_candidates
from fermiclass.cli.options import FILE, table_option
from fermiclass.io.tables import check_writable, read_table, write_table
from fermiclass.show.terminal import say


@click.command()
@click.argument("sources", type=FILE)
@click.argument("table")
@table_option()
@click.option("--service", default=VIZIER, show_default=True, help="Address of a TAP service.")
@click.option(
    "--ra-column", "ra", default="RAJ2000", show_default=True, metavar="COLUMN", help="Right ascension, ICRS, degrees."
)
@click.option(
    "--dec-column", "dec", default="DEJ2000", show_default=True, metavar="COLUMN", help="Declination, ICRS, degrees."
)
def candidates(sources: Path, table: str, output: Path, service: str, ra: str, dec: str) -> None:
    """Fetch the objects of a VizieR table that lie in the error ellipses of unassociated sources.

    SOURCES is a label table or a catalogue. The objects are for 'classify --counterparts'.

    \b
    Example:
      fermiclass candidates labels.fits J/ApJ/914/42/table2 -o radio.fits
      fermiclass classify 4FGL-DR4.fits --counterparts radio.fits
    """  # noqa: D301
    check_writable(output, sources)
    found = fetch_candidates(read_table(sources), table, service=service, ra=ra, dec=dec)
    write_table(found, output)
    say(f"{len(found)} rows, objects and sources without one: {output}", wrap=False)
