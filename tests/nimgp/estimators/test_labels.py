"""Labels that are given to a fitted classifier, in whatever form they name its classes."""

import numpy as np
import pytest

from fermiclass.nimgp.estimators.classifier import NIMGPClassifier
from fermiclass.nimgp.estimators.mixins import wrong_label_probabilities
from fermiclass.nimgp.estimators.robust_classifier import RobustGPClassifier

NUMBERS = np.array([2, 10, 9])
RIGHT = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.3, 0.5]])  # of the classes 2, 9, 10


@pytest.mark.parametrize(
    "labels",
    [
        NUMBERS,
        NUMBERS.astype(str),  # which sort in another order than the numbers
        NUMBERS.astype(float),
        NUMBERS.astype(object),
        NUMBERS.tolist(),
        NUMBERS.astype(str).tolist(),
    ],
    ids=["numbers", "text", "floats", "objects", "list", "list of text"],
)
def test_labels_name_classes_that_are_numbers(labels):
    rate, p = 0.1, np.array([0.7, 0.3, 0.3])
    expected = (rate / 3) * (1 - p) / (rate / 3 + (1 - rate) * p)
    found = wrong_label_probabilities(RIGHT, labels, np.array([2, 9, 10]), rate)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_labels_name_classes_that_are_text():
    found = wrong_label_probabilities(RIGHT, [2, 10, 9], np.array(["10", "2", "9"]), 0.1)
    np.testing.assert_array_equal(
        found, wrong_label_probabilities(RIGHT, ["2", "10", "9"], np.array(["10", "2", "9"]), 0.1)
    )


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["2", "11", "9"], r"y has labels of no class: 11; expected some of 2, 9, 10"),
        ([2.5, 2, 9], r"y has labels of no class: 2\.5; expected some of 2, 9, 10"),
        ([2, 9], r"y has shape \(2,\); expected a label for each of 3 rows"),
        ([[2], [9], [10]], r"y has shape \(3, 1\); expected a label for each of 3 rows"),
    ],
)
def test_labels_of_no_class(labels, message):
    with pytest.raises(ValueError, match=message):
        wrong_label_probabilities(RIGHT, labels, np.array([2, 9, 10]), 0.1)


@pytest.mark.parametrize("labels", [np.array([b"a", b"b", b"a"]), np.array([b"a", b"b", b"a"], object)])
def test_bytes_are_refused(labels):
    """Before any training."""
    message = r"y holds bytes, such as b'a'; expected text or whole numbers: decode them"
    with pytest.raises(TypeError, match=message):
        wrong_label_probabilities(RIGHT, labels, np.array(["a", "b", "c"]), 0.1)
    for estimator in (NIMGPClassifier(), RobustGPClassifier()):
        with pytest.raises(TypeError, match=message):
            estimator.fit(np.eye(3), labels)
