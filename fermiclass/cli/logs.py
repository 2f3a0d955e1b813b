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
from fermiclass.io.files import check_place, os_errors_as_output_errors

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


def _to_standard_error(context: click.Context, parameter: click.Parameter, count: int) -> None:
    if count and not context.resilient_parsing:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("fermiclass: %(message)s"))
        handler.addFilter(lambda record: record.levelno < logging.WARNING)  # the others are there already
        _add(context, handler, logging.INFO if count == 1 else logging.DEBUG)


def _to_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    if path is None or context.resilient_parsing:
        return
    if path.suffix != ".log":  # no table, model or catalogue ends like this
        raise OutputError(f"the log '{path}' does not end in .log: give it such a name, as the file is appended to.")
    with os_errors_as_output_errors(check_place(path)):
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
