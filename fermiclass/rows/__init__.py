"""Labelled rows with error bars. They are read from disk in chunks, so that memory does not grow with their number.

``chunk`` and ``rows`` define rows. ``arrays``, ``parquet`` and ``fits`` read them, and ``opening`` chooses by the
ending of the file. ``minibatches`` shuffles them for training, ``summary`` reads them once, and ``writers`` write
tables of any size.
"""

from fermiclass.rows.arrays import ArrayRows
from fermiclass.rows.chunk import Blocked, Chunk, join, read_in_order
from fermiclass.rows.fits import FITSRows
from fermiclass.rows.minibatches import shuffled_minibatches
from fermiclass.rows.opening import open_rows
from fermiclass.rows.parquet import ParquetRows
from fermiclass.rows.rows import Rows
from fermiclass.rows.summary import Summary, sample, summarise
from fermiclass.rows.writers import FITSRowWriter, ParquetRowWriter, RowWriter, open_writer

__all__ = [
    "ArrayRows",
    "Blocked",
    "Chunk",
    "FITSRowWriter",
    "FITSRows",
    "ParquetRowWriter",
    "ParquetRows",
    "RowWriter",
    "Rows",
    "Summary",
    "join",
    "open_rows",
    "open_writer",
    "read_in_order",
    "sample",
    "shuffled_minibatches",
    "summarise",
]
