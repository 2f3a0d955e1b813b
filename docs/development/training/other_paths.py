"""MGP and NIMGP_FO on the main paper's 454 sources, along other paths of the optimiser than fermiclass's (its table 9).

    python docs/development/training/other_paths.py DATA --mgp
    python docs/development/training/other_paths.py DATA --mgp --same-points
    python docs/development/training/other_paths.py DATA --mgp --whitened
    python docs/development/training/other_paths.py DATA --mgp --whitened --same-points

As in the authors' code: Adam with a step size of 0.001, 750 passes in batches of 50, a variance σ² that starts at e,
squared length-scales at the median distance, other random rows of the training data as inducing points for each class,
a jitter of 10⁻³, and q(u) = N(m, L Lᵀ) with free m and L, which start at the prior. Variances stay in the order of the
file while the sources are permuted before each pass. With --whitened q(u) is N(L_K m, L_K L Lᵀ L_Kᵀ), as in fermiclass;
with --same-points all classes start at the same inducing points, as there; with --right-order each source keeps its
variances. MGP has none. All splits are trained at once.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import tensorflow as tf

from fermiclass_benchmarks.astro454 import Astro454

DTYPE = tf.float32
NUM_INDUCING, BATCH, EPOCHS, EPSILON, JITTER = 100, 50, 750, 1e-3, 1e-3
#: Points of the trapezoid rule for the largest latent function, in standard deviations.
POINTS = tf.constant(np.linspace(-6.0, 6.0, 121), DTYPE)


def gaussians(p, x, V, options):
    """Return mean and variance of the latent functions, (S, C, n) each, with the noise to first order."""
    ell = tf.exp(p["ell"])[:, :, None, :]  # squared length-scales
    sigma = tf.exp(p["sigma"])[..., None, None]

    def k(a, b):
        a, b = a / tf.sqrt(ell), b / tf.sqrt(ell)
        squares = tf.reduce_sum(a**2, -1)[..., None] + tf.reduce_sum(b**2, -1)[..., None, :]
        return sigma * tf.exp(-0.5 * (squares - 2.0 * tf.matmul(a, b, transpose_b=True)))

    white = tf.exp(p["white"])[..., None, None] + JITTER
    L_K = tf.linalg.cholesky(k(p["Z"], p["Z"]) + white * tf.eye(NUM_INDUCING, dtype=DTYPE))
    x = tf.repeat(x[:, None], p["Z"].shape[1], axis=1)
    half = tf.linalg.triangular_solve(L_K, k(p["Z"], x))  # L_K⁻¹ k(Z, x)
    L = tf.linalg.set_diag(tf.linalg.band_part(p["L"], -1, 0), tf.exp(tf.linalg.diag_part(p["L"])))
    if options.whitened:
        m, scale = p["m"], tf.matmul(L, half, transpose_a=True)
        kl = [m, L]
    else:
        m = tf.linalg.triangular_solve(L_K, p["m"])
        kl = [m, tf.linalg.triangular_solve(L_K, L)]
        scale = tf.matmul(kl[1], half, transpose_a=True)
    mean = tf.matmul(half, m, transpose_a=True)[..., 0]
    var = sigma[..., 0] + white[..., 0] - tf.reduce_sum(half**2, -2) + tf.reduce_sum(scale**2, -2)
    if not options.mgp:
        weights = k(x, p["Z"]) * tf.linalg.matrix_transpose(tf.linalg.triangular_solve(L_K, m, adjoint=True))
        gradient = (tf.matmul(weights, p["Z"]) - x * tf.reduce_sum(weights, -1, keepdims=True)) / ell
        var += tf.reduce_sum(gradient**2 * V[:, None], -1)
    log_det = tf.reduce_sum(tf.math.log(tf.linalg.diag_part(kl[1])), [1, 2])
    kl = 0.5 * sum(
        tf.reduce_sum(part, [1, 2, 3]) for part in (kl[0] ** 2, kl[1] ** 2 - tf.eye(NUM_INDUCING, dtype=DTYPE))
    )
    return mean, var, kl - log_det


def largest(mean, var):
    """Return the probability that each function is the largest, (S, C, n)."""
    scale = tf.sqrt(tf.maximum(var, 1e-10))
    f = mean[..., None] + scale[..., None] * POINTS  # (S, C, n, points)
    density = tf.exp(-0.5 * POINTS**2) / np.sqrt(2 * np.pi) * (POINTS[1] - POINTS[0])
    z = (f[:, :, None] - mean[:, None, :, :, None]) / scale[:, None, :, :, None]  # (S, C, other, n, points)
    log_cdf = tf.math.log(0.5 * tf.math.erfc(-tf.clip_by_value(z, -5.0, 5.0) / np.sqrt(2)))
    others = 1.0 - tf.eye(mean.shape[1], dtype=DTYPE)[None, :, :, None, None]
    return tf.reduce_sum(tf.exp(tf.reduce_sum(log_cdf * others, 2)) * density, -1)


def main():
    """Train, and print the NLL and the error of each split and their means."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--whitened", action="store_true")
    parser.add_argument("--right-order", action="store_true")
    parser.add_argument("--mgp", action="store_true")
    parser.add_argument("--same-points", action="store_true")
    options = parser.parse_args()
    problems = [Astro454(options.data).problem("six", s) for s in range(options.first, options.first + options.splits)]
    stack = {name: np.stack([getattr(p, name) for p in problems]) for name in ("X", "X_var", "X_test", "X_var_test")}
    mean, spread = stack["X"].mean(1, keepdims=True), stack["X"].std(1, keepdims=True)
    X, X_test = ((stack[name] - mean) / spread for name in ("X", "X_test"))
    V, V_test = (np.maximum(stack[name] / spread**2, 1e-5) for name in ("X_var", "X_var_test"))
    y, y_test = (
        np.unique(np.stack([getattr(p, n) for p in problems]), return_inverse=True)[1] for n in ("y", "y_test")
    )
    S, N, D = X.shape
    y, y_test, C = y.reshape(S, N), y_test.reshape(S, -1), 3
    rng = np.random.default_rng(0)
    Z = np.stack([[X[s, rng.choice(N, NUM_INDUCING)] for _ in range(C)] for s in range(S)])
    if options.same_points:
        Z = np.repeat(Z[:, :1], C, axis=1)
    distances = np.stack([np.sqrt(((x[:, None] - x) ** 2).sum(-1))[np.triu_indices(N, 1)] for x in X])
    ell = np.median(distances, axis=1)[:, None, None] * np.ones((S, C, D))
    K = np.exp(1.0 - 0.5 * (((Z[..., :, None, :] - Z[..., None, :, :]) ** 2) / ell[:, :, None, None]).sum(-1))
    L = (
        np.linalg.cholesky(K + JITTER * np.eye(NUM_INDUCING))
        if not options.whitened
        else np.zeros_like(K) + np.eye(NUM_INDUCING)
    )
    diagonal = np.einsum("...ii->...i", L)
    raw = L + (np.log(diagonal) - diagonal)[..., None] * np.eye(NUM_INDUCING)
    start = {"Z": Z, "ell": np.log(ell), "sigma": np.ones((S, C)), "white": np.full((S, C), -20.0)}
    start |= {"m": np.zeros((S, C, NUM_INDUCING, 1)), "L": raw}
    p = {name: tf.Variable(value, dtype=DTYPE) for name, value in start.items()}
    optimiser = tf.keras.optimizers.Adam(1e-3, epsilon=1e-8)

    @tf.function(jit_compile=False)
    def step(x, v, labels, size):
        with tf.GradientTape() as tape:
            mean, var, kl = gaussians(p, x, v, options)
            right = tf.reduce_sum(largest(mean, var) * tf.one_hot(labels, C, axis=1, dtype=DTYPE), 1)
            terms = right * np.log(1 - EPSILON) + (1 - right) * np.log(EPSILON / (C - 1))
            loss = tf.reduce_sum(kl - tf.reduce_sum(terms, 1) * N / size)
        optimiser.apply_gradients(
            (g, q) for g, q in zip(tape.gradient(loss, list(p.values())), p.values(), strict=True)
        )

    order = np.tile(np.arange(N), (S, 1))
    for epoch in range(EPOCHS):
        order = rng.permuted(order, axis=1)
        for first in range(0, N, BATCH):
            rows = order[:, first : first + BATCH]
            v = np.take_along_axis(V, rows[..., None], 1) if options.right_order else V[:, first : first + BATCH]
            x = np.take_along_axis(X, rows[..., None], 1)
            step(
                *(tf.constant(a, DTYPE) for a in (x, v)),
                tf.constant(np.take_along_axis(y, rows, 1)),
                tf.constant(float(rows.shape[1])),
            )
        if epoch % 150 == 149 or epoch == EPOCHS - 1:
            mean, var, _ = gaussians(p, tf.constant(X_test, DTYPE), tf.constant(V_test, DTYPE), options)
            q = largest(mean, var).numpy()
            q = (1 - EPSILON) * q + (1 - q) * EPSILON / (C - 1)
            nll = -np.log(np.take_along_axis(q, y_test[:, None], 1)[:, 0])
            wrong = q.argmax(1) != y_test
            sigma = np.exp(p["sigma"]).mean()
            print(f"pass {epoch + 1}: NLL {nll.mean():.4f}, error {wrong.mean():.4f}, σ² {sigma:.1f}", flush=True)
    for split, (a, b) in enumerate(zip(nll.mean(1), wrong.mean(1), strict=True), options.first):
        print(f"{split} {a:.4f} {b:.4f}")


if __name__ == "__main__":
    main()
