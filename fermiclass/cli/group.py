"""Group of commands: an error becomes one message and an exit status."""

from __future__ import annotations

import errno
import logging
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import click

from fermiclass.cli.streams import finish, prepare_streams
from fermiclass.errors import FermiclassError, in_one_line
from fermiclass.nimgp.errors import NIMGPError

_LOG = logging.getLogger(__name__)

USER_ERROR, BUG, INTERRUPTED, UNREAD = 2, 1, 130, 0

#: Errors of a disk or a device on which standard output goes.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

#: Messages of libraries that have their own errors for a lack of memory.
_LACK_OF_MEMORY = ("Cannot allocate memory", "failed to map segment", "can't start new thread", "ResourceExhausted")

_DEBUG = "fermiclass.debug"


class CommandGroup(click.Group):
    """Group of commands. An error becomes one message and an exit status; --debug shows the traceback."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command with streams that can be written to, and write out all that they hold."""
        prepare_streams()
        output = sys.stdout
        try:
            try:
                return super().main(*args, **kwargs)
            finally:
                fault = finish(output)
                finish(sys.stderr)
                if fault:
                    raise fault
        except SystemExit as stop:
            # Where a pipe breaks, rich ends the command with 1, and click too, which then replaces the stream.
            if isinstance(stop.__context__, BrokenPipeError) or sys.stdout is not output:
                sys.exit(UNREAD)
            raise
        except BrokenPipeError:
            sys.exit(UNREAD)  # nobody reads our output any more
        except OSError as error:
            _complain(f"error: {_cannot_print(error)}")
            sys.exit(USER_ERROR)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command. Exit statuses are `USER_ERROR`, `BUG` and `INTERRUPTED`."""
        warnings.showwarning = _show_warning
        try:
            return super().invoke(ctx)
        except (FermiclassError, NIMGPError) as error:
            self._fail(ctx, str(error), USER_ERROR)
        except KeyboardInterrupt as interrupt:
            self._fail(ctx, f"interrupted; {str(interrupt) or 'nothing was written'}", INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except BrokenPipeError:
            raise
        except Exception as error:  # a bug is reported in one line too
            if isinstance(error, OSError) and error.errno in _FULL:
                self._fail(ctx, _cannot_print(error), USER_ERROR)
            if _lacks_memory(error):
                self._fail(
                    ctx,
                    f"not enough memory ({in_one_line(error)}). Close other programs, raise the limit (ulimit -v), or "
                    "take fewer sources at once.",
                    USER_ERROR,
                )
            self._fail(
                ctx,
                f"something went wrong inside fermiclass ({type(error).__name__}: {in_one_line(error)}). "
                "Run the command again with --debug and report its output.",
                BUG,
            )

    def _fail(self, ctx: click.Context, message: str, status: int) -> None:
        _LOG.error("%s", message, exc_info=status != INTERRUPTED)
        if ctx.meta.get(_DEBUG):
            traceback.print_exc()
        _complain(f"error: {message}" if status != INTERRUPTED else message)
        sys.exit(status)


def _complain(message: str) -> None:
    with suppress(OSError):  # there may be nowhere left to say it
        click.echo(f"fermiclass: {message}", err=True)


def _cannot_print(error: OSError) -> str:
    return f"the output cannot be printed: {error.strerror or error}. Free some space, or send it elsewhere."


def _lacks_memory(error: BaseException) -> bool:
    about = f"{type(error).__name__}: {error}"
    return isinstance(error, MemoryError) or any(words in about for words in _LACK_OF_MEMORY)


def debug_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--debug`` to a command."""

    def remember(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
        ctx.meta[_DEBUG] = value

    return click.option(
        "--debug", is_flag=True, expose_value=False, callback=remember, help="Show the traceback of an error."
    )(command)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, UserWarning):
        _LOG.warning("%s", message)
        _complain(f"warning: {message}")
