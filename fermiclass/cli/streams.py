"""Standard output and standard error: closed, full, broken, or in an encoding of few letters."""

from __future__ import annotations

import codecs
import io
import os
import sys
import unicodedata
from typing import TextIO

_TO_ASCII = "fermiclass.ascii"

#: Letters of our texts in ASCII. Others lose their accents, or become a question mark.
_IN_ASCII = {
    "σ": "sigma",
    "±": "+-",
    "−": "-",
    "–": "-",
    "—": "-",
    "≥": ">=",
    "≤": "<=",
    "×": "x",
    "°": " deg",
    "“": '"',
    "”": '"',
    "’": "'",
}


def prepare_streams() -> None:
    """Make standard output and error writable: a closed one leads nowhere, and letters of no encoding become ASCII."""
    codecs.register_error(_TO_ASCII, _in_ascii)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            # In this order, because it gets the lowest free number. Libraries write their messages to number 2,
            # which otherwise is the next file that is opened.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_TO_ASCII)


def finish(stream: TextIO) -> OSError | None:
    """Write out what a stream still holds. Return the error if that fails; the stream then leads nowhere."""
    try:
        stream.flush()
    except OSError as error:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        return error
    return None


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return "".join(_IN_ASCII.get(letter) or _plain(letter) for letter in letters), error.end


def _plain(letter: str) -> str:
    return unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode() or "?"
