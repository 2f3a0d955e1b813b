"""The commands of docs/tutorial.md, run one after the other as they are written."""

import re
import shlex

import pytest

from fermiclass.io.tables import read_table
from tests.commands import run, run_well
from tests.conftest import REPOSITORY

TEXT = (REPOSITORY / "docs" / "tutorial.md").read_text(encoding="utf-8").replace("\\\n", " ")


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What each command prints, and the folder with the files."""
    folder = tmp_path_factory.mktemp("tutorial")
    (folder / "catalogs").symlink_to(REPOSITORY / "catalogs")
    observed = re.search(r"in a file such as `observed.txt`:\n\n(( {4}.+\n)+)", TEXT)
    (folder / "observed.txt").write_text(re.sub("^ +", "", observed[1], flags=re.MULTILINE))
    said = {}
    for line in re.findall(r"^ {4}fermiclass (.+)$", TEXT, re.MULTILINE):
        if "published." not in line:  # a table of somebody else
            said[line] = " ".join(run_well(*shlex.split(line), cwd=folder).split())
    return said, folder


@pytest.mark.slow
def test_every_step_makes_its_files(printed):
    said, folder = printed
    targets = read_table(folder / "targets.csv")
    assert len(targets) == (folder / "targets.reg").read_text().count("ellipse") == 30
    past = re.findall(r"^ (4FGL-DR\d +30 .+?) *$", TEXT, re.MULTILINE)
    followed = next(text for line, text in said.items() if "--charts" in line)
    assert len(past) == 3
    assert all(" ".join(row.split()) in followed for row in past)
    for name in ("charts.pdf", "source.pdf", "compared.pdf"):
        assert (folder / name).read_bytes().startswith(b"%PDF")
    assert (folder / "labels.html").stat().st_size > 1e6
    compared = next(text for line, text in said.items() if line.startswith("compare"))
    for name in ("4FGL J2015.3+0758", "4FGL J1147.7-6618"):
        assert name in TEXT
        assert name.removeprefix("4FGL ") in compared
    explained = [shlex.split(line)[2] for line in said if line.startswith("explain")]
    assert {*explained} - {"targets.csv"} <= set(targets["Source_Name"][:10])


@pytest.mark.slow
def test_what_is_up_tonight(printed, monkeypatch, capsys):
    """The recipe of look-closer.md. From 30° south no source of the far north is up."""
    page = (REPOSITORY / "docs" / "look-closer.md").read_text(encoding="utf-8")
    monkeypatch.chdir(printed[1])
    done = {}
    exec(re.search(r"### Tonight.*?```python\n(.*?)```", page, re.DOTALL)[1], done)
    dec, hours = (done["targets"][name] for name in ("DEJ2000", "HOURS"))
    assert hours[dec > 30].max(initial=0) == 0 < hours.max() <= done["dark"].sum() / 4
    assert capsys.readouterr().out.count("4FGL J") == (hours > 0).sum()


@pytest.mark.slow
def test_a_list_of_somebody_else(printed):
    """The last commands of step 6, on a list as VizieR gives it."""
    _, folder = printed
    labels = read_table(folder / "labels.fits")[::7]
    list_of_others = labels["Source_Name", "RAJ2000", "DEJ2000"]
    list_of_others.meta.clear()
    list_of_others["Class"] = labels["PRED_CLASS"]
    list_of_others["Ppsr"] = labels["Sum_P_pulsar"]
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
