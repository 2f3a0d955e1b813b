"""An output that is replaced keeps its permissions, also while it is written."""

import stat

import numpy as np
import pytest
from astropy.table import Table

from fermiclass.io.files import whole_file, write_json, write_whole
from fermiclass.io.tables import table_endings, write_table
from fermiclass.labelling.archive.files import ROWS, write_folder
from fermiclass.nimgp.training.checkpoints import Checkpoint

MODES = (0o600, 0o640, 0o664, 0o700)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def usual(tmp_path):
    """The mode of a new file."""
    (tmp_path / "new").touch()
    return mode_of(tmp_path / "new")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [f"t{ending}" for ending in table_endings] + ["t.json"])
def test_files(tmp_path, usual, name, mode):
    path = tmp_path / name

    def write():
        write_json(path, {}) if name.endswith(".json") else write_table(Table({"a": [1.0]}), path)

    write()
    assert mode_of(path) == usual
    path.chmod(mode)
    write()
    assert mode_of(path) == mode


def test_nobody_reads_it_while_it_is_written(tmp_path):
    (tmp_path / "secret").touch()
    (tmp_path / "secret").chmod(0o600)
    with whole_file(tmp_path / "secret") as temporary:
        assert mode_of(temporary) == 0o600
    assert mode_of(tmp_path / "secret") == 0o600


def test_what_a_link_leads_to(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "file").chmod(0o600)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole((tmp_path / "link").resolve(), b"new")
    assert mode_of(tmp_path / "file") == 0o600


def test_a_model_folder(tmp_path):
    folder = tmp_path / "model"
    arrays = {"a": np.zeros(2)}
    write_folder(folder, ROWS, {}, arrays)
    for path, mode in ((folder, 0o710), (folder / "config.json", 0o600), (folder / "weights.npz", 0o640)):
        path.chmod(mode)
    write_folder(folder, ROWS, {}, arrays)
    assert [mode_of(folder / name) for name in (".", "config.json", "weights.npz")] == [0o710, 0o600, 0o640]


def test_a_checkpoint(tmp_path, usual):
    path = tmp_path / "training.npz"
    Checkpoint(path, {}).save([], {}, last=True)
    assert mode_of(path) == usual
    path.chmod(0o600)
    Checkpoint(path, {}).save([], {}, last=True)
    assert mode_of(path) == 0o600
