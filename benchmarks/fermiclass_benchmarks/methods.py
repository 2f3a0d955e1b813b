"""Methods that a benchmark compares, by name: those of the papers, the default for catalogues, and baselines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from fermiclass.errors import BenchmarkError
from fermiclass.evaluation.baselines import BaselineClassifier, available_baselines
from fermiclass.labelling.recipe import default_settings
from fermiclass.nimgp.estimators.of_papers import authors_start, join_settings, paper_method
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

#: Estimator settings by the name that follows the @ of a method: a likelihood, whose ε is learned if it is not fixed,
#: the authors' start of q(x), or a V that keeps its start in place of one that is given or learned.
VARIANTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        f"{name}{ending}": {"likelihood": name, "hyper": {"epsilon": 1e-3 if name in fixed else None}, **more}
        for ending, likelihoods, more, fixed in _ENDINGS
        for name in likelihoods
    }
    | {f"fixed-{V}": {"noise": "given", "hyper": {"noise": V}} for V in (0.25, 0.5)}
    | {"authors": {"inputs": authors_start(1)["inputs"]}, "fixed": {"noise": "given", "hyper": {"noise": 0.1}}}
)


@dataclass(frozen=True)
class MethodOptions:
    """Settings that all methods of this package share."""

    paper: bool = False  #: Whether to use the paper's optimiser instead of a faster one that is as good.
    kernel: str | None = None  #: Kernel; None for that of the paper or the default.
    steps: int | None = None  #: Number of training steps; None for that of each method.
    seed: int = 0  #: Seed of initial values, minibatches and draws.


METHOD_OPTIONS = tuple(field.name for field in fields(MethodOptions))


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
        return paper_method(method) if method in EP_METHODS else BaselineClassifier(method, seed=options.seed)
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
