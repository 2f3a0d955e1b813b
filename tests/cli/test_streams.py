"""Where commands print: pipes that break, full devices, closed streams, encodings of few letters, little memory."""

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from fermiclass.catalog import reading
from fermiclass.cli.app import main
from fermiclass.cli.streams import prepare_streams
from tests.conftest import slim_path

CATALOG = str(slim_path("4FGL-DR4"))


def run(redirected, *arguments, **environment):
    """Run a command in a shell with redirections."""
    command = [sys.executable, "-m", "fermiclass", *arguments]
    done = subprocess.run(
        ["sh", "-c", f'"$@" {redirected}', "sh", *command], capture_output=True, env=os.environ | environment
    )
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr
    return done.returncode, done.stdout, done.stderr.decode()


@pytest.mark.parametrize("arguments", [("info", CATALOG), ("--help",)])
def test_a_full_device(arguments):
    status, _, errors = run("> /dev/full", *arguments)
    assert status == 2
    assert errors.count("\n") == 1
    assert "the output cannot be printed: No space left on device. Free some space, or send it elsewhere" in errors


@pytest.mark.parametrize("arguments", [("info", CATALOG), ("--help",)])
def test_nobody_reads(arguments):
    """The reader closes at once; the output is longer than a pipe can hold, or is written at the end."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-m", "fermiclass", *arguments], stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("redirected", ["2>&-", "2> /dev/full", "<&- 2>&-"])
def test_messages_that_go_nowhere(redirected):
    status, output, errors = run(redirected, "info", CATALOG)
    assert (status, errors) == (0, "")
    assert b"4FGL-DR4" in output
    assert run(redirected, "info", "nowhere.fits")[0] == 2


def test_no_stream_is_open():
    assert run(">&- <&-", "info", CATALOG)[0] == 0
    assert run(">&- 2>&- <&-", "info", "nowhere.fits")[0] == 2


def test_libraries_write_their_messages_to_no_file(tmp_path):
    """With standard error closed, the next file that is opened would have its number."""
    code = (
        "import os, sys; from fermiclass.cli.streams import prepare_streams; prepare_streams();"
        f"file = open({str(tmp_path / 'output')!r}, 'w'); os.write(2, b'message'); print(file.fileno() > 2)"
    )
    done = subprocess.run(["sh", "-c", '"$@" 2>&-', "sh", sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True\n"
    assert (tmp_path / "output").read_text() == ""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "euc-jp", "utf-8"])
def test_letters_that_an_encoding_lacks(encoding, monkeypatch, tmp_path):
    with (tmp_path / "output").open("w", encoding=encoding) as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        prepare_streams()
        print("12.3 σ − 1.0 ± 0.2 ≥ é Ω \udcff")
    text = (tmp_path / "output").read_text(encoding=encoding)
    expected = {
        "ascii": "12.3 sigma - 1.0 +- 0.2 >= e ? ?",
        "latin-1": "12.3 sigma - 1.0 ± 0.2 >= é ? ?",
        "utf-8": "12.3 σ − 1.0 ± 0.2 ≥ é Ω ?",
    }
    assert text.strip() == expected.get(encoding, text.strip())
    assert text.startswith("12.3 ")


def test_a_command_in_another_encoding():
    status, output, errors = run("", "info", CATALOG, PYTHONIOENCODING="ascii")
    assert (status, errors) == (0, "")
    assert output.isascii()


@pytest.mark.slow
def test_optimised_python():
    """It has no docstrings."""
    status, output, _ = run("", "info", CATALOG, PYTHONOPTIMIZE="2")
    assert status == 0
    assert b"4FGL-DR4" in output
    code = "from fermiclass.nimgp.settings import Settings; import fermiclass.nimgp.estimators.classifier"
    subprocess.run([sys.executable, "-OO", "-W", "ignore", "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        MemoryError("Unable to allocate 8.00 GiB"),
        OSError(12, "Cannot allocate memory"),
        ImportError("libx.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
    ],
)
def test_little_memory(monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr("fermiclass.catalog.reading.read_bytes", fail)
    done = CliRunner().invoke(main, ["info", CATALOG])
    assert done.exit_code == 2
    assert "error: not enough memory (" in done.stderr
    assert "raise the limit (ulimit -v), or take fewer sources at once" in done.stderr


def test_little_memory_is_no_damage(monkeypatch):
    def fail(_):
        raise MemoryError

    monkeypatch.setattr(reading, "_OTHER_FORMATS", ((lambda _: True, fail, "Parquet"),))
    done = CliRunner().invoke(main, ["info", CATALOG])
    assert "error: not enough memory (MemoryError)" in done.stderr
