"""Progress bars, the start of TensorFlow without its messages, and training with both."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from time import monotonic
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from fermiclass.nimgp.quiet import start_tensorflow

if TYPE_CHECKING:
    from fermiclass.labelling.catalog_model import CatalogModel
    from fermiclass.labelling.recipe import Checked


_A_LINE = 60.0  # seconds from line to line, where there is no bar


def is_quiet() -> bool:
    """Return whether ``fermiclass --quiet`` runs."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.find_root().params.get("quiet"))


def console_for_tables() -> Console:
    """Return a console that prints names, classes and paths as they are: without highlighting, markup or emoji."""
    return Console(highlight=False, markup=False, emoji=False, quiet=is_quiet())


def say(shown: object, *, wrap: bool = True) -> None:
    """Print text, or a table, unless the command is quiet; lines of text that are not to be wrapped stay whole."""
    console_for_tables().print(shown, soft_wrap=not wrap)


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[..., None]]:
    """Show a progress bar with the remaining time; where standard error is no terminal, lines.

    Yields ``advance(done, total)``, which prints a line a minute, and ``advance(done, total, stage)``, which prints one
    when the name of the stage changes, and at each tenth of all.
    """
    console = Console(stderr=True)
    if not (is_quiet() or console.is_terminal):
        told, before = monotonic(), ("", 0)

        def tell(done: int, total: int, stage: str = "") -> None:
            nonlocal told, before
            now = stage, 10 * done // max(total, 1)
            if now != before if stage else monotonic() - told >= _A_LINE:
                click.echo(f"fermiclass: {stage or description}, {done:.0f} of {total:.0f} done", err=True)
                told, before = monotonic(), now

        yield tell
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=is_quiet()) as progress:
        task = progress.add_task(description, total=1)
        yield lambda done, total, stage="": progress.update(task, completed=done, total=total)


def load_tensorflow(*, quiet: bool = False, large: bool = False) -> None:
    """Import TensorFlow without the messages of its native libraries.

    With `large` an operation uses all cores, which helps from 100 inducing points and 1000 rows a step on. Otherwise
    the cores share the operations: for a catalogue this saves a third of the time of training.
    """
    # With oneDNN training takes a sixth less time, but one in ten rounds differently, with the same seed.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    if not large:
        os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    console = Console(stderr=True)
    is_shown = console.is_terminal and not (quiet or is_quiet())
    with console.status("starting TensorFlow ...") if is_shown else nullcontext():
        start_tensorflow()


def train_with_bar(checked: Checked, what: str = "training") -> CatalogModel:
    """Train what was checked, with a progress bar."""
    from fermiclass.labelling.training import train_checked  # bars alone need no models

    load_tensorflow()
    with progress_bar(what) as progress:
        return train_checked(checked, lambda state: progress(state.step, state.steps))
