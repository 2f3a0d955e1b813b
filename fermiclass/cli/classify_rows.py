"""``fermiclass classify-rows``."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from fermiclass.cli.folders import load_folder, read_folder
from fermiclass.cli.options import file_option, hdu_option, names, rows_argument
from fermiclass.io.files import exists
from fermiclass.io.model_folder import ROWS
from fermiclass.rows import RowsModel, predict_rows
from fermiclass.rows.parquet import check_rows_place
from fermiclass.rows.predict import connected
from fermiclass.show.terminal import progress_bar, say


@click.command("classify-rows")
@rows_argument
@file_option("--model", "model_folder", required=True, metavar="DIR", help="Folder of a model that 'train-rows' saved.")
@file_option(
    "-o", "--output", required=True, help="The label table to write, .parquet. It has a row for each input row."
)
@click.option("--keep", metavar="a,b", help="Columns to copy into the label table, such as Source_Name.")
@hdu_option
@click.option(
    "--block-rows",
    type=click.IntRange(min=1),
    default=65536,
    show_default=True,
    help="Number of rows in memory at a time.",
)
@click.option("--dask", metavar="ADDRESS", help="Label blocks on the workers of this Dask scheduler.")
def classify_rows(
    rows: Path, model_folder: Path, output: Path, keep: str | None, hdu: int | str, block_rows: int, dask: str | None
) -> None:
    """Label any number of rows in a Parquet, FITS, .npy or CSV file, one block at a time.

    \b
    Example:
      fermiclass classify-rows features.parquet --model model -o labels.parquet --keep Source_Name
      fermiclass classify-rows survey.parquet --model model -o labels.parquet --dask tcp://127.0.0.1:8786
    """  # noqa: D301
    check_rows_place(output, rows, *(rows.glob("*.parquet") if exists(rows) else ()))
    model: RowsModel = load_folder(model_folder, read_folder(model_folder, ROWS))
    opened = model.open(rows, keep=names(keep or ""), hdu=hdu)
    with connected(dask) if dask else nullcontext() as client, progress_bar("labelling") as progress:
        predict_rows(
            model,
            opened,
            output,
            block_rows=block_rows,
            client=client,
            progress=lambda done: progress(done, opened.num_rows),
        )
    say(f"{opened.num_rows:,} rows labelled: {output}", wrap=False)
