"""Integrals over one Gaussian variable, of densities that may be narrow or far out in its tail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf

#: ``log p`` at points (S, n) of a standard normal variable, one column for each row; shape (S, n).
LogDensity = Callable[[tf.Tensor], tf.Tensor]

_FURTHEST, _SCANNED = 1e6, 161  # the scan for a maximum: its range in standard deviations, and its points
_ZOOMS, _HALF = 8, 8  # each zoom makes the spacing 8 times finer
_STEP = np.log(2.0) / 8.0  # of the logarithm of the distance from a centre
_DISTANCES = np.exp(_STEP * np.arange(-8 * 24, 8 * 13 + 1))  # 2^-24 to 2^13
_LOST = 40.0  # what is so many nats below the maximum does not count


def log_expectation(log_p: LogDensity, num_rows: tf.Tensor) -> tf.Tensor:
    """Return ``log E p(y | t)`` for ``t ~ N(0, 1)``, shape (n,). Where ``log p(y | t)`` is NaN, p is taken as 0.

    p may be much narrower than N(0, 1), and y far in the tail. The points are dense around two centres: the maximum of
    ``N(t) p(y | t)`` and that of ``p(y | t)``. Those of a centre are evenly spaced in the logarithm of the distance
    from it, on both sides. The integrand is split into two smooth functions, each nearly all of it close to its centre.
    """

    def density(t: tf.Tensor) -> tf.Tensor:
        found = log_p(t)
        return tf.where(tf.math.is_nan(found), np.float64(-np.inf), found)

    def joint(t: tf.Tensor) -> tf.Tensor:
        return density(t) - 0.5 * tf.square(t)

    centres = tf.stop_gradient(tf.stack([_maximum(joint, num_rows), _maximum(density, num_rows)]))  # (2, n)
    t = centres + np.concatenate([-_DISTANCES, _DISTANCES])[:, None, None]  # (S, 2, n)
    distances = tf.abs(t[:, :, None] - centres)  # of the points of each centre from each centre, (S, 2, 2, n)
    own = np.concatenate([_DISTANCES, _DISTANCES])[:, None, None]
    weights = _STEP * own / tf.reduce_sum((own[:, :, None] / distances) ** 4, axis=2)
    t, weights = (tf.reshape(a, [-1, tf.shape(t)[-1]]) for a in (t, weights))
    values = tf.stop_gradient(joint(t))
    counts = values > tf.reduce_max(values, axis=0) - _LOST  # the gradient at other points may be infinite
    t, weights = tf.where(counts, t, centres[0]), tf.where(counts, weights, 0.0)
    return tf.reduce_logsumexp(joint(t) + tf.math.log(weights), axis=0) - 0.5 * np.log(2.0 * np.pi)


def _maximum(function: LogDensity, num_rows: tf.Tensor) -> tf.Tensor:
    """Return the place of the maximum of each row, (n,)."""
    reach = np.arcsinh(_FURTHEST)
    points = tf.constant(np.sinh(np.linspace(-reach, reach, _SCANNED))[:, None]) * tf.ones([1, num_rows], tf.float64)
    steps = np.linspace(0.0, 1.0, _HALF + 1)[:, None]
    for _ in range(_ZOOMS):
        best = tf.argmax(function(points), axis=0)
        before, here, after = (_at(points, best + step) for step in (-1, 0, 1))
        points = tf.concat([before + (here - before) * steps[:-1], here + (after - here) * steps], axis=0)
    return _at(points, tf.argmax(function(points), axis=0))


def _at(points: tf.Tensor, index: tf.Tensor) -> tf.Tensor:
    """Return one point (n,) of each column of (S, n)."""
    index = tf.clip_by_value(index, 0, points.shape[0] - 1)
    return tf.gather(tf.transpose(points), index, axis=1, batch_dims=1)
