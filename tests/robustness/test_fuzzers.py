"""The first cases of the fuzzers in `fuzz/`."""

import sys

import pytest
import tensorflow as tf

from tests.conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "fuzz"))
import frames
import same_table

sys.path.remove(str(REPOSITORY / "fuzz"))


@pytest.mark.parametrize("seed", range(40))
def test_one_table_in_many_ways(seed, tmp_path):
    same_table.check(seed, tmp_path)


@pytest.mark.parametrize("seed", range(24))
def test_frames_are_arrays_or_refused(seed, eagerly):
    assert tf.executing_eagerly()
    frames.check(seed)
