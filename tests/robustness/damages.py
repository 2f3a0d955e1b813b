"""Kinds of damage to a catalogue, and what is to come of each."""

import bz2
import gzip
import io
import lzma
import os
import zipfile

import numpy as np
from astropy.io import fits

from tests.robustness.damage import (
    BLOCK,
    Answered,
    Damage,
    Refused,
    file_bytes,
    in_header,
    in_units,
    of_bytes,
    of_gzip,
    of_hdus,
    of_table,
    replacing,
    setting,
)

AGAIN = "Download it again"
USE = "Use a 4FGL release"
SIX = ("--features", "six")
FLUX_BOUND = ("ln_Flux1000",)
REQUIRED = ("Source_Name", "RAJ2000", "Signif_Avg", "Pivot_Energy", "Flux1000", "LP_Index", "Unc_LP_beta", "CLASS1")
OPTIONAL = ("Variability_Index", "Flux_Band", "Unc_Flux_Band", "PL_Index", "Energy_Flux100", "PLEC_SigCurv")

TRUNCATED = Refused(r"truncated|damaged|not a FITS file|has no table", f"{AGAIN}|{USE}")


def card(name, value):
    """Return the start of a header card: numbers are aligned to the right, texts to the left."""
    return f"{name:<8}= {value if str(value).startswith(chr(39)) else f'{value:>20}'}".encode()


def cut(place):
    return lambda content: content[: int(place * len(content)) if 0 < place < 1 else place]


def flipped(place):
    def flip(content):
        spoilt = bytearray(content)
        spoilt[int(place * len(content)) if 0 < place < 1 else place] ^= 0x10
        return bytes(spoilt)

    return flip


def zipped(*names):
    def pack(content):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in names:
                archive.writestr(name, content)
        return stream.getvalue()

    return pack


def bomb(content):
    """Far more zeros than a catalogue packs to, after an intact table."""
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=9) as archive:
        archive.write(content)
        for _ in range(260):
            archive.write(bytes(1 << 20))
    return stream.getvalue()


def checksummed_and_flipped(hdus):
    table = hdus[1]
    table.add_checksum()
    content = bytearray(file_bytes(*hdus))
    content[-len(table.data) * 300] ^= 0x01
    return content


def write_flipped(base, folder):
    (folder / "catalog.fits").write_bytes(bytes(checksummed_and_flipped(base.hdus)))
    return folder / "catalog.fits"


def other_table_first(hdus):
    return [hdus[0], fits.BinTableHDU.from_columns([fits.Column("Source_Name", "18A", array=["x"])]), hdus[1]]


def ascii_table(hdus):
    columns = [fits.Column("Source_Name", "A18", array=hdus[1].data["Source_Name"])]
    hdu = fits.TableHDU.from_columns(columns)
    hdu.name = "LAT_Point_Source_Catalog"
    return [hdus[0], hdu]


def variable_length(hdus):
    arrays = np.array([np.zeros(k % 3, np.float32) for k in range(len(hdus[1].data))], dtype=object)
    columns = [c for c in hdus[1].columns if c.name != "LP_Index"]
    return [
        hdus[0],
        fits.BinTableHDU.from_columns(
            [*columns, fits.Column("LP_Index", "PE()", array=arrays)],
            header=hdus[1].header[:9],
            name="LAT_Point_Source_Catalog",
        ),
    ]


def scaled(hdus):
    """Numbers stored as integers with a scale and an offset: the same numbers but for rounding."""
    values = np.rint(hdus[1].data["LP_SigCurv"].astype(float) * 1e6).astype(np.int32)
    columns = [c for c in hdus[1].columns if c.name != "LP_SigCurv"]
    table = fits.BinTableHDU.from_columns([*columns, fits.Column("LP_SigCurv", "J", array=values)])
    table.name = "LAT_Point_Source_Catalog"
    table.header[f"TSCAL{len(table.columns)}"] = 1e-6
    return [hdus[0], table]


def masked_integers(table):
    table["Flags"] = np.ma.masked_equal(np.asarray(table["Flags"]), 0)


def reorder_rows(table):
    return table[::-1]


def reorder_columns(table):
    return table[sorted(table.colnames)]


def repeat(times):
    def change(table):
        names = ["Source_Name", "RAJ2000", "DEJ2000", "GLON", "GLAT", "CLASS1", "Signif_Avg", "Pivot_Energy"]
        names += [f"{p}{n}" for n in ("Flux1000", "LP_Index", "LP_beta") for p in ("", "Unc_")] + ["LP_SigCurv"]
        return table[names][np.arange(times) % len(table)]

    return change


def without(*names):
    return of_table(lambda table: table.remove_columns(list(names)))


def renamed(old, new):
    return of_table(lambda table: table.rename_column(old, new))


def classes(change):
    return replacing("CLASS1", lambda codes: change(np.char.strip(codes.astype(str))))


def path(make):
    def spoil(base, folder):
        return make(folder)

    return spoil


def folder_with_catalogue(base, folder):
    (folder / "catalog").mkdir()
    (folder / "catalog" / "catalog.fits").write_bytes(base.content)
    return folder / "catalog"


def pipe(folder):
    os.mkfifo(folder / "pipe.fits")
    return folder / "pipe.fits"


def circle(folder):
    (folder / "a.fits").symlink_to(folder / "b.fits")
    (folder / "b.fits").symlink_to(folder / "a.fits")
    return folder / "a.fits"


FILES = (
    *(Damage(f"cut at {k}", of_bytes(cut(k)), TRUNCATED) for k in (1, 79, 80, 2879, 2880, 5760, 30000, 0.2, 0.5, 0.99)),
    *(Damage(f"gzip cut at {k}", of_gzip(cut(k)), TRUNCATED) for k in (2, 3, 10, 18, 1000, 0.1, 0.3, 0.5, 0.9, -8, -1)),
    *(
        Damage(f"gzip with a flipped byte at {k}", of_gzip(flipped(k)), Refused("damaged", AGAIN))
        for k in (2, 0.3, 0.7, -8, -2)
    ),
    Damage(
        "gzip with garbage after it", of_gzip(lambda c: c + b"garbage"), Refused("damaged or truncated gzip", AGAIN)
    ),
    Damage("gzip in gzip", of_gzip(lambda c: gzip.compress(c)), Refused("packed more than once", "Unpack it")),
    Damage("gzip of nothing", of_bytes(lambda c: gzip.compress(b"")), Refused("not a FITS file", USE)),
    Damage("gzip bomb", of_gzip(lambda c: bomb(gzip.decompress(c))), Refused("more than 100 times its size", AGAIN)),
    Damage("bzip2", of_bytes(bz2.compress, "catalog.fits.bz2"), Answered()),
    Damage("bzip2 cut", of_bytes(lambda c: bz2.compress(c)[:-9], "catalog.fits.bz2"), Refused("bzip2", AGAIN)),
    Damage("xz", of_bytes(lzma.compress, "catalog.fits.xz"), Answered()),
    Damage("xz damaged", of_bytes(lambda c: flipped(0.5)(lzma.compress(c)), "c.fits.xz"), Refused("xz", AGAIN)),
    Damage("zip", of_bytes(zipped("catalog.fits"), "catalog.zip"), Answered()),
    Damage("zip of two files", of_bytes(zipped("a.fits", "b.fits"), "c.zip"), Refused("2 files", "unpack it")),
    Damage("zip damaged", of_bytes(lambda c: flipped(0.5)(zipped("a")(c)), "c.zip"), Refused("zip", AGAIN)),
    Damage("empty", of_bytes(lambda c: b""), Refused("is empty", AGAIN)),
    Damage("a web page", of_bytes(lambda c: b"<!DOCTYPE html><html>404</html>"), Refused("not a FITS file", USE)),
    Damage("text", of_bytes(lambda c: b"Source_Name,CLASS1\nx,bll\n"), Refused("not a FITS file", USE)),
    Damage("zeros", of_bytes(lambda c: bytes(10000)), Refused("not a FITS file", USE)),
    Damage("zeros from the table on", of_bytes(lambda c: c[:BLOCK] + bytes(len(c) - BLOCK)), TRUNCATED),
    Damage("zeros after it", of_bytes(lambda c: c + bytes(BLOCK)), Answered()),
    Damage("garbage after it", of_bytes(lambda c: c + b"garbage" * 1000), Refused("after the end", AGAIN)),
    Damage("line ends changed", of_bytes(lambda c: c.replace(b"\n", b"\r\n")), TRUNCATED),
    Damage("a byte is lost", of_bytes(lambda c: c[:40000] + c[40001:]), TRUNCATED),
    Damage("a flipped bit and a checksum", write_flipped, Refused("DATASUM", AGAIN)),
    Damage("SIMPLE is false", of_bytes(lambda c: c.replace(b"T", b"F", 1)), Refused("SIMPLE", USE)),
    Damage("no such extension", in_header(b"'BINTABLE'", b"'BONTABLE'"), Refused("has no table", USE)),
    *(
        Damage(f"{name} = {new}", in_header(card(name, old), card(name, new)), outcome)
        for name, old, new, outcome in (
            ("NAXIS1", 589, 789, TRUNCATED),
            ("NAXIS1", 589, 389, Refused("damaged", AGAIN)),
            ("NAXIS1", 589, -589, Refused("damaged|truncated|NAXIS1", AGAIN)),
            ("NAXIS2", 720, 999999999999, TRUNCATED),
            ("NAXIS2", 720, 700, Refused("damaged", AGAIN)),
            ("NAXIS2", 720, "7Z0", Refused("damaged|NAXIS2", AGAIN)),
            ("TFIELDS", 72, 12, Refused("lacks columns|NAXIS1", f"{USE}|{AGAIN}")),
            ("TFIELDS", 72, 79, Refused("damaged|TFIELDS", AGAIN)),
            ("TFORM3", "'E       '", "'D       '", Refused("593 bytes, but NAXIS1 is 589", AGAIN)),
            ("TFORM3", "'E       '", "'J       '", Answered("RAJ2000 .*implausible")),
            ("TFORM3", "'E       '", "'Z       '", Refused("damaged", AGAIN)),
            ("BITPIX", 8, 16, TRUNCATED),
        )
    ),
)

HDUS = (
    Damage("only an image", of_hdus(lambda h: [fits.PrimaryHDU(np.zeros((3, 3)))]), Refused("has no table", USE)),
    Damage("only another table", of_hdus(lambda h: other_table_first(h)[:2]), Refused("lacks columns", USE)),
    Damage("another table first", of_hdus(other_table_first), Answered()),
    Damage("two catalogues", of_bytes(lambda c: c + c[BLOCK:]), Refused("2 tables", "Keep only one")),
    Damage("an ASCII table", of_hdus(ascii_table), Refused("has no table", USE)),
    Damage("no name of the table", in_header(b"'LAT_POINT_SOURCE_CATALOG'", b"'                        '"), Answered()),
    Damage("no header", of_table(lambda t: t.meta.clear()), Answered("not of a known release")),
    Damage("a later version", of_table(lambda t: t.meta.update(VERSION="v99")), Answered("not of a known release")),
)

COLUMNS = (
    *(Damage(f"no {name}", without(name), Refused(f"lacks columns.*{name}", USE)) for name in REQUIRED),
    *(Damage(f"no {name}", without(name), Refused(f"needs column.*{name}", "--features")) for name in OPTIONAL),
    Damage("no Unc_Flux1000 and no LP_beta", without("Unc_Flux1000", "LP_beta"), Refused("Unc_Flux1000, LP_beta", USE)),
    Damage("no GLON", without("GLON", "GLAT"), Answered()),
    Damage("a renamed column", renamed("Flux1000", "Flux_1_100_GeV"), Refused("lacks columns.*Flux1000", USE)),
    Damage("a name in lower case", renamed("Flux1000", "flux1000"), Refused("another case: flux1000", "Rename")),
    Damage(
        "a name twice",
        in_header(b"'Npred   '", b"'Flux1000'"),
        Refused("more than one column of the name Flux1000", "Rename"),
    ),
    Damage("columns in another order", of_table(reorder_columns), Answered()),
    Damage("rows in another order", of_table(reorder_rows), Answered(order=lambda n: np.arange(n)[::-1])),
    Damage(
        "numbers as text", replacing("Flux1000", lambda a: a.astype("S12")), Refused("Flux1000 holds .*numbers", USE)
    ),
    Damage("truth values", replacing("LP_beta", lambda a: a > 0), Refused("LP_beta holds bool", USE)),
    Damage("complex numbers", replacing("LP_beta", lambda a: a + 1j), Refused("LP_beta holds complex", USE)),
    Damage(
        "whole numbers",
        replacing("LP_SigCurv", lambda a: np.rint(a).astype(int)),
        Answered(features=("asinh_LP_SigCurv",)),
    ),
    Damage("single precision", replacing("LP_Index", lambda a: a.astype(np.float32)), Answered()),
    Damage("two numbers a source", replacing("LP_Index", lambda a: np.stack([a, a], 1)), Refused("shape", USE)),
    Damage("arrays of any length", of_hdus(variable_length), Refused("LP_Index", USE)),
    Damage("scaled whole numbers", of_hdus(scaled), Answered("not of a known release", features=("asinh_LP_SigCurv",))),
    Damage("masked values", of_table(masked_integers), Answered()),
    Damage(
        "bands lacking", replacing("Flux_Band", lambda a: a[:, :5]), Refused("Flux_Band .*shapes", "--features six")
    ),
    Damage("energy in GeV", in_units("Pivot_Energy", 1e-3, "GeV"), Answered("Pivot_Energy .*GeV.*converted")),
    Damage(
        "flux a square metre",
        in_units("Flux1000", 1e4, "ph m-2 s-1"),
        Answered("Flux1000 .*converted", features=FLUX_BOUND),
    ),
    Damage("energy in Joule", in_units("Pivot_Energy", 1.602176634e-13, "J"), Answered("Pivot_Energy.* J.*converted")),
    Damage("flux without photons", in_units("Flux1000", 1.0, "cm-2 s-1"), Answered("Flux1000 .*without photons")),
    Damage(
        "flux without photons, per square metre",
        in_units("Flux1000", 1e4, "m-2 s-1"),
        Answered("Flux1000 .*without photons.*converted"),
    ),
    Damage("energy in metres", in_units("Pivot_Energy", 1.0, "m"), Refused("Pivot_Energy is in m", "expected MeV")),
    Damage("a unit of no meaning", in_header(b"'MeV     '", b"'furlong '"), Answered("Pivot_Energy.*furlong")),
    Damage("no units", of_table(lambda t: [setattr(t[n], "unit", None) for n in t.colnames].clear()), Answered()),
    Damage(
        "GeV, and no unit",
        in_units("Pivot_Energy", 1e-3, None),
        Answered("Pivot_Energy .*implausible", features=("ln_Pivot_Energy",)),
    ),
    Damage(
        "flux times 1e20, and no unit",
        in_units("Flux1000", 1e20, None),
        Answered("Flux1000 .*implausible", features=FLUX_BOUND),
    ),
)

TEN = tuple(range(10))
FAR = (5, 6, 7)

VALUES = (
    *(
        Damage(f"{name} is NaN in places", setting(name, list(TEN), np.nan), Answered(rows=TEN))
        for name in ("Flux1000", "Unc_Flux1000", "LP_beta", "Signif_Avg", "Flux_Band")
    ),
    *(
        Damage(f"{name} is infinite in places", setting(name, list(TEN), [np.inf, -np.inf] * 5), Answered(rows=TEN))
        for name in ("Flux1000", "Unc_Flux1000", "LP_Index", "Unc_LP_Index", "Signif_Avg", "Pivot_Energy")
    ),
    *(
        Damage(f"{name} is {value:g} in places", setting(name, list(FAR), value), Answered(rows=FAR))
        for name in ("Flux1000", "Unc_Flux1000", "LP_Index", "Unc_LP_beta", "Signif_Avg", "PL_Index")
        for value in (0.0, -1.0, 1e300, -1e300, 1e-300)
    ),
    *(
        Damage(
            f"{name} is NaN",
            setting(name, slice(None), np.nan),
            Answered(f"{name} .*no usable", features=("ln_Flux1000", "LP_beta", "ln_Signif_Avg", "LP_Index")),
        )
        for name in ("Flux1000", "Unc_Flux1000", "LP_beta", "Unc_LP_Index", "Signif_Avg")
    ),
    Damage(
        "all fluxes negative",
        in_units("Flux1000", -1.0, "ph cm-2 s-1"),
        Answered("Flux1000 .*no usable", features=FLUX_BOUND),
    ),
    Damage(
        "all uncertainties zero",
        in_units("Unc_LP_Index", 0.0, None),
        Answered("Unc_LP_Index .*no usable", features=("LP_Index",)),
    ),
    Damage(
        "a constant column",
        setting("LP_Index", slice(None), 2.0),
        Answered("LP_Index is 2 for all sources", features=("LP_Index",)),
    ),
    Damage("declinations beyond the poles", setting("DEJ2000", [3], 123.0), Answered("DEJ2000 .*1 source")),
    Damage("right ascensions in radians", in_units("RAJ2000", np.pi / 180, "rad"), Answered("RAJ2000 .*converted")),
    Damage(
        "no position, and no GLON",
        of_table(lambda t: (t.remove_columns(["GLON", "GLAT"]), t["DEJ2000"].__setitem__(3, 123.0))[0]),
        Answered("DEJ2000 .*1 source"),
    ),
)

ROWS = (
    Damage("no rows", of_table(lambda t: t[:0]), Refused("has no rows", USE)),
    Damage("one row", of_table(lambda t: t[:1]), Answered()),
    Damage("twice the same name", setting("Source_Name", [4], "4FGL J0000.3-7355"), Answered("more than once")),
    Damage("no names", setting("Source_Name", slice(None), ""), Answered("without a name")),
    Damage(
        "every row twice",
        of_table(lambda t: t[np.repeat(np.arange(len(t)), 2)]),
        Answered("more than once", order=lambda n: np.repeat(np.arange(n), 2)),
    ),
    Damage(
        "names with letters of other scripts",
        of_bytes(lambda c: c.replace(b"4FGL J", b"4FGL \xe9", 1)),
        Answered("not ASCII"),
    ),
    Damage(
        "a hundred thousand rows",
        of_table(repeat(10**5)),
        Answered("not of a known release", order=lambda n: np.arange(10**5) % n),
        SIX,
    ),
)

CLASSES = (
    Damage("classes as numbers", replacing("CLASS1", lambda a: np.zeros(len(a))), Refused("CLASS1 holds float", USE)),
    Damage(
        "classes of other catalogues", classes(lambda c: np.where(c == "bll", "star", c)), Answered("CLASS1 .*star")
    ),
    Damage("classes padded", classes(lambda c: np.char.center(c, 9)), Answered()),
    Damage("classes in upper case", classes(np.char.upper), Answered()),
    Damage("no classes", classes(lambda c: np.full(len(c), "", "U5")), Answered()),
)

PATHS = (
    Damage("a folder", folder_with_catalogue, Refused("is a folder", "Give the FITS file")),
    Damage("nothing", path(lambda folder: folder / "nowhere.fits"), Refused("there is no file", "Check the name")),
    Damage("a pipe", path(pipe), Refused("it is a pipe, not a regular file", "Check")),
    Damage("a device", path(lambda folder: "/dev/zero"), Refused("it is a device, not a regular file", "Check")),
    Damage("links in a circle", path(circle), Refused("cannot be read|there is no file", "Check")),
    Damage("too long a name", path(lambda folder: folder / ("c" * 300)), Refused("cannot be read", "Check")),
    Damage("below a file", path(lambda folder: __file__ + "/catalog.fits"), Refused("cannot be read|no file", "Check")),
)

DAMAGES = (*FILES, *HDUS, *COLUMNS, *VALUES, *ROWS, *CLASSES, *PATHS)
