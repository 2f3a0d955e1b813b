"""Every format keeps what it can, writes the same bytes twice, and leaves nothing half done."""

from __future__ import annotations

import os
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from astropy.io import fits
from astropy.table import Column, MaskedColumn, Table

from fermiclass.errors import CatalogError, OutputError
from fermiclass.io import tables
from fermiclass.io.tables import check_writable, read_table, write_table

ENDINGS = (".fits", ".fits.gz", ".ecsv", ".vot", ".csv", ".parquet")
SHA = "0123456789abcdef" * 4


@pytest.fixture
def table():
    made = Table(
        meta={
            "catalog": "4FGL-DR4.fits.gz",
            "sha256": SHA,
            "seed": 3,
            "nll": 0.1234567890123456,
            "robust": True,
            "features": ["ln_Flux1000", "LP_beta"],
            "training_counts": {"bll": 10, "psr": np.int64(4)},
            "a_rather_long_key_for_a_rather_long_text": "x y " * 60 + "end",
            "selected": "P_psr >= 0.5 & |b| < 10",
            "missing": None,
        }
    )
    made["Source_Name"] = Column(
        ["4FGL J0001.2+4741", "4FGL J1", ""], description="Name in the catalogue", meta={"ucd": "meta.id;meta.main"}
    )
    made["RAJ2000"] = Column(
        np.array([1.5, np.nan, 0.1], "f4"), unit="deg", description="Right ascension", meta={"ucd": "pos.eq.ra"}
    )
    made["Flux1000"] = Column([1e-9, 2e-9 / 3, np.nan], unit="ph cm-2 s-1", meta={"ucd": "phot.flux;em.gamma"})
    made["Energy_Flux100"] = Column([1e-12, 0.1 + 0.2, np.inf], unit="erg cm-2 s-1", description="Energy flux")
    made["ASSOC1"] = ["", "", ""]
    made["Flags"] = Column(np.array([1, -2, 300], "i4"), description="Bits")
    made["N"] = np.array([1, 2, 2**40])
    made["variable"] = [True, False, True]
    return made


def check_same(back, table, *, exact=True):
    kinds, expected = ([column.dtype.kind for column in each.itercols()] for each in (back, table))
    assert kinds == expected
    frames = (each.to_pandas() for each in (back, table))
    pd.testing.assert_frame_equal(*frames, check_dtype=exact, check_exact=exact, rtol=1e-6)


@pytest.mark.parametrize("ending", ENDINGS)
def test_round_trip(table, tmp_path, ending):
    """Data in every format, and all that is said about them in every format but CSV."""
    before = table.copy()
    write_table(table, tmp_path / f"t{ending}")
    back = read_table(tmp_path / f"t{ending}")
    # A CSV file knows neither the width of its numbers nor what they are.
    check_same(back, table, exact=ending != ".csv")
    check_same(table, before)
    assert table.meta == before.meta
    if ending == ".csv":
        return
    for name in table.colnames:
        assert back[name].unit == table[name].unit, name
        assert back[name].description == table[name].description, name
        assert back[name].meta.get("ucd") == table[name].meta.get("ucd"), name
    expected = dict(table.meta)
    if ending not in (".ecsv", ".parquet"):
        expected |= {"features": "ln_Flux1000,LP_beta", "training_counts": '{"bll": 10, "psr": 4}', "missing": ""}
    assert list(back.meta.items()) == list(expected.items())
    assert (type(back.meta["robust"]), type(back.meta["seed"])) == (bool, int)
    (tmp_path / f"t{ending}").rename(tmp_path / "t.dat")  # formats are known by their content
    check_same(read_table(tmp_path / "t.dat"), table)


def test_csv_holds_the_data_and_nothing_else(table, tmp_path):
    write_table(table, tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines[0] == ",".join(table.colnames)
    assert lines[1].startswith("4FGL J0001.2+4741,1.5,1e-09,1e-12,,1,1,True")
    assert lines[3].split(",")[1] == "0.1"  # in single precision
    assert lines[2] == "4FGL J1,nan,6.666666666666667e-10,0.30000000000000004,,-2,2,False"
    assert read_table(tmp_path / "t.csv").meta == {}


@pytest.mark.parametrize("ending", [".fits", ".fits.gz", ".ecsv", ".vot", ".parquet"])
def test_astropy_itself_reads_units_descriptions_and_numbers(table, tmp_path, ending):
    write_table(table, tmp_path / f"t{ending}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*erg.*")  # VOUnit deprecates it
        back = Table.read(tmp_path / f"t{ending}")
    for name in table.colnames:
        assert back[name].unit == table[name].unit, name
        if ending.startswith(".fits"):
            continue  # astropy does not look at TCOMM and TUCD
        assert back[name].description == table[name].description, name
        if ending != ".vot":
            assert back[name].meta.get("ucd") == table[name].meta.get("ucd"), name
    np.testing.assert_array_equal(np.ma.getdata(back["RAJ2000"]), table["RAJ2000"])


@pytest.mark.parametrize("ending", ENDINGS)
def test_same_table_gives_same_bytes(table, tmp_path, ending, monkeypatch):
    write_table(table, tmp_path / f"one{ending}")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 1e6)
    write_table(table.copy(), tmp_path / f"another_name{ending}")
    assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"another_name{ending}").read_bytes()


@pytest.mark.parametrize("ending", ENDINGS)
def test_empty_table(table, tmp_path, ending):
    write_table(table[:0], tmp_path / f"t{ending}")
    back = read_table(tmp_path / f"t{ending}")
    assert back.colnames == table.colnames
    assert len(back) == 0


def test_fits_header_is_clean_and_readable(table, tmp_path):
    write_table(table, tmp_path / "t.fits")
    with fits.open(tmp_path / "t.fits", checksum=True) as hdus:  # a wrong checksum is a warning, hence an error
        hdus.verify("exception")
        header = hdus[1].header
        assert hdus[1].name == "FERMICLASS"
    assert [header[name] for name in ("TUNIT2", "TUCD2", "TCOMM2")] == ["deg", "pos.eq.ra", "Right ascension"]
    assert [header[name] for name in ("SHA256", "TRAINING_COUNTS")] == [SHA, '{"bll": 10, "psr": 4}']
    assert {"LONGSTRN", "CHECKSUM", "DATASUM"} <= set(header)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Table.read(tmp_path / "t.fits").colnames == table.colnames


@pytest.mark.parametrize("ending", ENDINGS)
def test_odd_columns_become_plain(tmp_path, ending):
    odd = Table(meta={"what": np.float32(0.5), 7: ("a", "b")})
    odd["bytes"] = np.array([b"4FGL J1", b""])
    odd["objects"] = np.array(["a", None], dtype=object)
    odd["masked_text"] = MaskedColumn(["a", "b"], mask=[False, True])
    odd["masked_int"] = MaskedColumn([5, 6], mask=[True, False])
    odd["big_endian"] = np.array([1.5, 2.5], dtype=">f8")
    write_table(odd, tmp_path / f"t{ending}")
    back = read_table(tmp_path / f"t{ending}")
    assert back["bytes"].tolist() == ["4FGL J1", ""]
    assert back["objects"].tolist() == ["a", ""]
    assert back["masked_text"].tolist() == ["a", ""]
    np.testing.assert_array_equal(back["masked_int"], [np.nan, 6.0])
    np.testing.assert_array_equal(back["big_endian"], [1.5, 2.5])


def test_letters_that_fits_does_not_have(tmp_path):
    greek = Table({"σ": ["α Cen"]}, meta={"text": "Größe\nof α"})
    greek["σ"].description = "Größe"
    write_table(greek, tmp_path / "t.vot")
    assert read_table(tmp_path / "t.vot")["σ"].description == "Größe"
    greek.rename_column("σ", "sigma")
    write_table(greek, tmp_path / "t.fits")
    back = read_table(tmp_path / "t.fits")
    assert back["sigma"].tolist() == ["? Cen"]
    assert back.meta["text"] == "Gr??e of ?"


@pytest.mark.parametrize(
    ("ending", "shape"), [(".fits", (2, 3, 2)), (".fits", (2, 3)), (".ecsv", (2, 3, 2)), (".vot", (2, 3))]
)
def test_arrays_in_rows(tmp_path, ending, shape):
    bands = Table({"Flux_Band": np.arange(float(np.prod(shape))).reshape(shape)})
    write_table(bands, tmp_path / f"t{ending}")
    np.testing.assert_array_equal(read_table(tmp_path / f"t{ending}")["Flux_Band"], bands["Flux_Band"])


@pytest.mark.parametrize(("ending", "shape"), [(".csv", (2, 3)), (".parquet", (2, 3)), (".vot", (2, 3, 2))])
def test_arrays_in_rows_are_refused(tmp_path, ending, shape):
    bands = Table({"Flux_Band": np.zeros(shape)})
    with pytest.raises(OutputError, match=r"cannot be written as .*'Flux_Band' has \(3,.*another ending"):
        write_table(bands, tmp_path / f"t{ending}")
    assert not list(tmp_path.iterdir())


def test_columns_of_other_types_are_refused(tmp_path):
    with pytest.raises(OutputError, match=r"column 'z' is of type complex128, not bool, int, float or text"):
        write_table(Table({"z": [1j]}), tmp_path / "t.ecsv")


def test_metadata_keys_that_fits_cannot_tell_apart(tmp_path):
    with pytest.raises(OutputError, match=r"metadata key 'SEED' differs from another only in case"):
        write_table(Table({"a": [1]}, meta={"seed": 1, "SEED": 2}), tmp_path / "t.fits")


def test_overwriting(table, tmp_path):
    path = tmp_path / "t.csv"
    write_table(table, path)
    write_table(table[:1], path)
    assert len(read_table(path)) == 1
    with pytest.raises(OutputError, match=r"exists already\. Choose another name"):
        write_table(table, path, overwrite=False)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["t.csv"]


def test_places_that_cannot_be_written(table, tmp_path, monkeypatch):
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "there.csv").write_text("old")
    cases = [
        ("t.txt", r"does not have the ending of a table; expected \.fits, \.fits\.gz.*Rename"),
        ("missing/t.csv", r"there is no folder '.*missing'\. Create it first"),
        ("there.csv/t.csv", r"there is no folder '.*there\.csv'"),
        ("folder.csv", r"it is a folder\. Give the name of a file"),
        ("pipe.csv", r"not a regular file\. Give the name of a file"),
    ]
    for name, message in cases:
        with pytest.raises(OutputError, match=message):
            check_writable(tmp_path / name)
        with pytest.raises(OutputError, match=message):
            write_table(table, tmp_path / name)
    # Permissions mean nothing to root, so the question itself is replaced.
    monkeypatch.setattr(tables.os, "access", lambda path, mode: path != tmp_path / "there.csv")
    with pytest.raises(OutputError, match=r"the file is read-only\. Choose another name"):
        check_writable(tmp_path / "there.csv")
    monkeypatch.setattr(tables.os, "access", lambda path, mode: False)
    with pytest.raises(OutputError, match=r"no permission to write in .*Choose another folder"):
        check_writable(tmp_path / "t.csv")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("letter", "\x01\x0b\x1b\x1c\r\x7f\x85\u2028\u2029")
def test_letters_that_end_a_line_for_some_readers(tmp_path, ending, letter):
    """In names of sources and of files: no row is split, and every format can be written."""
    path = tmp_path / f"t{ending}"
    write_table(Table({"name": ["a", f"b{letter}c", "d"], "n": [1, 2, 3]}, meta={"catalog": f"x{letter}y"}), path)
    table = read_table(path)
    assert table["n"].tolist() == [1, 2, 3]
    assert table["name"].tolist()[::2] == ["a", "d"]
    assert table["name"][1][0] + table["name"][1][-1] == "bc"


@pytest.mark.parametrize("ending", ENDINGS)
def test_unreadable_files(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    with pytest.raises(CatalogError, match="there is no file"):
        read_table(path)
    path.write_bytes(b"\n" if ending == ".csv" else b"not a table\n")
    with pytest.raises(CatalogError, match=f"t{ending}' cannot be read"):
        read_table(path)


def test_keywords_of_fits_itself_are_no_metadata(tmp_path):
    write_table(
        Table({"a": [1]}, meta={"seed": 1, "comments": ["x"], "EXTNAME": "OTHER", "TUCD1": "src"}), tmp_path / "t.fits"
    )
    assert read_table(tmp_path / "t.fits").meta == {"seed": 1}
