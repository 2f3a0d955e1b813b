"""What the command line shows: messages, progress, and silence where TensorFlow would talk."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from fermiclass.errors import FermiclassError
from fermiclass.nimgp.errors import NIMGPError

USER_ERROR, BUG, INTERRUPTED = 2, 1, 130

_DEBUG = "fermiclass.debug"


class CommandGroup(click.Group):
    """Commands whose errors become one message and an exit status, never a traceback unless asked for."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; see the module's exit statuses."""
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
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader of our output has gone
            sys.exit(0)
        except Exception as error:  # the last resort: a bug is reported in one line, too
            reason = " ".join(str(error).split())
            self._fail(
                ctx,
                f"something went wrong inside fermiclass ({type(error).__name__}: {reason}). Run the command again "
                "with --debug and report what it prints.",
                BUG,
            )

    def _fail(self, ctx: click.Context, message: str, status: int) -> None:
        if ctx.meta.get(_DEBUG):
            traceback.print_exc()
        click.echo(f"fermiclass: error: {message}" if status != INTERRUPTED else f"fermiclass: {message}", err=True)
        sys.exit(status)


def debug_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--debug`` to a command."""

    def remember(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
        ctx.meta[_DEBUG] = value

    return click.option(
        "--debug", is_flag=True, expose_value=False, callback=remember, help="Show the traceback of an error."
    )(command)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, UserWarning):
        click.echo(f"fermiclass: warning: {message}", err=True)


@contextmanager
def progress_bar(description: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar with the time left on a terminal, and nothing elsewhere; yields ``advance(done, total)``."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda done, total: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(description, total=1)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def load_tensorflow(*, quiet: bool) -> None:
    """Import TensorFlow without what its native libraries print, which is no concern of the user."""
    from rich.console import Console

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # oneDNN rounds differently now and then, in one training of ten: the same bytes every time cost a fifth more.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    console = Console(stderr=True)
    with console.status("starting TensorFlow ...") if console.is_terminal and not quiet else _nothing():
        _import_silently()


def _import_silently() -> None:
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as sink:
        os.dup2(sink.fileno(), 2)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                import gpflow
                import tensorflow as tf

                tf.constant(gpflow.config.default_jitter())  # starts the runtime, which prints too
                tf.get_logger().setLevel("ERROR")
        finally:
            os.dup2(kept, 2)
            os.close(kept)


@contextmanager
def _nothing() -> Iterator[None]:
    yield
