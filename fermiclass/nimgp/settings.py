"""Settings of the classifier: names, defaults, and the values that are allowed. TensorFlow is not imported."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass, field, fields
from math import isfinite
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

from fermiclass.nimgp.names import (
    FIRST_ORDER,
    FULL_BATCH,
    INDUCING,
    INPUT_PRIORS,
    KERNELS,
    LEARNED,
    LIKELIHOODS,
    METHODS,
    NOISES,
    OBJECTIVES,
    PRECISIONS,
    RESPONSES,
)

AUTO = "auto"  #: Chosen by method and number of rows.
_MOST = 100  # numbers in a sequence


class Number(NamedTuple):
    """Numbers above a limit, or from the limit on, and up to another; one, or a sequence of several."""

    low: float = 0
    high: float | None = None
    low_counts: bool = False
    high_counts: bool = True
    whole: bool = False
    several: bool = False

    def accepts(self, value: Any) -> bool:
        """Return whether a value is such a number; True and False are none."""
        if self.several:
            each = self._replace(several=False)
            return isinstance(value, tuple | list) and 0 < len(value) <= _MOST and all(map(each.accepts, value))
        if not isinstance(value, Integral if self.whole else Real) or isinstance(value, bool) or not isfinite(value):
            return False
        number = float(value)
        above = number > self.low or (self.low_counts and number == self.low)
        return above and (self.high is None or number < self.high or (self.high_counts and number == self.high))

    def __str__(self) -> str:
        limits = [f"of {self.low} or more" if self.low_counts else f"above {self.low}"]
        if self.high is not None:
            limits.append(f"up to {self.high:,}" if self.high_counts else f"below {self.high:,}")
        kind = f"{'whole ' if self.whole else ''}number"
        return f"{f'a tuple of {kind}s' if self.several else f'a {kind}'} {' and '.join(limits)}"


class Interface(NamedTuple):
    """Objects with some attributes, such as those of GPflow, which need not be imported for this."""

    about: str
    attributes: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        """Return whether a value is such an object; a class is none."""
        return not isinstance(value, str | type) and all(hasattr(value, name) for name in self.attributes)

    def __str__(self) -> str:
        return self.about


_GPFLOW_KERNEL = Interface("a kernel of GPflow", ("K", "K_diag", "active_dims"))
_GPFLOW_LIKELIHOOD = Interface("a likelihood of GPflow", ("latent_dim", "log_prob"))
_POSITIVE, _WHOLE, _FRACTION = Number(), Number(whole=True), Number(high=1, high_counts=False)


def _setting(default: Any, *allowed: Any) -> Any:
    """Define a setting: its default, and what is allowed: kinds of numbers, names, None, or the type bool."""
    return field(default=default, metadata={"allowed": allowed})


def check_setting(name: str, value: Any, *allowed: Any) -> None:
    """Raise ValueError unless a value is allowed: by a kind of numbers, a name, None, or the type bool."""
    named = (value is None or isinstance(value, str)) and value in allowed
    truth = bool in allowed and type(value).__name__ in ("bool", "bool_")  # that of NumPy, too
    if not (named or truth or any(kind.accepts(value) for kind in allowed if isinstance(kind, Number | Interface))):
        known = ["True or False" if one is bool else str(one) for one in allowed]
        expected = " or ".join([", ".join(known[:-1]), known[-1]] if known[1:] else known)
        raise ValueError(f"{name}={value!r} is not valid: expected {expected}")


class _Checked:
    """A dataclass that refuses values that are not allowed: ValueError, which names the setting and what is allowed."""

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]  # of the dataclasses below
            if "allowed" in each.metadata:
                value = getattr(self, each.name)
                check_setting(each.name, value, *each.metadata["allowed"])
                if isinstance(value, list):  # as JSON has it
                    object.__setattr__(self, each.name, tuple(value))


@dataclass(frozen=True)
class InputOptions(_Checked):
    """How noiseless inputs are inferred."""

    #: Prior p(x) of the standardised noiseless inputs: N(0, a I) ('isotropic'); or N(m, a Σ) with the mean and
    #: covariance of the training sources' noiseless inputs ('population'); or a mixture of such Gaussians ('mixture').
    #: First-order methods replace each input and its noise variance by mean and variance of p(x | x̃); with 'isotropic'
    #: or learned noise they use no prior. 'mgp', 'mgp-aug' and 'mgp-sampling' never use it.
    prior: str = _setting("isotropic", *INPUT_PRIORS)
    #: Scale a of p(x); None makes it flat. The paper takes 1000.
    prior_variance: float | None = _setting(3.0, _POSITIVE, None)
    components: int = _setting(3, _WHOLE)  #: Number of Gaussians in the mixture.
    #: Largest absolute value of a standardised input; larger ones are clipped, so that none decides a prediction.
    clip: float | None = _setting(4.0, _POSITIVE, None)
    spread: float = _setting(0.5, _POSITIVE)  #: Initial variances of the q(x) of 'nimgp', in its units.
    #: Units of the parameters of the q(x) of 'nimgp': 'noise', which is √V, or 'inputs', as in the paper.
    units: str = _setting("noise", "noise", "inputs")
    #: Number of units in each hidden layer of the network of 'nimgp-nn'.
    hidden: tuple[int, ...] = _setting((50,), Number(high=10_000, whole=True, several=True))


@dataclass(frozen=True)
class HyperOptions(_Checked):
    """Hyper-parameters: where they start, and their priors."""

    #: Initial length-scale for standardised inputs; None for the median of its prior.
    lengthscale: float | None = _setting(None, _POSITIVE, None)
    #: Initial variance σ² of each kernel but 'linear'; None for that of the likelihood.
    variance: float | None = _setting(None, _POSITIVE, None)
    white: float = _setting(0.01, _POSITIVE)  #: Initial variance of the white noise of the latent functions.
    #: Initial value of a learned V, and the median of its prior, for standardised inputs.
    noise: float = _setting(0.1, _POSITIVE)
    #: ε of the likelihoods 'step', 'probit' and 'logit': fixed, or learned (None). The paper fixes 10⁻³.
    epsilon: float | None = _setting(None, _FRACTION, None)
    degree: int = _setting(3, Number(high=100, whole=True))  #: Degree of the polynomial kernel.
    priors: bool = _setting(True, bool)  #: Whether hyper-parameters have log-normal priors.


@dataclass(frozen=True)
class TrainingOptions(_Checked):
    """How the objective is maximised."""

    #: Choice of the inducing points before training: 'kmeans' or 'random'.
    inducing: str = _setting("kmeans", *INDUCING)
    decay: bool = _setting(True, bool)  #: Whether the step size falls along a cosine, or stays the same.
    #: Whether the parameters end at their mean over the last 70 % of the steps (Polyak & Juditsky 1992).
    mean: bool = _setting(True, bool)
    #: Number of antithetic pairs of quasi-Monte Carlo draws of the latent functions for each row and step, where the
    #: likelihood needs draws; best a power of 2.
    draw_pairs: int = _setting(16, Number(high=1 << 12, whole=True))
    #: Step size γ of natural gradients for the variational distribution of the inducing values; None leaves it to Adam.
    #: 0.1 is a common choice. With step, probit or logit and several classes that overlap, natural gradients may end at
    #: lower bounds than Adam.
    natural_gradient: float | None = _setting(None, Number(high=1), None)
    #: Floating-point type of training and prediction: 'float32' or 'float64'.
    precision: str = _setting("float32", *PRECISIONS)


_OPTIONS = {"inputs": InputOptions, "hyper": HyperOptions, "training": TrainingOptions}


@dataclass(frozen=True)
class Settings(_Checked):
    """The parameters of :class:`fermiclass.NIMGPClassifier`. Options given as mappings are kept as objects."""

    method: str = _setting("nimgp-fo", *METHODS)
    likelihood: Any = _setting("softmax", *LIKELIHOODS, _GPFLOW_LIKELIHOOD)  # noqa: RUF009 (an immutable default)
    kernel: Any = "se+linear"
    objective: str = _setting("predictive", *OBJECTIVES)
    noise: str = _setting("given", *NOISES)
    label_noise: float | str = _setting(LEARNED, Number(high=1, low_counts=True, high_counts=False), LEARNED)
    label_sets: Mapping[str, tuple[str, ...]] | None = None
    label_weights: Mapping[str, float] | None = None
    num_inducing: float = _setting(60, _WHOLE, _FRACTION)
    steps: int | str = _setting(AUTO, _WHOLE, AUTO)
    epochs: int | None = _setting(None, _WHOLE, None)
    batch_size: int | str | None = _setting(AUTO, _WHOLE, None, AUTO)
    learning_rate: float = _setting(0.1, _POSITIVE)
    num_draws: int = _setting(256, Number(high=1 << 20, whole=True))
    temperature: float = _setting(1.0, _POSITIVE)
    inputs: InputOptions = None  # type: ignore[assignment]
    hyper: HyperOptions = None  # type: ignore[assignment]
    training: TrainingOptions = None  # type: ignore[assignment]
    random_state: Any = 0
    verbose: InitVar[int] = 0  #: It prints, and is no property of a model.

    #: Options that differ from their own defaults unless they are given.
    DEFAULTS: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def __post_init__(self, verbose: int) -> None:
        super().__post_init__()
        check_setting("verbose", verbose, Number(low_counts=True, whole=True), bool)
        for name, kind in _OPTIONS.items():
            value, known = getattr(self, name), [each.name for each in fields(kind)]
            if not isinstance(value, kind):
                if value is not None and not (isinstance(value, Mapping) and set(value) <= set(known)):
                    expected = f"expected {kind.__name__}, or some of {', '.join(known)}"
                    raise ValueError(f"{name}={value!r} is not valid: {expected}")
                object.__setattr__(self, name, kind(**{**self.DEFAULTS.get(name, {}), **(value or {})}))
        for name in ("label_sets", "label_weights"):
            given = getattr(self, name)
            object.__setattr__(self, name, {} if given is None else _of_labels(name, given))
        kernel, kernels = self.kernel, ", ".join(KERNELS)
        if not (set(kernel.split("+")) <= set(KERNELS) if isinstance(kernel, str) else _GPFLOW_KERNEL.accepts(kernel)):
            raise ValueError(f"kernel={kernel!r} is unknown: join some of {kernels} by '+', or give {_GPFLOW_KERNEL}")
        if self.temperature != 1 and isinstance(self.likelihood, str) and self.likelihood == "step":
            raise ValueError(f"temperature={self.temperature!r} is not valid: the step likelihood has no scale of f")

    @property
    def precision(self) -> str:
        """Floating-point type of training and prediction: double where kernel or likelihood is an object of GPflow."""
        named = isinstance(self.kernel, str) and isinstance(self.likelihood, str)
        return self.training.precision if named else "float64"

    @property
    def expected_inputs(self) -> bool:
        """Whether inputs are replaced by means and variances of p(x | x̃): in first-order methods, with given noise."""
        return self.method in FIRST_ORDER and self.noise == "given" and self.inputs.prior != "isotropic"

    def params(self) -> dict[str, Any]:
        """Return the parameters of an estimator with these settings; options and labels of the defaults are None."""
        found = {name: getattr(self, name) for name in FIELDS}
        defaults = {name: kind(**self.DEFAULTS.get(name, {})) for name, kind in _OPTIONS.items()}
        defaults |= {"label_sets": {}, "label_weights": {}}
        return found | {name: None for name, default in defaults.items() if found[name] == default}

    def to_json(self, *, objects: Callable[[Any], str] | None = None) -> dict[str, Any]:
        """Return the settings as JSON holds them; `objects` makes texts of what it cannot hold, or a TypeError."""

        def plain(value: Any) -> Any:
            if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:  # a number of NumPy
                return value.item()
            if objects is None and (_GPFLOW_KERNEL.accepts(value) or _GPFLOW_LIKELIHOOD.accepts(value)):
                from fermiclass.nimgp.from_gpflow import to_plain

                return to_plain(value)
            if objects is None:
                raise TypeError(f"a {type(value).__name__} cannot be stored as text: pickle the model, or use names")
            return objects(value)

        content = {name: vars(value) if name in _OPTIONS else value for name, value in vars(self).items()}
        found: dict[str, Any] = json.loads(json.dumps(content, default=plain))
        return found

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Return the settings of :meth:`to_json`; ValueError where one is unknown, missing or not valid."""
        odd = sorted(content.keys() ^ FIELDS.keys())
        if odd:
            raise ValueError(f"settings are missing or unknown: {', '.join(odd)}")
        described = {name: content[name] for name in ("kernel", "likelihood") if isinstance(content[name], Mapping)}
        if described:
            from fermiclass.nimgp.from_gpflow import from_plain

            content = {**content, **{name: from_plain(value) for name, value in described.items()}}
        return cls(**content)


@dataclass(frozen=True)
class RegressorSettings(Settings):
    """The parameters of :class:`fermiclass.NIMGPRegressor`; it has no others of `Settings`. Its options differ."""

    likelihood: Any = _setting("gaussian", *RESPONSES, _GPFLOW_LIKELIHOOD)  # noqa: RUF009 (an immutable default)
    objective: str = _setting("elbo", "elbo")

    DEFAULTS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "inputs": {"prior": "population", "prior_variance": 1.0, "clip": None},
        "training": FULL_BATCH["training"],
    }

    @property
    def precision(self) -> str:
        """Always double precision."""
        return "float64"

    @property
    def expected_inputs(self) -> bool:
        """First-order methods take the observed inputs."""
        return False

    def params(self) -> dict[str, Any]:
        """Return the parameters of an estimator with these settings; options of the defaults are None."""
        return {name: value for name, value in super().params().items() if name not in _OF_CLASSES}


_OF_CLASSES = ("objective", "noise", "label_noise", "label_sets", "label_weights", "temperature")

#: What is defined about each setting, by name.
FIELDS: Mapping[str, Any] = {each.name: each for each in fields(Settings)}


def described(value: Any) -> str:
    """Return an object of GPflow as text, such as ``(RBF + Linear)``, and any other as Python writes it."""
    parts = getattr(value, "kernels", None)
    if parts and type(value).__name__ in ("Sum", "Product"):
        return "(" + (" + " if type(value).__name__ == "Sum" else " * ").join(map(described, parts)) + ")"
    is_gpflows = _GPFLOW_KERNEL.accepts(value) or _GPFLOW_LIKELIHOOD.accepts(value)
    return type(value).__name__ if is_gpflows else repr(value)


def _of_labels(name: str, given: Any) -> dict[str, Any]:
    """Return the classes or the weight of each label."""
    if not isinstance(given, Mapping) or not all(isinstance(label, str) for label in given):
        raise ValueError(f"{name}={given!r} is not valid: expected a dict of labels, or None")
    for label, value in given.items():
        if name == "label_weights" and not _POSITIVE.accepts(value):
            raise ValueError(f"{name} has {value!r} for {label!r}: expected {_POSITIVE}")
        if name == "label_sets" and (isinstance(value, str) or not value or len(set(value)) < len(value)):
            raise ValueError(f"{name} has {value!r} for {label!r}: expected some different classes, as a tuple")
    return {label: tuple(value) if name == "label_sets" else value for label, value in given.items()}
