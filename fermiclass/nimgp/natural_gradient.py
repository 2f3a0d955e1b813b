"""Natural gradient steps for Gaussian ``q(v) = N(m, S)``, batched over all leading axes."""

from __future__ import annotations

import gpflow
import tensorflow as tf

from fermiclass.nimgp.posterior import SparsePosterior

_REACH = 1.0  # prior standard deviations a step; far out, likelihoods may be so flat that nothing leads back
_RAMP = 50  # steps over which the step size grows: the first q(v) is far from where its natural parameters are flat


class NaturalGradient:
    """Steps of size γ along the natural gradient of a loss in the natural parameters of q(v).

    ``S_new⁻¹ = S⁻¹ + 2γ ∂loss/∂S``, ``m_new = m − γ S_new ∂loss/∂m`` (Salimbeni, Eleftheriadis & Hensman 2018), as
    ``gpflow.optimizers.NaturalGradient`` does for one model. With ``S = L Lᵀ``, ``G = ∂loss/∂L`` and Φ the lower
    triangle with half of the diagonal, ``2 Lᵀ (∂loss/∂S) L = Φ(LᵀG) + Φ(LᵀG)ᵀ``, so that no inverse of S is needed:
    ``S_new = L [I + γ (Φ + Φᵀ)]⁻¹ Lᵀ = (L U⁻ᵀ)(L U⁻ᵀ)ᵀ``, with ``U Uᵀ`` the bracket and U an upper triangle, so that
    ``L U⁻ᵀ`` is the lower triangle that is wanted.

    Parameters
    ----------
    posterior
        Whose `q_mu` and `q_sqrt` are moved.
    gamma
        γ in (0, 1], reached after a ramp of 50 steps; less for a matrix that would lose its positive definiteness, and
        for a mean that would move by more than a standard deviation of p(v) = N(0, I).
    """

    def __init__(self, posterior: SparsePosterior, gamma: float) -> None:
        self.parameters = posterior.q_mu, posterior.q_sqrt
        self._gamma = gamma
        self._step = tf.Variable(0, dtype=tf.int64, trainable=False)

    @property
    def variables(self) -> list[tf.Variable]:
        """The variables that are moved."""
        return [parameter.unconstrained_variable for parameter in self.parameters]

    @property
    def state(self) -> tf.Variable:
        """Number of steps done."""
        return self._step

    def apply_gradients(self, of_mean: tf.Tensor, of_sqrt: tf.Tensor) -> None:
        """Move m and S, given the loss's gradients by m (..., C, M) and by L (..., C, M, M)."""
        self._step.assign_add(1)
        ramp = tf.minimum(tf.cast(self._step, tf.float64) / _RAMP, 1.0)
        q_mu, q_sqrt = self.parameters
        mean, sqrt = natural_step(q_mu, q_sqrt, of_mean, of_sqrt, tf.cast(self._gamma * ramp, q_mu.dtype), _REACH)
        q_mu.assign(mean)
        q_sqrt.assign(sqrt)


def natural_step(
    mean: tf.Tensor | gpflow.Parameter,
    sqrt: tf.Tensor | gpflow.Parameter,
    of_mean: tf.Tensor,
    of_sqrt: tf.Tensor,
    gamma: tf.Tensor | float,
    reach: float | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return m and the Cholesky factor of S after one step, in double precision where matrices are inverted.

    Where a coordinate of m would change by more than `reach`, the change of m is made shorter, that of S is not.

    Parameters
    ----------
    mean, sqrt
        m ``(..., C, M)`` and a lower triangle L with ``S = L Lᵀ``, ``(..., C, M, M)``.
    of_mean, of_sqrt
        The loss's gradients by them.
    gamma
        γ, the step size.
    reach
        In units of v, whose prior has a standard deviation of 1; None for any.
    """
    m, L, g, G = (tf.convert_to_tensor(a) for a in (mean, sqrt, of_mean, of_sqrt))
    L = tf.linalg.band_part(L, -1, 0)
    half = tf.linalg.band_part(tf.matmul(L, G, transpose_a=True), -1, 0)
    half = tf.linalg.set_diag(half, 0.5 * tf.linalg.diag_part(half))
    change = tf.cast(half + tf.linalg.matrix_transpose(half), tf.float64)
    gamma = _largest_step(change, tf.cast(gamma, tf.float64))[..., None, None]
    # The factor of a matrix whose rows and columns are reversed is that upper triangle, reversed.
    bracket = tf.eye(L.shape[-1], dtype=tf.float64) + gamma * change
    U = _reversed(tf.linalg.cholesky(_reversed(bracket)))
    transposed = tf.linalg.triangular_solve(U, tf.cast(tf.linalg.matrix_transpose(L), tf.float64), lower=False)
    sqrt = tf.cast(tf.linalg.matrix_transpose(transposed), L.dtype)
    move = tf.cast(gamma[..., 0], m.dtype) * tf.linalg.matvec(sqrt, tf.linalg.matvec(sqrt, g, transpose_a=True))
    if reach is not None:
        farthest = tf.reduce_max(tf.abs(move), axis=-1, keepdims=True)
        move *= reach / tf.maximum(farthest, reach)
    return m - move, sqrt


def _reversed(matrix: tf.Tensor) -> tf.Tensor:
    """Return matrices with the last row and the last column first."""
    return tf.reverse(matrix, axis=[-2, -1])


def _largest_step(change: tf.Tensor, gamma: tf.Tensor) -> tf.Tensor:
    """Halve γ for each matrix until ``I + γ · change`` has no eigenvalue below 0.1; 0 where thirty times are too few.

    Likelihoods that are not log-concave, such as the step, may ask for a negative precision.
    """
    rest = 0.9 * tf.eye(change.shape[-1], dtype=change.dtype)

    def too_large(gamma: tf.Tensor) -> tf.Tensor:
        factor = tf.linalg.cholesky(rest + gamma[..., None, None] * change)
        return tf.reduce_any(tf.math.is_nan(factor), axis=(-2, -1))

    def halve(gamma: tf.Tensor, bad: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        gamma = tf.where(bad, 0.5 * gamma, gamma)
        return gamma, too_large(gamma)

    gamma = tf.fill(tf.shape(change)[:-2], gamma)
    gamma, bad = tf.while_loop(
        lambda _, bad: tf.reduce_any(bad), halve, (gamma, too_large(gamma)), maximum_iterations=30
    )
    return tf.where(bad, tf.zeros_like(gamma), gamma)
