"""What each picture draws, what it refuses, and that it looks as the one that somebody has looked at."""

import dataclasses
import json
import subprocess
import sys

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from matplotlib.collections import EllipseCollection, PathCollection
from matplotlib.colors import to_rgba
from matplotlib.testing.compare import compare_images
from sklearn.metrics import confusion_matrix

from fermiclass import plots
from fermiclass.evaluation.metrics import as_truth, reliability
from fermiclass.features import FEATURES as DEFINED
from tests.conftest import REPOSITORY

from .pictures import BASELINE, CLASSES, FEATURES, PICTURES, draw, explanation, made_up


def points(axes):
    """All points of the scatter plots on some Axes, sorted."""
    drawn = [c.get_offsets() for c in axes.collections if isinstance(c, PathCollection) and len(c.get_offsets())]
    return np.array(sorted(np.concatenate([np.asarray(offsets) for offsets in drawn]).tolist()))


def legend_of(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_class_has_its_colour_whatever_the_others():
    for classes in (CLASSES, ("psr", "other", "bll"), ("psr", "blazar"), ("snr", "pwn", "psr")):
        assert plots.class_colours(classes)["psr"] == "#009E73"
        assert len(set(plots.class_colours(classes).values())) == len(classes)
        assert len(set(plots.class_markers(classes).values())) == len(classes)
    assert plots.class_colours(["snr", "pwn"]) == {"snr": plots.PALETTE[0], "pwn": plots.PALETTE[1]}
    assert len(plots.class_colours([f"c{k}" for k in range(12)])) == 12


@pytest.mark.parametrize("projection", ["aitoff", "mollweide", "hammer"])
def test_sky_map_has_every_source_in_its_place(projection):
    p, y, lon, lat, *_ = made_up()
    axes = plots.sky_map(lon, lat, y, p.max(axis=1), names=CLASSES, projection=projection)
    assert axes.name == projection
    expected = np.radians(np.column_stack([np.where(lon < 180, -lon, 360 - lon), lat]))
    np.testing.assert_allclose(points(axes), sorted(expected.tolist()), atol=1e-12)
    labels = [text.get_text() for artist in axes.artists for text in artist.get_texts()]
    assert labels == [f"{name} ({np.sum(y == name)})" for name in CLASSES]
    assert legend_of(axes) == ["0.4", "0.6", "0.8", "1.0"]


def test_finder_charts_have_north_up_and_east_left():
    """The ends of the axes of the ellipse are where the position angle says; the neighbour is inside its field only."""
    source = SkyCoord(10.0, 60.0, unit="deg")
    major, minor, angle = 0.05, 0.02, 30.0
    ends = [source.directional_offset_by((angle + turn) * u.deg, a * u.deg) for turn, a in ((0, major), (90, minor))]
    places = [(at.ra.deg, at.dec.deg) for at in (source, *ends)]
    axes = plots.finder_chart(places, [(major, minor, angle), *2 * [(np.nan,) * 3]], ["", "a", "b"], width=0.4)
    (ellipse,) = axes.patches
    crosses = np.array([line.get_xydata()[0] for line in axes.lines if line.get_marker() == "+"])
    seen = axes.transData.transform(crosses)
    assert np.all(seen[1:, 0] < seen[0, 0])  # both to the east,
    assert seen[1, 1] > seen[0, 1] > seen[2, 1]  # to the north and to the south
    unit = np.linalg.norm(ellipse.get_patch_transform().inverted().transform(crosses[1:]), axis=1)
    np.testing.assert_allclose(unit, 1.0, atol=1e-3)
    assert {text.get_text() for text in axes.texts} >= {"a", "b", "N", "E", "5'"}
    few = plots.finder_chart([*places[:1], (12.0, 60.0)], np.ones((2, 3)), ["", "far"], width=0.4)
    assert "far" not in {text.get_text() for text in few.texts}
    beam = plots.finder_chart(places[:1], [(np.nan,) * 3], [""], width=0.4, beam=0.1).patches[0]
    assert (beam.center, 2 * beam.radius) == ((0, 0), pytest.approx(0.1 * 60))  # arcmin


def test_triangle_has_classes_in_its_corners():
    axes = plots.probability_triangle(np.vstack([np.eye(3), np.full((1, 3), 1 / 3)]), CLASSES)
    height = np.sqrt(0.75)
    np.testing.assert_allclose(
        points(axes), sorted([[0.0, 0.0], [1.0, 0.0], [0.5, height], [0.5, height / 3]]), atol=1e-12
    )
    names = {text.get_text(): text for text in axes.texts if text.get_text() in CLASSES}
    assert names["psr"].get_position()[1] > height
    assert names["bll"].get_position()[0] < 0 < 1 < names["fsrq"].get_position()[0]


def test_reliability_diagram():
    p, y, *_ = made_up(400)
    axes = plots.reliability_diagram(p, y, CLASSES, num_bins=6)
    table = reliability(p, as_truth(y, CLASSES), 6)
    line = axes.lines[1]
    np.testing.assert_allclose(line.get_xdata(), [row.confidence for row in table])
    np.testing.assert_allclose(line.get_ydata(), [row.accuracy for row in table])
    bars = axes.containers[0].lines[2][0].get_segments()
    n, a = np.array([(row.n, row.accuracy) for row in table]).T
    np.testing.assert_allclose([s[1, 1] - s[0, 1] for s in bars], 2 * np.sqrt(a * (1 - a) / n))
    ece = sum(row.n / 400 * abs(row.accuracy - row.confidence) for row in table)
    assert axes.texts[0].get_text() == f"ECE {ece:.3f}"


def test_confusion_matrix():
    p, y, *_ = made_up()
    said = np.array(CLASSES)[p.argmax(axis=1)]
    axes = plots.confusion_matrix(y, said, CLASSES)
    counts = confusion_matrix(y, said, labels=CLASSES)
    np.testing.assert_allclose(axes.images[0].get_array(), counts / counts.sum(axis=1, keepdims=True))
    cells = {text.get_position(): text.get_text() for text in axes.texts}
    for i in range(3):
        for j in range(3):
            assert cells[j, i] == f"{100 * counts[i, j] / counts[i].sum():.0f} %\n{counts[i, j]}"
    assert [label.get_text() for label in axes.get_xticklabels()] == list(CLASSES)


def test_confusion_of_a_class_without_sources():
    axes = plots.confusion_matrix(["bll", "bll"], ["bll", "psr"], CLASSES)
    assert {text.get_text() for text in axes.texts} == {"50 %\n1", "0 %\n0", "–\n0"}
    with pytest.raises(ValueError, match="labels 'gc' are not among the classes bll, fsrq, psr"):
        plots.confusion_matrix(["gc"], ["bll"], CLASSES)
    with pytest.raises(ValueError, match=r"shapes \(1,\) and \(2,\) are not pairs"):
        plots.confusion_matrix(["bll"], ["bll", "bll"], CLASSES)


def test_feature_pair_has_points_and_ellipses():
    _, y, _, _, X, X_var = made_up()
    axes = plots.feature_pair(X[5:, :2], y[5:], FEATURES[:2], noisy=X[:5, :2], noisy_var=X_var[:5, :2])
    np.testing.assert_allclose(points(axes), sorted(X[5:, :2].tolist()))
    (ellipses,) = [c for c in axes.collections if isinstance(c, EllipseCollection)]
    np.testing.assert_allclose(ellipses.get_offsets(), X[:5, :2])
    np.testing.assert_allclose(ellipses.get_widths(), 2 * np.sqrt(X_var[:5, 0]))
    np.testing.assert_allclose(ellipses.get_heights(), 2 * np.sqrt(X_var[:5, 1]))
    assert (axes.get_xlabel(), axes.get_ylabel()) == FEATURES[:2]
    low, high = axes.get_xlim()
    assert low < (X[:5, 0] - np.sqrt(X_var[:5, 0])).min()
    assert high > (X[:5, 0] + np.sqrt(X_var[:5, 0])).max()


def test_labels_of_features_have_units():
    chosen = [DEFINED[name] for name in ("Flux1000", "ln_Pivot_Energy", "LP_beta", "asinh_LP_SigCurv")]
    assert plots.feature_labels(chosen) == [
        "Flux1000, ph cm-2 s-1",
        "ln Pivot_Energy / MeV",
        "LP_beta",
        "asinh_LP_SigCurv",
    ]


def test_feature_strip_and_effects():
    explained = explanation()
    axes = plots.feature_strip(explained.value, explained.error, explained.population, FEATURES, CLASSES)
    bars = [bar for bar in axes.patches if bar.get_facecolor() == to_rgba(plots.CLASS_COLOURS["fsrq"])]
    np.testing.assert_allclose([bar.get_x() for bar in bars], explained.population[1, 1])
    np.testing.assert_allclose([bar.get_x() + bar.get_width() for bar in bars], explained.population[1, 3])
    assert [label.get_text() for label in axes.get_yticklabels()] == list(FEATURES)
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first on top
    (far,) = [line for line in axes.lines if line.get_marker() == ">" and len(line.get_xdata())]
    np.testing.assert_array_equal(far.get_ydata(), [2])
    axes = plots.feature_effects(explained.log_odds[:, :3], FEATURES, CLASSES)
    markers = {line.get_label(): line.get_xdata() for line in axes.lines if line.get_label() in CLASSES}
    for c, name in enumerate(CLASSES):
        np.testing.assert_allclose(markers[name], explained.log_odds[:, :3][:, c])
    with pytest.raises(ValueError, match="effects has shape"):
        plots.feature_effects(explained.log_odds[:, :3], FEATURES[:3], CLASSES)
    with pytest.raises(ValueError, match="population has shape"):
        plots.feature_strip(explained.value, explained.error, explained.population, FEATURES, CLASSES[:2])


def test_explanation_has_the_feature_that_moves_most_on_top():
    top, left, right = plots.explanation(explanation())
    assert top.get_title("left") == "4FGL J0000.0+0000 (bcu, PKS 0000+00)"
    bars = {(round(bar.get_y() + 0.35), round(bar.get_x(), 9)): bar.get_width() for bar in top.patches}
    assert bars == {(0, 0): 0.6, (1, 0): 0.3, (2, 0): 0.1, (3, 0): 0.6, (3, 0.6): 0.3}  # agn has two parts
    texts = [label.get_text() for label in left.get_yticklabels()]
    assert [text.split()[0] for text in texts] == ["LP_beta", "LP_Index", "HR_45", "ln_Flux1000"]
    assert texts[0].endswith("±0.3*")
    line = next(line for line in right.lines if line.get_label() == "psr")
    without = np.array([0.05, 0.1, 0.14, 0.09])
    np.testing.assert_allclose(line.get_xdata(), np.log(0.1 / 0.9) - np.log(without / (1 - without)), atol=1e-12)
    kinds = top.figure.axes[-1]
    assert [label.get_text() for label in kinds.get_yticklabels()] == ["spectral shape", "brightness"]
    line = next(line for line in kinds.lines if line.get_label() == "bll")
    np.testing.assert_allclose(line.get_xdata(), np.log(0.6 / 0.4) - np.log([0.3 / 0.7, 0.65 / 0.35]))


def test_a_sure_source_has_bars():
    """Of a class with a probability of 1 nearly: the change of the probability would be 0."""
    sure = np.array([1e-7, 1e-5, 1.0 - 1e-5 - 1e-7])
    explained = dataclasses.replace(explanation(), probabilities=sure, without_kind={})
    explained.label["Source_Name"] = r"$\frac{a$"
    *_, right = plots.explanation(explained)
    right.figure.canvas.draw()  # names are no formulas
    moved = {line.get_label(): line.get_xdata() for line in right.lines}
    assert set(moved) >= {"fsrq", "psr"}
    assert "bll" not in moved  # neither of the two most probable classes
    assert np.abs(moved["psr"]).min() > 1.0


def test_ard_relevances_are_sorted():
    relevances = np.array([[0.1, 0.2, 0.3, 0.0], [0.0, 0.9, 0.1, 0.2], [0.2, 0.0, 0.5, 0.1]])
    axes = plots.ard_relevances(relevances, FEATURES, CLASSES)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["LP_Index", "HR_45", "ln_Flux1000", "LP_beta"]
    drawn = {c.get_label(): np.asarray(c.get_offsets()) for c in axes.collections if isinstance(c, PathCollection)}
    np.testing.assert_allclose(drawn["fsrq"], np.column_stack([[0.0, 0.2, 0.1, 0.9], range(4)]))
    assert legend_of(plots.ard_relevances(relevances[:1], FEATURES, ("agn", "psr"))) == ["agn and psr"]
    with pytest.raises(ValueError, match="relevances has shape"):
        plots.ard_relevances(relevances, FEATURES, CLASSES[:2])


def test_log_odds_slopes_are_those_of_logistic_regression():
    """Of two classes with log-odds a·x, a step of one standard deviation moves them by a·s; a third is the rest."""
    a, scale = np.array([1.5, 0.0, -0.5]), np.array([1.0, 2.0, 4.0])

    def predict(X):
        p = 1.0 / (1.0 + np.exp(-X @ a))
        return np.stack([p, 1.0 - p], axis=1)

    slopes = plots.log_odds_slopes(predict, np.random.default_rng(0).normal(size=(50, 3)), scale)
    np.testing.assert_allclose(slopes, np.abs([a * scale, a * scale]), atol=1e-9)
    certain = plots.log_odds_slopes(lambda X: np.stack([X[:, 0] > 0, X[:, 0] <= 0], axis=1), np.ones((2, 3)), scale)
    assert np.all(np.isfinite(certain))
    with pytest.raises(ValueError, match=r"features of shape \(50,\) and a scale of shape \(3,\)"):
        plots.log_odds_slopes(predict, np.ones(50), scale)


def test_plots_do_without_tensorflow_and_a_screen():
    script = (
        "import json, sys\n"
        "from tests.plots.pictures import PICTURES\n"
        "for draw in PICTURES.values(): draw()\n"
        "print(json.dumps([name for name in ('tensorflow', 'gpflow') if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=REPOSITORY)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


TOLERANCE = 7.0  # root mean square of 0 … 255: other versions of Matplotlib draw edges a little differently


@pytest.mark.parametrize("name", PICTURES)
def test_as_before(name, tmp_path):
    draw(name, tmp_path / f"{name}.png")
    difference = compare_images(str(BASELINE / f"{name}.png"), str(tmp_path / f"{name}.png"), TOLERANCE)
    assert difference is None, difference
