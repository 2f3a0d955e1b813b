"""Moments of one factor, against quadrature."""

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import expit

from fermiclass.nimgp.ep.factors import match_label, match_rate

# Means and variances of f_k and f_y, P(z = 1), C: right by far, wrong by far, undecided, and one almost known.
CASES = [
    (-1.0, 0.5, 1.5, 0.8, 0.1, 3),
    (2.0, 0.5, -1.5, 1.3, 0.3, 3),
    (0.3, 2.0, 0.2, 0.1, 0.5, 2),
    (0.5, 1.0, -0.5, 1e-4, 0.02, 6),
    (1.0, 0.7, 0.4, 0.9, 0.0, 4),
]


def tilted(mean, var, own_mean, own_var, p, num_classes):
    """Z, means and variances of f_k and f_y, and P(z = 1), by integrals over f_k of what is known of f_y given it."""
    c = num_classes ** (-1 / (num_classes - 1))
    sd, own = np.sqrt(var), np.sqrt(own_var)

    def integral(of):
        def integrand(f):
            t = (f - own_mean) / own
            above, density = stats.norm.sf(t), stats.norm.pdf(t)
            # ∫_f^∞ N(g | m, s²) (1, g, g²) dg
            moments = above, own_mean * above + own * density, 0.0
            moments = *moments[:2], (own_mean**2 + own_var) * above + own * (own_mean + f) * density
            whole = 1.0, own_mean, own_mean**2 + own_var
            both = [(1 - p) * a + p * c * b for a, b in zip(moments, whole, strict=True)]
            return of(f, both) * stats.norm.pdf(f, mean, sd)

        ends = mean - 12 * sd, mean + 12 * sd
        inside = [x for x in (own_mean - 6 * own, own_mean, own_mean + 6 * own) if ends[0] < x < ends[1]]
        return integrate.quad(integrand, *ends, epsabs=1e-13, epsrel=1e-12, limit=400, points=inside)[0]

    Z = integral(lambda f, m: m[0])
    f1, f2, g1, g2 = (integral(of) / Z for of in (
        lambda f, m: f * m[0], lambda f, m: f**2 * m[0], lambda f, m: m[1], lambda f, m: m[2],
    ))  # fmt: skip
    return Z, f1, f2 - f1**2, g1, g2 - g1**2, p * c / Z


@pytest.mark.parametrize("case", CASES)
def test_label_factor(case):
    mean, var, own_mean, own_var, p, num_classes = (np.array([[x]]) if k < 5 else x for k, x in enumerate(case))
    with np.errstate(divide="ignore"):
        log_odds = np.log(p) - np.log1p(-p)
    found = match_label(mean, var, own_mean, own_var, log_odds, num_classes)
    Z, new_mean, new_var, new_own_mean, new_own_var, new_p = tilted(*case)
    assert np.exp(found.log_mean.item()) == pytest.approx(Z, rel=1e-9)
    for m, v, precision, shift, expected_mean, expected_var in (
        (mean, var, found.precision, found.shift, new_mean, new_var),
        (own_mean, own_var, found.own_precision, found.own_shift, new_own_mean, new_own_var),
    ):
        total = 1 / v + precision
        assert 1 / total.item() == pytest.approx(expected_var, rel=1e-6)
        assert ((m / v + shift) / total).item() == pytest.approx(expected_mean, rel=1e-6, abs=1e-9)
    assert expit(log_odds + found.log_odds).item() == pytest.approx(new_p, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("distance", [-60.0, -1000.0, 60.0])
def test_far_from_the_boundary_nothing_overflows(distance):
    one = np.ones((1, 1))
    for odds in (-np.inf, -2.0):
        found = match_label(0 * one, one, distance * one, one, odds * one, 3)
        assert np.all(np.isfinite(found)), odds


@pytest.mark.parametrize(("p", "a", "b"), [(0.2, 1.0, 9.0), (0.9, 3.5, 30.0), (1e-6, 1.0, 9.0), (0.5, 40.0, 2.0)])
def test_rate_factor(p, a, b):
    found = match_rate(np.array([np.log(p / (1 - p))]), np.array([a]), np.array([b]))
    r = a / (a + b)
    Z = p * r + (1 - p) * (1 - r)
    assert np.exp(found.log_mean.item()) == pytest.approx(Z, rel=1e-12)
    new = stats.beta(a + found.alpha.item(), b + found.beta.item())

    def expected(of):
        def density(x):
            return of(x) * (p * x + (1 - p) * (1 - x)) * stats.beta.pdf(x, a, b) / Z

        return integrate.quad(density, 0, 1, epsabs=1e-12, limit=300)[0]

    for statistic in (np.log, np.log1p):
        of = statistic if statistic is np.log else (lambda x: np.log1p(-x))
        matched = integrate.quad(lambda x, of=of: of(x) * new.pdf(x), 0, 1, epsabs=1e-12, limit=300)[0]
        assert matched == pytest.approx(expected(of), rel=1e-6)
    # z: its odds times those of ρ
    assert expit(np.log(p / (1 - p)) + found.log_odds.item()) == pytest.approx(p * r / Z, rel=1e-12)
