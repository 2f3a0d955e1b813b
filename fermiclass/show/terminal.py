"""Progress bars, the start of TensorFlow without its messages, and training with both."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from time import monotonic
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from fermiclass.nimgp.quiet import start_tensorflow

if TYPE_CHECKING:
    from fermiclass.labelling.catalog_model import CatalogModel
    from fermiclass.labelling.recipe import Checked


_A_LINE = 60.0  # seconds from line to line, where there is no bar


@contextmanager
def stages(description: str, *, quiet: bool) -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar, or a line for each stage if standard error is no terminal.

    Yields ``advance(done, total, stage)``. Lines come when the name of the stage changes, and at each tenth of all.
    """
    if quiet or Console(stderr=True).is_terminal:
        with progress_bar(description, quiet=quiet) as progress:
            yield lambda done, total, stage: progress(done, total)
        return
    told: tuple[str, int] | None = None

    def tell(done: int, total: int, stage: str) -> None:
        nonlocal told
        now = stage, 10 * done // max(total, 1)
        if now != told:
            print(f"fermiclass: {stage or description}, {done} of {total} done", file=sys.stderr, flush=True)
        told = now

    yield tell


@contextmanager
def progress_bar(description: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar with the remaining time, or a line a minute if standard error is no terminal.

    Yields ``advance(done, total)``.
    """
    console = Console(stderr=True)
    if not (quiet or console.is_terminal):
        told = monotonic()

        def tell(done: int, total: int) -> None:
            nonlocal told
            if monotonic() - told >= _A_LINE:
                print(f"fermiclass: {description}, {done:.0f} of {total:.0f} done", file=sys.stderr, flush=True)
                told = monotonic()

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
    with Progress(*columns, console=console, transient=True, disable=quiet) as progress:
        task = progress.add_task(description, total=1)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def load_tensorflow(*, quiet: bool, large: bool = False) -> None:
    """Import TensorFlow without the messages of its native libraries.

    With `large` an operation uses all cores, which helps from 100 inducing points and 1000 rows a step on. Otherwise it
    uses one, and the cores share the operations: for a catalogue this saves a third of the time of training.
    """
    # With oneDNN, one training in ten rounds differently. Without it training takes a fifth longer, but the same seed
    # gives the same bytes.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    if not large:
        os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    console = Console(stderr=True)
    with console.status("starting TensorFlow ...") if console.is_terminal and not quiet else nullcontext():
        start_tensorflow()


def train_with_bar(checked: Checked, *, quiet: bool, what: str = "training") -> CatalogModel:
    """Train what was checked, with a progress bar."""
    from fermiclass.labelling.training import train_checked  # bars alone need no models

    load_tensorflow(quiet=quiet)
    with progress_bar(what, quiet=quiet) as progress:
        return train_checked(checked, lambda state: progress(state.step, state.steps))
