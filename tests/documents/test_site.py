"""The documentation site: built as users build it, complete, and without the network."""

import re
import subprocess
import sys

import pytest

import fermiclass
from fermiclass import plots
from tests.conftest import REPOSITORY

DOCS = REPOSITORY / "docs"

pytestmark = pytest.mark.notebooks


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; a warning of Sphinx fails it."""
    output = tmp_path_factory.mktemp("site") / "html"
    command = [sys.executable, str(DOCS / "build.py"), "site", "--output", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert done.returncode == 0, done.stderr
    return output


def test_all_pages_are_there(site):
    pages = {path.stem for path in DOCS.glob("*.md")} | {f"development/{p.stem}" for p in DOCS.glob("development/*.md")}
    pages |= {f"generated/{name}" for name in ("core", "catalogs", "contributing", "changelog")}
    notebooks = {f"generated/{path.stem}" for path in (REPOSITORY / "notebooks").glob("*.ipynb")}
    for page in pages | notebooks:
        assert (site / f"{page}.html").is_file(), page


def test_public_names_are_documented(site):
    page = (site / "python.html").read_text(encoding="utf-8")
    documented = set(re.findall(r'<dt [^>]*id="([\w.]+)"', page))
    wanted = {f"fermiclass.{name}" for name in fermiclass.__all__} - {
        "fermiclass.__version__",
        "fermiclass.__citation__",
    }
    assert wanted <= documented
    drawn = {name for name in plots.__all__ if name.islower()}
    assert drawn <= {name.rpartition(".")[2] for name in documented}


def test_nothing_is_loaded_from_the_network(site):
    for path in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"', path.read_text(encoding="utf-8"))
        assert loaded == [], path.name


def test_no_link_downloads_a_page(site):
    """A Markdown file outside of the site would be a download. Sphinx finds other bad links."""
    for path in site.rglob("*.html"):
        assert re.findall(r'href="[^":?]+\.(?:md|ipynb)["#]', path.read_text(encoding="utf-8")) == [], path.name
