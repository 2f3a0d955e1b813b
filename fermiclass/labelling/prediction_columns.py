"""Columns of a prediction, in label tables of catalogues and rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from astropy.table import Column, Table
from numpy.typing import NDArray

from fermiclass.io import FloatArray

#: OOD_SCORE above which a source counts as outside the training domain: 1 in 200 training sources does.
OOD_LIMIT = 0.995

#: The bit of LABEL_FLAGS that rows of any kind can have, and what it means.
FLAG_OUTSIDE_DOMAIN = 4
ROW_FLAGS = {FLAG_OUTSIDE_DOMAIN: "outside the training domain"}


def add_prediction(table: Table, classes: Sequence[str], prediction: Any) -> None:
    """Add the columns of an estimator's :class:`Prediction`, ``P_<class>`` to ``NOISE_ENTROPY``."""
    P = prediction.probabilities
    for c, name in enumerate(classes):
        add_column(table, f"P_{name}", P[:, c], f"Probability that the source is {name}", "stat.probability")
    for c, name in enumerate(classes):
        description = f"Standard deviation of P_{name} over the posterior of latent functions and noiseless features"
        add_column(table, f"Unc_P_{name}", prediction.std[:, c], description, "stat.stdev;stat.probability")
    add_column(table, "PRED_CLASS", np.array(classes)[P.argmax(axis=1)], "Most probable class", "src.class")
    add_column(table, "P_MAX", P.max(axis=1), "Probability of PRED_CLASS", "stat.probability;stat.max")
    add_column(table, "ENTROPY", prediction.entropy, "Entropy of the probabilities, in nats", "stat.value")
    information = "Mutual information of label and latent functions: what more labels could remove, in nats"
    add_column(table, "INFORMATION", prediction.information, information, "stat.value")
    noise = (
        "Mutual information of label and noiseless features: what the error bars add to ENTROPY, in nats; 0 for "
        "first-order methods, which count it in INFORMATION"
    )
    add_column(table, "NOISE_ENTROPY", prediction.noise_entropy, noise, "stat.value")


def add_domain(
    table: Table, ood_score: FloatArray, bits: NDArray[np.integer[Any]] | int, meanings: Mapping[int, str] = ROW_FLAGS
) -> None:
    """Add ``OOD_SCORE``, and ``LABEL_FLAGS`` with these bits and that of rows outside the training domain."""
    add_column(table, "OOD_SCORE", ood_score, "0 typical of the training sources ... 1 unlike any", "stat.value")
    flags = bits | FLAG_OUTSIDE_DOMAIN * (ood_score > OOD_LIMIT)
    words = ", ".join(f"{bit} {meaning}" for bit, meaning in meanings.items())
    add_column(table, "LABEL_FLAGS", flags.astype(np.int16), f"Bits: {words}", "meta.code.qual")


def add_column(table: Table, name: str, data: Any, description: str, ucd: str, place: int | None = None) -> None:
    """Add a column with its description and UCD, by default as the last one."""
    table.add_column(Column(data, name, description=description, meta={"ucd": ucd}), place)
