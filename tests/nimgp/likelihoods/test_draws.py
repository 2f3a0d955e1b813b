"""The fixed points of N(0, I)."""

import numpy as np
import pytest
import tensorflow as tf
from scipy.special import ndtri
from scipy.stats import qmc

from fermiclass.nimgp.likelihoods.draws import gaussian_points


def of_scipy(num_points, dim):
    """As many points of SciPy as the next power of 2, of which the first are returned."""
    sobol = qmc.Sobol(dim, scramble=True, rng=np.random.default_rng(20210107))
    return ndtri(sobol.random_base2(int(np.ceil(np.log2(num_points))))[:num_points])


@pytest.mark.parametrize(("num_points", "dim"), [(1, 3), (2, 1), (1000, 21), (4096, 5), (16, 1111)])
def test_points_are_a_sobol_set_of_scipy(num_points, dim):
    np.testing.assert_array_equal(gaussian_points(num_points, dim), of_scipy(num_points, dim))


def test_points_of_very_many_dimensions_are_random():
    points = gaussian_points(64, 1112)
    np.testing.assert_array_equal(points, gaussian_points(64, 1112))
    np.testing.assert_allclose([points.mean(), points.var()], [0.0, 1.0], atol=0.03)  # errors 0.004 and 0.005


def test_a_graph_holds_them():
    in_graph = tf.function(lambda: tf.constant(gaussian_points(64, 3)))()
    np.testing.assert_array_equal(in_graph, of_scipy(64, 3))
