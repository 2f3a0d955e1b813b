"""Latent functions drawn from a Gaussian process prior. They give labels and can be evaluated anywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc
from threadpoolctl import threadpool_limits

from fermiclass.io.arrays import FloatArray

NUM_FREQUENCIES = 1024

_BLOCK = 2**8  # number of points evaluated at a time: their cosines stay in the cache


@dataclass(frozen=True, eq=False)
class LatentFunctions:
    """C functions ``f_c(x) = σ F^{−½} Σ_k r_ck cos(ω_ck·x + φ_ck)``, drawn from a GP prior by its spectrum.

    With ``ω ~ N(0, I/ℓ)``, ``r² ~ χ²(2)`` and ``φ`` uniform, the covariance over draws is exactly
    ``σ² exp(−½ |x − x'|²/ℓ)``, where ℓ is the squared length-scale of Villacampa-Calvo et al. (2021). Given its
    frequencies, a draw is exactly Gaussian and stationary. Each function has 1024 frequencies from a shifted Sobol set,
    so that its covariance differs from the prior by about σ²/500 in two dimensions. (Conditioning on a grid would be as
    good in two dimensions, but impossible in ten.)

    Attributes
    ----------
    frequencies, phases, amplitudes
        ω, ``(C, F, D)``, φ and ``σ F^{−½} r``, ``(C, F)``, in single precision, which is accurate to 1e-5 and ten times
        faster.
    """

    frequencies: NDArray[np.float32]
    phases: NDArray[np.float32]
    amplitudes: NDArray[np.float32]

    @classmethod
    def draw(
        cls, num_functions: int, input_dim: int, rng: np.random.Generator, *, variance: float, lengthscale: float
    ) -> LatentFunctions:
        """Draw C independent functions of D inputs. ``lengthscale`` is ℓ, the squared length-scale."""
        shape = (num_functions, NUM_FREQUENCIES)
        sobol = qmc.Sobol(input_dim, scramble=False).random(NUM_FREQUENCIES)
        # A random shift modulo 1 makes every point uniform, and gives each function its own set.
        uniform = (sobol + rng.random((num_functions, 1, input_dim))) % 1.0
        frequencies = ndtri(np.clip(uniform, 1e-12, 1 - 1e-12)) / np.sqrt(lengthscale)
        amplitudes = np.sqrt(variance / NUM_FREQUENCIES * rng.chisquare(2, shape))
        phases = rng.uniform(0.0, 2.0 * np.pi, shape)
        return cls(*(a.astype(np.float32) for a in (frequencies, phases, amplitudes)))

    def __call__(self, X: FloatArray) -> NDArray[np.float32]:
        """Return values ``(n, C)`` at points ``(n, D)``."""
        X = np.concatenate([X, np.ones((len(X), 1))], axis=1).astype(np.float32)
        waves = np.concatenate(
            [self.frequencies, self.phases[..., None]], axis=2
        )  # (C, F, D + 1): ω·x + φ is a product
        values = np.empty((len(X), len(waves)), np.float32)
        angles = np.empty((_BLOCK, waves.shape[1]), np.float32)
        with threadpool_limits(limits=1):  # several threads are slower on products as small as these
            for start in range(0, len(X), _BLOCK):
                block = X[start : start + _BLOCK]
                out = angles[: len(block)]
                for c, (wave, amplitudes) in enumerate(zip(waves, self.amplitudes, strict=True)):
                    np.matmul(block, wave.T, out=out)
                    values[start : start + _BLOCK, c] = np.cos(out, out=out) @ amplitudes
        return values

    def labels(self, X: FloatArray) -> NDArray[np.intp]:
        """Return labels ``argmax_c f_c(x)``, ``(n,)``."""
        return self(X).argmax(axis=1)
