"""Checks that all estimators share."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array


def check_variances(X: np.ndarray, X_var: Any) -> np.ndarray:
    """Return the variances of X; None means zeros.

    Raises
    ------
    ValueError
        When their shape differs from the shape of X, or a variance is negative or not finite.
    """
    if X_var is None:
        return np.zeros_like(X)
    X_var = check_array(X_var, dtype=np.float64, order="C", input_name="X_var")
    if X_var.shape != X.shape:
        raise ValueError(f"X_var has shape {X_var.shape}, X has {X.shape}: every value of X needs its variance")
    if np.any(X_var < 0):
        row, column = np.argwhere(X_var < 0)[0]
        raise ValueError(f"X_var is negative in row {row}, column {column}: variances are zero or positive")
    return X_var


def refuse_bytes(y: np.ndarray) -> None:
    """Raise TypeError when labels are bytes, and say what to do."""
    first = next(iter(y.ravel()[:1].tolist()), None)
    if isinstance(first, bytes):
        raise TypeError(
            f"y holds bytes, such as {first!r}; expected text or whole numbers: decode them, as "
            "[label.decode() for label in y]"
        )


def wrong_label_probabilities(right: np.ndarray, y: Any, classes: np.ndarray, rate: float) -> np.ndarray:
    """Return the probabilities ``(n,)`` that labels are wrong, for rows outside the training set.

    See :func:`fermiclass.nimgp.likelihoods.named.probability_of_wrong_label`.

    Parameters
    ----------
    right
        Probabilities ``(n, C)`` of right labels.
    y
        Labels, ``(n,)``.
    classes
        The C classes, sorted.
    rate
        ρ, the probability that a label is wrong.

    Raises
    ------
    ValueError
        When a label is of no class, or the number of labels differs from the number of rows.
    TypeError
        When labels are bytes.
    """
    from fermiclass.nimgp.likelihoods.named import probability_of_wrong_label

    labels = np.asarray(y)
    if labels.shape != (len(right),):
        raise ValueError(f"y has shape {labels.shape}; expected a label for each of {len(right)} rows")
    refuse_bytes(labels)
    # A label names its class as it is, or in text: "1" and 1.0 are the class 1.
    numbers = {str(name): k for k, name in enumerate(classes)} | {name: k for k, name in enumerate(classes.tolist())}
    found = [numbers.get(label, numbers.get(str(label))) for label in labels.tolist()]
    unknown = sorted({str(label) for label, number in zip(labels, found, strict=True) if number is None})
    if unknown:
        raise ValueError(
            f"y has labels of no class: {', '.join(unknown[:5])}; expected some of {', '.join(map(str, classes))}"
        )
    p = right[np.arange(len(labels)), np.array(found, np.intp)]
    return probability_of_wrong_label(p, rate, len(classes))
