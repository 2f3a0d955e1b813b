"""ECSV and CSV: tables as text."""

from __future__ import annotations

import io
import re

import numpy as np
from astropy.table import Table

from fermiclass.io.plain import check_dimensions, plain_table

#: Control characters, and those that Python's text readers take for the end of a line.
_NOT_IN_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def to_ecsv(table: Table) -> bytes:
    """Return a plain table as an ECSV file."""
    return _to_text(table, "ascii.ecsv")


def from_ecsv(content: bytes) -> Table:
    """Return the table of an ECSV file as a plain table."""
    return plain_table(Table.read(content.decode("utf-8"), format="ascii.ecsv"))


def to_csv(table: Table) -> bytes:
    """Return a plain table as a CSV file, without units, descriptions and metadata."""
    return _to_text(check_dimensions(table, 1), "ascii.csv")


def from_csv(content: bytes) -> Table:
    """Return the table of a CSV file as a plain table."""
    table = Table.read(content.decode("utf-8"), format="ascii.csv")
    for name in table.colnames:
        # A missing number is written as nan, never as a blank. So a column of blanks holds empty strings.
        if len(table) and np.ma.getmaskarray(table[name]).all():
            table[name] = np.full(len(table), "")
        elif len(table) and set(table[name].tolist()) <= {"True", "False"}:
            table[name] = np.asarray(table[name]) == "True"
    return plain_table(table)


def _to_text(table: Table, format_name: str) -> bytes:
    clean = table.copy(copy_data=False)
    for name in table.colnames:
        if table[name].dtype.kind == "U":
            texts = [_NOT_IN_TEXT.sub("\ufffd", text) for text in np.ravel(table[name]).tolist()]
            clean[name] = table[name].copy(data=np.array(texts, str).reshape(table[name].shape))
    # Numbers in single precision have the digits of single precision.
    single = [name for name in table.colnames if table[name].dtype == np.float32 and table[name].ndim == 1]
    stream = io.StringIO(newline="")
    clean.write(stream, format=format_name, formats=dict.fromkeys(single, lambda value: str(np.float32(value))))
    return stream.getvalue().encode("utf-8")
