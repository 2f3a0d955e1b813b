"""Labelled rows with error bars. They are read from disk in chunks, so that memory does not grow with their number.

``chunk`` defines rows; ``parquet`` and ``opening`` read them. ``passes`` has statistics and shuffled minibatches,
``rows_model`` trains on them, and ``predict`` labels rows, here or on the workers of a cluster.
"""

from fermiclass.rows.opening import open_rows as open_rows
from fermiclass.rows.opening import open_training_rows as open_training_rows
from fermiclass.rows.parquet import parquet_writer as parquet_writer
from fermiclass.rows.predict import predict_rows as predict_rows
from fermiclass.rows.rows_model import RowsModel as RowsModel
from fermiclass.rows.rows_model import fit_rows as fit_rows
