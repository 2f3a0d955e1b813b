"""Class priors: how label tables state them, and what they do to probabilities."""

import numpy as np
import pytest

from fermiclass import classify, train
from fermiclass.catalog import THREE_CLASSES
from fermiclass.errors import CatalogError, ClassError
from fermiclass.labelling.associations import SelectionPrior
from fermiclass.labelling.class_priors import WAYS, check_class_priors, given_ratios, stated_priors
from fermiclass.labelling.recipe import Recipe
from fermiclass.nimgp.settings import Settings
from tests.conftest import make_up_catalog

CLASSES = ["bll", "fsrq", "psr"]
PI = np.array([0.5, 0.3, 0.2])
GIVEN = {"unassociated": {"bll": 0.25, "fsrq": 0.125, "psr": 0.625}, "bcu": {"bll": 0.5, "fsrq": 0.4, "psr": 0.1}}


@pytest.mark.parametrize("priors", [*WAYS, GIVEN], ids=str)
def test_priors_come_back(priors):
    meta = Recipe(classes="bll,fsrq,psr", class_priors=priors).to_meta()
    assert stated_priors(meta) == (GIVEN if priors is GIVEN else {})
    assert Recipe.from_meta(meta).class_priors == priors


@pytest.mark.parametrize("damaged", ["", "bll", "[1]", '{"bcu": 1}', '{"bcu": {"bll": null}}', '{"bcu": {"bll": true}}',
                                     '{"bcu": {"bll": 1, "bll": 2}}', '{"bcu": {}, "bcu": {}}'])  # fmt: skip
def test_damaged_metadata_are_refused(damaged):
    with pytest.raises(CatalogError, match="class priors"):
        stated_priors({"class_priors": "given", "priors": damaged})


def test_priors_of_groups_are_relative_to_the_training():
    ratios = given_ratios(GIVEN, make_up_catalog(["", "bcu", "unk", ""]).status, CLASSES, PI)
    w = {group: np.array([priors[name] for name in CLASSES]) for group, priors in GIVEN.items()}
    np.testing.assert_allclose(ratios, [w["unassociated"] / PI, w["bcu"] / PI, np.ones(3), w["unassociated"] / PI])
    small = {group: {name: 1e-12 * p for name, p in priors.items()} for group, priors in GIVEN.items()}  # no scale
    np.testing.assert_allclose(given_ratios(small, make_up_catalog(["", "bcu"]).status, CLASSES, PI), ratios[:2])


@pytest.mark.parametrize(
    "groups",
    [{}, {"agn": GIVEN["bcu"]}, {"bcu": {"bll": 1.0}}, {"bcu": GIVEN["bcu"] | {"snr": 0.1}}, {"bcu": {}},
     *({"bcu": GIVEN["bcu"] | {"psr": p}} for p in (0.0, -0.2, np.nan, np.inf, 10**400, "0.2", [0.2], True)),
     {"bcu": "0.5"}, ["bcu"], 0.5],
)  # fmt: skip
def test_priors_that_do_not_fit_are_refused_before_training(groups):
    for way in (None, *WAYS, GIVEN):
        check_class_priors(way, CLASSES)
    with pytest.raises(ClassError, match="class priors"):
        check_class_priors(groups, CLASSES)
    with pytest.raises(ClassError, match="class priors"):
        classify(make_up_catalog(["bcu"]), classes=THREE_CLASSES, class_priors=groups)  # which cannot be learned


def test_labels_for_given_priors(model, few):
    """Probabilities are p_c w_c/π_c, normalised, in the group alone; entropies belong to them."""
    plain, labels = (model.label(few, class_priors=way) for way in ("trained", {"bcu": GIVEN["bcu"]}))
    bcu = np.asarray(labels["STATUS"]) == "bcu"
    P, corrected = (np.stack([table[f"P_{name}"] for name in CLASSES], axis=1) for table in (plain, labels))
    counts = np.array([model.provenance.training_counts[name] for name in CLASSES])
    weighted = P * [GIVEN["bcu"][name] for name in CLASSES] / (counts / counts.sum())
    np.testing.assert_allclose(corrected[bcu], (weighted / weighted.sum(axis=1, keepdims=True))[bcu], atol=1e-5)
    np.testing.assert_array_equal(corrected[~bcu], P[~bcu])
    entropy = -np.sum(corrected * np.log(np.maximum(corrected, 1e-300)), axis=1)
    np.testing.assert_allclose(labels["ENTROPY"], entropy, atol=1e-9)


@pytest.mark.parametrize("classes", ["bll,fsrq", "agn=bll+fsrq,psr", "psr,other"])
@pytest.mark.usefixtures("eagerly")
def test_one_rule_holds_for_all_classes(few, classes):
    """The odds of the selection, which is learned where there are AGN and others; they keep the classes' own odds."""
    model = train(few, settings=Settings(steps=5, num_inducing=10), classes=classes, features="six")
    labels, plain = model.label(few), model.label(few, class_priors="trained")
    assert labels.meta["class_priors"] == "selection"
    assert (model.selection == SelectionPrior()) == (classes == "bll,fsrq")
    one, other = (np.array([table[f"P_{name}"] for name in model.classes], float) for table in (labels, plain))
    odds = (one[0] / one[1]) / (other[0] / other[1])
    factors = model.selection.ratios(few[few.is_target(model.grouping)], model.grouping, model.classes)
    np.testing.assert_allclose(odds, factors[:, 0] / factors[:, 1], rtol=1e-4)
