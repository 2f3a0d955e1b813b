"""What -v prints, what --log keeps, and the completion of a shell."""

import os
import re
import subprocess
import sys

import pytest

from fermiclass import __citation__
from fermiclass.show import terminal
from tests.commands import run
from tests.conftest import REPOSITORY, slim_path

DR4 = slim_path("4FGL-DR4")


def test_verbose_prints_the_stages(tmp_path):
    output = tmp_path / "features.parquet"
    done = run("features", DR4, "-o", output, "-v")
    assert done.returncode == 0
    put_back = f"fermiclass: '{DR4.name}': 296 second associations of 4FGL-DR3 put back, which 4FGL-DR4 lost\n"
    stages = f"fermiclass: read '{DR4}': 4FGL-DR4, 7195 sources\nfermiclass: wrote '{output}'\n"
    assert done.stderr == put_back + stages
    assert run("features", DR4, "-o", output).stderr == ""


def test_a_log_has_every_command_with_times_and_the_traceback_of_an_error(tmp_path):
    log = tmp_path / "run.log"
    assert run("info", DR4, "--log", log).stderr == ""
    failed = run("info", tmp_path / "missing.fits", "--log", log)
    assert failed.returncode == 2
    lines = log.read_text().splitlines()
    time = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}"
    assert re.fullmatch(rf"{time} INFO fermiclass.cli.app: fermiclass \S+, Python \S+: info .+ --log .+", lines[0])
    assert re.fullmatch(rf"{time} INFO fermiclass\.catalog\.reading: read .*: 4FGL-DR4, 7195 sources", lines[2])
    message = failed.stderr.removeprefix("fermiclass: error: ").rstrip("\n")
    assert any(line.endswith(f"ERROR fermiclass.cli.app: {message}") for line in lines[2:])
    assert "Traceback (most recent call last):" in lines


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("labels.fits", "the log 'labels.fits' does not end in .log"),
        ("missing/run.log", "there is no folder"),
        ("folder.log", "it is a folder"),
        ("link.log", "the log 'link.log' does not end in .log"),
    ],
)
def test_a_wrong_place_for_a_log_is_refused(tmp_path, name, message):
    (tmp_path / "folder.log").mkdir()
    (tmp_path / "link.log").symlink_to(tmp_path / "labels.fits")
    (tmp_path / "labels.fits").write_bytes(b"mine")
    done = run("info", DR4, "--log", name, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert (tmp_path / "labels.fits").read_bytes() == b"mine"
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("followup --want pu", ["pulsar"]),
        ("classify --features gal", ["galactic"]),
        ("train --features six,LP_b", ["six,LP_beta"]),
    ],
)
def test_words_are_completed(typed, completed):
    about = {"_FERMICLASS_COMPLETE": "bash_complete", "COMP_WORDS": f"fermiclass {typed}", "COMP_CWORD": "3"}
    command = [sys.executable, "-c", "from fermiclass.cli.app import main; main(prog_name='fermiclass')"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | about)
    assert [line.split(",", 1)[1] for line in done.stdout.splitlines()] == completed


def test_how_to_cite():
    printed = run("--cite").stdout
    facts = (REPOSITORY / "CITATION.cff").read_text()
    for key in ("title", "license", "name"):  # of the program, and its authors
        assert re.search(rf"^(?:  - )?{key}: (.*)$", facts, re.MULTILINE)[1] in printed
    assert __citation__ + "\n" == printed
    assert __citation__ in (REPOSITORY / "docs" / "in-a-paper.md").read_text()


def test_a_command_that_is_misspelt():
    done = run("clasify")
    assert (done.returncode, "Did you mean 'classify'?" in done.stderr) == (2, True)


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_a_command_in_another_encoding(encoding):
    command = [sys.executable, "-m", "fermiclass", "info", str(DR4)]
    done = subprocess.run(command, capture_output=True, env=os.environ | {"PYTHONIOENCODING": encoding})
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii() == (encoding == "ascii")


def test_little_memory(monkeypatch):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr("fermiclass.brought.sources.parse_table", fail)
    done = run("info", DR4)
    assert done.returncode == 2
    assert "not enough memory" in done.stderr


def test_without_a_terminal_progress_is_a_line_a_minute(monkeypatch, capsys):
    seconds = iter([0, 30, 61, 90, 122])
    monkeypatch.setattr(terminal, "monotonic", lambda: next(seconds))
    with terminal.progress_bar("labelling") as advance:
        advance(1, 10)
        advance(2, 10)
    assert capsys.readouterr().err == "fermiclass: labelling, 2 of 10 done\n"
