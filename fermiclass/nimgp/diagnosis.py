"""Diagnosis of a model that gives NaN or infinite values."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.model import NoisyInputGP
from fermiclass.nimgp.modules import parameters_of


def diagnose(model: NoisyInputGP) -> str:
    """Name the parameters that are not finite; if there are none, give the condition number of the worst K(Z, Z)."""
    parameters = parameters_of(model).items()
    odd = [path for path, parameter in parameters if not np.all(np.isfinite(parameter.numpy()))]
    if odd:
        return f"the parameters {', '.join(odd[:3])}{', ...' if len(odd) > 3 else ''} are NaN or infinite"
    K = tf.cast(model.kernel.K(model.posterior.Z), tf.float64).numpy()
    if not np.all(np.isfinite(K)):
        return "the covariances K(Z, Z) of the inducing points overflow"
    eigenvalues = np.linalg.eigvalsh(K)
    condition = eigenvalues[..., -1] / np.maximum(eigenvalues[..., 0], 1e-16 * eigenvalues[..., -1])
    worst = np.unravel_index(np.argmax(condition), condition.shape)
    return (
        f"the covariance matrix K(Z, Z) of {K.shape[-1]} inducing points is worst for latent function {worst[-1]}: "
        f"its condition number is {condition[worst]:.1g} before the jitter of {np.max(model.posterior.jitter):.1g}"
    )
