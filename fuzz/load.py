"""Commands under load: several at once, a million sources, hundreds of fits. It is not part of the tests.

    python fuzz/load.py together --processes 4
    python fuzz/load.py many --sources 1000000
    python fuzz/load.py repeated --times 500

`together` runs that many `classify` at once and compares their bytes with those of one alone. `many` draws sources from
4FGL-DR4, scattered by their error bars, labels them, and says how much memory it took, for a tenth of them and for all.
`repeated` fits and predicts over and over in one process. Each prints the largest resident memory of every process.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

CATALOG = Path(__file__).parent.parent / "catalogs" / "4FGL-DR4.fits.gz"
QUANTITIES = ("Flux1000", "Energy_Flux100", "LP_Index", "LP_beta", "PL_Index")


def start(*arguments: object) -> subprocess.Popen[bytes]:
    """Start a command of fermiclass."""
    return subprocess.Popen([sys.executable, "-m", "fermiclass", *map(str, arguments)], stderr=subprocess.DEVNULL)


def wait(process: subprocess.Popen[bytes]) -> float:
    """Return the largest resident memory of a process in GB, when it has ended well."""
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"a command ended with status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_maxrss / 1e6


def together(folder: Path, processes: int) -> None:
    """Label DR4 in several processes at once."""
    alone = folder / "alone.fits"
    wait(start("classify", CATALOG, "-o", alone, "--quiet"))
    began = time.monotonic()
    paths = [folder / f"labels{k}.fits" for k in range(processes)]
    memory = [wait(process) for process in [start("classify", CATALOG, "-o", path, "--quiet") for path in paths]]
    same = sum(path.read_bytes() == alone.read_bytes() for path in paths)
    seconds = time.monotonic() - began
    print(f"{processes} at once: {seconds:.0f} s, {max(memory):.2f} GB at most, {same} with the same bytes")


def write_sources(path: Path, sources: int) -> None:
    """Write a catalogue of sources that are those of DR4, scattered by their error bars."""
    from astropy.table import Table

    rng = np.random.default_rng(0)
    table = Table.read(CATALOG, hdu=1)
    table = table[rng.integers(0, len(table), sources)]
    for name in QUANTITIES:
        error = np.nan_to_num(np.asarray(table[f"Unc_{name}"], np.float64))
        scattered = np.asarray(table[name]) + error * rng.standard_normal(sources)
        table[name] = np.where(scattered > 0, scattered, table[name]).astype(table[name].dtype)
    width = len(str(sources))
    table["Source_Name"] = np.char.add("4FGL S", np.char.zfill(np.arange(sources).astype(f"U{width}"), width))
    table.write(path)


def many(folder: Path, sources: int) -> None:
    """Label many sources by a model that is there."""
    wait(start("train", CATALOG, "-o", folder / "model", "--quiet"))
    for size in (sources // 10, sources):
        catalog, labels = folder / f"{size}.fits", folder / f"{size}-labels.parquet"
        # In a process of its own: the largest memory of a child begins with that of its parent.
        writer = multiprocessing.get_context("spawn").Process(target=write_sources, args=(catalog, size))
        writer.start()
        writer.join()
        began = time.monotonic()
        choice = ("--model", folder / "model", "--targets", "all", "-o", labels, "--quiet")
        memory = wait(start("classify", catalog, *choice))
        seconds = time.monotonic() - began
        print(f"{size:,} sources, {catalog.stat().st_size / 1e9:.2f} GB: {seconds:.0f} s, {memory:.2f} GB", flush=True)


def repeated(times: int) -> None:
    """Fit and predict over and over."""
    from fermiclass import NIMGPClassifier

    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = rng.normal(size=(200, 4)) + y[:, None]
    resident: list[float] = []
    for k in range(times):
        NIMGPClassifier(num_inducing=10, steps=20).fit(X, y, X_var=np.full_like(X, 0.1)).predict_proba(
            X, X_var=np.full_like(X, 0.1)
        )
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        resident.append(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
        if k % (times // 10) == 0 or k == times - 1:
            print(f"{k + 1} fits: {resident[-1]:.0f} MB", flush=True)
    rate = np.polyfit(np.arange(times // 5, times), resident[times // 5 :], 1)[0]
    print(f"after the first fifth: {1e3 * rate:+.0f} kB a fit")


def main() -> None:
    """Do one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("together", "many", "repeated"))
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--sources", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=500)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if chosen.what == "together":
            together(Path(folder), chosen.processes)
        elif chosen.what == "many":
            many(Path(folder), chosen.sources)
        else:
            repeated(chosen.times)


if __name__ == "__main__":
    main()
