"""The start of TensorFlow without the messages of its native libraries."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings


def start_tensorflow() -> None:
    """Import TensorFlow without its messages, if nobody has; whoever sets TF_CPP_MIN_LOG_LEVEL wants them."""
    if "tensorflow" in sys.modules or os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3") != "3":
        return
    try:
        kept = os.dup(2)
    except OSError:  # there is no standard error
        return
    sys.stderr.flush()
    with tempfile.TemporaryFile() as sink, warnings.catch_warnings(action="ignore"):
        os.dup2(sink.fileno(), 2)
        # TensorFlow imports this module to register optimisers and goes on without it: a second less, in which Keras
        # and Matplotlib would be imported. tf.keras still works.
        keras = "keras.src.optimizers"
        unwanted = keras not in sys.modules
        if unwanted:
            sys.modules[keras] = None  # type: ignore[assignment]
        try:
            import tensorflow as tf

            tf.constant(0.0)  # starts the runtime, which prints too
            tf.get_logger().setLevel("ERROR")
        finally:
            if unwanted:
                del sys.modules[keras]
            os.dup2(kept, 2)
            os.close(kept)
