"""An output is complete, or what was there stays."""

import os
from pathlib import Path

import numpy as np
import pytest
from astropy.table import Table

from fermiclass.errors import OutputError
from fermiclass.io.files import atomic_file
from fermiclass.io.model_folder import ROWS, ModelFiles, write_folder
from fermiclass.io.tables import write_table
from fermiclass.nimgp.errors import CheckpointError
from fermiclass.nimgp.training.checkpoints import Checkpoint
from fermiclass.rows import parquet_writer


def write_table_file(folder):
    write_table(Table({"a": [1]}), folder / "out.ecsv")


def write_rows(folder):
    with parquet_writer(folder / "out.parquet", Table({"a": [1]})) as write:
        write(Table({"a": [1]}))


def write_model(folder):
    write_folder(folder / "out", ModelFiles(ROWS, {}, [], None, {}, {"a": np.zeros(2)}))


def write_checkpoint(folder):
    Checkpoint(folder / "out.npz", {}).save([], {}, last=True)


WRITERS = [write_table_file, write_rows, write_model, write_checkpoint]


def content_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("there", [False, True])
def test_without_room_the_old_one_stays(tmp_path, monkeypatch, write, there):
    if there:
        write(tmp_path)
    before = content_of(tmp_path)

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises((OutputError, CheckpointError), match="No space left on device"):
        write(tmp_path)
    assert content_of(tmp_path) == before


def test_an_error_in_between_leaves_nothing(tmp_path):
    def begin(path):
        with atomic_file(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    (tmp_path / "old").write_text("old")
    for name in ("old", "new"):
        with pytest.raises(KeyboardInterrupt):
            begin(tmp_path / name)
    assert content_of(tmp_path) == {Path("old"): b"old"}
