"""The command ``fermiclass`` with its subcommands."""

from __future__ import annotations

import click

from fermiclass._version import __version__
from fermiclass.cli.benchmark import benchmark
from fermiclass.cli.classify import classify
from fermiclass.cli.classify_rows import classify_rows
from fermiclass.cli.compare import compare
from fermiclass.cli.evaluate import evaluate
from fermiclass.cli.explain import explain
from fermiclass.cli.features import features
from fermiclass.cli.followup import followup
from fermiclass.cli.group import CommandGroup
from fermiclass.cli.info import info
from fermiclass.cli.outliers import outliers
from fermiclass.cli.report import report
from fermiclass.cli.train import train
from fermiclass.cli.train_rows import train_rows


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fermiclass")
def main() -> None:
    """Probabilistic classes for the unassociated sources of the Fermi-LAT catalogue.

    \b
    Example:
      fermiclass classify 4FGL-DR4.fits -o labels.fits
    """  # noqa: D301 (\b keeps click from re-wrapping)


COMMANDS = (
    info,
    features,
    train,
    classify,
    explain,
    followup,
    compare,
    report,
    outliers,
    evaluate,
    train_rows,
    classify_rows,
    benchmark,
)
for command in COMMANDS:
    main.add_command(command)
