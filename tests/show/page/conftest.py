"""Labels that no model made, of real sources, and a browser to look at their page."""

import shutil
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fermiclass.catalog import CLASS_TREE
from fermiclass.labelling.labels import label_table

CLASSES = ("bll", "fsrq", "psr")
FEATURES = "ln_Flux1000,LP_Index,LP_beta,ln_Variability_Index"

#: What a catalogue may hold that must stay text.
HOSTILE = (
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 2</script>",
    '"><img src=x onerror="window.hacked = 3">',
    "&lt;b&gt; & <img src=x onerror=window.hacked=4> '\"`",
    "<!--<script> {{ 7 * 7 }} %2F ?a=b#c\\u003c",
)

_NIMGP = {"method": "nimgp", "likelihood": "softmax", "temperature": 1.0}
EVALUATION: dict[str, Any] = {
    "catalog": "4FGL-DR1.fits.gz",
    "protocol": "future",
    "description": "sources without a class in <b>4FGL-DR1</b>",
    "grouping": "bll,fsrq,psr",
    "n": 100,
    "classes": ["bll", "fsrq", "psr"],
    "features": FEATURES.split(","),
    "methods": {
        "forest": {"settings": {"baseline": "forest"}, "class_priors": "trained", "nll": 0.1},
        "nimgp": {"settings": _NIMGP, "class_priors": "trained", "nll": 0.4},
        "nimgp@core": {"settings": _NIMGP, "class_priors": "given", "nll": 0.326},
    },
}
for _name, _result in EVALUATION["methods"].items():
    _result |= {
        "nll_se": 0.05, "error": 0.12, "ece": 0.02, "brier": 0.17, "n": 100,
        "per_class": {
            "bll": {"precision": 0.9, "recall": 0.8, "n": 50},
            "fsrq": {"precision": None, "recall": 0.5, "n": 30},
            "psr": {"precision": 1.0, "recall": 0.97, "n": 20},
        },
        "reliability": [{"n": 50, "confidence": 0.6, "accuracy": 0.58}, {"n": 50, "confidence": 0.95, "accuracy": 1.0}],
        "confusion": [[40, 10, 0], [15, 15, 0], [1, 0, 19]],
    }  # fmt: skip


def make_up_labels(catalog, seed=0, names=CLASSES, **meta):
    """A label table of all sources of a catalogue, with probabilities drawn at random."""
    rng = np.random.default_rng(seed)
    n = len(catalog)
    p = rng.dirichlet(np.full(len(names), 0.4), n)
    entropy = -np.sum(p * np.log(np.maximum(p, 1e-300)), axis=1)
    prediction = SimpleNamespace(
        probabilities=p, std=0.3 * p * (1 - p), entropy=entropy, information=0.1 * entropy, noise_entropy=0.2 * entropy
    )
    about = {
        "creator": "fermiclass", "catalog": catalog.source, "sha256": catalog.sha256, "release": catalog.release.name,
        "train_on": catalog.source, "classes": ",".join(names), "features": FEATURES, "method": "nimgp",
        "class_priors": "given", "priors": '{"unassociated": {"bll": 0.3, "fsrq": 0.2, "psr": 0.5}}',
        "random_state": "0",
    }  # fmt: skip
    tops = {top: tuple(name for name in names if name in inside) for top, inside in CLASS_TREE.items()}
    return label_table(
        catalog, names, prediction, tops={top: inside for top, inside in tops.items() if len(inside) > 1},
        feature_flags=rng.integers(0, 2, n).astype(np.int32), ood_score=rng.uniform(size=n), meta=about | meta,
    )  # fmt: skip


@pytest.fixture(scope="session")
def targets(dr4):
    """The sources of 4FGL-DR4 that have no class, 4186."""
    return dr4[np.isin(dr4.classes, ["", "bcu", "unk"])]


@pytest.fixture(scope="session")
def labels(targets):
    return make_up_labels(targets)


@pytest.fixture(scope="session")
def hostile_labels(targets):
    """Some sources whose names and associations try to break out of the page."""
    table = make_up_labels(targets[:40])
    names, associations = (np.array(table[column], dtype="U80") for column in ("Source_Name", "ASSOC1"))
    names[: len(HOSTILE)] = HOSTILE
    associations[: len(HOSTILE)] = HOSTILE[::-1]
    table["Source_Name"], table["ASSOC1"] = names, associations
    table["CLASS1"] = np.array([HOSTILE[0], *table["CLASS1"][1:]], dtype="U80")
    table.meta["catalog"] = table.meta["release"] = HOSTILE[1]
    table["Signif_Avg"].description = HOSTILE[2]
    return table


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Headless Chromium, or skip."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("no browser to look at the page with: install Chromium and chromedriver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
        "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
        f"--user-data-dir={tmp_path_factory.mktemp('browser')}", "--window-size=1440,900",
    ):  # fmt: skip
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver))
    yield opened
    opened.quit()
