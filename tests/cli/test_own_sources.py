"""``fermiclass classify`` and ``info`` on sources that are in no catalogue: one attempt."""

import json

import numpy as np
import pytest
from astropy.table import Table

from fermiclass.io.tables import read_table
from tests.commands import refuses, run, run_well
from tests.conftest import slim_path

DR4 = slim_path("4FGL-DR4")


@pytest.fixture(scope="module")
def rows(dr4):
    return np.flatnonzero((dr4.classes == "") & (np.asarray(dr4.table["Flags"]) == 0))[::35]


@pytest.fixture
def mine(dr4, rows, tmp_path):
    """What an analysis of single sources has: no bands, no variability, and other names."""
    taken = dr4.table[rows]
    table = Table({"name": [f"mine {k}" for k in range(len(rows))]})
    names = {
        "RA": "RAJ2000", "Dec": "DEJ2000", "flux": "Flux1000", "flux_err": "Unc_Flux1000", "alpha": "LP_Index",
        "alpha_err": "Unc_LP_Index", "beta": "LP_beta", "beta_err": "Unc_LP_beta", "index": "PL_Index",
        "index_err": "Unc_PL_Index", "pivot_energy": "Pivot_Energy",
    }  # fmt: skip
    for name, original in names.items():
        table[name] = np.asarray(taken[original])
    table["ts"] = np.asarray(taken["Signif_Avg"]) ** 2
    table.write(tmp_path / "mine.csv")
    return tmp_path / "mine.csv"


QUICK = ("--steps", "80", "--set", "num_inducing=20")
COLUMNS = ("--columns", "Flux1000=flux,Unc_Flux1000=flux_err")


def test_own_sources_in_one_attempt(mine, dr4, rows, tmp_path):
    """Their labels are those of the catalogue's 18 features, as far as eight can tell."""
    printed = run_well("classify", mine, "--train-on", DR4, *COLUMNS, *QUICK, "-o", tmp_path / "own.vot")
    assert "Left out of the model" in printed
    assert "HR_12" in printed
    own = read_table(tmp_path / "own.vot")
    every = read_table(slim_path("4FGL-DR4-labels"))
    whole = every[[np.asarray(every["Source_Name"]).tolist().index(name) for name in dr4.names[rows]]]
    assert np.mean(np.asarray(own["PRED_CLASS"]) == np.asarray(whole["PRED_CLASS"])) > 0.7
    for name in ("P_bll", "P_fsrq"):
        assert np.corrcoef(own[name], whole[name])[0, 1] > 0.8
    explained = run_well("explain", "own.vot", "mine 3", "--train-on", DR4, cwd=tmp_path)  # mine.csv lies beside
    best = own["PRED_CLASS"][3]
    assert f" {best} " in explained
    assert f"{own[f'P_{best}'][3]:.3f}" in explained
    run_well("report", "own.vot", "--catalog", mine, "--train-on", DR4, "-o", "own.html", cwd=tmp_path)
    page = (tmp_path / "own.html").read_text()
    assert '"mine 3"' in page
    assert f"Probable classes of {len(rows)} sources of mine.csv" in page
    content = json.loads(page.split('<script type="application/json" id="data">')[1].split("</script>")[0])
    assert len(content["features"]["known"]["classes"]) > 2000  # of DR4
    refuses(tmp_path, "give --catalog, too", "report", "own.vot", "--train-on", DR4, "-o", "refused.html")
    targets = run_well("followup", "own.vot", "--want", "agn", "-o", "own.reg", "--charts", "own.pdf", cwd=tmp_path)
    assert "nan" not in targets


def test_info_says_what_a_table_supports(mine):
    printed = " ".join(run_well("info", mine, *COLUMNS).split())
    assert "Set six: supported" in printed
    assert "Set extended: lacks ln_Variability_Index, Frac_Variability" in printed


def test_what_cannot_work(mine, tmp_path):
    table = Table.read(mine)
    table["class"] = "bll"
    table.write(tmp_path / "typed.csv")
    for words, arguments in (
        ("--train-on", [mine]),
        ("nothing to label", [tmp_path / "typed.csv", "--train-on", DR4]),
        ("no column fluxx", [mine, "--train-on", DR4, "--columns", "Flux1000=fluxx"]),
        ("not of the form", [mine, "--train-on", DR4, "--columns", "Flux1000"]),
    ):
        done = run("classify", *arguments, "-o", tmp_path / "labels.csv")
        assert (done.returncode, (tmp_path / "labels.csv").exists()) == (2, False)
        assert words in done.stderr
