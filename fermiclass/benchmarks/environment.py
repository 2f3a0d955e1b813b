"""On what a benchmark ran: versions and the machine, without its name."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("fermiclass", "tensorflow", "gpflow", "numpy", "scipy", "scikit-learn", "xgboost-cpu", "xgboost")


def versions() -> dict[str, str]:
    """Return Python's version and those of the packages that decide the figures, where they are installed."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, str | int]:
    """Return system, processor and how many cores this process may use."""
    return {"system": platform.system(), "cpu": _cpu(), "cores": usable_cores()}


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
