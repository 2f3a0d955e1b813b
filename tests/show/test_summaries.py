"""What commands print of catalogues, labels and evaluations: what a catalogue says is shown as it is."""

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

from fermiclass import followup, read_catalog
from fermiclass.catalog.releases import CatalogWarning
from fermiclass.evaluation import Evaluation
from fermiclass.io.target_lists import sexagesimal
from fermiclass.labelling.associations import SelectionPrior
from fermiclass.labelling.labels import Labels
from fermiclass.plots import evaluation_figure
from fermiclass.show.caveats import caveats, lasting_caveat
from fermiclass.show.evaluation import confusion_table, print_evaluation
from fermiclass.show.explanation import print_explanation
from fermiclass.show.summaries import print_followup, print_info
from fermiclass.show.terminal import say
from tests.analysis.test_explain import made_up_explanation
from tests.commands import printed_by
from tests.evaluation.conftest import CLASSES, make_up_evaluation
from tests.show.page.conftest import make_up_labels


@pytest.fixture
def labels(dr4):
    return make_up_labels(dr4[::100])


def test_what_looks_like_markup_is_shown(dr4, labels, capsys):
    table = dr4[::20].table.copy()
    table["CLASS1"] = ["[/b]", "[v2]", ":ok:", *table["CLASS1"][3:]]
    with pytest.warns(CatalogWarning, match="unknown classes"):
        print_info(read_catalog(table))
    printed = capsys.readouterr().out
    for expected in ("[/b] ", "[v2] ", ":ok: ", "from <Table>"):
        assert expected in printed
    labels["Source_Name"] = np.full(len(labels), "[/b] :ok:")
    print_followup(followup(labels), [Path("out[v2].fits")])
    printed = capsys.readouterr().out
    assert "[/b] :ok:" in printed
    assert ": out[v2].fits" in printed
    labels["ASSOC2"] = "[b]PKS"
    labels["STATUS"], labels["CLASS2"], labels["ASSOC_PROB_BAY"] = "unassociated", "agn", 0.31
    print_followup(followup(labels))
    assert "[/b] :ok:: [b]PKS (agn, probability 0.31)." in capsys.readouterr().out
    explained = made_up_explanation()
    explained.label["ASSOC1"] = "[/b]"
    print_explanation(explained)
    assert "[/b]" in capsys.readouterr().out


@pytest.mark.filterwarnings("error")
def test_a_position_that_is_none(labels, capsys):
    labels["RAJ2000"][0] = np.inf
    labels["DEJ2000"][:4] = [91.0, -1e30, np.inf, np.nan]
    print_followup(followup(labels[:4]))
    printed = capsys.readouterr().out
    assert "nan" not in printed
    assert all(name in printed for name in labels["Source_Name"][:4])


@pytest.mark.parametrize("width", [50, 60, 70, 80])
def test_a_narrow_terminal_breaks_no_number(labels, capsys, monkeypatch, width):
    """Columns are left out instead, but for source, position, probability and score."""
    monkeypatch.setenv("COLUMNS", str(width))
    labels["P_MAX"][:] = 0.9999
    ranking = followup(labels, by="ood", top=5)
    print_followup(ranking)
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= width
    words = printed.split()
    assert ("σ" in words, "since" in words) == (width >= 70, False)
    for row, ra, dec in zip(ranking, *sexagesimal(ranking, short=True), strict=True):
        assert {*row["Source_Name"].split(), ra, dec, f"{row['OOD_SCORE']:.3f}", ">0.999"} <= {*words}


def test_confident_labels_of_sources_that_vanish(labels):
    """Those of fsrq will, if they are unassociated; those of psr last."""
    labels["P_MAX"], labels["LASTS"] = 0.5, 1.0
    bare = labels["STATUS"] == "unassociated"
    fsrq = np.flatnonzero(bare & (labels["PRED_CLASS"] == "fsrq"))[:4]
    bcu = np.flatnonzero(~bare & (labels["PRED_CLASS"] == "fsrq"))[:4]
    psr = np.flatnonzero(bare & (labels["PRED_CLASS"] == "psr"))[:4]
    labels["P_MAX"][[*fsrq, *bcu, *psr]] = 0.95
    labels["LASTS"][[*fsrq, *bcu]] = 0.25
    assert sum(count.lasting for count in Labels(labels).counts()[:3]) == pytest.approx(len(labels) - 6)
    text = lasting_caveat(Labels(labels))
    assert "about 6 of these sources, 3 of them unassociated; of 4 unassociated fsrq" in text
    assert "psr" not in text


# --- evaluations -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def evaluation():
    return make_up_evaluation({"nimgp": 0.1, "mgp": 0.5, "base": 0.3, "base 2": 0.7})


@pytest.fixture(scope="module")
def text(evaluation):
    return printed_by(print_evaluation, evaluation)


def test_populations_baselines_and_significance(evaluation, text):
    figures = evaluation.figures["nll"]
    for name in ("nimgp", "mgp"):
        for population, row in evaluation.versus_baselines(name).items():
            heading = evaluation.targets.populations[population].heading
            numbers = f"{row['n']} +{figures[population, name]:.3f} +{row['ratio']:.2f}"
            difference = re.escape(f"{row['mean']:+.3f} ± {row['se']:.3f}")
            assert re.search(rf"{name}, {heading} +{numbers} +{difference} +{row['baseline']}", text)
    bins = evaluation.by_significance("nimgp", "mgp")
    assert re.search(rf"nimgp − mgp +{' +'.join(re.escape(f'{mean:+.3f}') for mean in bins['mean'])}", text)


def test_the_best_baselines_are_printed():
    noise = {"nimgp": 0.1} | {f"base {k}" + "*" * k: k / 10 for k in range(1, 9)}
    evaluation = make_up_evaluation(noise)
    text = printed_by(print_evaluation, evaluation)
    names = [name for name in evaluation.table.index if name != "nimgp"]
    assert all(name in text for name in names[:5])
    assert not any(re.search(rf"{re.escape(name)} ", text) for name in names[5:])
    assert "3 more baselines" in text


def test_true_and_most_probable_classes_are_counted(evaluation, text):
    said = evaluation.probabilities("nimgp").argmax(axis=1)
    for c, name in enumerate(CLASSES):
        counts = [np.sum((evaluation.y == name) & (said == k)) for k in range(3)]
        assert re.search(rf"{name} +{sum(counts)} +" + r" +\( *\d+ %\) +".join(map(str, counts)), text), c
    empty = printed_by(say, confusion_table([[3, 1], [0, 0]], ["agn", "psr"]))
    assert re.search(r"psr +0 +0 +\(–\) +0 +\(–\)", empty)


def test_figure(evaluation, tmp_path):
    figure = evaluation_figure(evaluation)
    losses, calibration, numbers, _ = figure.axes
    assert [text.get_text() for text in losses.get_yticklabels()] == list(evaluation.table.index)[::-1]
    assert [text.get_text() for text in calibration.get_legend().get_texts()] == list(CLASSES)
    per_class = evaluation.per_class("nimgp")
    assert [bar.get_width() for bar in numbers.patches] == [per_class[name]["n"] for name in CLASSES]
    together = dataclasses.replace(evaluation.targets, together=("bll", "fsrq"))
    numbers = evaluation_figure(Evaluation(together, evaluation.results)).axes[2]
    assert numbers.get_yticklabels()[3].get_text() == "bll or fsrq"
    assert numbers.patches[3].get_width() == per_class["bll"]["n"] + per_class["fsrq"]["n"]
    figure.savefig(tmp_path / "figure.pdf")


@pytest.mark.parametrize(
    ("prior", "words"),
    [(SelectionPrior(), "not known here"), (SelectionPrior(-0.7, 1.5, -0.4, 1.2, 6.0), "corrected for")],
)
def test_a_correction_is_named_only_where_there_is_one(labels, prior, words):
    labels.meta |= {"class_priors": "selection", "priors": json.dumps(prior.to_dict())}
    assert words in caveats(Labels(labels))[0]


@pytest.mark.parametrize(("prior", "missing"), [((-0.7, 1.5, -0.4), 2), ((0.0, 1.5, -0.4), 1), ((-0.7,), 1)])
def test_sources_without_a_value_are_not_corrected(labels, prior, missing):
    """Only a value that the correction needs is missed, and only of unassociated sources."""
    bare = np.flatnonzero(labels["STATUS"] == "unassociated")
    labels["GLAT"][bare[0]] = labels["Signif_Avg"][bare[1]] = np.nan
    labels["GLAT"][np.flatnonzero(labels["STATUS"] != "unassociated")[0]] = np.nan
    labels.meta |= {"class_priors": "selection", "priors": json.dumps(SelectionPrior(*prior).to_dict())}
    assert f"but for {missing} without a value of these" in caveats(Labels(labels))[0]
