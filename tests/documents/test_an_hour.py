"""The commands of docs/an-hour.md, run one after the other as they are written, and what the page says of them."""

import re
import shlex

import numpy as np
import pytest

from fermiclass.io.tables import read_table
from tests.commands import run, run_well
from tests.conftest import REPOSITORY

TEXT = (REPOSITORY / "docs" / "an-hour.md").read_text(encoding="utf-8")
WORDS = " ".join(TEXT.split())


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What each command prints, and the folder with the files."""
    folder = tmp_path_factory.mktemp("hour")
    (folder / "catalogs").symlink_to(REPOSITORY / "catalogs")
    said = {}
    for line in re.findall(r"^ {4}fermiclass (.+)$", TEXT, re.MULTILINE):
        if "published." not in line:  # a table of somebody else
            said[line] = " ".join(run_well(*shlex.split(line), cwd=folder).split())
    return said, folder


def of(said, start):
    return next(text for line, text in said.items() if line.startswith(start))


def same(pattern_of_page, pattern_printed, printed, tolerance):
    """Compare the numbers of two patterns. Another machine rounds in another way: a source more or less may pass."""
    in_page, found = re.search(pattern_of_page, WORDS).groups(), re.search(pattern_printed, printed).groups()
    np.testing.assert_allclose(np.array(found, float), np.array(in_page, float), atol=tolerance)


@pytest.mark.slow
def test_every_step_says_what_the_page_says(printed):
    said, folder = printed
    assert len(said) == 8
    left = r"unassociated (\d+); without flags 4,8 (\d+); OOD_SCORE <= 0.95 (\d+)"
    same(
        r"leaves: (\d+) unassociated .*?, (\d+) of them .*? and (\d+) have an `OOD_SCORE`",
        left,
        of(said, "followup"),
        2,
    )
    candidates = read_table(folder / "candidates.fits")
    assert len(candidates) == 20
    assert abs(candidates["GLAT"]).min() >= 10
    ends = f"{candidates['P_psr'][0]} {candidates['P_psr'][-1]}"
    same(r"`P_psr` from (\S+) down to (\d\.\d+)", r"(\S+) (\S+)", ends, 0.011)
    worth = re.search(r"default 0\.5 \d+ (0\.\d+) (0\.\d+)", of(said, "evaluate"))
    percent = " ".join(str(100 * float(share)) for share in worth.groups())
    same(r"more, (\d+) % are pulsars, and they are (\d+) % of all", r"(\S+) (\S+)", percent, 2.5)
    compared = of(said, "compare")
    same(r"between the (\d+) and the (\d+) others is", r"psr (\d+) (\d+) 0\.\d{3} other", compared, 0)
    same(r"others is (0\.\d+)", r"psr \d+ \d+ (0\.\d{3}) other", compared, 0.03)
    right = sum(int(n) for n in re.findall(r"(?:msp|psr) \d+ \d+ % \S+ \d+ \d+ (\d+) \d+", compared))
    same(r"Of the pulsars, (\d+) have `psr`", r"(\d+)", str(right), 1)
    for name, p, what in (("J1702.7-5655", 0.93, "bin"), ("J1120.0-2204", 0.88, "lmb")):
        assert f"4FGL {name}" in WORDS
        assert float(re.search(rf"{name} psr (\S+) {what} ", compared)[1]) == pytest.approx(p, abs=0.011)
    for name in ("first.pdf", "second.pdf", "compared.pdf"):
        assert (folder / name).read_bytes().startswith(b"%PDF")
    assert (folder / "labels.html").stat().st_size > 1e6
    for line in said:
        if line.startswith("explain"):
            assert shlex.split(line)[2] in candidates["Source_Name"][:10]
    assert re.search(
        r"J1539.4-3323: unassociated.* all of spectral shape \+1\.\d\d .* LP_beta \S+ \S+ \+0", of(said, "explain")
    )


@pytest.mark.slow
def test_a_list_of_somebody_else(printed):
    """The last commands of step 5, on a list as VizieR gives it."""
    _, folder = printed
    labels = read_table(folder / "labels.fits")[::7]
    list_of_others = labels["Source_Name", "RAJ2000", "DEJ2000"]
    list_of_others.meta.clear()
    list_of_others["Class"] = labels["PRED_CLASS"]
    list_of_others["Ppsr"] = labels["P_psr"]
    list_of_others.write(folder / "published.fits")
    list_of_others.write(folder / "published.vot", format="votable")
    lines = [line for line in re.findall(r"^ {4}fermiclass (compare .+)$", TEXT, re.MULTILINE) if "published." in line]
    assert len(lines) == 2
    by_class, by_probability = (run_well(*shlex.split(line), cwd=folder) for line in lines)
    assert re.search(r"psr +\d+ +100 %", by_class)
    assert "(Spearman): 1.000" in by_probability
    wrong = run(*shlex.split(lines[0].replace("--class-column Class", "--class-column Klasse")), cwd=folder)
    assert wrong.returncode == 2
    assert "it has Source_Name, RAJ2000, DEJ2000, Class, Ppsr" in wrong.stderr
