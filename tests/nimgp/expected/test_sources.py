"""Sources as rows: there and back, who is who, and what is refused."""

import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.expected.sources import check_input_noise, pack, same_source, unpack, with_covariances
from tests.nimgp.expected.conftest import D, covariances


def test_there_and_back(rng, form):
    mean, cov = rng.normal(size=(4, D)), covariances(rng, 4, form)
    sources = unpack(tf.constant(pack(mean, cov, source=[3, 1, 4, 5])), D)
    np.testing.assert_array_equal(sources.mean, mean)
    np.testing.assert_array_equal(sources.cov, cov)
    np.testing.assert_array_equal(sources.source, [3, 1, 4, 5])
    assert sources.full == (form == "covariances")
    assert sources.full_cov.shape == (4, D, D)


def test_known_inputs_have_no_variance(rng):
    mean = rng.normal(size=(4, D))
    np.testing.assert_array_equal(pack(mean), pack(mean, np.zeros((4, D))))


def test_one_input_is_the_same_in_both_forms(rng):
    mean, cov = rng.normal(size=(4, 1)), rng.uniform(size=(4, 1))
    np.testing.assert_array_equal(pack(mean, cov), pack(mean, cov[..., None]))


def test_variances_as_covariances(rng):
    mean, var = rng.normal(size=(4, D)), covariances(rng, 4, "variances")
    expected = pack(mean, var[:, None] * np.eye(D), source=range(4))
    np.testing.assert_array_equal(with_covariances(pack(mean, var, source=range(4)), D), expected)
    np.testing.assert_array_equal(with_covariances(expected, D), expected)


def test_no_sources():
    assert pack(np.empty((0, D))).shape == (0, 2 * D + 1)
    assert pack(np.empty((0, D)), np.empty((0, D, D)), source=[]).shape == (0, D + D**2 + 1)


def test_who_is_who():
    one = unpack(tf.constant(pack(np.zeros((3, D)), source=[1, 2, 1])), D)
    other = unpack(tf.constant(pack(np.zeros((2, D)), source=[2, 3])), D)
    np.testing.assert_array_equal(same_source(one, None), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    np.testing.assert_array_equal(same_source(one, other), [[0, 0], [1, 0], [0, 0]])


def test_without_numbers_all_are_distinct():
    sources = unpack(tf.constant(pack(np.zeros((3, D)))), D)
    np.testing.assert_array_equal(same_source(sources, None), np.eye(3))
    np.testing.assert_array_equal(same_source(sources, sources), np.zeros((3, 3)))


BAD = {
    "means of one axis": (np.zeros(3), None, None, r"the means have shape \(3,\): expected \(sources, inputs\)"),
    "a mean that is none": (np.full((2, D), np.nan), None, None, "the means are not all finite"),
    "another shape": (np.zeros((2, D)), np.zeros((2, 2)), None, r"shape \(2, 2\) does not fit means of shape \(2, 3\)"),
    "infinite": (np.zeros((2, D)), np.full((2, D), np.inf), None, "the covariances: not all values are finite"),
    "negative": (np.zeros((2, D)), [[0, 0, 0], [0, -1, 0]], None, "negative in row 1, column 1: variances are zero or"),
    "lopsided": (np.zeros((1, D)), [np.triu(np.ones((D, D)))], None, "the matrix of row 0 is not symmetric"),
    "indefinite": (np.zeros((1, D)), [np.ones((D, D)) - np.eye(D)], None, "row 0 is not positive semi-definite: .* -1"),
    "too few numbers": (np.zeros((2, D)), None, [1], r"numbers of the sources have shape \(1,\), the means \(2, 3\)"),
    "one source, two places": (np.eye(D), None, [1, 2, 1], "rows of the same source have different means"),
}


@pytest.mark.parametrize(("mean", "cov", "source", "message"), BAD.values(), ids=BAD)
def test_what_is_refused(mean, cov, source, message):
    with pytest.raises(ValueError, match=message):
        pack(mean, cov, source=source)


def test_a_singular_covariance_will_do():
    u = np.array([1.0, 2.0, -1.0])
    np.testing.assert_array_equal(check_input_noise(np.zeros((1, D)), [np.outer(u, u)]), [np.outer(u, u)])


def test_rows_of_another_width():
    with pytest.raises(ValueError, match=r"shape \(2, 5\): 3 uncertain inputs are packed as 7 columns .* or 13"):
        unpack(tf.zeros([2, 5], tf.float64), D)
