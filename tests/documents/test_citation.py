"""What machines read about citing."""

import re
from importlib.metadata import metadata

import yaml

from tests.conftest import REPOSITORY


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
