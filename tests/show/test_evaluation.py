"""What the user sees of an evaluation."""

import io
import re

import numpy as np
import pytest
from rich.console import Console

from fermiclass.evaluation import Variant
from fermiclass.labelling.label_shift import estimate_shares
from fermiclass.plots.evaluation import reliability_figure
from fermiclass.show.confusion import confusion_table
from fermiclass.show.evaluation import (
    baselines_table,
    evaluation_table,
    print_evaluation,
    shares_table,
    significance_table,
)
from tests.evaluation.conftest import CLASSES, make_up_evaluation

FEATURES = {"six": tuple("abcdef"), "extended": tuple("abcdefghijklmnopq")}
NAMES = ("logistic", "forest", "boosting", "mlps", "svm", "xgboost", "catboost")
BASELINES = [name + suffix for name in NAMES for suffix in ("", "+unc")]


def printed(evaluation, width=80, **options):
    stream = io.StringIO()
    print_evaluation(evaluation, Console(file=stream, width=width, highlight=False), **options)
    return stream.getvalue()


def rendered(table):
    stream = io.StringIO()
    Console(file=stream, width=80, highlight=False).print(table)
    return stream.getvalue()


@pytest.fixture(params=[True, False], ids=["future", "folds"])
def evaluation(request):
    variants = {Variant("worse-and-with-a-long-name", "six"): 0.9, Variant("better", "six"): 0.0}
    return make_up_evaluation(variants, some_unassociated=request.param)


@pytest.fixture(scope="module")
def full():
    """All that can be asked for at once: two methods and all baselines, two sets of features, corrected and not."""
    shares = estimate_shares(np.random.default_rng(0).dirichlet(np.ones(3), 200), np.full(3, 1 / 3))
    methods = [*((name, False) for name in ("mgp", "nimgp")), *((name, True) for name in BASELINES)]
    variants = {
        Variant(method, features, correction, is_baseline): 0.02 * k + extra
        for features, extra in (("six", 0.2), ("extended", 0.0))
        for k, (method, is_baseline) in enumerate(methods)
        for correction, extra in ((("", extra + 0.1)), ("+shares", extra))
    }
    meta = {
        "training_shares": dict(zip(CLASSES, (0.5, 0.3, 0.2), strict=True)),
        "n_train": 2064,
        "targets_by_status": {"unassociated": 1337, "bcu": 1312},
    }
    return make_up_evaluation(variants, features=FEATURES, meta=meta, shares={"": shares, "bcu": shares})


def test_table_is_sorted_and_fits_a_terminal(evaluation):
    text = printed(evaluation)
    assert text.index("better") < text.index("worse-and")
    assert "…" not in text
    best = evaluation.methods["better"].scores
    assert f"{best.nll:.3f}±{best.nll_se:.3f}" in text
    assert "1.2" in text
    bare = np.sum(evaluation.status == "")
    assert (f"{bare} sources that had no association" in text) is bool(bare)
    assert ("NLL*" in text) is bool(bare)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("all_rows", [False, True])
def test_much_asked_for_fits_a_terminal(full, width, all_rows):
    assert len(full.methods) == 4 * (2 + len(BASELINES))
    text = printed(full, width, all_rows=all_rows)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    # A method's row starts with its whole name: nothing is folded.
    first_words = [line.split()[0] for line in text.splitlines() if re.match(r" \S.*±", line)]
    known = {"nimgp", "mgp", "unassociated", "bcu", *BASELINES}
    assert set(first_words) - {"±"} <= known


@pytest.mark.parametrize("all_rows", [False, True])
def test_few_baselines_of_each_group_are_shown_unless_asked_for_all(full, all_rows):
    table = rendered(evaluation_table(full, all_rows=all_rows))
    rows = [line.split()[0] for line in table.splitlines() if "±" in line]
    groups = [line.strip() for line in table.splitlines() if line.startswith(" @")]
    assert groups == list(full.groups)
    assert rows.count("nimgp") == rows.count("mgp") == 4
    assert len(rows) == (len(full.methods) if all_rows else 4 * (2 + 3))
    shown = rows[:5]
    best = [
        full.methods[name].variant.method for name in full.groups["@extended+shares"] if name.split("@")[0] in BASELINES
    ]
    assert [name for name in shown if name in BASELINES] == best[:3]
    assert (f"{4 * (len(BASELINES) - 3)} more rows of baselines" in printed(full, all_rows=all_rows)) is not all_rows


def test_all_of_few_baselines_are_shown():
    variants = {Variant(name, "six", is_baseline=True): 0.05 * k for k, name in enumerate(BASELINES)}
    text = printed(make_up_evaluation(variants))
    assert all(f" {name} " in text for name in BASELINES)
    assert "--all" not in text


def test_each_figure_is_defined_in_a_line(evaluation):
    lines = printed(evaluation).splitlines()
    for name in ("NLL", "error", "Brier", "ECE"):
        assert len([line for line in lines if re.match(rf"{name}: [^.]+\.$", line)]) == 1


def test_true_and_most_probable_classes_are_counted(evaluation):
    text = printed(evaluation)
    best = evaluation.methods[evaluation.ranking[0]]
    assert f"True classes and the most probable ones by {evaluation.ranking[0]}:" in text
    said = np.array(evaluation.classes)[best.probabilities.argmax(axis=1)]
    for true in evaluation.classes:
        of_class = evaluation.y == true
        (row,) = (line for line in text.splitlines() if re.match(rf" {true} +{of_class.sum()} ", line))
        counts = [np.sum(of_class & (said == name)) for name in evaluation.classes]
        expected = [(str(n), f"{100 * n / of_class.sum():.0f}") for n in counts]
        assert re.findall(r"(\d+) +\((\d+) %\)", row) == expected


def test_a_class_without_sources_has_no_percentages():
    assert re.search(r"psr +0 +0 +\(–\) +0 +\(–\)", rendered(confusion_table([[3, 1], [0, 0]], ["agn", "psr"])))


def test_differences_to_baselines(full):
    text = " ".join(rendered(baselines_table(full)).split())
    against = full.to_dict()["versus_peers"]
    for population in ("all", "unassociated"):
        row = against["nimgp@extended+shares"]["as_used"][population]
        percent = f"{row['relative']:+.1%}" if abs(row["relative"]) < 0.0995 else f"{row['relative']:+.0%}"
        assert f"{row['difference']:+.3f}±{row['se']:.3f} {percent}" in text
        assert f"{row['peer']} {row['peer_nll']:.3f}" in text
    assert "best @six+shares" in text


def test_differences_to_baselines_are_told_once_where_there_is_one_question():
    variants = {Variant("nimgp", "six"): 0.0, Variant("svm", "six", is_baseline=True): 0.5}
    text = rendered(baselines_table(make_up_evaluation(variants, some_unassociated=False)))
    assert text.count("nimgp") == 1
    assert "best as users run it" in text
    assert baselines_table(make_up_evaluation({Variant("svm", "six", is_baseline=True): 0.5})) is None


def test_bins_of_significance(full):
    text = rendered(significance_table(full))
    assert re.search(r"<5 +5–7 +7–10 +10–20 +≥20 +all +\n", text)
    assert text.count("nimgp − mgp") == 4
    gain = full.to_dict()["input_noise"][0]["by_significance"]
    assert " ".join(f"{row['difference']:+.3f}" for row in gain) in text
    assert " ".join(f"±{row['se']:.3f}" for row in gain) in text
    losses = [f"{row.nll:.3f}" for row in full.methods["nimgp@six"].scores.by_significance]
    assert re.search(r"nimgp +" + " +".join(map(re.escape, losses)), text)
    groups = re.split(r"@\S+ +\n", text)[1:]
    assert [sum(baseline in group.split() for baseline in BASELINES) for group in groups] == [1, 1, 1, 1]


def test_no_bins_where_significance_is_not_known(full):
    from dataclasses import replace

    assert significance_table(replace(full, significance=np.full(len(full), np.nan))) is None


def test_shares(full):
    text = rendered(shares_table(full))
    assert "class priors by mgp" in text
    shares = full.methods["mgp@six+shares"].shares["bcu"]
    cells = " ".join(f"{mean:.3f}±{std:.3f}" for mean, std in zip(shares.mean, shares.std, strict=True))
    assert re.search(r"bcu +1312 +" + re.escape(cells), text)
    assert re.search(r"training sources +2064 +0\.500 +0\.300 +0\.200", text)
    effect = full.to_dict()["correction"]["mgp@six+shares"]["all"]
    before, after = (full.methods[name].scores.nll for name in ("mgp@six", "mgp@six+shares"))
    sentence = f"the NLL of mgp@six from {before:.3f} to {after:.3f} ({effect['difference']:+.3f}±{effect['se']:.3f})"
    assert sentence in " ".join(printed(full).split())


def test_no_shares_where_none_were_estimated(evaluation):
    assert shares_table(evaluation) is None
    assert "shares" not in printed(evaluation)


def test_features_are_told(full):
    assert "features @six (6), @extended (17)" in " ".join(printed(full).split())
    listed = {"list1": ("LP_beta", "Npred"), "LP_beta": ("LP_beta",)}
    variants = {Variant("svm", features): 0.1 for features in listed}
    text = " ".join(printed(make_up_evaluation(variants, features=listed)).split())
    assert "features @list1 (LP_beta, Npred), @LP_beta." in text


def test_figure(evaluation, tmp_path):
    figure = reliability_figure(evaluation)
    assert [axes.get_title() for axes in figure.axes[::2]] == ["better", "worse-and-with-a-long-name"]
    line = figure.axes[0].lines[1]
    table = evaluation.methods["better"].scores.reliability
    np.testing.assert_allclose(line.get_ydata(), [row.accuracy for row in table])
    np.testing.assert_allclose(line.get_xdata(), [row.confidence for row in table])
    figure.savefig(tmp_path / "figure.pdf")
    assert (tmp_path / "figure.pdf").stat().st_size > 1000


def test_figure_of_an_unknown_method(evaluation):
    with pytest.raises(ValueError, match=r"methods oracle were not evaluated: choose among worse"):
        reliability_figure(evaluation, ["oracle"])
