"""Class probabilities of new sources, averaged over what their error bars leave open.

The draws of the noiseless inputs are one fixed quasi-Monte Carlo set, scaled by each source's own error bars, and
sources are computed in blocks of one fixed shape. What comes out for a source therefore depends on nothing but that
source: neither on its place in the table nor on how many others are predicted with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.likelihoods import gaussian_points
from fermiclass.nimgp.model import NoisyInputGP

_POINTS_PER_BLOCK = 4096  # input points of one block: large enough to keep the cores busy, small enough for the cache


@dataclass(frozen=True)
class Prediction:
    """What is predicted of n sources, entropies in nats.

    Attributes
    ----------
    probabilities
        ``E_x E_f p(y | f(x))``, ``(n, C)``; rows sum to 1.
    std
        Standard deviation of ``p(y | f(x))`` over f and x, ``(n, C)``.
    entropy
        Entropy of ``probabilities``, ``(n,)``: the sum of the next two and of what no knowledge of f or x removes.
    information
        ``E_x { H[E_f p] − E_f H[p] }``, mutual information of label and latent functions (BALD), ``(n,)``.
    noise_entropy
        ``H[E_x E_f p] − E_x H[E_f p]``, mutual information of label and noiseless input, ``(n,)``.
    """

    probabilities: np.ndarray
    std: np.ndarray
    entropy: np.ndarray
    information: np.ndarray
    noise_entropy: np.ndarray


def predict(
    model: NoisyInputGP, X: np.ndarray, X_var: np.ndarray, *, num_draws: int = 64, ratio: np.ndarray | None = None
) -> Prediction:
    """Predict n sources; see :func:`predict_blocks`, which does the same a block at a time."""
    return join(list(predict_blocks(model, X, X_var, num_draws=num_draws, ratio=ratio)))


def join(blocks: Sequence[Prediction]) -> Prediction:
    """Put the predictions of consecutive blocks of sources together."""
    return Prediction(*(np.concatenate([getattr(b, field.name) for b in blocks]) for field in fields(Prediction)))


def predict_blocks(
    model: NoisyInputGP, X: np.ndarray, X_var: np.ndarray, *, num_draws: int = 64, ratio: np.ndarray | None = None
) -> Iterator[Prediction]:
    """Predict sources a block at a time, integrating over x* ~ N(x̃*, V*) and over the latent functions.

    Parameters
    ----------
    model
        A trained model.
    X, X_var
        Observed inputs and their noise variances, ``(n, D)``.
    num_draws
        Draws of each noiseless input, best a power of 2. Where no input has noise, one is used.
    ratio
        Positive weights of the classes for each source, ``(n, C)``, such as the classes' shares where the source comes
        from over those in training: probabilities are multiplied by them and made to sum to 1 (label shift). Draws of
        f and x are weighed accordingly, so that all of `Prediction` belongs to the corrected probabilities.

    Yields
    ------
    Prediction
        Of the next sources, in order.
    """
    num_draws = num_draws if np.any(X_var > 0) else 1
    points = gaussian_points(num_draws, X.shape[1]) if num_draws > 1 else np.zeros((1, X.shape[1]))
    block_size = max(1, _POINTS_PER_BLOCK // num_draws)
    dtype = model.posterior.q_mu.dtype
    draws = tf.constant(points, dtype)
    predictor = model.posterior.predictor(model.kernel)

    @tf.function
    def block_moments(x: tf.Tensor, var: tf.Tensor, weights: tf.Tensor) -> tuple[tf.Tensor, ...]:
        noiseless = x[:, None, :] + tf.sqrt(var)[:, None, :] * draws  # (block, S, D)
        latent = predictor.latent_moments(model.kernel, tf.reshape(noiseless, [-1, x.shape[1]]))
        weights = tf.repeat(tf.transpose(weights), num_draws, axis=1)  # (C, block · S)
        moments = model.likelihood.predict(latent, weights, num_draws)
        total = tf.reduce_sum(moments.mean, axis=0)
        given_x = moments.mean / total
        entropy_given_x = -total * tf.reduce_sum(tf.math.xlogy(given_x, given_x), axis=0)  # Z H[E_f ρ] at each draw

        def over_draws(values: tf.Tensor) -> tf.Tensor:
            split = tf.concat([tf.shape(values)[:-1], [block_size, num_draws]], axis=0)
            return tf.reduce_mean(tf.reshape(values, split), axis=-1)

        Z = over_draws(total)
        return tuple(over_draws(v) / Z for v in (moments.mean, moments.second, entropy_given_x, moments.entropy))

    ratio = np.ones((len(X), predictor.Z.shape[0])) if ratio is None else ratio
    for start in range(0, len(X), block_size):
        stop = min(start + block_size, len(X))
        padding = ((0, block_size - (stop - start)), (0, 0))
        block = (tf.constant(np.pad(a[start:stop], padding, mode="edge"), dtype) for a in (X, X_var, ratio))
        mean, second, entropy_given_x, entropy_given_f = (
            a.numpy()[..., : stop - start].astype(float) for a in block_moments(*block)
        )
        # Rounding and quadrature leave sums a little off 1 and differences of entropies a little below 0.
        probabilities = (mean / mean.sum(axis=0)).T
        entropy = -np.sum(probabilities * np.log(np.maximum(probabilities, 1e-300)), axis=1)
        yield Prediction(
            probabilities=probabilities,
            std=np.sqrt(np.maximum(second.T - probabilities**2, 0.0)),
            entropy=entropy,
            information=np.maximum(entropy_given_x - entropy_given_f, 0.0),
            noise_entropy=np.maximum(entropy - entropy_given_x, 0.0),
        )
