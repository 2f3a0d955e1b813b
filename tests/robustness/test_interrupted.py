"""Commands that are killed or find no room: what was there stays, and the same command again ends well."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

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
    from fermiclass.io.files import _processes, write_whole

    code = "from fermiclass.io.files import _processes; print(_processes())"
    dead = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    here = dead.communicate()[0].strip()
    assert here == _processes()
    (tmp_path / f".out.csv.{here}-{dead.pid}-0123abcd.tmp").write_text("half")
    stay = {
        f".out.csv.{here}-1-0123abcd.tmp": "of a process that runs",
        f".out.csv.00000000-{dead.pid}-0123abcd.tmp": "of another machine, container or start of this machine",
        f".out.csv.{dead.pid}-0123abcd.tmp": "of an earlier version, which does not tell where it ran",
        ".out.csv.notes.tmp": "mine",
    }
    for name, content in stay.items():
        (tmp_path / name).write_text(content)
    write_whole(tmp_path / "out.csv", b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {"out.csv", *stay}


def test_machines_and_containers_have_marks_of_their_own(monkeypatch):
    from fermiclass.io.files import _processes

    marks = {_processes()}
    monkeypatch.setattr(Path, "readlink", lambda path: Path("pid:[1]"))
    marks.add(_processes())
    monkeypatch.setattr(Path, "read_text", lambda path: "another start")
    marks.add(_processes())
    assert len(marks) == 3


def test_another_writer_of_the_same_file_is_left_alone(tmp_path, monkeypatch):
    """As of two machines on one folder: the second does not see the process of the first."""
    from fermiclass.io import files

    monkeypatch.setattr(files, "_is_running", lambda pid: False)
    with files.whole_file(tmp_path / "labels.fits") as first:
        first.write_bytes(b"first")
        monkeypatch.setattr(files, "_processes", lambda: "0badcafe")
        files.write_whole(tmp_path / "labels.fits", b"second")
        assert first.read_bytes() == b"first"
    assert (tmp_path / "labels.fits").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["labels.fits"]


def test_a_model_is_replaced_where_folders_cannot_be_exchanged(tmp_path, monkeypatch):
    from fermiclass.io import files
    from fermiclass.labelling.archive.files import write_folder

    monkeypatch.setattr(files, "_exchange", lambda *_: False)
    for number in (1, 2):
        write_folder(tmp_path / "model", "rows", {"number": number}, {})
    assert json.loads((tmp_path / "model" / "config.json").read_text())["number"] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def table(folder):
    from astropy.table import Table

    from fermiclass.io.tables import write_table

    write_table(Table({"a": [1]}), folder / "out.ecsv")


def rows(ending):
    def write(folder):
        from astropy.table import Table

        from fermiclass.rows import open_writer

        with open_writer(folder / f"out{ending}", Table({"a": [1]}), num_rows=1) as writer:
            writer.write(Table({"a": [1]}))

    return write


def model(folder):
    from fermiclass.labelling.archive.files import write_folder

    write_folder(folder / "out", "rows", {}, {})


def checkpoint(folder):
    from fermiclass.nimgp.training.checkpoints import Checkpoint

    Checkpoint(folder / "out.npz", {}).save([], {}, last=True)


WRITERS = {
    "table": table,
    ".fits": rows(".fits"),
    ".parquet": rows(".parquet"),
    "model": model,
    "checkpoint": checkpoint,
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("there", [False, True])
def test_a_power_cut_leaves_the_old_one_or_the_new_one(tmp_path, monkeypatch, write, there):
    """The disk may lose what was not synced: content comes before the name, and the name is synced, too."""
    from fermiclass.io import files

    if there:
        write(tmp_path)
    synced, done = {}, []
    fsync = os.fsync

    def watch_sync(descriptor):
        fsync(descriptor)
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        synced[path] = None if path.is_dir() else path.read_bytes()
        done.append(path)

    def check_synced(path, target):
        for part in (*path.iterdir(), path) if path.is_dir() else (path,):
            assert part in synced, f"{part.name} was not synced"
            assert part.is_dir() or part.read_bytes() == synced[part], f"{part.name} changed after it was synced"
        done.append(target)

    def watch(rename):
        def renamed(path, target):
            check_synced(path, target)
            return rename(path, target)

        return renamed

    monkeypatch.setattr(os, "fsync", watch_sync)
    monkeypatch.setattr(Path, "replace", watch(Path.replace))
    monkeypatch.setattr(files, "_exchange", watch(files._exchange))
    monkeypatch.setattr(Path, "rename", lambda *_: pytest.fail("for a moment there is neither"))
    write(tmp_path)
    (name,) = [path.name for path in tmp_path.iterdir()]
    assert name.startswith("out")
    assert done[-2:] == [tmp_path / name, tmp_path]


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

    from fermiclass.nimgp.errors import CheckpointError
    from fermiclass.nimgp.training.checkpoints import Checkpoint

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    (tmp_path / "training.npz").write_bytes(b"old")
    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(CheckpointError, match=r"training\.npz' cannot be written: No space left on device\. Free some"):
        Checkpoint(tmp_path / "training.npz", {}).save([], {}, last=True)
    assert [path.name for path in tmp_path.iterdir()] == ["training.npz"]
    assert (tmp_path / "training.npz").read_bytes() == b"old"
