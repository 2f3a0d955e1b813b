"""The first cases of the fuzzer in `fuzz/`."""

import sys

import pytest
import tensorflow as tf

from tests.conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "fuzz"))
import frames

sys.path.remove(str(REPOSITORY / "fuzz"))


@pytest.mark.parametrize("seed", range(24))
def test_frames_are_arrays_or_refused(seed, eagerly):
    assert tf.executing_eagerly()
    frames.check(seed)
