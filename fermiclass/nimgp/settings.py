"""Every setting of an estimator, defined once: default, check, description, and what files without it stand for.

Estimators take the fields of :class:`Settings` as their parameters (:mod:`fermiclass.nimgp.parameters`), commands make
options of them (:func:`fermiclass.cli.options.setting_option`), and model folders and label tables store them by name.
To add a setting is to add a field here. TensorFlow is not imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from numbers import Integral
from typing import Any

from fermiclass.nimgp.checks import Check, fraction, is_a, number, one_of, or_, truth, whole
from fermiclass.nimgp.label_sets import parse_label_sets, parse_label_weights
from fermiclass.nimgp.names import (
    FIRST_ORDER,
    INDUCING,
    INPUT_PRIORS,
    KERNELS,
    LEARNED,
    LIKELIHOODS,
    METHODS,
    NOISES,
    OBJECTIVES,
    PRECISIONS,
    WITH_EXPECTATIONS,
)

#: Found on held-out sources.
FOLDS = "folds"
_LONGEST_KERNEL = 200  # letters; more would be an attack on memory

#: Settings of earlier versions, with the only value that is still available.
DROPPED: Mapping[str, Any] = {"average_noise": True, "jitter": 1e-3}


def _kernel_names(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_KERNEL and set(value.split("+")) <= set(KERNELS)


def _label_sets(value: Any) -> bool:
    return _can_be_parsed(parse_label_sets, value)


def _label_weights(value: Any) -> bool:
    return _can_be_parsed(parse_label_weights, value)


def _can_be_parsed(parse: Callable[[str], object], value: Any) -> bool:
    if value is None:
        return True
    try:
        return isinstance(value, str) and bool(parse(value))
    except ValueError:
        return False


def _anything() -> Check:
    return Check(lambda _: True, "")


def _setting(default: Any, check: Check, about: str, *, group: str, main: bool = False, absent: Any = MISSING) -> Any:
    """Define a setting.

    Parameters
    ----------
    default, check, about
        Its default, the values that it can have, and its description; the first sentence is a command's help.
    group
        ``'model'``, ``'inputs'``, ``'training'`` or ``'prediction'``.
    main
        Whether it is among the settings that most users need.
    absent
        Value that files written before the setting existed stand for. Without it, every file has the setting.
    """
    what = {"check": check, "about": " ".join(about.split()), "group": group, "main": main}
    return field(default=default, metadata={**what, "absent": absent})


@dataclass(frozen=True)
class Settings:
    """Which model, how it is trained, and how it predicts. Values are checked when an object is made.

    Raises
    ------
    ValueError
        When a setting has a value that it cannot have; the message says which it can.
    """

    method: str = _setting(
        "nimgp",
        one_of(METHODS),
        """Treatment of input noise. 'nimgp' infers the noiseless input of every training source. 'nimgp-psi' does so
        with moments in closed form instead of draws (kernels 'se' and 'linear'), 'nimgp-nn' with a network. 'nimgp-fo'
        turns input noise into noise of the latent functions, as in the paper. 'nimgp-fo-marginal' does the same with
        the average over this noise inside the logarithm. 'mgp' ignores input noise. 'mgp-aug' and 'mgp-sampling' learn
        from noisy copies of the inputs.""",
        group="model",
        main=True,
    )
    likelihood: str = _setting(
        "softmax",
        one_of(LIKELIHOODS),
        """Likelihood of a class given the latent functions: the softmax, by sampling or by a bound in closed form, or
        RobustMax, the class of the largest latent function, without noise (the paper's step) or with Gaussian noise
        (probit, logit).""",
        group="model",
        main=True,
    )
    kernel: str = _setting(
        "se+linear",
        Check(_kernel_names, f"is unknown: join some of {', '.join(KERNELS)} by '+'"),
        """Kernel, or several joined by '+': 'se' (squared exponential), 'matern32', 'matern52', 'linear', 'polynomial'.
        The stationary ones and the polynomial have ARD length-scales. White noise is always added.""",
        group="model",
        main=True,
    )
    noise: str = _setting(
        "given",
        one_of(NOISES),
        """Noise variances V of the inputs: given with every source, or learned and the same for all sources, with one
        variance for each feature ('per-feature') or one for all standardised features ('shared').""",
        group="model",
    )
    initial_noise: float = _setting(
        0.1,
        number(),
        "Initial value of a learned V, and the median of its prior, for standardised inputs.",
        group="model",
    )
    objective: str = _setting(
        "elbo",
        one_of(OBJECTIVES),
        """Function that training maximises. 'elbo' is the evidence lower bound. 'predictive' has ``log E p(y | f)``
        instead of ``E log p(y | f)`` (:class:`fermiclass.nimgp.likelihoods.base.Predictive`). It is often better with
        many labels, and makes 'nimgp-fo-marginal' the same as 'nimgp-fo'.""",
        group="model",
        absent="elbo",
    )
    epsilon: float | None = _setting(
        None,
        or_(fraction(), None),
        "ε of the step, probit and logit likelihoods: fixed, or learned (None). The paper fixes 10⁻³.",
        group="model",
    )
    label_noise: float | str = _setting(
        0.0,
        or_(fraction(zero=True), LEARNED),
        """Probability ρ that a label is wrong (:class:`fermiclass.nimgp.likelihoods.contaminated.Contaminated`): 0
        trusts all labels, 'learned' has a Beta(1, 9) prior. Predicted probabilities are those of the classes, not of
        the labels.""",
        group="model",
        main=True,
    )
    label_sets: str | None = _setting(
        None,
        Check(_label_sets, "is malformed: write label=a+b, separated by commas, or None"),
        """Labels that stand for a set of classes, one of which is right, such as ``'bcu=bll+fsrq'``
        (:mod:`fermiclass.nimgp.labels`). Rows whose label stands for all classes are left out.""",
        group="training",
        absent=None,
    )
    label_weights: str | None = _setting(
        None,
        Check(_label_weights, "is malformed: write label=0.5, separated by commas, or None"),
        "Weights of training rows by their label, such as ``'bll=0.5,bcu=0.5'``; 1 for all others.",
        group="training",
        absent=None,
    )
    num_inducing: int | float = _setting(
        60,
        Check(
            lambda value: number().accepts(value) and (is_a(Integral, value) or value < 1),
            "is not valid: expected a whole number above 0, or a fraction below 1",
        ),
        """Number of inducing points for each class, never more than there are distinct training inputs. A fraction is
        relative to the number of training sources, with at most 100 points (the paper's rule is 0.05).""",
        group="training",
        main=True,
    )
    inducing: str = _setting(
        "kmeans", one_of(INDUCING), "Choice of the inducing points before training.", group="training"
    )
    steps: int = _setting(500, whole(), "Number of training steps.", group="training", main=True)
    batch_size: int | None = _setting(
        None, or_(whole(), None), "Number of sources in a step; None for all.", group="training", main=True
    )
    learning_rate: float = _setting(0.03, number(), "First step size of Adam.", group="training")
    decay: bool = _setting(
        True, truth(), "Whether the step size falls along a cosine, or stays the same.", group="training"
    )
    epochs: int | None = _setting(
        None,
        or_(whole(), None),
        "Number of passes over the training sources, instead of ``steps``.",
        group="training",
    )
    natural_gradient: float | None = _setting(
        None,
        or_(number(most=1), None),
        """Step size γ of natural gradients for the variational distribution of the inducing values; None leaves it to
        Adam. 0.1 is a common choice. With step, probit or logit and several classes that overlap, natural gradients
        may end at lower bounds than Adam.""",
        group="training",
    )
    patience: int | None = _setting(
        None,
        or_(whole(), None),
        "Number of steps after which training stops if the smoothed bound has not risen by a thousandth.",
        group="training",
    )
    input_prior: str = _setting(
        "isotropic",
        one_of(INPUT_PRIORS),
        """Prior p(x) of the standardised noiseless inputs: N(0, a I); or N(m, a Σ) with the mean and covariance of the
        training sources' noiseless inputs (:meth:`fermiclass.nimgp.inputs.prior.InputPrior.population`); or a mixture
        of such Gaussians. First-order methods replace each input and its noise variance by mean and variance of
        p(x | x̃). With 'isotropic' or learned noise they use no prior. Methods without an input model ('mgp', 'mgp-aug',
        'mgp-sampling') never use it.""",
        group="inputs",
    )
    input_prior_variance: float | None = _setting(
        3.0,
        or_(number(), None),
        "Scale a of the prior p(x); None makes it flat. The paper takes 1000 in training and a flat one in prediction.",
        group="inputs",
    )
    components: int = _setting(3, whole(), "Number of Gaussians in the mixture.", group="inputs")
    hyper_priors: bool = _setting(True, truth(), "Whether the hyper-parameters have log-normal priors.", group="model")
    clip: float | None = _setting(
        4.0,
        or_(number(), None),
        "Largest absolute value of a standardised input; larger ones are clipped, so that none decides a prediction.",
        group="inputs",
    )
    max_noise: float | None = _setting(
        2.0,
        or_(number(zero=True), None),
        "Largest noise variance, in units of the input's variance over the training sources; larger ones are clipped.",
        group="inputs",
    )
    precision: str = _setting(
        "float32", one_of(PRECISIONS), "Floating-point type of training and prediction.", group="training"
    )
    initial_lengthscale: float | None = _setting(
        None,
        or_(number(), None),
        "Initial length-scale for standardised inputs; None for the median of its prior, 3√D.",
        group="model",
    )
    initial_white: float = _setting(0.01, number(), "Initial variance of the white noise.", group="model")
    initial_spread: float = _setting(
        0.5, number(), "Initial variances of the q(x) of 'nimgp', in units of V.", group="model"
    )
    hidden_units: int = _setting(
        50, whole(10_000), "Number of units in a hidden layer of the network of 'nimgp-nn'.", group="model"
    )
    hidden_layers: int = _setting(1, whole(100), "Number of hidden layers of the network of 'nimgp-nn'.", group="model")
    degree: int = _setting(3, whole(100), "Degree of the polynomial kernel.", group="model")
    num_draws: int = _setting(
        256,
        whole(1 << 20),
        """Number of quasi-Monte Carlo draws of each noisy input in prediction, best a power of 2. First-order methods
        need none.""",
        group="prediction",
        main=True,
    )
    temperature: float | str = _setting(
        1.0,
        or_(number(), FOLDS),
        """Temperature T of ``softmax(f/T)`` in prediction. 'folds' finds it on held-out sources
        (:func:`fermiclass.nimgp.estimators.temperature.fold_temperature`), which takes five more trainings. The step
        likelihood has no scale of f: leave T at 1 there.""",
        group="prediction",
        main=True,
    )
    random_state: Any = _setting(  # noqa: RUF009 (an immutable default)
        0,
        _anything(),
        "Seed of all random numbers. The same whole number gives the same estimator.",
        group="training",
        main=True,
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not each.metadata["check"].accepts(value):
                raise ValueError(f"{each.name}={value!r} {each.metadata['check'].problem}")
        if self.temperature != 1 and self.likelihood == "step":
            raise ValueError(f"temperature={self.temperature!r} is not valid: the step likelihood has no scale of f")
        if self.method == "nimgp-psi" and not set(self.kernel.split("+")) <= set(WITH_EXPECTATIONS):
            raise ValueError(
                f"kernel={self.kernel!r} is not valid for method='nimgp-psi', which needs expectations in closed form: "
                f"join some of {', '.join(WITH_EXPECTATIONS)} by '+', or choose method='nimgp'"
            )

    @property
    def first_order(self) -> bool:
        """Whether input noise is treated as noise of the latent functions, in prediction too."""
        return self.method in FIRST_ORDER

    @property
    def model(self) -> tuple[Any, ...]:
        """The settings that decide what the model is: equal for models that can share their TensorFlow graphs."""
        return tuple(getattr(self, each.name) for each in fields(self) if each.metadata["group"] == "model")


#: All settings by name.
FIELDS: Mapping[str, Field[Any]] = {each.name: each for each in fields(Settings)}

#: Settings that files of all versions have.
FIRST: frozenset[str] = frozenset(name for name, each in FIELDS.items() if each.metadata["absent"] is MISSING)


def settings_from_file(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings that a file was made with.

    Parameters
    ----------
    stored
        Settings by name, of this version or an earlier one. A setting that did not exist then gets the value that the
        earlier version stood for.

    Raises
    ------
    ValueError
        When a setting is unknown or missing, or had a value that is no longer available.
    """
    for name, value in DROPPED.items():
        if stored.get(name, value) != value:
            raise ValueError(f"{name}={stored[name]!r} is no longer available: only {value!r} is")
    unknown = sorted(stored.keys() - FIELDS.keys() - DROPPED.keys())
    if unknown:
        raise ValueError(f"the settings {', '.join(unknown)} are unknown: a later version may have written them")
    found = {name: stored.get(name, each.metadata["absent"]) for name, each in FIELDS.items()}
    missing = sorted(name for name, value in found.items() if value is MISSING)
    if missing:
        raise ValueError(f"the settings {', '.join(missing)} are missing")
    return found
