"""Rows of Parquet files."""

import decimal
import gc
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fermiclass.errors import RowsError
from fermiclass.rows import ParquetRows
from tests.rows.conftest import FEATURES, NAMES, Data, make_rows, write_parquet


def written(path, **columns):
    pq.write_table(pa.table(columns), path / "t.parquet")
    return path / "t.parquet"


def test_only_the_row_groups_and_columns_concerned_are_read_once(data, tmp_path, monkeypatch):
    rows = make_rows("parquet", data, tmp_path)
    asked = []
    read = pq.ParquetFile.read_row_group

    def spy(self, group, columns=None):
        asked.append((group, columns))
        return read(self, group, columns=columns)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", spy)
    for start in range(64, 192, 16):
        rows.read(start, start + 16)
    rows.read(0, 0)
    rows.read(190, 194)
    assert [group for group, _ in asked] == [1, 2, 3]
    assert asked[0][1] == ["flux", "index", "curvature", "e_flux", "e_curvature", "class"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 0, 1], pa.int8()),
        pa.array([1, 0, 1], pa.uint64()),
        pa.array([1, 0, 1], pa.float32()),
        pa.array(np.array([1, 0, 1], np.float16)),
        pa.array([True, False, True]),
        pa.array([decimal.Decimal(1), decimal.Decimal(0), decimal.Decimal(1)]),
    ],
)
def test_numbers_of_any_type(tmp_path, column):
    assert ParquetRows(written(tmp_path, a=column), ["a"]).read(0, 3).X.tolist() == [[1.0], [0.0], [1.0]]


@pytest.mark.parametrize(
    "labels",
    [
        pa.array(["bll", None, "psr "]),
        pa.array(["bll", "", "psr"], pa.large_string()),
        pa.array(["bll", None, "psr"]).dictionary_encode(),
        pa.array([b"bll", b"", b"psr"]),
    ],
)
def test_labels_of_text(tmp_path, labels):
    chunk = ParquetRows(written(tmp_path, a=[1.0, 2.0, 3.0], y=labels), ["a"], label="y").read(0, 3)
    assert [str(name) for name in chunk.y] == ["bll", "", "psr"]
    assert chunk.labelled.tolist() == [True, False, True]


def test_labels_of_numbers(tmp_path):
    path = written(tmp_path, a=[1.0, 2.0], y=[7, 3])
    assert ParquetRows(path, ["a"], label="y").read(0, 2).y.tolist() == [7, 3]
    path = written(tmp_path, a=[1.0, 2.0], y=[7, None])
    with pytest.raises(RowsError, match=r"labels in column 'y' are of type float64; .* without missing ones"):
        ParquetRows(path, ["a"], label="y").read(0, 2)
    with pytest.raises(RowsError, match=r"labels in column 'a' are of type float64"):
        ParquetRows(path, ["a"], label="a")


def test_a_missing_number_is_not_a_number(tmp_path):
    path = written(tmp_path, a=pa.array([1, None, 3]))
    with pytest.raises(RowsError, match=r"has nan in row 1 .* of column 'a'"):
        ParquetRows(path, ["a"]).read(0, 3)


@pytest.mark.parametrize(
    ("features", "options", "message"),
    [
        (["flux", "Index"], {}, r"rows\.parquet' has no column 'Index'\. Did you mean index\?"),
        (["zzzzz"], {}, r"no column 'zzzzz'\. Its columns: name, flux, index"),
        (["flux"], {"uncertainties": ["e_fluxx"]}, r"no column 'e_fluxx'\. Did you mean e_flux"),
        (["flux"], {"label": "clas"}, r"no column 'clas'\. Did you mean class\?"),
        (["name"], {}, r"column 'name' of .* does not hold one number a row"),
        (["flux"], {"uncertainties": ["e_flux", None]}, r"2 columns of uncertainties were named for 1 features"),
        (["flux", "flux"], {}, r"named more than once: flux"),
        ([], {}, r"no features are named"),
        ("flux", {}, r"given as one text; expected a list of names"),
    ],
)
def test_columns_that_do_not_fit(data, tmp_path, features, options, message):
    path = write_parquet(tmp_path / "rows.parquet", data.columns)
    with pytest.raises(RowsError, match=message):
        ParquetRows(path, features, **options)


def test_files_that_cannot_be_read(data, tmp_path):
    with pytest.raises(RowsError, match=r"there is no file or folder '.*rows\.parquet'"):
        ParquetRows(tmp_path / "rows.parquet", FEATURES)
    with pytest.raises(RowsError, match=r"has no file that ends in \.parquet"):
        ParquetRows(tmp_path, FEATURES)
    path = write_parquet(tmp_path / "rows.parquet", data.columns)
    whole = path.read_bytes()
    for content in (b"", b"not a table", whole[:-100]):
        path.write_bytes(content)
        with pytest.raises(RowsError, match=r"rows\.parquet' cannot be read as a Parquet file \(.+\)\. Write it again"):
            ParquetRows(path, FEATURES)
    path.write_bytes(whole[:4] + bytes(len(whole) // 2) + whole[4 + len(whole) // 2 :])
    with pytest.raises(RowsError, match=r"cannot be read as a Parquet file"):
        ParquetRows(path, FEATURES, **NAMES).read(0, 1000)


def test_one_file_of_a_folder_that_differs(tmp_path):
    write_parquet(tmp_path / "a.parquet", Data(10).columns)
    write_parquet(tmp_path / "b.parquet", {"flux": np.zeros(5)})
    with pytest.raises(RowsError, match=r"b\.parquet' has no column 'index'"):
        ParquetRows(tmp_path, FEATURES, **NAMES)


def test_files_of_other_programs_in_a_folder_are_left_alone(tmp_path):
    write_parquet(tmp_path / "a.parquet", Data(10).columns)
    for name in ("_metadata.parquet", ".a.parquet", "_SUCCESS"):
        (tmp_path / name).write_bytes(b"")
    assert ParquetRows(tmp_path, FEATURES, **NAMES).num_rows == 10


def test_memory_is_that_of_a_row_group(tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    read = pq.ParquetFile.read_row_group
    in_use = []

    def spy(*arguments, **options):
        table = read(*arguments, **options)
        in_use.append(pa.total_allocated_bytes() - before + tracemalloc.get_traced_memory()[0])
        return table

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", spy)
    peaks = []
    for groups in (2, 16):
        write_parquet(path, Data(8192 * groups).columns, group=8192)
        gc.collect()
        before = pa.total_allocated_bytes()
        tracemalloc.start()
        rows = ParquetRows(path, FEATURES, **NAMES)
        for start in range(0, rows.num_rows, 1000):
            rows.read(start, min(start + 1000, rows.num_rows))
        tracemalloc.stop()
        assert len(in_use) == groups
        peaks.append(max(in_use))
        in_use.clear()
        del rows
    assert peaks[0] > 8192 * 5 * 8
    assert peaks[1] < 1.2 * peaks[0]
