"""Pictures as a whole, compared with those that somebody has looked at."""

import shutil

import pytest
from matplotlib.testing.compare import compare_images

from .pictures import BASELINE, PICTURES, draw

TOLERANCE = 7.0  # root mean square of 0 … 255: other versions of Matplotlib draw edges a little differently


@pytest.mark.parametrize("name", PICTURES)
def test_as_before(name, tmp_path):
    draw(name, tmp_path / f"{name}.png")
    difference = compare_images(str(BASELINE / f"{name}.png"), str(tmp_path / f"{name}.png"), TOLERANCE)
    assert difference is None, difference


def test_another_picture_is_not_as_before(tmp_path):
    """The markers of one class in another colour, one of a triangle's three: more than the tolerance."""
    draw("triangle", tmp_path / "other.png", lambda figure: figure.axes[0].collections[0].set_facecolor("#CC79A7"))
    expected = shutil.copy(BASELINE / "triangle.png", tmp_path / "expected.png")  # where the difference is drawn, too
    assert "RMS" in compare_images(str(expected), str(tmp_path / "other.png"), TOLERANCE)
