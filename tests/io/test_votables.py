"""VOTables that others can rely on: valid, with systems of coordinates and metadata."""

import io
import os
import subprocess
import sys
import warnings

import pytest
from astropy.io.votable import parse, validate
from astropy.table import Column, Table

from fermiclass import extract_features, followup
from fermiclass.io.tables import read_table, write_table
from tests.show.page.conftest import make_up_labels


@pytest.fixture(scope="module")
def labels(dr4):
    return make_up_labels(dr4[::40])


@pytest.fixture(scope="module")
def tables(dr4, labels):
    """A table of each kind that commands write."""
    return {
        "labels": labels,
        "features": extract_features(dr4[::40]).to_table(),
        "followup": followup(labels),
        "empty": labels[:0],
    }


@pytest.mark.parametrize("kind", ["labels", "features", "followup", "empty"])
def test_the_validator_finds_nothing(tables, tmp_path, kind):
    path = tmp_path / "table.vot"
    write_table(tables[kind], path)
    report = io.StringIO()
    assert validate(str(path), output=report), report.getvalue()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse(path, verify="exception")


def test_an_invalid_ucd_is_left_out(tmp_path):
    """Some of the catalogue's own are: they survive where a format does not mind."""
    table = Table({"PosAng": Column([1.0], unit="deg", meta={"ucd": "phot.count;em.gamma;stat.error"})})
    for ending, expected in ((".vot", None), (".fits", "phot.count;em.gamma;stat.error")):
        write_table(table, tmp_path / f"t{ending}")
        assert read_table(tmp_path / f"t{ending}")["PosAng"].meta.get("ucd") == expected


def test_coordinates_have_a_system(labels, tmp_path):
    write_table(labels, tmp_path / "labels.vot")
    file = parse(tmp_path / "labels.vot")
    systems = {system.ID: (system.system, system.equinox) for system in file.coordinate_systems}
    fields = {field.name: field for field in file.get_first_table().fields}
    systems_of = {"RAJ2000": "ICRS", "DEJ2000": "ICRS", "GLON": "galactic", "GLAT": "galactic"}
    for name, system in systems_of.items():
        assert systems[fields[name].ref] == (system, None)
        assert fields[name].unit == "deg"
    assert not [name for name, field in fields.items() if field.ref and name not in systems_of]


def test_no_coordinates_no_system(tmp_path):
    write_table(Table({"RAJ2000": Column([1.0], unit="deg", meta={"ucd": "pos.eq.ra"})}), tmp_path / "t.vot")
    assert not list(parse(tmp_path / "t.vot").coordinate_systems)


def test_metadata_are_parameters(labels, tmp_path):
    write_table(labels, tmp_path / "labels.vot")
    params = {param.name: param for param in parse(tmp_path / "labels.vot").get_first_table().params}
    assert {name: param.value for name, param in params.items()} == labels.meta
    assert params["creator"].ucd == "meta.id;meta.software"


def test_characters_that_xml_does_not_have(tmp_path):
    odd = "\x01\x08\x0b\x0c\x0e\x1f\ufffe\uffff"
    table = Table({"t\x01": [f"a{odd}b", "\x7f\x85é\ufffd"]}, meta={"of": f"{odd}."})
    table["t\x01"].description = "text\x01"
    write_table(table, tmp_path / "t.vot")
    read = read_table(tmp_path / "t.vot")
    lost = "\ufffd" * len(odd)
    assert read["t\ufffd"].tolist() == [f"a{lost}b", "\x7f\x85é\ufffd"]
    assert read["t\ufffd"].description == "text\ufffd"
    assert read.meta == {"of": f"{lost}."}


#: Rows of any length, so that a buffer of a writer is filled to its last byte.
LONGER_AND_LONGER = """
from astropy.table import Table
from fermiclass.io.votables import to_votable

for length in range(1, 600):
    to_votable(Table({"text": ["x" * length]}))
"""


def test_writing_damages_no_memory():
    """Python's own check of its memory aborts where a writer leaves its buffer."""
    command = [sys.executable, "-c", LONGER_AND_LONGER]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONMALLOC": "debug"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
