"""Versions of the packages on which a result depends."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

#: The packages on which the predictions of a model depend.
MODEL_PACKAGES = ("fermiclass", "tensorflow", "numpy", "astropy")


def versions(packages: Iterable[str] = MODEL_PACKAGES) -> dict[str, str]:
    """Return versions by the name of the package, or 'python'. Packages that are not installed are left out."""
    found = {}
    for name in packages:
        try:
            found[name] = platform.python_version() if name == "python" else version(name)
        except PackageNotFoundError:
            continue
    return found
