"""Copies of a process by `fork`. TensorFlow's threads are not copied, so that TensorFlow would hang there."""

from __future__ import annotations

import os
import sys

_started_before_fork = False


def is_broken_fork() -> bool:
    """Return whether this process was forked from one in which TensorFlow had run."""
    return _started_before_fork


def refuse_after_fork() -> None:
    """Raise RuntimeError if :func:`is_broken_fork`."""
    if _started_before_fork:
        raise RuntimeError(
            "this process is a copy (fork) of one that has used TensorFlow, which does not work in copies. Start "
            "processes with multiprocessing.get_context('spawn'), or with joblib's backend 'loky'"
        )


def _note_fork() -> None:
    global _started_before_fork
    context = getattr(sys.modules.get("tensorflow.python.eager.context"), "_context", None)
    # Initialised by the first operation. Before that, a copy can start a TensorFlow of its own.
    _started_before_fork = _started_before_fork or bool(getattr(context, "_initialized", False))


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_note_fork)
