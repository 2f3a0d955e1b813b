"""``fermiclass report`` as a user runs it: a process of its own, on real labels."""

import json
import re

import numpy as np
import pytest

from fermiclass.io.tables import read_table, write_table
from fermiclass.show.page import read_metrics, write_report
from tests.commands import imported_by, refuses, run_well
from tests.conftest import slim_path
from tests.show.page.conftest import EVALUATION, make_up_labels

DR3, DR4 = slim_path("4FGL-DR3"), slim_path("4FGL-DR4")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, dr4):
    folder = tmp_path_factory.mktemp("report")
    write_table(make_up_labels(dr4[np.isin(dr4.classes, ["", "bcu", "unk"])]), folder / "labels.fits.gz")
    (folder / "metrics.json").write_text(json.dumps(EVALUATION))
    (folder / "damaged.json").write_text("{")
    return folder


def test_report(folder):
    printed = run_well("report", "labels.fits.gz", "--catalog", DR4, "--metrics", "metrics.json", cwd=folder)
    page = folder / "labels.html"
    assert re.fullmatch(r"4186 sources, \d\.\d MB: labels\.html\n", printed)
    assert page.stat().st_size < 3e6
    text = page.read_text(encoding="utf-8")
    assert "4FGL J0000.3-7355" in text
    assert "<code>nimgp@core</code>" in text
    run_well("report", "labels.fits.gz", "--catalog", DR4, "--metrics", "metrics.json", "-o", "b.html", cwd=folder)
    assert (folder / "b.html").read_bytes() == page.read_bytes()


def test_what_became_of_candidates(folder):
    some = {"threshold": 0.5, "n": 1056, "purity": 0.857, "purity_interval": [0.8, 0.9]}
    some |= {"completeness": 0.716, "completeness_interval": [0.6, 0.8]}
    none = {"threshold": 0.9, "n": 0, "purity": None, "purity_interval": None}
    none |= {"completeness": 0.0, "completeness_interval": [0.0, 0.1]}
    face = {"candidates": {"pulsar": [some, none]}}
    spiders = {"candidates": {"pulsar": [some | {"purity": 0.88}, none]}}
    forest, default = (EVALUATION["methods"][name] for name in ("forest", "nimgp"))
    methods = {"forest": forest | {"is_baseline": True}}
    content = EVALUATION | {"protocol": "open", "catalog": "DR1<b>", "later": "DR4", "found": {"pulsar": 67}}
    (folder / "open.json").write_text(json.dumps(content | {"methods": methods}))
    assert read_metrics(folder / "open.json", {}).past is read_metrics(folder / "metrics.json", {}).past is None
    methods["default"] = default | {"is_baseline": False, "face": face, "spiders": spiders}
    (folder / "open.json").write_text(json.dumps(content | {"methods": methods}))
    labels = read_table(folder / "labels.fits.gz")
    write_report(labels, folder / "open.html", trust=read_metrics(folder / "open.json", labels.meta))
    text = (folder / "open.html").read_text(encoding="utf-8")
    assert "Pulsar candidates of DR1&lt;b&gt;, by the 67 pulsars that DR4 found" in text
    table = text[text.index("Pulsar candidates of") :]
    assert re.findall(r'<td class="number">(.*?)</td>', table)[:8] == [
        *("1,056", "86 % (80–90)", "88 % (80–90)", "72 % (60–80)"),
        *("0", "–", "–", "0 % (0–10)"),
    ]


def test_report_does_without_tensorflow(folder):
    arguments = ("labels.fits.gz", "--catalog", DR4, "-o", "without.html", "--quiet")
    printed, modules = imported_by("report", *arguments, cwd=folder)
    assert printed == ""
    assert not {"tensorflow", "gpflow", "sklearn"} & modules


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("labels.fits.gz", "-o", "no/page.html"), r"there is no folder '.*no'"),
        (("labels.fits.gz", "--catalog", DR3), r"4FGL-DR3\.fits\.gz has SHA-256 \w+, but .* was made with"),
        (("labels.fits.gz", "--metrics", "damaged.json"), r"'damaged\.json' is not an evaluation"),
        ((), "Missing argument 'LABELS'"),
    ],
)
def test_report_refuses(folder, arguments, message):
    refuses(folder, message, "report", *arguments, *(() if "-o" in arguments else ("-o", "new.html")))
