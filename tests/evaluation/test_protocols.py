"""What each protocol learns from and scores, with methods that cost nothing."""

from typing import ClassVar

import numpy as np
import pytest
from astropy.table import Table

from fermiclass import relabel
from fermiclass.catalog import CLASS_CODES, CLASS_TREE, NATURES, THREE_CLASSES, ClassGrouping
from fermiclass.errors import CatalogError, ClassError
from fermiclass.evaluation import (
    baseline_method,
    baseline_methods,
    bright_to_faint,
    estimator_method,
    evaluate,
    folds,
    model_method,
    open_world,
)
from fermiclass.evaluation.baselines import BaselineClassifier
from fermiclass.evaluation.methods import open_classes
from fermiclass.evaluation.protocols import _open_truth
from fermiclass.evaluation.results import MEAN
from fermiclass.nimgp.settings import Settings

OLD = {"classes": THREE_CLASSES, "features": "six"}
FOUR = ("bll", "fsrq", "psr", "other")


class Spy(BaselineClassifier):
    """Says the same of every source, and remembers what it was given."""

    seen: ClassVar = []

    def fit(self, X, y, *, X_var=None):
        self.classes_ = np.unique(y)
        self.seen.append((X, np.asarray(y)))
        return self

    def predict_proba(self, X, *, X_var=None):
        self.seen.append(X)
        return np.tile(np.arange(1, len(self.classes_) + 1) / sum(range(len(self.classes_) + 1)), (len(X), 1))


@pytest.fixture
def spy():
    Spy.seen = []
    return estimator_method("spy", Spy())


def test_least_significance_is_for_training_only(dr1, dr4, spy):
    evaluation = evaluate(open_world(dr1, dr4, min_significance=30.0, **OLD), [spy])
    assert len(Spy.seen[0][1]) < 600
    assert len(Spy.seen[1]) == 2741 > len(evaluation)


def test_folds(dr4, spy):
    """Every source with a class is predicted once, by a model that has not seen it."""
    targets = folds(dr4, 3, **OLD)
    evaluation = evaluate(targets, [spy])
    table = ClassGrouping.parse(THREE_CLASSES).assign(dr4.classes)
    assert len(evaluation) == np.sum(table != "")
    for (split, places), (_, y) in zip(targets.splits, Spy.seen[::2], strict=True):
        assert not split.learn[split.rows].any()
        assert split.learn.sum() == len(dr4) - len(split.rows)  # those without a class may be learned from
        assert len(y) == len(evaluation) - len(places)
        np.testing.assert_array_equal(dr4.names[split.rows], targets.names[places])
    assert sorted(np.concatenate([places for _, places in targets.splits])) == list(range(len(evaluation)))


def test_too_many_folds(dr4):
    with pytest.raises(ClassError, match=r"'psr', too few for 1000 folds"):
        folds(dr4, 1000, **OLD)
    with pytest.raises(ValueError, match="folds=1"):
        folds(dr4, 1)


def test_bright_to_faint(dr1):
    """In each class the fraction with the smallest significance is scored, and nothing of it is learned."""
    targets = bright_to_faint(dr1, 0.3, **OLD)
    groups = ClassGrouping.parse(THREE_CLASSES).assign(dr1.classes)
    ((split, _),) = targets.splits
    significance = np.asarray(dr1.table["Signif_Avg"])
    for name in ("bll", "fsrq", "psr"):
        faint, bright = (significance[(groups == name) & side] for side in (~split.learn, split.learn))
        assert np.nanmax(faint) < np.nanmin(bright)
        assert len(faint) == pytest.approx(0.3 * (len(faint) + len(bright)), abs=1)
    np.testing.assert_array_equal(targets.significance, significance[split.rows])
    with pytest.raises(ValueError, match=r"fraction=1\.5"):
        bright_to_faint(dr1, 1.5)


def test_the_default_classes_score_sources_of_one_class_each(dr1, dr4, spy):
    """An AGN that is a bll or an fsrq, but which is unknown, cannot be scored, and baselines cannot learn from it."""
    known = dr1.grouping(None).assign(dr1.classes)
    for targets in (folds(dr1, 2), bright_to_faint(dr1)):
        evaluation = evaluate(targets, [spy])
        assert evaluation.classes == FOUR
        assert set(evaluation.y) == set(FOUR)
    (_, y), predicted = Spy.seen[-2:]
    assert len(y) + len(predicted) == np.isin(known, FOUR).sum() < np.sum(known != "")


def test_probabilities_follow_the_order_of_the_classes(dr4):
    a, b = (
        evaluate(folds(dr4, 2, classes=spec, features="six", min_significance=20.0), [baseline_method("logistic")])
        for spec in ("bll,fsrq,psr", "psr,fsrq,bll")
    )
    np.testing.assert_allclose(a.probabilities("logistic"), b.probabilities("logistic")[:, ::-1])
    assert b.classes == ("psr", "fsrq", "bll")


def test_methods_need_names_of_their_own(dr4, spy):
    with pytest.raises(ValueError, match="name of its own"):
        evaluate(folds(dr4, 2, **OLD), [spy, spy])
    with pytest.raises(ValueError, match="at least one"):
        evaluate(folds(dr4, 2, **OLD), [])


# --- the open world --------------------------------------------------------------------------------------------------

BARE = ["", "", "", "", "", "", "bcu", "bcu", "bll"]
LATER = ["bcu", "PSR", "msp", "spp", "unk", "", "fsrq", "bll", "psr"]


@pytest.fixture
def releases(make_catalog):
    """Nine sources 2 degrees apart, and the same later, a little off; the sixth has moved away."""
    names = [f"4FGL J{k:04d}" for k in range(9)]
    lon, lat = np.arange(9) * 2.0 + 6.0, np.full(9, 20.0)
    columns = {"GLAT": np.array([5.0, -5.0, 20.0, 1.0, 1.0, 1.0, 30.0, 30.0, 30.0]), "Signif_Avg": np.arange(9) + 4.0}
    earlier = make_catalog(names, lon, lat, BARE, **columns)
    off = np.where(np.arange(9) == 5, 1.0, 0.05)
    return earlier, make_catalog(names, lon, lat + off, LATER, "4FGL-DR4", **columns)


def test_every_class_has_a_place_but_unk():
    codes = np.array([*CLASS_CODES, "", "unheard-of"])
    assert {code for members in CLASS_TREE.values() for code in members} == set(CLASS_CODES) - {"unk"}
    for two_kinds in (True, False):
        possible = _open_truth(codes, np.full(len(codes), ""), two_kinds)
        truth = {
            code: [n for n, may in zip(NATURES, row, strict=True) if may]
            for code, row in zip(codes, possible, strict=True)
        }
        assert truth["bcu"] == truth["rdg"] == truth["bll"] == ["bll", "fsrq"]
        assert truth["msp"] == ["msp"] if two_kinds else ["psr", "msp"]
        assert truth["psr"] == ["psr"] if two_kinds else ["psr", "msp"]
        assert (truth["bin"], truth["spp"]) == (
            (["msp", "other"], ["psr", "other"]) if two_kinds else (["psr", "msp", "other"],) * 2
        )
        assert truth["snr"] == ["other"]
        assert truth["unk"] == truth[""] == truth["unheard-of"] == list(NATURES)
        typed = _open_truth(np.array(["fsrq", "msp"]), np.array(["bcu", "bcu"]), True).tolist()
        assert typed == [[False, True, False, False, False], [False, False, False, True, False]]


def test_open_world(releases):
    targets = open_world(*releases, features="asinh_GLAT")
    assert targets.names[targets.scored].tolist() == [f"4FGL J{k:04d}" for k in range(4)]  # unk says nothing
    found = {name: targets.truth_of(name)[each.mask].tolist() for name, each in targets.populations.items()}
    unknown = [True] * 3
    clear = [[True, False, False], [False, True, False], [False, True, False]]
    assert found["all"] == [*clear, [False, True, True], unknown, unknown]  # what moved is not found
    assert found["face"] == [*clear, [False, False, True], unknown, unknown]
    assert found["unambiguous"] == [*clear, unknown, unknown]
    assert found["spiders"] == found["face"]  # an spp is no spider
    assert (targets.meta["moved"], targets.meta["gone"]) == (1, 0)
    assert found["high"] == [[False, True, False]]
    assert found["agn_or_pulsar"] == [[True, False], [False, True], [False, True]]
    assert found["agn_or_pulsar_high"] == [[False, True]]
    assert found["bll_or_fsrq"] == [[False, True], [True, False]]


def test_sources_to_learn_from_are_not_scored(releases):
    earlier, later = releases
    own = relabel(earlier, Table({"RA": [6.0, 8.0], "DEC": [20.0, 20.0], "label": ["psr", "bll"]}))
    assert open_world(own, later, features="asinh_GLAT").names[:4].tolist() == earlier.names[2:6].tolist()


def test_bcu_that_get_a_type(releases):
    """They are scored as bll or fsrq, as in the population of the open world."""
    targets = open_world(*releases, targets="bcu", features="asinh_GLAT")
    found = {name: targets.truth_of(name)[each.mask].tolist() for name, each in targets.populations.items()}
    assert found["all"] == [[False, True], [True, False]] == found["low"] + found["high"]
    assert set(targets.status[targets.scored]) == {"bcu"}
    for which, message in (("bcu", "no source that is bcu"), ("unk", "choose one of unassociated, bcu")):
        with pytest.raises(CatalogError, match=message):
            open_world(releases[0], releases[0], targets=which, features="asinh_GLAT")


def test_cells_of_the_sky_are_a_chessboard(releases):
    # Declinations of 20 degrees are in row 7; right ascensions of 6 to 14 degrees are in column 0, which makes 7: odd.
    odd = open_world(*releases, cells="odd", features="asinh_GLAT")
    assert odd.populations["all"].mask.sum() == 5  # the sixth is at 16 degrees, in column 1
    for cells, message in (("even", "gives a class to no source"), ("some", "choose one of all, even, odd")):
        with pytest.raises(CatalogError, match=message):
            open_world(*releases, cells=cells)


def test_classes_are_summed_by_the_tree():
    matrix = open_classes(ClassGrouping.parse("fsrq,bll,psr,msp,radio=rdg+agn,snr,other"))
    assert matrix.sum(axis=1).tolist() == [1] * 7
    assert matrix.argmax(axis=1).tolist() == [1, 0, 2, 3, 0, 4, 4]
    assert matrix[4].tolist() == [0.5, 0.5, 0, 0, 0]
    one_kind = open_classes(ClassGrouping.parse("agn=bll+fsrq,psr,other"))
    assert one_kind.tolist() == [[0.5, 0.5, 0, 0, 0], [0, 0, 0.5, 0.5, 0], [0, 0, 0, 0, 1]]


@pytest.fixture(scope="module")
def opened(dr1, dr4):
    """Few steps, on a part of DR1: two methods of ours and two baselines."""
    quick = {"steps": 10, "num_inducing": 10, "num_draws": 16}
    methods = [model_method(name, Settings(method=name, **quick)) for name in ("mgp", "nimgp-fo")]
    methods += baseline_methods(["logistic", "boosting", "logistic+gas:clear"])
    done = []
    found = evaluate(open_world(dr1[::2], dr4), methods, progress=lambda *state: done.append(state))
    assert done == [(method.name, k, 5) for k, method in enumerate(methods)]
    return found


def test_methods_and_baselines_in_the_open_world(opened):
    """Only baselines of the same features and the same training have a mean."""
    assert list(opened.results) == ["mgp", "nimgp-fo", "logistic", "boosting", "logistic+gas:clear", MEAN]
    baselines = [opened.results[name].p for name in ("logistic", "boosting", MEAN)]
    np.testing.assert_allclose(np.mean(baselines[:2], axis=0), baselines[2])
    for result in opened.results.values():
        np.testing.assert_allclose(result.p.sum(axis=1), 1.0, atol=1e-6)
    assert opened.to_dict()["methods"]["mgp"]["class_priors"] == "selection"


def test_trainings_of_the_baselines(dr1, dr4, monkeypatch):
    """Which sources each learns from, as what, with how many features; and types of AGN once for all trainings."""
    learned = []

    class Spy(BaselineClassifier):
        def fit(self, X, y, *, X_var=None):
            learned.append((X.shape[1], *np.unique(y, return_counts=True)))
            return super().fit(X, y, X_var=X_var)

    monkeypatch.setattr("fermiclass.evaluation.methods.BaselineClassifier", Spy)
    names = [f"logistic{given}" for given in ("", ":clear", ":spiders", "+gas:spiders")] + ["svm-four"]
    evaluate(open_world(dr1, dr4), baseline_methods(names))
    count = {code: np.sum(dr1.classes == code) for code in CLASS_CODES}
    agn = sum(count[code] for code in CLASS_TREE["agn"]) - count["bcu"]
    other, chance = (sum(count[code] for code in codes) for codes in (CLASS_TREE["other"], ("spp",)))
    spiders = count["bin"] + count["lmb"] + count["glc"]
    groups = [(D, dict(zip(y, n, strict=True))) for D, y, n in learned if "agn" in y]
    face = {"agn": agn, "other": other, "psr": count["psr"]}
    clear = {**face, "other": other - chance - spiders}
    as_pulsars = {**clear, "psr": count["psr"] + spiders}
    assert groups == [(17, face), (17, clear), (17, as_pulsars), (20, as_pulsars), (4, face)]
    assert [D for D, y, _ in learned if "bll" in y] == [17, 20, 4]
