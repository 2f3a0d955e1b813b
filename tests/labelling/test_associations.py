"""What association selects, and CLASS2 as evidence: numbers and rates of simulated catalogues are recovered."""

from dataclasses import replace

import numpy as np
import pytest
from astropy.table import Table

from fermiclass import read_catalog, read_sources, train
from fermiclass.brought.sources import OWN_SOURCES
from fermiclass.catalog import Catalog, ClassGrouping, default_classes
from fermiclass.catalog.reading import lost_second_associations, put_back_second_associations
from fermiclass.catalog.releases import CatalogWarning
from fermiclass.features import DEFAULT_FEATURE_SET, FEATURE_SETS
from fermiclass.labelling.associations import (
    BCU_NOT_AGN,
    RATIO,
    UNTYPED_FSRQ,
    SecondAssociations,
    SelectionPrior,
    _reference,
    of_release,
)
from fermiclass.labelling.catalog_model import CatalogModel
from fermiclass.nimgp.settings import Settings
from tests.conftest import make_up_catalog, slim_path, without_graphs

SLOPE, INTERCEPT, GRADIENT, REFERENCE = -0.8, 1.0, -0.6, 6.0
PRIOR = SelectionPrior(SLOPE, INTERCEPT, GRADIENT, 1.5, REFERENCE)


def catalogue(significance, latitude, classes):
    return make_up_catalog(classes, Signif_Avg=np.asarray(significance, float), GLAT=np.asarray(latitude, float))


def simulate(n, *, slope=SLOPE, seed=0):
    """AGN without association by ln S, those with one without type by latitude; and sources that are no AGN.

    Also returns whether a source is an AGN: what a perfect classifier says.
    """
    rng = np.random.default_rng(seed)
    ln_s, b = np.log(4.0) + rng.exponential(0.8, n), rng.uniform(-60.0, 60.0, n)
    is_agn = rng.uniform(size=n) < 0.8

    def drawn(log_odds):
        return rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-log_odds))

    untyped = drawn(INTERCEPT + GRADIENT * np.arcsinh(np.abs(b) / 3.0))
    typed = np.where(rng.uniform(size=n) < 0.5, "bll", "fsrq")
    agn = np.where(drawn(-0.3 + slope * (ln_s - np.log(REFERENCE))), "", np.where(untyped, "bcu", typed))
    rest = np.where(rng.uniform(size=n) < 0.5, "", "psr")
    return catalogue(np.exp(ln_s), b, np.where(is_agn, agn, rest)), is_agn.astype(float)


def test_known_numbers_are_recovered():
    """From 40 000 sources; a regression of the same size has errors of 0.02 to 0.03."""
    catalog, p_agn = simulate(40_000)
    prior = SelectionPrior.fit(catalog, p_agn, 4.0)
    assert prior.slope == pytest.approx(SLOPE, abs=0.1)
    assert prior.intercept == pytest.approx(INTERCEPT, abs=0.12)
    assert prior.gradient == pytest.approx(GRADIENT, abs=0.06)
    near = np.arcsinh(np.abs(np.asarray(catalog.table["GLAT"])) / 3.0)
    tau = 1.0 + np.exp(prior.intercept + prior.gradient * near)
    assert prior.norm == pytest.approx(np.mean(tau[np.isin(catalog.classes, ["bll", "fsrq"])]))


def test_the_reference_is_that_of_the_mixture():
    """Unassociated sources of a mixture with given odds, and a classifier that learned at other odds."""
    rng, n, odds, reference = np.random.default_rng(1), 40_000, 5.0, 7.0
    significance = 4.0 * np.exp(rng.exponential(0.5, n))
    r = (significance / reference) ** SLOPE
    is_agn = rng.uniform(size=n) < odds * r / (1 + odds * r)
    x = rng.normal(np.where(is_agn, 1.0, -1.0))
    p = odds / (odds + np.exp(-2 * x))  # the densities of x have the ratio exp(2x)
    assert _reference(significance**SLOPE, SLOPE, p, odds) == pytest.approx(reference, rel=0.1)
    # A catalogue whose classifier is perfect has as many as it says.
    ratio = significance**SLOPE * _reference(significance**SLOPE, SLOPE, is_agn.astype(float), odds) ** -SLOPE * odds
    assert np.mean(ratio / (1 + ratio)) == pytest.approx(is_agn.mean(), abs=1e-3)


def test_faint_agn_are_never_made_rarer():
    """Where the bright ones lack associations, which no selection explains, the slope is 0."""
    prior = SelectionPrior.fit(*simulate(10_000, slope=0.5), 4.0)
    assert prior.slope == 0.0
    assert prior.gradient < 0.0


def few_of(catalog, p_agn, chosen, count):
    """The catalogue with only some of the chosen sources."""
    rows = np.concatenate([np.flatnonzero(~chosen), np.flatnonzero(chosen)[:count]])
    return catalog[rows], p_agn[rows]


def test_too_few_sources_change_nothing():
    catalog, p_agn = simulate(2000)
    for code in ("bcu", "bll"):
        chosen = np.isin(catalog.classes, ["bll", "fsrq"] if code == "bll" else [code])
        assert SelectionPrior.fit(*few_of(catalog, p_agn, chosen, 19), 4.0) == SelectionPrior()
        assert SelectionPrior.fit(*few_of(catalog, p_agn, chosen, 20), 4.0) != SelectionPrior()
    np.testing.assert_array_equal(SelectionPrior().odds(catalog), 1.0)
    latitude = SelectionPrior.fit(*few_of(catalog, p_agn, catalog.classes == "", 5), 4.0)
    assert latitude == SelectionPrior(0.0, latitude.intercept, latitude.gradient, latitude.norm) != SelectionPrior()


def test_sources_of_unknown_place_or_significance_are_left_out():
    catalog, p_agn = simulate(2000)
    table = catalog.table.copy()
    table["Signif_Avg"][::3], table["GLAT"][1::3] = np.nan, np.nan
    spoilt = Catalog(table, catalog.release, catalog.source, catalog.sha256)
    known = np.arange(2000) % 3 == 2
    assert SelectionPrior.fit(spoilt, p_agn, 4.0) == SelectionPrior.fit(catalog[known], p_agn[known], 4.0)
    np.testing.assert_array_equal(PRIOR.odds(spoilt)[~known], 1.0)


def test_odds_are_the_formula():
    significance, latitude = np.array([REFERENCE, 2 * REFERENCE, 4.0, 100.0]), np.array([0.0, -3.0, 20.0, 90.0])
    near = np.arcsinh(np.abs(latitude) / 3.0)
    expected = (1 + np.exp(INTERCEPT + GRADIENT * near)) / 1.5 * (significance / REFERENCE) ** SLOPE
    np.testing.assert_allclose(PRIOR.odds(catalogue(significance, latitude, [""] * 4)), expected)


def test_ratios_of_the_default():
    sources = catalogue([5.0, 5.0, 5.0, 5.0], [2.0, 2.0, 2.0, 2.0], ["", "bcu", "unk", "psr"])
    r = PRIOR.odds(sources)[0]
    assert r > 1.0
    classes = ["bll", "fsrq", "other", "psr"]
    ratios = PRIOR.ratios(sources, ClassGrouping.parse(default_classes([])), classes)
    of_bcu = [1, UNTYPED_FSRQ, BCU_NOT_AGN, BCU_NOT_AGN]
    np.testing.assert_array_equal(ratios, [[r, r, 1, 1], of_bcu, [1, 1, 1, 1], [1, 1, 1, 1]])
    back = PRIOR.ratios(sources, ClassGrouping.parse(default_classes([])), classes[::-1])
    np.testing.assert_array_equal(back, ratios[:, ::-1])


@pytest.mark.parametrize("spec", ["bll,fsrq", "fsrq,psr", "bll,fsrq,psr", "psr,bll,snr"])
def test_fewer_classes_have_the_same_odds(spec):
    sources = catalogue([5.0, 9.0, 5.0], [2.0, 40.0, 2.0], ["", "", "bcu"])
    classes = list(ClassGrouping.parse(spec).names)
    ratios = PRIOR.ratios(sources, ClassGrouping.parse(spec), classes)
    default = ["other" if name == "snr" else name for name in classes]
    np.testing.assert_array_equal(ratios, PRIOR.ratios(sources, ClassGrouping.parse(default_classes([])), default))


def test_groups_with_most_of_the_agn_count_as_agn():
    sources = catalogue([5.0, 5.0], [2.0, 2.0], ["", "bcu"])
    r = PRIOR.odds(sources)[0]
    grouping = ClassGrouping.parse("quasars=fsrq+ssrq+snr,radio=rdg,mixed=sey+pwn,psr,other")
    of_bcu = [UNTYPED_FSRQ, 1, BCU_NOT_AGN, BCU_NOT_AGN, 1]  # other has bll
    np.testing.assert_array_equal(PRIOR.ratios(sources, grouping, list(grouping.names)), [[r, r, 1, 1, r], of_bcu])


# --- second associations ---------------------------------------------------------------------------------------------


GROUPING = ClassGrouping.parse(default_classes([]))
CLASSES = ["bll", "fsrq", "other", "psr"]
CHANCE = {"agn": 0.04, "pulsar": 0.01, "other": 0.005}
FRACTIONS = {"agn": 0.6, "pulsar": 0.25, "other": 0.15}
CODE = {"agn": "bcu", "pulsar": "PSR", "other": "snr"}


def simulate_second(n, seed=0):
    """Draw unassociated sources, their kinds, and their CLASS2 by the model."""
    rng = np.random.default_rng(seed)
    kinds = list(FRACTIONS)
    kind = rng.choice(kinds, size=n, p=list(FRACTIONS.values()))
    class2 = np.full(n, "unk")  # says nothing, as no CLASS2 does
    edges = np.cumsum([[CHANCE[k] * (RATIO if k == own else 1.0) for k in kinds] for own in kind], axis=1)
    u = rng.uniform(size=(n, 1))
    said = (u > edges).sum(axis=1)
    for j, name in enumerate(kinds):
        class2[said == j] = CODE[name]
    return make_up_catalog([""] * n, CLASS2=class2), kind, said


def test_rates_and_posteriors_are_those_of_the_draws():
    catalog, kind, said = simulate_second(200_000)
    second = SecondAssociations.fit(catalog, FRACTIONS)
    assert dict(second.chance) == pytest.approx(CHANCE, rel=0.1)
    prior = np.array([0.3, 0.3, 0.15, 0.25])
    p = prior * second.factors(catalog, GROUPING, CLASSES)
    p /= p.sum(axis=1, keepdims=True)
    for j in range(4):
        rows = said == j
        found = [np.mean(kind[rows] == name) for name in ("agn", "other", "pulsar")]
        expected = [p[rows][0, :2].sum(), *p[rows][0, 2:]]
        np.testing.assert_allclose(found, expected, atol=5 * np.sqrt(0.25 / rows.sum()))


def test_only_unassociated_sources_have_evidence():
    second = SecondAssociations(CHANCE)
    sources = make_up_catalog(["", "bcu", "unk", "psr"], CLASS2=["bll"] * 4)
    factors = second.factors(sources, GROUPING, CLASSES)
    np.testing.assert_array_equal(factors, [[RATIO, RATIO, 1, 1], *[[1, 1, 1, 1]] * 3])
    both = second.factors(sources, ClassGrouping.parse("mixed=bll+snr,other"), ["mixed", "other"])
    np.testing.assert_array_equal(both, np.ones((4, 2)))


@pytest.mark.parametrize("class2", [[""], ["unk"], []])
def test_a_catalogue_that_says_nothing_has_no_effect(class2):
    catalog = make_up_catalog([""] * len(class2), CLASS2=class2)
    second = SecondAssociations.fit(catalog, FRACTIONS)
    assert second == SecondAssociations()
    np.testing.assert_array_equal(second.factors(catalog, GROUPING, CLASSES), 1.0)
    catalog.table.remove_column("CLASS2")
    np.testing.assert_array_equal(SecondAssociations(CHANCE).factors(catalog, GROUPING, CLASSES), 1.0)


def test_rates_of_a_small_catalogue_leave_room_for_no_class2():
    """Where all sources have CLASS2, and none is of the kind, the likelihood of no CLASS2 stays above 0."""
    second = SecondAssociations.fit(
        make_up_catalog([""] * 3, CLASS2=["bll", "psr", "snr"]), dict.fromkeys(FRACTIONS, 0.0)
    )
    assert np.all(second.factors(make_up_catalog([""], CLASS2=[""]), GROUPING, CLASSES) > 0)


@pytest.mark.parametrize(
    ("features", "classes"),
    [("PL_Index", None), ("PL_Index,ln_Signif_Avg,asinh_GLAT", None), ("six", "agn=bll+fsrq,other")],
)
def test_the_selection_of_a_release_is_that_of_its_default_features(few, features, classes):
    """Few features say little of which sources are AGN, and nothing of how completely AGN are associated."""
    with without_graphs():
        model = train(few, settings=Settings(steps=20, num_inducing=10), features=features, classes=classes)
    kept = of_release("4FGL-DR4")
    assert model.second == kept.second
    found = model.selection
    assert found.slope == (0.0 if features == "PL_Index" else kept.selection.slope)
    assert found.gradient == (kept.selection.gradient if "asinh_GLAT" in features else 0.0)
    labels = model.label(few, "unassociated", evidence="none")
    assert np.mean(labels["P_agn" if classes else "Sum_P_agn"]) == pytest.approx(kept.fractions["agn"], abs=1e-3)
    if features == "PL_Index":  # neither place nor significance counts, and a table of one's own may lack them
        own = few.table["Source_Name", "PL_Index", "Unc_PL_Index"][few.classes == ""]
        mine = model.label(read_sources(Table(own, meta={})), evidence="none")
        known = np.isfinite(own["Unc_PL_Index"])  # an error bar that is not known depends on the significance
        assert mine["Source_Name"].tolist() == labels["Source_Name"].tolist()
        for name in ("P_bll", "P_psr", "Sum_P_agn"):
            np.testing.assert_allclose(mine[name][known], labels[name][known], atol=1e-5)


@pytest.mark.filterwarnings("ignore::fermiclass.catalog.releases.UnknownReleaseWarning")
def test_another_list_is_estimated_with_the_default_features(few, monkeypatch):
    unknown = Catalog(few.table, OWN_SOURCES, "list.fits", "0" * 64)
    by, kept = [], of_release("4FGL-DR4")

    def estimated(model, catalog, table):
        by.append(model.features)
        return kept

    monkeypatch.setattr(CatalogModel, "associations", estimated)
    with without_graphs():
        train(unknown, settings=Settings(steps=2, num_inducing=5), features="PL_Index", classes="bll,fsrq,psr")
    assert {*by} == {tuple(feature.name for feature in FEATURE_SETS[DEFAULT_FEATURE_SET])}


def test_as_many_agn_are_expected_as_are_wanted():
    catalog, p_agn = simulate(4000)
    bare = catalog.classes == ""
    p = np.clip(p_agn[bare], 0.2, 0.7)
    for columns in ({"GLAT", "Signif_Avg"}, {"Signif_Avg"}, {"GLAT"}, set()):
        found = PRIOR.expecting(0.4, p, catalog[bare], columns)
        r = found.odds(catalog[bare])
        assert np.mean(r * p / (r * p + 1.0 - p)) == pytest.approx(0.4, abs=1e-9)
        for name in ("GLAT", "Signif_Avg"):  # r depends on what the features have, and on nothing else
            table = catalog[bare].table.copy()
            table[name] = np.asarray(table[name])[::-1]
            moved = found.odds(replace(catalog[bare], table=table))
            assert np.allclose(moved, r) == (name not in columns)
            table[name] = np.nan
            np.testing.assert_allclose(found.odds(replace(catalog[bare], table=table)), 1.0 if name in columns else r)
    assert replace(PRIOR.expecting(0.4, p, catalog[bare], {"GLAT", "Signif_Avg"}), norm=PRIOR.norm) == PRIOR
    assert SelectionPrior().expecting(0.4, p, catalog[bare], set()) == SelectionPrior()


def test_a_reference_at_its_bound_is_a_warning_and_no_correction():
    """A classifier that knows nothing: its likelihood has no maximum."""
    catalog, _ = simulate(4000)
    with pytest.warns(CatalogWarning, match="the features do not tell how completely"):
        assert SelectionPrior.fit(catalog, np.full(len(catalog), 0.999), 4.0) == SelectionPrior()


def test_lost_second_associations_are_put_back(dr4):
    """Facts of DR3, in rows that are unassociated, have none, and have a probability of one."""
    dr3 = read_catalog(slim_path("4FGL-DR3"))
    of_dr3 = dict(zip(dr3.names, zip(dr3.table["ASSOC2"], dr3.table["CLASS2"], strict=True), strict=True))
    raw = Table.read(slim_path("4FGL-DR4"), 1)
    empty = np.char.strip(np.asarray(raw["CLASS2"]).astype(str)) == ""
    filled = empty & (np.asarray(dr4.table["CLASS2"]) != "")
    assert filled.sum() == 296
    assert np.all(dr4.classes[filled] == "")
    assert np.all(np.asarray(dr4.table["ASSOC_PROB_BAY"])[filled] > 0)
    for row in np.flatnonzero(filled):
        assert tuple(dr4.table[row]["ASSOC2", "CLASS2"]) == tuple(of_dr3[dr4.names[row]])
    as_released = np.char.strip(np.asarray(raw["CLASS2"]).astype(str))
    np.testing.assert_array_equal(np.asarray(dr4.table["CLASS2"])[~filled], as_released[~filled])


def test_second_associations_are_put_back_where_they_are_missing_only(few):
    table = few.table.copy()
    rows = np.isin(few.names, list(lost_second_associations()))
    table["CLASS2"][rows], table["ASSOC2"][rows] = "", ""
    one, two, three = np.flatnonzero(rows)[:3]
    table["ASSOC_PROB_BAY"][one] = 0.0
    table["CLASS1"][two] = "psr"
    table["CLASS2"][three] = "msp"
    unnamed, elsewhere = table.copy(), table[["CLASS1", "CLASS2", "ASSOC2"]]
    elsewhere["Source_Name"] = [f"source {name.removeprefix('4FGL ')}" for name in few.names]
    put_back_second_associations(table, few.release, "few")
    put_back_second_associations(elsewhere, few.release, "without ASSOC_PROB_BAY")
    assert np.flatnonzero(elsewhere["CLASS2"] != table["CLASS2"]).tolist() == [one]
    put_back_second_associations(unnamed, OWN_SOURCES, "mine.csv")
    assert unnamed["CLASS2"].tolist() == table["CLASS2"].tolist()
    put_back_second_associations(older := few.table.copy(), read_catalog(slim_path("4FGL-DR3")).release, "older")
    assert older["CLASS2"].tolist() == few.table["CLASS2"].tolist()
    assert table["CLASS2"][[one, two, three]].tolist() == ["", "", "msp"]
    assert np.sum(np.asarray(table["CLASS2"])[rows] != "") == rows.sum() - 2
