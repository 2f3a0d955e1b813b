"""Coverage-guided fuzzing of what fermiclass reads; needs atheris. It is not part of the tests.

    python fuzz/run.py catalogs --seconds 600
    python fuzz/run.py models --seconds 600

Inputs start from an intact catalogue or model. Whatever is read must be finite, and whatever is refused must be refused
by a FermiclassError: any other exception, a numerical warning, more than 4 GB or 60 s are a finding, which is written
to `fuzz/findings` and stops the run.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

import atheris

HERE = Path(__file__).parent
CATALOG = HERE.parent / "catalogs" / "4FGL-DR4.fits.gz"

with atheris.instrument_imports(include=["fermiclass", "astropy.io.fits"]):
    import numpy as np
    from astropy.io import fits

    from fermiclass.catalog import reading
    from fermiclass.errors import FermiclassError
    from fermiclass.features import extract_features
    from fermiclass.labelling.archive import read_model_folder


def small_catalog(rows: int = 24) -> bytes:
    """Return a FITS file with the columns of the six features and no others."""
    names = ["Source_Name", "RAJ2000", "DEJ2000", "GLON", "GLAT", "Signif_Avg", "Pivot_Energy", "LP_SigCurv", "CLASS1"]
    names += [f"{prefix}{name}" for name in ("Flux1000", "LP_Index", "LP_beta") for prefix in ("", "Unc_")]
    with fits.open(CATALOG) as hdus:
        columns = [fits.Column(c.name, c.format, c.unit, array=hdus[1].data[c.name][:rows])
                   for c in hdus[1].columns if c.name in names]  # fmt: skip
        table = fits.BinTableHDU.from_columns(columns, name=reading.HDU_NAME)
        stream = io.BytesIO()
        fits.HDUList([fits.PrimaryHDU(), table]).writeto(stream)
    return stream.getvalue()


def read_one_catalog(folder: Path, data: bytes) -> None:
    """Read bytes as a catalogue and extract its features."""
    path = folder / "catalog.fits"
    path.write_bytes(data)
    table = extract_features(reading.read_catalog(path), "six")
    assert np.all(np.isfinite(table.X))
    assert np.all(np.isfinite(table.X_var))
    assert np.all(table.X_var >= 0)


def small_model(folder: Path) -> bytes:
    """Train a model of two features; return its settings and arrays as `read_one_model` takes them."""
    from fermiclass import NIMGPClassifier, read_catalog, save_model, train

    estimator = NIMGPClassifier("mgp", steps=1, num_inducing=2)
    model = train(read_catalog(CATALOG)[::40], estimator, features="LP_Index,LP_beta", classes="agn=bll+fsrq,psr")
    save_model(model, folder / "model")
    parts = [(folder / "model" / "config.json").read_bytes()]
    with zipfile.ZipFile(folder / "model" / "weights.npz") as archive:
        parts += [part for name in archive.namelist() for part in (name.encode(), archive.read(name))]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def parts_of(data: bytes) -> list[bytes]:
    """Split bytes at the lengths that stand before the parts, as far as they go."""
    parts = []
    while data:
        size = int.from_bytes(data[:4], "big")
        parts.append(data[4 : 4 + size])
        data = data[4 + size :]
    return parts


def read_one_model(folder: Path, data: bytes) -> None:
    """Read bytes as a model folder, whose archive has sums that are right, and label a source."""
    config, *members = parts_of(data) or [b""]
    path = folder / "model"
    path.mkdir(exist_ok=True)
    (path / "config.json").write_bytes(config)
    with zipfile.ZipFile(path / "weights.npz", "w") as archive:
        for name, content in dict(zip(members[::2], members[1::2], strict=False)).items():
            archive.writestr(name.decode("latin-1").partition("\0")[0] or "none", content)
    read_model_folder(path)
    from fermiclass import load_model

    model = load_model(path)
    p = model.estimator.predict_proba(np.zeros((1, len(model.features))), X_var=np.ones((1, len(model.features))))
    assert np.all(np.isfinite(p))
    assert np.allclose(p.sum(), 1.0, atol=1e-4)


TARGETS = {"catalogs": read_one_catalog, "models": read_one_model}


def main() -> None:
    """Make a first input and let the fuzzer change it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=600)
    chosen = parser.parse_args()
    read_one = TARGETS[chosen.target]
    findings = HERE / "findings"
    findings.mkdir(exist_ok=True)
    counts = {"read": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as scratch:
        folder, corpus = Path(scratch), Path(scratch, "corpus")
        corpus.mkdir()
        first = small_catalog() if chosen.target == "catalogs" else small_model(folder)
        (corpus / "first").write_bytes(first)
        read_one(folder, first)

        def test_one_input(data: bytes) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", RuntimeWarning)
                try:
                    read_one(folder, data)
                    counts["read"] += 1
                except FermiclassError:
                    counts["refused"] += 1
            if (counts["read"] + counts["refused"]) % 1000 == 0:
                print(counts, flush=True)

        options = [
            f"-max_total_time={chosen.seconds}",
            f"-max_len={2 * len(first)}",
            "-rss_limit_mb=4000",
            "-timeout=60",
        ]
        atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={findings}/", str(corpus)], test_one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
