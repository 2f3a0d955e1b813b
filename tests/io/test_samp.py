"""Tables by SAMP, through a hub of these tests' own."""

import os
import re
import time
from contextlib import suppress

import pytest

from fermiclass.errors import MessagingError
from fermiclass.io.samp import check_hub, send_table
from fermiclass.io.tables import read_table, write_table
from tests.commands import run
from tests.show.page.conftest import make_up_labels

QUICK = ("--steps", "10", "--set", "num_inducing=10", "--features", "six")
FORMATS = {".vot": "table.load.votable", ".fits": "table.load.fits"}


class Receiver:
    """An application that accepts tables, as TOPCAT does, or refuses them."""

    def __init__(self, name, mtypes, reason=None):
        from pyvo.samp import SAMPIntegratedClient

        self.received, self.reason = [], reason
        self.client = SAMPIntegratedClient(name=name, addr="127.0.0.1")
        self.client.connect()
        for mtype in mtypes:
            self.client.bind_receive_call(mtype, self.receive)

    def receive(self, private_key, sender_id, msg_id, mtype, params, extra):
        self.received.append((mtype, dict(params)))
        status = {"samp.status": "samp.ok", "samp.result": {}}
        if self.reason:
            status = {"samp.status": "samp.error", "samp.result": {}, "samp.error": {"samp.errortxt": self.reason}}
        time.sleep(0.3)  # pyvo's hub loses an answer that comes before it has noted the question
        self.client.reply(msg_id, status)


@pytest.fixture
def lockfile(tmp_path, monkeypatch):
    """Where the hub of a test is to be found, if there is one; nobody else's is."""
    path = tmp_path / "samp-lock"
    monkeypatch.setenv("SAMP_HUB", f"std-lockurl:{path.as_uri()}")
    return path


@pytest.fixture
def hub(lockfile):
    from pyvo.samp import SAMPHubServer

    server = SAMPHubServer(lockfile=str(lockfile), web_profile=False, addr="127.0.0.1")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def receivers(hub):
    opened = []

    def open_one(*arguments, **options):
        opened.append(Receiver(*arguments, **options))
        return opened[-1]

    yield open_one
    for receiver in opened:
        with suppress(OSError):  # a hub that a test has stopped
            receiver.client.disconnect()


@pytest.fixture
def labels(dr4, tmp_path):
    path = tmp_path / "some labels.vot"
    write_table(make_up_labels(dr4[::500]), path)
    return path


@pytest.mark.parametrize("ending", FORMATS)
def test_an_application_loads_the_table(receivers, dr4, tmp_path, ending):
    path = tmp_path / f"some labels{ending}"
    write_table(make_up_labels(dr4[::500]), path)
    one, other = receivers("TOPCAT", FORMATS.values()), receivers("Notes", ["coord.pointAt.sky"])
    assert send_table(path) == ["TOPCAT"]
    ((mtype, params),) = one.received
    assert mtype == FORMATS[ending]
    assert params == {"url": path.as_uri(), "table-id": path.as_uri(), "name": f"some labels{ending}"}
    assert other.received == []


def test_some_refuse(receivers, labels):
    receivers("Picky", ["table.load.votable"], reason="out of memory")
    with pytest.raises(MessagingError, match=r"no application has loaded '.*' \(Picky: out of memory\)"):
        send_table(labels)
    receivers("TOPCAT", ["table.load.votable"])
    assert send_table(labels) == ["TOPCAT"]


def test_no_hub(lockfile, labels):
    for attempt in (check_hub, lambda: send_table(labels)):
        with pytest.raises(MessagingError, match=r"no SAMP hub answers .*Start TOPCAT or Aladin"):
            attempt()


def test_classify_sends_the_labels(few_file, receivers, tmp_path):
    topcat = receivers("TOPCAT", FORMATS.values())
    done = run("classify", few_file, *QUICK, "--send", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("Sent to TOPCAT.\n")
    path = tmp_path / "4FGL-DR4-labels.fits"
    assert [params["url"] for _, params in topcat.received] == [path.as_uri()]
    assert read_table(path).meta["catalog"] == few_file.name


@pytest.mark.parametrize(
    ("output", "message"),
    [("labels.fits", "no SAMP hub answers"), ("labels.csv", r"expected one of \.fits, \.fits\.gz, \.vot")],
)
def test_classify_says_at_once_that_it_cannot_send(few_file, lockfile, tmp_path, output, message):
    done = run("classify", few_file, *QUICK, "--send", "-o", output, cwd=tmp_path, env={**os.environ})
    assert done.returncode == 2
    assert re.search(message, done.stderr)
    assert "Traceback" not in done.stderr
    assert list(tmp_path.glob("*.*")) == []
