"""The choices by name, importable without TensorFlow."""

from __future__ import annotations

#: Expected kernels, and the squared exponential of the means alone; they may be joined by +.
KERNELS = ("se", "linear", "quadratic", "plain-se")
