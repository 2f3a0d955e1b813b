"""Options that commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from fermiclass.nimgp.names import KERNELS, LEARNED, LIKELIHOODS, METHODS
from fermiclass.terminal import debug_option

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _options(*options: Decorator) -> Decorator:
    def apply(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return apply


def _label_noise(context: click.Context, parameter: click.Parameter, text: str | None) -> float | str | None:
    if text is None or text == LEARNED:
        return text
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 <= rate < 1:
        raise click.BadParameter(f"'{text}' is neither '{LEARNED}' nor a number from 0 to below 1.", context, parameter)
    return rate


def _kernel(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    if text is not None and not set(text.split("+")) <= set(KERNELS):
        raise click.BadParameter(f"'{text}' is not a sum of some of {', '.join(KERNELS)}.", context, parameter)
    return text


label_noise_option = click.option(
    "--label-noise",
    metavar="learned|R",
    callback=_label_noise,
    help="How probably a label is wrong, learned or given. [default: 0, all are trusted]",
)

kernel_option = click.option(
    "--kernel",
    metavar="a+b",
    callback=_kernel,
    help=f"Of our methods: some of {', '.join(KERNELS)}, added. [default: the paper's, or what classify would use]",
)

common_options = _options(
    click.option("--quiet", is_flag=True, help="Print errors and warnings only."),
    debug_option,
)

class_options = _options(
    click.option(
        "--classes",
        metavar="a,b,c",
        help="Classes to learn, such as bll,fsrq,psr (default; psr includes msp) or agn=bll+fsrq,psr,other.",
    ),
    click.option("--min-significance", type=float, metavar="S", help="Use sources with Signif_Avg above S only."),
)

feature_options = _options(
    click.option(
        "--features",
        metavar="SET|a,b",
        help="Features: extended (default), six, paper, or names of features and numeric columns.",
    ),
    class_options,
)

model_options = _options(
    click.option("--method", type=click.Choice(METHODS), help="How input noise is treated. [default: nimgp]"),
    click.option("--likelihood", type=click.Choice(LIKELIHOODS), help="[default: softmax]"),
    label_noise_option,
    click.option(
        "--inducing", "num_inducing", type=click.IntRange(min=1), metavar="M", help="Inducing points a class."
    ),
    click.option("--steps", type=click.IntRange(min=1), help="Training steps."),
    click.option("--epochs", type=click.IntRange(min=1), help="Passes over the training sources, instead of --steps."),
    click.option(
        "--temperature", is_flag=True, help="Set the sharpness of the probabilities on held-out sources: slower."
    ),
    click.option("--seed", type=click.IntRange(min=0, max=2**32 - 1), default=0, show_default=True),
    click.option("--paper", is_flag=True, help="The protocol of the main paper, for whatever else is not given."),
)

catalog_argument = click.argument("catalog", type=click.Path(path_type=Path))


def table_option(what: str = "The table to write", *, default: str | None = None) -> Decorator:
    """Return ``-o`` for a table of any format; without a default it is required."""
    formats = ".fits, .fits.gz, .ecsv, .vot, .csv or .parquet"
    ending = "." if default is None else f". [default: {default}]"
    return click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        required=default is None,
        help=f"{what}: {formats}{ending}",
    )
