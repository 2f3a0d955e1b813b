"""Nothing that is read can run code, and nothing is fetched. Calls that could are refused by the rules S of ruff."""

import io
import json
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest

from fermiclass import read_catalog
from fermiclass.errors import CatalogError, ModelFolderError
from fermiclass.io.model_folder import FORMAT, FORMAT_VERSION, read_model_folder
from fermiclass.io.tables import read_table
from fermiclass.nimgp.errors import CheckpointError
from fermiclass.nimgp.training.checkpoints import Checkpoint


def archive(content):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as members:
        members.writestr("a.npy", content)
    return stream.getvalue()


def objects():
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "|O", "fortran_order": False, "shape": (1,)})
    return archive(stream.getvalue() + b"cos\nsystem\n(S'x'\ntR.")


HOSTILE = {
    "objects": objects(),
    "code in the header": archive(b"\x93NUMPY\x01\x00\x20\x00" + b"__import__('os').system('true') "),
    "no array": archive(b"rm -rf"),
    "no archive": b"PK\x03\x04rm -rf",
    "a pickle": b"cos\nsystem\n(S'x'\ntR.",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_arrays_that_hold_code_are_refused(tmp_path, content):
    about = {"format": FORMAT, "format_version": FORMAT_VERSION, "kind": "rows"}
    entries = {"estimator": {}, "classes": [], "neighbours": None, "model": {}}
    (tmp_path / "config.json").write_text(json.dumps(about | entries))
    (tmp_path / "weights.npz").write_bytes(content)
    with pytest.raises(ModelFolderError, match="cannot be read"):
        read_model_folder(tmp_path)
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        Checkpoint(tmp_path / "weights.npz", {}).restore([])


@pytest.mark.parametrize("text", [b"[" * 10**6, b'{"a":' * 10**5, b"1" * 10**5], ids=["list", "entries", "number"])
def test_hostile_settings_are_refused(tmp_path, text):
    (tmp_path / "config.json").write_bytes(text)
    with pytest.raises(ModelFolderError, match="cannot be read"):
        read_model_folder(tmp_path)


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
        (tmp_path / "table.vot").write_text(VOTABLE.format(doctype=doctype, data=data))
        with pytest.raises(CatalogError, match=f"not in the file but at '{place}', which is not opened"):
            read(tmp_path / "table.vot")
    assert visits == []


def test_an_entity_that_is_elsewhere_is_not_fetched(server, tmp_path):
    address, visits = server
    doctype = f'<!DOCTYPE a [<!ENTITY e SYSTEM "{address}/entity">]>'
    (tmp_path / "table.vot").write_text(VOTABLE.format(doctype=doctype, data="<v:TABLEDATA>&e;</v:TABLEDATA>"))
    assert len(read_table(tmp_path / "table.vot")) == 0
    assert visits == []
