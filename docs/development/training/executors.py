"""Time fits of DR4 with each executor of TensorFlow, one after the other and two at a time.

python docs/development/training/executors.py ""
python docs/development/training/executors.py SINGLE_THREADED_EXECUTOR

The first fit traces the graph.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext

os.environ |= {"TF_ENABLE_ONEDNN_OPTS": "0", "TF_NUM_INTRAOP_THREADS": "1"}  # as the commands set them

from tensorflow.python.eager import context

import fermiclass as fc
from fermiclass.labelling.training import default_estimator


@contextmanager
def timed(name: str) -> Iterator[None]:
    """Print processor time and wall time."""
    cpu, wall = time.process_time(), time.perf_counter()
    yield
    print(f"{name}: {time.process_time() - cpu:.1f} s of processor time in {time.perf_counter() - wall:.1f} s")


def main() -> None:
    """Time the fits."""
    table = fc.Recipe().check(fc.read_catalog("catalogs/4FGL-DR4.fits.gz")).of_one_class

    def fit(seed: int) -> None:
        with context.function_executor_type(sys.argv[1]) if sys.argv[1] else nullcontext():
            default_estimator(random_state=seed).fit(table.X, table.y, X_var=table.X_var)

    for seed in range(4):
        with timed(f"fit {seed}"):
            fit(seed)
    with timed("4 fits, two at a time"), ThreadPoolExecutor(2) as pool:
        list(pool.map(fit, range(4)))


if __name__ == "__main__":
    main()
