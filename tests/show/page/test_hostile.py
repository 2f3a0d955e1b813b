"""A page of a table that somebody else made: names that are markup, odd letters, numbers that are none."""

import numpy as np
import pytest

from fermiclass.labelling.labels import Labels
from fermiclass.show.page import write_report
from fermiclass.show.page.sources import source_columns

from .conftest import make_up_labels
from .test_browser import Reader

#: Class names, which become headings of the table, names of buttons, and names in the pictures.
CLASSES = (
    "<A>",
    "<IMG src=x onerror=alert(1)>",
    '<meta http-equiv="refresh" content="0;url=about:blank">',
    "{b|c} &lt;i&gt;",
)
#: Names of sources: letters that end a line for some, that are blank, or that are half a letter.
NAMES = (
    "4FGL \u2028J1",
    "4FGL J2\u2028",
    "\u20294FGL J3",
    "4FGL\x85J4",
    "\xa04FGL  J5\xa0",
    "\ufeff4FGL J6",
    "4FGL \ud800J7",
)
NUMBERS = (np.nan, np.inf, -np.inf)


@pytest.fixture(scope="module")
def labels(targets):
    table = make_up_labels(targets[:40], names=CLASSES)
    names = np.array(table["Source_Name"], dtype="U40")
    names[: len(NAMES)] = NAMES
    table["Source_Name"] = names
    for name in table.colnames:
        if table[name].dtype.kind in "if":
            table[name] = table[name].astype(np.float64)
            table[name][len(NAMES) : len(NAMES) + len(NUMBERS)] = NUMBERS
    return table


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory, labels):
    path = tmp_path_factory.mktemp("hostile") / "page.html"
    write_report(labels, path)
    return Reader(browser, path)


def test_class_names_are_text_everywhere(page):
    page.open()
    headings = page.js(
        "return [...document.querySelectorAll('#table thead .dt-column-title')].map((cell) => cell.textContent)"
    )
    spoken = [place.get_attribute("aria-label") for place in page.all("#table thead .dt-column-order")]
    for name in CLASSES:
        assert f"P {name}" in headings
        assert any(words.startswith(f"P {name}: ") for words in spoken)
        assert name in [option.get_attribute("textContent") for option in page.all("#filter-class option")]
    assert page.all("#table a:not([href]), #table img, body meta") == []
    assert page.js("return location.href") == page.path.as_uri()
    assert page.complaints() == []


def test_numbers_that_are_none_are_left_out(labels):
    columns = source_columns(Labels(labels))
    gone = slice(len(NAMES), len(NAMES) + len(NUMBERS))
    for name, values in columns.items():
        rows = values if name in ("probability", "deviation", "sum") else [values]
        if name not in ("name", "class1", "assoc1", "class2", "assoc2", "status", "predicted"):
            assert all(row[gone] == [None] * len(NUMBERS) for row in rows), name
