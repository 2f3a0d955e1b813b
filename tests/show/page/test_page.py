"""The page as text: complete, small, and with everything from outside escaped."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import quote

import pytest

from fermiclass import followup
from fermiclass.analysis.compare import compare
from fermiclass.errors import CatalogError, FeatureError, OutputError
from fermiclass.io.tables import read_table, write_table
from fermiclass.show.page import read_metrics, report_page, write_report

from .conftest import EVALUATION, HOSTILE, make_up_labels


class Elements(HTMLParser):
    """All elements with attributes, and the text of scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.found, self.raw = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag in ("script", "style"):
            self.raw.append([tag, dict(attributes), ""])

    def handle_data(self, text):
        if self.cdata_elem:
            self.raw[-1][2] += text


@pytest.fixture(scope="module")
def metrics(tmp_path_factory):
    path = tmp_path_factory.mktemp("metrics") / "metrics.json"
    path.write_text(json.dumps(EVALUATION))
    return path


@pytest.fixture(scope="module")
def full_page(labels, dr4, metrics):
    return report_page(labels, catalog=dr4, trust=read_metrics(metrics, labels.meta))


def data_of(page):
    (text,) = (text for tag, about, text in Elements(page).raw if about.get("id") == "data")
    return json.loads(text)


def test_size_of_4500_sources(targets, dr4):
    labels = make_up_labels(dr4[:4500], features="extended")
    assert len(report_page(labels, catalog=dr4).encode()) < 3e6


def test_all_sources_are_in_it(full_page, labels):
    data = data_of(full_page)
    assert data["sources"]["name"] == list(labels["Source_Name"])
    assert [mark["name"] for mark in data["classes"]] == ["bll", "fsrq", "psr"]
    assert len(data["features"]["values"]) == 4
    assert data["reliability"][1]["accuracy"] == 1.0
    assert data["chance"] == pytest.approx(1 / 3)


def test_what_changed(labels):
    earlier = labels.copy()
    earlier["PRED_CLASS"][3] = next(name for name in ("bll", "psr") if name != labels["PRED_CLASS"][3])
    page = report_page(labels, since=compare(labels, earlier[:-2]))
    (link,) = (about["href"] for _, about in Elements(page).found if about.get("href", "").startswith("#source="))
    assert link == "#source=" + quote(labels["Source_Name"][3])
    assert f"2 of {len(labels)} sources are new; 1 have another class." in page


def test_nothing_is_loaded_and_nothing_else_runs(full_page):
    """The policy allows the page's own scripts and style by their checksums, and no request at all."""
    elements = Elements(full_page)
    (policy,) = (about["content"] for tag, about in elements.found if about.get("http-equiv"))
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    for name, tag in (("script-src", "script"), ("style-src", "style")):
        own = [text for kind, about, text in elements.raw if kind == tag and about.get("type") != "application/json"]
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in own]
        assert rules[name].split() == [f"'sha256-{digest}'" for digest in digests]
    loading = ("script", "img", "iframe", "object", "embed", "link", "audio", "video", "source")
    assert [about for tag, about in elements.found if tag in loading and {"src", "data"} & set(about)] == []
    assert [about["href"] for tag, about in elements.found if tag == "link"] == ["data:,"]
    assert not [about for _, about in elements.found if any(name.startswith("on") for name in about)]
    assert not [about for _, about in elements.found if "style" in about]


def test_whatever_is_in_the_catalogue_stays_text(hostile_labels, labels, metrics):
    page = report_page(hostile_labels, trust=read_metrics(metrics, {}))
    others = labels[:40]
    for name in ("Source_Name", "ASSOC1", "CLASS1"):
        others[name].description = None  # as many descriptions
    tame = report_page(others, trust=read_metrics(metrics, {}))
    found, expected = ([tag for tag, _ in Elements(text).found] for text in (page, tame))
    assert found == expected
    assert data_of(page)["sources"]["name"][: len(HOSTILE)] == list(HOSTILE)
    assert data_of(page)["sources"]["assoc1"][: len(HOSTILE)] == list(HOSTILE)[::-1]
    assert "window.hacked" in page  # it is there, as text
    for text in HOSTILE:
        assert text not in page
    assert "49 %2F" not in page
    assert "sources without a class in &lt;b&gt;4FGL-DR1" in page


def test_no_rows(labels):
    page = report_page(labels[:0])
    assert "Probable classes of 0 sources" in page
    assert data_of(page)["sources"]["name"] == []


def test_classes_in_the_order_in_which_they_were_given(targets):
    labels = make_up_labels(targets[:50], names=("bll", "msp", "other"), classes="other,msp,bll")
    page = report_page(labels)
    assert [mark["name"] for mark in data_of(page)["classes"]] == ["other", "msp", "bll"]
    assert data_of(page)["sources"]["probability"][1] == [round(p, 4) for p in labels["P_msp"]]
    assert "msp candidates" in page


def test_both_kinds_of_pulsars_are_one_group(targets, dr4):
    """Candidates have the sum of both kinds; the names of earlier catalogues are those of the right rows."""
    labels = make_up_labels(targets[:50], names=("bll", "fsrq", "psr", "msp", "other"))
    data = data_of(report_page(labels, catalog=dr4))
    assert data["wanted"] == [2, 3]
    assert data["groups"] == [{"name": "agn", "classes": [0, 1]}, {"name": "pulsar", "classes": [2, 3]}]
    assert data["sources"]["sum"][1] == [round(p, 4) for p in labels["P_psr"] + labels["P_msp"]]
    for row, names in enumerate(data["sources"]["others"]):
        found = {str(targets.table[column][row]) for column in ("ASSOC_FGL", "ASSOC_4FGL", "ASSOC_FHL", "ASSOC_GAM1")}
        assert {*names.split(", ")} == found - {"", labels["Source_Name"][row]} or not names
    assert any("3FGL" in names for names in data["sources"]["others"])
    listed = followup(labels, by="significance")
    for row, name in enumerate(labels["Source_Name"]):
        there = listed[listed["Source_Name"] == name][0]
        assert [data["sources"][key][row] for key in ("since", "known")] == [there["FIRST_LIST"], there["KNOWN"]]


def test_labels_without_metadata(targets, dr4, tmp_path):
    """A CSV file says nothing of how the labels were made: the default features are shown."""
    write_table(make_up_labels(targets[:50]), tmp_path / "labels.csv")
    page = report_page(read_table(tmp_path / "labels.csv"), catalog=dr4)
    assert "its format carries no metadata" in page
    assert len(data_of(page)["features"]["names"]) == 20


def test_ways_to_be_wrong(labels, targets, dr4, tmp_path):
    with pytest.raises(OutputError, match=r"ending of a page; expected \.html, \.htm"):
        write_report(labels, tmp_path / "page.pdf")
    with pytest.raises(OutputError, match="there is no folder"):
        write_report(labels, tmp_path / "no" / "page.html")
    with pytest.raises(CatalogError, match=r"it is a catalogue\. Label it first"):
        report_page(dr4.table)
    other = make_up_labels(targets[:5], sha256="0" * 64)
    with pytest.raises(CatalogError, match=r"but .* was made with .* of SHA-256 0000"):
        report_page(other, catalog=dr4)
    without = replace(dr4, table=dr4.table.copy())
    without.table.remove_column("PL_Index")
    with pytest.raises(FeatureError, match=r"lacks PL_Index: give the training catalogue, too \(--train-on\)"):
        report_page(make_up_labels(targets[:5], features="PL_Index,LP_Index"), catalog=without)
    with pytest.raises(FeatureError, match="unknown"):
        report_page(make_up_labels(targets[:5], features="beauty"), catalog=dr4)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("column", "values"),
    [("LABEL_FLAGS", ["imputed"] * 3), ("GLON", [[1.0, 2.0]] * 3), ("P_psr", ["much"] * 3), ("Source_Name", None)],
)
def test_columns_that_are_not_of_labels(targets, dr4, tmp_path, column, values):
    table = make_up_labels(targets[:3])
    table.remove_column(column)
    if values is not None:
        table[column] = values
    with pytest.raises(CatalogError, match=column):
        write_report(table, tmp_path / "page.html", catalog=dr4)
    assert list(tmp_path.iterdir()) == []


def test_every_part_has_a_name_for_screen_readers(full_page):
    elements = Elements(full_page).found
    ids = {about["id"] for _, about in elements if "id" in about}
    assert [about for tag, about in elements if tag == "html"] == [{"lang": "en"}]
    assert {"header", "nav", "main", "aside", "footer"} <= {tag for tag, _ in elements}
    for tag, about in elements:
        if tag == "section":
            assert about["aria-labelledby"] in ids
        if about.get("role") == "img":
            assert about["aria-label"]
            assert about["aria-describedby"] in ids
    count = {tag: len(re.findall(f"<{tag}[ >]", full_page)) for tag in ("table", "caption")}
    assert count["table"] == count["caption"]
    assert all(about.get("scope") in ("row", "col") for tag, about in elements if tag == "th")
    targets_of_links = {about["href"][1:] for tag, about in elements if tag == "a" and about["href"].startswith("#")}
    assert targets_of_links <= ids
