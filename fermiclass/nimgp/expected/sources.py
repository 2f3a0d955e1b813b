"""Sources with Gaussian inputs x_i ~ N(u_i, Σ_i), packed as rows of one array for the kernels of GPflow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import ArrayLike

_TOLERANCE = 1e-9  # error of symmetry and eigenvalues, relative to the largest entry


class Sources(NamedTuple):
    """N sources: means ``(N, D)``, variances ``(N, D)`` or covariances ``(N, D, D)``, and their numbers ``(N,)``.

    A source with the number NaN differs from all other rows of all sets.
    """

    mean: tf.Tensor
    cov: tf.Tensor
    source: tf.Tensor

    @property
    def full(self) -> bool:
        """Whether the covariances are full matrices."""
        return len(self.cov.shape) == 3

    @property
    def full_cov(self) -> tf.Tensor:
        """Covariances as matrices, ``(N, D, D)``."""
        return self.cov if self.full else tf.linalg.diag(self.cov)


def pack(mean: ArrayLike, cov: ArrayLike | None = None, *, source: ArrayLike | None = None) -> np.ndarray:
    """Return sources as rows ``[u, Σ, source]``.

    Parameters
    ----------
    mean
        u, ``(N, D)``.
    cov
        Σ: variances ``(N, D)``, or covariances ``(N, D, D)``. None for inputs that are known exactly.
    source
        Numbers ``(N,)`` of the sources. Rows with the same number, in one set or in two sets, are the same source and
        share one unknown x. None if all sources differ from each other and from those of any other set.

    Returns
    -------
    ndarray
        ``(N, 2 D + 1)`` with variances, ``(N, D + D² + 1)`` with covariances.

    Raises
    ------
    ValueError
        When shapes do not fit, a value is not finite, a variance is negative, a covariance is not symmetric or not
        positive semi-definite, or rows of the same source differ.
    """
    u = np.asarray(mean, np.float64)
    if u.ndim != 2:
        raise ValueError(f"the means have shape {u.shape}: expected (sources, inputs)")
    if not np.all(np.isfinite(u)):
        raise ValueError("the means are not all finite")
    V = check_input_noise(u, cov, name="the covariances")
    who = np.full(len(u), np.nan) if source is None else np.asarray(source, np.float64)
    if who.shape != (len(u),):
        raise ValueError(
            f"the numbers of the sources have shape {who.shape}, the means {u.shape}: expected one per row"
        )
    rows = np.column_stack([u, V.reshape(len(u), int(np.prod(V.shape[1:]))), who])
    known = rows[~np.isnan(who)]
    if len(np.unique(known, axis=0)) > len(np.unique(known[:, -1])):
        raise ValueError("rows of the same source have different means or covariances: one source has one of each")
    return rows


def with_covariances(rows: np.ndarray, input_dim: int) -> np.ndarray:
    """Return packed sources with covariances. GPflow needs the same number of columns in all sets of a call."""
    u, V, who = np.split(np.asarray(rows), [input_dim, rows.shape[1] - 1], axis=1)
    if V.shape[1] != input_dim:
        return rows
    matrices = V[:, :, None] * np.eye(input_dim)
    return np.column_stack([u, matrices.reshape(len(u), input_dim**2), who])


def unpack(rows: tf.Tensor, input_dim: int) -> Sources:
    """Return the sources that :func:`pack` packed.

    Raises
    ------
    ValueError
        When the shape does not fit packed sources with `input_dim` inputs.
    """
    variances, covariances = 2 * input_dim + 1, input_dim + input_dim**2 + 1
    if len(rows.shape) != 2 or rows.shape[1] not in (variances, covariances):
        raise ValueError(
            f"the rows have shape {tuple(rows.shape)}: {input_dim} uncertain inputs are packed as {variances} columns "
            f"(with variances) or {covariances} (with covariances); see fermiclass.nimgp.expected.sources.pack"
        )
    cov = rows[:, input_dim:-1]
    if rows.shape[1] != variances:
        cov = tf.reshape(cov, [-1, input_dim, input_dim])
    return Sources(rows[:, :input_dim], cov, rows[:, -1])


def check_input_noise(mean: np.ndarray, cov: ArrayLike | None, *, name: str = "X_var") -> np.ndarray:
    """Return variances ``(N, D)`` or covariances ``(N, D, D)`` of means ``(N, D)``, zeros for None.

    Raises
    ------
    ValueError
        When the shape does not fit, a value is not finite, a variance is negative, or a covariance is not symmetric or
        not positive semi-definite.
    """
    if cov is None:
        return np.zeros_like(mean)
    V = np.asarray(cov, np.float64)
    if V.shape not in (mean.shape, (*mean.shape, mean.shape[1])):
        raise ValueError(
            f"{name}: shape {V.shape} does not fit means of shape {mean.shape}: expected {mean.shape} for variances "
            f"or {(*mean.shape, mean.shape[1])} for covariances"
        )
    if not np.all(np.isfinite(V)):
        raise ValueError(f"{name}: not all values are finite")
    if V.ndim == 2:
        if np.any(V < 0):
            row, column = np.argwhere(V < 0)[0]
            raise ValueError(f"{name}: negative in row {row}, column {column}: variances are zero or positive")
        return V
    limit = _TOLERANCE * np.abs(V).max(axis=(1, 2), initial=0.0)
    odd = np.flatnonzero(np.abs(V - V.swapaxes(1, 2)).max(axis=(1, 2), initial=0.0) > limit)
    if odd.size:
        raise ValueError(f"{name}: the matrix of row {odd[0]} is not symmetric")
    least = np.linalg.eigvalsh(V).min(axis=1, initial=np.inf)
    odd = np.flatnonzero(least < -limit)
    if odd.size:
        raise ValueError(
            f"{name}: the matrix of row {odd[0]} is not positive semi-definite: its least eigenvalue is "
            f"{least[odd[0]]:.3g}"
        )
    return V


def same_source(one: Sources, other: Sources | None) -> tf.Tensor:
    """Whether two rows are the same source, ``(N, N')``. With None, compare a set with itself."""
    if other is not None:
        return one.source[:, None] == other.source[None, :]
    row = tf.range(tf.shape(one.source)[0])
    return (row[:, None] == row[None, :]) | (one.source[:, None] == one.source[None, :])
