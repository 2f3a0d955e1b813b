"""Executors of blocks: this process, worker processes, or a Dask scheduler. The records are the same."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module

from fermiclass.benchmarks.blocks import Block, Record, run_block
from fermiclass.benchmarks.environment import usable_cores
from fermiclass.errors import BenchmarkError
from fermiclass.rows.labelling import connected
from fermiclass.show.terminal import load_tensorflow

#: Runs blocks in any order, and yields the records of each finished block.
Executor = Callable[[Sequence[Block]], Generator[list[Record], None, None]]


def here(blocks: Sequence[Block]) -> Generator[list[Record], None, None]:
    """Run blocks one after another in this process."""
    for block in blocks:
        yield run_block(block)


def processes(workers: int, *, tensorflow: bool = False) -> Executor:
    """Run blocks in worker processes that share the cores equally. `tensorflow`: load TensorFlow in each."""

    def execute(blocks: Sequence[Block]) -> Generator[list[Record], None, None]:
        others = multiprocessing.active_children()
        pool = ProcessPoolExecutor(
            min(workers, len(blocks)),
            mp_context=multiprocessing.get_context("spawn"),  # TensorFlow does not survive a fork
            initializer=_start_worker,
            initargs=(max(1, usable_cores() // workers), tensorflow),
        )
        try:
            for future in as_completed([pool.submit(run_block, block) for block in blocks]):
                yield future.result()
        except BrokenProcessPool as error:
            raise BenchmarkError(
                f"one of {workers} worker processes was ended from outside, most often because memory ran out. Give "
                "fewer --workers, or a smaller --block."
            ) from error
        except BaseException:  # an interruption, or the caller stopped: do not wait for running blocks
            for child in multiprocessing.active_children():
                if child not in others:
                    child.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    return execute


def _start_worker(threads: int, tensorflow: bool) -> None:
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for library in ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
        os.environ[library] = str(threads)
    threadpool_limits(threads)  # NumPy is already loaded
    if tensorflow:
        load_tensorflow(quiet=True)


def _end_with_parent() -> None:
    """End this process when its parent is gone, for example killed, and nobody waits for the result."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def dask(address: str) -> Executor:
    """Run blocks on the workers of the Dask scheduler at ``address``. Each worker must see the folder of the data.

    Raises
    ------
    ClusterError
        When blocks are run; see :func:`fermiclass.rows.labelling.connected`.
    """

    def execute(blocks: Sequence[Block]) -> Generator[list[Record], None, None]:
        with connected(address) as client:
            distributed = import_module("distributed")
            futures = client.map(run_block, list(blocks), pure=False)
            try:
                for _, records in distributed.as_completed(futures, with_results=True):
                    yield records
            finally:
                client.cancel(futures)

    return execute
