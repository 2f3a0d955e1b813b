"""First-order prediction of classes in NumPy, for which TensorFlow need not start. Its formulae are those of the graph.

The latent functions have the kernel ``Σ σ² exp(−r²/2) + Σ σ² x · x'`` and white noise; the likelihood is the softmax.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from threadpoolctl import threadpool_limits

from fermiclass.nimgp.arrays import FloatArray, check_arrays
from fermiclass.nimgp.likelihoods.draws import POINTS_OF_F, gaussian_points, moments_by
from fermiclass.nimgp.names import AVERAGING, PER_SOURCE
from fermiclass.nimgp.prediction.prediction import Prediction, of_moments
from fermiclass.nimgp.settings import Settings

_LEAST = 1e-8  # rounding may make a variance smaller, or negative
_ROWS = 256  # whose moments are found at a time
_NUMBERS = 2**17  # draws of f at a time: they fit into the cache


def in_numpy(settings: Settings) -> bool:
    """Return whether a classifier with these settings predicts by :class:`FirstOrderPredictor`."""
    kernels = settings.kernel.split("+") if isinstance(settings.kernel, str) else [""]
    known = set(kernels) <= {"se", "linear"} and settings.likelihood in ("softmax", "softmax-bound")
    return known and settings.method not in (*AVERAGING, *PER_SOURCE)


class FirstOrderPredictor:
    """Prediction by moments of f at the observed input, whose noise adds ``∇mean_cᵀ V ∇mean_c`` to the variances.

    `parameters` of the model are by name, and `points` of the latent functions ``(S, L)``. Raises ValueError when the
    parameters are not those of such a model.
    """

    def __init__(
        self,
        settings: Settings,
        num_classes: int,
        parameters: Mapping[str, FloatArray],
        points: FloatArray | None = None,
    ) -> None:
        Z = self._Z = parameters["posterior.Z"]
        L, M, D = 1 if num_classes == 2 else num_classes, *Z.shape[1:]
        kernels = [(name, f"kernel.kernels[{j}]") for j, name in enumerate(settings.kernel.split("+"))]
        positive = {"posterior.jitter": (), "kernel.white": (L,)} | {f"{own}.variance": (L,) for _, own in kernels}
        positive |= {f"{own}.lengthscales": (L, D) for name, own in kernels if name == "se"}
        positive |= {} if settings.noise == "given" else {"noise": (1 if settings.noise == "shared" else D,)}
        positive |= {"label_noise": ()} if settings.label_noise else {}
        shapes = {"posterior.Z": (L, M, D), "posterior.q_mu": (L, M), "posterior.q_sqrt": (L, M, M)}
        self.points = gaussian_points(POINTS_OF_F, L) if points is None else points
        check_arrays({**parameters, "points": self.points}, {**shapes, **positive, "points": (POINTS_OF_F, L)})
        if not all(np.all(parameters[name] > 0) for name in positive):
            raise ValueError("a parameter has a value that it cannot take, such as a variance of 0 or below")
        self._dtype = np.dtype(settings.precision)
        ones = np.ones((L, D))  # a linear kernel has no length-scales
        #: Names of the kernels, variances (L, 1, 1), and squares of length-scales (L, 1, D).
        self._kernels = [
            (
                name,
                parameters[f"{own}.variance"][:, None, None],
                parameters.get(f"{own}.lengthscales", ones)[:, None] ** 2,
            )
            for name, own in kernels
        ]
        self._white, white = parameters["kernel.white"][:, None], parameters["kernel.white"][:, None, None] * np.eye(M)
        K = sum(self._covariances(Z)) + white
        jitter = parameters["posterior.jitter"] * np.trace(K, axis1=1, axis2=2) / M
        whiten = np.linalg.inv(np.linalg.cholesky(K + jitter[:, None, None] * np.eye(M)))  # L⁻¹
        back, root = np.swapaxes(whiten, 1, 2), np.tril(parameters["posterior.q_sqrt"])
        weights = back @ parameters["posterior.q_mu"][..., None]  # (L, M, 1)
        self._weights = np.concatenate([weights * Z, weights], axis=2)  # α z and α, (L, M, D + 1)
        self._precision = back @ (np.eye(M) - root @ np.swapaxes(root, 1, 2)) @ whiten

    def _covariances(self, X: FloatArray) -> Iterator[FloatArray]:
        """Yield the covariances of ``X`` (L or 1, n, D) with Z by each kernel, (L, n, M)."""
        for name, variance, squares in self._kernels:
            product = X / squares @ np.swapaxes(self._Z, 1, 2)
            if name == "se":
                of_X, of_Z = (np.sum(np.square(A) / squares, axis=2) for A in (X, self._Z))
                product = np.exp(np.minimum(product - 0.5 * (of_X[..., None] + of_Z[:, None]), 0.0))
            yield variance * product

    def moments(self, X: FloatArray, X_var: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of f at ``X`` (n, D) with the noise ``X_var`` (n, D), both (L, n)."""
        K, gradient, var = np.zeros(()), np.zeros(()), self._white
        for k, (name, variance, squares) in zip(self._covariances(X[None]), self._kernels, strict=True):
            K = K + k
            if name == "se":
                of_k = k @ self._weights
                gradient = gradient + (of_k[..., :-1] - X * of_k[..., -1:]) / squares
                var = var + variance[:, 0]
            else:
                gradient = gradient + variance * self._weights[..., :-1].sum(axis=1, keepdims=True)
                var = var + variance[:, 0] * np.sum(np.square(X), axis=1)
        var = np.maximum(var - np.einsum("lnm,lnm->ln", K, K @ self._precision), _LEAST)
        return (K @ self._weights[..., -1:])[..., 0], var + np.einsum("lnd,lnd,nd->ln", gradient, gradient, X_var)

    def blocks(
        self,
        X: FloatArray,
        X_var: FloatArray,
        *,
        num_draws: int = 1,
        ratio: FloatArray | None = None,
        temperature: float = 1.0,
    ) -> Iterator[Prediction]:
        """Predict sources block by block; see :meth:`fermiclass.nimgp.prediction.predictor.ClassPredictor.blocks`."""
        points = np.ascontiguousarray(self.points.T, self._dtype)[:, None]  # (L, 1, S): draws side by side are fastest
        size = max(1, _NUMBERS // points.size)
        block = size * max(1, _ROWS // size)
        with threadpool_limits(1):  # such small products take longer on several threads
            for start in range(0, len(X), block):
                rows = np.minimum(np.arange(start, start + block), len(X) - 1)  # blocks of one size round alike
                moments = self.moments(X[rows], X_var[rows])
                for first in range(0, min(block, len(X) - start), size):
                    part = slice(first, first + size)
                    ratios = None if ratio is None else ratio[rows[part]].T.astype(self._dtype)
                    with np.errstate(over="ignore", invalid="ignore"):  # `of_moments` refuses what is no number
                        mean, var = (a[:, part, None] for a in moments)
                        f = (np.sqrt(var) / temperature).astype(self._dtype) * points  # (L, n, S)
                        f += (mean / temperature).astype(self._dtype)
                        f = np.concatenate([np.zeros_like(f), f]) if len(f) == 1 else f
                        found = moments_by(np, np.moveaxis(f, -1, 0), ratios)
                        mean, second, entropy = (a[..., : len(X) - start - first] for a in found)
                        total = mean.sum(axis=0)
                    yield of_moments(lambda: "f overflows", mean / total, second / total, None, entropy / total)
