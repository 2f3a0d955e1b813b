"""What a damage is, and the catalogue that is damaged: a tenth of 4FGL-DR4."""

import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from astropy.io import fits
from astropy.table import Table

from tests.conftest import slim_path

EVERY = 10
BLOCK = 2880


@dataclass(frozen=True)
class Refused:
    """Exit status 2, and a message that matches `fault` and, after it, `remedy`; no output."""

    fault: str
    remedy: str


@dataclass(frozen=True)
class Answered:
    """Exit status 0, the features of the undamaged catalogue, and a warning that matches `warning`, or none.

    Features are compared where nothing was imputed, but for `rows` and `features`, which the damage is about.
    """

    warning: str = ""
    rows: tuple[int, ...] = ()
    features: tuple[str, ...] = ()
    order: Callable | None = None  # of the rows: which of the undamaged ones each is


@dataclass(frozen=True)
class Damage:
    """A way to spoil a catalogue: `make` writes it into a folder and returns its path."""

    name: str
    make: Callable[["Base", Path], Path]
    outcome: Refused | Answered
    options: tuple[str, ...] = field(default=("--features", "extended"))


class Base:
    """The undamaged catalogue: bytes of a FITS file, and the table in it."""

    def __init__(self):
        with fits.open(io.BytesIO(gzip.decompress(slim_path("4FGL-DR4").read_bytes()))) as hdus:
            rows = fits.BinTableHDU(hdus[1].data[np.arange(0, len(hdus[1].data), EVERY)], header=hdus[1].header)
            self.content = file_bytes(fits.PrimaryHDU(), rows)
        self._table = Table.read(io.BytesIO(self.content), hdu=1)

    @property
    def table(self):
        """A copy to be changed, with float64 columns, which hold more than float32 does."""
        table = self._table.copy()
        for name in table.colnames:
            if table[name].dtype.kind == "f":
                table[name] = table[name].astype(np.float64)
        return table

    @property
    def hdus(self):
        """The HDUs, to be changed."""
        return fits.HDUList.fromstring(self.content)


def file_bytes(*hdus):
    stream = io.BytesIO()
    fits.HDUList(list(hdus)).writeto(stream, output_verify="ignore")
    return stream.getvalue()


def of_bytes(change, name="catalog.fits"):
    """Damage to the bytes of the file."""

    def make(base, folder):
        (folder / name).write_bytes(change(base.content))
        return folder / name

    return make


def of_gzip(change):
    """Damage to the bytes of the compressed file."""
    return of_bytes(lambda content: change(gzip.compress(content, mtime=0)), "catalog.fits.gz")


def of_table(change):
    """Damage to the table, which is written as an intact file; `change` works in place, or returns another table."""

    def make(base, folder):
        table = base.table
        changed = change(table)
        table = table if changed is None else changed
        hdu = fits.table_to_hdu(table)
        hdu.name = "LAT_Point_Source_Catalog"
        (folder / "catalog.fits").write_bytes(file_bytes(fits.PrimaryHDU(), hdu))
        return folder / "catalog.fits"

    return make


def of_hdus(change):
    """Damage to the list of HDUs; `change` works in place, or returns others."""

    def make(base, folder):
        hdus = base.hdus
        changed = change(hdus)
        (folder / "catalog.fits").write_bytes(file_bytes(*(hdus if changed is None else changed)))
        return folder / "catalog.fits"

    return make


def in_header(old, new):
    """Damage to one card of the table's header: texts of the same length."""
    assert len(old) == len(new)

    def change(content):
        assert content.count(old, BLOCK) >= 1
        return content[:BLOCK] + content[BLOCK:].replace(old, new, 1)

    return of_bytes(change)


def setting(column, rows, values):
    """Damage to some rows of one column."""

    def change(table):
        table[column][rows] = values

    return of_table(change)


def replacing(column, make):
    """Damage to a whole column: `make` turns its values into others."""

    def change(table):
        old = table[column]
        table.replace_column(column, Table.Column(make(np.asarray(old)), name=column, unit=old.unit))

    return of_table(change)


def in_units(column, factor, unit):
    """A column in other units, which the file names."""

    def change(table):
        table[column] = np.asarray(table[column]) * factor
        table[column].unit = unit

    return of_table(change)
