"""What is wrong with a model whose numbers are none any more."""

from __future__ import annotations

import gpflow
import numpy as np
import tensorflow as tf

from fermiclass.nimgp.model import NoisyInputGP


def diagnose(model: NoisyInputGP) -> str:
    """Say which parameters are no numbers, else how ill-conditioned the worst K(Z, Z) is."""
    parameters = gpflow.utilities.parameter_dict(model).items()
    odd = [path.lstrip(".") for path, parameter in parameters if not np.all(np.isfinite(parameter.numpy()))]
    if odd:
        return f"{', '.join(odd[:3])}{', ...' if len(odd) > 3 else ''} are no numbers any more"
    K = tf.cast(model.kernel.K(model.posterior.Z), tf.float64).numpy()
    if not np.all(np.isfinite(K)):
        return "the covariances K(Z, Z) of the inducing points overflow"
    eigenvalues = np.linalg.eigvalsh(K)
    condition = eigenvalues[..., -1] / np.maximum(eigenvalues[..., 0], 1e-16 * eigenvalues[..., -1])
    worst = np.unravel_index(np.argmax(condition), condition.shape)
    return (
        f"of the covariances K(Z, Z) of {K.shape[-1]} inducing points that of latent function {worst[-1]} is the "
        f"worst, with a condition number of {condition[worst]:.1g} before its jitter of "
        f"{np.max(model.posterior.jitter):.1g}"
    )
