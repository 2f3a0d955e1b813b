"""Texts: their commands exist, their Python compiles; what machines read about citing. Sphinx checks links."""

import re
import runpy
import shlex
from importlib.metadata import metadata

import pytest
import yaml

from fermiclass.cli.app import main
from tests.conftest import REPOSITORY

DOCS = REPOSITORY / "docs"
PAGES = [
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "catalogs/README.md")),
    *(path for folder in (DOCS, DOCS / "templates", DOCS / "development") for path in sorted(folder.glob("*.md"))),
]


def name_of(path):
    return str(path.relative_to(REPOSITORY))


def text_of(path):
    return path.read_text(encoding="utf-8")


def commands_of(text):
    """The lines of code in a text that call fermiclass, as words."""
    whole = text.replace("\\\n", " ")
    for line in re.findall(r"^ {4}(fermiclass [a-z].*)$", whole, flags=re.MULTILINE):
        yield shlex.split(re.sub(r" {2,}[a-z].*$", "", line).replace("[", " ").replace("]", " "))


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_commands_have_the_options_that_are_shown(path):
    for program, name, *words in commands_of(text_of(path)):
        assert program == "fermiclass"
        if name == "benchmark":
            continue  # benchmarks/tests/test_command.py runs these
        command = main.get_command(None, name)
        known = {flag for parameter in (*command.params, *main.params) for flag in parameter.opts} | {"--help"}
        given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert given <= known, f"{name}: {given - known}"


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_python_of_the_pages_compiles(path):
    if path.name != "CONTRIBUTING.md":  # which shows parts of files
        for code in re.findall(r"^```python\n(.*?)^```", text_of(path), flags=re.DOTALL | re.MULTILINE):
            compile(code, name_of(path), "exec")


def test_the_page_of_own_sources_has_all_names_of_columns():
    """``python docs/build.py names`` writes them."""
    text = text_of(DOCS / "own-sources.md")
    assert runpy.run_path(str(DOCS / "build.py"))["with_names"](text) == text


def test_links_of_the_readme_lead_to_files():
    """It is no page of the site."""
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", text_of(REPOSITORY / "README.md"))
    assert links
    assert [link for link in links if not (REPOSITORY / link).exists()] == []


def test_citation_file_fits_the_package():
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
    package = metadata("fermiclass")
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["cff-version"] == "1.2.0"
    assert citation["title"] == package["Name"]
    # The package's expression goes on with the licences of the libraries that its pages carry.
    assert citation["license"] == package["License-Expression"].split(" AND ")[0]
    assert citation["authors"] == [{"name": package["Author"]}]
    (paper,) = citation["references"]
    assert (paper["volume"], paper["start"], paper["year"]) == (22, 36, 2021)


def test_the_paper_cites_what_its_references_have():
    text = (REPOSITORY / "paper.md").read_text(encoding="utf-8").split("---\n", 2)[2]
    references = re.findall(
        r"^@\w+\{(\w+),", (REPOSITORY / "paper.bib").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert len(references) == len(set(references))
    assert set(re.findall(r"@(\w+)", text)) == set(references)
