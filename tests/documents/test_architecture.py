"""The drawing and the page of the rooms are those of the package; tests/test_architecture.py has the rules."""

from tests.conftest import REPOSITORY
from tests.test_architecture import ROOMS, make_architecture


def test_the_drawing_is_what_the_script_draws():
    """To mend it: python docs/make_architecture.py."""
    assert make_architecture.FIGURE.read_text(encoding="utf-8") == make_architecture.draw()


def test_the_page_names_every_room():
    page = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert all(f"| `{room}` |" in page for room in ROOMS)
