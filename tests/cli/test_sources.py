"""``fermiclass explain`` and ``followup`` as a user runs them: a process each, on the real catalogue and its labels."""

import dataclasses
import os
import re
import shutil

import numpy as np
import pytest
from astropy.io import fits

from fermiclass import followup
from fermiclass.cli.explain import _compare
from fermiclass.errors import CatalogError
from fermiclass.io.tables import read_table
from fermiclass.labelling.labels import Labels
from tests.commands import refuses, run, run_well
from tests.conftest import slim_path
from tests.plots.pictures import explanation as made_up_explanation

DR3, DR4 = slim_path("4FGL-DR3"), slim_path("4FGL-DR4")
QUICK = ("--steps", "40", "--set", "num_inducing=20", "--features", "six", "--classes", "bll,fsrq,psr")
NARROW = {**os.environ, "COLUMNS": "80"}
SOURCE = "4FGL J0000.3-7355"
WANTED = (SOURCE, "4FGL J0003.3-1928", "4FGL J1104.4+3812", "4FGL J0534.5+2201i", "4FGL J0534.5+2201s")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a quarter of the catalogue, a model and its labels, as after the README's commands."""
    folder = tmp_path_factory.mktemp("sources")
    with fits.open(DR4) as hdus:
        names = np.char.strip(np.asarray(hdus[1].data["Source_Name"], str))
        kept = np.isin(names, WANTED) | (np.arange(len(names)) % 4 == 0)
        fits.BinTableHDU(hdus[1].data[kept], hdus[1].header).writeto(folder / DR4.name)
    run_well("train", DR4.name, "-o", "model", *QUICK, cwd=folder)
    run_well("classify", DR4.name, "--model", "model", "-o", "labels.fits", cwd=folder)
    return folder


def probabilities(printed):
    return {name: float(p) for name, p in re.findall(r"^ (bll|fsrq|psr) +(\d\.\d{3}) +\d", printed, re.MULTILINE)}


def label_of(folder, source):
    labels = read_table(folder / "labels.fits")
    return labels[labels["Source_Name"] == source][0]


def test_explain_by_a_model_says_what_classify_says(folder):
    printed = run_well("explain", "model", "j0000.3-7355", "--plot", "e.png", cwd=folder, env=NARROW)
    row = label_of(folder, SOURCE)
    assert probabilities(printed) == {name: round(row[f"P_{name}"], 3) for name in ("bll", "fsrq", "psr")}
    assert f"Entropy {row['ENTROPY']:.3f} nats" in printed
    assert printed.startswith(f"{SOURCE}: unassociated; l = 307.71°, b = −42.73°; 8.5 σ\n")
    feature = r"^ \S+ +\S*\d\S* +\S+ +[+−]\d\.\d\d +[▐█]*│[█▌]*( +[+−]\d\.\d\d){1,2} *$"
    assert len(re.findall(feature, printed, re.MULTILINE)) == 6
    kinds = re.findall(r"^ (brightness|spectral shape) +[+−]\d", printed, re.MULTILINE)
    assert sorted(kinds) == ["brightness", "spectral shape"]
    assert len(re.findall(r"^ 4FGL J\S+ +(bll|fsrq|psr) .* \d[.\d]* *$", printed, re.MULTILINE)) == 5
    assert f"OOD_SCORE {row['OOD_SCORE']:.3f}" in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert (folder / "e.png").read_bytes().startswith(b"\x89PNG")


def test_explain_takes_a_list_and_followup_gives_the_reasons(folder):
    """In the list they are those of the printed explanation."""
    run_well(
        "followup", "labels.fits", "--want", "pulsar", "--min-p", "0.2", "--top", 2, "--why", "-o", "t.csv", cwd=folder
    )
    targets = read_table(folder / "t.csv")
    printed = run_well("explain", "model", "t.csv", "Mkn 421", "--plot", "t.pdf", cwd=folder)
    assert re.findall(r"^(4FGL J\S+): ", printed, re.MULTILINE) == [*targets["Source_Name"], "4FGL J1104.4+3812"]
    assert (folder / "t.pdf").read_bytes().count(b"/Type /Page ") == 3
    kind, effect = re.match(r"(\D+) ([+-]\d+\.\d)", targets["WHY"][0]).groups()
    (shown,) = re.findall(rf"^ {kind} +([+−]\d+\.\d\d)", printed.partition("Each value")[0], re.MULTILINE)
    assert float(shown.replace("−", "-")) == pytest.approx(float(effect), abs=0.051)


def test_explain_says_where_labels_and_model_differ(folder):
    explained = dataclasses.replace(made_up_explanation(), label={"Source_Name": SOURCE})
    labels = Labels.read(folder / "labels.fits")
    row = label_of(folder, SOURCE)
    both = rf"P\(bll\) {row['P_bll']:.3f} and "
    with pytest.raises(CatalogError, match=rf"not of one model: {both}0\.600, .*,tensorflow="):
        _compare(labels, explained)
    same = np.array([row[f"P_{name}"] for name in explained.classes])
    rounded = dataclasses.replace(explained, probabilities=same + np.array([0.01, -0.01, 0.0]))
    with pytest.warns(UserWarning, match=rf"trained again differ: {both}.*,tensorflow="):
        _compare(labels, rounded)
    _compare(labels, dataclasses.replace(explained, probabilities=same))  # a warning would be an error
    _compare(labels, made_up_explanation())  # not in the table


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("model", "Mkn 4211"),
            r"no source of 4FGL-DR4\.fits\.gz is called 'Mkn 4211' \(in Source_.*\)\. Nearest names: Mkn 421 \(4FGL",
        ),
        (("labels.fits", "Crab Nebula"), r"can be 2 sources: 4FGL J0534\.5\+2201i \(pwn, Crab Nebula\); 4FGL"),
        (("nothing", SOURCE), "there is no label table or model folder 'nothing'"),
        (("labels.fits", SOURCE, "--catalog", DR3), r"4FGL-DR3\.fits\.gz has SHA-256 \w+, but 'labels.fits' was"),
        (("labels.fits", SOURCE, "--class-priors", "trained"), "leave out --class-priors"),
        (("model", SOURCE, "--class-priors", "nothing.json"), r"the class priors cannot be read from 'nothing\.json'"),
        (("model",), "Missing argument 'NAME"),
        (("model", SOURCE, "Mkn 421", "--plot", "two.png"), r"2 sources need as many pages"),
    ],
)
def test_explain_refuses(folder, arguments, message):
    refuses(folder, message, "explain", *arguments)


def test_explain_needs_the_catalogue(folder, tmp_path):
    for name in ("model", "labels.fits"):
        copied = shutil.copytree if name == "model" else shutil.copy
        copied(folder / name, tmp_path / name)
        done = run("explain", name, SOURCE, cwd=tmp_path)
        assert done.returncode == 2
        assert re.search(r"4FGL-DR4\.fits\.gz with SHA-256 \w+ is needed, but it is not in .* --catalog", done.stderr)
    shutil.copy(DR3, tmp_path / "4FGL-DR4.fits.gz")
    done = run("explain", "model", SOURCE, cwd=tmp_path)
    assert done.returncode == 2
    assert re.search(r"is needed, but '.*4FGL-DR4\.fits\.gz' is another file\. Give it: --catalog FILE", done.stderr)


def test_followup_of_pulsars(folder, tmp_path):
    output = tmp_path / "pulsars.vot"
    printed = run_well(
        "followup", folder / "labels.fits", "--want", "pulsar", "--dec", "-30", "90", "--abs-glat", "5", "90",
        "--min-significance", "6", "--status", "unassociated", "--max-error", "0.1", "--max-ood", "0.9",
        "--min-p", "0.2", "-o", output, env=NARROW,
    )  # fmt: skip
    ranking, labels = read_table(output), read_table(folder / "labels.fits")
    expected = followup(
        labels, want="pulsar", dec=(-30, 90), abs_glat=(5, 90), min_significance=6, status="unassociated",
        max_error=0.1, max_ood=0.9, min_probability=0.2,
    )  # fmt: skip
    assert 0 < len(expected) < len(labels)
    assert ranking["Source_Name"].tolist() == expected["Source_Name"].tolist()
    assert ranking.meta["expected"] == expected.meta["expected"]
    assert ranking.meta["expected"] in printed
    assert max(map(len, printed.splitlines()[:-1])) <= 80
    assert len(re.findall(r"^ 4FGL J\S+ +\d\d:\d\d:\d\d +[+-]\d\d:\d\d .* psr ", printed, re.MULTILINE)) == 10
    assert re.search(r"^\d+ sources: ", printed, re.MULTILINE)


def test_followup_writes_what_observers_need(folder, tmp_path):
    best = followup(read_table(folder / "labels.fits"), want="pulsar", min_probability=0.2, top=1)["Source_Name"][0]
    (tmp_path / "known.txt").write_text(f"{best}\nPSR J0000-8959\n")
    files = [tmp_path / name for name in ("t.csv", "t.reg", "t.txt", "charts.pdf")]
    printed = " ".join(run_well(
        "followup", folder / "labels.fits", "--want", "psr", "--min-p", "0.2", "--exclude", tmp_path / "known.txt",
        "--top", 4, "--columns", "Source_Name,RANK", *(item for file in files[:3] for item in ("-o", file)),
        "--charts", files[3],
    ).split())  # fmt: skip
    written = read_table(files[0])
    names = written["Source_Name"]
    assert (len(names), written.colnames) == (4, ["Source_Name", "RANK"])
    assert best not in names
    assert "that are no labelled source: 1 (PSR J0000-8959)" in printed
    assert [file.read_text().count("4FGL") for file in files[1:3]] == [4, 4]
    assert files[3].read_bytes().count(b"/Type /Page ") == 2  # three targets on a page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("labels.fits", "--top", "4", "--charts", "charts.png", "-o", "t.csv"), "room for one page"),
        (("labels.fits", "--exclude", "none.txt"), "none.txt"),
        (("labels.fits", "--flags", "four"), "'four' is neither 'none' nor bits such as 4,8"),
        (("labels.fits", "--by", "beauty"), "Invalid value for '--by'"),
        (("labels.fits", "--beam", "0.1"), "give --charts, too"),
        (("4FGL-DR4.fits.gz", "-o", "t.fits"), "it is a catalogue. Label it first: fermiclass classify"),
        (("https://x.org/labels.fits",), "Addresses are not read: download it"),
    ],
)
def test_followup_refuses(folder, arguments, message):
    refuses(folder, message, "followup", *arguments)
