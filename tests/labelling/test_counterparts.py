"""Counterparts on synthetic skies: nothing in random tables, and what was planted is found."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from astropy import units as u
from astropy.coordinates import SkyCoord
from astropy.table import Table, vstack
from matplotlib.patches import Circle
from scipy.optimize import minimize_scalar

from fermiclass import Recipe, classify, followup, train
from fermiclass.brought.candidates import Candidates, apart
from fermiclass.catalog.releases import CatalogWarning
from fermiclass.cli.folders import candidates_beside
from fermiclass.errors import CatalogError
from fermiclass.io.tables import write_table
from fermiclass.labelling.counterparts import (
    COUNTERPARTS_KEY,
    MOST_OF_CLAIMS,
    Strength,
    completeness,
    counterpart_table,
    summed,
    weigh,
)
from fermiclass.labelling.labels import Labels
from fermiclass.plots.finder import finder_pages
from fermiclass.show.explanation import print_counterpart
from fermiclass.show.page.sources import source_columns
from fermiclass.show.summaries import print_counterparts, print_followup
from tests.show.page.conftest import make_up_labels

SIGMA = np.sqrt(-2.0 * np.log(0.05))  # semi-axes of 95 % in units of those of 1 σ


def directions(rng, n):
    return rng.uniform(0, 360, n), np.degrees(np.arcsin(rng.uniform(-1, 1, n)))


def sources(rng, n):
    """Elongated ellipses at any place; some on the poles and on RA 0."""
    ra, dec = directions(rng, n)
    ra[:5], dec[5:8], dec[8:10] = 0.0, 89.95, -89.95
    major = rng.uniform(0.1, 0.3, n)
    minor, angle = major * rng.uniform(0.2, 0.9, n), rng.uniform(0, 180, n)
    names = ("RAJ2000", "DEJ2000", "Conf_95_SemiMajor", "Conf_95_SemiMinor", "Conf_95_PosAng", "Source_Name")
    return Table([ra, dec, major, minor, angle, [f"4FGL J{k:04d}.0+0000" for k in range(n)]], names=names)


def drawn_within(rng, table):
    """A position of each ellipse's normal distribution, by walking along its axes on the sphere."""
    at = SkyCoord(table["RAJ2000"], table["DEJ2000"], unit="deg")
    x, y = (rng.normal(0, np.asarray(table[f"Conf_95_Semi{axis}"]) / SIGMA) for axis in ("Major", "Minor"))
    turn = np.asarray(table["Conf_95_PosAng"]) + np.degrees(np.arctan2(y, x))
    found = at.directional_offset_by(turn * u.deg, np.hypot(x, y) * u.deg)
    return found.ra.deg, found.dec.deg


def objects(ra, dec, **columns):
    return Candidates.of(Table({"ra": ra, "dec": dec, **columns}), "sky.csv")


def kinds(rng, n):
    return rng.dirichlet([1.0, 0.5, 0.5], n)


def assert_calibrated(p, real, slack):
    """In five bins, within the scatter and a part of the number."""
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        chosen = (p >= low) & (p < low + 0.2)
        error = 4 * np.sqrt(np.sum(p[chosen] * (1 - p[chosen]))) + slack * p[chosen].sum()
        assert real[chosen].sum() == pytest.approx(p[chosen].sum(), abs=error)


@pytest.mark.parametrize("dec", [0.0, 60.0, -89.9])
@pytest.mark.parametrize("angle", [0.0, 30.0, 90.0, 135.0])
def test_an_object_on_the_edge_of_the_ellipse_has_u_1(dec, angle):
    rng = np.random.default_rng(0)
    major, minor = 0.3, 0.05
    table = Table({"RAJ2000": [0.0], "DEJ2000": [dec], "Conf_95_SemiMajor": [major], "Conf_95_SemiMinor": [minor]})
    table["Conf_95_PosAng"] = angle
    at = SkyCoord(0.0, dec, unit="deg")
    turns, distances = np.array([0, 90, 180, 270]), np.array([major, minor, major, minor])
    edge = at.directional_offset_by((angle + turns) * u.deg, distances * u.deg)
    ra, dec = directions(rng, 2000)
    near = objects(np.append(edge.ra.deg, ra), np.append(edge.dec.deg, dec)).around(table)
    found = dict(zip(near.candidate.tolist(), near.u.tolist(), strict=True))
    assert [found[j] for j in range(4)] == pytest.approx([1.0] * 4, rel=1e-3)


def test_random_tables_say_nothing():
    """100 draws: the excess averages 1, so that BF does; c is within its errors of 0; most tables are refused."""
    rng = np.random.default_rng(1)
    excess, within, used = [], [], 0
    for _ in range(100):
        table, P = sources(rng, 150), kinds(rng, 150)
        candidates = objects(*directions(rng, 30_000))
        near = candidates.around(table)
        assert near.covered.all()
        each = summed(near, 150)
        excess.append(each.mean())
        c = completeness(P[:, :1], each, 1 - P[:, 0])
        score = P[:, :1] * (each - 1.0) / (1 + P[:, :1] * (each - 1) * c)
        within.append(c[0, 0] < 2.0 / np.sqrt(np.sum(score**2)))
        used += Strength.of(candidates, near, np.ones(150, bool)).says
    assert np.mean(excess) == pytest.approx(1.0, abs=4 * np.std(excess) / np.sqrt(100))
    assert np.mean(within) > 0.9
    assert used < 8  # 2.3 % by chance


@pytest.mark.parametrize("covers", ["all", "ellipses"])
def test_planted_counterparts_are_found(covers):
    """Of 60 % of the AGN, in one of two categories; P_CPT is calibrated in five bins."""
    rng = np.random.default_rng(2)
    n, true = 4000, {"bright": 0.4, "faint": 0.2}
    table, P = sources(rng, n), kinds(rng, n)
    kind = np.array([rng.choice(3, p=p) for p in P])
    draw = rng.uniform(size=n)
    category = np.where(draw < true["bright"], "bright", np.where(draw < sum(true.values()), "faint", ""))
    has = (kind == 0) & (category != "")
    real = drawn_within(rng, table)
    if covers == "all":
        chance = directions(rng, 100_000)
    else:  # 3 objects in an ellipse on average, of one density
        *chance, _ = in_ellipses(rng, table, 3.0)
    ra, dec = (np.concatenate([one[has], other]) for one, other in zip(real, chance, strict=True))
    words = np.concatenate([category[has], rng.choice(["bright", "faint"], len(chance[0]))])
    searched = Table({"Source_Name": table["Source_Name"]})
    candidates = Candidates.of(vstack([Table({"ra": ra, "dec": dec, "category": words}), searched]), covers=covers)
    factors, (strength,) = weigh([candidates], table, P, np.full(n, "unassociated"))
    both = strength.completeness["agn"], strength.errors["agn"]
    c, errors = (dict(zip(strength.categories, each, strict=True)) for each in both)
    for name, share in true.items():
        assert c[name] == pytest.approx(share, abs=3 * errors[name])
    after = P * factors
    after /= after.sum(axis=1, keepdims=True)
    truth = np.eye(3)[kind]
    loss = [-np.mean(np.log(np.sum(p * truth, axis=1))) for p in (P, after)]
    assert loss[1] < loss[0] - 0.01
    near = candidates.around(table)
    p = strength.posterior(near, after, factors)
    hosts = np.flatnonzero(has)
    is_real = (near.candidate < len(hosts)) & (hosts[np.minimum(near.candidate, len(hosts) - 1)] == near.source)
    assert_calibrated(p, is_real, 0.15 if covers == "ellipses" else 0.0)
    assert np.all(np.bincount(near.source, p, n) <= after[:, 0] + 1e-9)  # no more than the source is an AGN


@pytest.mark.parametrize("mean", [0.1, 0.5, 1.5, 6.0])
def test_ellipses_that_were_searched_in_vain_count(mean):
    """The completeness is found, whatever the number of chance objects in an ellipse; if many, without them, too."""
    rng = np.random.default_rng((12, int(10 * mean)))
    n, true = 3000, 0.4
    table, P = sources(rng, n), kinds(rng, n)
    kind = np.array([rng.choice(3, p=p) for p in P])
    real = drawn_within(rng, table)
    sky = objects(*real).around(table)
    inside = sky.source[(sky.source == sky.candidate) & (sky.u <= 1.0)]
    has = np.isin(np.arange(n), inside) & (kind == 0) & (rng.uniform(size=n) < true)
    ra, dec, rows = in_ellipses(rng, table, mean)
    placed = Table({"ra": np.append(real[0][has], ra), "dec": np.append(real[1][has], dec)})
    placed["Source_Name"] = np.append(table["Source_Name"][has], table["Source_Name"][rows])
    vain = Table({"Source_Name": np.setdiff1d(table["Source_Name"], placed["Source_Name"])})
    status = np.full(n, "unassociated")
    (strength,) = weigh([Candidates.of(vstack([placed, vain]))], table, P, status)[1]
    assert strength.covers == "ellipses"
    assert strength.completeness["agn"][0] == pytest.approx(0.95 * true, abs=3 * strength.errors["agn"][0])
    if mean < 3:
        with pytest.raises(CatalogError, match="Say which LAT sources were searched"):
            weigh([Candidates.of(placed)], table, P, status)
    else:
        (strength,) = weigh([Candidates.of(placed)], table, P, status)[1]
        assert strength.completeness["agn"][0] == pytest.approx(0.95 * true, abs=3 * strength.errors["agn"][0])


def in_the_plane(rng, n, scale=2.0):
    """Directions whose density falls with latitude, by e on each `scale` degrees."""
    b = rng.exponential(scale, n) * rng.choice([-1, 1], n)
    at = SkyCoord(rng.uniform(0, 360, n), b, frame="galactic", unit="deg").icrs
    return at.ra.deg, at.dec.deg


@pytest.mark.parametrize(("covers", "number"), [("all", 500), ("all", 5000), ("all", 50_000), ("ellipses", 0)])
def test_chance_follows_the_plane(covers, number):
    """As many lie inside as expected at each latitude, and P hardly moves; of 40 % of the AGN, c is found."""
    rng = np.random.default_rng(15)
    n = 3000
    table, P = sources(rng, n), kinds(rng, n)
    table["RAJ2000"], table["DEJ2000"] = in_the_plane(rng, n)
    b = np.abs(SkyCoord(table["RAJ2000"], table["DEJ2000"], unit="deg").galactic.b.deg)
    if covers == "all":
        ra, dec = in_the_plane(rng, number)
    else:
        ra, dec, rows = in_ellipses(rng, table, 5.0)
        kept = rng.uniform(size=len(rows)) < np.exp(-b / 2.0)[rows]
        ra, dec = (x[kept] for x in (ra, dec))
    real, has = drawn_within(rng, table), (rng.uniform(size=n) < 0.4 * P[:, 0])
    searched = Table({"Source_Name": table["Source_Name"]})
    for planted in (False, True):
        at = Table({"ra": np.append(real[0][has & planted], ra), "dec": np.append(real[1][has & planted], dec)})
        sky = Candidates.of(vstack([at, searched]), covers=covers)
        near = sky.around(table)
        excess, some = summed(near, n), near.covered
        c = completeness(P[some][:, :1], excess[some], 1.0 - P[some][:, 0])[0, 0]
        if planted:
            (strength,) = weigh([sky], table, P, np.full(n, "unassociated"))[1]
            part = 0.4 if covers == "all" else 0.38
            assert c == pytest.approx(part, abs=3 * strength.errors["agn"][0] + 0.02)
            continue
        after = P * np.where(some[:, None], 1.0 + (excess - 1.0) * [[c, 0, 0]], 1.0)
        assert np.abs(after / after.sum(axis=1, keepdims=True) - P).mean() < 0.02
        inside = np.bincount(near.source[near.u <= 1.0], minlength=n)
        for low, high in ((0, 1), (1, 2), (2, 4), (4, 90)):
            rows = (b >= low) & (b < high)
            spread = np.sqrt(near.chance[rows].sum())
            assert inside[rows].sum() == pytest.approx(near.chance[rows].sum(), abs=4 * spread + 0.06 * spread**2)


def in_ellipses(rng, table, mean):
    """Chance objects of one density, `mean` in an ellipse on average: their places, and the rows of the sources."""
    area = table["Conf_95_SemiMajor"] * table["Conf_95_SemiMinor"]
    rows = np.repeat(np.arange(len(table)), rng.poisson(mean * area / area.mean()))
    r, turn = np.sqrt(rng.uniform(size=len(rows))), rng.uniform(0, 2 * np.pi, len(rows))
    x, y = r * np.cos(turn) * table["Conf_95_SemiMajor"][rows], r * np.sin(turn) * table["Conf_95_SemiMinor"][rows]
    at = SkyCoord(table["RAJ2000"][rows], table["DEJ2000"][rows], unit="deg")
    angle = table["Conf_95_PosAng"][rows] + np.degrees(np.arctan2(y, x))
    placed = at.directional_offset_by(angle * u.deg, np.hypot(x, y) * u.deg)
    return placed.ra.deg, placed.dec.deg, rows


def test_an_object_of_two_tables_is_one_candidate():
    """Of the AGN half are in each table, independently, and so are the objects by chance; P_CPT is calibrated."""
    rng = np.random.default_rng(11)
    n = 4000
    table, P = sources(rng, n), kinds(rng, n)
    kind = np.array([rng.choice(3, p=p) for p in P])
    ra, dec = (np.concatenate(each) for each in zip(drawn_within(rng, table), directions(rng, 60_000), strict=True))
    is_agn = np.append(kind == 0, np.ones(60_000, bool))
    lists = [np.flatnonzero(is_agn & (rng.uniform(size=n + 60_000) < 0.5)) for _ in range(2)]
    moved = np.flatnonzero(dec[lists[1]] < 89)
    dec[lists[1][moved]] += 1e-9
    tables = [Candidates.of(Table({"ra": ra[rows], "dec": dec[rows]}), f"{k}.csv") for k, rows in enumerate(lists)]
    status = np.full(n, "unassociated")
    factors, strengths = weigh(tables, table, P, status)
    truth = np.arange(n), kind

    def loss(factors):
        after = P * factors / np.sum(P * factors, axis=1, keepdims=True)
        return -np.mean(np.log(after[truth]))

    singly = [weigh([each], table, P, status)[0] for each in tables]
    assert loss(factors) < loss(singly[0] * singly[1]) < loss(singly[0])  # the place would count twice
    after = P * factors / np.sum(P * factors, axis=1, keepdims=True)
    p, real, per_source = [], [], np.zeros(n)
    parted = apart(tables)
    assert sum(map(len, parted)) == len(np.union1d(*lists))
    for each, strength in zip(parted, strengths, strict=True):
        near = each.around(table)
        p.append(strength.posterior(near, after, factors))
        there = SkyCoord(each.ra, each.dec, unit="deg")[near.candidate]
        real.append(there.separation(SkyCoord(ra[:n], dec[:n], unit="deg")[near.source]).arcsec < 1)
        np.add.at(per_source, near.source, p[-1])
    assert np.all(per_source <= after[:, 0] + 1e-9)  # a source has one counterpart
    assert_calibrated(np.concatenate(p), np.concatenate(real), 0.05)


def test_a_table_twice_says_no_more_than_once():
    rng = np.random.default_rng(12)
    table, P = sources(rng, 500), kinds(rng, 500)
    ra, dec = (np.concatenate(each) for each in zip(drawn_within(rng, table), directions(rng, 20_000), strict=True))
    one, status = objects(ra, dec), np.full(500, "unassociated")
    near = objects(ra, np.clip(dec + 1 / 3600, -90, 90), pos_err=np.full(len(ra), 3.0) * u.arcsec)
    (once, (strength,)), (twice, (both, none)) = (weigh(each, table, P, status) for each in ([one], [one, near]))
    np.testing.assert_allclose(twice, once, rtol=1e-3)
    assert both.completeness["agn"] == pytest.approx([0.0, *strength.completeness["agn"]], abs=1e-3)
    assert none.says
    assert not none.completeness


def test_counterparts_are_for_sources_that_are_asked_for():
    rng = np.random.default_rng(13)
    table, P = sources(rng, 300), kinds(rng, 300)
    ra, dec = (np.concatenate(each) for each in zip(drawn_within(rng, table), directions(rng, 5000), strict=True))
    status = np.resize(["unassociated", "bcu", "unk", "identified"], 300)
    taught = []
    for asked in (("unassociated",), ("unassociated", "unk"), ("bcu",)):
        candidates = Candidates.of(Table({"ra": ra, "dec": dec}), statuses=asked)
        factors, (strength,) = weigh([candidates], table, P, status)
        assert {*np.unique(status[np.any(factors != 1.0, axis=1)])} == {*asked}
        taught.append(strength.completeness)
    assert taught[0] == taught[1] == taught[2]  # unassociated sources teach
    for wrong in ((), ("associated",)):
        with pytest.raises(CatalogError, match="unassociated, bcu, unk"):
            Candidates.of(Table({"ra": ra, "dec": dec}), statuses=wrong)


def test_the_completeness_is_that_of_greatest_likelihood():
    rng = np.random.default_rng(3)
    p, excess = rng.uniform(size=400), rng.exponential(1.5, (400, 1)) * (rng.uniform(size=(400, 1)) < 0.6)

    def loss(c):  # with the prior: one source more that has none
        return -np.sum(np.log(1 + p * c * (excess[:, 0] - 1))) - np.log(1 - c)

    best = minimize_scalar(loss, bounds=(0, 0.999), method="bounded", options={"xatol": 1e-8}).x
    assert completeness(p[:, None], excess, 1 - p)[0, 0] == pytest.approx(best, abs=1e-4)


def test_sources_beyond_the_edge_of_a_survey_are_not_covered():
    rng = np.random.default_rng(4)
    ra, dec = directions(rng, 50_000)
    table = sources(rng, 500)
    near = objects(ra[dec > 0], dec[dec > 0]).around(table)
    assert not near.covered[table["DEJ2000"] < -0.5].any()
    assert near.covered[table["DEJ2000"] > 2.0].all()
    table["Conf_95_SemiMajor"] = np.nan
    assert not objects(ra, dec).around(table).covered.any()


def test_errors_of_positions_add_to_the_ellipse():
    """By brute force: offsets with both errors have the χ² of two coordinates."""
    rng = np.random.default_rng(5)
    table = sources(rng, 4000)
    ra, dec = drawn_within(rng, table)
    north, east = rng.normal(0, 0.05, 4000), rng.normal(0, 0.02, 4000)
    at = SkyCoord(ra, dec, unit="deg").spherical_offsets_by(east * u.deg, north * u.deg)
    candidates = objects(
        at.ra.deg, at.dec.deg, e_RAJ2000=np.full(4000, 0.02) * u.deg, e_DEJ2000=np.full(4000, 3.0) * u.arcmin
    )
    near = candidates.around(table)
    own = near.source == near.candidate
    inside = np.mean(near.u[own] <= 1.0) * own.sum() / 4000
    assert inside == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("error", [0.0, 0.02, 0.1, 0.3])
def test_chance_counts_the_errors_of_the_objects(error):
    """On a sky of chance as many lie inside as expected; of 60 % of the AGN, c is found, whatever the errors."""
    rng = np.random.default_rng(6)
    n = 2000
    table, P = sources(rng, n), kinds(rng, n)
    ra, dec = directions(rng, 120_000)
    found = objects(ra, dec, pos_err_deg=np.full(len(ra), error)).around(table)
    inside = np.bincount(found.source[found.u <= 1.0], minlength=n).sum()
    assert inside == pytest.approx(found.chance.sum(), abs=5 * np.sqrt(inside) + 0.03 * inside)

    has = np.flatnonzero((rng.uniform(size=n) < P[:, 0]) & (rng.uniform(size=n) < 0.6))
    at = SkyCoord(*(x[has] for x in drawn_within(rng, table)), unit="deg")
    off = error * rng.normal(size=(2, len(has)))
    at = at.directional_offset_by(np.arctan2(*off) * u.rad, np.hypot(*off) * u.deg)
    sky = objects(np.append(at.ra.deg, ra), np.append(at.dec.deg, dec), pos_err_deg=np.full(len(has) + len(ra), error))
    (strength,) = weigh([sky], table, P, np.full(n, "unassociated"))[1]
    assert strength.completeness["agn"][0] == pytest.approx(0.6, abs=max(3 * strength.errors["agn"][0], 0.05))


def test_one_large_error_changes_no_other_object_and_an_endless_one_is_left_out():
    rng = np.random.default_rng(7)
    table, (ra, dec) = sources(rng, 300), directions(rng, 20_000)
    ra[0], dec[0], error = table["RAJ2000"][20] + 1.0, table["DEJ2000"][20], np.full(len(ra), 0.01)
    usual = objects(ra, dec, pos_err_deg=error).around(table)
    error[0] = 2.0
    wide = objects(ra, dec, pos_err_deg=error).around(table)
    others = wide.candidate > 0
    assert np.sum(~others) > np.sum(usual.candidate == 0)
    for name in ("source", "candidate", "u"):
        np.testing.assert_array_equal(getattr(wide, name)[others], getattr(usual, name)[usual.candidate > 0])
    error[0] = np.inf
    with pytest.warns(CatalogWarning, match="1 objects have errors above 3 degrees"):
        assert len(objects(ra, dec, pos_err_deg=error)) == len(ra) - 1


def test_rows_of_sources_without_a_claim_are_no_claims():
    """As in 1FLAT: a row for each source, and that of one without a counterpart has its own name and place."""
    rng = np.random.default_rng(8)
    table, P = sources(rng, 600), kinds(rng, 600)
    ra, dec = drawn_within(rng, table)
    has = rng.uniform(size=600) < 0.4 * P[:, 0]
    rows = Table({"4FGL_name": table["Source_Name"]})
    rows["1FLAT_name"] = [f"1FLAT J{k}" if yes else table["Source_Name"][k] for k, yes in enumerate(has)]
    rows["RAJ2000"], rows["DEJ2000"] = np.where(has, ra, table["RAJ2000"]), np.where(has, dec, table["DEJ2000"])
    status, every = np.full(600, "unassociated"), Candidates.of(rows, covers="claims")
    with pytest.warns(CatalogWarning, match=rf"{np.sum(~has)} objects have the very places of LAT sources"):
        factors, (strength,) = weigh([every], table, P, status)
    alone = weigh([Candidates.of(rows[has], covers="claims")], table, P, status)[0]
    np.testing.assert_allclose(factors, alone)
    assert np.mean(factors[~has, 0] < 1.0) > 0.95
    assert strength.completeness["agn"][0] == pytest.approx(0.4, abs=3 * strength.errors["agn"][0] + 0.02)
    assert {*every.names[has]} == {*rows["1FLAT_name"][has]}


def test_the_places_of_the_lat_sources_are_refused():
    rng = np.random.default_rng(8)
    table, P = sources(rng, 200), kinds(rng, 200)
    with pytest.raises(CatalogError, match="those of the LAT sources"):
        weigh([objects(table["RAJ2000"], table["DEJ2000"])], table, P, np.full(200, "unassociated"))
    near = objects(*(np.append(x, y) for x, y in zip(drawn_within(rng, table), directions(rng, 100), strict=True)))
    wider = Table(table, copy=True)
    for name in ("Conf_95_SemiMajor", "Conf_95_SemiMinor"):
        wider[name] *= 3
    with pytest.warns(CatalogWarning, match="nearer to the centres"):
        weigh([near], wider, P, np.full(200, "unassociated"))


RADIUS_90 = np.sqrt(-2.0 * np.log(0.1))


@pytest.mark.parametrize(
    ("columns", "sigmas", "said"),
    [
        ({"Err90": 36.0}, (36 / RADIUS_90,) * 2, "Err90 (90 % radii, taken as arcsec)"),  # 2SXPS
        ({"r90": 0.6 * u.arcmin}, (36 / RADIUS_90,) * 2, "r90 (90 % radii)"),
        ({"pos_err_95_arcsec": 36.0}, (36 / SIGMA,) * 2, "pos_err_95_arcsec (95 % radii)"),
        ({"SC_POSERR": 36.0}, (36 / np.sqrt(2),) * 2, "SC_POSERR (63 % radii, taken as arcsec)"),  # XMM
        ({"ra_err": 9.0 * u.arcsec, "dec_err": 6.0 * u.arcsec}, (9, 6), "ra_err, dec_err (1 σ)"),  # NWAY
        ({"E_RA": 0.01 * u.deg, "E_DEC": 0.02 * u.deg}, (36, 72), "E_RA, E_DEC (1 σ)"),  # VLASS
        ({"e_RAJ2000": 2.0 * u.s, "e_DEJ2000": 7.0 * u.arcsec}, (15, 7), "e_RAJ2000, e_DEJ2000 (1 σ)"),  # NVSS at 60°
        ({"eeMaj": 5.0, "eeMin": 2.0, "eePA": 90.0}, (5, 2), "eeMaj, eeMin, eePA (1 σ, taken as arcsec)"),  # AllWISE
        ({"err_ellipse_r0": 9.0, "err_ellipse_r1": 6.0, "err_ellipse_ang": 0.0}, (6 / SIGMA, 9 / SIGMA), "95 % radii"),
        ({"ra_err_arcsec": 2.0, "dec_err_arcsec": 3.0}, (2, 3), "ra_err_arcsec, dec_err_arcsec (1 σ)"),
        ({"sigra": 2.0 * u.arcsec, "sigdec": 3.0 * u.arcsec}, (2, 3), "sigra, sigdec (1 σ)"),
        ({"e_RA": 2e3 * u.mas, "e_Dec": 3e3 * u.mas}, (2, 3), "e_RA, e_Dec (1 σ)"),
    ],
)
def test_errors_of_positions_are_known_by_their_names(columns, sigmas, said):
    table = Table({"name": [f"X{k}" for k in range(60)], "ra": np.arange(60.0), "dec": np.full(60, 60.0)})
    for name, value in columns.items():
        table[name] = np.full(60, getattr(value, "value", value))
        table[name].unit = getattr(value, "unit", None)
    candidates = Candidates.of(table)
    np.testing.assert_allclose(3600 * np.sqrt(candidates.covariance[0, :2]), sigmas, rtol=1e-6)
    assert any(said in note for note in candidates.notes)


def test_what_was_taken_is_said(capsys, monkeypatch):
    """A list of 2SXPS with limits, and rows of sources that were searched in vain or have no position."""
    rng = np.random.default_rng(9)
    ra, dec = directions(rng, 60)
    table = Table({"2SXPS": [f"R{k}" for k in range(60)], "4FGL": [f"4FGL J{k:04d}.0+4741" for k in range(60)]})
    table["RA"], table["Dec"], table["Err90"], table["odd"] = np.where(np.arange(60) < 58, ra, np.nan), dec, 5.0, 1
    table["FluxB"], table["e_FluxB"], table["FluxB_UL"] = rng.uniform(1, 2, 60), 0.1, 3.0
    table["4FGL"][59] = ""
    taken = Candidates.of(table, "x.csv")
    assert taken.names.tolist() == table["2SXPS"][:58].tolist()
    assert taken.notes == (
        "'x.csv': 58 objects",
        "names: 2SXPS",
        "LAT sources: 4FGL",
        "positions: RA, Dec",
        "errors of positions: Err90 (90 % radii, taken as arcsec)",
        "flux: FluxB, errors: e_FluxB",
        "upper limits are not used: FluxB_UL",
        "not used: odd",
        "59 LAT sources were searched, 1 of them in vain",
        "1 rows without a position are left out",
    )
    kinds_of_two = {kind: [0.126, 0.292] for kind in ("agn", "pulsar")}
    categories = ("flux <7.88", "flux 7.88–10.4, xray.csv")
    strength = Strength("x.csv", "", "ellipses", 58, 1.0, 0.46, 0.12, categories, kinds_of_two, kinds_of_two)
    labels = Table({"P_CPT": [0.7]}, meta={COUNTERPARTS_KEY: json.dumps([asdict(strength)])})
    monkeypatch.setenv("COLUMNS", "80")
    print_counterparts(labels, [taken], Path("all.fits"))
    printed = capsys.readouterr().out
    assert printed.count("0.292 ± 0.292") == printed.count("0.126 ± 0.126") == 2
    assert "0.46 ± 0.12" in printed
    del table["2SXPS"]
    assert Candidates.of(table).names[0] == ""


def test_categories_are_found_where_real_objects_have_other_fluxes():
    """Real ones are brighter; a factor, text, or one wild value change nothing, and a flux by chance makes none."""
    rng = np.random.default_rng(10)
    table, P = sources(rng, 2000), kinds(rng, 2000)
    has = np.flatnonzero((rng.uniform(size=2000) < P[:, 0]) & (rng.uniform(size=2000) < 0.6))
    places = (x[has] for x in drawn_within(rng, table))
    ra, dec = (np.append(x, y) for x, y in zip(places, directions(rng, 60_000), strict=True))
    flux = rng.lognormal(size=len(ra)) * np.where(np.arange(len(ra)) < len(has), 8.0, 1.0)
    status = np.full(2000, "unassociated")

    def said(**columns):
        factors, (strength,) = weigh([objects(ra, dec, **columns)], table, P, status)
        return factors, strength

    factors, strength = said(flux=flux)
    alone, one = said()
    assert (len(strength.cuts), len(one.cuts)) == (2, 0)
    assert 2.0 < strength.cuts[0] < strength.cuts[1] < 40.0
    gain, of_one = (np.log((P * f / (P * f).sum(1, keepdims=True))[has, 0]).mean() for f in (factors, alone))
    assert gain > of_one + 0.03
    wild = np.where(np.arange(len(ra)) == np.argmax(flux), 3e25, flux)
    for other in (1e3 * flux, flux.astype(str), wild):
        np.testing.assert_allclose(said(flux=other)[0], factors, rtol=1e-6)
    assert not len(said(flux=rng.permutation(flux))[1].cuts)


def test_a_flux_makes_categories_with_its_error():
    rng = np.random.default_rng(6)
    flux, error = rng.lognormal(0, 1, 300), np.full(300, 0.4)
    ra, dec = directions(rng, 300)
    candidates = objects(ra, dec, flux=flux, flux_err=error)
    edges = np.quantile(flux, (1 / 3, 2 / 3))
    drawn = flux[:, None] + rng.normal(0, 0.4, (300, 20_000))
    share = np.stack([(np.digitize(drawn, edges) == k).mean(axis=1) for k in range(3)], axis=1)
    assert candidates.parted(edges).membership == pytest.approx(share, abs=0.02)
    endless = objects(ra, dec, flux=np.append(flux[1:], np.inf), flux_err=error)
    none = objects(ra, dec, flux=np.append(flux[1:], np.nan), flux_err=error)
    assert endless.parted(edges).membership == pytest.approx(none.parted(edges).membership)


@pytest.mark.parametrize(("name", "mark"), [("pos_err_arcsec", -99.0), ("flux", -999.0), ("flux", 1e20)])
def test_a_number_that_stands_for_none_is_a_blank(name, mark):
    rng = np.random.default_rng(1)
    table = Table({"ra": rng.uniform(0, 360, 99), "dec": rng.uniform(-80, 80, 99), "flux": rng.uniform(1, 50, 99)})
    table["pos_err_arcsec"] = rng.uniform(1.0, 9.0, 99)
    blank, marked = table.copy(), table.copy()
    blank[name][::3], marked[name][::3] = np.nan, mark
    expected = Candidates.of(blank)
    with pytest.warns(CatalogWarning, match=f"{name} is .* for 33 sources"):
        found = Candidates.of(marked)
    np.testing.assert_array_equal(found.covariance, expected.covariance)
    np.testing.assert_array_equal(found.flux, expected.flux)


def test_claims_are_capped_and_few_in_one_region_count():
    rng = np.random.default_rng(10)
    table, P = sources(rng, 300), kinds(rng, 300)
    ra, dec = drawn_within(rng, table)
    near = np.argsort(np.abs(table["DEJ2000"] - 40.0) + np.abs(table["RAJ2000"] - 180.0))[:12]
    names = ["4FGL J0000.0+0000" if k % 3 else "" for k in range(12)]
    candidates = Candidates.of(Table({"ra": ra[near], "dec": dec[near], "name": names}))
    assert candidates.covers == "claims"
    factors, (strength,) = weigh([candidates], table, P, np.full(300, "unassociated"))
    assert strength.completeness
    assert np.all(factors[near, 0] > 1.0)
    assert factors.max() == MOST_OF_CLAIMS
    assert np.all(np.delete(factors[:, 0], near) < 1.0)


@pytest.mark.parametrize(
    ("columns", "meta", "words"),
    [
        ({"x": [1.0]}, {}, "neither a column of names nor of positions"),
        ({"name": ["a"]}, {}, "no positions"),
        ({"ra": [1.0], "dec": [2.0]}, {"EQUINOX": 1950.0}, "equinox 1950"),
        ({"ra": [1.0], "dec": [2.0], "pos_err": [3.0]}, {}, "pos_err .* has no unit"),
        ({"ra": [1.0], "dec": [2.0], "pos_err": [3.0] * u.s}, {}, "pos_err .* holds no angles"),
        ({"ra": [1.0], "dec": [2.0], "pos_err_deg": [3.0]}, {}, "pos_err_deg .* median is 3 degrees"),
        ({"ra": [1.0], "dec": [2.0], "ra_err": [3.0], "dec_err": [3.0]}, {}, "ra_err .* has no unit"),
        ({"ra": [1.0], "dec": [200.0]}, {}, "beyond 90"),
        ({"ra": [1.0] * 60, "dec": [2.0] * 60}, {}, "has 1 objects: too few"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(columns, meta, words):
    with pytest.raises(CatalogError, match=words):
        Candidates.of(Table(columns, meta=meta))


def test_labels_have_their_candidates(few):
    """A planted table changes P by its factors and tells so; a random one changes nothing, and warns."""
    rng = np.random.default_rng(9)
    bare = few.table[few.classes == ""]
    ra, dec = drawn_within(rng, bare)
    planted = Candidates.of(
        Table({"ra": ra, "dec": dec, "name": [f"X{k}" for k in range(len(ra))]}), "planted.csv", "claims"
    )
    chance = objects(*directions(rng, 2000))
    given = {"features": "six", "targets": "unassociated", "counterparts": [planted, chance]}
    with pytest.warns(CatalogWarning, match=r"'sky\.csv': it changes no probability"):
        labels = classify(few, recipe=Recipe().with_settings(steps=40, num_inducing=15), **given)
    strengths = json.loads(labels.meta[COUNTERPARTS_KEY])
    assert [bool(each["completeness"]) for each in strengths] == [True, False]
    before = np.sum([labels[f"Gamma_P_{name}"] for name in ("bll", "fsrq")], axis=0)
    P, factor = np.asarray(labels["Sum_P_agn"]), np.asarray(labels["BF_CPT"])
    known = (np.asarray(labels["LABEL_FLAGS"]) & 18) == 0
    assert known.any()
    assert P[known] == pytest.approx((before * factor / (before * factor + 1 - before))[known], abs=1e-4)
    assert set(labels["CPT_TABLE"]) <= {"planted.csv", ""}
    assert np.mean([name == f"X{k}" for k, name in enumerate(labels["CPT_NAME"])]) > 0.8
    every = counterpart_table(labels, [planted, chance])
    assert set(every["Source_Name"]) <= set(labels["Source_Name"])
    assert np.all(np.asarray(every["P_CPT"]) >= 0.01)
    with pytest.raises(CatalogError, match="other tables of counterparts"):
        counterpart_table(labels, [chance])


def test_all_candidates_are_shown(dr4, tmp_path, capsys):
    """In the chart with their errors, in what explain and followup print, and on the page; else the best alone."""
    labels = make_up_labels(dr4[::200])
    name, ra, dec = str(labels["Source_Name"][0]), float(labels["RAJ2000"][0]), float(labels["DEJ2000"][0])
    found = Table({"Source_Name": [name] * 4, "CPT_NAME": ["X0", "X1", "X2", "X3"], "CPT_RA": [ra] * 4})
    found["CPT_DEC"], found["CPT_R95"] = dec + np.arange(4) * 0.001, [0.002, 0.001, 0.001, 0.0]
    found["P_CPT"], found["CPT_TABLE"] = [0.6, 0.2, 0.1, 0.05], "x.csv"
    for column in found.colnames[1:]:
        labels[column] = found[column][0]
        labels[column][1:] = "" if column.startswith("CPT_N") else 0.0
    labels["BF_CPT"] = 1.0
    labels.meta[COUNTERPARTS_KEY] = "[]"
    write_table(found, tmp_path / "labels-counterparts.fits")
    about = Labels(labels)
    candidates = candidates_beside(tmp_path / "labels.fits", about)
    assert candidates_beside(tmp_path / "other.fits", about) is None
    first = followup(labels, only=[name])
    (page,) = finder_pages(first, dr4.table, candidates=candidates)
    circles = [patch.radius for patch in page.axes[0].patches if isinstance(patch, Circle)]
    assert circles == pytest.approx([0.12, 0.06, 0.06, 0.0])
    assert [text.get_text() for text in page.axes[0].texts][-3:] == ["0.60", "0.20", "0.10"]
    print_followup(first, candidates=candidates)
    print_counterpart(about, name, candidates)
    printed = " ".join(capsys.readouterr().out.split())
    assert [printed.count(f"X{k} of") for k in range(4)] == [2, 2, 2, 1]
    assert "± 7.2″" in printed
    assert "and 1 less probable ones" in printed
    assert source_columns(about, candidates)["counterpart"][0].count("x.csv") == 4
    assert source_columns(about)["counterpart"][0].count("x.csv") == 1
    found["Source_Name"] = "4FGL J0000.0+0000"
    write_table(found, tmp_path / "labels-counterparts.fits")
    with pytest.warns(UserWarning, match="candidates of other labels"):
        assert candidates_beside(tmp_path / "labels.fits", about) is None


def test_what_is_labelled_does_not_change_what_a_table_says(few):
    """Blazars of uncertain type alone, or nine sources beside the catalogue that teaches: the labels of all targets."""
    ra, dec = drawn_within(np.random.default_rng(9), few.table[np.isin(few.classes, ["", "bcu"])])
    table = Table({"ra": ra, "dec": dec, "name": [f"X{k}" for k in range(len(ra))]})
    planted = Candidates.of(table, "planted.csv", "claims", statuses=("unassociated", "bcu"))
    model = train(few, recipe=Recipe(features="six").with_settings(steps=20, num_inducing=10))
    every, some = (model.label(few, targets, counterparts=planted) for targets in ("uncertain", "bcu"))
    assert some.meta[COUNTERPARTS_KEY] == every.meta[COUNTERPARTS_KEY]
    same = every[np.isin(every["Source_Name"], some["Source_Name"])]
    assert len(same) == len(some) == np.sum(few.classes == "bcu")
    for name in ("Sum_P_agn", "P_CPT", "CPT_NAME"):
        np.testing.assert_array_equal(same[name], some[name])
    part = few[np.isin(few.names, every["Source_Name"][:9])]
    of_part = model.label(part, "uncertain", counterparts=planted, teachers=few)
    np.testing.assert_allclose(of_part["Sum_P_agn"], every["Sum_P_agn"][:9], atol=1e-5)


def test_the_errors_of_c_are_those_of_its_scatter():
    """Two categories of fluxes that overlap, so that their c go against each other; 24 skies."""
    found, stated = [], []
    for seed in range(24):
        rng = np.random.default_rng((11, seed))
        table, P = sources(rng, 1500), kinds(rng, 1500)
        has = np.flatnonzero((rng.uniform(size=1500) < P[:, 0]) & (rng.uniform(size=1500) < 0.6))
        real = [x[has] for x in drawn_within(rng, table)]
        ra, dec = (np.append(x, y) for x, y in zip(real, directions(rng, 20_000), strict=True))
        flux = rng.normal(size=len(ra)) + 0.5 * (np.arange(len(ra)) < len(has))
        sky = objects(ra, dec, flux=flux, flux_err=np.full(len(ra), 0.6))
        sky = replace(sky.parted([-0.4, 0.4]), flux=None)
        (strength,) = weigh([sky], table, P, np.full(1500, "unassociated"))[1]
        found.append(strength.completeness["agn"])
        stated.append(strength.errors["agn"])
    inner = np.all(np.array(found) > 0.02, axis=1)  # not at the edge
    scatter = np.std(np.array(found)[inner], axis=0)
    assert inner.sum() > 18
    np.testing.assert_allclose(np.mean(np.array(stated)[inner], axis=0), scatter, rtol=0.3)
