"""The environment of a benchmark: versions of packages, and the machine without its name."""

from __future__ import annotations

import os
import platform
from pathlib import Path

#: Packages that affect the results of a benchmark.
PACKAGES = ("python", "fermiclass", "tensorflow", "gpflow", "numpy", "scipy", "scikit-learn", "xgboost-cpu", "xgboost")


def machine() -> dict[str, str | int]:
    """Return the system, the processor and the number of cores that this process may use."""
    return {"system": platform.system(), "cpu": _cpu(), "cores": usable_cores()}


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
