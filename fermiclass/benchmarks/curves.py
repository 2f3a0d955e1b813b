"""Curves that the figures of the benchmarks show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from fermiclass.io.arrays import FloatArray


class ClassCurves(NamedTuple):
    """Class probabilities at the observed inputs ``x`` (G,): one ``(G, C)`` per method, and the Bayes classifier's."""

    x: FloatArray
    bayes: FloatArray
    predictions: Mapping[str, FloatArray]


class LearningCurve(NamedTuple):
    """Means over repetitions and their standard errors by the number of rows added, ``(rounds + 1,)`` each."""

    added: FloatArray
    mean: FloatArray
    se: FloatArray


def learning_curve(records: Iterable[Mapping[str, Any]]) -> LearningCurve:
    """Average the test errors of the repetitions that :func:`fermiclass.benchmarks.active.run_block` returned.

    Parameters
    ----------
    records
        Records of one method, acquisition and noise.

    Raises
    ------
    ValueError
        When there are no records, or their rounds differ.
    """
    records = list(records)
    if len({tuple(record["added"]) for record in records}) != 1:
        raise ValueError(f"{len(records)} records of different rounds, or none: expected some of the same rounds")
    values = np.array([record["error"] for record in records], dtype=np.float64)
    se = values.std(axis=0) / np.sqrt(max(len(values) - 1, 1))
    return LearningCurve(np.array(records[0]["added"], dtype=np.float64), values.mean(axis=0), se)
