"""What can go wrong that is no bug."""

from __future__ import annotations


class NIMGPError(Exception):
    """Base of the errors of the core that data or files cause."""


class TrainingError(NIMGPError, ArithmeticError):
    """The bound is no longer a number."""


class CheckpointError(NIMGPError, ValueError):
    """A file that is no checkpoint of this training."""
