"""The errors that a user can cause.

Every message says what was found, what was expected, and what to do about it. The command line prints the message
alone and exits with status 2; from Python it is an ordinary exception.
"""

from __future__ import annotations

from typing import Any


class FermiclassError(Exception):
    """Base of every error that the user's input can cause."""


class CatalogError(FermiclassError, ValueError):
    """A catalogue file or table cannot be read, or lacks what was asked of it."""


class FeatureError(FermiclassError, ValueError):
    """A feature is unknown, or the catalogue at hand does not support it."""


class ClassError(FermiclassError, ValueError):
    """A grouping of classes cannot be parsed, or a class has too few sources to learn from."""


class SourceError(FermiclassError, ValueError):
    """No source has the name that was asked for, or more than one has it."""


class SelectionError(FermiclassError, ValueError):
    """A choice of sources or an order of them is unknown, or makes no sense."""


class RecipeError(FermiclassError, ValueError):
    """A configuration file cannot be read, or has an entry that is not valid."""


class RowsError(FermiclassError, ValueError):
    """Rows on disk cannot be read, do not fit together, or hold what cannot be learned from."""


class ModelFolderError(FermiclassError, ValueError):
    """A model folder is incomplete, damaged, of another version, or does not fit the data."""


class ClusterError(FermiclassError, RuntimeError):
    """A Dask cluster cannot be reached, or its workers died."""


class MessagingError(FermiclassError, RuntimeError):
    """A table cannot be handed to another application."""


class ReportError(FermiclassError, ValueError):
    """The input of a page cannot be read, or does not fit the labels."""


class OutputError(FermiclassError, OSError):
    """A result cannot be written where it was asked to go."""


class BenchmarkError(FermiclassError, ValueError):
    """A benchmark is unknown, or its data are not where they were said to be."""


def require(kind: type, **given: Any) -> None:
    """Raise CatalogError unless what is given, by its name in messages, is of a kind, such as a catalogue or table."""
    for name, value in given.items():
        if not isinstance(value, kind):
            reader = {"Catalog": "catalog", "Table": "table"}.get(kind.__name__)
            remedy = f": fermiclass.read_{reader} reads a file" if reader else ""
            raise CatalogError(f"{name} is of type {type(value).__name__}, expected {kind.__name__}{remedy}.")


def in_one_line(error: BaseException) -> str:
    """Return the text of another package's error in one line, for a message of ours; or its type."""
    text = " ".join(str(error).split()) or type(error).__name__
    return f"unexpected content, {type(error).__name__} {text}" if isinstance(error, LookupError) else text
