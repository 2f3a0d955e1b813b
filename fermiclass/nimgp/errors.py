"""What can go wrong that is no bug."""

from __future__ import annotations


class NIMGPError(Exception):
    """Base of the errors of the core that data or files cause."""


class TrainingError(NIMGPError, ArithmeticError):
    """The bound is no longer a number."""


class PredictionError(NIMGPError, ArithmeticError):
    """Probabilities are no numbers."""


class TrainingWarning(UserWarning):
    """Training did not go as it should, and what was done about it."""


class CheckpointError(NIMGPError, ValueError):
    """A file that is no checkpoint of this training."""
