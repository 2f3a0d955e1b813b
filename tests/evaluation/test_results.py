"""What an evaluation computes from the probabilities, each against plain numpy."""

import json
from dataclasses import replace

import numpy as np
import pytest

from fermiclass import Recipe, train
from fermiclass.catalog import NATURES
from fermiclass.evaluation import Evaluation
from fermiclass.evaluation.methods import factors_of
from fermiclass.evaluation.metrics import COLUMNS

from .conftest import make_up_evaluation


@pytest.fixture(scope="module")
def evaluation():
    return make_up_evaluation({"nimgp": 0.1, "mgp": 0.5, "base": 0.3, "base 2": 0.7})


def loss(evaluation, name, rows=slice(0, 190)):
    p = np.clip(evaluation.results[name].p[rows], 1e-5, 1)
    return -np.log(p[evaluation.targets.truth[rows]])


def test_figures_are_of_sources_whose_class_is_known(evaluation):
    assert len(evaluation) == 190
    for name in evaluation.results:
        assert evaluation.figures.loc[("all", name), "nll"] == pytest.approx(loss(evaluation, name).mean(), abs=1e-4)
    rows = np.flatnonzero(evaluation.targets.status[:190] == "")
    found = evaluation.figures.loc[("unassociated", "mgp"), "nll"]
    assert found == pytest.approx(loss(evaluation, "mgp", rows).mean(), abs=1e-4)
    assert list(evaluation.table.index) == ["nimgp", "base", "mgp", "base 2"]
    assert evaluation.best == "nimgp"


def test_groups_of_a_population(evaluation):
    """Probabilities of groups are sums; a source that may be any member of a group is of that group."""
    rows = np.flatnonzero(evaluation.targets.low[:190])
    p = evaluation.results["nimgp"].p[rows]
    psr = evaluation.targets.truth[rows, 2]
    expected = -np.log(np.where(psr, p[:, 2], p[:, :2].sum(axis=1))).mean()
    assert evaluation.figures.loc[("agn_or_pulsar", "nimgp"), "nll"] == pytest.approx(expected, abs=1e-4)


def test_small_probabilities_count_as_the_floor():
    evaluation = make_up_evaluation({"sure": 0.0}, floor=1e-2)
    evaluation.results["sure"].p[:] = [1.0, 0.0, 0.0]
    p = evaluation.probabilities("sure")
    np.testing.assert_allclose(p, np.tile(np.array([1.0, 0.01, 0.01]) / 1.02, (190, 1)))


def test_differences_are_paired(evaluation):
    d = loss(evaluation, "nimgp") - loss(evaluation, "mgp")
    found = evaluation.difference("nimgp", "mgp")
    assert (found.mean, found.n) == (pytest.approx(d.mean(), abs=1e-4), 190)
    assert found.se == pytest.approx(d.std(ddof=1) / np.sqrt(190), rel=1e-3)
    assert str(found) == f"{found.mean:+.3f} ± {found.se:.3f}"


def test_constant_probabilities_have_the_entropy_of_the_frequencies(evaluation):
    shares = np.bincount(evaluation.truth.argmax(axis=1)) / 190
    assert evaluation.nll_of_constants == pytest.approx(-np.sum(shares * np.log(shares)), abs=1e-6)


def test_bins_of_significance(evaluation):
    significance = evaluation.targets.significance[:190]
    d = loss(evaluation, "nimgp") - loss(evaluation, "mgp")
    found = evaluation.by_significance("nimgp", "mgp")
    assert found["n"].sum() == 190
    for each, row in found.iterrows():
        chosen = d[(significance >= each.left) & (significance < each.right)]
        assert (row["mean"], row["n"]) == (pytest.approx(chosen.mean(), abs=1e-4), len(chosen))
        assert row["se"] == pytest.approx(chosen.std(ddof=1) / np.sqrt(len(chosen)), rel=1e-3)


def test_the_best_baseline_of_each_population(evaluation):
    found = evaluation.versus_baselines("nimgp")
    for population, row in found.items():
        figures = evaluation.figures.loc[population]["nll"]
        assert row["baseline"] == figures[["base", "base 2"]].idxmin()
        assert row["mean"] == pytest.approx(figures["nimgp"] - figures[row["baseline"]])
        assert row["ratio"] == pytest.approx(figures["nimgp"] / figures[row["baseline"]])
    alone = make_up_evaluation({"nimgp": 0.1})
    assert alone.versus_baselines("nimgp") == {}
    assert alone.best_baseline() is None
    assert make_up_evaluation({"base": 0.1}).best == "base"


def test_json(evaluation):
    found = json.loads(json.dumps(evaluation.to_dict(), allow_nan=False))
    assert {"catalog", "later", "protocol", "description", "n", "classes", "features", "methods"} <= set(found)
    assert found["n"] == sum(found["found"].values()) == 190
    assert list(found["methods"]) == ["nimgp", "mgp", "base", "base 2"]
    for name, about in found["methods"].items():
        assert about["is_baseline"] is name.startswith("base")
        assert about["nll"] == evaluation.figures.loc[("all", name), "nll"]
        assert set(COLUMNS) | {"n", "per_class", "reliability", "confusion"} <= set(about["unassociated"])
        assert sum(row["n"] for row in about["by_significance"]) == sum(map(sum, about["confusion"])) == 190
        assert ("versus_baselines" in about) is not about["is_baseline"]


def test_the_same_factors_for_all():
    """Baselines have the factors, own methods also go without them; factors of 1 change nothing."""
    made = make_up_evaluation({"own": 0.1, "base": 0.3})
    own = replace(made.results["own"], method=replace(made.results["own"].method, as_trained=False))
    factors = np.random.default_rng(0).lognormal(size=made.results["own"].p.shape)
    found = {}
    for name, given in {"some": factors, "ones": np.ones_like(factors)}.items():
        targets = replace(made.targets, factors=given)
        found[name] = Evaluation(targets, {**made.results, "own": own}).same_factors
    expected = made.results["base"].p * factors
    expected /= expected.sum(axis=1, keepdims=True)
    assert found["some"].results["base"].p == pytest.approx(expected)
    assert found["some"].results["own"].p is own.p
    back = found["some"].results["own without factors"].p * factors
    assert back / back.sum(axis=1, keepdims=True) == pytest.approx(own.p / own.p.sum(axis=1, keepdims=True))
    assert found["ones"].results["base"].p == pytest.approx(made.results["base"].p)
    assert made.same_factors is None


def test_factors_are_those_of_the_default(few):
    """Without them its labels are those with the class priors of the training, and without CLASS2."""
    bare = few[few.classes == ""]
    model = train(few, recipe=Recipe().with_settings(steps=20, num_inducing=10))
    with_factors, without = (
        model.label(bare, **given) for given in ({}, {"class_priors": "trained", "evidence": "none"})
    )
    P, trained = (np.stack([t[f"P_{name}"] for name in NATURES], axis=1) for t in (with_factors, without))
    expected = trained * factors_of(bare, few.grouping(None))
    assert expected / expected.sum(axis=1, keepdims=True) == pytest.approx(P, abs=1e-5)
