import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.training.optimisers import Adam


def steps_by_hand(x, gradients, rate, steps):
    m = v = 0.0
    for done, g in enumerate(gradients):
        r = rate if steps is None else rate * (0.01 + 0.99 * 0.5 * (1.0 + np.cos(np.pi * min(done / steps, 1.0))))
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g**2
        t = done + 1
        x = x - r * np.sqrt(1.0 - 0.999**t) / (1.0 - 0.9**t) * m / (np.sqrt(v) + 1e-7)
    return x


@pytest.mark.parametrize("steps", [None, 8, 20])
@pytest.mark.parametrize(("dtype", "rtol"), [(tf.float32, 1e-4), (tf.float64, 1e-10)])
def test_steps_are_those_of_the_formula(rng, steps, dtype, rtol):
    start = [rng.normal(size=(2, 3)), rng.normal(size=4)]
    gradients = [[rng.normal(size=x.shape) for x in start] for _ in range(12)]
    variables = [tf.Variable(x, dtype=dtype) for x in start]
    adam = Adam(variables, 0.03, steps=steps)
    for of_step in gradients:
        adam.apply_gradients([tf.constant(g, dtype) for g in of_step])
    for k, variable in enumerate(variables):
        expected = steps_by_hand(start[k], [of_step[k] for of_step in gradients], 0.03, steps)
        np.testing.assert_allclose(variable.numpy(), expected, rtol=rtol, atol=rtol)


def test_the_state_continues_the_steps(rng):
    gradients = [tf.constant(g) for g in rng.normal(size=(10, 3))]
    whole, first, second = (tf.Variable(tf.ones(3, tf.float64)) for _ in range(3))
    of_whole, of_first = (Adam([x], 0.1, steps=10) for x in (whole, first))
    for g in gradients:
        of_whole.apply_gradients([g])
    for g in gradients[:4]:
        of_first.apply_gradients([g])
    second.assign(first)
    of_second = Adam([second], 0.1, steps=10)
    for ours, theirs in zip(of_second.state, of_first.state, strict=True):
        ours.assign(theirs)
    for g in gradients[4:]:
        of_second.apply_gradients([g])
    assert of_second.state[0].numpy() == 10
    np.testing.assert_array_equal(second.numpy(), whole.numpy())
