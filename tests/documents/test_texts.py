"""What texts for users keep to: their length, their words, and commands that exist."""

import re
import shlex

import pytest

from fermiclass.cli.app import main
from tests.conftest import REPOSITORY

DOCS = REPOSITORY / "docs"
USER_PAGES = [
    *(REPOSITORY / "README.md", REPOSITORY / "catalogs" / "README.md", DOCS / "templates" / "result.md"),
    *sorted(DOCS.glob("*.md")),
]
DEVELOPER_PAGES = [REPOSITORY / "CONTRIBUTING.md", *sorted((DOCS / "development").glob("*.md"))]
#: Words of a lab notebook, and of a private dialect; the options --peers and --shares are called so.
NOT_FOR_USERS = re.compile(r"\b(asked|reached|throw-away|is told|are told)\b|(?<!--)\bpeers?\b(?!_)", re.IGNORECASE)
LONGEST = {"README.md": 100, "docs/benchmarks.md": 150}


def name_of(path):
    return str(path.relative_to(REPOSITORY))


def text_of(path):
    return path.read_text(encoding="utf-8")


def commands_of(text):
    """The lines of code in a text that call fermiclass, as words."""
    whole = text.replace("\\\n", " ")
    for line in re.findall(r"^ {4}(fermiclass [a-z].*)$", whole, flags=re.MULTILINE):
        yield shlex.split(re.sub(r" {2,}[a-z].*$", "", line).replace("[", " ").replace("]", " "))


@pytest.mark.parametrize(("name", "lines"), LONGEST.items())
def test_short_pages_stay_short(name, lines):
    assert len(text_of(REPOSITORY / name).splitlines()) <= lines


@pytest.mark.parametrize("path", USER_PAGES, ids=name_of)
def test_user_pages_are_no_lab_notebook(path):
    assert NOT_FOR_USERS.findall(text_of(path)) == []


def test_the_check_of_words_works():
    assert NOT_FOR_USERS.search("Asked was 0.8. **Reached**.")
    assert NOT_FOR_USERS.search("beside its peers")
    assert not NOT_FOR_USERS.search("fermiclass evaluate 4FGL.fits --peers, peer_method")


def test_readme_has_the_commands_and_the_results():
    text = text_of(REPOSITORY / "README.md")
    assert re.search(r"^ +pip install '\.\[test\]' && pytest", text, flags=re.MULTILINE)  # .ci/run takes it from there
    assert re.search(r"^ +pip install \.$", text, flags=re.MULTILINE)
    assert "    fermiclass classify catalogs/4FGL-DR4.fits.gz\n" in text
    (results,) = re.findall(r"<!-- results -->(.*?)<!-- /results -->", text, flags=re.DOTALL)
    assert results.count("| fermiclass") >= 1
    assert results.count("| baseline") >= 1


@pytest.mark.parametrize("path", [*USER_PAGES, *DEVELOPER_PAGES], ids=name_of)
def test_commands_have_the_options_that_are_shown(path):
    for program, name, *words in commands_of(text_of(path)):
        assert program == "fermiclass"
        command = main.commands[name]
        known = {flag for parameter in command.params for flag in parameter.opts} | {"--help"}
        given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert given <= known, f"{name}: {given - known}"


def test_every_page_has_commands_to_check():
    assert len(list(commands_of(text_of(REPOSITORY / "README.md")))) == 1
    assert len(list(commands_of(text_of(DOCS / "commands.md")))) == 13
    assert ["fermiclass", "benchmark", "scale"] in list(commands_of(text_of(DOCS / "paper-tables.md")))


@pytest.mark.parametrize("path", [*USER_PAGES, *DEVELOPER_PAGES], ids=name_of)
def test_python_of_the_pages_compiles(path):
    if path.name != "CONTRIBUTING.md":  # which shows parts of files
        for code in re.findall(r"^```python\n(.*?)^```", text_of(path), flags=re.DOTALL | re.MULTILINE):
            compile(code, name_of(path), "exec")


def links_of(path):
    """Relative links of a page, without code."""
    text = re.sub(r"^( {4}.*|```.*?^```)$", "", text_of(path), flags=re.DOTALL | re.MULTILINE)
    return [link for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text) if "://" not in link]


@pytest.mark.parametrize("path", [*USER_PAGES, *DEVELOPER_PAGES, REPOSITORY / "CHANGELOG.md"], ids=name_of)
def test_links_lead_to_files_of_the_repository(path):
    """As they are read there; pages under docs/generated are made with the site."""
    folder = DOCS if path.parent.name == "templates" else path.parent
    missing = [link for link in links_of(path) if "generated/" not in link and not (folder / link).exists()]
    assert missing == []
