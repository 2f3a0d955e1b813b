"""Further sources to learn from, of classes that no catalogue has: what they teach, and what they leave alone."""

import numpy as np
import pytest
from astropy.table import Table

from fermiclass import ClassGrouping, Recipe, extract_features, learn_also, train
from fermiclass.catalog.releases import CatalogWarning
from fermiclass.errors import CatalogError, ClassError
from fermiclass.labelling.catalog_model import targets_of
from fermiclass.nimgp.settings import Settings
from tests.commands import refuses, run_well

KNOWN = ("RAJ2000", "DEJ2000", "Signif_Avg", "Pivot_Energy", "Flux1000", "LP_Index", "LP_beta", "LP_SigCurv")
ERRORS = ("Unc_Flux1000", "Unc_LP_Index", "Unc_LP_beta")
SHARE = 0.2


@pytest.fixture(scope="module")
def few(dr4):
    return dr4[::4]


def like(catalog, number, word="alike"):
    """Sources like the unassociated ones."""
    bare = catalog[catalog.classes == ""]
    rows = np.random.default_rng(0).integers(len(bare), size=number)
    return Table({name: bare.column(name)[rows] for name in (*KNOWN, *ERRORS)} | {"class": [word] * number})


def trained(catalog, **changes):
    settings = Settings(steps=200, num_inducing=25)
    return train(catalog, settings=settings, features="six", also_share=SHARE, **changes)


def test_the_classes_are_added():
    grouping = ClassGrouping.parse("bll,fsrq,Sub=also,burst=also,other")
    assert grouping.own == ("Sub", "burst")
    assert grouping.assign(["sub", "burst", "snr", "new", ""]).tolist() == ["Sub", "burst", "other", "other", ""]
    assert ClassGrouping.parse(str(grouping)) == grouping


def test_the_sources_of_the_catalogue_stay(few):
    made = learn_also(few, like(few, 40))
    n, six = len(few), extract_features(made, "six")
    assert six.y[n:].tolist() == ["alike"] * 40
    assert np.all(six.imputed_value[n:].mean(axis=0) < 1)
    for name in few.table.colnames:
        assert made.table[name].dtype.kind == few.table[name].dtype.kind
        np.testing.assert_array_equal(made.table[name][:n], few.table[name])
    for targets in ("unassociated", "uncertain", "all"):
        same = targets_of(few, few.grouping(None), targets)
        np.testing.assert_array_equal(targets_of(made, made.grouping(None), targets), np.append(same, [False] * 40))


def test_a_known_class_has_more_sources(few):
    made = learn_also(few, like(few, 40, "MSP"))
    counts = Recipe(features="six").check(made).rows.y.tolist().count("msp")
    assert counts == Recipe(features="six").check(few).rows.y.tolist().count("msp") + 40
    with pytest.warns(CatalogWarning, match="5 further sources teach nothing, such as one of class bcu"):
        Recipe(features="six").check(learn_also(made, like(few, 5, "bcu")))
    for each in (made, made[np.arange(len(made))[::-1]], learn_also(made, like(few, 5, "bcu"))):
        for targets in ("all", "uncertain"):
            labelled = each.names[targets_of(each, each.grouping(None), targets)]
            assert sorted(labelled) == sorted(few.names[targets_of(few, few.grouping(None), targets)])


def test_the_share_counts_and_not_the_number_of_rows(few):
    """Sources like the unassociated ones get a little more than their share, as the other classes fit these less."""
    means = []
    for number in (150, 600):
        made = learn_also(few, like(few, number))
        model = trained(made)
        own, bare = np.array(model.classes) == "alike", made.classes == ""
        shares = model.training_shares * model.own_factors
        np.testing.assert_allclose(shares[own], SHARE * shares.sum())
        means.append(np.mean(model.label(made, "unassociated", evidence="none")["P_alike"]))
        plain = model.ratios(made, "trained", evidence=())
        np.testing.assert_array_equal(plain, np.tile(np.where(own, model.own_factors, 1.0), (len(made), 1)))
        asked = model.ratios(made, {"unassociated": dict.fromkeys(model.classes, 1.0)}, evidence=())
        np.testing.assert_allclose(asked[bare], np.tile(1 / model.training_shares / len(own), (bare.sum(), 1)))
        np.testing.assert_array_equal(asked[~bare], plain[~bare])
    assert SHARE < min(means) < max(means) < 2 * SHARE
    assert abs(means[0] - means[1]) < 0.05


def test_bad_input_is_refused(few, tmp_path):
    table = like(few, 10)
    with pytest.raises(CatalogError, match="10 of 10 rows have no class"):
        learn_also(few, table[[name for name in table.colnames if name != "class"]])
    for group in ("pulsar", "Other"):
        with pytest.raises(CatalogError, match=f"'{group.lower()}' is a group of classes"):
            learn_also(few, like(few, 10, group))
    with pytest.raises(ClassError, match="b-quark"):
        Recipe(features="six").check(learn_also(few, like(few, 10, "b-quark")))
    with pytest.raises(ClassError, match="4 sources of class 'alike'"):
        Recipe(features="six").check(learn_also(few, table[:4]))
    for share in (0.0, 1.0, float("nan")):
        with pytest.raises(ClassError, match="share between 0 and 1"):
            Recipe(also_share=share)
    with pytest.raises(ClassError, match="--also"):
        Recipe(also_share=0.1).check(few)


def test_the_command_says_what_it_expects(few_file, tmp_path):
    from fermiclass import read_catalog

    like(read_catalog(few_file), 30).write(tmp_path / "mine.csv")
    quick = ("--steps", "5", "--set", "num_inducing=8", "--features", "six")
    printed = run_well("classify", few_file, "--also", "mine.csv", *quick, "-o", "labels.fits", cwd=tmp_path)
    assert "30 alike" in printed
    assert "0.01 of the unassociated" in " ".join(printed.split())
    run_well("report", "labels.fits", "--catalog", few_file, "--also", "mine.csv", "-o", "page.html", cwd=tmp_path)
    refuses(tmp_path, "--also", "classify", few_file, "--set", "also_share=0.1", *quick, "-o", "other.fits")
