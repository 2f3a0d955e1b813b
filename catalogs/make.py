"""Make the slim catalogues of this folder from the released files.

    python catalogs/make.py FOLDER [--output FOLDER]

FOLDER holds the releases as the Fermi Science Support Center publishes them, compressed or not: gll_psc_v16.fit (3FGL),
gll_psc_v20.fit (DR1), gll_psc_v27.fit (DR2), gll_psc_v29.fit (DR3), gll_psc_v35.fit (DR4).
Every source is kept, and of the columns those that a classifier or a reader of its output could want; values, units,
UCDs and display formats are those of the original. The same input gives the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import re
from pathlib import Path

import numpy as np
from astropy.io import fits

RELEASES = {
    "3FGL": "gll_psc_v16",
    "4FGL-DR1": "gll_psc_v20",
    "4FGL-DR2": "gll_psc_v27",
    "4FGL-DR3": "gll_psc_v29",
    "4FGL-DR4": "gll_psc_v35",
}

# Names, positions, significance, spectra, bands, variability, classes, associations, flags; left out are light curves,
# regions of interest, and what follows from other columns (nuFnu_Band).
WANTED = re.compile(
    r"Source_Name|DataRelease|RAJ2000|DEJ2000|GLON|GLAT|Conf_\d\d_.*|Extended_Source_Name|Signif_Avg|Pivot_Energy"
    r"|(Unc_)?Flux1000|(Unc_)?Energy_Flux100|SpectrumType|(Unc_)?(PL|LP|PLEC)_.*|Npred|(Unc_)?Flux_Band|Sqrt_TS_Band"
    r"|Variability_Index|(Unc_)?Frac_Variability|Signif_Peak|(Unc_)?Flux_Peak|Time_Peak|Peak_Interval"
    r"|ASSOC_(4FGL|FGL|FHL|GAM1|TEV)|TEVCAT_FLAG|CLASS[12]?|ASSOC[12]|ASSOC_PROB_(BAY|LR)|(RA|DEC|Unc)_Counterpart|Flags"
    # of 3FGL only
    r"|((Unc_)?Flux|Sqrt_TS)\d+_\d+|Signif_Curve|PowerLaw_Index|(Unc_)?(Flux_Density|Spectral_Index|beta|Cutoff|Exp_Index)"
)
# Cards of one column, with its number.
COLUMN_CARD = re.compile(r"(TTYPE|TFORM|TUNIT|TDISP|TUCD|TLMIN|TLMAX|TEMIN|TEMAX|TDIM|TNULL|TCOMM)(\d+)")
# Cards of the table as a whole that stay.
TABLE_CARDS = (
    "TELESCOP", "INSTRUME", "EQUINOX", "RADECSYS", "DATE", "DATE-OBS", "DATE-END", "ORIGIN", "CREATOR", "VERSION",
    "HDUCLASS", "HDUCLAS1", "CDS-NAME", "STVERS", "PIPVERS", "RSPFUNC", "EMIN", "EMAX", "TSMIN", "VARMIN",
)  # fmt: skip


def read_original(folder: Path, stem: str) -> tuple[str, bytes]:
    """Name and content, uncompressed, of a released file."""
    for path in (folder / f"{stem}.fit", folder / f"{stem}.fit.gz"):
        if path.is_file():
            content = path.read_bytes()
            content = gzip.decompress(content) if path.suffix == ".gz" else content
            check_sum(folder / "SHA256SUMS.uncompressed", f"{stem}.fit", content)
            return f"{stem}.fit", content
    raise SystemExit(f"there is neither {stem}.fit nor {stem}.fit.gz in {folder}")


def check_sum(sums: Path, name: str, content: bytes) -> None:
    """Stop if a list of sums lies beside the released file and names another one for it."""
    expected = dict(line.split()[::-1] for line in sums.read_text().splitlines()) if sums.is_file() else {}
    if name in expected and hashlib.sha256(content).hexdigest() != expected[name]:
        raise SystemExit(f"{name} does not have the SHA-256 that {sums} gives. Download it again.")


def slim(name: str, content: bytes) -> bytes:
    """Compressed bytes of the slim catalogue."""
    with fits.open(io.BytesIO(content), memmap=False) as hdus:
        original = hdus["LAT_Point_Source_Catalog"]
        kept = [n for n, column in enumerate(original.columns.names, start=1) if WANTED.fullmatch(column)]
        columns = [original.columns[n - 1] for n in kept]
        raw = original.data.view(np.ndarray)  # the bytes as they are: no stripping, no scaling
        table = fits.BinTableHDU(raw[[column.name for column in columns]].copy(), name="LAT_Point_Source_Catalog")
        header = table.header
        for card in original.header.cards:
            match = COLUMN_CARD.fullmatch(card.keyword)
            if match and int(match[2]) in kept:
                keyword = f"{match[1]}{kept.index(int(match[2])) + 1}"
                if keyword in header:  # TTYPE and TFORM, which astropy wrote: they lack their comments only
                    header.comments[keyword] = card.comment
                else:
                    header[keyword] = (card.value, card.comment)
        for keyword in TABLE_CARDS:
            if keyword in original.header:
                header.append(original.header.cards[keyword], end=True)
        header["ORIGFILE"] = (name, "released file this one is made from")
        header["HISTORY"] = f"Slim version of {name}, uncompressed SHA-256"
        header["HISTORY"] = hashlib.sha256(content).hexdigest()
        header["HISTORY"] = "made by catalogs/make.py of fermiclass: every row, fewer columns, values unchanged."
        stream = io.BytesIO()
        fits.HDUList([fits.PrimaryHDU(), table]).writeto(stream)
    compressed = io.BytesIO()
    # no name and no time in the gzip header
    with gzip.GzipFile(filename="", mode="wb", fileobj=compressed, compresslevel=9, mtime=0) as file:
        file.write(stream.getvalue())
    return compressed.getvalue()


def main() -> None:
    """Write the slim catalogues and their checksums."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the released files are")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent, help="where to write (default: here)")
    arguments = parser.parse_args()
    sums = []
    for release, stem in RELEASES.items():
        content = slim(*read_original(arguments.folder, stem))
        path = arguments.output / f"{release}.fits.gz"
        path.write_bytes(content)
        sums.append(f"{hashlib.sha256(content).hexdigest()}  {path.name}\n")
        print(f"{path}: {len(content) / 1e6:.2f} MB")
    (arguments.output / "SHA256SUMS").write_text("".join(sums))


if __name__ == "__main__":
    main()
