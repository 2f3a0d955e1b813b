"""Products of batches of matrices where one matrix is the factor of all."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def matmul(A: tf.Tensor, B: tf.Tensor, **transposed: Any) -> tf.Tensor:
    """``tf.matmul`` that is safe where ``A`` (n, 1, ..., ...) has two axes of batches and ``B`` is one matrix.

    There oneDNN, which TensorFlow uses by default, writes beyond its memory on processors with AVX-512 (TensorFlow
    2.21), and the process dies at once or later. So the matrix is repeated.
    """
    if A.shape.rank > 3 and B.shape[:-2].num_elements() == 1:
        B = tf.broadcast_to(B, tf.concat([tf.shape(A)[:-2], tf.shape(B)[-2:]], axis=0))
    return tf.matmul(A, B, **transposed)


def matvec(A: tf.Tensor, b: tf.Tensor, **transposed: Any) -> tf.Tensor:
    """``tf.linalg.matvec`` by :func:`matmul`."""
    return matmul(A, b[..., None], **transposed)[..., 0]
