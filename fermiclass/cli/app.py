"""The command ``fermiclass`` with its subcommands."""

from __future__ import annotations

import click

from fermiclass._version import __version__
from fermiclass.cli.group import CommandGroup

#: What the commands do, for the help of all; the module of a command is imported when the command runs.
ABOUT = {
    "info": "Print the content of a catalogue.",
    "features": "Write the table of features with their uncertainties.",
    "train": "Train on the associated sources of a catalogue and save the model.",
    "classify": "Label the sources of a catalogue that have no certain class.",
    "explain": "Explain the probabilities of one source.",
    "followup": "Rank labelled sources for follow-up observations.",
    "compare": "Compare labels with another list.",
    "report": "Write a self-contained HTML page of labelled sources.",
    "outliers": "Find associations that the data contradict.",
    "evaluate": "Measure how far the probabilities can be trusted.",
    "train-rows": "Train on any number of rows in a file.",
    "classify-rows": "Label any number of rows in a file.",
    "benchmark": "Measure methods on known data.",
}


@click.group(cls=CommandGroup, about=ABOUT, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fermiclass")
def main() -> None:
    """Probabilistic classes for the unassociated sources of the Fermi-LAT catalogue.

    \b
    Example:
      fermiclass classify 4FGL-DR4.fits -o labels.fits
    """  # noqa: D301 (\b keeps click from re-wrapping)
