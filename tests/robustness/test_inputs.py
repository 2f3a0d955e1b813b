"""Files from anywhere: nothing is fetched, nothing hangs on a pipe, and little data do not fill the memory."""

import gzip
import json
import os
import threading
import tracemalloc
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from astropy.table import Table

from fermiclass import read_catalog
from fermiclass.errors import CatalogError, ModelFolderError, ReportError, RowsError
from fermiclass.io import inputs, parquet_tables
from fermiclass.io.tables import read_table, write_table
from fermiclass.labelling.archive import FORMAT, FORMAT_VERSION, ROWS, read_model_folder
from fermiclass.nimgp.errors import CheckpointError
from fermiclass.nimgp.training.checkpoints import Checkpoint
from fermiclass.rows import open_rows, open_training_rows
from fermiclass.show.page import read_metrics

MIB = 1 << 20


@pytest.fixture(scope="module")
def server():
    """The address of a server, and the paths that it was asked for."""
    visits = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            visits.append(self.path)
            self.send_error(404)

        def log_message(self, *_):
            pass

    served = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=served.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{served.server_port}", visits
    served.shutdown()
    served.server_close()


VOTABLE = (
    '<?xml version="1.0"?>{doctype}<v:VOTABLE version="1.4" xmlns:v="http://www.ivoa.net/xml/VOTable/v1.3">'
    '<v:RESOURCE><v:TABLE><v:FIELD name="Source_Name" datatype="char" arraysize="*"/><v:DATA>{data}</v:DATA></v:TABLE>'
    "</v:RESOURCE></v:VOTABLE>"
)
STREAMS = {
    "BINARY": ("", '<v:BINARY><v:STREAM href="{place}"/></v:BINARY>'),
    "BINARY2": ("", '<v:BINARY2><v:STREAM href="{place}"/></v:BINARY2>'),
    "FITS": ("", '<v:FITS><v:STREAM href="{place}"/></v:FITS>'),
    "TABLEDATA": ("", '<v:TABLEDATA><v:STREAM href="{place}"/></v:TABLEDATA>'),
    "PARQUET": ("", '<v:PARQUET type="VOTable-remote-file"><v:STREAM href="{place}"/></v:PARQUET>'),
    "entity": ('<!DOCTYPE a [<!ENTITY e "{place}">]>', '<v:BINARY><v:STREAM href="&e;"/></v:BINARY>'),
}


@pytest.mark.parametrize("read", [read_catalog, read_table])
@pytest.mark.parametrize("kind", STREAMS)
def test_data_that_are_elsewhere_are_not_fetched(server, tmp_path, kind, read):
    address, visits = server
    (tmp_path / "secret").write_text("mine")
    for place in (f"{address}/data", f"file://{tmp_path}/secret", "ftp://127.0.0.1:1/x", "file:secret"):
        doctype, data = (part.format(place=place) for part in STREAMS[kind])
        for encoding in ("utf-8", "utf-16"):
            text = VOTABLE.format(doctype=doctype, data=data)
            text = text.replace("?>", f' encoding="{encoding}"?>', 1)
            (tmp_path / "table.vot").write_bytes(text.encode(encoding))
            if encoding == "utf-16" and read is read_catalog:  # which takes no UTF-16
                continue
            with pytest.raises(CatalogError, match=f"not in the file but at '{place}', which is not opened"):
                read(tmp_path / "table.vot")
    assert visits == []


def test_an_entity_that_is_elsewhere_is_not_fetched(server, tmp_path):
    address, visits = server
    text = VOTABLE.format(
        doctype=f'<!DOCTYPE a [<!ENTITY e SYSTEM "{address}/entity">]>', data="<v:TABLEDATA>&e;</v:TABLEDATA>"
    )
    (tmp_path / "table.vot").write_text(text)
    assert len(read_table(tmp_path / "table.vot")) == 0
    assert visits == []


def model_folder(path):
    """A model folder whose weights are at a path."""
    folder = path.parent / "model"
    folder.mkdir()
    entries = {"kind": ROWS, "estimator": {}, "classes": [], "neighbours": None, "model": {}}
    about = {"format": FORMAT, "format_version": FORMAT_VERSION}
    (folder / "config.json").write_text(json.dumps(about | entries))
    (folder / "weights.npz").symlink_to(path)
    return folder


READERS = {
    "a catalogue": ("x.fits", read_catalog, CatalogError),
    **{
        f"a table{ending}": (f"x{ending}", read_table, CatalogError) for ending in (".fits", ".vot", ".csv", ".parquet")
    },
    "rows.npy": ("x.npy", open_rows, RowsError),
    "rows.fits": ("x.fits", lambda path: open_rows(path, ["a"]), RowsError),
    "rows.parquet": ("x.parquet", lambda path: open_rows(path, ["a"]), RowsError),
    "names of columns": ("x.parquet", open_training_rows, RowsError),
    "weights": ("x", lambda path: read_model_folder(model_folder(path)), ModelFolderError),
    "an evaluation": ("x.json", lambda path: read_metrics(path, {}), ReportError),
    "a checkpoint": ("x.npz", lambda path: Checkpoint(path, {}).restore([]), CheckpointError),
}
NO_FILE = r"it is a (pipe|device), not a regular file|not a regular file|no such file|No such file|has no weights"


@pytest.mark.parametrize("name", READERS)
def test_pipes_are_not_read(tmp_path, name):
    file, read, error = READERS[name]
    path = tmp_path / file
    os.mkfifo(path)
    # Who reads the pipe gets nothing instead of waiting for ever.
    writer = threading.Thread(target=lambda: path.open("wb").close(), daemon=True)
    writer.start()
    try:
        with pytest.raises(error, match=NO_FILE):
            read(path)
        assert writer.is_alive()
    finally:
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        writer.join()
        os.close(reader)


@pytest.mark.parametrize("name", READERS)
def test_devices_are_not_read(tmp_path, name):
    """/dev/null, which ends at once if it is read after all."""
    file, read, error = READERS[name]
    (tmp_path / file).symlink_to("/dev/null")
    with pytest.raises(error, match=NO_FILE):
        read(tmp_path / file)


def same_number(rows):
    """Run lengths: some bytes for any number of rows, whatever the file states as its size."""
    return pa.table({"a": pa.array(np.zeros(rows))})


def same_text(rows):
    return pa.table({"a": pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), ["x" * MIB])})


BOMBS = {
    "a number": (lambda: same_number(4 * MIB), {"use_dictionary": True}, r"more than 100 times the size"),
    "zeros": (lambda: same_number(4 * MIB), {"use_dictionary": False}, r"more than 100 times the size"),
    "a text": (lambda: same_text(20_000), {}, r"texts of 1,048,576 bytes in a column of 20,000 rows"),
    "lists of texts": (
        lambda: pa.table({"a": pa.array([["x" * MIB, "y"]])}),
        {},
        r"column a holds lists of texts; expected one text for each row",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("read", [read_catalog, read_table])
def test_parquet_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch, name, read):
    monkeypatch.setattr(parquet_tables, "_SMALL", 4 * MIB)
    make, options, message = BOMBS[name]
    table = make()
    table = table.append_column("b", pa.nulls(table.num_rows, pa.float64()))
    pq.write_table(table, tmp_path / "bomb.parquet", compression="zstd", row_group_size=table.num_rows, **options)
    del table
    assert (tmp_path / "bomb.parquet").stat().st_size < MIB / 4
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        with pytest.raises((CatalogError, RowsError), match=message):
            read(tmp_path / "bomb.parquet")
        assert tracemalloc.get_traced_memory()[1] < 10 * MIB
    finally:
        tracemalloc.stop()
    assert pa.total_allocated_bytes() - before < 10 * MIB


def test_texts_of_parquet_come_back(tmp_path):
    """They are read as a dictionary."""
    names = ["", "α ψ", "long" * 100, "α ψ"]
    write_table(Table({"name": names, "n": [1, 2, 3, 4]}), tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet")["name"].tolist() == names


@pytest.mark.parametrize("ending", [".fits.gz", ".vot", ".csv"])
def test_a_packed_table_that_fills_the_memory_is_refused(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(inputs, "_SMALL", MIB)
    (tmp_path / f"bomb{ending}").write_bytes(gzip.compress(bytes(2 * MIB)))
    with pytest.raises(CatalogError, match=r"unpacks to more than 100 times its size"):
        read_table(tmp_path / f"bomb{ending}")
