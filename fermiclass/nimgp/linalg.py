"""Products of batches of matrices with one common factor."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def matmul(A: tf.Tensor, B: tf.Tensor, **transposed: Any) -> tf.Tensor:
    """``tf.matmul`` that is safe when ``A`` (n, 1, ..., ...) has two batch axes and ``B`` is one matrix.

    In this case oneDNN, the default of TensorFlow (2.21), writes outside its memory on processors with AVX-512, and
    the process crashes. Therefore this function repeats the matrix.
    """
    if A.shape.rank > 3 and B.shape[:-2].num_elements() == 1:
        B = tf.broadcast_to(B, tf.concat([tf.shape(A)[:-2], tf.shape(B)[-2:]], axis=0))
    return tf.matmul(A, B, **transposed)


def matvec(A: tf.Tensor, b: tf.Tensor, **transposed: Any) -> tf.Tensor:
    """``tf.linalg.matvec`` by :func:`matmul`."""
    return matmul(A, b[..., None], **transposed)[..., 0]
