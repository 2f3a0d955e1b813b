"""The pictures of ``docs/notebooks.md``: every function of ``fermiclass.plots`` on 4FGL-DR4.

    python docs/build.py gallery

A notebook's main picture is the one that is stored in it.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import fermiclass as fc
from fermiclass import plots
from fermiclass.evaluation import baseline_methods, default_method, evaluate, open_world

DOCS = Path(__file__).parent
CATALOGS, NOTEBOOKS, FIGURES = DOCS.parent / "catalogs", DOCS.parent / "notebooks", DOCS / "figures"
DPI = 130
CLASSES = ["bll", "fsrq", "psr", "msp", "other"]
#: Groups of classes, and their columns.
GROUPS = {"agn": "Sum_P_agn", "pulsar": "Sum_P_pulsar", "other": "P_other"}
#: Without a class, and between all of them.
EXPLAINED = "4FGL J0001.6+3503"
#: Which of a notebook's pictures is its main one.
MAIN_PICTURES = {"01": 1, "02": 1, "03": 0, "04": 0, "05": 1, "06": 0, "07": 0}


def write_gallery() -> None:
    """Draw all pictures into ``docs/figures``."""
    for name, figure in draw().items():
        # no versions and times in the file: the same picture is the same bytes
        figure.savefig(FIGURES / f"plots-{name}.png", dpi=DPI, metadata={"Software": None}, bbox_inches="tight")
        plt.close(figure)
    for number, which in MAIN_PICTURES.items():
        (FIGURES / f"notebook-{number}.png").write_bytes(pictures(next(NOTEBOOKS.glob(f"{number}-*.ipynb")))[which])


def pictures(notebook: Path) -> list[bytes]:
    """Return the pictures that are stored in a notebook."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    data = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    return [base64.b64decode("".join(each["image/png"])) for each in data if "image/png" in each]


def draw() -> dict[str, Figure]:
    """Return a figure for each function of ``fermiclass.plots``, by its name."""
    earlier, catalog = (fc.read_catalog(CATALOGS / f"4FGL-{release}.fits.gz") for release in ("DR1", "DR4"))
    labels = fc.read_table(CATALOGS / "4FGL-DR4-labels.fits.gz")
    model = fc.train(catalog)
    P = np.array([labels[column] for column in GROUPS.values()]).T
    methods = [default_method(), *baseline_methods(["logistic", "forest", "boosting"])]
    later = evaluate(open_world(earlier, catalog), methods)
    clear = later.truth.sum(axis=1) == 1  # of one class, as far as its code says
    predicted, true = later.probabilities("default")[clear], later.y[clear]
    sources = fc.extract_features(catalog)
    sources = sources[np.isin(sources.y, CLASSES)][::4]
    estimator = model.estimator
    slopes = plots.log_odds_slopes(
        lambda X: estimator.predict_proba(X, X_var=sources.X_var), sources.X, estimator.scale_
    )
    axes = {
        "sky_map": plots.sky_map(labels["GLON"], labels["GLAT"], labels["PRED_CLASS"], labels["P_MAX"], names=CLASSES),
        "feature_pair": feature_pair(catalog),
        "probability_triangle": plots.probability_triangle(P, list(GROUPS)),
        "reliability_diagram": plots.reliability_diagram(predicted, true, later.classes),
        "confusion_matrix": plots.confusion_matrix(
            true, np.array(later.classes)[predicted.argmax(axis=1)], later.classes
        ),
        "ard_relevances": plots.ard_relevances(
            slopes, model.features, model.classes, quantity="log-odds moved by one standard deviation"
        ),
        "explanation": plots.explanation(fc.explain(model, catalog, EXPLAINED))[0],
    }
    figures: dict[str, Any] = {name: each.figure for name, each in axes.items()}
    return figures | {"evaluation_figure": plots.evaluation_figure(later)}


def feature_pair(catalog: fc.Catalog) -> Axes:
    """Draw associated sources as points, and some faint ones without a class as the ellipses of their errors."""
    data = fc.extract_features(catalog)
    names = [feature.name for feature in data.features]
    known = np.isin(data.y, CLASSES)
    pair = [names.index("LP_Index"), names.index("LP_beta")]
    significance = np.asarray(catalog.table["Signif_Avg"])
    faint = np.flatnonzero((catalog.classes == "") & (significance < 6) & (data.flags == 0))[:12]
    axes = plots.feature_pair(
        data.X[known][:, pair],
        data.y[known],
        plots.feature_labels([data.features[j] for j in pair]),
        noisy=data.X[faint][:, pair],
        noisy_var=data.X_var[faint][:, pair],
        names=CLASSES,
    )
    assert isinstance(axes.figure, Figure)
    axes.figure.set_size_inches(5.5, 4.2)
    axes.set_xlim(1.2, 3.5)
    axes.set_ylim(-0.3, 1.2)
    axes.legend(frameon=False, markerscale=2)
    return axes
