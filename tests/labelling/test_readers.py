"""The documented selections, with the readers of Python: the same rows in every format."""

import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.parquet
import pytest
from astropy.table import Table

import fermiclass as fc
from fermiclass.catalog import SOURCE_STATUSES
from fermiclass.io.tables import table_endings, write_table
from tests.show.page.conftest import make_up_labels


def with_pandas(path):
    frame = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    return frame[(frame["STATUS"] == "unassociated") & (frame["P_psr"] > 0.5)]["Source_Name"].tolist()


def with_pyarrow(path):
    table = pyarrow.csv.read_csv(path) if path.suffix == ".csv" else pyarrow.parquet.read_table(path)
    chosen = (pyarrow.compute.field("STATUS") == "unassociated") & (pyarrow.compute.field("P_psr") > 0.5)
    return table.filter(chosen)["Source_Name"].to_pylist()


def with_tables(table):
    chosen = table[(table["STATUS"] == "unassociated") & (table["P_psr"] > 0.5)]
    return np.asarray(chosen["Source_Name"]).astype(str).tolist()


CASES = [
    *(("fermiclass", lambda path: with_tables(fc.read_table(path)), ending) for ending in table_endings),
    *(("astropy", lambda path: with_tables(Table.read(path)), ending) for ending in table_endings),
    *(
        (name, read, ending)
        for name, read in (("pandas", with_pandas), ("pyarrow", with_pyarrow))
        for ending in (".csv", ".parquet")
    ),
]


@pytest.fixture(scope="module")
def labels(dr4):
    return make_up_labels(dr4[::20])


@pytest.mark.parametrize(("reader", "select", "ending"), CASES, ids=[f"{case[0]}{case[2]}" for case in CASES])
def test_the_same_rows_everywhere(labels, tmp_path, reader, select, ending):
    write_table(labels, tmp_path / f"labels{ending}")
    expected = labels["Source_Name"][(np.asarray(labels["CLASS1"]) == "") & (np.asarray(labels["P_psr"]) > 0.5)]
    assert len(expected) > 10
    assert select(tmp_path / f"labels{ending}") == expected.tolist()


@pytest.mark.parametrize("ending", [".vot", ".parquet"])
def test_empty_texts_are_empty_where_a_format_tells_them_from_missing_ones(labels, tmp_path, ending):
    """Astropy takes empty texts of FITS, ECSV and CSV for missing, hence STATUS."""
    write_table(labels, tmp_path / f"labels{ending}")
    back = Table.read(tmp_path / f"labels{ending}")
    assert np.sum(back["CLASS1"] == "") == np.sum(np.asarray(labels["CLASS1"]) == "") > 10
    assert len(back[back["CLASS1"] == ""]) == np.sum(np.asarray(labels["CLASS1"]) == "")


def test_status(labels, dr4):
    codes = np.asarray(dr4.table["CLASS1"], str)[::20]
    for status, code in zip(labels["STATUS"], codes, strict=True):
        expected = {"": "unassociated", "bcu": "bcu", "unk": "unk"}.get(
            code.lower(), "identified" if code.isupper() else "associated"
        )
        assert status == expected
    assert set(labels["STATUS"]) == set(SOURCE_STATUSES)
