"""Commands that are killed or find no room: what was there stays, and the same command again ends well."""

import resource
import signal
import subprocess
import sys
import time

import pytest

from tests.robustness.damage import Base


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    path = tmp_path_factory.mktemp("catalog") / "catalog.fits"
    path.write_bytes(Base().content)
    return path


def command(catalog, folder):
    return [sys.executable, "-m", "fermiclass", "features", str(catalog), "-o", str(folder / "features.fits")]


def test_killed_and_given_again(catalog, tmp_path):
    whole = tmp_path / "whole"
    whole.mkdir()
    start = time.monotonic()
    subprocess.run(command(catalog, whole), check=True, capture_output=True)
    took = time.monotonic() - start
    expected = (whole / "features.fits").read_bytes()
    for share in (0.3, 0.8, 0.95):
        folder = tmp_path / str(share)
        folder.mkdir()
        process = subprocess.Popen(command(catalog, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(share * took)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        if (folder / "features.fits").exists():
            assert (folder / "features.fits").read_bytes() == expected
        subprocess.run(command(catalog, folder), check=True, capture_output=True)
        assert [path.name for path in folder.iterdir()] == ["features.fits"]
        assert (folder / "features.fits").read_bytes() == expected


def test_leftovers_of_a_killed_process_go_and_those_of_others_stay(tmp_path):
    from fermiclass.files import write_whole

    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / f".out.csv.{dead.pid}-0123abcd.tmp").write_text("half")
    (tmp_path / ".out.csv.1-0123abcd.tmp").write_text("of a process that runs")
    (tmp_path / ".out.csv.notes.tmp").write_text("mine")
    write_whole(tmp_path / "out.csv", b"whole")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"out.csv", ".out.csv.1-0123abcd.tmp", ".out.csv.notes.tmp"}


def test_no_room(catalog, tmp_path):
    """A limit of the size of files stands for a full disk: the old file stays, and nothing is left beside it."""
    (tmp_path / "features.fits").write_bytes(b"old")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    done = subprocess.run(command(catalog, tmp_path), capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 2
    assert "cannot write" in done.stderr
    assert "Free some space, or choose another folder" in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "features.fits").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["features.fits"]


def test_a_checkpoint_without_room(tmp_path, monkeypatch):
    import numpy as np

    from fermiclass.nimgp.checkpoints import Checkpoint
    from fermiclass.nimgp.errors import CheckpointError

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    (tmp_path / "training.npz").write_bytes(b"old")
    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(CheckpointError, match=r"training\.npz' cannot be written: No space left on device\. Free some"):
        Checkpoint(tmp_path / "training.npz", {}).save([], {}, last=True)
    assert [path.name for path in tmp_path.iterdir()] == ["training.npz"]
    assert (tmp_path / "training.npz").read_bytes() == b"old"
