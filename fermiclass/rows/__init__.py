"""Labelled rows with error bars, read from disk a chunk at a time: as many as there are, in memory that stays flat.

``chunk`` says what rows are; ``arrays``, ``parquet`` and ``fits`` read them, ``opening`` chooses by a file's ending.
``minibatches`` shuffles them for training, ``summary`` passes over them once, and ``writers`` write as many.
"""

from fermiclass.rows.arrays import ArrayRows
from fermiclass.rows.chunk import Blocked, Chunk, Rows, join, read_in_order
from fermiclass.rows.fits import FITSRows
from fermiclass.rows.minibatches import shuffled_minibatches
from fermiclass.rows.opening import open_rows
from fermiclass.rows.parquet import ParquetRows
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
