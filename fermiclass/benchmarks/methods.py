"""Methods that a benchmark compares, by name: those of the papers, the default for catalogues, and baselines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from fermiclass.errors import BenchmarkError
from fermiclass.nimgp.names import EP_METHODS, LEARNED, LIKELIHOODS, METHODS, WITH_EXPECTATIONS
from fermiclass.nimgp.settings import join_settings

#: The estimator with which ``classify`` labels, and ``NIMGPClassifier`` with its own defaults.
DEFAULT, CLASSIFIER = "default", "classifier"

#: Settings that replace the paper's optimiser and initial values, unless the protocol of the paper is requested. The
#: number of steps is large enough that the final bound is not lower (docs/benchmarks.md).
FAST_OPTIMISER: Mapping[str, Any] = MappingProxyType(
    {
        "batch_size": None,
        "epochs": None,
        "steps": 350,
        "learning_rate": 0.03,
        "training": {"decay": True, "inducing": "kmeans"},
        "hyper": {"lengthscale": None, "white": 0.01},
        "inputs": {"spread": 0.5},
    }
)

_FEWER_STEPS = {"mgp": 300, "nimgp": 300}  # their bounds converge faster, as measured on astro454

_RULES = ("step", "probit", "logit")

#: Estimator settings by the name that follows the @ of a method. ε is learned, or fixed (``-fixed``) to the value of
#: the main paper. With ``-robust`` the share of wrong labels is learned, and ε is fixed. ``-predictive`` is the
#: objective of training.
LIKELIHOOD_SETTINGS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {name: {"likelihood": name, "hyper": {"epsilon": None}} for name in LIKELIHOODS}
    | {
        f"{name}-predictive": {"likelihood": name, "hyper": {"epsilon": None}, "objective": "predictive"}
        for name in ("softmax", *_RULES)
    }
    | {f"{name}-fixed": {"likelihood": name, "hyper": {"epsilon": 1e-3}} for name in _RULES}
    | {
        f"{name}-robust": {
            "likelihood": name,
            "hyper": {"epsilon": 1e-3 if name in _RULES else None},
            "label_noise": LEARNED,
        }
        for name in LIKELIHOODS
    }
)

_GIVEN, _LEARNED = "given", "learned"


@dataclass(frozen=True)
class MethodOptions:
    """Settings that all methods of this package share.

    Attributes
    ----------
    paper
        Whether to use the paper's optimiser instead of a faster one that is as good.
    likelihood
        Likelihood of methods whose name gives none; None for that of the paper or the default.
    kernel
        Kernel; None for that of the paper or the default.
    steps
        Number of training steps; None for that of each method.
    noise_model
        ``'given'`` or ``'learned'`` variances of input noise; None for the choice of the benchmark.
    seed
        Seed of initial values, minibatches and draws.
    """

    paper: bool = False
    likelihood: str | None = None
    kernel: str | None = None
    steps: int | None = None
    noise_model: str | None = None
    seed: int = 0


def parse_methods(text: str) -> tuple[str, ...]:
    """Parse ``mgp,nimgp@probit,default,classifier:nimgp-nn@step-fixed,logistic``.

    The name after an @ is the likelihood of the method, a key of :data:`LIKELIHOOD_SETTINGS`.

    Raises
    ------
    BenchmarkError
        When a method or its likelihood is unknown, a baseline has a likelihood, or a method is named twice.
    """
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        _check(name)
        if names.count(name) > 1:
            raise BenchmarkError(f"the method '{name}' is named more than once: name each once (--methods)")
    return names


def _check(name: str) -> None:
    from fermiclass.evaluation.baselines import available_baselines

    method, at, likelihood = name.partition("@")
    base, colon, input_model = method.partition(":")
    others = (DEFAULT, CLASSIFIER, *EP_METHODS, *available_baselines())
    of_base = base in (DEFAULT, CLASSIFIER) and input_model in METHODS
    if not (of_base if colon else method in (*METHODS, *others)):
        known = ", ".join((*METHODS, f"{DEFAULT}:METHOD", f"{CLASSIFIER}:METHOD", *others))
        raise BenchmarkError(f"the method '{method}' is unknown: choose among {known} (--methods)")
    if at and not is_own(method):
        raise BenchmarkError(f"the method '{method}' has no choice of likelihoods: leave out '{name[len(method) :]}'")
    if at and likelihood not in LIKELIHOOD_SETTINGS:
        raise BenchmarkError(
            f"the likelihood '{likelihood}' of the method '{name}' is unknown: choose among "
            f"{', '.join(LIKELIHOOD_SETTINGS)} (--methods)"
        )


def is_own(name: str) -> bool:
    """Whether a method belongs to `NIMGPClassifier`, which has likelihoods and needs TensorFlow."""
    method = name.partition("@")[0]
    return method in METHODS or method.partition(":")[0] in (DEFAULT, CLASSIFIER)


def authors_start(input_dim: int) -> dict[str, Any]:
    """Return the initial values in the authors' published code, which the paper does not state.

    The squared length-scale is the median distance between two inputs, about √(2D) for standardised inputs. White noise
    is only a jitter. The width of a q(x) is a thousandth of the width of the noise.
    """
    return {
        "hyper": {"lengthscale": float((2.0 * input_dim) ** 0.25), "white": 1e-8},
        "inputs": {"spread": 5e-4},
        "training": {"inducing": "random"},
    }


def make_estimator(
    name: str, settings: Mapping[str, Any], options: MethodOptions, *, fast: Mapping[str, Any] | None = None
) -> Any:
    """Make an unfitted estimator.

    Parameters
    ----------
    name
        A name that :func:`parse_methods` returns.
    settings
        The paper's settings for this cell. Only the methods of the paper use them.
    options
        Settings that all methods share.
    fast
        Settings that replace the paper's optimiser, by default :data:`FAST_OPTIMISER`.

    Raises
    ------
    BenchmarkError
        When given noise is requested but unknown, or the method cannot have the kernel.
    """
    if name in EP_METHODS:
        from fermiclass.nimgp.estimators.robust_classifier import RobustGPClassifier

        return RobustGPClassifier(robust=name == "rmgpc")
    if not is_own(name):
        from fermiclass.evaluation.baselines import BaselineClassifier

        return BaselineClassifier(name, seed=options.seed)
    from fermiclass.labelling.training import default_settings
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier
    from fermiclass.nimgp.names import PAPER_ESTIMATOR

    name, _, likelihood = name.partition("@")
    chosen: dict[str, Any] = {"random_state": options.seed}
    if name in METHODS:
        chosen = join_settings(chosen, PAPER_ESTIMATOR, settings, {"method": name})
        if not options.paper:
            steps = {"steps": _FEWER_STEPS.get(name, FAST_OPTIMISER["steps"])}
            chosen = join_settings(chosen, {**FAST_OPTIMISER, **steps} if fast is None else fast)
    else:
        base, _, input_model = name.partition(":")
        given = {"method": input_model} if input_model else {}
        chosen |= default_settings(**given) if base == DEFAULT else given
    if likelihood:
        chosen = join_settings(chosen, LIKELIHOOD_SETTINGS[likelihood])
    elif options.likelihood is not None:
        chosen["likelihood"] = options.likelihood
    if options.kernel is not None:
        chosen["kernel"] = options.kernel
    if options.steps is not None:
        chosen |= {"steps": options.steps, "epochs": None}
    if options.noise_model is not None:
        chosen["noise"] = _noise(options.noise_model, settings.get("noise", _GIVEN))
    kernel = chosen.get("kernel", "")
    if chosen.get("method") == "nimgp-psi" and kernel and not set(kernel.split("+")) <= set(WITH_EXPECTATIONS):
        raise BenchmarkError(
            f"the method '{name}' cannot have the kernel '{kernel}': leave it out, or choose some of "
            f"{', '.join(WITH_EXPECTATIONS)} (--kernel)"
        )
    return NIMGPClassifier(**chosen)


def _noise(model: str, of_benchmark: str) -> str:
    if model == _LEARNED:
        return "shared" if of_benchmark == _GIVEN else of_benchmark
    if of_benchmark != _GIVEN:
        raise BenchmarkError(
            "the variances of this benchmark's input noise are not known to the methods: leave out --noise-model given"
        )
    return _GIVEN
