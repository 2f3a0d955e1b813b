"""Follow-up lists: their order, what each constraint leaves, and what is refused."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from astropy.table import MaskedColumn

from fermiclass import followup
from fermiclass.analysis.followup import CRITERIA
from fermiclass.errors import CatalogError, FermiclassError, SelectionError
from fermiclass.labelling.labels import classes_of, label_table

CLASSES = ["bll", "fsrq", "psr"]


def labelled(catalog, seed=0):
    """Labels of real sources, with probabilities that are made up."""
    rng = np.random.default_rng(seed)
    n = len(catalog)
    P = rng.dirichlet(np.ones(3), n)
    entropy = -np.sum(P * np.log(P), axis=1)
    prediction = SimpleNamespace(
        probabilities=P, std=0.1 * P, entropy=entropy, information=entropy * rng.random(n), noise_entropy=rng.random(n)
    )
    meta = {"catalog": "4FGL-DR4.fits.gz", "creator": "fermiclass"}
    flags = np.zeros(n, np.int32)
    return label_table(catalog, CLASSES, prediction, feature_flags=flags, ood_score=rng.uniform(0.0, 0.9, n), meta=meta)


@pytest.fixture(scope="module")
def few(dr4):
    return dr4[np.isin(dr4.classes, ["", "bcu", "unk"])][::14]


@pytest.fixture(scope="module")
def labels(few):
    return labelled(few)


@pytest.mark.parametrize("by", CRITERIA)
def test_the_highest_come_first(labels, by):
    ranking = followup(labels, by=by)
    weighted = by in ("information", "bald", "probability")
    score = np.asarray(ranking[CRITERIA[by]]) * (np.asarray(ranking["LASTS"]) if weighted else 1)
    assert len(ranking) == len(labels)
    assert np.all(np.diff(score) <= 0)
    np.testing.assert_array_equal(ranking["RANK"], np.arange(1, len(labels) + 1))
    assert sorted(ranking["Source_Name"]) == sorted(labels["Source_Name"])
    assert ranking.colnames == ["RANK", *labels.colnames]
    assert ranking.meta["rankedby"] == CRITERIA[by] + " * LASTS" * weighted
    assert ranking.meta["selected"] == f"all {len(labels)}"
    assert ranking.meta["creator"] == "fermiclass"
    assert "RANK" not in labels.colnames


def test_rows_stay_together(labels):
    ranking = followup(labels, by="ood")
    rows = {name: row for row, name in enumerate(labels["Source_Name"])}
    index = [rows[name] for name in ranking["Source_Name"]]
    for name in labels.colnames:
        np.testing.assert_array_equal(ranking[name], labels[name][index], err_msg=name)
        assert ranking[name].unit == labels[name].unit
        assert ranking[name].meta.get("ucd") == labels[name].meta.get("ucd")


def test_a_wanted_class(labels):
    ranking = followup(labels, want="psr", min_probability=0.0, flags=())
    assert ranking.meta["rankedby"] == "P_psr * LASTS"
    assert len(ranking) == len(labels)
    lasting = ranking["P_psr"] * ranking["LASTS"]
    assert np.all(np.diff(lasting) <= 0)
    assert ranking.meta["expected"] == f"{ranking['P_psr'].sum():.1f} psr, {lasting.sum():.1f} that last"
    assert "expected" not in followup(labels).meta
    ranking = followup(labels, want="psr", by="entropy", min_probability=0.6)
    assert set(ranking["PRED_CLASS"]) == {"psr"}
    assert np.all(np.diff(ranking["ENTROPY"]) <= 0)
    doubtful = np.asarray(labels["LABEL_FLAGS"]) & 12 > 0
    assert len(ranking) == np.sum((labels["P_psr"] >= 0.6) & ~doubtful) > 0
    assert np.all(followup(labels, min_probability=0.9)["P_MAX"] >= 0.9)


def test_a_wanted_group(labels):
    """Both kinds of pulsars are wanted together, or one of them."""
    table = labels.copy()
    table["P_msp"], table["P_psr"] = 0.7 * labels["P_psr"], 0.3 * labels["P_psr"]
    table["Unc_P_msp"], table["Sum_P_psr"] = labels["Unc_P_psr"], labels["P_psr"]
    both = followup(table, want="psr")
    assert both.meta["rankedby"] == "Sum_P_psr * LASTS"
    assert list(both["Source_Name"]) == list(followup(labels, want="psr")["Source_Name"])
    for want, column in (("msp", "P_msp"), ("P_psr", "P_psr"), ("Sum_P_psr", "Sum_P_psr")):
        one = followup(table, want=want, min_probability=0.2)
        assert one.meta["rankedby"] == f"{column} * LASTS"
        assert np.all(one[column] >= 0.2)
    table["PRED_CLASS"] = np.where(table["PRED_CLASS"] == "psr", "msp", table["PRED_CLASS"])
    assert len(followup(table, want="psr", by="entropy")) == len(followup(labels, want="psr", by="entropy")) > 0


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        ({"dec": (-30.0, 60.0)}, lambda t: (t["DEJ2000"] >= -30) & (t["DEJ2000"] <= 60)),
        ({"ra": (100.0, 200.0)}, lambda t: (t["RAJ2000"] >= 100) & (t["RAJ2000"] <= 200)),
        ({"ra": (330.0, 30.0)}, lambda t: (t["RAJ2000"] >= 330) | (t["RAJ2000"] <= 30)),
        ({"abs_glat": (10.0, 90.0)}, lambda t: np.abs(t["GLAT"]) >= 10),
        ({"abs_glat": (0.0, 5.0)}, lambda t: np.abs(t["GLAT"]) <= 5),
        ({"min_significance": 8.0}, lambda t: t["Signif_Avg"] >= 8),
        ({"flags": (8,)}, lambda t: np.asarray(t["LABEL_FLAGS"]) & 8 == 0),
        ({"min_lasts": 0.8}, lambda t: t["LASTS"] >= 0.8),
        ({"max_ood": 0.5}, lambda t: t["OOD_SCORE"] <= 0.5),
        ({"status": "bcu"}, lambda t: t["STATUS"] == "bcu"),
        ({"status": ("bcu", "unk")}, lambda t: np.isin(t["STATUS"], ["bcu", "unk"])),
    ],
)
def test_constraints(labels, constraint, expected):
    left = labels["Source_Name"][expected(labels)]
    assert 0 < len(left) < len(labels)
    ranking = followup(labels, **constraint)
    assert sorted(ranking["Source_Name"]) == sorted(left)
    assert ranking.meta["selected"].endswith(f" {len(left)}")


def test_candidates_of_a_class_are_probable_and_not_in_doubt(labels):
    """An imputed uncertainty (bit 1) is no doubt: most pulsars have Frac_Variability 0, hence none."""
    table = labels.copy()
    table["LABEL_FLAGS"][::3] |= 1
    good = (np.asarray(table["P_psr"]) >= 0.5) & (np.asarray(table["LABEL_FLAGS"]) & 12 == 0)
    ranking = followup(table, want="psr")
    assert sorted(ranking["Source_Name"]) == sorted(table["Source_Name"][good])
    assert np.any(np.asarray(ranking["LABEL_FLAGS"]) & 1)
    assert re.search(r"; P_psr >= 0\.5 \d+; without flags 4,8 \d+$", ranking.meta["selected"])


def test_unknown_values_fulfil_nothing_and_come_last(labels):
    table = labels.copy()
    table["Signif_Avg"][3] = np.nan
    masked = np.zeros(len(table), bool)
    masked[5] = True
    table["GLAT"] = MaskedColumn(table["GLAT"], mask=masked)
    assert followup(table, by="significance")["Source_Name"][-1] == table["Source_Name"][3]
    assert table["Source_Name"][3] not in followup(table, min_significance=-1e9)["Source_Name"]
    assert table["Source_Name"][5] not in followup(table, abs_glat=(0.0, 90.0))["Source_Name"]


def test_the_order_of_the_rows_does_not_matter(labels):
    table = labels.copy()
    table["ENTROPY"][:] = np.round(table["ENTROPY"], 1)  # ties
    order = np.random.default_rng(1).permutation(len(table))
    one, other = followup(table, by="entropy"), followup(table[order], by="entropy")
    np.testing.assert_array_equal(one["Source_Name"], other["Source_Name"])


def test_a_ranking_can_be_ranked_again(labels):
    again = followup(followup(labels, by="ood", top=100), by="entropy")
    assert again.colnames == ["RANK", *labels.colnames]
    np.testing.assert_array_equal(again["RANK"], np.arange(1, 101))
    assert np.all(np.diff(again["ENTROPY"]) <= 0)


def test_top_and_nothing_left(labels):
    np.testing.assert_array_equal(followup(labels, top=7)["Source_Name"], followup(labels)["Source_Name"][:7])
    none = followup(labels, dec=(89.9, 90.0))
    assert len(none) == 0
    assert none.colnames == ["RANK", *labels.colnames]
    assert none.meta["selected"].endswith("Dec 89.9 to 90 deg 0")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "beauty"}, r"by='beauty' is unknown: choose one of information, bald, entropy"),
        ({"want": "gc"}, r"'gc' is not a class of the labels: choose one of bll, fsrq, psr"),
        ({"dec": (50.0, -10.0)}, "dec is from 50 to -10 deg: give the smaller number first"),
        ({"ra": (0.0, 400.0)}, "ra=400 is not valid: give a number from 0 to 360"),
        ({"max_error": float("nan")}, "max_error=nan is not valid: give a number from 0"),
        ({"max_ood": 2.0}, "max_ood=2 is not valid: give a number from 0 to 1"),
        ({"status": "known"}, "status='known' is unknown: choose some of unassociated, bcu, unk, associated, ident"),
        ({"flags": (4, 5)}, "flags=5 is no bit of LABEL_FLAGS: choose some of 1, 2, 4, 8"),
        ({"top": 0}, "top=0 is not valid: give 1 or more"),
    ],
)
def test_refusals(labels, options, message):
    with pytest.raises(SelectionError, match=message):
        followup(labels, **options)


def test_labels_of_a_first_order_method_are_not_ranked_by_their_noise(labels):
    """They have no part of it: the order would be that of rounding."""
    first_order = labels.copy()
    first_order["NOISE_ENTROPY"] = np.random.default_rng(0).uniform(0, 2e-7, len(labels))
    with pytest.raises(
        SelectionError, match=r"NOISE_ENTROPY is 0 for all .*Rank by 'information', or label with --meth"
    ):
        followup(first_order, by="noise")
    assert len(followup(first_order, by="information")) == len(labels)
    assert len(followup(first_order[:0], by="noise")) == 0


def test_missing_columns(labels, dr4):
    without = labels.copy()
    without.remove_column("Flux1000")
    with pytest.raises(CatalogError, match="no column Flux1000"):
        followup(without, min_flux=1e-10)
    bare = labels.copy()
    bare.remove_column("INFORMATION")
    with pytest.raises(CatalogError, match=r"no column INFORMATION\. Give a table that 'fermiclass classify' wrote"):
        followup(bare)
    with pytest.raises(CatalogError, match="no column PRED_CLASS"):
        followup(dr4.table)
    assert issubclass(SelectionError, FermiclassError)


def test_classes_of_a_label_table(labels):
    assert classes_of(labels) == CLASSES
    with pytest.raises(CatalogError, match=r"no columns P_<class> and Unc_P_<class>: it is not a label table"):
        classes_of(labels["Source_Name", "P_MAX"])
