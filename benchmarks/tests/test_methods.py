"""Methods by name."""

from dataclasses import replace

import pytest

from fermiclass.errors import BenchmarkError
from fermiclass.labelling.recipe import Recipe
from fermiclass.nimgp.estimators.of_papers import join_settings
from fermiclass.nimgp.estimators.robust_classifier import RobustGPClassifier
from fermiclass.nimgp.names import FULL_BATCH, LIKELIHOODS, PAPER_ESTIMATOR
from fermiclass.nimgp.settings import Settings
from fermiclass_benchmarks import methods
from fermiclass_benchmarks.methods import MethodOptions, make_estimator


def made(name, settings=None, **options):
    return make_estimator(name, settings or {}, MethodOptions(**options)).get_params()


@pytest.mark.parametrize(
    "name", ["magic", "default:magic", "classifier:svm", "nimgp:default", "default:", "mgp:mgp", ""]
)
def test_unknown_methods(name):
    with pytest.raises(BenchmarkError, match=rf"the method '{name}' is unknown: choose among mgp, .* \(--methods\)"):
        made(name)


@pytest.mark.parametrize(("name", "robust"), [("rmgpc", True), ("smgpc", False)])
def test_expectation_propagation(name, robust):
    estimator = make_estimator(name, {}, MethodOptions())
    assert isinstance(estimator, RobustGPClassifier)
    assert estimator.get_params() == RobustGPClassifier(robust=robust).get_params()


def test_the_papers_protocol():
    parameters = made("nimgp-fo", {"epochs": 3, "noise": "per-feature"}, paper=True, seed=7)
    expected = {**PAPER_ESTIMATOR, "method": "nimgp-fo", "epochs": 3, "noise": "per-feature", "random_state": 7}
    assert {name: parameters[name] for name in expected} == expected


def test_without_it_only_the_optimiser_differs(monkeypatch):
    monkeypatch.setattr(methods, "FAST_OPTIMISER", {"steps": 17, "epochs": None})
    paper, fast = (made("nimgp", {"epochs": 3, "num_inducing": 8}, paper=paper) for paper in (True, False))
    assert {name for name in paper if paper[name] != fast[name]} == {"steps", "epochs"}
    assert fast["num_inducing"] == 8


BASES = {"default": Recipe().settings, "classifier": Settings(**FULL_BATCH)}


@pytest.mark.parametrize(("name", "base"), BASES.items())
def test_neither_the_default_nor_the_classifier_has_settings_of_the_paper(name, base):
    settings = {"epochs": 3, "noise": "per-feature"}
    assert Settings(**made(name, settings, paper=True)) == base
    assert Settings(**made(f"{name}:nimgp-nn", settings)) == replace(base, method="nimgp-nn")


def test_another_kernel_for_all_of_ours():
    for name in ("nimgp", "default:mgp", "mgp@step"):
        assert made(name, {"kernel": "matern32"}, kernel="se+polynomial")["kernel"] == "se+polynomial"
    assert made("mgp", {"kernel": "matern32"})["kernel"] == "matern32"
    assert "kernel" not in made("logistic", kernel="se")


def test_settings_that_exclude_each_other():
    with pytest.raises(BenchmarkError, match=r"'nimgp@step' cannot be used here: temperature=2"):
        made("nimgp@step", {"temperature": 2.0})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mgp@gauss", "'gauss' of the method 'mgp@gauss' is unknown: choose among softmax, .*, logit-fixed"),
        ("default@softmax-fixed", "'softmax-fixed' of the method 'default@softmax-fixed' is unknown"),
        ("rmgpc@step", "the method 'rmgpc' has no choice of likelihoods: leave out '@step'"),
    ],
)
def test_unknown_likelihoods(name, message):
    with pytest.raises(BenchmarkError, match=message):
        made(name)


@pytest.mark.parametrize("name", ["mgp", "nimgp-fo", "default", "classifier:nimgp-nn"])
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_a_method_with_a_likelihood(name, likelihood):
    """It differs from the method alone in nothing but the likelihood, whose label noise is learned."""
    expected = join_settings(made(name), {"likelihood": likelihood, "hyper": {"epsilon": None}})
    assert made(f"{name}@{likelihood}") == expected


def test_the_authors_start_of_q():
    settings = {"inputs": {"units": "noise", "spread": 0.5}, "noise": "per-feature"}
    expected = join_settings(made("nimgp", settings, paper=True), {"inputs": {"units": "inputs", "spread": 1e-5}})
    assert made("nimgp@authors", settings, paper=True) == expected


@pytest.mark.parametrize("likelihood", ["step", "probit", "logit"])
def test_label_noise_may_be_fixed(likelihood):
    fixed = made(f"default:mgp@{likelihood}-fixed")
    assert fixed == made("default:mgp") | {"likelihood": likelihood, "hyper": {"epsilon": 1e-3}}
    assert made(f"mgp@{likelihood}-fixed", {"hyper": {"epsilon": None}})["hyper"]["epsilon"] == 1e-3


def test_settings_are_joined_within_their_options():
    one = {"steps": 3, "hyper": {"epsilon": 0.1, "white": 0.2}}
    other = {"hyper": {"white": 0.3}, "label_weights": {"a": 1.0}}
    assert join_settings(one, other) == {"steps": 3, "hyper": {"epsilon": 0.1, "white": 0.3}, "label_weights": {"a": 1}}
    assert one["hyper"]["white"] == 0.2
