"""Every setting: what it accepts, and that files and estimators have the same."""

import json

import numpy as np
import pytest

from fermiclass import NIMGPClassifier, NIMGPRegressor
from fermiclass.nimgp.names import INPUT_PRIORS, KERNELS, LIKELIHOODS, METHODS, NOISES
from fermiclass.nimgp.settings import HyperOptions, Settings

NO_NUMBER = (0, -0.1, float("nan"), float("inf"), "a", True)
NOT_WHOLE = (0, -1, 2.5, "3", True)
REFUSED = {
    **dict.fromkeys(("steps", "num_draws"), (*NOT_WHOLE, None, (1 << 20) + 0.5)),
    **dict.fromkeys(("batch_size", "epochs"), NOT_WHOLE),
    **dict.fromkeys(("learning_rate", "temperature"), (*NO_NUMBER, None)),
    "num_inducing": (*NO_NUMBER, None, 60.0),
    "label_noise": (1.0, -0.1, None, "some"),
    "method": ("gp", None),
    "likelihood": ("gauss", 3),
    "verbose": (-1, 0.5, "yes", None),
    "kernel": ("se+rbf", "", "se+", 5),
    "objective": ("loss",),
    "noise": ("some", ["given"]),
    "label_sets": ("bcu=a+b", {"bcu": "ab"}, {"bcu": ()}, {"bcu": ("a", "a")}, {3: ("a", "b")}),
    "label_weights": (2.0, {"bcu": 0}, {"bcu": float("nan")}, {"bcu": "a"}),
    "inputs": ("population", {"clips": 3.0}),
    "hyper": (3, {"epsilons": 1}),
    "training": ({"steps": 3},),
}
REFUSED_OPTIONS = {
    "inputs": {
        "prior": ("flat",),
        "prior_variance": NO_NUMBER,
        "components": NOT_WHOLE,
        "clip": NO_NUMBER,
        "spread": NO_NUMBER,
        "hidden": (50, (), (0,), (3.5,), (10_001,), (1,) * 101),
    },
    "hyper": {
        **dict.fromkeys(("lengthscale", "variance", "white", "noise"), NO_NUMBER),
        "epsilon": (*NO_NUMBER, 1),
        "degree": (*NOT_WHOLE, 101),
        "priors": (1, "yes", None),
    },
    "training": {"inducing": ("grid",), "decay": (1,), "natural_gradient": (0.0, 1.5), "precision": ("float16",)},
}


@pytest.mark.parametrize(("name", "values"), REFUSED.items(), ids=REFUSED)
def test_values_that_are_refused(name, values):
    for value in values:
        with pytest.raises(ValueError, match=f"^{name}"):
            Settings(**{name: value})


@pytest.mark.parametrize(("group", "options"), REFUSED_OPTIONS.items(), ids=REFUSED_OPTIONS)
def test_options_that_are_refused(group, options):
    for name, values in options.items():
        for value in values:
            with pytest.raises(ValueError, match=f"^{name}="):
                Settings(**{group: {name: value}})


def test_settings_that_do_not_fit_each_other():
    with pytest.raises(ValueError, match=r"temperature=.* the step likelihood has no scale"):
        Settings(likelihood="step", temperature=2.0)


def test_estimators_check_when_they_are_fitted():
    for estimator in (NIMGPClassifier(steps=0), NIMGPRegressor(steps=0)):
        with pytest.raises(ValueError, match="steps=0 is not valid"):
            estimator.fit([[0.0], [1.0]], [0, 1])


ACCEPTED = [
    {"num_inducing": 0.05, "batch_size": 1, "epochs": 1},
    {"steps": np.int64(3), "learning_rate": np.float32(0.1), "num_inducing": np.int32(5), "num_draws": 1},
    {"inputs": {"clip": None, "prior_variance": None}, "hyper": HyperOptions(epsilon=1e-3)},
    {"training": {"decay": np.False_}},
    {"likelihood": "step", "temperature": 1},
    {"likelihood": "probit", "temperature": 2},
    {"label_sets": {"bcu": ("bll", "fsrq")}, "label_weights": {"bcu": 0.5}},
    {"label_noise": 0.1, "likelihood": "step"},
    *({"method": name} for name in METHODS),
    *({"likelihood": name} for name in LIKELIHOODS),
    *({"kernel": name} for name in (*KERNELS, "se+linear", "matern32+polynomial")),
    *({"noise": name} for name in NOISES),
    *({"inputs": {"prior": name}} for name in INPUT_PRIORS),
]


@pytest.mark.parametrize("settings", ACCEPTED, ids=str)
def test_files_hold_all_that_is_accepted(settings):
    made = Settings(**settings)
    assert {name: getattr(made, name) for name in settings if name not in REFUSED_OPTIONS} == {
        name: value for name, value in settings.items() if name not in REFUSED_OPTIONS
    }
    back = Settings.from_json(json.loads(json.dumps(made.to_json())))
    assert back == made
    assert Settings(**back.params()) == made


def test_the_classifier_takes_all_of_them_and_they_are_few():
    parameters = NIMGPClassifier().get_params()
    assert parameters == {**Settings().params(), "verbose": 0}
    assert len(parameters) <= 20


def test_what_json_cannot_hold_is_refused():
    settings = Settings(random_state=np.random.RandomState(0))
    with pytest.raises(TypeError, match="RandomState"):
        settings.to_json()
    assert "RandomState" in settings.to_json(objects=repr)["random_state"]


def test_files_with_other_settings_are_refused():
    content = Settings().to_json()
    with pytest.raises(ValueError, match="magic"):
        Settings.from_json(content | {"magic": 1})
    del content["steps"]
    with pytest.raises(ValueError, match="steps"):
        Settings.from_json(content)
