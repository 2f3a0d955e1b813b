"""The fixed point of expectation propagation."""

import numpy as np
import pytest

from fermiclass.nimgp.ep.evidence import log_evidence
from fermiclass.nimgp.ep.factors import LabelNoise
from fermiclass.nimgp.ep.inference import Rules, find_fixed_point, match

from .conftest import TIGHT, make_data, make_model


def same(one, other, atol=1e-7):
    for name in ("mean", "var", "log_odds"):
        np.testing.assert_allclose(getattr(one.posterior, name), getattr(other.posterior, name), atol=atol)


def test_every_factor_is_matched(solved):
    """What the moments of a factor with its cavity ask for is what there is."""
    _, _, model, found = solved
    assert found.converged
    matches = match(model, found.sites, found.posterior)
    assert matches.exists.all()
    for asked, there in zip(matches.sites(found.sites), found.sites, strict=True):
        np.testing.assert_allclose(asked, there, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.posterior.weights.sum(axis=0), 0.0, atol=1e-7)


def test_it_goes_on_from_where_it_ended(solved):
    _, _, model, found = solved
    again = find_fixed_point(model, start=found.sites, rules=TIGHT)
    assert again.rounds < 5
    same(again, found)


def test_negative_precisions_are_survived():
    """Labels wrong far from every boundary."""
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(m, 0.3, (12, 2)) for m in (-2.0, 0.0, 2.0)])
    y = np.repeat([0, 1, 2], 12)
    y[[0, 14, 30]] = 2, 2, 0
    _, model = make_model(X, y, LabelNoise(), gamma=10.0)
    found = find_fixed_point(model)
    assert found.converged
    assert found.posterior.precision.min() < -1.0
    assert found.posterior.var.min() > 0
    assert set(np.argsort(-found.posterior.log_odds)[:3]) == {0, 14, 30}
    assert np.isfinite(log_evidence(model, found))


def test_a_start_that_is_no_gaussian_here_is_left_aside(solved):
    _, _, model, found = solved
    bad = found.sites._replace(precision=found.sites.precision - 100.0)
    same(find_fixed_point(model, start=bad, rules=TIGHT), found)


def test_no_wrong_labels_is_the_limit_of_few():
    X, y = make_data(num_wrong=0)
    _, few = make_model(X, y, LabelNoise(1.0, 1e7))
    _, none = make_model(X, y, None)
    one, other = (find_fixed_point(model, rules=Rules(tolerance=1e-9, max_rounds=3000)) for model in (few, none))
    np.testing.assert_allclose(one.posterior.mean, other.posterior.mean, atol=1e-4)
    np.testing.assert_allclose(one.posterior.var, other.posterior.var, atol=1e-4)
    assert log_evidence(few, one) == pytest.approx(log_evidence(none, other), abs=1e-4)
    assert one.posterior.rate < 1e-6
    assert other.posterior.rate == 0.0
