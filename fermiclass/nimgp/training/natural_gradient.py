"""Natural gradient steps for Gaussian ``q(v) = N(m, S)`` of all latent functions."""

from __future__ import annotations

import tensorflow as tf

from fermiclass.nimgp.modules import Parameter
from fermiclass.nimgp.posterior import SparsePosterior

_REACH = 1.0  # largest move per step, in prior standard deviations; far out, a likelihood may be too flat to return
_RAMP = 50  # number of steps over which the step size grows: the first q(v) is far from the optimum


class NaturalGradient:
    """Steps of size γ along the natural gradient of a loss in the natural parameters of q(v).

    ``S_new⁻¹ = S⁻¹ + 2γ ∂loss/∂S``, ``m_new = m − γ S_new ∂loss/∂m`` (Salimbeni, Eleftheriadis & Hensman 2018), as
    ``gpflow.optimizers.NaturalGradient`` does for one model. With ``S = L Lᵀ``, ``G = ∂loss/∂L`` and Φ the lower
    triangle with half of the diagonal, ``2 Lᵀ (∂loss/∂S) L = Φ(LᵀG) + Φ(LᵀG)ᵀ``. Therefore no inverse of S is needed:
    ``S_new = L [I + γ (Φ + Φᵀ)]⁻¹ Lᵀ = (L U⁻ᵀ)(L U⁻ᵀ)ᵀ``, where ``U Uᵀ`` is the bracket and U an upper triangle.
    ``L U⁻ᵀ`` is then the new lower triangle.

    `posterior`: the posterior. Steps change its `q_mu` and `q_sqrt`.
    `gamma`: γ in (0, 1], reached after 50 steps. A step is shorter if a matrix would otherwise lose its positive
    definiteness, or if a mean would otherwise move by more than a standard deviation of p(v) = N(0, I).
    """

    def __init__(self, posterior: SparsePosterior, gamma: float) -> None:
        self.parameters = posterior.q_mu, posterior.q_sqrt
        self._gamma = gamma
        #: Number of steps done.
        self.state = tf.Variable(0, dtype=tf.int64, trainable=False)

    @property
    def variables(self) -> list[tf.Variable]:
        """The variables that a step changes."""
        return [parameter.unconstrained_variable for parameter in self.parameters]

    def apply_gradients(self, of_mean: tf.Tensor, of_sqrt: tf.Tensor) -> None:
        """Move m and S, given the gradients of the loss with respect to m (C, M) and L (C, M, M)."""
        self.state.assign_add(1)
        ramp = tf.minimum(tf.cast(self.state, tf.float64) / _RAMP, 1.0)
        q_mu, q_sqrt = self.parameters
        mean, sqrt = natural_step(q_mu, q_sqrt, of_mean, of_sqrt, tf.cast(self._gamma * ramp, q_mu.dtype), _REACH)
        q_mu.assign(mean)
        q_sqrt.assign(sqrt)


def natural_step(
    mean: tf.Tensor | Parameter,
    sqrt: tf.Tensor | Parameter,
    of_mean: tf.Tensor,
    of_sqrt: tf.Tensor,
    gamma: tf.Tensor | float,
    reach: float | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return m ``(C, M)`` and L ``(C, M, M)`` with ``S = L Lᵀ`` after one step of size γ.

    Matrices are inverted in double precision. If a coordinate of m would change by more than `reach` prior standard
    deviations, the change of m is made shorter. The change of S is not.
    """
    m, L, g, G = (tf.convert_to_tensor(a) for a in (mean, sqrt, of_mean, of_sqrt))
    L = tf.linalg.band_part(L, -1, 0)
    half = tf.linalg.band_part(tf.matmul(L, G, transpose_a=True), -1, 0)
    half = tf.linalg.set_diag(half, 0.5 * tf.linalg.diag_part(half))
    change = tf.cast(half + tf.linalg.matrix_transpose(half), tf.float64)
    gamma = _largest_step(change, tf.cast(gamma, tf.float64))[..., None, None]
    # The Cholesky factor of the matrix with reversed rows and columns is U, reversed.
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
    """Return matrices with rows and columns in reverse order."""
    return tf.reverse(matrix, axis=[-2, -1])


def _largest_step(change: tf.Tensor, gamma: tf.Tensor) -> tf.Tensor:
    """Halve γ for each matrix until ``I + γ · change`` has no eigenvalue below 0.1; 0 if thirty halvings are too few.

    Likelihoods that are not log-concave, such as the step likelihood, may lead to a negative precision.
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
