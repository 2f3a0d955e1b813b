"""The methods of four papers, each with the settings of its paper."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fermiclass.nimgp.names import EP_METHODS, METHODS, PAPER_ESTIMATOR
from fermiclass.nimgp.settings import check_setting

#: Methods of the main paper; likelihoods of Liu et al. and expected kernels of Dallaire et al., by method.
_MAIN = tuple(name for name in METHODS if name != "nimgp-fo-marginal")
_LIKELIHOODS = {"gpc-i": "step", "gpc-ii": "probit", "gpc-iii": "logit", "gpc-sm": "softmax-bound"}
KERNELS = {"classic": "plain-se", "uncertain": "se", "mixture": "se+plain-se"}


def paper_method(name: str, num_features: int | None = None, num_classes: int | None = None, **settings: Any) -> Any:
    """Return an untrained estimator: a method of one of four papers, with the settings of that paper.

    - Villacampa-Calvo et al. (2021), section 5: 'mgp' (equations 2 to 5), 'nimgp' (7 to 13), 'nimgp-nn' (section 3.2),
      'nimgp-fo' (15 to 18), 'mgp-aug' and 'mgp-sampling' (appendix B). ``noise="per-feature"`` learns V (section 3.4).
    - Liu, Ong, Yu, Cai & Shen, "Scalable Gaussian process classification with additive noise for various likelihoods",
      appendix D: 'gpc-i', 'gpc-ii' and 'gpc-iii' (the bounds 8 and 18 with step, probit and logit), 'gpc-sm' (25).
    - Hernández-Lobato, Hernández-Lobato & Dupont (2011): 'rmgpc' (4 to 20) and 'smgpc', which trusts all labels.
    - Dallaire, Besse & Chaib-draa (2011): 'uncertain' (expected covariances, 11 to 17), 'mixture' (20), and 'classic',
      which takes observed inputs as exact. They are regressions.

    Parameters
    ----------
    name
        Name of the method.
    num_features, num_classes
        D and C. With D, length-scales and other values start where the authors' code or text has them; with C, 'mgp'
        has ε/C in place of ε/(C − 1) for a class that does not win, as in the authors' code only.
    settings
        Settings of the estimator in place of those of the paper. A dict changes single options; `steps` replace epochs.

    Raises ValueError when the name is unknown, or a setting is not valid.
    """
    check_setting("name", name, *_MAIN, *_LIKELIHOODS, *EP_METHODS, *KERNELS)
    if name in KERNELS:
        from fermiclass.nimgp.estimators.exact_regressor import UncertainGPRegressor

        return UncertainGPRegressor(**{"kernel": KERNELS[name], **settings})
    if name in EP_METHODS:
        from fermiclass.nimgp.estimators.robust_classifier import RobustGPClassifier

        return RobustGPClassifier(**{"robust": name == "rmgpc", **settings})
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

    own: dict[str, Any] = {"method": name, **({} if num_features is None else authors_start(num_features))}
    if name in _LIKELIHOODS:
        own = {"method": "mgp", "likelihood": _LIKELIHOODS[name], **additive_noise(num_features)}
    elif name == "mgp" and num_classes is not None:
        own = join_settings(own, {"hyper": {"epsilon": epsilon_of_authors(num_classes)}})
    epochs = {"epochs": None} if "steps" in settings else {}
    return NIMGPClassifier(**join_settings(PAPER_ESTIMATOR, own, epochs, settings))


def authors_start(num_features: int) -> dict[str, Any]:
    """Return the initial values in the published code of Villacampa-Calvo et al., which their paper does not state.

    The squared length-scale is the median distance between two standardised inputs, about √(2D).
    """
    return {
        "hyper": {"lengthscale": (2.0 * num_features) ** 0.25, "variance": math.e, "white": 1e-8},
        "training": {"inducing": "random"},
        "inputs": {"units": "inputs", "spread": 1e-5},
    }


def epsilon_of_authors(num_classes: int) -> float:
    """Return the ε of which ε/(C − 1) is their 0.001/C: that of the MGP in the same code."""
    return 1e-3 * (1.0 - 1.0 / num_classes)


def additive_noise(num_features: int | None) -> dict[str, Any]:
    """Return the settings of Liu et al., appendix D. The paper has no white noise."""
    start = None if num_features is None else 0.1 * math.sqrt(num_features)
    return {
        "num_inducing": 300,
        "batch_size": 1024,
        "epochs": None,
        "steps": 10_000,
        "learning_rate": 0.01,
        "hyper": {"epsilon": None, "lengthscale": start, "white": 1e-8},
    }


def join_settings(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings from several sources; later ones come first, also within options."""
    joined: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            both = name in ("inputs", "hyper", "training") and isinstance(joined.get(name), Mapping)
            joined[name] = {**joined[name], **value} if both else value
    return joined
