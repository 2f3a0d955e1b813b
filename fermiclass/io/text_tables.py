"""ECSV and CSV: tables as text, and what describes a CSV file beside it."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.io.plain import check_dimensions, plain_table

if TYPE_CHECKING:
    from astropy.table import Table

#: Control characters, and those that Python's text readers take for the end of a line.
_NOT_IN_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")

#: Types of numpy in the words of CSV on the Web.
_CSVW_TYPES = {"b": "boolean", "i": "integer", "u": "integer", "f": "double", "U": "string"}


def to_ecsv(table: Table) -> bytes:
    """Return a plain table as an ECSV file."""
    return _to_text(table, "ascii.ecsv")


def from_ecsv(content: bytes) -> Table:
    """Return the table of an ECSV file."""
    from astropy.table import Table

    return plain_table(Table.read(_text_lines(content), format="ascii.ecsv"))


def to_csv(table: Table) -> bytes:
    """Return a plain table as a CSV file."""
    return _to_text(check_dimensions(table, 1), "ascii.csv")


def from_csv(content: bytes) -> Table:
    """Return the table of a CSV file that :func:`to_csv` made."""
    from astropy.table import Table

    table = Table.read(_text_lines(content), format="ascii.csv")
    for name in table.colnames:
        # A missing number is written as nan, never as a blank. So a column of blanks holds empty strings.
        if len(table) and np.ma.getmaskarray(table[name]).all():
            table[name] = np.full(len(table), "")
        elif len(table) and set(table[name].tolist()) <= {"True", "False"}:
            table[name] = np.asarray(table[name]) == "True"
    return plain_table(table)


def description_path(target: Path) -> Path:
    """Return the name of the file that describes a CSV file, as CSV on the Web (W3C 2015) has it."""
    return target.with_name(f"{target.name}-metadata.json")


def description_of(table: Table, target: Path) -> dict[str, Any]:
    """Return what a CSV file cannot hold: the columns' units, descriptions and UCDs, and the table's metadata."""
    columns = []
    for name in table.colnames:
        column = table[name]
        about = {"dc:description": column.description, "unit": column.unit, "ucd": column.meta.get("ucd")}
        texts = {key: str(text) for key, text in about.items() if text}
        columns.append({"name": name, "datatype": _CSVW_TYPES[column.dtype.kind], **texts})
    return {
        "@context": "http://www.w3.org/ns/csvw",
        "url": target.name,
        "tableSchema": {"columns": columns},
        "notes": [dict(table.meta)],
    }


def _text_lines(content: bytes) -> io.BytesIO:
    """Return text whose only ends of lines are ends of lines."""
    return io.BytesIO(_NOT_IN_TEXT.sub("\ufffd", content.decode("utf-8")).encode("utf-8"))


def _to_text(table: Table, format_name: str) -> bytes:
    clean = table.copy(copy_data=False)
    for name in table.colnames:
        if table[name].dtype.kind == "U" and any(map(_has_odd_letters, np.ravel(table[name]).tolist())):
            texts = [_printable(text) for text in np.ravel(table[name]).tolist()]
            clean[name] = table[name].copy(data=np.array(texts, str).reshape(table[name].shape))
    stream = io.StringIO(newline="")
    # Numbers in single precision have the digits of single precision.
    single = [name for name in table.colnames if table[name].dtype == np.float32 and table[name].ndim == 1]
    clean.write(stream, format=format_name, formats=dict.fromkeys(single, _single_text))
    return stream.getvalue().encode("utf-8")


def _has_odd_letters(text: str) -> bool:
    return "\r" in text or _NOT_IN_TEXT.search(text) is not None


def _printable(text: str) -> str:
    return _NOT_IN_TEXT.sub("\ufffd", text).replace("\r", "\ufffd")


def _single_text(value: Any) -> str:
    return str(np.float32(value))
