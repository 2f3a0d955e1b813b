"""Parameters of models: against GPflow, TensorFlow Probability and SciPy."""

import gpflow
import numpy as np
import pytest
import scipy.stats
import tensorflow as tf
import tensorflow_probability as tfp

from fermiclass.nimgp.modules import EXP, SIGMOID, SOFTPLUS, LogNormal, Module, Parameter, parameters_of


@pytest.mark.parametrize(
    ("own", "theirs", "values"),
    [
        (EXP, tfp.bijectors.Exp(), [1e-9, 0.3, 1e9]),
        (SOFTPLUS, tfp.bijectors.Softplus(), [1e-9, 0.3, 1.0, 50.0, 1e3]),
        (SIGMOID, tfp.bijectors.Sigmoid(), [1e-9, 0.3, 0.9, 1.0 - 1e-9]),
    ],
)
def test_transforms(own, theirs, values):
    values = np.array(values)
    np.testing.assert_allclose(own.inverse(values), theirs.inverse(values), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(own.forward(own.inverse(values)), values, rtol=1e-12)


def test_a_parameter_stands_where_a_tensor_can():
    parameter = Parameter([0.5, 2.0], transform=EXP, prior=LogNormal(1.0, 1.0), dtype=tf.float32)
    assert (parameter.shape, parameter.dtype) == ((2,), tf.float32)
    np.testing.assert_allclose(tf.ones(2) / parameter, [2.0, 0.5])
    np.testing.assert_allclose(parameter[1:], [2.0])
    np.testing.assert_allclose(1.0 - 2.0 * parameter + parameter**2 / 2.0, [0.125, -1.0])
    np.testing.assert_allclose(np.asarray(parameter), [0.5, 2.0])
    parameter.assign([3.0, 4.0])
    np.testing.assert_allclose(parameter.numpy(), [3.0, 4.0], rtol=1e-6)
    expected = scipy.stats.lognorm(s=1.0).logpdf([3.0, 4.0]).sum()
    assert float(parameter.log_prior_density()) == pytest.approx(expected, rel=1e-6)
    assert float(Parameter(1.0).log_prior_density()) == 0.0


@pytest.mark.parametrize(("transform", "value"), [(EXP, 0.0), (EXP, -1.0), (SOFTPLUS, np.inf), (SIGMOID, 1.0)])
def test_values_outside_of_the_limits_are_refused(transform, value):
    with pytest.raises(ValueError, match="a value that it cannot take"):
        Parameter(value, transform=transform)
    parameter = Parameter(0.5, transform=transform)
    with pytest.raises(ValueError, match="a value that it cannot take"):
        parameter.assign(value)
    assert float(parameter.numpy()) == pytest.approx(0.5)


class _Part(Module):
    def __init__(self):
        super().__init__()
        self.fixed = Parameter(1.0, trainable=False)
        self.parts = [gpflow.likelihoods.Gaussian(0.5), Parameter(np.ones(3))]
        self.note = "no parameter"


def test_parameters_are_found_by_name_beside_those_of_gpflow():
    part = _Part()
    found = parameters_of(part)
    assert list(found) == ["fixed", "parts[1]", "parts[0].variance"]
    assert found["parts[0].variance"] is part.parts[0].variance
    assert len(part.trainable_variables) == 2
    assert parameters_of("no module") == {}
