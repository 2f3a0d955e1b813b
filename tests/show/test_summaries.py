"""What commands print: what a catalogue says is shown as it is, whatever it looks like."""

from pathlib import Path

import numpy as np
import pytest

from fermiclass import followup, read_catalog
from fermiclass.catalog.releases import CatalogWarning
from fermiclass.labelling.labels import count_labels
from fermiclass.show.explanation import print_explanation
from fermiclass.show.summaries import lasting_caveat, print_followup, print_info
from tests.analysis.test_explain import made_up_explanation
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
    explained = made_up_explanation()
    explained.label["ASSOC1"] = "[/b]"
    print_explanation(explained)
    assert "[/b]" in capsys.readouterr().out


@pytest.mark.filterwarnings("error")
def test_a_position_that_is_none(labels, capsys):
    labels["RAJ2000"][0] = np.inf
    labels["DEJ2000"][:4] = [91.0, -1e30, np.inf, np.nan]
    print_followup(followup(labels[:4]))
    assert capsys.readouterr().out.count(" nan ") == 5  # a right ascension and four declinations


def test_confident_labels_of_sources_that_vanish(labels):
    """Those of fsrq will, if they are unassociated; those of psr last."""
    labels["P_MAX"], labels["LASTS"] = 0.5, 1.0
    bare = labels["STATUS"] == "unassociated"
    fsrq = np.flatnonzero(bare & (labels["PRED_CLASS"] == "fsrq"))[:4]
    bcu = np.flatnonzero(~bare & (labels["PRED_CLASS"] == "fsrq"))[:4]
    psr = np.flatnonzero(bare & (labels["PRED_CLASS"] == "psr"))[:4]
    labels["P_MAX"][[*fsrq, *bcu, *psr]] = 0.95
    labels["LASTS"][[*fsrq, *bcu]] = 0.25
    assert sum(count.lasting for count in count_labels(labels)[:3]) == pytest.approx(len(labels) - 6)
    text = lasting_caveat(labels)
    assert "about 6 of these sources, 3 of them unassociated; of 4 unassociated fsrq" in text
    assert "psr" not in text
