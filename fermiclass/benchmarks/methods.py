"""What a benchmark compares: the paper's methods, the default, and what users would pick instead, all by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from fermiclass.errors import BenchmarkError
from fermiclass.nimgp.names import EP_METHODS, LEARNED, LIKELIHOODS, METHODS, WITH_EXPECTATIONS

DEFAULT = "default"

#: Settings that stand in for the paper's optimiser and first values unless its whole protocol is asked for: our own
#: first values, and so many steps that the bound ends no lower (docs/benchmarks.md).
FAST_OPTIMISER: Mapping[str, Any] = MappingProxyType(
    {
        "batch_size": None,
        "epochs": None,
        "steps": 350,
        "learning_rate": 0.03,
        "decay": True,
        "inducing": "kmeans",
        "initial_lengthscale": None,
        "initial_white": 0.01,
        "initial_spread": 0.5,
    }
)

_FEWER_STEPS = {"mgp": 300, "nimgp": 300}  # their bounds get there sooner, as measured on astro454

_RULES = ("step", "probit", "logit")

#: What may follow the @ of a method: estimator settings. ε is learned, or fixed to what the main paper has; where it is
#: learned how many labels are wrong, they say nothing at all, and ε is fixed. Predictive is the objective of training.
LIKELIHOOD_SETTINGS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {name: {"likelihood": name, "epsilon": None} for name in LIKELIHOODS}
    | {
        f"{name}-predictive": {"likelihood": name, "epsilon": None, "objective": "predictive"}
        for name in ("softmax", *_RULES)
    }
    | {f"{name}-fixed": {"likelihood": name, "epsilon": 1e-3} for name in _RULES}
    | {
        f"{name}-robust": {"likelihood": name, "epsilon": 1e-3 if name in _RULES else None, "label_noise": LEARNED}
        for name in LIKELIHOODS
    }
)

_GIVEN, _LEARNED = "given", "learned"
NOISE_MODELS = (_GIVEN, _LEARNED)


@dataclass(frozen=True)
class MethodOptions:
    """What is the same for all of our own methods.

    Attributes
    ----------
    paper
        The paper's optimiser, not one that is as good and faster.
    likelihood
        Instead of the paper's, or of the default's, for methods whose name says none.
    kernel
        Instead of the paper's, or of the default's.
    steps
        Of training, in the place of what each method has.
    noise_model
        ``'given'`` or ``'learned'`` variances of input noise; None for what the benchmark says.
    seed
        Of initial values, minibatches and draws.
    """

    paper: bool = False
    likelihood: str | None = None
    kernel: str | None = None
    steps: int | None = None
    noise_model: str | None = None
    seed: int = 0


def parse_methods(text: str) -> tuple[str, ...]:
    """Parse ``mgp,nimgp@probit,default,default:nimgp-nn@step-fixed,logistic``.

    What follows an @ is the method's likelihood, a name in :data:`LIKELIHOOD_SETTINGS`.

    Raises
    ------
    BenchmarkError
        When a method or its likelihood is unknown, a peer is given a likelihood, or a method is named twice.
    """
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        _check(name)
        if names.count(name) > 1:
            raise BenchmarkError(f"the method '{name}' is named more than once: name each once (--methods)")
    return names


def _check(name: str) -> None:
    from fermiclass.evaluation.peers import available_peers

    method, at, likelihood = name.partition("@")
    others = (DEFAULT, *EP_METHODS, *available_peers())
    if method.removeprefix(f"{DEFAULT}:") not in METHODS and method not in others:
        known = ", ".join((*METHODS, f"{DEFAULT}:METHOD", *others))
        raise BenchmarkError(f"the method '{method}' is unknown: choose among {known} (--methods)")
    if at and not is_own(method):
        raise BenchmarkError(f"the method '{method}' has no choice of likelihoods: leave out '{name[len(method) :]}'")
    if at and likelihood not in LIKELIHOOD_SETTINGS:
        raise BenchmarkError(
            f"the likelihood '{likelihood}' of the method '{name}' is unknown: choose among "
            f"{', '.join(LIKELIHOOD_SETTINGS)} (--methods)"
        )


def is_own(name: str) -> bool:
    """Whether a method is one of `NIMGPClassifier`, which has likelihoods and needs TensorFlow."""
    method = name.partition("@")[0]
    return method in METHODS or method.partition(":")[0] == DEFAULT


def authors_start(input_dim: int) -> dict[str, Any]:
    """Return where the paper's authors start, which their published code says and the paper does not.

    The squared length-scale is the median distance of two inputs, which is near √(2D) for standardised ones, white
    noise is nothing but jitter, and a q(x) is a thousandth as wide as the noise.
    """
    return {
        "initial_lengthscale": float((2.0 * input_dim) ** 0.25),
        "initial_white": 1e-8,
        "initial_spread": 5e-4,
        "inducing": "random",
    }


def make_estimator(
    name: str, settings: Mapping[str, Any], options: MethodOptions, *, fast: Mapping[str, Any] | None = None
) -> Any:
    """Make an unfitted estimator.

    Parameters
    ----------
    name
        One that :func:`parse_methods` returns.
    settings
        The paper's for this cell of the benchmark, which its methods take; the default is what it is.
    options
        What is the same for all.
    fast
        What stands in for the paper's optimiser, by default :data:`FAST_OPTIMISER`.

    Raises
    ------
    BenchmarkError
        When given noise is asked for where the paper has to learn it, or the method cannot have the kernel.
    """
    if name in EP_METHODS:
        from fermiclass.robust_estimators import RobustGPClassifier

        return RobustGPClassifier(robust=name == "rmgpc")
    if not is_own(name):
        from fermiclass.evaluation.peers import PeerClassifier

        return PeerClassifier(name, seed=options.seed)
    from fermiclass.estimators import NIMGPClassifier
    from fermiclass.settings import PAPER_ESTIMATOR

    name, _, likelihood = name.partition("@")
    chosen: dict[str, Any] = {"random_state": options.seed}
    if name in METHODS:
        chosen |= {**PAPER_ESTIMATOR, **settings, "method": name}
        if not options.paper:
            chosen |= (
                {**FAST_OPTIMISER, "steps": _FEWER_STEPS.get(name, FAST_OPTIMISER["steps"])} if fast is None else fast
            )
    elif name != DEFAULT:
        chosen["method"] = name.removeprefix(f"{DEFAULT}:")
    if likelihood:
        chosen |= LIKELIHOOD_SETTINGS[likelihood]
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
