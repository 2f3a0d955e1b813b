"""What users wait for, for asv: processor time relative to a fixed piece of linear algebra in the same process.

A slow machine makes both slow, so that the ratios of two commits can be compared although the machine was not the same.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

# As the commands set them.
os.environ |= {"TF_ENABLE_ONEDNN_OPTS": "0", "TF_NUM_INTRAOP_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}

import numpy as np
from threadpoolctl import threadpool_limits

import fermiclass as fc
from fermiclass.features import extract_features

DR4 = str(Path(__file__).parents[4] / "catalogs" / "4FGL-DR4.fits.gz")
COMMANDS = {
    "import": ["-c", "import fermiclass"],
    "--help": ["-m", "fermiclass", "--help"],
    "info": ["-m", "fermiclass", "info", DR4],
    "classify": ["-m", "fermiclass", "classify", DR4, "-o", "labels.fits"],
    "classify --model": ["-m", "fermiclass", "classify", DR4, "--model", "model", "-o", "labels.fits"],
    "explain": ["-m", "fermiclass", "explain", "model", "Mkn 421", "--catalog", DR4],
    "classify-rows": [
        "-m",
        "fermiclass",
        "classify-rows",
        "rows.parquet",
        "--model",
        "of-rows",
        "-o",
        "labels.parquet",
    ],
}


def reference() -> None:
    """Make Cholesky factors and products of the sizes of a training step, enough to be measured."""
    A = np.random.default_rng(0).normal(size=(5, 60, 512)).astype(np.float32)
    with threadpool_limits(1):
        for _ in range(20):
            np.linalg.cholesky(A @ np.swapaxes(A, 1, 2))


def seconds(work: Callable[[], object]) -> float:
    """Return processor time of this process and of those that it started."""

    def so_far() -> float:
        return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))

    start = so_far()
    work()
    return so_far() - start


def ratio(work: Callable[[], object]) -> float:
    """Return the median ratio of some work to the reference, in turn."""
    return float(np.median([seconds(work) / seconds(reference) for _ in range(3)]))


class Commands:
    """Each command is a process of its own; rows are 50,000 copies of the sources of 4FGL-DR4."""

    params, param_names, unit, timeout = list(COMMANDS), ["command"], "references", 900

    def setup_cache(self) -> None:
        # asv runs this, and each benchmark, in a folder of its own.
        few = extract_features(fc.read_catalog(DR4)).to_table()
        for name, table in (("few", few), ("rows", few[np.arange(50_000) % len(few)])):
            table.write(f"{name}.parquet")
        for made in (["train", DR4, "-o", "model"], ["train-rows", "few.parquet", "-o", "of-rows"]):
            subprocess.run([sys.executable, "-m", "fermiclass", *made], check=True)

    def track_command(self, command: str) -> float:
        def run() -> None:
            for labels in Path().glob("labels.*"):
                labels.unlink()
            subprocess.run([sys.executable, *COMMANDS[command]], check=True, stdout=subprocess.DEVNULL)

        return ratio(run)


class Parts:
    """Parts of ``classify``: a fit has the graph of the last; a step has 3 classes, 100 points each, 50 sources."""

    params, param_names, unit, timeout = ["read", "features", "fit", "step"], ["part"], "references", 900

    def track_part(self, part: str) -> float:
        catalog = fc.read_catalog(DR4)
        if part == "step":
            sys.path.append(str(Path(__file__).parents[2] / "paper-tables"))
            from step_cost import our_step

            return our_step("nimgp-fo", "softmax")[0] * 1e-3 / seconds(reference)
        work = {"read": lambda: fc.read_catalog(DR4), "features": lambda: extract_features(catalog)}
        return ratio(work.get(part, lambda: fc.train(catalog)))
