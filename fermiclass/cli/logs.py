"""What a command says of its stages: on standard error, and in a file."""

from __future__ import annotations

import logging
import platform
import sys
from pathlib import Path

import click

from fermiclass._version import __version__
from fermiclass.errors import OutputError

_ROOT = logging.getLogger("fermiclass")
_LOG = logging.getLogger(__name__)


def to_standard_error(context: click.Context, count: int) -> None:
    """Print stages on standard error until the command has ended; a `count` of 2 prints more."""
    if count:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("fermiclass: %(message)s"))
        handler.addFilter(lambda record: record.levelno < logging.WARNING)  # the others are there already
        _add(context, handler, logging.INFO if count == 1 else logging.DEBUG)


def to_file(context: click.Context, path: Path | None) -> None:
    """Append stages, warnings and errors to a file until the command has ended. Raises OutputError."""
    if path is None:
        return
    from fermiclass.io.files import check_place, os_errors_as_output_errors  # no other option needs it

    target = check_place(path)
    if {path.suffix, target.suffix} != {".log"}:  # no table, model or catalogue ends like this
        raise OutputError(f"the log '{path}' does not end in .log: give it such a name, as the file is appended to.")
    with os_errors_as_output_errors(target):
        handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    _add(context, handler, logging.DEBUG)
    _LOG.info("fermiclass %s, Python %s: %s", __version__, platform.python_version(), " ".join(sys.argv[1:]))


def _add(context: click.Context, handler: logging.Handler, level: int) -> None:
    """Add a handler until the command, and the report of its error, has ended."""
    handler.setLevel(level)
    _ROOT.addHandler(handler)
    _ROOT.setLevel(logging.DEBUG)  # the handlers choose

    def remove() -> None:
        _ROOT.removeHandler(handler)
        _ROOT.setLevel(logging.NOTSET)
        handler.close()

    context.find_root().call_on_close(remove)
