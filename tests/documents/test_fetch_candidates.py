"""The script that fetches candidates, against a small TAP service on this machine."""

import importlib.util
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO

import numpy as np
import pytest
from astropy.table import Table

from fermiclass.brought.candidates import Candidates
from tests.conftest import REPOSITORY


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


def test_objects_are_fetched_for_unassociated_sources(service, dr4):
    spec = importlib.util.spec_from_file_location("fetch_candidates", REPOSITORY / "docs" / "fetch_candidates.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    found = script.fetch(dr4.table, "J/ApJ/914/42/table2", service)
    bare = dr4.table[dr4.classes == ""]
    assert list(found["Source_Name"]) == list(bare["Source_Name"][:3])
    assert b"J/ApJ/914/42/table2" in Service.asked
    assert Service.asked.count(b"4FGL J") == np.isfinite(bare["Conf_95_SemiMajor"]).sum()
    assert Candidates.of(found).covers == "ellipses"
