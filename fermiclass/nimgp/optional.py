"""GPflow and TensorFlow Probability, which only regression needs: the extra `regression`."""

from __future__ import annotations

from fermiclass.nimgp.errors import MissingPackageError

try:
    import gpflow
    import tensorflow_probability as tfp
except ImportError as error:
    raise MissingPackageError(
        f"regression needs GPflow, which cannot be imported here ({error}): pip install 'fermiclass[regression]'"
    ) from error

__all__ = ["gpflow", "tfp"]
