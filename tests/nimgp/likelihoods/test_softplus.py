"""Transformations of parameters: against those of TensorFlow Probability."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

from fermiclass.nimgp.likelihoods.from_gpflow import Softplus, copied_without_leak


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


def test_copies_of_gpflows_objects_have_it():
    kernel = gpflow.kernels.RBF(variance=0.7) + gpflow.kernels.Linear()
    copy = copied_without_leak(kernel)
    assert {type(parameter.transform) for parameter in copy.parameters} == {Softplus}
    assert {type(parameter.transform) for parameter in kernel.parameters} == {tfp.bijectors.Softplus}
    copy.kernels[0].variance.assign(0.4)
    np.testing.assert_allclose([part.kernels[0].variance.numpy() for part in (copy, kernel)], [0.4, 0.7])
    np.testing.assert_allclose(copy.kernels[0].variance.unconstrained_variable, np.log(np.expm1(0.4)))
