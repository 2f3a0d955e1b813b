"""Sites: the approximate factors of the likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fermiclass.nimgp.arrays import FloatArray

IntArray = NDArray[np.int64]


class LabelNoise(NamedTuple):
    """``ρ ~ Beta(a, b)``, the share of labels that are random (RMGPC, equation 4)."""

    a: float = 1.0
    b: float = 9.0


@dataclass(frozen=True, eq=False)
class Labels:
    """Classes of the N rows, and the R = C − 1 other classes of each row. :meth:`of` makes them.

    Attributes
    ----------
    y
        Classes 0 … C − 1, ``(N,)``.
    others
        The other classes of each row, ``(N, R)``.
    num_classes
        C.
    """

    y: IntArray
    others: IntArray
    num_classes: int

    @classmethod
    def of(cls, y: IntArray, num_classes: int) -> Labels:
        """Check labels and find the other classes.

        Raises
        ------
        ValueError
            When there are fewer than two classes, no rows, or labels other than integers from 0 to C − 1.
        """
        y = np.asarray(y)
        if num_classes < 2:
            raise ValueError(f"num_classes={num_classes} is not valid: expected 2 or more")
        if y.ndim != 1 or not len(y) or y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= num_classes:
            raise ValueError(
                f"found labels {y!r}: expected one or more integers from 0 to {num_classes - 1}, in one dimension"
            )
        return cls(y, (y[:, None] + np.arange(1, num_classes)) % num_classes, num_classes)

    @property
    def rows(self) -> IntArray:
        """Row numbers to index with `others`, ``(N, 1)``."""
        return np.arange(len(self.y))[:, None]

    @property
    def own(self) -> IntArray:
        """Classes of the rows to index with `rows`, ``(N, 1)``."""
        return self.y[:, None]

    def by_class(self, of_others: FloatArray, of_own: FloatArray) -> FloatArray:
        """Sum the parameters ``(N, R)`` of f_k and f_y for every latent function at every row, ``(C, N)``."""
        total = np.zeros((self.num_classes, len(self.y)))
        total[self.others, self.rows] = of_others
        total[self.own, self.rows] = of_own.sum(axis=1, keepdims=True)
        return total


class Sites(NamedTuple):
    """Natural parameters of the approximate factors (RMGPC, equations 14 and 15).

    The first five fields, ``(N, R)``, belong to ψ_ik, in the order of :attr:`Labels.others`: precisions and shifts
    (precision times mean) of f_k and of f_y, which may be negative, and log-odds of z. The last three, ``(N,)``, belong
    to ψ_i: exponents of ρ and 1 − ρ, and log-odds of z. These are −∞ if all labels are known to be right.
    """

    precision: FloatArray
    shift: FloatArray
    own_precision: FloatArray
    own_shift: FloatArray
    log_odds: FloatArray
    alpha: FloatArray
    beta: FloatArray
    rate_log_odds: FloatArray

    @classmethod
    def empty(cls, labels: Labels, label_noise: LabelNoise | None) -> Sites:
        """Return sites without effect, except for the prior log-odds of z."""
        odds = -np.inf if label_noise is None else np.log(label_noise.a / label_noise.b)
        zeros = np.zeros(labels.others.shape)
        row = np.zeros(len(labels.y))
        return cls(zeros, zeros, zeros, zeros, zeros, row, row, np.full(len(labels.y), odds))

    def towards(self, new: Sites, step: float) -> Sites:
        """Return the damped sites ``new^step · self^(1 − step)``."""
        damped = (a if a is b else (1.0 - step) * a + step * b for a, b in zip(self, new, strict=True))
        return Sites(*damped)

    def translated(self, labels: Labels, by: FloatArray) -> Sites:
        """Return the sites of the same factors if every latent function is larger by ``by`` (C, N)."""
        return self._replace(
            shift=self.shift + self.precision * by[labels.others, labels.rows],
            own_shift=self.own_shift + self.own_precision * by[labels.own, labels.rows],
        )
