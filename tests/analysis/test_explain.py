"""What an explanation says, against other ways to compute it."""

import dataclasses
import re

import numpy as np
import pytest

from fermiclass import Catalog, Recipe, explain, extract_features, read_catalog, retrain, train
from fermiclass.analysis.explain import PERCENTILES, feature_kinds, measured
from fermiclass.catalog import THREE_CLASSES
from fermiclass.catalog.releases import CatalogWarning
from fermiclass.errors import CatalogError, ClassError, SourceError
from fermiclass.features.definitions import FEATURES, SIX_FEATURES
from fermiclass.labelling.labels import Labels
from fermiclass.nimgp.inputs.prior import InputPrior
from fermiclass.nimgp.settings import Settings
from fermiclass.show.explanation import print_explanation
from tests.commands import printed_by
from tests.conftest import slim_path
from tests.plots.pictures import explanation as made_up_explanation

TINY = Settings(steps=40, num_inducing=15)
AS_TRAINED = {"class_priors": "trained", "evidence": "none"}


@pytest.fixture(scope="module")
def name(few):
    """An unassociated source."""
    return few.names[few.classes == ""][3]


@pytest.fixture(scope="module")
def explained(model, few, name):
    """With the model's own probabilities."""
    return explain(model, few, name, **AS_TRAINED)


@pytest.fixture(scope="module")
def open_world(few):
    """A model of the default classes."""
    return train(few, recipe=Recipe().with_settings(steps=40, num_inducing=15), features="six,asinh_GLAT")


def features_of(model, catalog):
    return extract_features(catalog, model.features, model.grouping, imputation=model.imputation)


def test_it_is_the_label(explained, model, few, name):
    label = model.label(few[few.names == name], "all", **AS_TRAINED)[0]
    assert explained.name == name
    for c, each in enumerate(explained.classes):
        assert explained.probabilities[c] == label[f"P_{each}"] == explained.label[f"P_{each}"]
    assert explained.label["LABEL_FLAGS"] == label["LABEL_FLAGS"]


def test_features_and_percentiles(explained, model, few, name):
    table = features_of(model, few)
    row = int(np.flatnonzero(table.names == name)[0])
    np.testing.assert_array_equal(explained.value, table.X[row])
    np.testing.assert_allclose(explained.error**2, table.X_var[row])
    pulsars = table.X[table.y == "psr"]
    c = explained.classes.index("psr")
    np.testing.assert_allclose(explained.population[c], np.percentile(pulsars, PERCENTILES, axis=0))


@pytest.fixture
def unmeasured(explained, model, few):
    """Mean and variance of some features as p(x | x̃) with errors of theirs without bounds, of another module."""
    table = features_of(model, few)
    table = table[table.labelled]
    centre, scale = model.estimator.mean_, model.estimator.scale_
    population = InputPrior.population((table.X - centre) / scale, table.X_var / scale**2, iterations=30)

    def moments(features):
        x, V = (explained.value - centre) / scale, (explained.error / scale) ** 2
        V[features] = 1e9
        given = population.condition(x[None], V[None])
        x[features] = given.mean[0, 0, features]
        V[features] = np.diag(given.factor[0, 0] @ given.factor[0, 0].T)[features]
        return x * scale + centre, V * scale**2

    return moments


def test_expectations_are_those_of_a_source_with_one_feature_unmeasured(explained, unmeasured, model):
    for j in range(len(explained.value)):
        x, V = unmeasured([j])
        assert explained.expected[j] == pytest.approx(x[j], abs=1e-5 * model.estimator.scale_[j])
        assert explained.expected_error[j] ** 2 == pytest.approx(V[j], rel=1e-5)


def test_effects_are_differences_of_predictions(explained, model):
    def predict(x, x_var):
        return model.estimator.predict_proba(x[None], X_var=x_var[None])[0]

    variance = explained.error**2
    for j in range(6):
        x, x_var = explained.value.copy(), variance.copy()
        x[j], x_var[j] = explained.expected[j], explained.expected_error[j] ** 2
        np.testing.assert_allclose(explained.without_feature[j], predict(x, x_var), atol=1e-6)
    np.testing.assert_allclose(explained.without_errors, predict(explained.value, np.zeros(6)), atol=1e-6)
    p, q = explained.probabilities, explained.without_feature
    assert explained.names == ("bll", "fsrq", "psr", "agn")  # the log-odds of AGN are minus those of pulsars
    expected = np.log(p / (1 - p)) - np.log(q / (1 - q))
    np.testing.assert_allclose(explained.log_odds, np.column_stack([expected, -expected[:, 2]]), atol=1e-9)
    sizes = np.abs(explained.log_odds[:, [np.argmax(p), -1]]).max(axis=1)
    assert np.all(np.diff(sizes[explained.order]) <= 0)
    assert sizes.max() > 0.02


def test_all_features_of_one_kind_are_replaced_together(explained, unmeasured, model):
    """By their expectation from all others."""
    assert model.features == tuple(feature.name for feature in SIX_FEATURES)
    assert feature_kinds(model.features) == {"brightness": [0, 1], "spectral shape": [2, 3, 4, 5]}
    for kind, members in feature_kinds(model.features).items():
        x, V = unmeasured(members)
        p = model.estimator.predict_proba(x[None], X_var=V[None])[0]
        np.testing.assert_allclose(explained.without_kind[kind], p, atol=1e-4)
        np.testing.assert_allclose(
            explained.kinds[kind][:3],
            np.log(explained.probabilities / p * (1 - p) / (1 - explained.probabilities)),
            atol=1e-3,
        )


def test_kinds_of_features():
    names = ("ln_Variability_Index", "HR_12", "ln_Npred", "my_own", "asinh_GLAT", "Frac_Variability")
    kinds = {"variability": [0, 5], "spectral shape": [1], "brightness": [2], "my_own": [3], "position": [4]}
    assert feature_kinds(names) == kinds
    all_kinds = {"brightness", "spectral shape", "variability", "position", "gas clump"}
    assert set(feature_kinds(tuple(FEATURES))) == all_kinds


def test_a_class_of_the_catalogue_that_the_model_doubts():
    doubtful = dataclasses.replace(made_up_explanation(), known="psr", trained_on=True)
    assert "The catalogue has it as psr, to which the model gives 0.100." in printed_by(
        print_explanation, doubtful, width=200
    )
    assert "The catalogue has it" not in printed_by(
        print_explanation, dataclasses.replace(made_up_explanation(), known="bll")
    )


def test_rounding_does_not_make_log_odds_infinite():
    certain = dataclasses.replace(made_up_explanation(), probabilities=np.array([1.0, 0.0, 0.0]))
    assert np.all(np.isfinite(certain.log_odds))


def test_what_another_feature_says_too_moves_nothing(few):
    """A feature that is there twice has no effect, there once it has."""
    table = few.table.copy()
    table["copy"] = table["LP_Index"]
    table["LP_Index_"] = table["LP_Index"]
    catalog = Catalog(table, few.release, few.source, few.sha256)
    steepest = np.argmax(np.where(few.classes == "", few.table["LP_Index"], 0.0))
    source = few.names[steepest]
    effects = {}
    for features in ("LP_Index_,LP_beta,ln_Variability_Index", "LP_Index_,LP_beta,ln_Variability_Index,copy"):
        found = explain(train(catalog, settings=TINY, features=features, classes=THREE_CLASSES), catalog, source)
        effects[len(found.features)] = np.abs(found.probabilities - found.without_feature[0]).max()
    assert effects[4] < 0.01
    assert effects[3] > 0.05


def test_neighbours(explained, model, few, name):
    table = features_of(model, few)
    training = table[table.labelled]
    row = int(np.flatnonzero(table.names == name)[0])
    inverse = np.linalg.inv(model.domain.covariance + np.diag(table.X_var[row]))
    offset = training.X - table.X[row]
    distance = np.sqrt(np.einsum("nd,de,ne->n", offset, inverse, offset))
    nearest = np.argsort(distance)[:5]
    assert list(explained.neighbours["Source_Name"]) == list(training.names[nearest])
    assert list(explained.neighbours["CLASS"]) == list(training.y[nearest])
    np.testing.assert_allclose(explained.neighbours["DISTANCE"], distance[nearest])
    known = dict(zip(few.names, few.table["ASSOC1"], strict=True))
    assert list(explained.neighbours["ASSOC1"]) == [known[each] for each in training.names[nearest]]
    assert not explained.trained_on


def test_a_training_source_is_none_of_its_neighbours(model, few):
    source = few.names[few.classes == "bll"][0]
    found = explain(model, few, source)
    assert found.trained_on
    assert len(found.neighbours) == 5
    assert source not in found.neighbours["Source_Name"]


def test_class_priors(model, few, name, explained):
    priors = {"unassociated": {"bll": 0.1, "fsrq": 0.1, "psr": 0.8}}
    given = explain(model, few, name, class_priors=priors)
    row = model.label(few, "unassociated", class_priors=priors)
    row = row[row["Source_Name"] == name][0]
    for c, each in enumerate(given.classes):
        assert given.probabilities[c] == row[f"P_{each}"]
    assert not np.allclose(given.probabilities, explained.probabilities, atol=1e-3)
    with pytest.raises(ClassError, match="guessed"):
        explain(model, few, name, class_priors="guessed")


@pytest.mark.filterwarnings("ignore:.*years of data")
def test_a_source_of_another_release(model, few):
    dr1 = read_catalog(slim_path("4FGL-DR1"))
    with pytest.warns(CatalogWarning, match="4FGL-DR1 fits LP_beta with no prior"):
        found = explain(model, dr1, "Mkn 421", train_on=few)
    assert found.name == "4FGL J1104.4+3812"
    assert found.classes[np.argmax(found.probabilities)] == "bll"
    with pytest.raises(CatalogError, match=r"4FGL-DR1.* but the model was made with 4FGL-DR4\.fits\.gz"):
        explain(model, dr1, "Mkn 421")
    with pytest.raises(SourceError, match=r"'Mkn 4211'.*Mkn 421"):
        explain(model, dr1, "Mkn 4211", train_on=few)


@pytest.mark.usefixtures("eagerly")
def test_two_classes_and_other_likelihoods(few, name):
    settings = Settings(method="mgp", likelihood="probit", steps=5, num_inducing=5)
    found = explain(train(few, settings=settings, features="LP_Index,LP_beta", classes="agn=bll+fsrq,psr"), few, name)
    assert found.without_feature.shape == (2, 2)
    np.testing.assert_allclose(found.probabilities, found.without_errors)  # MGP knows no error bars


def test_the_model_of_a_label_table_of_the_open_world(open_world, few):
    """Label sets and weights come back, and what the selection does is estimated again."""
    model = open_world
    labels = model.label(few, class_priors="selection")
    again = retrain(labels, few)
    assert again.estimator.get_params() == model.estimator.get_params()
    assert again.recipe == dataclasses.replace(model.recipe, class_priors=again.recipe.class_priors)
    assert again.selection == model.selection
    assert again.grouping == model.grouping
    assert Labels(labels).recipe.class_priors == "selection"
    np.testing.assert_array_equal(again.label(few, class_priors="selection")["P_other"], labels["P_other"])
    found = explain(model, few, str(labels["Source_Name"][0]), class_priors="selection")
    np.testing.assert_allclose(found.probabilities[found.classes.index("other")], labels["P_other"][0], atol=1e-6)


def test_a_source_with_an_unknown_value_is_explained_as_it_is_labelled(open_world, few):
    """Its probabilities average over the unknown value; the known ones keep their errors."""
    table = few.table.copy()
    row = int(np.flatnonzero(few.classes == "")[3])
    table["LP_beta"][row] = table["Unc_LP_beta"][row] = np.nan
    catalog = Catalog(table, few.release, few.source, few.sha256)
    found = explain(open_world, catalog, str(catalog.names[row]), train_on=few)
    label = open_world.label(catalog[[row]])[0]
    assert list(found.probabilities) == [label[f"P_{each}"] for each in found.classes]
    known = [name for name in found.features if name != "LP_beta"]
    errors = extract_features(catalog[[row]], ",".join(known), imputation=None).X_var[0]
    np.testing.assert_allclose(found.error[[found.features.index(name) for name in known]] ** 2, errors)
    assert found.imputed_value[found.features.index("LP_beta")]


def test_labels_that_do_not_say_how_they_were_made(model, few):
    labels = model.label(few[:20])
    other = few[:100]
    with pytest.raises(CatalogError, match=r"4FGL-DR4\.fits\.gz has SHA-256 1234, but the model of .* was made with"):
        retrain(labels, Catalog(other.table, other.release, other.source, "1234"))
    labels.meta["method"] = "magic"
    with pytest.raises(CatalogError, match=r"the settings in 'l\.fits' cannot be used: method='magic' is not valid"):
        retrain(labels, few, source="l.fits")
    del labels.meta["steps"], labels.meta["trainsha"]
    with pytest.raises(CatalogError, match=r"'l\.csv' does not say how .* lacks steps\. Give a table that"):
        _ = Labels(labels, "l.csv").recipe
    with pytest.raises(CatalogError, match=r"it is a catalogue\. Label it first"):
        Labels(few.table, "c.fits")
    with pytest.raises(CatalogError, match="it is not a label table"):
        Labels(few.table[["GLON", "GLAT"]])


@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [
        (2.13456, 0.2049, "2.13±0.20"),
        (-0.3456, 0.07, "−0.35±0.07"),
        (-22.6342, 0.0, "−22.63"),
        (0.4, float("nan"), "0.4"),
        (1234.5, 31.0, "1234±31"),
        (1234.5, 56.0, "1234±56"),
        (-19.28151, 0.0026, "−19.282±0.003"),
        (3.21e-9, 4.4e-10, "3.21e−09±4e−10"),
    ],
)
def test_measured(value, error, expected):
    assert measured(value, error) == expected


def test_text():
    text = printed_by(print_explanation, made_up_explanation())
    assert max(map(len, text.splitlines())) <= 80
    for expected in (
        r"^4FGL J0000\.0\+0000: bcu, PKS 0000\+00; l = 12\.50°, b = −3\.25°; 7\.5 σ$",
        r"^ bll +0\.600 +0\.700 *$",
        r"^ LP_beta +\S+±0\.3\* +\S+ +−1\.79 +████│ +−0\.75 +\+2\.10 *$",
        r"^ LP_Index +\S+ +\S+ +\+0\.41 +│█ +\+0\.00 +−0\.44 *$",
        r"^ spectral shape +\+1\.25 +│████ +\+1\.79 +\+0\.00 *$",
        r"^ brightness +−0\.21 +▐│ +\+0\.00 +\+0\.25 *$",
        r"^ 4FGL J1 +bll +BL Lac +1\.25 *$",
        r"^Entropy 0\.898 nats \(maximum 1\.099\)\. More labels could remove 0\.050",
        r"^OOD_SCORE 0\.250: 250 of 1000 training sources are more typical\.$",
        r"^LASTS 0\.85: the probability that a later list has the source\.$",
        r"^Flags: an uncertainty was imputed \(LP_beta\); the catalogue flags the source\s+\(Flags = 3\)\.$",
    ):
        assert re.search(expected, text, re.MULTILINE), expected
    assert text.index("LP_beta") < text.index("LP_Index") < text.index("HR_45")  # by what they move
    assert "is a training source" not in text
    assert "is a training source" in printed_by(
        print_explanation, dataclasses.replace(made_up_explanation(), trained_on=True)
    )
