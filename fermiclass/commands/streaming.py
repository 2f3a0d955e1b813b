"""Sources in files of any size, from any survey: ``train-rows`` and ``classify-rows``."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from fermiclass.commands.models import load_rows_model
from fermiclass.commands.options import common_options, label_noise_option
from fermiclass.nimgp.names import LIKELIHOODS, METHODS, PER_SOURCE
from fermiclass.terminal import load_tensorflow, progress_bar

#: Of `train-rows`: what rows of any number can be learned with, and how long.
_DEFAULTS = {"method": "nimgp-fo-marginal", "steps": 2000, "batch_size": 1024}

rows_argument = click.argument("rows", type=click.Path(path_type=Path))
hdu_option = click.option("--hdu", default="1", show_default=True, metavar="N|NAME", help="The table of a FITS file.")


@click.command("train-rows")
@rows_argument
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The model folder to write.")
@click.option(
    "--features", metavar="a,b", help="Columns. [default: those beside which there is an Unc_… of the same name]"
)
@click.option(
    "--uncertainties",
    metavar="Unc_a,,…",
    help="Columns of the features' standard deviations, nothing for a feature without. [default: Unc_… where it is]",
)
@click.option("--label", metavar="COLUMN", help="The column with the class, '' for none. [default: CLASS]")
@hdu_option
@click.option(
    "--method",
    type=click.Choice([name for name in METHODS if name not in PER_SOURCE]),
    default=_DEFAULTS["method"],
    show_default=True,
    help="How input noise is treated.",
)
@click.option("--likelihood", type=click.Choice(LIKELIHOODS), default="softmax", show_default=True)
@label_noise_option
@click.option("--inducing", "num_inducing", type=click.IntRange(min=1), metavar="M", help="Inducing points a class.")
@click.option("--steps", type=click.IntRange(min=1), default=_DEFAULTS["steps"], show_default=True)
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    default=_DEFAULTS["batch_size"],
    show_default=True,
    help="Rows of a step.",
)
@click.option("--learning-rate", type=click.FloatRange(min=0, min_open=True), metavar="R", help="Of Adam, at first.")
@click.option(
    "--natural-gradient",
    type=click.FloatRange(min=0, max=1, min_open=True),
    metavar="G",
    help="Steps of this size along natural gradients for q(u), instead of Adam's.",
)
@click.option(
    "--patience", type=click.IntRange(min=1), metavar="K", help="Stop when the bound has not risen for K steps."
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep what is learned in FILE (.npz) once a minute and at Ctrl-C; the same command goes on from it.",
)
@click.option("--seed", type=click.IntRange(min=0, max=2**32 - 1), default=0, show_default=True)
@common_options
def train_rows(
    rows: Path,
    output: Path,
    features: str | None,
    uncertainties: str | None,
    label: str | None,
    hdu: str,
    checkpoint: Path | None,
    seed: int,
    quiet: bool,
    **settings: Any,
) -> None:
    """Train on rows in a Parquet, FITS or .npy file, however many: they are read as they are needed.

    \b
    Example:
      fermiclass features 4FGL-DR4.fits -o features.parquet
      fermiclass train-rows features.parquet -o model
      fermiclass train-rows survey.parquet -o model --features g_r,r_i --label type --checkpoint survey.npz
    """  # noqa: D301
    from fermiclass.model_folder import check_model_folder_writable, save_model
    from fermiclass.rows_model import open_to_learn
    from fermiclass.rows_model import train_rows as train
    from fermiclass.summaries import print_rows_training

    check_model_folder_writable(output)
    opened, columns = open_to_learn(
        rows,
        None if features is None else _names(features),
        uncertainties=None if uncertainties is None else [name or None for name in _names(uncertainties)],
        label=label,
        hdu=_hdu(hdu),
    )
    load_tensorflow(quiet=quiet)
    from fermiclass.estimators import NIMGPClassifier

    given = {name: value for name, value in settings.items() if value is not None}
    estimator = NIMGPClassifier(**given, random_state=seed)
    try:
        with progress_bar("training", quiet=quiet) as progress:
            model = train(
                opened,
                columns,
                estimator,
                source=str(rows),
                checkpoint=checkpoint,
                progress=lambda state: progress(state.step, state.steps),
            )
    except KeyboardInterrupt:
        if checkpoint is None or not checkpoint.exists():
            raise
        raise KeyboardInterrupt(f"'{checkpoint}' keeps what is learned: the same command goes on from it") from None
    save_model(model, output)
    if not quiet:
        print_rows_training(model, output)


@click.command("classify-rows")
@rows_argument
@click.option(
    "--model",
    "model_folder",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="A model that 'train-rows' saved.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="The label table to write, .parquet or .fits; a row for each row.",
)
@click.option("--keep", metavar="a,b", help="Columns to copy beside the labels, such as Source_Name.")
@hdu_option
@click.option(
    "--block-rows", type=click.IntRange(min=1), default=65536, show_default=True, help="Rows in memory at a time."
)
@click.option("--dask", metavar="ADDRESS", help="Label on the workers of this Dask scheduler, a block each.")
@common_options
def classify_rows(
    rows: Path,
    model_folder: Path,
    output: Path,
    keep: str | None,
    hdu: str,
    block_rows: int,
    dask: str | None,
    quiet: bool,
) -> None:
    """Label rows in a Parquet, FITS or .npy file, however many, a block at a time.

    \b
    Example:
      fermiclass classify-rows features.parquet --model model -o labels.parquet --keep Source_Name
      fermiclass classify-rows survey.parquet --model model -o labels.parquet --dask tcp://127.0.0.1:8786
    """  # noqa: D301
    from fermiclass.cluster import connected
    from fermiclass.files import exists
    from fermiclass.rows.writers import check_rows_place

    check_rows_place(output, rows, *(rows.glob("*.parquet") if exists(rows) else ()))
    model = load_rows_model(model_folder, quiet=quiet)
    opened = model.open(rows, keep=_names(keep or ""), hdu=_hdu(hdu))
    with connected(dask) if dask else nullcontext() as client, progress_bar("labelling", quiet=quiet) as progress:
        model.label(
            opened,
            output,
            block_rows=block_rows,
            client=client,
            progress=lambda done: progress(done, opened.num_rows),
        )
    if not quiet:
        click.echo(f"{opened.num_rows:,} rows labelled: {output}")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")] if text.strip() else []


def _hdu(text: str) -> int | str:
    return int(text) if text.isdigit() else text
