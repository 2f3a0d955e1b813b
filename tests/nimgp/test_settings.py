"""Every setting: what it accepts, how it gets into estimators, and what files without it stand for."""

import inspect
from dataclasses import fields

import numpy as np
import pytest

from fermiclass import NIMGPClassifier, NIMGPRegressor
from fermiclass.nimgp.names import INPUT_PRIORS, KERNELS, LIKELIHOODS, METHODS, NOISES, OBJECTIVES
from fermiclass.nimgp.parameters import takes_settings
from fermiclass.nimgp.settings import DROPPED, FIELDS, FIRST, Settings, settings_from_file

NOT_NEGATIVE = "expected a number of 0 or more"
WHOLE, NUMBER = "expected a whole number above 0", "expected a number above 0"
REFUSED = [
    *(
        ({name: value}, rf"^{name}={value!r} is not valid: {WHOLE}")
        for name in ("steps", "num_draws", "components", "hidden_units", "hidden_layers", "degree")
        for value in (0, -1, 2.5, "3", None, True)
    ),
    *(
        ({name: value}, rf"^{name}={value!r} is not valid: {WHOLE}, or None$")
        for name in ("batch_size", "epochs", "patience")
        for value in (0, -1, 2.5, "3", True)
    ),
    *(
        ({name: value}, rf"^{name}={value!r} is not valid: {NUMBER}$")
        for name in ("learning_rate", "initial_noise", "initial_white", "initial_spread")
        for value in (0, -0.1, float("nan"), "a", None, True)
    ),
    *(
        ({"temperature": value}, rf"^temperature={value!r} is not valid: {NUMBER}, or 'folds'$")
        for value in (0, -0.1, float("nan"), "a", None, True)
    ),
    *(
        ({"num_inducing": value}, rf"^num_inducing={value!r} is not valid: {WHOLE}, or a fraction below 1$")
        for value in (0, -0.1, float("nan"), "a", None, True, 60.0)
    ),
    *(
        ({name: value}, rf"^{name}={value!r} is not valid: {NUMBER}, or None$")
        for name in ("clip", "input_prior_variance", "initial_lengthscale")
        for value in (0, -0.1, float("nan"), "a", True)
    ),
    *(
        ({"epsilon": value}, rf"^epsilon={value!r} is not valid: expected a number between 0 and 1, or None$")
        for value in (0, -0.1, float("nan"), "a", True, 1)
    ),
    *(({"max_noise": value}, rf"^max_noise={value!r} is not valid: {NOT_NEGATIVE}, or None$") for value in (-1.0, "a")),
    *(
        ({"natural_gradient": value}, rf"^natural_gradient={value} is not valid: {NUMBER} and up to 1, or None$")
        for value in (0.0, 1.5)
    ),
    *(
        ({name: most + 1}, rf"^{name}={most + 1} is not valid: {WHOLE} and up to {most:,}$")
        for name, most in (("num_draws", 1 << 20), ("hidden_units", 10_000), ("hidden_layers", 100), ("degree", 100))
    ),
    ({"likelihood": "step", "temperature": 2.0}, r"^temperature=2\.0 is not valid: the step likelihood has no scale"),
    ({"likelihood": "step", "temperature": "folds"}, r"^temperature='folds' is not valid: the step likelihood has no"),
    ({"method": "gp"}, f"^method='gp' is unknown: choose one of {', '.join(METHODS)}$"),
    ({"method": "nimgp-psi", "kernel": "se+matern52"}, "^kernel='se.matern52' is not valid for method='nimgp-psi'"),
    ({"likelihood": "gauss"}, f"^likelihood='gauss' is unknown: choose one of {', '.join(LIKELIHOODS)}$"),
    ({"kernel": "se+rbf"}, rf"^kernel='se\+rbf' is unknown: join some of {', '.join(KERNELS)} by '\+'$"),
    ({"kernel": "+".join(["linear"] * 40)}, "is unknown: join some of"),
    ({"objective": "loss"}, f"^objective='loss' is unknown: choose one of {', '.join(OBJECTIVES)}$"),
    ({"noise": "some"}, f"^noise='some' is unknown: choose one of {', '.join(NOISES)}$"),
    ({"noise": ["given"]}, "is unknown: choose one of"),
    ({"label_noise": 1.0}, r"^label_noise=1\.0 is not valid: expected a number from 0 to below 1, or 'learned'$"),
    ({"label_noise": None}, r"^label_noise=None is not valid: expected a number from 0 to below 1, or 'learned'$"),
    ({"precision": "float16"}, r"^precision='float16' is unknown: choose one of float32, float64$"),
    ({"inducing": "grid"}, "^inducing='grid' is unknown: choose one of kmeans, random$"),
    ({"input_prior": "flat"}, f"^input_prior='flat' is unknown: choose one of {', '.join(INPUT_PRIORS)}$"),
    ({"label_sets": "bcu"}, "^label_sets='bcu' is malformed: write label=a.b"),
    ({"label_weights": 2.0}, r"^label_weights=2\.0 is malformed: write label=0\.5"),
    ({"decay": 1}, "^decay=1 is not valid: expected True or False$"),
    ({"hyper_priors": "yes"}, "^hyper_priors='yes' is not valid: expected True or False$"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED, ids=lambda s: str(s)[:60] if isinstance(s, dict) else "")
def test_values_that_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Settings(**settings)


def test_every_setting_is_checked():
    assert {name for settings, _ in REFUSED for name in settings} == FIELDS.keys() - {"random_state"}


def test_estimators_check_when_they_are_fitted():
    for estimator in (NIMGPClassifier(steps=0), NIMGPRegressor(steps=0)):
        with pytest.raises(ValueError, match="steps=0 is not valid"):
            estimator.fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    "settings",
    [
        {"max_noise": 0, "num_inducing": 0.05, "epsilon": 1e-3, "batch_size": 1, "epochs": 1},
        {"clip": None, "max_noise": None, "input_prior_variance": None, "epsilon": None, "epochs": None},
        {"steps": np.int64(3), "learning_rate": np.float32(0.1), "num_inducing": np.int32(5), "num_draws": 1},
        {"decay": np.False_, "hyper_priors": False},
        {"likelihood": "step", "temperature": 1},
        {"likelihood": "probit", "temperature": 2},
        {"temperature": "folds"},
        {"label_sets": "bcu=bll+fsrq", "label_weights": "bcu=0.5"},
        {"label_noise": "learned"},
        {"label_noise": 0.1, "likelihood": "step"},
        *({"method": name} for name in METHODS),
        *({"likelihood": name} for name in LIKELIHOODS),
        *({"kernel": name} for name in (*KERNELS, "se+linear", "matern32+polynomial")),
        *({"noise": name} for name in NOISES),
        *({"input_prior": name} for name in INPUT_PRIORS),
    ],
    ids=str,
)
def test_values_that_are_accepted(settings):
    made = Settings(**settings)
    assert {name: getattr(made, name) for name in settings} == settings


def test_settings_are_frozen():
    with pytest.raises(AttributeError, match="steps"):
        Settings().steps = 3


@pytest.mark.parametrize("kind", [NIMGPClassifier, NIMGPRegressor])
def test_estimators_take_them_as_parameters(kind):
    signature = inspect.signature(kind)
    assert set(signature.parameters) == set(kind().get_params()) <= FIELDS.keys()
    assert kind().get_params() == {name: parameter.default for name, parameter in signature.parameters.items()}
    for name in signature.parameters:
        assert f"    {name} : " in kind.__doc__
    assert (
        next(iter(signature.parameters)) == {"NIMGPClassifier": "method", "NIMGPRegressor": "likelihood"}[kind.__name__]
    )
    main, other = kind.__doc__.split("Other Parameters")
    assert "num_inducing : " in main
    assert "initial_white : " in other


def test_the_classifier_takes_all_of_them():
    assert Settings() == Settings(**NIMGPClassifier().get_params())
    assert sum(FIELDS[name].metadata["main"] for name in FIELDS) == 10


def test_wrong_parameters_are_named():
    with pytest.raises(TypeError, match=r"NIMGPClassifier.*unexpected keyword argument 'stepz'"):
        NIMGPClassifier(stepz=3)
    with pytest.raises(TypeError, match=r"NIMGPClassifier.*too many positional"):
        NIMGPClassifier("mgp", "softmax")


def test_only_settings_of_the_model_decide_about_its_graphs():
    assert Settings(steps=3, random_state=5, num_draws=7).model == Settings().model
    assert Settings(likelihood="probit").model != Settings().model
    groups = {each.metadata["group"] for each in fields(Settings)}
    assert groups == {"model", "inputs", "training", "prediction"}


# --- files -----------------------------------------------------------------------------------------------------------


def test_what_files_hold_comes_back():
    given = {**NIMGPClassifier(steps=7, clip=None).get_params()}
    assert settings_from_file(given) == given


EARLIER = {name: field.default for name, field in FIELDS.items() if name not in ("label_sets", "label_weights")}


def test_files_of_earlier_versions_have_settings_that_no_longer_exist():
    found = settings_from_file({"average_noise": True, "jitter": 1e-3, **EARLIER, "steps": 7})
    assert found == NIMGPClassifier(steps=7).get_params()
    for name, value in (("average_noise", False), ("jitter", 0.1)):
        assert name in DROPPED
        with pytest.raises(ValueError, match=f"{name}={value} is no longer available"):
            settings_from_file({**EARLIER, name: value})


def test_settings_that_files_of_all_versions_have():
    """A setting that is added says what files without it stand for."""
    assert FIELDS.keys() - FIRST == {"objective", "label_sets", "label_weights"}
    absent = {name: FIELDS[name].metadata["absent"] for name in FIELDS.keys() - FIRST}
    assert absent == {"objective": "elbo", "label_sets": None, "label_weights": None}


def test_files_of_later_versions_are_refused():
    with pytest.raises(ValueError, match="the settings magic are unknown: a later version"):
        settings_from_file({**EARLIER, "magic": 1})


def test_a_setting_that_is_absent_has_the_value_that_files_then_stood_for():
    """Formats 5 and 6 had no objective, 7 had no label sets."""
    without = {name: value for name, value in EARLIER.items() if name != "objective"}
    assert settings_from_file(without)["objective"] == "elbo"
    assert settings_from_file(EARLIER)["label_sets"] is None


def test_a_setting_that_was_always_there_is_not_missing():
    with pytest.raises(ValueError, match="the settings steps are missing"):
        settings_from_file({name: value for name, value in EARLIER.items() if name != "steps"})


def test_an_estimator_can_have_other_defaults():
    @takes_settings("method", "steps", first="method", changed={"steps": 3}, about={"steps": "How long."})
    class Toy:
        """A toy.

        {settings}
        """

        def __init__(self, method="nimgp", **settings): ...

    assert vars(Toy("mgp")) == {"method": "mgp", "steps": 3}
    assert "How long. Default: 3." in Toy.__doc__
    assert "{settings}" not in Toy.__doc__
