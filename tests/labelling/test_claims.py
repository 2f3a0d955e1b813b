"""Claimed blazars as evidence: on a sky whose truth is known, and in labels."""

import numpy as np
import pytest

from fermiclass import Catalog, Recipe
from fermiclass.labelling.claims import Claims, _objects

ELLIPSE = 0.1


@pytest.fixture(scope="module")
def bare(dr4):
    return dr4[dr4.classes == ""]


def moved(catalog, rng, which, sigma=ELLIPSE / 2.4477):
    """The catalogue turned, with circles as ellipses, and some sources at random blazars within their errors."""
    table = catalog.table.copy()
    table["Conf_95_SemiMajor"] = table["Conf_95_SemiMinor"] = ELLIPSE
    table["RAJ2000"] = (table["RAJ2000"] + 40.0) % 360.0  # their own blazars stay behind
    place = _objects()._of(rng.choice(len(_objects()), which.sum(), replace=False))
    dec = place.dec + rng.normal(0, sigma, which.sum())
    table["RAJ2000"][which] = place.ra + rng.normal(0, sigma, which.sum()) / np.cos(np.radians(dec))
    table["DEJ2000"][which] = dec
    return Catalog(table, catalog.release, catalog.source, catalog.sha256), place.names


@pytest.mark.parametrize("c", [0.05, 0.3, 0.7])
def test_the_completeness_of_a_simulated_sky_is_found(bare, c):
    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 0.5, len(bare))
    is_agn = rng.uniform(size=len(p)) < p
    has = is_agn & (rng.uniform(size=len(p)) < c)
    sky, names = moved(bare, rng, has)
    claims = Claims.fit(sky, p)
    assert claims.completeness == pytest.approx(has.sum() / is_agn.sum(), abs=4 * np.sqrt(c / is_agn.sum()))
    posterior = p * claims.of(sky)[0][:, 0]
    posterior /= posterior + 1 - p
    error = np.sqrt(np.sum(posterior * (1 - posterior)))
    assert posterior.sum() == pytest.approx(is_agn.sum(), abs=4 * error)
    assert np.mean(claims.of(sky)[1][has] == names) > 0.95


def test_a_claim_moves_only_its_unassociated_source(dr4, bare):
    claims = Claims(0.03)
    factors, names = claims.of(dr4)
    assert np.all(factors[dr4.classes != ""] == 1.0)
    assert not np.any(names[dr4.classes != ""])
    assert np.all(factors[:, 1:] == 1.0)
    assert 30 < np.sum(names != "") < 60
    assert np.all((factors[:, 0] > 1.0) <= (names != ""))
    assert np.max(factors) == 50.0
    assert np.array_equal(claims.of(bare[5:9])[0], claims.of(bare)[0][5:9])
    assert np.array_equal(claims.of(bare)[0], factors[dr4.classes == ""])


def test_a_blazar_in_a_table_of_counterparts_counts_there(bare):
    claims, objects = Claims(0.2), _objects()
    assert np.all(claims.of(bare, [objects])[0] == 1.0)
    assert not np.any(claims.of(bare, [objects])[1])
    half = objects._of(np.arange(0, len(objects), 2))
    parts = claims.of(bare, [half])[0][:, 0] + claims.of(bare, [objects._of(np.arange(1, len(objects), 2))])[0][:, 0]
    whole = claims.of(bare)[0][:, 0]
    usual = whole < 50
    assert parts[usual] - 1.0 == pytest.approx(whole[usual], abs=1e-9)


def test_labels_name_the_claim_and_say_what_they_are_without(dr4, default_model):
    few = dr4[Claims(0.03).of(dr4)[1] != ""]
    labels, without = (default_model.label(few, "unassociated", evidence=each) for each in ("class2,claims", "class2"))
    assert "CLAIM" not in without.colnames
    assert np.array_equal(labels["CLAIM"], Claims(0.03).of(few)[1])
    agn = np.asarray(without["Sum_P_agn"])
    assert np.asarray(labels["Gamma_AGN"]) == pytest.approx(agn, abs=1e-6)
    assert np.mean(labels["Sum_P_agn"]) > np.mean(agn)
    again = Recipe.from_meta(without.meta)
    assert again.evidence == "class2"
