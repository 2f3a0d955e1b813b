"""The pictures that are compared with those in ``baseline/``, without any text, which no two machines set alike.

To draw the baselines again, after having looked at what changed::

    python -m tests.plots.pictures
"""

from pathlib import Path

import matplotlib
import numpy as np
from astropy.table import Table
from matplotlib.figure import Figure
from matplotlib.testing.decorators import remove_ticks_and_titles

from fermiclass import plots
from fermiclass.analysis.explain import PERCENTILES, Explanation

BASELINE = Path(__file__).parent / "baseline"
CLASSES = ("bll", "fsrq", "psr")
FEATURES = ("LP_Index", "LP_beta", "ln_Flux1000", "HR_45")


def made_up(n=120, seed=0):
    """Probabilities (n, 3), true classes (n,), positions (n,) and features (n, 4) with variances."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(3, 0.6), n)
    y = np.array([rng.choice(CLASSES, p=row) for row in p])
    lon, lat = rng.uniform(0.0, 360.0, n), np.degrees(np.arcsin(rng.uniform(-1.0, 1.0, n)))
    X = rng.normal(size=(n, 4)) + 2.0 * np.array([CLASSES.index(name) for name in y])[:, None] * [1.0, -1.0, 0.5, 0.0]
    return p, y, lon, lat, X, rng.uniform(0.05, 0.6, X.shape)


def explanation():
    """An explanation of a source that does not exist."""
    _, y, _, _, X, X_var = made_up()
    X[0, 2] = 9.0  # beyond what is shown
    label = Table(
        {
            "Source_Name": ["4FGL J0000.0+0000"], "GLON": [12.5], "GLAT": [-3.25], "Signif_Avg": [7.5],
            "CLASS1": ["bcu"], "ASSOC1": ["PKS 0000+00"], "Flags": [3],
            "P_bll": [0.6], "P_fsrq": [0.3], "P_psr": [0.1],
            "ENTROPY": [0.898], "INFORMATION": [0.05], "NOISE_ENTROPY": [0.1], "OOD_SCORE": [0.25], "LABEL_FLAGS": [9],
            "LASTS": [0.85],
        }
    )[0]  # fmt: skip
    P = np.array([0.6, 0.3, 0.1])
    moved = np.array([[0.1, -0.1, 0.0], [-0.3, 0.25, 0.05], [0.01, -0.02, 0.01], [0.0, 0.04, -0.04]])
    return Explanation(
        label=label,
        classes=CLASSES,
        features=FEATURES,
        value=X[0],
        error=np.array([0.0, 0.34, 0.0512, 0.25]),
        imputed_value=np.array([False, False, False, False]),
        imputed_uncertainty=np.array([False, True, False, False]),
        expected=X[0] + 0.5,
        expected_error=np.sqrt(X_var[0]),
        population=np.stack([np.percentile(X[y == name], PERCENTILES, axis=0) for name in CLASSES]),
        centre=X.mean(axis=0),
        scale=X.std(axis=0),
        probabilities=P,
        without_feature=P - moved,
        without_errors=np.array([0.7, 0.25, 0.05]),
        neighbours=Table({"Source_Name": ["4FGL J1"], "CLASS": ["bll"], "ASSOC1": ["BL Lac"], "DISTANCE": [1.25]}),
        trained_on=False,
        without_kind={"spectral shape": np.array([0.3, 0.3, 0.4]), "brightness": np.array([0.65, 0.25, 0.1])},
        groups={"agn": ("bll", "fsrq")},
    )


def _sky():
    p, _, lon, lat, *_ = made_up()
    return plots.sky_map(lon, lat, np.array(CLASSES)[p.argmax(axis=1)], p.max(axis=1), names=CLASSES, size=60.0).figure


def _triangle():
    p, y, *_ = made_up()
    return plots.probability_triangle(p, CLASSES, y, size=80.0).figure


def _pairs():
    *_, X, X_var = made_up()
    y = made_up()[1]
    noise = {"noisy": X[:5, :2], "noisy_var": X_var[:5, :2]}
    return plots.feature_pair(X[5:, :2], y[5:], FEATURES[:2], **noise, size=40.0).figure


def _metrics():
    p, y, *_ = made_up()
    figure = Figure(figsize=(6.0, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    plots.reliability_diagram(p, y, CLASSES, num_bins=5, axes=left)
    plots.confusion_matrix(y, np.array(CLASSES)[p.argmax(axis=1)], CLASSES, axes=right)
    return figure


def _explanation():
    return plots.explanation(explanation())[0].figure


PICTURES = {"sky": _sky, "triangle": _triangle, "pairs": _pairs, "metrics": _metrics, "explanation": _explanation}


def draw(name, path):
    """Draw a picture without text to a PNG file."""
    figure = PICTURES[name]()
    figure.set_layout_engine("none")  # which would make room for text
    remove_ticks_and_titles(figure)
    for axes in figure.axes:
        for artist in (*axes.texts, axes.get_legend(), *axes.artists, axes.xaxis.label, axes.yaxis.label):
            if artist is not None:
                artist.set_visible(False)
        axes.set_title("", loc="left")
    figure.savefig(path, dpi=50)


if __name__ == "__main__":
    matplotlib.use("agg")
    BASELINE.mkdir(exist_ok=True)
    for each in PICTURES:
        draw(each, BASELINE / f"{each}.png")
