import gzip
import hashlib
import subprocess
import sys

import numpy as np
import pytest
from astropy.io import fits

from tests.conftest import RELEASES, REPOSITORY, slim_path

ORIGINALS = {
    "3FGL": "gll_psc_v16",
    "4FGL-DR1": "gll_psc_v20",
    "4FGL-DR2": "gll_psc_v27",
    "4FGL-DR3": "gll_psc_v29",
    "4FGL-DR4": "gll_psc_v35",
}


def test_checksums_hold_and_the_files_are_small():
    lines = (REPOSITORY / "catalogs" / "SHA256SUMS").read_text().splitlines()
    assert [line.split()[1] for line in lines] == [f"{release}.fits.gz" for release in RELEASES]
    for release, line in zip(RELEASES, lines, strict=True):
        assert hashlib.sha256(slim_path(release).read_bytes()).hexdigest() == line.split()[0]
    assert sum(slim_path(release).stat().st_size for release in RELEASES) <= 10e6


@pytest.mark.parametrize("release", RELEASES)
def test_slim_holds_the_values_of_the_original(release, shared_data):
    original = shared_data / "catalogs" / f"{ORIGINALS[release]}.fit.gz"
    content = gzip.decompress(original.read_bytes())
    with fits.open(original, memmap=False) as whole, fits.open(slim_path(release), memmap=False) as slim:
        old, new = (hdus["LAT_Point_Source_Catalog"] for hdus in (whole, slim))
        assert hashlib.sha256(content).hexdigest() in list(new.header["HISTORY"])
        assert new.header["ORIGFILE"] == f"{ORIGINALS[release]}.fit"
        for key in ("VERSION", "CDS-NAME"):
            assert new.header[key] == old.header[key]
        raw_old, raw_new = old.data.view(np.ndarray), new.data.view(np.ndarray)
        assert len(raw_new) == len(raw_old)
        for number, name in enumerate(new.columns.names, start=1):
            before = old.columns.names.index(name) + 1
            assert raw_new.dtype[name] == raw_old.dtype[name], name
            if raw_new.dtype[name].kind == "S":  # FITS pads text with spaces or ends it with NUL: the same text
                stripped = [[text.rstrip(b" ") for text in raw[name].tolist()] for raw in (raw_new, raw_old)]
                assert stripped[0] == stripped[1], name
            else:
                assert raw_new[name].tobytes() == raw_old[name].tobytes(), name
            for card in ("TUNIT", "TUCD", "TDISP", "TLMIN", "TLMAX", "TEMIN", "TEMAX", "TNULL"):
                assert new.header.get(f"{card}{number}") == old.header.get(f"{card}{before}"), (card, name)


def test_the_script_makes_the_same_bytes_again(shared_data, tmp_path):
    script = REPOSITORY / "catalogs" / "make.py"
    command = [sys.executable, str(script), str(shared_data / "catalogs"), "--output", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    for name in ("SHA256SUMS", *(f"{release}.fits.gz" for release in RELEASES)):
        assert (tmp_path / name).read_bytes() == (REPOSITORY / "catalogs" / name).read_bytes(), name
