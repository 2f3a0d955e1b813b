"""The label table: what is written for every source that was labelled."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from astropy.table import Column, Table
from numpy.typing import NDArray

from fermiclass.errors import CatalogError
from fermiclass.tables import read_table

if TYPE_CHECKING:
    from fermiclass.catalog import Catalog
    from fermiclass.nimgp.prediction import Prediction

#: Version of the label table, in its metadata; tables without one are of version 1, which was the same but for that.
FORMAT_KEY, FORMAT_VERSION = "labelfmt", 2

#: Bits of LABEL_FLAGS; the first two are those of `FeatureTable.flags`.
FLAG_UNCERTAINTY_IMPUTED, FLAG_FEATURE_IMPUTED, FLAG_OUTSIDE_DOMAIN, FLAG_CATALOGUE = 1, 2, 4, 8

#: What each bit of LABEL_FLAGS means, in few words.
LABEL_FLAGS = {
    FLAG_UNCERTAINTY_IMPUTED: "an uncertainty was imputed",
    FLAG_FEATURE_IMPUTED: "a feature was imputed",
    FLAG_OUTSIDE_DOMAIN: "outside the training domain",
    FLAG_CATALOGUE: "the catalogue flags the source",
}

#: OOD_SCORE above which a source counts as outside the training domain: 1 in 200 training sources does.
OOD_LIMIT = 0.995

#: Columns copied from the catalogue, as far as it has them.
CATALOGUE_COLUMNS = (
    "Source_Name",
    "RAJ2000",
    "DEJ2000",
    "GLON",
    "GLAT",
    "Signif_Avg",
    "CLASS1",
    "ASSOC1",
    "Flags",
)

_TEXT_COLUMNS = ("CLASS1", "ASSOC1")


def label_table(
    catalog: Catalog,
    classes: Sequence[str],
    prediction: Prediction,
    *,
    feature_flags: NDArray[np.int32],
    ood_score: NDArray[np.float64],
    meta: Mapping[str, Any],
) -> Table:
    """Build the label table of n sources.

    Parameters
    ----------
    catalog
        Of the n sources alone.
    classes
        Names of the C classes, in the order of the prediction's columns.
    prediction
        Probabilities and entropies (in nats).
    feature_flags
        Bits 1 and 2 of LABEL_FLAGS, ``(n,)``.
    ood_score
        From 0 (typical of the training sources) to 1 (unlike any), ``(n,)``.
    meta
        Of the table: catalogue, model, settings, versions.

    Returns
    -------
    Table
        With units, descriptions and UCDs (``column.meta["ucd"]``).
    """
    table = Table(meta={FORMAT_KEY: str(FORMAT_VERSION), **meta})
    for name in CATALOGUE_COLUMNS:
        if catalog.has_column(name):
            table[name] = catalog.table[name]
        elif name in _TEXT_COLUMNS:
            table[name] = Column(np.full(len(catalog), ""), description=f"{name}: not in the catalogue")

    add_prediction(table, classes, prediction)
    _add(table, "OOD_SCORE", ood_score, "0 typical of the training sources ... 1 unlike any", "stat.value")
    bits = feature_flags | FLAG_OUTSIDE_DOMAIN * (ood_score > OOD_LIMIT)
    if catalog.has_column("Flags"):
        # NaN, where a table masks its Flags: what is unknown is no warning.
        bits = bits | FLAG_CATALOGUE * (np.nan_to_num(np.asarray(catalog.table["Flags"])) != 0)
    meaning = ", ".join(f"{bit} {words}" for bit, words in LABEL_FLAGS.items())
    _add(table, "LABEL_FLAGS", bits.astype(np.int16), f"Bits: {meaning}", "meta.code.qual")
    return table


def read_labels(path: str | os.PathLike[str]) -> Table:
    """Read a label table of this or an earlier version.

    Raises
    ------
    CatalogError
        When the file cannot be read as a table, or is of a later version, whose columns may mean something else.
    """
    table = read_table(path)
    version = str(table.meta.get(FORMAT_KEY, 1))
    if version not in map(str, range(1, FORMAT_VERSION + 1)):
        raise CatalogError(
            f"'{path}' is a label table of format version {version}; this fermiclass reads versions 1 to "
            f"{FORMAT_VERSION}. Upgrade fermiclass, or write the table again with this one."
        )
    return table


def classes_of(labels: Table) -> list[str]:
    """Return the classes of a label table: those with columns ``P_<class>`` and ``Unc_P_<class>``, in their order.

    Raises
    ------
    CatalogError
        When there are none.
    """
    columns = [name for name in labels.colnames if name.startswith("P_") and f"Unc_{name}" in labels.colnames]
    if not columns:
        raise CatalogError(
            "the table has no columns P_<class> with their Unc_P_<class>: it is no label table. Give one that "
            "'fermiclass classify' wrote."
        )
    return [name.removeprefix("P_") for name in columns]


def add_prediction(table: Table, classes: Sequence[str], prediction: Prediction) -> None:
    """Add the columns of what was predicted, ``P_<class>`` to ``NOISE_ENTROPY``."""
    P = prediction.probabilities
    for c, name in enumerate(classes):
        _add(table, f"P_{name}", P[:, c], f"Probability that the source is {name}", "stat.probability")
    for c, name in enumerate(classes):
        description = f"Standard deviation of P_{name} over the posterior of latent functions and noiseless features"
        _add(table, f"Unc_P_{name}", prediction.std[:, c], description, "stat.stdev;stat.probability")
    _add(
        table,
        "PRED_CLASS",
        np.array(classes)[P.argmax(axis=1)],
        "Most probable class",
        "src.class",
    )
    _add(table, "P_MAX", P.max(axis=1), "Probability of PRED_CLASS", "stat.probability;stat.max")
    _add(table, "ENTROPY", prediction.entropy, "Entropy of the probabilities, in nats", "stat.value")
    information = "Mutual information of label and latent functions: what more labels could remove, in nats"
    _add(table, "INFORMATION", prediction.information, information, "stat.value")
    noise = "Mutual information of label and noiseless features: what the error bars add to ENTROPY, in nats"
    _add(table, "NOISE_ENTROPY", prediction.noise_entropy, noise, "stat.value")


def _add(table: Table, name: str, data: Any, description: str, ucd: str) -> None:
    table[name] = Column(data, description=description, meta={"ucd": ucd})
