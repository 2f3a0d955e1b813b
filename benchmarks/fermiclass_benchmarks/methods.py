"""Methods that a benchmark compares, by name: those of the papers, the default for catalogues, and baselines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from fermiclass.errors import BenchmarkError
from fermiclass.evaluation.baselines import BaselineClassifier, available_baselines
from fermiclass.labelling.recipe import default_settings
from fermiclass.nimgp.names import (
    EP_METHODS,
    FULL_BATCH,
    LEARNED,
    LIKELIHOODS,
    METHODS,
    PAPER_ESTIMATOR,
)
from fermiclass.nimgp.settings import Settings

#: The estimator with which ``classify`` labels, and one that maximises the evidence lower bound with all rows.
DEFAULT, CLASSIFIER = "default", "classifier"

#: Settings that replace the paper's optimiser and initial values, unless the protocol of the paper is requested. The
#: number of steps is large enough that the final bound is not lower (docs/development/training.md).
FAST_OPTIMISER: Mapping[str, Any] = MappingProxyType(
    {
        "batch_size": None,
        "epochs": None,
        "steps": 350,
        "learning_rate": 0.03,
        "training": {"decay": True, "inducing": "kmeans"},
        "hyper": {"lengthscale": None, "variance": None, "white": 0.01},
        "inputs": {"units": "noise", "spread": 0.5},
    }
)

_FEWER_STEPS = {"mgp": 300, "nimgp": 300}  # their bounds converge faster, as measured on astro454

_RULES = ("step", "probit", "logit")

#: Endings of the names of likelihoods, the likelihoods that have them, and what they stand for: the objective of
#: training, a share of wrong labels that is learned, and the rules whose ε is fixed to the value of the main paper.
_ENDINGS: tuple[tuple[str, tuple[str, ...], Mapping[str, Any], tuple[str, ...]], ...] = (
    ("", LIKELIHOODS, {}, ()),
    ("-predictive", ("softmax", *_RULES), {"objective": "predictive"}, ()),
    ("-fixed", _RULES, {}, _RULES),
    ("-robust", LIKELIHOODS, {"label_noise": LEARNED}, _RULES),
)

# The start of q(x) in the authors' code: N(μ, v) with a v that is nearly zero.
_AUTHORS_Q = {"units": "inputs", "spread": 1e-5}

#: Estimator settings by the name that follows the @ of a method: a likelihood, whose ε is learned if it is not fixed,
#: the authors' start of q(x), or a V that keeps its start in place of one that is given or learned.
VARIANTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        f"{name}{ending}": {"likelihood": name, "hyper": {"epsilon": 1e-3 if name in fixed else None}, **more}
        for ending, likelihoods, more, fixed in _ENDINGS
        for name in likelihoods
    }
    | {"authors": {"inputs": _AUTHORS_Q}, "fixed": {"noise": "given", "hyper": {"noise": 0.1}}}
)


@dataclass(frozen=True)
class MethodOptions:
    """Settings that all methods of this package share."""

    paper: bool = False  #: Whether to use the paper's optimiser instead of a faster one that is as good.
    kernel: str | None = None  #: Kernel; None for that of the paper or the default.
    steps: int | None = None  #: Number of training steps; None for that of each method.
    seed: int = 0  #: Seed of initial values, minibatches and draws.


METHOD_OPTIONS = tuple(field.name for field in fields(MethodOptions))


def authors_start(input_dim: int) -> dict[str, Any]:
    """Return the initial values in the authors' published code, which the paper does not state.

    The squared length-scale is the median distance between two inputs, about √(2D) for standardised inputs. The
    variance of f is e. White noise is only a jitter.
    """
    return {
        "hyper": {"lengthscale": float((2.0 * input_dim) ** 0.25), "variance": math.e, "white": 1e-8},
        "training": {"inducing": "random"},
        "inputs": _AUTHORS_Q,
    }


def join_settings(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings from several sources; later ones come first, also within options."""
    joined: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            both = name in ("inputs", "hyper", "training") and isinstance(joined.get(name), Mapping)
            joined[name] = {**joined[name], **value} if both else value
    return joined


def make_estimator(
    name: str, settings: Mapping[str, Any], options: MethodOptions, *, fast: Mapping[str, Any] | None = None
) -> Any:
    """Make an unfitted estimator.

    `name`: name such as ``nimgp``, ``default``, ``classifier:nimgp-nn`` or ``logistic``. The name after an @, as in
    ``nimgp@probit``, is a key of :data:`VARIANTS`.
    `settings`: the paper's settings for this cell. Only the methods of the paper use them.
    `options`: settings that all methods share.
    `fast`: settings that replace the paper's optimiser, by default :data:`FAST_OPTIMISER`.

    Raises BenchmarkError when the method or its likelihood is unknown, or the method cannot have the likelihood or the
    kernel.
    """
    method, at, variant = name.partition("@")
    base, colon, input_model = method.partition(":")
    others = (*EP_METHODS, *available_baselines())
    if method in others:
        if at:
            raise BenchmarkError(f"the method '{method}' has no choice of likelihoods: leave out '{at}{variant}'")
        if method not in EP_METHODS:
            return BaselineClassifier(method, seed=options.seed)
        from fermiclass.nimgp.estimators.robust_classifier import RobustGPClassifier

        return RobustGPClassifier(robust=method == "rmgpc")
    chosen: dict[str, Any] = {"random_state": options.seed}
    if method in METHODS:
        chosen = join_settings(chosen, PAPER_ESTIMATOR, settings, {"method": method})
        steps = _FEWER_STEPS.get(method, FAST_OPTIMISER["steps"])
        if not options.paper:
            chosen = join_settings(chosen, {**FAST_OPTIMISER, "steps": steps} if fast is None else fast)
    elif base in (DEFAULT, CLASSIFIER) and (not colon or input_model in METHODS):
        given = {"method": input_model} if colon else {}
        chosen |= default_settings(**given) if base == DEFAULT else {**FULL_BATCH, **given}
    else:
        known = (*METHODS, DEFAULT, CLASSIFIER, f"{DEFAULT}:METHOD", f"{CLASSIFIER}:METHOD", *others)
        raise BenchmarkError(f"the method '{method}' is unknown: choose among {', '.join(known)} (--methods)")
    if at and variant not in VARIANTS:
        raise BenchmarkError(
            f"the likelihood '{variant}' of the method '{name}' is unknown: choose among {', '.join(VARIANTS)} "
            "(--methods)"
        )
    if at:
        chosen = join_settings(chosen, VARIANTS[variant])
    if options.kernel is not None:
        chosen["kernel"] = options.kernel
    if options.steps is not None:
        chosen |= {"steps": options.steps, "epochs": None}
    try:
        Settings(**chosen)
    except ValueError as error:
        raise BenchmarkError(f"the method '{name}' cannot be used here: {error}") from error
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier  # starts TensorFlow

    return NIMGPClassifier(**chosen)
