"""``fermiclass train-rows``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fermiclass.cli import options
from fermiclass.io.model_folder import check_model_folder_writable
from fermiclass.nimgp.names import METHODS, PER_SOURCE
from fermiclass.rows import fit_rows, open_training_rows
from fermiclass.saved import save_model
from fermiclass.show.summaries import print_rows_training
from fermiclass.show.terminal import load_tensorflow, progress_bar


@click.command("train-rows")
@options.rows_argument
@options.file_option("-o", "--output", required=True, help="The model folder to write.")
@click.option(
    "--features",
    type=options.names,
    metavar="a,b",
    help="Columns of features. [default: all columns x that have a column Unc_x]",
)
@click.option(
    "--uncertainties",
    type=lambda text: [name or None for name in options.names(text)],
    metavar="Unc_a,,…",
    help="Columns of the features' standard deviations; empty for a feature without errors. [default: the columns "
    "Unc_x that exist]",
)
@click.option("--label", metavar="COLUMN", help="Column with the class; '' means no class. [default: CLASS]")
@options.hdu_option
@options.setting_option(
    "method",
    type=click.Choice([name for name in METHODS if name not in PER_SOURCE]),
    default="nimgp-fo-marginal",
    show_default=True,
    help="Treatment of the error bars.",
)
@options.setting_option("likelihood")
@options.setting_option("label_noise", metavar="learned|R", type=options.label_noise)
@options.setting_option("num_inducing", flag="--inducing", type=click.IntRange(min=1), metavar="M")
@options.setting_option("steps", default=2000, show_default=True, help="Number of training steps.")
@options.setting_option("batch_size", default=1024, show_default=True, help="Number of rows in a step.")
@options.setting_option("learning_rate", type=click.FloatRange(min=0, min_open=True), metavar="R")
@options.file_option(
    "--checkpoint",
    metavar="FILE",
    help="Save the training in FILE (.npz) once a minute and at Ctrl-C. The same command continues from it.",
)
@options.seed_option
def train_rows(
    rows: Path,
    output: Path,
    features: list[str] | None,
    uncertainties: list[str | None] | None,
    label: str | None,
    hdu: int | str,
    checkpoint: Path | None,
    seed: int,
    **settings: Any,
) -> None:
    """Train on any number of rows in a Parquet, CSV, FITS or .npy file. Rows are read when they are needed.

    \b
    Example:
      fermiclass features 4FGL-DR4.fits -o features.parquet
      fermiclass train-rows features.parquet -o model
      fermiclass train-rows survey.parquet -o model --features g_r,r_i --label type --checkpoint survey.npz
    """  # noqa: D301
    check_model_folder_writable(output)
    opened = open_training_rows(rows, features, uncertainties=uncertainties, label=label, hdu=hdu)
    load_tensorflow(large=True)
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

    given = {name: value for name, value in settings.items() if value is not None}
    estimator = NIMGPClassifier(**given, random_state=seed)
    try:
        with progress_bar("training") as progress:
            model = fit_rows(
                estimator, opened, checkpoint=checkpoint, progress=lambda state: progress(state.step, state.steps)
            )
    except KeyboardInterrupt:
        if checkpoint is None or not checkpoint.exists():
            raise
        raise KeyboardInterrupt(f"'{checkpoint}' has the training so far; the same command continues from it") from None
    save_model(model, output)
    print_rows_training(model, output)
