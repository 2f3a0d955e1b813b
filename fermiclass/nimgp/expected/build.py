"""Models by name, with priors and initial values of hyper-parameters for standardised inputs and outputs."""

from __future__ import annotations

import gpflow
import numpy as np
import tensorflow_probability as tfp

from fermiclass.nimgp.expected.kernels import ExpectedLinear, ExpectedQuadratic, ExpectedSquaredExponential
from fermiclass.nimgp.expected.regression import ExpectedGPR
from fermiclass.nimgp.forks import refuse_after_fork

# Modes and widths of the log-normal priors. With large noise or long length-scales a process can explain everything as
# noise; the paper advises to penalise both. These priors penalise small values as well.
_VARIANCE = _SLOPE_VARIANCE = _OFFSET = (1.0, 1.0)
_LENGTHSCALE_OVER_ROOT_D = (1.0, 1.0)
_NOISE = (0.1, 1.0)
#: Standard deviation of the logarithms of the starts.
SPREAD = 1.0


def build_regression(
    kernel: str,
    input_dim: int,
    X: np.ndarray,
    y: np.ndarray,
    *,
    y_var: np.ndarray | None = None,
    noise_variance: float | None = None,
    hyper_priors: bool = True,
    jitter: float = 1e-10,
) -> ExpectedGPR:
    """Compose an untrained model. Its parameters are at the modes of their priors.

    Parameters
    ----------
    kernel
        One of `fermiclass.nimgp.expected.KERNELS`, or several joined by ``+``. ``'se+plain-se'`` is equation 20.
    input_dim
        D.
    X, y, y_var, jitter
        See :class:`~fermiclass.nimgp.expected.regression.ExpectedGPR`.
    noise_variance
        σ_ε²; None to learn it.
    hyper_priors
        Whether hyper-parameters have log-normal priors (MAP). Without priors this is maximum likelihood.
    """
    refuse_after_fork()
    parts = [_kernel(name, input_dim, hyper_priors) for name in kernel.split("+")]
    return ExpectedGPR(
        parts[0] if len(parts) == 1 else gpflow.kernels.Sum(parts),
        input_dim,
        X,
        y,
        y_var=y_var,
        noise_variance=_NOISE[0] if noise_variance is None else noise_variance,
        noise_prior=_log_normal(*_NOISE, hyper_priors),
        learn_noise=noise_variance is None,
        jitter=jitter,
    )


def _kernel(name: str, input_dim: int, hyper_priors: bool) -> gpflow.kernels.Kernel:
    if name in ("linear", "quadratic"):
        kind = ExpectedLinear if name == "linear" else ExpectedQuadratic
        return kind(
            input_dim,
            variance=_SLOPE_VARIANCE[0],
            offset=_OFFSET[0],
            variance_prior=_log_normal(*_SLOPE_VARIANCE, hyper_priors),
            offset_prior=_log_normal(*_OFFSET, hyper_priors),
        )
    mode, width = _LENGTHSCALE_OVER_ROOT_D
    lengthscale = mode * np.sqrt(input_dim)
    expected = ExpectedSquaredExponential(
        input_dim,
        variance=_VARIANCE[0],
        lengthscales=lengthscale,
        variance_prior=_log_normal(*_VARIANCE, hyper_priors),
        lengthscales_prior=_log_normal(lengthscale, width, hyper_priors),
    )
    if name == "se":
        return expected
    plain = gpflow.kernels.SquaredExponential(lengthscales=np.ones(input_dim), active_dims=slice(0, input_dim))
    plain.variance, plain.lengthscales = expected.variance, expected.lengthscales
    return plain


def _log_normal(mode: float, width: float, hyper_priors: bool) -> object:
    """Return a prior. As a function of the logarithm its density is a Gaussian about the mode, with this width."""
    if not hyper_priors:
        return None
    return tfp.distributions.LogNormal(np.float64(np.log(mode) + width**2), np.float64(width))
