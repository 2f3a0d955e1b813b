"""Splits with labels drawn anew."""

import numpy as np
import pytest

from fermiclass_benchmarks.wrong_labels import SHARES, WrongLabels


@pytest.fixture
def benchmark(shared_data):
    return WrongLabels(shared_data / "data")


@pytest.mark.parametrize(
    ("data_set", "num_train", "num_test", "num_classes"),
    [("new-thyroid", 143, 72, 3), ("wine", 119, 59, 3), ("glass", 143, 71, 6), ("svmguide2", 261, 130, 3)],
)
def test_two_thirds_to_learn_from(benchmark, data_set, num_train, num_test, num_classes):
    problem = benchmark.problem(f"{data_set}/0", 7)
    assert (len(problem.y), len(problem.y_test)) == (num_train, num_test)
    assert set(problem.y) <= set(range(num_classes))
    np.testing.assert_allclose(problem.X.mean(axis=0), 0.0, atol=1e-10)
    assert set(problem.X.std(axis=0).round(6)) <= {0.0, 1.0}
    assert not problem.wrong.any()


def test_labels_are_drawn_anew_from_all_classes(benchmark):
    """A share of them, of which a third stays right; test rows and inputs are the same in all cells."""
    num_wrong = dict.fromkeys(SHARES, 0)
    for split in range(40):
        clean = benchmark.problem("new-thyroid/0", split)
        before = np.zeros(143, bool)
        for share in SHARES:
            problem = benchmark.problem(f"new-thyroid/{share}", split)
            np.testing.assert_array_equal(problem.wrong, problem.y != clean.y)
            np.testing.assert_array_equal(problem.X, clean.X)
            np.testing.assert_array_equal(problem.y_test, clean.y_test)
            assert problem.wrong.sum() <= round(float(share) * 143)
            assert np.all(problem.wrong >= before)
            before = problem.wrong
            num_wrong[share] += problem.wrong.sum()
    for share in SHARES[1:]:
        assert num_wrong[share] / (40 * round(float(share) * 143)) == pytest.approx(2 / 3, abs=0.08)


def test_splits_differ(benchmark):
    one, other = (benchmark.problem("wine/0.1", split) for split in (0, 1))
    assert not np.array_equal(one.X_test, other.X_test)
    assert not np.array_equal(one.wrong, other.wrong)


def test_published_figures(benchmark):
    assert benchmark.published["new-thyroid/0.1", "rmgpc"]["bcr"] == pytest.approx(0.923)
    assert benchmark.published["glass/0.05", "smgpc"]["bcr"] == pytest.approx(0.589)
    assert benchmark.published["svmguide2/0.2", "rmgpc"]["bcr"] == pytest.approx(0.728)
