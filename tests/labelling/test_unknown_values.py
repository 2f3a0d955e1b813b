"""Features that are not known: the average over the population, and what it does to labels."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from fermiclass import CatalogModel, classify, read_sources, train
from fermiclass.catalog import THREE_CLASSES, CatalogWarning
from fermiclass.errors import FeatureError
from fermiclass.labelling.unknown_values import average, below, doubted, find_companions
from fermiclass.nimgp.domain import TrainingDomain
from fermiclass.nimgp.prediction.prediction import Prediction
from fermiclass.nimgp.settings import Settings

SIX = {"classes": THREE_CLASSES, "features": "six"}


@pytest.mark.parametrize("limit", [np.inf, 1.0, -2.0])
def test_companions_are_the_population_given_the_known_features(limit):
    """Mean and variance by quadrature over the kernel estimate and the noise of the known feature, below the limit."""
    W = np.array([[0.5, 0.2], [0.2, 0.3]])
    sources = np.array([[0.0, 0.0], [1.0, 2.0], [-1.0, 1.0], [2.0, -1.0]])
    domain = TrainingDomain(sources, np.full(len(sources), ""), 2 * W, np.empty(0), 1)
    observed, noise = 0.7, 0.4
    grid = np.linspace(-8, 10, 601) - 0.015  # a limit lies between two points
    first, second = np.meshgrid(grid, grid, indexing="ij")
    density = sum(multivariate_normal(x, W).pdf(np.stack([first, second], axis=-1)) for x in sources)
    of_second = np.sum(density * norm(first, np.sqrt(noise)).pdf(observed), axis=0)
    of_second = np.where(grid <= limit, of_second, 0.0) / np.sum(of_second[grid <= limit])
    mean = np.sum(of_second * grid)
    row, unknown = np.array([[observed, 99.0], [noise, 99.0]]), np.array([[False, True]])
    found = find_companions(domain, row[:1], row[1:], unknown, upper=np.array([[-5.0, limit]]))
    X, X_var = found.moments()
    assert X[0] == pytest.approx([observed, mean], abs=5e-4)
    assert X_var[0] == pytest.approx([noise, np.sum(of_second * (grid - mean) ** 2)], abs=1e-4)


@pytest.mark.parametrize("z", [-2000.0, -30.0, -1.0, 0.5, 40.0])
def test_the_part_of_a_gaussian_below_a_limit(z):
    mean, variance = np.array([3.0]), np.array([4.0])
    ln_part, of_part, variance_of_part = below(3.0 + 2.0 * z, mean, variance)
    deepest = 40.0 / max(1.0, -z) + max(z + 10.0, 0.0)
    depth = (np.arange(400_000) + 0.5) / 400_000 * deepest  # below the limit, in units of σ
    weight = np.exp(norm.logpdf(z - depth) - norm.logpdf(min(z, 0.0)))
    x = mean + 2.0 * (z - depth)
    assert ln_part == pytest.approx(norm.logcdf(z))
    assert of_part == pytest.approx(np.average(x, weights=weight), rel=1e-4)
    assert variance_of_part == pytest.approx(np.average((x - of_part) ** 2, weights=weight), rel=1e-2)


def test_the_average_of_predictions():
    """Total probability, and total variance; an unknown feature is noise of the input."""
    P = np.array([[0.9, 0.1], [0.2, 0.8]])
    entropy = -np.sum(P * np.log(P), axis=1)
    found = average(
        np.array([[0.25, 0.75]]), Prediction(P, np.full((2, 2), 0.1), entropy, np.array([0.1, 0.3]), np.zeros(2))
    )
    assert found.probabilities[0] == pytest.approx([0.375, 0.625])
    assert found.std[0] == pytest.approx(np.sqrt(0.25 * 0.81 + 0.75 * 0.04 + 0.01 - 0.375**2) * np.ones(2))
    assert found.information == pytest.approx([0.25])
    assert found.entropy == pytest.approx(found.noise_entropy + [0.25, 0.75] @ entropy)


def test_the_average_over_one_companion_is_its_prediction():
    P = np.array([[0.7, 0.2, 0.1]])
    one = Prediction(P, np.full((1, 3), 0.1), -np.sum(P * np.log(P), axis=1), np.array([0.1]), np.zeros(1))
    found = average(np.ones((1, 1)), one, np.array([[3.0, 1.0, 0.5]]))
    for name in ("probabilities", "std", "entropy", "information", "noise_entropy"):
        assert getattr(found, name) == pytest.approx(getattr(one, name))


def test_factors_are_those_of_the_average(few, model):
    """Of probabilities that are averaged as trained, with unknown values too; factors of 1 change nothing."""
    table = few.table[:60].copy()
    for name in ("LP_Index", "Pivot_Energy", "LP_SigCurv"):
        table[name] = np.where(np.arange(60) % 2, np.nan, table[name])
    features = model.features_of(type(few)(table, few.release, few.source, few.sha256))
    assert features.imputed_value.any(axis=1).sum() >= 30
    ratios = np.random.default_rng(0).lognormal(0.0, 1.5, (60, len(model.classes)))
    as_trained = model.predict(features).probabilities
    expected = as_trained * ratios
    expected /= expected.sum(axis=1, keepdims=True)
    assert model.predict(features, ratios=ratios).probabilities == pytest.approx(expected, abs=2e-6)
    same = model.predict(features, ratios=np.ones_like(ratios)).probabilities
    assert same == pytest.approx(as_trained, abs=1e-6)


def test_what_is_in_doubt_is_not_confident():
    prediction = Prediction(np.array([[0.99, 0.01], [0.99, 0.01]]), np.zeros((2, 2)), *np.zeros((3, 2)))
    found = doubted(prediction, np.array([False, True]), np.array([0.6, 0.4]))
    np.testing.assert_allclose(found.probabilities, [[0.99, 0.01], [0.795, 0.205]])
    assert found.entropy[1] > found.entropy[0]


def test_unknown_values_widen_the_label_of_their_source_only(few, model):
    known = model.label(few, "all")
    table = few.table.copy()
    for name in ("LP_Index", "Pivot_Energy", "LP_SigCurv"):
        table[name] = np.where(np.arange(len(few)) % 2, np.nan, table[name])
    made = model.label(type(few)(table, few.release, few.source, few.sha256), "all")
    gone = np.arange(len(few)) % 2 == 1
    assert np.all(np.asarray(made["LABEL_FLAGS"])[gone] & 2)
    np.testing.assert_allclose(made["P_bll"][~gone], known["P_bll"][~gone], atol=1e-5)
    assert np.mean(made["ENTROPY"][gone]) > np.mean(known["ENTROPY"][gone]) + 0.05
    P = np.stack([np.asarray(made[f"P_{name}"]) for name in model.classes])
    np.testing.assert_allclose(P.sum(axis=0), 1.0, atol=1e-6)
    assert np.all(made["NOISE_ENTROPY"] >= 0)


def row_of(catalog, k, *names):
    return {name: catalog.table[name][k] for name in ("Source_Name", "RAJ2000", "DEJ2000", *names)}


@pytest.mark.usefixtures("eagerly")
def test_sources_that_lack_a_feature(few):
    """It is left out where the model is trained for them, and averaged over with a model that has it."""
    some = read_sources([row_of(few, k, "Flux1000", "Unc_Flux1000", "Pivot_Energy", "Signif_Avg") for k in range(9)])
    settings = Settings(steps=20, num_inducing=10)
    labels = classify(some, settings=settings, train_on=few, **SIX)
    assert labels.meta["features"] == "ln_Flux1000,ln_Signif_Avg,ln_Pivot_Energy"
    assert labels.meta["leftout"] == "LP_Index,LP_beta,asinh_LP_SigCurv"
    assert not np.any(np.asarray(labels["LABEL_FLAGS"]) & 2)
    with pytest.raises(FeatureError, match="none of the features"):
        classify(some, settings=settings, train_on=few, classes=THREE_CLASSES, features="LP_beta")


@pytest.mark.usefixtures("eagerly")
def test_a_model_averages_over_columns_that_are_not_there(few, model):
    assert isinstance(model, CatalogModel)
    names = ("Flux1000", "Unc_Flux1000", "Pivot_Energy", "LP_Index", "LP_beta", "PL_Index")
    some = read_sources([row_of(few, k, *names) for k in range(5)])
    labels = model.label(some)
    assert np.all(np.asarray(labels["LABEL_FLAGS"]) & 2)
    extended = train(few, settings=Settings(steps=5, num_inducing=10), classes=THREE_CLASSES, features="six,HR_12")
    with pytest.warns(CatalogWarning, match="lacks features of the model: HR_12"):
        extended.label(some)


def test_an_implausible_source_is_flagged_and_in_doubt(few, model):
    names = ("Flux1000", "Unc_Flux1000", "Pivot_Energy", "LP_Index", "LP_beta", "Signif_Avg", "LP_SigCurv")
    rows = [row_of(few, k, *names) for k in range(30)]
    rows = [row | {name: 1e9 * row[name] for name in ("Flux1000", "Unc_Flux1000")} for row in rows]
    with pytest.warns(CatalogWarning, match="implausible"):
        labels = model.label(read_sources(rows))
    assert np.all(np.asarray(labels["LABEL_FLAGS"]) & 16)
    assert np.max(labels["P_MAX"]) < 0.9
