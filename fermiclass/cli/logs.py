"""Log of a command, by the logging of the standard library: ``-v`` on standard error, ``--log`` in a file."""

from __future__ import annotations

import logging
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from fermiclass._version import __version__
from fermiclass.errors import OutputError
from fermiclass.io.files import check_place

_ROOT = logging.getLogger("fermiclass")
_LOG = logging.getLogger(__name__)


def log_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``-v`` and ``--log`` to a command."""
    verbose = click.option(
        "-v",
        "--verbose",
        count=True,
        expose_value=False,
        callback=_to_standard_error,
        help="Print each stage on standard error; -vv prints more.",
    )
    log = click.option(
        "--log",
        type=click.Path(path_type=Path),
        metavar="FILE.log",
        expose_value=False,
        callback=_to_file,
        help="Append each stage, warning and error to a file, with times.",
    )
    return verbose(log(command))


class _StandardError(logging.Handler):
    """Lines on standard error, above a progress bar. Warnings and errors are there already."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.WARNING:
            click.echo(f"fermiclass: {record.getMessage()}", err=True)


def _to_standard_error(context: click.Context, parameter: click.Parameter, count: int) -> None:
    if count and not context.resilient_parsing:
        _add(context, _StandardError(logging.INFO if count == 1 else logging.DEBUG))


def _to_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    if path is None or context.resilient_parsing:
        return
    if path.suffix != ".log":  # no table, model or catalogue ends like this
        raise OutputError(f"the log '{path}' does not end in .log: give it such a name, as the file is appended to.")
    check_place(path)
    try:
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write '{path}': {error.strerror}. Choose another name or folder.") from error
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    _add(context, handler)
    _LOG.info("fermiclass %s, Python %s: %s", __version__, platform.python_version(), " ".join(sys.argv[1:]))


def _add(context: click.Context, handler: logging.Handler) -> None:
    """Add a handler until the command, and the report of its error, has ended."""
    _ROOT.addHandler(handler)
    _ROOT.setLevel(logging.DEBUG)  # the handlers choose

    def remove() -> None:
        _ROOT.removeHandler(handler)
        _ROOT.setLevel(logging.NOTSET)
        handler.close()

    context.find_root().call_on_close(remove)
