"""The open world: every later class counts, at its level of the tree, against figures written a second time."""

import json
import re

import numpy as np
import pytest
from astropy.table import Table
from scipy.optimize import minimize

from fermiclass import NIMGPClassifier
from fermiclass.catalog import CLASS_CODES, CLASS_TREE, ClassGrouping
from fermiclass.errors import CatalogError
from fermiclass.evaluation.open_methods import MEAN, evaluate_open
from fermiclass.evaluation.open_world import CLIP, TOPS, OpenScores, OpenTargets, mean_scores, scores_of_labels, top_of
from fermiclass.plots.open_world import open_world_figure
from fermiclass.show.open_world import print_open

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
    later = make_catalog(names, lon, lat + off, LATER, "4FGL-DR4", **columns)
    return earlier, later


def test_every_class_has_a_place_but_unk():
    codes = np.array([*CLASS_CODES, "", "unheard-of"])
    placed = {code for members in CLASS_TREE.values() for code in members}
    assert placed == set(CLASS_CODES) - {"unk"}
    tops = dict(zip(codes, top_of(codes), strict=True))
    assert (tops["bcu"], tops["rdg"], tops["msp"], tops["spp"]) == (0, 0, 1, 2)
    assert (tops["unk"], tops[""], tops["unheard-of"]) == (-1, -1, -1)


def test_targets(releases):
    targets = OpenTargets.of(*releases)
    assert targets.rows.tolist() == [0, 1, 2, 3]  # unk says nothing; what moved is not found
    assert [TOPS[k] for k in targets.top] == ["agn", "psr", "psr", "other"]
    assert targets.low.tolist() == [True, True, False, True]
    assert targets.significance.tolist() == [4.0, 5.0, 6.0, 7.0]
    assert targets.candidates.tolist() == [0, 1, 2, 3, 4, 5]
    assert targets.typed.tolist() == [6, 7]
    assert targets.is_fsrq.tolist() == [True, False]


def test_cells_of_the_sky_are_a_chessboard(releases):
    # Declinations of 20 degrees are in row 7; right ascensions of 6 to 14 degrees are in column 0, which makes 7: odd.
    odd = OpenTargets.of(*releases, cells="odd")
    assert odd.rows.tolist() == [0, 1, 2, 3]
    assert odd.candidates.tolist() == [0, 1, 2, 3, 4]  # the sixth is at 16 degrees, in column 1
    with pytest.raises(CatalogError, match="gives a class to no source"):
        OpenTargets.of(*releases, cells="even")
    with pytest.raises(CatalogError, match="cells='some' is unknown: choose one of all, even, odd"):
        OpenTargets.of(*releases, cells="some")


def test_a_release_without_news_is_refused(releases):
    earlier, _ = releases
    with pytest.raises(CatalogError, match="gives a class to no source"):
        OpenTargets.of(earlier, earlier)


@pytest.fixture
def scores():
    """Probabilities of 60 made-up sources, and what was found of them."""
    rng = np.random.default_rng(4)
    p = rng.dirichlet([2.0, 1.0, 1.0], 60)
    p[0] = [0.0, 0.0, 1.0]
    top = np.array([rng.choice(3, p=row) for row in p])
    top[0] = 0  # impossible, by the method
    targets = OpenTargets(
        rows=np.arange(60) * 2,
        top=top,
        code=np.array(["bll", "psr", "spp"])[top],
        low=rng.uniform(size=60) < 0.4,
        significance=rng.uniform(4, 10, 60),
        candidates=np.arange(120),
        typed=np.arange(200, 230),
        is_fsrq=rng.uniform(size=30) < 0.3,
    )
    return OpenScores(targets, p, rng.uniform(size=120), rng.uniform(size=30))


def test_figures(scores):
    figures, top, low = scores.to_dict(), scores.targets.top, scores.targets.low
    p = np.clip(scores.p, CLIP, 1.0)
    p /= p.sum(axis=1, keepdims=True)
    loss = -np.log(p[np.arange(60), top])
    assert loss[0] == pytest.approx(-np.log(CLIP), rel=1e-3)
    two = top < 2
    loss2 = -np.log(p[np.arange(60), top] / p[:, :2].sum(axis=1))[two]
    assert figures["nll"] == pytest.approx(loss.mean())
    assert figures["nll_low"] == pytest.approx(loss[low].mean())
    assert figures["nll_high"] == pytest.approx(loss[~low].mean())
    assert figures["agn_psr"] == pytest.approx(loss2.mean())
    assert figures["agn_psr_high"] == pytest.approx(loss2[~low[two]].mean())
    assert figures["error"] == np.mean(scores.p.argmax(axis=1) != top)
    for name, chosen in (("all", np.ones(60, bool)), ("low", low), ("high", ~low)):
        for k, group in enumerate(TOPS):
            number = figures["numbers"][name][group]
            assert number["expected"] == pytest.approx(scores.p[chosen, k].sum())
            assert number["found"] == np.sum(top[chosen] == k)
            assert number["se"] == pytest.approx(np.sqrt(np.sum((scores.p * (1 - scores.p))[chosen, k])))
    for row in figures["candidates"]["psr"]:
        chosen = scores.p[:, 1] >= row["threshold"]
        assert row["n"] == chosen.sum()
        assert row["completeness"] == np.sum(chosen & (top == 1)) / np.sum(top == 1)
        assert row["purity"] == (np.mean(top[chosen] == 1) if chosen.any() else None)
    json.dumps(figures, allow_nan=False)
    assert sum(part["n"] for part in figures["by_significance"].values()) == 60
    fsrq = scores.targets.is_fsrq
    of_truth = np.where(fsrq, scores.p_fsrq, 1 - scores.p_fsrq)
    assert figures["bll_fsrq"]["nll"] == pytest.approx(-np.log(np.clip(of_truth, CLIP, 1)).mean(), abs=1e-3)
    assert (figures["bll_fsrq"]["n"], figures["bll_fsrq"]["found_fsrq"]) == (30, fsrq.sum())


def test_evidence_does_not_depend_on_class_priors(scores):
    """It is the NLL at the best priors, found here by another search; other priors leave it as it is."""
    scores.p[0] = 1.0 / 3.0  # nothing is clipped
    q, top, low = scores.clipped, scores.targets.top, scores.targets.low

    def total(w):
        loss = 0.0
        for part, offset in ((low, w[:2]), (~low, w[2:])):
            z = q[part] * np.exp(np.r_[0.0, offset])
            loss -= np.log(z[np.arange(part.sum()), top[part]] / z.sum(axis=1)).sum()
        return loss

    best = minimize(total, np.zeros(4), method="Nelder-Mead", options={"maxiter": 4000, "fatol": 1e-9}).fun
    assert scores.evidence() == pytest.approx(best / 60, abs=1e-5)
    assert scores.evidence() < scores.to_dict()["nll"]
    ratio = np.where(low[:, None], [1.0, 3.0, 0.5], [1.0, 0.4, 2.0])
    shifted = q * ratio
    moved = OpenScores(scores.targets, shifted / shifted.sum(axis=1, keepdims=True), scores.p_candidates, scores.p_fsrq)
    assert moved.evidence() == pytest.approx(scores.evidence(), abs=1e-4)


def test_the_mean_of_methods(scores):
    other = OpenScores(scores.targets, scores.p[::-1], scores.p_candidates, scores.p_fsrq, is_baseline=True)
    mean = mean_scores([scores, other])
    np.testing.assert_allclose(mean.p, (scores.p + scores.p[::-1]) / 2)
    assert not mean.is_baseline
    assert mean_scores([other, other]).is_baseline


def test_labels_are_summed_by_the_tree(releases):
    earlier, later = releases
    targets = OpenTargets.of(earlier, later)
    grouping = ClassGrouping.parse("bll,fsrq,psr,msp,other")
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(5), 8)
    labels = Table({"Source_Name": earlier.names[:8][::-1]})
    for k, name in enumerate(grouping.names):
        labels[f"P_{name}"] = P[::-1, k]
    labels["Sum_P_agn"] = 7.0  # no part of the probabilities
    found = scores_of_labels(targets, earlier, labels, grouping)
    np.testing.assert_allclose(found.p, np.stack([P[:4, :2].sum(1), P[:4, 2:4].sum(1), P[:4, 4]], axis=1))
    np.testing.assert_allclose(found.p_candidates, P[:6, 2:4].sum(axis=1))
    np.testing.assert_allclose(found.p_fsrq, P[6:8, 1] / P[6:8, :2].sum(axis=1))
    with pytest.raises(CatalogError, match="1 sources have no label, such as 4FGL J0007"):
        scores_of_labels(targets, earlier, labels[1:], grouping)


@pytest.fixture(scope="module")
def evaluated(dr1, dr4):
    """Few steps, on a part of DR1: two methods of ours and two baselines."""
    part = dr1[::2]
    quick = {"steps": 10, "num_inducing": 10, "num_draws": 16}
    estimators = {name: NIMGPClassifier(name, **quick) for name in ("mgp", "nimgp-fo")}
    done = []
    found = evaluate_open(
        part, dr4, estimators=estimators, baselines=["logistic", "boosting"], progress=lambda *a: done.append(a)
    )
    assert done == [(k, 4) for k in range(5)]
    return found


def test_methods_and_baselines_in_one_run(evaluated):
    figures = evaluated.to_dict()
    json.dumps(figures, allow_nan=False)
    assert list(figures["methods"]) == ["mgp", "nimgp-fo", "logistic", "boosting", MEAN]
    assert figures["protocol"] == "open"
    assert sum(figures["found"].values()) == figures["n"] == len(evaluated.targets)
    assert figures["found"]["psr"] > figures["found"]["other"] > figures["found"]["agn"] > 0
    best = min(("logistic", "boosting", MEAN), key=lambda name: figures["methods"][name]["nll"])
    own = figures["methods"]["mgp"]
    assert own["ratio"]["nll"]["baseline"] == own["versus_best"]["baseline"] == best
    assert own["ratio"]["nll"]["ratio"] == pytest.approx(own["nll"] / figures["methods"][best]["nll"])
    assert own["versus_best"]["mean"] == pytest.approx(own["nll"] - figures["methods"][best]["nll"])
    assert "ratio" not in figures["methods"]["logistic"]
    for name, scores in evaluated.methods.items():  # of probabilities that are probabilities, of these targets
        np.testing.assert_allclose(scores.p.sum(axis=1), 1.0, atol=1e-6)
        assert scores.p.shape == (len(evaluated.targets), len(TOPS))
        assert figures["methods"][name]["nll"] == pytest.approx(scores.nll_per_source.mean())


def test_it_is_printed(evaluated, capsys):
    print_open(evaluated)
    printed = " ".join(capsys.readouterr().out.split())
    figures = evaluated.to_dict()
    assert f"leaves {figures['n']} sources unassociated that 4FGL-DR4.fits.gz gives a class" in printed
    for name in figures["methods"]:
        assert f"{figures['methods'][name]['nll']:.3f}" in printed
    assert "nimgp-fo against the best baseline" in printed
    best = min(("mgp", "nimgp-fo"), key=lambda name: figures["methods"][name]["nll"])
    assert f"True groups and the most probable ones by {best}:" in printed
    pulsars = evaluated.targets.top == TOPS.index("psr")
    right = np.sum(evaluated.methods[best].p[pulsars].argmax(axis=1) == TOPS.index("psr"))
    assert re.search(rf"psr {pulsars.sum()} \d+ +\(\d+ %\) +{right} +\(", printed)


def test_it_is_drawn(evaluated):
    figure = open_world_figure(evaluated)
    left, middle, right = figure.axes
    assert [text.get_text() for text in left.get_legend().get_texts()] == list(TOPS)
    assert len(middle.get_yticklabels()) == 6
    assert right.get_title() == "pulsar candidates"
    with pytest.raises(ValueError, match="the method 'svm' was not evaluated: choose one of mgp"):
        open_world_figure(evaluated, "svm")
