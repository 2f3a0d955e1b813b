"""Against baselines, with and without knowing the errors, with and without a correction: each against plain numpy."""

import json
from dataclasses import replace

import numpy as np
import pytest

from fermiclass.evaluation import (
    MethodResult,
    Scores,
    Variant,
    best_baseline,
    correction_effects,
    noise_gains,
    versus_baselines,
)
from fermiclass.evaluation.scores import SCORE_SIGNIFICANCE_EDGES

from .conftest import CLASSES, make_up_evaluation

FEATURES = {"six": ("a", "b"), "extended": ("a", "b", "c")}
# Of the two baselines, one is the better as trained, the other when corrected.
NOISE = {
    ("nimgp", ""): 0.3, ("mgp", ""): 0.4, ("forest", ""): 0.5, ("svm", ""): 0.7,
    ("nimgp", "+shares"): 0.1, ("mgp", "+shares"): 0.2, ("forest", "+shares"): 0.6, ("svm", "+shares"): 0.4,
}  # fmt: skip


@pytest.fixture(scope="module")
def evaluation():
    variants = {
        Variant(method, features, correction, is_baseline=method in ("forest", "svm")): noise + extra
        for features, extra in (("six", 0.2), ("extended", 0.0))
        for (method, correction), noise in NOISE.items()
    }
    return make_up_evaluation(variants, features=FEATURES)


def losses(evaluation, name):
    result = evaluation.methods[name]
    column = np.array([evaluation.classes.index(label) for label in evaluation.y])
    return -np.log(np.clip(result.probabilities[np.arange(len(column)), column], 1e-5, 1))


def test_names():
    variant = Variant("mlps+unc", "six", "+shares")
    assert variant.name(several_sets=True) == "mlps+unc@six+shares"
    assert variant.name(several_sets=False) == "mlps+unc+shares"
    assert variant.group(several_sets=True) == "@six+shares"


def test_groups_are_alike_and_sorted(evaluation):
    assert set(evaluation.groups) == {"@extended+shares", "@extended", "@six+shares", "@six"}
    best = [names[0] for names in evaluation.groups.values()]
    assert best == sorted(best, key=lambda name: evaluation.methods[name].scores.nll)
    assert best[0] == evaluation.ranking[0]
    for group, names in evaluation.groups.items():
        assert all(name.endswith(group) for name in names)
        assert names == sorted(names, key=lambda name: evaluation.methods[name].scores.nll)


def test_every_own_method_against_the_best_baselines(evaluation):
    found = versus_baselines(evaluation)
    own = [name for name in evaluation.ranking if not evaluation.methods[name].variant.is_baseline]
    assert list(found) == own
    assert len(own) == 8
    rows = {"all": np.full(len(evaluation), True), "unassociated": evaluation.status == ""}
    for name in own:
        group = name[name.index("@") :]
        candidates = {
            "as_used": [f"{baseline}@{features}" for baseline in ("forest", "svm") for features in FEATURES],
            "like_for_like": [f"{baseline}{group}" for baseline in ("forest", "svm")],
        }
        for kind, names in candidates.items():
            for population, chosen in rows.items():
                comparison = getattr(found[name], kind)[population]
                best = min(names, key=lambda baseline: losses(evaluation, baseline)[chosen].mean())
                d = (losses(evaluation, name) - losses(evaluation, best))[chosen]
                assert comparison.baseline == best
                assert comparison.difference.mean == pytest.approx(d.mean())
                assert comparison.difference.se == pytest.approx(d.std(ddof=1) / np.sqrt(len(d)))
                assert comparison.difference.n == len(d)
                assert comparison.relative == pytest.approx(d.mean() / losses(evaluation, best)[chosen].mean())


def test_best_baseline_is_another_for_other_questions(evaluation):
    assert best_baseline(evaluation, lambda baseline: not baseline.correction) == "forest@extended"
    assert best_baseline(evaluation, lambda baseline: baseline.correction == "+shares") == "svm@extended+shares"
    assert best_baseline(evaluation, lambda baseline: False) is None


def test_best_baseline_is_another_for_each_population():
    """One baseline is right where there is an association, the other where there is none."""
    evaluation = make_up_evaluation({Variant("nimgp", "six"): 0.5})
    right = np.eye(3)[[CLASSES.index(label) for label in evaluation.y]]
    bare = evaluation.status == ""
    methods = dict(evaluation.methods)
    for name, good in (("forest", ~bare), ("svm", bare)):
        p = np.where(good[:, None], 0.7 * right + 0.1, 0.1 * right + 0.3)
        scores, alone = (Scores.of(p[rows], evaluation.y[rows], CLASSES) for rows in (slice(None), bare))
        methods[name] = MethodResult(Variant(name, "six", is_baseline=True), scores, alone, 0.0, 0.0, p)
    found = versus_baselines(replace(evaluation, methods=methods))["nimgp"]
    for comparisons in (found.as_used, found.like_for_like):
        assert {population: row.baseline for population, row in comparisons.items()} == {
            "all": "forest",
            "unassociated": "svm",
        }


def test_without_baselines_there_is_nothing_to_compare():
    alone = make_up_evaluation({Variant("nimgp", "six"): 0.1})
    assert versus_baselines(alone) == {}
    assert not {"versus_peers", "input_noise", "correction"} & set(alone.to_dict())


def test_baseline_without_loss_has_no_relative_difference():
    evaluation = make_up_evaluation({Variant("nimgp", "six"): 0.1, Variant("svm", "six", is_baseline=True): 0.2})
    comparison = versus_baselines(evaluation)["nimgp"].as_used["all"]
    assert type(comparison)(comparison.baseline, 0.0, comparison.difference).relative is None


def test_what_knowing_the_errors_changes(evaluation):
    gains = noise_gains(evaluation)
    pairs = [(gain.method, gain.other) for gain in gains]
    groups = [f"@{features}{correction}" for features in FEATURES for correction in ("", "+shares")]
    assert sorted(pairs) == sorted((f"nimgp{group}", f"mgp{group}") for group in groups)
    assert pairs[0][0] == "nimgp@extended+shares"
    for gain in gains:
        d = losses(evaluation, gain.method) - losses(evaluation, gain.other)
        assert gain.difference.mean == pytest.approx(d.mean())
        assert sum(row.difference.n for row in gain.by_significance) == len(evaluation)
        for row in gain.by_significance:
            inside = (evaluation.significance >= row.low) & (evaluation.significance < (row.high or np.inf))
            assert row.low in SCORE_SIGNIFICANCE_EDGES
            assert row.difference.mean == pytest.approx(d[inside].mean())
            assert row.difference.se == pytest.approx(d[inside].std(ddof=1) / np.sqrt(inside.sum()))


def test_only_what_is_otherwise_the_same_tells_of_the_errors():
    names = ("nimgp+temperature", "mgp", "mgp+temperature")
    variants = {Variant(name, "six"): 0.1 * k for k, name in enumerate(names)}
    assert noise_gains(make_up_evaluation(variants)) == []
    (gain,) = noise_gains(make_up_evaluation({Variant("nimgp", "six"): 0.5} | variants))
    assert (gain.method, gain.other) == ("nimgp", "mgp")


def test_what_a_correction_changes(evaluation):
    effects = correction_effects(evaluation)
    assert set(effects) == {name for name in evaluation.methods if name.endswith("+shares")}
    effect = effects["svm@six+shares"]
    assert effect.uncorrected == "svm@six"
    assert effect.differences["all"] == evaluation.difference("svm@six+shares", "svm@six")
    bare = evaluation.status == ""
    d = losses(evaluation, "svm@six+shares") - losses(evaluation, "svm@six")
    assert effect.differences["unassociated"].mean == pytest.approx(d[bare].mean())


def test_json(evaluation):
    found = json.loads(json.dumps(evaluation.to_dict(), allow_nan=False))
    assert found["features"] == {"six": ["a", "b"], "extended": ["a", "b", "c"]}
    row = found["versus_peers"]["nimgp@six+shares"]["like_for_like"]["unassociated"]
    assert set(row) == {"peer", "peer_nll", "difference", "se", "n", "relative"}
    assert found["input_noise"][0]["by_significance"][-1]["high"] is None
    assert found["correction"]["mgp@six+shares"]["uncorrected"] == "mgp@six"
    method = found["methods"]["svm@six+shares"]
    assert (method["method"], method["feature_set"], method["correction"], method["is_peer"]) == (
        "svm", "six", "shares", True,
    )  # fmt: skip
    assert found["methods"]["svm@six"]["correction"] is None


def test_a_single_source_has_no_standard_error():
    variants = {Variant("nimgp", "six"): 0.1, Variant("mgp", "six"): 0.2}
    found = make_up_evaluation(variants, n=1, some_unassociated=False).to_dict()
    assert found["input_noise"][0]["se"] is None
    assert found["features"] == ["a", "b"]
    json.dumps(found, allow_nan=False)
