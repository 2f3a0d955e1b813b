"""Cost of training and labelling from disk: time per step and peak memory for several numbers of rows.

Each number of rows has its own process, so that its peak memory can be measured. The SVGP of GPflow does the same steps
in the same run, with the rows in memory.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console

from fermiclass.benchmarks.tables import plain_table
from fermiclass.show.terminal import load_tensorflow

SIZES = (10_000, 100_000, 500_000, 2_000_000)
METHODS = ("mgp", "nimgp-fo", "nimgp-nn")
_C, _M, _D, _B = 3, 200, 10, 1024
_ALL_SIZES = "mgp"  # method that is timed with all numbers of rows; the others have the second number only
_STEPS, _STEPS_A_CALL = 200, 20
_ROW_GROUP = 50_000
_FEATURES, _ERRORS = ([f"{prefix}x{j}" for j in range(_D)] for prefix in ("", "Unc_"))


def run(
    *, sizes: tuple[int, ...] = SIZES, steps: int = _STEPS, progress: Callable[[int, int], None] | None = None
) -> dict[str, Any]:
    """Train on the rows of each size on disk, then label all of them.

    Returns
    -------
    dict
        ``"rows"``: by method and number of rows (``"mgp 100000"``)

        - ``"ms"``: milliseconds per training step, the median over calls of 20 steps;
        - ``"rows_per_second"`` and ``"labels_per_second"``: rows per second in training and labelling;
        - ``"start_seconds"``: seconds before the first step, for passes over the rows, k-means and tracing;
        - ``"peak_mb"``: peak memory in MB.

        ``"gpflow-svgp"``: its milliseconds per step (``"ms"``).
    """
    cases = [(_ALL_SIZES, size) for size in sizes]
    cases += [(method, sizes[min(1, len(sizes) - 1)]) for method in METHODS if method != _ALL_SIZES]
    total, done = len(cases) + 1, 0
    results: dict[str, Any] = {"benchmark": "scale", "steps": steps, "rows": {}}
    with TemporaryDirectory() as folder:
        for size in sizes:
            write_rows(Path(folder) / f"{size}.parquet", size)
        gpflow = _alone(_gpflow, Path(folder) / f"{sizes[min(1, len(sizes) - 1)]}.parquet", steps)
        results["gpflow-svgp"] = {"ms": gpflow}
        for method, size in cases:
            done += 1
            if progress is not None:
                progress(done, total)
            results["rows"][f"{method} {size}"] = _alone(_ours, Path(folder) / f"{size}.parquet", steps, method)
    if progress is not None:
        progress(total, total)
    return results


def write_rows(path: Path, num_rows: int) -> None:
    """Write a Parquet file with rows of 3 classes whose features have error bars."""
    from astropy.table import Table as Rows

    from fermiclass.rows import parquet_writer

    def block(rng: np.random.Generator, count: int) -> Rows:
        y = rng.integers(0, _C, count)
        noise = rng.uniform(0.05, 0.3, (count, _D)).astype(np.float32)
        X = rng.normal(size=(count, _D)).astype(np.float32) + noise * rng.normal(size=(count, _D)).astype(np.float32)
        X[np.arange(count), y] += 1.5
        columns = dict(zip([*_FEATURES, *_ERRORS], [*X.T, *noise.T], strict=True))
        return Rows(columns | {"CLASS1": np.array(["bll", "fsrq", "psr"])[y]})

    with parquet_writer(path, block(np.random.default_rng(0), 1)[:0]) as write:
        for k, start in enumerate(range(0, num_rows, _ROW_GROUP)):
            write(block(np.random.default_rng([1, k]), min(_ROW_GROUP, num_rows - start)))


def print_scale(results: Mapping[str, Any], console: Console | None = None) -> None:
    """Print time per step, labels per second and memory by number of rows."""
    console = console or Console(highlight=False)
    table = plain_table("method", numbers=("rows", "ms/step", "/GPflow", "rows/s", "labels/s", "start/s", "peak/MB"))
    gpflow = results["gpflow-svgp"]["ms"]
    table.add_row("gpflow-svgp", "", f"{gpflow:.1f}")
    table.add_section()
    for name, case in results["rows"].items():
        method, size = name.split()
        table.add_row(
            method,
            f"{int(size):,}",
            f"{case['ms']:.1f}",
            f"{case['ms'] / gpflow:.2f}",
            f"{case['rows_per_second']:,.0f}",
            f"{case['labels_per_second']:,.0f}",
            f"{case['start_seconds']:.1f}",
            f"{case['peak_mb']:,.0f}",
        )
    console.print(table)
    console.print()
    console.print(
        f"{results['steps']} steps of {_B} rows with {_C} classes, {_D} features and {_M} inducing points per class, "
        "in single precision. Rows are read from a Parquet file; the rows of GPflow are in memory. rows/s: rows per "
        "second in training; start/s: seconds before the first step. A label is an average over 16 draws if the method "
        "draws input noise."
    )


def _alone(work: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a new process, and return its result."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(work, *arguments).result()


def _rows(path: Path) -> Any:
    from fermiclass.rows import open_rows

    return open_rows(path, _FEATURES, uncertainties=_ERRORS, label="CLASS1")


def _ours(path: Path, steps: int, method: str) -> dict[str, float]:
    load_tensorflow(quiet=True, large=True)
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier
    from fermiclass.rows import fit_rows, predict_rows

    rows, times = _rows(path), [time.perf_counter()]
    estimator = NIMGPClassifier(method, kernel="se", num_inducing=_M, batch_size=_B, steps=steps, num_draws=16)
    model = fit_rows(estimator, rows, progress=lambda _: times.append(time.perf_counter()))
    calls = np.diff(times)
    step = float(np.median(calls[1:])) / _STEPS_A_CALL if len(calls) > 1 else float(calls[0]) / steps
    started = time.perf_counter()
    with TemporaryDirectory() as folder:
        predict_rows(replace(model, domain=None), rows, Path(folder) / "labels.parquet")
    labelling = time.perf_counter() - started
    unit = 2**20 if sys.platform == "darwin" else 2**10  # kilobytes; bytes on macOS
    return {
        "ms": 1e3 * step,
        "rows_per_second": _B / step,
        "labels_per_second": rows.num_rows / labelling,
        "start_seconds": float(calls[0] - step * min(steps, _STEPS_A_CALL)),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit,
    }


def _gpflow(path: Path, steps: int) -> float:
    load_tensorflow(quiet=True, large=True)

    import gpflow

    from fermiclass.benchmarks.gpflow_svgp import svgp_steps

    rows = _rows(path)
    chunk = rows.read(0, rows.num_rows)
    gpflow.config.set_default_float(np.float32)
    gpflow.config.set_default_jitter(1e-3)
    labels = np.unique(chunk.y, return_inverse=True)[1]
    call = svgp_steps(chunk.X, labels, num_inducing=_M, batch_size=_B, steps_a_call=_STEPS_A_CALL)
    times = []
    for _ in range(max(1, steps // _STEPS_A_CALL)):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return float(1e3 * np.median(times) / _STEPS_A_CALL)
