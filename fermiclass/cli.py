"""The command line."""

from __future__ import annotations

import click

from fermiclass._version import __version__
from fermiclass.commands.benchmarking import benchmark
from fermiclass.commands.catalogues import features, info
from fermiclass.commands.explaining import explain
from fermiclass.commands.following import followup
from fermiclass.commands.labelling import classify, train
from fermiclass.commands.measuring import evaluate
from fermiclass.commands.reporting import report
from fermiclass.commands.streaming import classify_rows, train_rows
from fermiclass.commands.suspecting import outliers
from fermiclass.terminal import CommandGroup


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
    report,
    outliers,
    evaluate,
    train_rows,
    classify_rows,
    benchmark,
)
for command in COMMANDS:
    main.add_command(command)
