"""Transformations of parameters: against those of TensorFlow Probability."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

from fermiclass.nimgp.likelihoods.from_gpflow import Softplus


@pytest.mark.parametrize("low", [None, np.float64(1e-3)])
def test_softplus_is_the_librarys(low):
    x = np.linspace(-30, 30, 13)
    expected = tfp.bijectors.Softplus(low=low)
    own = Softplus(low)
    unpacked = tf.nest.flatten(own, expand_composites=True)
    for one in (own, own.copy(), gpflow.utilities.deepcopy(own), tf.nest.pack_sequence_as(own, unpacked, True)):
        np.testing.assert_allclose(one.forward(x), expected.forward(x), rtol=1e-12)
        np.testing.assert_allclose(one.inverse(expected.forward(x)), expected.inverse(expected.forward(x)))
        np.testing.assert_allclose(
            one.forward_log_det_jacobian(x, 0), expected.forward_log_det_jacobian(x, 0), rtol=1e-12
        )
