"""Across releases and across folds, with methods that cost nothing."""

import json
import subprocess
import sys
from dataclasses import dataclass, field

import numpy as np
import pytest

from fermiclass.catalog import DEFAULT_CLASSES, THREE_CLASSES, ClassGrouping
from fermiclass.errors import CatalogError, ClassError
from fermiclass.evaluation import (
    EstimatorMethod,
    baseline_method,
    baseline_methods,
    evaluate_faint,
    evaluate_folds,
    evaluate_future,
    later_classes,
    paired_difference,
)
from fermiclass.features import extract_features

OLD = {"classes": THREE_CLASSES, "features": "extended"}
SETS = ["six", "extended"]
DESIGN_KEYS = {"nll", "nll_se", "error", "ece", "brier", "fit_seconds", "predict_seconds", "n", "per_class"}


@dataclass
class Constant:
    """Says the same of every source, and remembers what it was given."""

    name: str = "constant"
    p: tuple = (0.5, 0.3, 0.2)
    seen: list = field(default_factory=list)

    def fit(self, table, classes):
        self.seen.append(table)
        return self

    def predict(self, table):
        self.seen.append(table)
        return np.tile(self.p, (len(table), 1))


@pytest.fixture(scope="module")
def future(dr1, dr4):
    methods = baseline_methods(["logistic", "svm"])
    return evaluate_future(dr1, dr4, methods, features="six", classes=THREE_CLASSES, seed=1)


def test_layout(future):
    found = json.loads(json.dumps(future.to_dict(), allow_nan=False))
    assert {"catalog", "protocol", "n", "methods"} < set(found)
    assert (found["catalog"], found["n"]) == ("4FGL-DR1.fits.gz", 310)
    assert list(found["methods"]) == ["logistic", "logistic+shares", "svm", "svm+shares"]
    for method in found["methods"].values():
        assert set(method) >= DESIGN_KEYS | {"unassociated"}
        assert method["n"] == 310
        assert method["unassociated"]["n"] == 67
        assert method["unassociated"]["per_class"]["psr"]["n"] == 67
        assert sum(row["n"] for row in method["by_significance"]) == 310
    shares = found["methods"]["svm+shares"]["shares"]
    assert set(shares) == {"unassociated", "bcu", "unk"}
    assert sum(share["mean"] for share in shares["bcu"].values()) == pytest.approx(1)
    assert "shares" not in found["methods"]["svm"]


def test_several_feature_sets_on_the_same_sources(future, dr1, dr4):
    """Each set's figures are those that it has alone; nothing but the names tells them apart."""
    steps = []
    methods = baseline_methods(["svm", "logistic"])
    both = evaluate_future(
        dr1,
        dr4,
        methods,
        features=["six", "LP_beta,Npred"],
        classes=THREE_CLASSES,
        seed=1,
        progress=lambda *state: steps.append(state),
    )
    assert list(both.methods) == [
        f"{method}@{features}{correction}"
        for features in ("six", "list1")
        for method in ("svm", "logistic")
        for correction in ("", "+shares")
    ]
    assert steps == [("svm@six", 0, 4), ("logistic@six", 1, 4), ("svm@list1", 2, 4), ("logistic@list1", 3, 4)]
    for side_by_side, alone in (("svm@six", "svm"), ("logistic@six+shares", "logistic+shares")):
        same, expected = both.methods[side_by_side], future.methods[alone]
        np.testing.assert_array_equal(same.probabilities, expected.probabilities)
        assert same.unassociated.to_dict() == expected.unassociated.to_dict()
    assert not np.array_equal(both.methods["svm@six"].probabilities, both.methods["svm@list1"].probabilities)
    np.testing.assert_array_equal(both.names, future.names)
    assert both.to_dict()["features"]["list1"] == ["LP_beta", "Npred"]
    assert future.to_dict()["features"] == list(future.features["six"])


@pytest.mark.parametrize(
    "protocol",
    [
        lambda catalog, methods: evaluate_folds(catalog, methods, folds=2, features=SETS, classes=THREE_CLASSES),
        lambda catalog, methods: evaluate_faint(catalog, methods, features=SETS, classes=THREE_CLASSES),
    ],
    ids=["folds", "faint"],
)
def test_every_feature_set_has_the_same_splits(dr4, protocol):
    method = Constant()
    evaluation = protocol(dr4, [method])
    assert list(evaluation.methods) == ["constant@six", "constant@extended"]
    half = len(method.seen) // 2
    for six, extended in zip(method.seen[:half], method.seen[half:], strict=True):
        np.testing.assert_array_equal(six.names, extended.names)
        assert (six.X.shape[1], extended.X.shape[1]) == (6, 17)
    assert "unassociated" not in evaluation.to_dict()["methods"]["constant@six"]


def test_significance_goes_with_the_sources(future, dr1):
    at = {name: k for k, name in enumerate(dr1.names.tolist())}
    expected = [dr1.table["Signif_Avg"][at[name]] for name in future.names.tolist()]
    np.testing.assert_array_equal(future.significance, expected)


def test_baselines_are_told_from_other_methods(dr4):
    evaluation = evaluate_folds(dr4, [Constant(), baseline_method("logistic")], folds=2, **OLD)
    assert {name: result.variant.is_baseline for name, result in evaluation.methods.items()} == {
        "constant": False,
        "logistic": True,
    }
    assert list(evaluation.to_dict()["versus_peers"]) == ["constant"]


def test_shares_are_of_all_targets(future, dr1):
    found = future.to_dict()
    assert sum(found["targets_by_status"].values()) == found["matches"]["targets"] == 2741
    assert found["targets_by_status"]["unassociated"] == np.sum(dr1.classes == "")
    assert sum(found["training_shares"].values()) == pytest.approx(1)


def test_same_seed_same_figures(future, dr1, dr4):
    again = evaluate_future(dr1, dr4, [baseline_method("logistic")], features="six", classes=THREE_CLASSES, seed=1)
    for name, result in again.methods.items():
        assert result.scores.to_dict() == future.methods[name].scores.to_dict()


def test_correction_pays_on_real_data(future):
    assert future.ranking[0].endswith("+shares")
    difference = future.difference("logistic+shares", "logistic")
    assert difference.mean < -0.05
    a, b = (future.methods[name].scores.nll_per_source for name in ("logistic+shares", "logistic"))
    assert difference == paired_difference(a, b)


def test_only_the_earlier_release_is_seen(dr1, dr4):
    method = Constant()
    evaluation = evaluate_future(dr1, dr4, [method], shares=False, **OLD)
    train, targets = method.seen
    table = extract_features(dr1, "extended", THREE_CLASSES)
    np.testing.assert_array_equal(train.X, table[table.labelled].X)
    wanted = table[np.isin(dr1.classes, ["", "bcu", "unk"])]
    np.testing.assert_array_equal(targets.X, wanted.X)
    np.testing.assert_array_equal(targets.X_var, wanted.X_var)
    assert not targets.labelled.any()
    matches = later_classes(dr1, dr4, THREE_CLASSES)
    np.testing.assert_array_equal(evaluation.names, dr1.names[matches.rows])
    np.testing.assert_array_equal(evaluation.y, matches.y)
    loss = -np.log(np.select([evaluation.y == "bll", evaluation.y == "fsrq"], [0.5, 0.3], 0.2))
    assert list(evaluation.methods) == ["constant"]
    assert evaluation.methods["constant"].scores.nll == pytest.approx(loss.mean())
    assert evaluation.methods["constant"].unassociated.nll == pytest.approx(-np.log(0.2))


def test_least_significance_is_for_training_only(dr1, dr4):
    method = Constant()
    evaluation = evaluate_future(dr1, dr4, [method], min_significance=30.0, shares=False, **OLD)
    assert len(method.seen[0]) < 600
    assert len(method.seen[1]) == 2741
    assert len(evaluation) == 310


def test_releases_in_the_wrong_order(dr1):
    known = dr1[dr1.classes != ""]
    with pytest.raises(
        CatalogError, match=r"none of the \d+ sources without a class .* Give the earlier release first"
    ):
        evaluate_future(known, dr1, [Constant()])


def test_names_must_differ(dr4):
    with pytest.raises(ValueError, match=r"repeated names \(constant\)"):
        evaluate_folds(dr4, [Constant(), Constant()])
    with pytest.raises(ValueError, match="at least one"):
        evaluate_folds(dr4, [])


def test_folds(dr4):
    methods = [baseline_method("logistic"), Constant("psr always", (0.0, 0.0, 1.0))]
    steps = []
    evaluation = evaluate_folds(dr4, methods, folds=3, progress=lambda *state: steps.append(state), **OLD)
    found = json.loads(json.dumps(evaluation.to_dict(), allow_nan=False))
    table = extract_features(dr4, **OLD)
    assert found["n"] == table.labelled.sum()
    assert set(found["methods"]["logistic"]) >= DESIGN_KEYS
    assert "unassociated" not in found["methods"]["logistic"]
    assert found["methods"]["logistic"]["nll"] < 0.4
    assert steps[:2] == [("logistic", 0, 6), ("logistic", 1, 6)]
    assert found["methods"]["psr always"]["error"] == pytest.approx(np.mean(evaluation.y != "psr"))
    assert sum(row["n"] for row in found["methods"]["logistic"]["by_significance"]) == found["n"]


def test_every_source_is_predicted_by_a_model_that_has_not_seen_it(dr4):
    method = Constant()
    evaluation = evaluate_folds(dr4, [method], folds=4, min_significance=20.0, **OLD)
    tested = []
    for train, test in zip(method.seen[::2], method.seen[1::2], strict=True):
        assert not set(train.names) & set(test.names)
        assert len(train) + len(test) == len(evaluation)
        tested += test.names.tolist()
    assert sorted(tested) == sorted(evaluation.names.tolist())
    assert evaluation.methods["constant"].scores.by_significance[0].low == 20.0


FOUR = ("bll", "fsrq", "psr", "other")


def test_the_default_learns_and_scores_sources_of_one_class_each(dr1, dr4):
    """An AGN that is a bll or an fsrq, but which is unknown, cannot be scored, and baselines cannot learn from it."""
    four = Constant(p=(0.4, 0.3, 0.2, 0.1))
    known = ClassGrouping.parse(DEFAULT_CLASSES).assign(dr1.classes)
    for evaluation in (
        evaluate_folds(dr1, [four], folds=2),
        evaluate_faint(dr1, [four]),
        evaluate_future(dr1, dr4, [four], shares=False),
    ):
        assert evaluation.classes == FOUR
        assert set(evaluation.y) == set(FOUR)
        assert len(evaluation.features["galactic"]) == 18
    learned = four.seen[::2]
    assert all(set(table.y) == set(FOUR) for table in learned)
    assert len(learned[-1]) == np.isin(known, FOUR).sum() < np.sum(known != "")
    assert evaluation.meta["n_train"] == len(learned[-1])


def test_too_many_folds(dr4):
    with pytest.raises(ClassError, match=r"sources of class 'psr', too few for 1000 folds"):
        evaluate_folds(dr4, [Constant()], folds=1000, **OLD)
    with pytest.raises(ValueError, match="folds=1 is not valid: give at least 2"):
        evaluate_folds(dr4, [Constant()], folds=1)


def test_probabilities_follow_the_order_of_the_classes(dr4):
    a, b = (
        evaluate_folds(dr4, [baseline_method("logistic")], folds=2, classes=spec, min_significance=20.0)
        for spec in ("bll,fsrq,psr", "psr,fsrq,bll")
    )
    p, q = (evaluation.methods["logistic"].probabilities for evaluation in (a, b))
    np.testing.assert_allclose(p, q[:, ::-1])
    assert b.classes == ("psr", "fsrq", "bll")


def test_class_that_training_lacks_gets_probability_zero(dr4):
    table = extract_features(dr4, **OLD)
    two = table[np.isin(table.y, ["bll", "psr"])]
    p = baseline_method("logistic").fit(two, ("bll", "fsrq", "psr")).predict(table[:5])
    np.testing.assert_array_equal(p[:, 1], 0)
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_any_estimator_is_a_method(dr4):
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

    estimator = NIMGPClassifier(steps=3, num_inducing=3, num_draws=2)
    evaluation = evaluate_folds(dr4, [EstimatorMethod("nimgp", estimator)], folds=2, min_significance=60.0, **OLD)
    np.testing.assert_allclose(evaluation.methods["nimgp"].probabilities.sum(axis=1), 1, atol=1e-6)
    assert not hasattr(estimator, "classes_")


def test_tensorflow_is_not_imported():
    code = "import sys, fermiclass.evaluation; sys.exit('tensorflow' in sys.modules or 'matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_faint_sources_are_scored_by_a_model_of_bright_ones():
    """In each class the fraction with the smallest significance is scored, and nothing of it is learned."""
    from fermiclass import ClassGrouping, read_catalog
    from fermiclass.evaluation import baseline_method, evaluate_faint
    from tests.conftest import slim_path

    catalog = read_catalog(slim_path("4FGL-DR1"))
    result = evaluate_faint(catalog, [baseline_method("logistic")], fraction=0.3, **OLD)
    groups = ClassGrouping.parse("bll,fsrq,psr").assign(catalog.classes)
    scored = np.isin(catalog.names, result.names)
    significance = np.asarray(catalog.table["Signif_Avg"])
    for name in ("bll", "fsrq", "psr"):
        faint, bright = (np.asarray(significance[(groups == name) & side]) for side in (scored, ~scored))
        assert np.nanmax(faint) < np.nanmin(bright)
        assert len(faint) == pytest.approx(0.3 * (len(faint) + len(bright)), abs=1)
    assert result.meta["n_train"] + len(result) == np.sum(groups != "")
    with pytest.raises(ValueError, match=r"fraction=1\.5 is not valid: give a number between 0 and 1"):
        evaluate_faint(catalog, [baseline_method("logistic")], fraction=1.5)
