"""Text of other programs holds the same table as plain CSV."""

import io
import sys

import numpy as np
import pytest
from astropy.table import Table

from fermiclass.errors import CatalogError
from fermiclass.io.tables import read_table
from fermiclass.io.target_lists import read_list

NAMES = ("name", "ra", "flux")
ROWS = (("a b, c", "10.5", "1e-9"), ("", "-3", "2.5E-10"), ("é", "", "nan"))
PLAIN = Table({"name": ["a b, c", "", "é"], "ra": [10.5, -3.0, np.nan], "flux": [1e-9, 2.5e-10, np.nan]})


def written(separator=",", rows=ROWS, above="", below=""):
    """The table as text; a field with the separator is quoted."""
    lines = [separator.join(f'"{x}"' if separator in x else x for x in row) for row in (NAMES, *rows)]
    return above + "\n".join([lines[0], *([below] if below else []), *lines[1:]]) + "\n"


COMMAS = [tuple(x if x.startswith("a") else x.replace(".", ",") for x in row) for row in ROWS]
UNITS = "\tdeg\tph/cm2/s\n------\t-----\t-----"
FORMS = {
    "mark.csv": written().encode("utf-8-sig"),
    "ends.csv": written().replace("\n", "\r\n").encode(),
    "old.csv": written().replace("\n", "\r").encode(),
    "semicolons.csv": written(";").encode("utf-8-sig"),
    "commas.csv": written(";", COMMAS).encode(),
    "tabs.csv": written("\t", COMMAS).encode(),
    "tabs.tsv": written("\t").encode(),
    "wide.txt": written("\t").encode("utf-16"),
    "comments.csv": written(above="# by somebody, today\n#\n").encode(),
    "commented.csv": ("# " + written()).encode(),
    "below.tsv": (written("\t") + "# the end\n").encode(),
    "empty rows.csv": (written(";") + ";;\n;;\n").encode(),
    "named.csv": written(";", above="sep=;\r\n").encode("cp1252"),
    "vizier.tsv": written("\t", above="#RESOURCE=yCat\n#\n", below=UNITS).encode(),
    "heasarc.txt": "\n".join(f"|{line}|" for line in written("|").splitlines()).encode(),
    "-": written(";").encode(),
}


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_separated_values(name, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(FORMS[name])))
    (tmp_path / name).write_bytes(FORMS[name])
    table = read_table(name if name == "-" else tmp_path / name)
    assert table["name"].tolist() == PLAIN["name"].tolist()
    for column in NAMES[1:]:
        np.testing.assert_array_equal(table[column], PLAIN[column])
    assert str(table["ra"].unit) == ("deg" if name == "vizier.tsv" else "None")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_a_hash_in_a_cell_is_no_comment(separator, tmp_path):
    rows = [("#1", "#N/A", "x"), ("b", "#", "#2")]
    (tmp_path / "t.txt").write_text("\n".join(map(separator.join, [("name", "note", "other"), *rows])))
    assert [tuple(row) for row in read_table(tmp_path / "t.txt")] == rows


def test_a_list_of_names_may_be_a_table(tmp_path):
    (tmp_path / "list.txt").write_bytes(FORMS["commas.csv"])
    assert read_list(tmp_path / "list.txt").colnames == list(NAMES)
    (tmp_path / "list.txt").write_text("\ufeff4FGL J0001.2-0747\nMkn 421\n")
    assert read_list(tmp_path / "list.txt")["name"].tolist() == ["4FGL J0001.2-0747", "Mkn 421"]
    (tmp_path / "list.txt").write_bytes("4FGL J0001.2-0747\nMkn 421\n".encode("utf-16"))
    assert read_list(tmp_path / "list.txt")["name"].tolist() == ["4FGL J0001.2-0747", "Mkn 421"]


@pytest.mark.parametrize(
    "form", ["ipac", "fixed_width", "fixed_width_two_line", "commented_header", "basic", "rst", "mrt"]
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_forms_of_astropy(form, tmp_path):
    table = PLAIN[:1]
    table.write(tmp_path / "t.dat", format=f"ascii.{form}")
    found = read_table(tmp_path / "t.dat")
    assert [found[0][name] for name in NAMES] == [table[0][name] for name in NAMES]


def test_lists_in_cells_are_values_of_one_source(tmp_path):
    """As TOPCAT and pandas write them."""
    (tmp_path / "t.csv").write_text('a,b,c\n"(1.0, 2.5, 4)",[1. 2.],(x)\n"(3.0, , NaN)",[3. 4.],y\n')
    table = read_table(tmp_path / "t.csv")
    np.testing.assert_array_equal(table["a"], [[1.0, 2.5, 4.0], [3.0, np.nan, np.nan]])
    np.testing.assert_array_equal(table["b"], [[1.0, 2.0], [3.0, 4.0]])
    assert table["c"].tolist() == ["(x)", "y"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x93NUMPY\x01\x00v\x00", "numpy.load"),
        (b'{"name": {"0": "a"}, "flux1000": {"0": 1e-9}}', "json.load"),
        (b'\n[\n {"name": "a",\n "flux1000": 1e-9}\n]\n', "json.load"),
        (b"PK\x03\x04\x00\x00", "Save a table of Excel as CSV"),
        (b"some words\nthat are no table at all.\n", "separated by commas, semicolons"),
        (b"name ra\n", "separated by commas"),
    ],
)
def test_other_files_are_told_what_can_be_read(content, words, tmp_path):
    (tmp_path / "t.dat").write_bytes(content)
    with pytest.raises(CatalogError, match=words) as caught:
        read_table(tmp_path / "t.dat")
    assert "again" not in str(caught.value)


@pytest.mark.parametrize(("beside", "found"), [("2,5", 2.5), ("0,125", 0.125), ("3", None), ("2.5", None)])
def test_a_comma_before_three_digits_is_decimal_if_another_number_tells(beside, found, tmp_path):
    """Else it may be one of thousands."""
    (tmp_path / "t.csv").write_text(f"name;X;Y\nMkn 1,200;2,500;{beside}\nb;12,250;{beside}\n")
    if found is None:
        with pytest.raises(CatalogError, match="decimal comma, or one of thousands"):
            read_table(tmp_path / "t.csv")
    else:
        table = read_table(tmp_path / "t.csv")
        assert (table["X"].tolist(), table["Y"][0]) == ([2.5, 12.25], found)


def test_a_comment_may_have_separators(tmp_path):
    """Below the names a line of # is a comment, unless it has as many separators as they have."""
    (tmp_path / "t.csv").write_text("name,ra,dec\n# odd, but real\na,1,2\n#b,3,4\n")
    table = read_table(tmp_path / "t.csv")
    assert table["name"].tolist() == ["a", "#b"]
    assert table["ra"].tolist() == [1, 3]


def test_names_in_a_comment_and_units_in_brackets_below_them_are_the_heading(tmp_path):
    """As the catalogue of the ATNF writes its pulsars."""
    rows = "1;J0101+0304;01:01:12.0;0.0031;\n2;J0202-0405;02:02:18.0;0.1;\n"
    (tmp_path / "psrcat.csv").write_text("#;PSRJ;RAJ;P0;\n;;(hms);(s);\n" + rows)
    table = read_table(tmp_path / "psrcat.csv")
    assert table["PSRJ"].tolist() == ["J0101+0304", "J0202-0405"]
    assert (table["P0"].tolist(), table["P0"].unit, table["RAJ"].unit) == ([0.0031, 0.1], "s", None)
