"""Integrals over one Gaussian variable, of densities that may be narrow or far out in its tail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf

#: ``log p`` at points (S, n) of a standard normal variable, one column for each row; shape (S, n).
LogDensity = Callable[[tf.Tensor], tf.Tensor]

_FURTHEST, _SCANNED = 1e6, 161  # the scan for a maximum: its range in standard deviations, and its points
_ZOOMS, _HALF = 8, 8  # each zoom makes the spacing 8 times finer
_DISTANCES = 2.0 ** np.arange(13, -27, -1)[:, None]  # from a maximum
_LOST = 40.0  # what is so many nats below the maximum does not count
_POINTS = 101  # around each of two centres
_SHARPNESS = 4  # of the boundary between the regions of the centres


def log_expectation(log_p: LogDensity, num_rows: tf.Tensor) -> tf.Tensor:
    """Return ``log E p(y | t)`` for ``t ~ N(0, 1)``, shape (n,).

    p may be much narrower than N(0, 1), and y far in the tail. The points are dense around two centres: the maximum of
    ``N(t) p(y | t)`` and that of ``p(y | t)``. Each centre c has points ``t = c + w sinh u``, evenly spaced in u, where
    w is the distance at which the integrand changes by half a nat. They end where it is 40 nats below the maximum. The
    integrand is split into two smooth functions: each is nearly all of it where its centre has the denser points.

    Parameters
    ----------
    log_p
        ``log p(y | t)`` of each row. Where it is NaN, as infinity less infinity, p is taken as 0.
    num_rows
        n.
    """

    def density(t: tf.Tensor) -> tf.Tensor:
        found = log_p(t)
        return tf.where(tf.math.is_nan(found), np.float64(-np.inf), found)

    def joint(t: tf.Tensor) -> tf.Tensor:
        return density(t) - 0.5 * tf.square(t)

    centres = tf.stack([_maximum(joint, num_rows), _maximum(density, num_rows)])
    t, weights = (tf.stop_gradient(a) for a in _points(joint, centres))
    return tf.reduce_logsumexp(joint(t) + tf.math.log(weights), axis=0) - 0.5 * np.log(2.0 * np.pi)


def _maximum(function: LogDensity, num_rows: tf.Tensor) -> tf.Tensor:
    """Return the place of the maximum of each row, (n,)."""
    reach = np.arcsinh(_FURTHEST)
    scan = np.sinh(np.linspace(-reach, reach, _SCANNED))
    points = tf.constant(scan[:, None]) * tf.ones([1, num_rows], tf.float64)
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


def _points(joint: LogDensity, centres: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return points around centres (K, n), and their weights, (K · S, n) each."""
    low, high = centres[0] - _DISTANCES[-1], centres[0] + _DISTANCES[-1]
    highest = joint(centres[:1])
    widths = []
    for centre in tf.unstack(centres):
        values = [joint(centre + sign * _DISTANCES) for sign in (-1.0, 1.0)]
        for value, sign in zip(values, (-2.0, 2.0), strict=True):
            reached = tf.where(value > highest - _LOST, centre + sign * _DISTANCES, centres[0])
            low, high = (pick(end, of(reached, axis=0)) for pick, of, end in
                         ((tf.minimum, tf.reduce_min, low), (tf.maximum, tf.reduce_max, high)))  # fmt: skip
        change = tf.maximum(*(tf.abs(value - joint(centre[None])) for value in values))
        widths.append(tf.reduce_min(tf.where(change > 0.5, _DISTANCES, _DISTANCES[0]), axis=0))
    width = tf.stack(widths)
    begin, end = tf.asinh((low - centres) / width), tf.asinh((high - centres) / width)
    spacing = (end - begin) / (_POINTS - 1.0)  # of u, (K, n)
    u = begin + spacing * np.arange(float(_POINTS))[:, None, None]
    t = centres + width * tf.sinh(u)  # (S, K, n)
    own = spacing * width * tf.cosh(u)  # the gap to the next point around the same centre
    gaps = spacing * tf.sqrt(tf.square(width) + tf.square(t[:, :, None] - centres))  # around each centre, (S, K, K, n)
    weights = own / tf.reduce_sum((own[:, :, None] / gaps) ** _SHARPNESS, axis=2)
    return tf.reshape(t, [-1, t.shape[-1]]), tf.reshape(weights, [-1, t.shape[-1]])
