"""Labelled rows with error bars. They are read from disk in chunks, so that memory does not grow with their number.

``chunk`` defines rows, ``columns`` the roles of their columns. ``arrays``, ``parquet`` and ``tables`` read
them, and ``opening`` chooses by the ending. ``passes`` has statistics and shuffled minibatches, ``rows_model`` trains
on them, and ``predict`` labels rows, here or on the workers of a cluster.
"""

from fermiclass.rows.arrays import ArrayRows
from fermiclass.rows.columns import Columns
from fermiclass.rows.opening import open_rows, open_training_rows
from fermiclass.rows.parquet import ParquetRows, parquet_writer
from fermiclass.rows.passes import row_statistics, shuffled_minibatches
from fermiclass.rows.predict import predict_rows
from fermiclass.rows.rows_model import RowsModel, RowsProvenance, fit_rows
from fermiclass.rows.tables import FITSRows

__all__ = [
    "ArrayRows",
    "Columns",
    "FITSRows",
    "ParquetRows",
    "RowsModel",
    "RowsProvenance",
    "fit_rows",
    "open_rows",
    "open_training_rows",
    "parquet_writer",
    "predict_rows",
    "row_statistics",
    "shuffled_minibatches",
]
