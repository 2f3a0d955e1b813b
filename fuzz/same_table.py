"""Write one catalogue in many ways: each has to give the same features, bit by bit.

    python fuzz/same_table.py --seconds 600
    python fuzz/same_table.py --seed 17 --seconds 0

A seed decides the values, which of them are missing, and two ways to write them. The plain way has double precision,
NaN where a value is missing, and no other columns. The other way has for each column any type that holds its values
exactly: bytes, whole numbers of 16, 32 and 64 bits with TSCAL, TZERO and TNULL, single or double precision; texts of
any width, that end with blanks or with a NUL and rubbish; any order, other columns between them, and any file format.
The rows of FITS files are made here, and not by astropy.

A third table says the same by another convention: other units, single precision, another order of the rows, right
ascensions from -180 to 180, classes in capitals, an impossible number where one is missing, or the hyphens and letters
of a name. Its features are the same but for rounding, and its sources are found by the same names.
"""

from __future__ import annotations

import argparse
import gzip
import io
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from astropy.io import fits
from astropy.table import MaskedColumn, Table

from fermiclass.catalog import read_catalog
from fermiclass.catalog.source_names import find_source
from fermiclass.features import Imputation, extract_features

CATALOG = Path(__file__).parent.parent / "catalogs" / "4FGL-DR4.fits.gz"
PLACES = ("RAJ2000", "DEJ2000", "GLON", "GLAT", "Signif_Avg")  # every source has them
NUMBERS = (
    "Pivot_Energy",
    "LP_SigCurv",
    "Flux1000",
    "Unc_Flux1000",
    "LP_Index",
    "Unc_LP_Index",
    "LP_beta",
    "Unc_LP_beta",
)
TEXTS = ("Source_Name", "CLASS1")
WHOLE: dict[str, Any] = {"B": np.uint8, "I": np.int16, "J": np.int32, "K": np.int64}
FORMS = {**WHOLE, "E": np.float32, "D": np.float64}
ROWS = 40


@dataclass
class Numbers:
    """A column: its values in double precision with NaN for those that are missing, and ``whole · scale + zero``."""

    values: np.ndarray
    whole: np.ndarray
    scale: float
    zero: float
    unit: str


def draw_numbers(rng: np.random.Generator, values: np.ndarray, unit: str, *, missing: bool) -> Numbers:
    """Return a column near given values that a type of whole numbers holds exactly."""
    steps = float(rng.choice([100, 20_000, 1_000_000]))
    scale = float(f"{np.nanmax(np.abs(values)) / steps:.5G}")  # a header holds this number exactly
    zero = float(f"{scale * rng.integers(-100, 100):.5G}") if rng.random() < 0.5 else 0.0
    whole = np.round((np.nan_to_num(values) - zero) / scale).astype(np.int64)
    exact = whole * scale + zero
    if missing:
        exact = np.where(rng.random(len(exact)) < rng.choice([0.0, 0.1, 0.5]), np.nan, exact)
    return Numbers(exact, whole, scale, zero, unit)


def draw_table(rng: np.random.Generator) -> tuple[dict[str, Numbers], dict[str, np.ndarray]]:
    """Return numbers and texts of a random part of DR4."""
    with fits.open(CATALOG) as hdus:
        data, columns = hdus[1].data, hdus[1].columns
        rows = np.sort(rng.choice(len(data), ROWS, replace=False))
        numbers = {
            name: draw_numbers(rng, data[name][rows].astype(float), columns[name].unit, missing=name in NUMBERS)
            for name in (*PLACES, *NUMBERS)
        }
        return numbers, {name: np.char.encode(np.asarray(data[name][rows]), "ascii") for name in TEXTS}


@dataclass
class Written:
    """A column in a file: what TFORM is, the stored array, and further keywords."""

    name: str
    form: str
    stored: np.ndarray
    cards: dict[str, Any]


def plain_numbers(name: str, column: Numbers) -> Written:
    """Return a column in double precision."""
    return Written(name, "D", column.values, {"TUNIT": column.unit})


def any_numbers(rng: np.random.Generator, name: str, column: Numbers) -> Written:
    """Return a column of a random type among those that hold its values."""
    missing = np.isnan(column.values)
    cards: dict[str, Any] = {"TUNIT": column.unit}
    possible = ["D"]
    with np.errstate(over="ignore"):
        if np.array_equal(column.values.astype(np.float32).astype(float), column.values, equal_nan=True):
            possible += ["E"]
    lowest, highest = column.whole.min(), column.whole.max()
    # astropy refuses TZERO of 64 bits.
    possible += [
        form
        for form, kind in WHOLE.items()
        if np.iinfo(kind).min < lowest and highest < np.iinfo(kind).max - 1 and (form != "K" or not column.zero)
    ]
    form = str(rng.choice(possible))
    if form in WHOLE:
        kind = np.iinfo(WHOLE[form])
        null = int(rng.choice([kind.min, kind.max, highest + 1, lowest - 1]))
        if np.any(missing) or rng.random() < 0.5:
            cards["TNULL"] = null
        cards |= {"TSCAL": column.scale, "TZERO": column.zero}
        return Written(name, form, np.where(missing, null, column.whole).astype(FORMS[form]), cards)
    if rng.random() < 0.3:  # floating-point numbers may be scaled, too
        cards |= {"TSCAL": column.scale, "TZERO": column.zero}
        return Written(name, form, np.where(missing, np.nan, column.whole).astype(FORMS[form]), cards)
    return Written(name, form, column.values.astype(FORMS[form]), cards)


def any_text(rng: np.random.Generator, name: str, texts: np.ndarray) -> Written:
    """Return texts of a random width, each ended by blanks or by a NUL and rubbish."""
    width = texts.dtype.itemsize + int(rng.integers(0, 20))
    ended = [
        text.ljust(width) if rng.random() < 0.5 else (text + b"\0" + rng.bytes(width) if rng.random() < 0.5 else text)
        for text in texts.tolist()
    ]
    return Written(name, f"{width}A", np.array([text[:width].ljust(width, b"\0") for text in ended], f"S{width}"), {})


def other_column(rng: np.random.Generator, number: int) -> Written:
    """Return a column that no feature needs."""
    form = str(rng.choice([*FORMS, "L", "5E", "3I", "4A"]))
    size = max(fits.Column("x", form).dtype.itemsize, 1)
    raw = rng.bytes(ROWS * size) if form != "L" else bytes(rng.choice(list(b"TF\0"), ROWS).tolist())
    return Written(f"Other{number}", form, np.frombuffer(raw, f"V{size}"), {})


def to_bytes(columns: list[Written]) -> bytes:
    """Return a FITS file, with the header and the numbers written by hand."""
    arrays = [
        c.stored if c.stored.dtype.kind in "SV" else c.stored.astype(c.stored.dtype.newbyteorder(">")) for c in columns
    ]
    rows = b"".join(b"".join(array[row : row + 1].tobytes() for array in arrays) for row in range(ROWS))
    width = sum(array.dtype.itemsize for array in arrays)
    cards = [("XTENSION", "BINTABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", width), ("NAXIS2", ROWS), ("PCOUNT", 0),
             ("GCOUNT", 1), ("TFIELDS", len(columns)), ("EXTNAME", "LAT_Point_Source_Catalog")]  # fmt: skip
    for number, column in enumerate(columns, start=1):
        cards += [(f"TTYPE{number}", column.name), (f"TFORM{number}", column.form)]
        cards += [(f"{key}{number}", value) for key, value in column.cards.items() if value is not None]
    header = fits.Header([fits.Card(key, value) for key, value in cards])
    primary = fits.Header(
        [fits.Card("SIMPLE", True), fits.Card("BITPIX", 8), fits.Card("NAXIS", 0), fits.Card("EXTEND", True)]
    )
    parts = [primary.tostring().encode(), header.tostring().encode(), rows]
    return b"".join(part + b"\0" * (-len(part) % 2880) for part in parts)


def masked_table(columns: list[Written], numbers: dict[str, Numbers], texts: dict[str, np.ndarray]) -> Table:
    """Return an astropy table, whose masked numbers have another number behind the mask."""
    table = Table()
    for column in columns:
        if column.name in texts:
            table[column.name] = np.char.decode(texts[column.name], "ascii")
        elif column.name in numbers:
            given = numbers[column.name]
            kind = np.float32 if column.form == "E" else np.float64
            missing = np.isnan(given.values)
            values = np.where(missing, 7.0, given.values).astype(kind)
            table[column.name] = MaskedColumn(values, mask=missing, unit=given.unit)
    return table


def write(
    rng: np.random.Generator, folder: Path, way: str, numbers: dict[str, Numbers], texts: dict[str, np.ndarray]
) -> Any:
    """Write the table in a way, and return what is to be read."""
    columns = [any_numbers(rng, name, column) for name, column in numbers.items()]
    columns += [any_text(rng, name, column) for name, column in texts.items()]
    columns += [other_column(rng, number) for number in range(int(rng.integers(0, 4)))]
    columns = [columns[k] for k in rng.permutation(len(columns))]
    path = folder / f"catalog.{way}"
    if way in ("fits", "fits.gz", "HDUs"):
        content = to_bytes(columns)
        if way == "HDUs":
            return fits.open(io.BytesIO(content))
        path.write_bytes(gzip.compress(content, 1) if way == "fits.gz" else content)
        return path
    table = masked_table(columns, numbers, texts)
    if way == "xml":
        table.write(
            path, format="votable", tabledata_format=str(rng.choice(["tabledata", "binary", "binary2"])), overwrite=True
        )
        return path
    if way == "parquet":
        table.write(path, format="parquet", overwrite=True)
        return path
    return table


def read(source: Any, imputation: Imputation | None = None) -> dict[str, Any]:
    """Return what the feature table holds for each source, and the policy for missing values."""
    table = extract_features(read_catalog(source), "six", imputation=imputation)
    found = {name: getattr(table, name) for name in ("X", "X_var", "flags", "names", "y")}
    return {**found, "imputation": table.imputation}


#: Columns in other units: factors and units.
OTHER_UNITS = {
    "Pivot_Energy": (1e-3, "GeV"),
    "Flux1000": (1e4, "ph m-2 s-1"),
    "LP_SigCurv": (100.0, "%"),
    "GLAT": (np.pi / 180.0, "rad"),
    "DEJ2000": (60.0, "arcmin"),
}
#: Conventions, and the relative difference of the features that rounding makes.
CONVENTIONS = {
    "units": 1e-9, "precision": 1e-4, "order": 1e-9, "sign": 1e-9, "capitals": 0.0, "ranges": 0.0, "names": 0.0
}  # fmt: skip


def related(rng: np.random.Generator, convention: str, columns: list[Written]) -> tuple[list[Written], np.ndarray]:
    """Return plain columns by another convention, and the order of their rows."""
    order = rng.permutation(ROWS) if convention == "order" else np.arange(ROWS)
    changed = []
    for column in columns:
        name, form, stored, cards = column.name, column.form, column.stored[order].copy(), dict(column.cards)
        if convention == "units" and name in OTHER_UNITS and rng.random() < 0.5:
            factor, cards["TUNIT"] = OTHER_UNITS[name]
            stored = stored * factor
        elif convention == "precision" and form == "D":
            form, stored = "E", stored.astype(np.float32)
        elif convention == "sign" and name in ("RAJ2000", "GLON"):
            stored = np.where(stored > 180.0, stored - 360.0, stored)
        elif convention == "capitals" and name == "CLASS1":
            stored = np.where(rng.random(ROWS) < 0.5, np.char.upper(stored), np.char.lower(stored))
        elif convention == "ranges" and name in NUMBERS and np.any(np.isnan(stored)):
            stored[np.flatnonzero(np.isnan(stored))[0]] = rng.choice([1e9, -1e9, 1e300])
        changed.append(Written(name, form, stored, cards))
    return changed, order


def check_names(rng: np.random.Generator, source: Path) -> None:
    """Find a source by its name with another hyphen, other blanks, in small letters, and without the catalogue."""
    catalog = read_catalog(source)
    row = int(rng.integers(len(catalog)))
    name = str(catalog.names[row]).replace("-", str(rng.choice(["-", "\u2010", "\u2011", "\u2013", "\u2212"])))
    name = name.removeprefix("4FGL ") if rng.random() < 0.5 else name.replace(" ", str(rng.choice(["", " ", "  "])))
    assert find_source(catalog, name.lower() if rng.random() < 0.5 else name) == row, name


WAYS = ("fits", "fits", "fits.gz", "HDUs", "table", "xml", "parquet")


def check(seed: int, folder: Path) -> str:
    """Write and read one table in two ways; return the second way, or raise AssertionError."""
    rng = np.random.default_rng(seed)
    numbers, texts = draw_table(rng)
    way = WAYS[rng.integers(len(WAYS))]
    plain = [plain_numbers(name, column) for name, column in numbers.items()]
    plain += [Written(name, f"{text.dtype.itemsize}A", text, {}) for name, text in texts.items()]
    (folder / "plain.fits").write_bytes(to_bytes(plain))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = read(folder / "plain.fits")
        imputation = expected.pop("imputation") if rng.random() < 0.5 else None
        found = read(write(rng, folder, way, numbers, texts), imputation)
    for name in ("X", "X_var", "flags", "names", "y"):
        np.testing.assert_array_equal(found[name], expected[name], err_msg=f"seed {seed}, {way}, {name}")
    convention = str(rng.choice(list(CONVENTIONS)))
    columns, order = related(rng, convention, plain)
    (folder / "related.fits").write_bytes(to_bytes(columns))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_names(rng, folder / "plain.fits")
        again = read(folder / "related.fits", imputation)
    for name in ("X", "X_var", "flags", "names", "y"):
        wanted, told = expected[name][order], f"seed {seed}, {convention}, {name}"
        if name in ("X", "X_var"):
            rtol = CONVENTIONS[convention]
            np.testing.assert_allclose(again[name], wanted, rtol=rtol, atol=rtol * np.abs(wanted).max(), err_msg=told)
        else:
            np.testing.assert_array_equal(again[name], wanted, err_msg=told)
    return way


def main() -> None:
    """Check one seed after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    end, seed, counts = time.monotonic() + chosen.seconds, chosen.seed, dict.fromkeys(WAYS, 0)
    with tempfile.TemporaryDirectory() as folder:
        while seed == chosen.seed or time.monotonic() < end:
            counts[check(seed, Path(folder))] += 1
            seed += 1
            if seed % 100 == 0:
                print(counts, flush=True)
    print(f"{sum(counts.values())} tables, seeds {chosen.seed} to {seed - 1}, all with the same features: {counts}")


if __name__ == "__main__":
    main()
