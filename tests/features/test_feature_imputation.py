"""The policy for what is missing: rules, limits, and that neither row order nor batch matters."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from fermiclass.errors import FeatureError
from fermiclass.features import Imputation, inputs
from fermiclass.features.inputs import REACH

Reading = partial(inputs.Reading, upper=np.nan)


def made_up(n=400, seed=0):
    """Values whose ln σ is -1 - 0.8 ln S + 1.5 x with a little scatter."""
    rng = np.random.default_rng(seed)
    significance = 4.0 * np.exp(rng.exponential(1.0, n))
    x = rng.normal(0.2, 0.3, n)
    sigma = np.exp(-1.0 - 0.8 * np.log(significance) + 1.5 * x + rng.normal(0, 0.1, n))
    return Reading(x, sigma, True), significance


def fit(reading, significance):
    return Imputation.fit(["x"], [reading], significance, catalog="made up", reaches=[REACH])


def test_unknown_uncertainties_are_imputed():
    reading, significance = made_up()
    reading.sigma[:3] = [np.nan, np.inf, 0.0]
    reading.sigma[3] = -1.0
    result = fit(reading, significance).apply(["x"], [reading], significance)
    expected = np.exp(-1.0 - 0.8 * np.log(significance) + 1.5 * reading.value)
    np.testing.assert_allclose(np.sqrt(result.X_var[:4, 0]), expected[:4], rtol=0.1)
    assert result.imputed_uncertainty[:, 0].nonzero()[0].tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(result.X_var[4:, 0], reading.sigma[4:] ** 2)
    assert not result.imputed_value.any()


def test_absurdly_small_uncertainties_are_unknown_large_ones_are_not():
    reading, significance = made_up()
    reading.sigma[0] *= 0.01
    reading.sigma[1] *= 30.0
    # Those of the brightest are left alone: ln σ = -1 - 0.8 ln S + 1.5 x is 0.005 here, of a spread of 0.3.
    significance[2], reading.value[2], reading.sigma[2] = 300.0, 0.2, 1e-4
    result = fit(reading, significance).apply(["x"], [reading], significance)
    assert result.imputed_uncertainty[:4, 0].tolist() == [True, False, False, False]
    assert result.X_var[2, 0] == 1e-4**2


def test_a_value_that_most_have_does_not_mean_unknown():
    """One source of 500 has a bit. Unknown bits have the mean, which no source has; its variance is that of a draw."""
    bit = np.eye(500)[7]
    bit[3] = np.nan
    reading, significance = Reading(bit, np.zeros(500), False), np.ones(500)
    fitted = Imputation.fit(["x"], [reading], significance, catalog="made up", reaches=[inputs.ANY])
    result = fitted.apply(["x"], [reading], significance)
    assert result.imputed_value[:, 0].nonzero()[0].tolist() == [3]
    assert (result.X[7, 0], result.X[3, 0], *fitted.medians) == (1.0, 1 / 499, 1 / 499)
    assert result.X_var[3, 0] == pytest.approx(1 / 499 * 498 / 499)


def test_least_squares_agrees_with_numpy():
    reading, significance = made_up(100)
    (feature,) = fit(reading, significance).features
    A = np.column_stack([np.ones(100), np.log(significance), reading.value])
    expected = np.linalg.lstsq(A, np.log(reading.sigma), rcond=None)[0]
    found = [feature.intercept, feature.significance_slope, feature.value_slope]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_imputed_uncertainty_stays_in_the_known_range():
    reading, significance = made_up()
    imputation = fit(reading, significance)
    extreme = Reading(np.array([-50.0, 50.0]), np.full(2, np.nan), True)
    sigma = np.sqrt(imputation.apply(["x"], [extreme], np.array([10.0, 10.0])).X_var[:, 0])
    np.testing.assert_allclose(sigma, np.percentile(reading.sigma, [1, 99]), rtol=0.02)


def test_missing_value_is_one_of_the_population():
    reading, significance = made_up()
    imputation = fit(reading, significance)
    reading.value[:3] = [np.nan, np.inf, -np.inf]
    X, X_var, unc, val = imputation.apply(["x"], [reading], significance)
    assert np.isfinite(X).all()
    np.testing.assert_allclose(X[:3, 0], 0.2, atol=0.05)
    np.testing.assert_allclose(np.sqrt(X_var[:3, 0]), 0.3, atol=0.05)
    assert val[:, 0].nonzero()[0].tolist() == [0, 1, 2]
    assert not unc.any()


@pytest.mark.parametrize("bad", [np.nan, 0.0, -1.0, np.inf])
def test_unknown_significance_is_the_median(bad):
    reading, significance = made_up(401)
    imputation = fit(reading, significance)
    unknown = Reading(np.array([0.2]), np.array([np.nan]), True)
    with_bad = imputation.apply(["x"], [unknown], np.array([bad]))
    with_median = imputation.apply(["x"], [unknown], np.array([np.median(significance)]))
    np.testing.assert_allclose(with_bad.X_var, with_median.X_var, rtol=1e-12)


def test_without_uncertainty_column_variance_is_zero_unless_the_value_is_missing():
    reading, significance = made_up()
    exact = Reading(reading.value, np.zeros_like(reading.value), False)
    exact.value[0] = np.nan
    result = fit(exact, significance).apply(["x"], [exact], significance)
    assert result.X_var[0, 0] > 0.05
    assert not result.X_var[1:].any()
    assert not result.imputed_uncertainty.any()
    imputed = fit(reading, significance).apply(["x"], [exact], significance)  # by a catalogue with the column
    assert imputed.imputed_uncertainty[1:].all()
    assert (imputed.X_var > 0.0).all()


def test_few_known_uncertainties_give_their_median():
    reading, significance = made_up(60)
    reading.sigma[5:] = np.nan
    (feature,) = fit(reading, significance).features
    assert (feature.significance_slope, feature.value_slope, feature.n_known) == (0.0, 0.0, 5)
    np.testing.assert_allclose(feature.intercept, np.median(np.log(reading.sigma[:5])))
    reading.sigma[:] = np.nan  # without any, that of the population
    result = fit(reading, significance).apply(["x"], [reading], significance)
    np.testing.assert_allclose(np.sqrt(result.X_var), 0.3, atol=0.1)


def test_no_value_at_all():
    nothing = Reading(np.full(3, np.nan), np.full(3, np.nan), True)
    result = fit(nothing, np.full(3, np.nan)).apply(["x"], [nothing], np.full(3, np.nan))
    np.testing.assert_array_equal(result.X, 0.0)
    np.testing.assert_array_equal(result.X_var, 1.0)


@pytest.mark.parametrize("constant", ["value", "significance", "both"])
def test_constant_columns_have_no_slope(constant):
    reading, significance = made_up()
    if constant != "significance":
        reading.value[:] = 0.3
    if constant != "value":
        significance[:] = 7.0
    result = fit(reading, significance)
    (feature,) = result.features
    assert feature.value_slope == 0.0 or constant == "significance"
    assert np.isfinite(result.apply(["x"], [reading], significance).X_var).all()


def test_order_of_rows_does_not_change_a_bit():
    reading, significance = made_up(1001)
    reading.sigma[::7] = np.nan
    order = np.random.default_rng(3).permutation(1001)
    shuffled = Reading(reading.value[order], reading.sigma[order], True)
    assert fit(reading, significance) == fit(shuffled, significance[order])


def test_other_features_are_refused():
    reading, significance = made_up()
    with pytest.raises(FeatureError, match=r"fitted for the features x, but the features here are y.*same order"):
        fit(reading, significance).apply(["y"], [reading], significance)
