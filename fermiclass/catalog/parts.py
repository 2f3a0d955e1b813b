"""Large catalogues, read a part at a time."""

from __future__ import annotations

import hashlib
import math
import mmap
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from io import BufferedReader
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog.catalog import Catalog
from fermiclass.catalog.plausibility import warn_of_repeated_names, warn_of_unknown_classes
from fermiclass.catalog.reading import (
    as_catalog,
    check_columns,
    check_formats,
    check_rows,
    damage_reported,
    table_hdu,
    to_table,
    whole_table_hdu,
)
from fermiclass.catalog.releases import recognise
from fermiclass.catalog.structure import FITS_MAGIC, check_sum
from fermiclass.errors import CatalogError
from fermiclass.io.inputs import MOST_BYTES

#: Sources in memory at a time. Each takes about 7 kB while it is labelled, little compared with the libraries.
PART_ROWS = 20_000

_PIECE = 1 << 24  # bytes, a multiple of four
_OF_THE_WHOLE = ("DATASUM", "CHECKSUM", "THEAP")  # header keywords that are not valid for a part


class CatalogParts:
    """The parts of a LAT catalogue in a FITS file, each a :class:`Catalog`. They can be iterated several times.

    Lengths, checksums and the release are checked for the whole file. Values are checked part by part; no warning is
    given twice.

    Parameters
    ----------
    path
        A FITS file that is not compressed.
    rows
        Maximum number of sources in a part. All parts have nearly the same size.

    Raises
    ------
    CatalogError
        When the file is missing, compressed, damaged or not a catalogue, as by :func:`fermiclass.read_catalog`; when
        the file changes between two reads.
    """

    def __init__(self, path: str | os.PathLike[str], rows: int = PART_ROWS) -> None:
        from astropy.io import fits

        self.path = Path(path)
        self._shown, self._short = f"'{self.path}'", f"'{self.path.name}'"
        self._warned: set[str] = set()
        if not _is_plain_fits(self.path):
            raise CatalogError(
                f"{self._shown} is not a FITS file, or it is compressed, so it cannot be read in parts. Unpack it."
            )
        self._stamp = self._stamp_now()
        with (
            damage_reported(self._shown),
            self.path.open("rb") as stream,
            mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content,
            fits.open(stream, memmap=False, lazy_load_hdus=False) as hdus,
        ):
            hdu = whole_table_hdu(hdus, content, self._shown)
            check_columns(hdu.columns.names, hdu.header, self._short)
            check_formats(hdu, self._shown)
            self._header, self._keywords = hdu.header.copy(), dict(hdu.header)
            about, names = hdu.fileinfo(), list(hdu.columns.names)
        self._begin, self._width = int(about["datLoc"]), int(self._keywords["NAXIS1"])
        self._num_sources = int(self._keywords["NAXIS2"])
        check_rows(self._num_sources, self._short)
        self._rows = math.ceil(self._num_sources / math.ceil(self._num_sources / rows))
        with self._opened() as stream:
            check_sum(self._keywords, _pieces(stream, self._begin, int(about["datSpan"])), self._shown)
        self.release = recognise(self._keywords, names, self._num_sources, self._short)

    def __len__(self) -> int:
        """Return the number of sources in all parts."""
        return self._num_sources

    def __iter__(self) -> Iterator[Catalog]:
        """Read one part after the other."""
        for start in range(0, self._num_sources, self._rows):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                part = self._part(start, min(start + self._rows, self._num_sources))
            for warning in caught:
                self._warn(warning)
            yield part

    @cached_property
    def sha256(self) -> str:
        """Checksum of the file."""
        with self._opened() as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()

    @cached_property
    def classes(self) -> NDArray[np.str_]:
        """Class codes of all sources, as :attr:`Catalog.classes`. This reads every part.

        Warns
        -----
        CatalogWarning
            When names of sources repeat, or classes are unknown.
        """
        parts, names = [], []
        for part in self:
            parts.append(part.classes)
            names.append(np.char.encode(part.names, "ascii", "replace"))  # a quarter of the memory
        classes = np.concatenate(parts)
        warn_of_unknown_classes(classes, self._short)
        found, counts = np.unique(np.concatenate(names), return_counts=True)
        repeated = counts > 1
        warn_of_repeated_names(np.char.decode(np.repeat(found[repeated], counts[repeated])), self._short)
        return classes

    def _part(self, start: int, stop: int) -> Catalog:
        from astropy.io import fits

        shown = f"{self._short}, rows {start + 1} to {stop}"
        header = self._header.copy()
        header["NAXIS2"], header["PCOUNT"] = stop - start, 0
        for key in _OF_THE_WHOLE:
            header.remove(key, ignore_missing=True)
        with self._opened() as stream:
            stream.seek(self._begin + start * self._width)
            data = stream.read((stop - start) * self._width)
        with damage_reported(self._shown):
            hdu = fits.BinTableHDU.fromstring(header.tostring().encode("ascii") + data, uint=True)
            table = to_table(hdu, shown)
        return as_catalog(table, self._keywords, self.path.name, self.sha256, shown, self.release)

    def _warn(self, warning: warnings.WarningMessage) -> None:
        """Give a warning once, if the warnings of the parts differ only in numbers or plurals."""
        key = re.sub(r"[\W\ds]+", "", str(warning.message))
        if key not in self._warned:
            self._warned.add(key)
            warnings.warn(warning.message, stacklevel=3)

    @contextmanager
    def _opened(self) -> Iterator[BufferedReader]:
        """Open the file, after a check that it is the same as before."""
        if self._stamp_now() != self._stamp:
            raise CatalogError(
                f"{self._shown} was changed while it was read. Run the command again when it is complete."
            )
        try:
            with self.path.open("rb") as stream:
                yield stream
        except OSError as error:
            raise CatalogError(f"{self._shown} cannot be read: {error.strerror or error}. Check its disk.") from error

    def _stamp_now(self) -> tuple[int, ...]:
        try:
            status = self.path.stat()
        except OSError as error:
            raise CatalogError(f"{self._shown} cannot be read: {error.strerror or error}. Check its name.") from error
        return status.st_ino, status.st_size, status.st_mtime_ns


def open_large_catalog(path: str | os.PathLike[str], rows: int | None = None) -> CatalogParts | None:
    """Return a catalogue of more than `rows` sources (by default `PART_ROWS`) in parts, after reading every part once.

    Return None for smaller catalogues, and for files that cannot be read in parts.

    Raises
    ------
    CatalogError
        As by :class:`CatalogParts`, and when a part cannot be read.
    """
    most = rows or PART_ROWS
    if _sources(Path(path)) <= most:
        return None
    parts = CatalogParts(path, most)
    parts.classes  # noqa: B018 - reads every part, so an error in any of them is reported at once
    return parts


def _sources(path: Path) -> int:
    """Return the number of sources in the header of the catalogue's table; 0 if the file has no such header."""
    from astropy.io import fits

    if not _is_plain_fits(path):
        return 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with fits.open(path, memmap=True, lazy_load_hdus=False) as hdus:
                return int(table_hdu(hdus, "").header["NAXIS2"])
    except Exception:  # astropy has no common exception; reading the whole file reports the error
        return 0


def _is_plain_fits(path: Path) -> bool:
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return False
        with path.open("rb") as stream:
            return stream.read(len(FITS_MAGIC)) == FITS_MAGIC
    except (OSError, ValueError):
        return False


def _pieces(stream: BufferedReader, begin: int, size: int) -> Iterator[bytes]:
    stream.seek(begin)
    while size > 0 and (piece := stream.read(min(_PIECE, size))):
        yield piece
        size -= len(piece)
