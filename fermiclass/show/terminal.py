"""Progress bars, the start of TensorFlow without its messages, and training with both."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from fermiclass.labelling.catalog_model import CatalogModel
    from fermiclass.labelling.recipe import Checked


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
    """Show a progress bar with the remaining time if standard error is a terminal; yield ``advance(done, total)``."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    hidden = quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task(description, total=1)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def load_tensorflow(*, quiet: bool, large: bool = False) -> None:
    """Import TensorFlow without the messages of its native libraries.

    With `large` an operation uses all cores, which helps from 100 inducing points and 1000 rows a step on. Otherwise it
    uses one, and the cores share the operations: for a catalogue this saves a third of the time of training.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # With oneDNN, one training in ten rounds differently. Without it training takes a fifth longer, but the same seed
    # gives the same bytes.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    if not large:
        os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    console = Console(stderr=True)
    sys.stderr.flush()
    kept = os.dup(2)
    with (
        console.status("starting TensorFlow ...") if console.is_terminal and not quiet else nullcontext(),
        tempfile.TemporaryFile() as sink,
        warnings.catch_warnings(action="ignore"),
    ):
        os.dup2(sink.fileno(), 2)
        # TensorFlow imports this module to register optimisers and goes on without it: a second less, in which Keras
        # and Matplotlib would be imported. tf.keras still works.
        keras = "keras.src.optimizers"
        unwanted = keras not in sys.modules and "tensorflow" not in sys.modules
        if unwanted:
            sys.modules[keras] = None  # type: ignore[assignment]
        try:
            import tensorflow as tf

            tf.constant(0.0)  # starts the runtime, which prints too
            tf.get_logger().setLevel("ERROR")
        finally:
            if unwanted:
                del sys.modules[keras]
            os.dup2(kept, 2)
            os.close(kept)


def train_with_bar(checked: Checked, *, quiet: bool, what: str = "training") -> CatalogModel:
    """Train what was checked, with a progress bar."""
    from fermiclass.labelling.training import train_checked  # bars alone need no models

    load_tensorflow(quiet=quiet)
    with progress_bar(what, quiet=quiet) as progress:
        return train_checked(checked, lambda state: progress(state.step, state.steps))
