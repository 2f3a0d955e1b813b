"""ECSV, CSV and others: tables as text."""

from __future__ import annotations

import io
import re
from contextlib import suppress

import numpy as np
from astropy.io import ascii
from astropy.table import Column, Table

from fermiclass.io.plain import plain_table, rows_of_numbers

#: Control characters, and those that Python's text readers take for the end of a line.
_NOT_IN_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")

_NUMBER = re.compile(r"\s*[-+−]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?\s*")
_COMMA = re.compile(f"([<≤]?{_NUMBER.pattern})|nan|")  # with a decimal comma, maybe a limit, or empty
_THOUSANDS = re.compile(r"[-+−]?[1-9]\d{0,2},\d{3}")  # or a decimal comma
_LIST = re.compile(r"[(\[][^()]*[)\]]")  # as TOPCAT and pandas write values of several numbers
_UNIT = re.compile(r"\([^()]*\)")
_SEXAGESIMAL = re.compile("hms|dms")  # no units, and the texts say what they are
_DASHES = re.compile(r"[-\s;,|]*--[-\s;,|]*")


def decoded(content: bytes) -> str:
    """Return a text in UTF-8 or UTF-16, or else as Excel writes Western languages."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def from_text(content: bytes, *, is_csv: bool = False) -> Table:
    """Return the table of a text file as a plain table: separated values, or what astropy can guess, such as IPAC.

    The separator is a comma, semicolon, tab or bar; beside the others a number may have a decimal comma. Lines that
    begin with # before the names of the columns are comments, unless the last one has the names. Units may follow in
    brackets, or before a line of dashes, as VizieR writes them. Further lines of # with fewer separators, and rows
    without any value, are left out. Raises any error of astropy, and ValueError, where there is no table.
    """
    lines = re.split("\r\n|\r|\n", decoded(content).rstrip("\r\n"))
    filled = [line for line in lines if line.strip()]
    # As HEASARC writes a table; the rows of IPAC's begin with a blank.
    if filled and filled[0].startswith("|") and filled[-1].startswith("|"):
        lines = [line.strip()[1:-1] for line in filled]
    start = next((k for k, line in enumerate(lines) if line.strip() and not line.startswith(("#", "sep="))), 0)
    bare = [re.sub('"[^"]*"', "", line) for line in lines[start:] if line.strip()][:2] or [""]
    separator = max(",;\t|", key=lambda each: min(line.count(each) for line in bare))
    if (not is_csv and separator not in bare[0]) or bare[0].startswith(("|", "\\")):
        table = ascii.read(lines)
        if not len(table):
            raise ValueError("it has no rows below the names of columns")
        return _plain(table)
    above = lines[start - 1].lstrip("# ") if start else ""
    entries = [entry.strip() for entry in bare[0].split(separator)]
    filled = [entry for entry in entries if entry]
    of_units = bool(filled) and sum(map(bool, map(_UNIT.fullmatch, filled))) > 0.8 * len(filled)  # as psrcat has them
    if above.count(separator) == len(entries) - 1 and (of_units or any(map(_NUMBER.fullmatch, entries))):
        start -= 1
        lines[start] = above
    width = len(entries) - 1
    dashes = next((k for k in range(start + 1, min(start + 4, len(lines))) if _DASHES.fullmatch(lines[k])), start)
    rows = [x for x in lines[dashes + 1 :] if x.strip(f"{separator} ") and (x.count(separator) >= width or x[0] != "#")]
    rows = rows[of_units:]
    form = {"format": "tab", "comment": "\0"} if separator == "\t" else {"format": "csv", "delimiter": separator}
    table = ascii.read("\n".join([lines[start], *rows, ""]), **form)
    units = lines[dashes - 1].split(separator) if dashes > start + 1 else entries if of_units else []
    for name, unit in zip(table.colnames, units, strict=False):
        table[name].unit = _SEXAGESIMAL.sub("", unit.strip(" ()")) or None
    return _plain(table, commas=separator != ",")


def _plain(table: Table, *, commas: bool = False) -> Table:
    """Return a table with texts that stand for truth values, for lists and, with commas, for numbers as such."""
    words = {name: np.ma.filled(x, "").tolist() for name, x in table.columns.items() if x.dtype.kind == "U"}
    numeric = {name for name, x in words.items() if commas and any(x) and all(map(_COMMA.fullmatch, x))}
    given = {each.strip() for name in numeric for each in words[name] if "," in each}
    if given and all(map(_THOUSANDS.fullmatch, given)):
        raise ValueError(f"{min(given)} has a decimal comma, or one of thousands: write numbers with a decimal point")
    for name in table.colnames if len(table) else ():
        column, unit = table[name], table[name].unit
        # A missing number is written as nan, never as a blank. So a column of blanks holds empty strings.
        if np.ma.getmaskarray(column).all():
            table[name] = np.full(len(table), "")
        texts: list[str] = words.get(name, [])
        if set(column.tolist()) <= {"True", "False"}:
            table[name] = np.asarray(column) == "True"
        elif name in numeric:
            pointed, limits = [each.replace(",", ".") for each in texts], any("<" in x or "≤" in x for x in texts)
            table[name] = Column(pointed if limits else [float(each or "nan") for each in pointed], unit=unit)
        elif texts and all(map(_LIST.fullmatch, texts)):
            items = [re.split(r"\s*,\s*" if "," in x else r"\s+", x[1:-1].strip()) for x in texts]
            with suppress(ValueError):
                table[name] = Column(rows_of_numbers([[y or "nan" for y in each] for each in items]), unit=unit)
    return plain_table(table)


def to_text(table: Table, format_name: str) -> bytes:
    """Return a plain table in a text format of astropy; one that is no ECSV has no units, descriptions and metadata."""
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
