"""Candidates from a service, against a small TAP service on this machine."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO

import numpy as np
import pytest
from astropy.table import Table

from fermiclass.brought.candidates import Candidates
from fermiclass.brought.object_columns import fetch_candidates
from fermiclass.errors import CatalogError
from fermiclass.io.tables import read_table
from tests.commands import run_well
from tests.conftest import slim_path


class Service(BaseHTTPRequestHandler):
    """Answers every query with an object on each of the first three positions that were uploaded."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).asked = body
        start = body.index(b"<?xml")
        votable = body[start : body.index(b"</VOTABLE>") + len(b"</VOTABLE>")]
        sent = Table.read(BytesIO(votable), format="votable")[:3]
        answer = Table({"Source_Name": sent["Source_Name"].astype(str), "RAJ2000": sent["ra"], "DEJ2000": sent["dec"]})
        content = BytesIO()
        answer.write(content, format="votable")
        text = content.getvalue().replace(
            b'<RESOURCE type="results">', b'<RESOURCE type="results"><INFO name="QUERY_STATUS" value="OK"/>'
        )
        self.send_response(200)
        self.send_header("Content-Type", "application/x-votable+xml")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


@pytest.fixture
def service():
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/tap"
        server.shutdown()


def test_objects_are_fetched_for_unassociated_sources(service, dr4, tmp_path):
    """With a row for each source that was searched in vain, so that the table says who was searched."""
    path, table = tmp_path / "radio.fits", "J/ApJ/914/42/table2"
    run_well("candidates", slim_path("4FGL-DR4"), table, "--service", service, "-o", path)
    bare = dr4.table[dr4.classes == ""]
    found = read_table(path)
    assert list(found["Source_Name"][:3]) == list(bare["Source_Name"][:3])
    assert np.isfinite(found["RAJ2000"]).sum() == 3
    assert table.encode() in Service.asked
    number = np.isfinite(bare["Conf_95_SemiMajor"]).sum()
    assert Service.asked.count(b"4FGL J") == len(found) == number
    candidates = Candidates.of(found)
    assert (candidates.covers, len(candidates), len(candidates.searched)) == ("ellipses", 3, number)


def test_a_service_that_does_not_answer_is_an_error(dr4):
    with pytest.raises(CatalogError, match="gives no objects of table"):
        fetch_candidates(dr4.table[:50], "table", service="http://127.0.0.1:9/tap")
