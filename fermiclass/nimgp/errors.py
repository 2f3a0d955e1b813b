"""Errors that data or files cause, and warnings."""

from __future__ import annotations


class NIMGPError(Exception):
    """Base of the errors that data or files cause in `nimgp`."""


class TrainingError(NIMGPError, ArithmeticError):
    """The objective is NaN or infinite."""


class PredictionError(NIMGPError, ArithmeticError):
    """Probabilities are NaN or infinite."""


class LabelsError(NIMGPError, ValueError):
    """A classifier cannot learn from these labels."""


class TrainingWarning(UserWarning):
    """Training did not go well. The message says what was done about it."""


class KernelError(NIMGPError, ValueError):
    """A kernel does not fit the features."""


class CheckpointError(NIMGPError, ValueError):
    """The file is not a checkpoint of this training, or cannot be written."""
