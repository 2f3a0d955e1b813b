"""The default classes: what has no single class teaches what it can, and every source has a place."""

import numpy as np
import pytest

from fermiclass import Catalog, train
from fermiclass.catalog import THREE_CLASSES, default_classes, read_catalog
from fermiclass.labelling.associations import SelectionPrior
from fermiclass.labelling.recipe import DEFAULT_SETTINGS, Recipe
from fermiclass.nimgp.settings import Settings
from tests.conftest import slim_path

TINY = {"steps": 40, "num_inducing": 15}
CLASSES = ["bll", "fsrq", "msp", "other", "psr"]
SOFT, CHANCE = "bll|fsrq|other", "psr|other"
SETS = {label: tuple(label.split("|")) for label in ("bll|fsrq", "msp|other", CHANCE, SOFT)}


@pytest.fixture(scope="module")
def few(dr4):
    """A sixth of all sources, and all soft Galactic ones."""
    return dr4[(np.arange(len(dr4)) % 6 == 0) | dr4.soft_galactic]


@pytest.fixture(scope="module")
def model(few):
    return train(few, recipe=Recipe().with_settings(**TINY), features="six,asinh_GLAT")


@pytest.fixture(scope="module")
def labels(model, few):
    return model.label(few, "all", class_priors="trained")


def test_every_source_of_a_known_kind_teaches(few):
    table = Recipe(features="six").check(few).rows
    soft = (few.classes == "") & few.soft_galactic
    assert soft.sum() > 50
    known = ~np.isin(few.classes, ["", "bcu", "unk"])
    np.testing.assert_array_equal(table.rows, np.flatnonzero(known | soft))
    assert set(table.y) == {*CLASSES, *SETS}
    np.testing.assert_array_equal(table.weight, np.where(np.isin(table.y, [SOFT, CHANCE]), 0.15, 1.0))
    np.testing.assert_array_equal(table.y == CHANCE, (few.classes == "spp")[table.rows])
    np.testing.assert_array_equal(table.y == SOFT, soft[table.rows])
    other_agn = np.isin(few.classes, ["rdg", "agn", "nlsy1", "ssrq", "css", "sey", "sbg", "gal"])
    np.testing.assert_array_equal(table.y == "bll|fsrq", other_agn[table.rows])


def test_only_releases_with_the_flag_have_soft_sources():
    for release in ("4FGL-DR1", "4FGL-DR2", "4FGL-DR3"):
        y = Recipe(features="six").check(read_catalog(slim_path(release))).rows.y
        assert (SOFT in y) == (release == "4FGL-DR3")
        assert "bll|fsrq" in y


def test_a_least_significance_holds_for_soft_sources_too(few):
    significance, limit = np.asarray(few.table["Signif_Avg"]), 8.0
    table = Recipe(features="six", min_significance=limit).check(few).rows
    whole = Recipe(features="six").check(few).rows
    np.testing.assert_array_equal(table.names, whole.names[significance[whole.rows] > limit])
    np.testing.assert_array_equal(table.y, whole.y[significance[whole.rows] > limit])
    assert SOFT in table.y


@pytest.mark.parametrize("classes", [THREE_CLASSES, "bll,fsrq,psr,other", "bll,fsrq,psr,bll|fsrq=rdg"])
def test_soft_sources_teach_nothing_unless_all_of_the_world_is_learned(few, classes):
    assert SOFT not in Recipe(features="six", classes=classes).check(few).rows.y


def test_the_name_of_the_rest_changes_no_label(few):
    classes = default_classes(few.classes).replace("other", "rest").replace(",rest,", ",rest=other,")
    y = Recipe(features="six", classes=classes).check(few).rows.y
    np.testing.assert_array_equal(np.char.replace(y, "rest", "other"), Recipe(features="six").check(few).rows.y)


@pytest.mark.filterwarnings("ignore:.*(taken as missing|unknown)")
@pytest.mark.parametrize(("name", "value"), [("Signif_Avg", 1e10), ("GLAT", 360.0)])
def test_an_impossible_number_teaches_as_a_missing_one(few, name, value):
    tables = [few.table.copy(), few.table.copy()]
    row = np.flatnonzero(few.classes == "bll")[7]
    tables[0][name][row], tables[1][name][row] = value, np.nan
    one, other = (Recipe(features="six,asinh_GLAT").check(read_catalog(table)).rows for table in tables)
    for found in ("X", "X_var", "y", "flags"):
        np.testing.assert_array_equal(getattr(one, found), getattr(other, found))


def test_the_estimator_is_told_what_labels_stand_for(model):
    params = model.estimator.get_params()
    assert params["label_sets"] == SETS
    assert params["label_weights"] is None
    np.testing.assert_array_equal(model.estimator.classes_, CLASSES)
    assert {name: params[name] for name in DEFAULT_SETTINGS} == DEFAULT_SETTINGS | {"steps": TINY["steps"]}


def test_all_labels_are_counted_and_sources_of_one_class_are_the_domain(model, few):
    y = Recipe(features="six").check(few).rows.y
    counts = model.provenance.training_counts
    assert counts == {name: int(np.sum(y == name.partition("@")[0])) for name in counts}
    assert sum(counts.values()) == len(y)
    assert counts.keys() >= {*CLASSES, "bll|fsrq", f"{SOFT}@0.15"}
    assert len(model.domain.X) == sum(counts[name] for name in CLASSES) < len(y)


@pytest.mark.usefixtures("eagerly")
def test_label_sets_and_weights_of_ones_own_are_kept(few):
    """Such as those of a label table that is trained again."""
    sets, weights = {"x": ("bll", "psr")}, {"bll": 0.5, SOFT: 0.3}
    own = Settings(method="mgp", steps=1, num_inducing=5, label_sets=sets, label_weights=weights)
    params = train(few, settings=own, features="six").estimator.get_params()
    assert params["label_sets"] == SETS | sets
    assert params["label_weights"] == weights
    assert train(few, settings=Settings(**params), features="six").estimator.get_params() == params


def test_soft_sources_teach_that_they_are_no_pulsars(model, few):
    """Without the flag, the same sources are more often taken for pulsars."""
    soft = (few.classes == "") & few.soft_galactic
    table = few.table.copy()
    table["Flags"] = 0
    catalog = Catalog(table, few.release, few.source, few.sha256)
    without = train(catalog, recipe=Recipe().with_settings(**TINY), features="six,asinh_GLAT")
    p, q = (np.asarray(one.label(few[soft], "all")["Sum_P_pulsar"]) for one in (model, without))
    assert p.mean() < q.mean() - 0.02


def test_an_agn_is_a_bll_or_an_fsrq(labels):
    np.testing.assert_allclose(labels["Sum_P_agn"], labels["P_bll"] + labels["P_fsrq"], rtol=0, atol=1e-15)
    np.testing.assert_allclose(labels["Sum_P_pulsar"], labels["P_psr"] + labels["P_msp"], rtol=0, atol=1e-15)
    assert "Sum_P_agn" not in [name for name in labels.colnames if name.startswith("P_")]
    P = np.column_stack([labels[f"P_{name}"] for name in CLASSES])
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-6)
    assert labels["Sum_P_agn"].description == "Probability of bll or fsrq"
    assert labels["Sum_P_agn"].meta["ucd"] == "stat.probability"


def test_selection_priors_change_unassociated_sources_and_bcu_alone(model, few, labels):
    assert model.selection != SelectionPrior()
    assert model.selection.slope <= 0.0
    assert model.selection.gradient < 0.0  # AGN without a type are the more frequent, the closer to the plane
    chosen = model.label(few, "all", class_priors="selection")
    assert chosen.meta["class_priors"] == model.label(few[:3]).meta["class_priors"] == "selection"  # the default
    assert "slope" in chosen.meta["priors"]
    p, q = (np.column_stack([table[f"P_{name}"] for name in CLASSES]) for table in (chosen, labels))
    same = ~np.isin(few.classes, ["", "bcu"])
    np.testing.assert_array_equal(p[same], q[same])
    ratio = model.selection.ratios(few, model.grouping, CLASSES)
    np.testing.assert_allclose(p, q * ratio / (q * ratio).sum(axis=1, keepdims=True), atol=1e-4)
    assert not np.allclose(p[few.classes == ""], q[few.classes == ""], atol=0.01)
