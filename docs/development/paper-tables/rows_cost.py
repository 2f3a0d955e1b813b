"""Cost of training and labelling from disk: time per step and peak memory for several numbers of rows.

    python docs/development/paper-tables/rows_cost.py
    python docs/development/paper-tables/rows_cost.py --sizes 2000 --steps 40

Rows of 3 classes and 10 features with error bars are read from a Parquet file. A step has 1024 rows and 200 inducing
points for each class, in single precision. Each number of rows has its own process, so that its peak memory can be
measured. The SVGP of GPflow does the same steps, with the rows in memory. Labels are those of `classify-rows`, and an
average over 16 draws if the method draws input noise; their parts are microseconds of a processor for a row.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from astropy.table import Table
from step_cost import CALL, seconds_of, svgp_steps

import fermiclass as fc
from fermiclass.nimgp.names import FULL_BATCH
from fermiclass.rows import fit_rows, open_rows, parquet_writer, predict_rows
from fermiclass.show.terminal import load_tensorflow

SIZES, OTHERS = (10_000, 100_000, 500_000, 2_000_000), ("nimgp-fo", "nimgp-nn")
C, M, D, B = 3, 200, 10, 1024
ROW_GROUP = 50_000
FEATURES, ERRORS = ([f"{prefix}x{j}" for j in range(D)] for prefix in ("", "Unc_"))


def block(rng: np.random.Generator, count: int) -> Table:
    """Draw rows."""
    y = rng.integers(0, C, count)
    noise = rng.uniform(0.05, 0.3, (count, D)).astype(np.float32)
    X = rng.normal(size=(count, D)).astype(np.float32) + noise * rng.normal(size=(count, D)).astype(np.float32)
    X[np.arange(count), y] += 1.5
    columns = dict(zip([*FEATURES, *ERRORS], [*X.T, *noise.T], strict=True))
    return Table(columns | {"CLASS1": np.array(["bll", "fsrq", "psr"])[y]})


def write_rows(path: Path, num_rows: int) -> None:
    """Write a Parquet file."""
    with parquet_writer(path, block(np.random.default_rng(0), 1)[:0]) as write:
        for k, start in enumerate(range(0, num_rows, ROW_GROUP)):
            write(block(np.random.default_rng([1, k]), min(ROW_GROUP, num_rows - start)))


def rows_of(path: Path) -> Any:
    """Open the file."""
    return open_rows(path, FEATURES, uncertainties=ERRORS, label="CLASS1")


def processor_seconds(call: Callable[[], object]) -> float:
    """Return the seconds of a processor that a call takes."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def ours(path: Path, steps: int, method: str) -> dict[str, float]:
    """Train on the rows, then label all of them."""
    load_tensorflow(quiet=True, large=True)
    rows, times = rows_of(path), [time.perf_counter()]
    own = {"method": method, "kernel": "se", "num_inducing": M, "batch_size": B, "steps": steps, "num_draws": 16}
    estimator = fc.NIMGPClassifier(**{**FULL_BATCH, **own})
    model = fit_rows(estimator, rows, progress=lambda _: times.append(time.perf_counter()))
    chunk = rows.read(0, min(rows.num_rows, 2**16))
    parts = {
        "reading": lambda: rows.read(0, len(chunk.X)),
        "GP": lambda: list(model.fitted.blocks(chunk.X, chunk.X_var)),
        "OOD_SCORE": lambda: model.domain.score(chunk.X, chunk.X_var),
    }
    of_parts = {name: 1e6 * processor_seconds(part) / len(chunk.X) for name, part in parts.items()}
    calls = np.diff(times)
    step = float(np.median(calls[1:])) / CALL if len(calls) > 1 else float(calls[0]) / steps
    with TemporaryDirectory() as folder:
        begin = time.perf_counter()
        every = processor_seconds(lambda: predict_rows(model, rows, Path(folder) / "labels.parquet"))
        labelling = time.perf_counter() - begin
    unit = 2**20 if sys.platform == "darwin" else 2**10  # kilobytes; bytes on macOS
    return {
        "ms a step": 1e3 * step,
        "rows a second": B / step,
        "labels a second": rows.num_rows / labelling,
        **of_parts,
        "all": 1e6 * every / rows.num_rows,
        "seconds before": float(calls[0] - step * min(steps, CALL)),
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit,
    }


def gpflow_ms(path: Path, steps: int) -> float:
    """Return the milliseconds of a step of GPflow."""
    load_tensorflow(quiet=True, large=True)
    import gpflow

    rows = rows_of(path)
    chunk = rows.read(0, rows.num_rows)
    gpflow.config.set_default_float(np.float32)
    gpflow.config.set_default_jitter(1e-3)
    labels = np.unique(chunk.y, return_inverse=True)[1]
    call = svgp_steps(chunk.X, labels, num_inducing=M, batch_size=B)
    return float(1e3 * np.median([seconds_of(call) for _ in range(max(1, steps // CALL))]) / CALL)


def alone(work: Any, *arguments: Any) -> Any:
    """Call a function in a new process, and return its result."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def main() -> None:
    """Print a row for each number of rows; the first method has all of them, the others the second one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--steps", type=int, default=200)
    given = parser.parse_args()
    middle = given.sizes[min(1, len(given.sizes) - 1)]
    found = []
    with TemporaryDirectory() as folder:
        paths = {size: Path(folder) / f"{size}.parquet" for size in given.sizes}
        for size, path in paths.items():
            write_rows(path, size)
        gpflow = alone(gpflow_ms, paths[middle], given.steps)
        for method, size in [*(("mgp", size) for size in given.sizes), *((method, middle) for method in OTHERS)]:
            found.append({"method": method, "rows": size} | alone(ours, paths[size], given.steps, method))
    table = pd.DataFrame(found)
    table.insert(3, "over GPflow", table["ms a step"] / gpflow)
    print(table.to_string(index=False, float_format="{:,.2f}".format))
    print(f"GPflow's SVGP: {gpflow:.1f} ms")


if __name__ == "__main__":
    main()
