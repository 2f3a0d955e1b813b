"""Associations that the data contradict, on the real catalogue with labels that were made wrong."""

import numpy as np
import pytest
from astropy.table import Column
from scipy.integrate import quad
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from fermiclass.analysis.outliers import default_recipe, find_outliers, wrong_labels
from fermiclass.catalog import THREE_CLASSES, Catalog
from fermiclass.io.tables import read_table
from tests.cli.test_cli import DR4
from tests.commands import run, run_well

OLD = {"classes": THREE_CLASSES, "features": "extended"}
QUICK = {"steps": 60, "num_inducing": 20, "num_draws": 32}


@pytest.fixture(scope="module")
def few(dr4):
    return dr4[(np.arange(len(dr4)) % 4 == 0)]


@pytest.fixture(scope="module")
def spoilt(few):
    """Pulsars called blazars, and blazars called pulsars; by name."""
    rng = np.random.default_rng(1)
    table = few.table.copy()
    codes = np.asarray(table["CLASS1"]).astype("<U5")
    names = set()
    for kind, other in (("psr", "bll"), ("bll", "psr")):
        for row in rng.choice(np.flatnonzero(few.classes == kind), 10, replace=False):
            codes[row] = other
            names.add(str(few.names[row]))
    table["CLASS1"] = Column(codes)
    return Catalog(table, few.release, few.source, few.sha256), names


@pytest.fixture(scope="module")
def found(spoilt):
    return find_outliers(spoilt[0], recipe=default_recipe(**QUICK), folds=3, **OLD)


def test_wrong_labels_come_first(found, spoilt):
    names = spoilt[1]
    is_wrong = np.array([str(name) in names for name in found["Source_Name"]])
    assert is_wrong.sum() == 20
    wrong = np.asarray(found["P_WRONG"])
    assert np.all(np.diff(wrong) <= 0)
    assert roc_auc_score(is_wrong, wrong) > 0.95
    assert is_wrong[:25].sum() >= 14
    assert 0.005 < found.meta["rho"] < 0.2


@pytest.mark.parametrize("share", [0.0, 0.02, 0.1])
def test_the_share_of_random_labels_and_each_probability_are_calibrated(share):
    """On probabilities that are true, with a share of the labels drawn at random; 20 draws."""
    rng = np.random.default_rng(3)
    means, stated, wrong, p_wrong = [], [], [], []
    for _ in range(20):
        p = rng.dirichlet([0.15, 0.1, 0.1], 1500)
        true = np.array([rng.choice(3, p=row) for row in p])
        labels = np.where(rng.uniform(size=1500) < share, rng.integers(3, size=1500), true)
        found, mean, error = wrong_labels(p[np.arange(1500), labels] + 1e-12, 3)
        means.append(mean)
        stated.append(error)
        wrong.append(labels != true)
        p_wrong.append(found)
    assert np.mean(means) == pytest.approx(share, abs=0.004)
    if share:
        assert np.mean(np.abs(np.array(means) - share) < 2 * np.array(stated)) >= 0.8
        each, is_wrong = np.concatenate(p_wrong), np.concatenate(wrong)
        for low, high in ((0.05, 0.3), (0.3, 0.7), (0.7, 1.0)):
            rows = (each > low) & (each <= high)
            assert is_wrong[rows].mean() == pytest.approx(each[rows].mean(), abs=0.08)


def test_the_posterior_of_the_share_is_that_of_quadrature():
    p = np.array([0.9, 0.2, 0.6, 0.01])

    def posterior(rho, moment=0, wrong=None):
        value = (1 - rho) ** 8 * np.prod((1 - rho) * p + rho / 3) * rho**moment
        return value if wrong is None else value * (rho / 3) * (1 - p[wrong]) / (rho / 3 + (1 - rho) * p[wrong])

    norm, first, second = (quad(posterior, 0, 1, args=(k,))[0] for k in range(3))
    found, mean, error = wrong_labels(p, 3)
    assert mean == pytest.approx(first / norm, rel=1e-3)
    assert error == pytest.approx(np.sqrt(second / norm - (first / norm) ** 2), rel=1e-3)
    expected = [quad(posterior, 0, 1, args=(0, k))[0] / norm for k in range(4)]
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_every_source_with_a_class_once(found, spoilt):
    catalog = spoilt[0]
    known = np.isin(catalog.classes, ["bll", "fsrq", "psr", "msp"])
    assert sorted(found["Source_Name"]) == sorted(catalog.names[known])
    rows = {str(name): k for k, name in enumerate(catalog.names)}
    for row in found[::50]:
        k = rows[str(row["Source_Name"])]
        assert str(row["CLASS"]) == {"msp": "psr"}.get(catalog.classes[k], catalog.classes[k])
        np.testing.assert_equal(row["ASSOC_PROB_BAY"], catalog.table["ASSOC_PROB_BAY"][k])  # which may be NaN
        assert row["IDENTIFIED"] == catalog.identified[k]
    P = np.column_stack([found[f"P_{name}"] for name in ("bll", "fsrq", "psr")])
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-6)


def test_neighbours_are_others_with_their_classes(found):
    classes = dict(zip(found["Source_Name"], found["CLASS"], strict=True))
    for row in found[::40]:
        names = str(row["NEIGHBOURS"]).split(", ")
        assert len(set(names)) == 5
        assert str(row["Source_Name"]) not in names
        assert [classes[name] for name in names] == str(row["NEIGHBOUR_CLASSES"]).split(", ")


def test_a_label_does_not_vouch_for_itself(spoilt, found):
    """Another label for one source changes what its features look like not at all, if the folds stay the same."""
    catalog, names = spoilt
    row = int(np.flatnonzero(np.isin(catalog.names, list(names)))[0])
    looks = {str(r["Source_Name"]): (r["P_bll"], r["P_psr"]) for r in found}[str(catalog.names[row])]
    assert max(looks) > 0.5
    claimed = "P_psr" if catalog.classes[row] == "psr" else "P_bll"
    assert dict(zip(("P_bll", "P_psr"), looks, strict=True))[claimed] < 0.5


@pytest.mark.usefixtures("eagerly")
def test_the_default_judges_sources_of_one_class(few):
    """Neither AGN that are bll or fsrq, but which is unknown, nor soft Galactic sources, which have no class."""
    found = find_outliers(few, recipe=default_recipe(steps=5, num_inducing=10, num_draws=16), folds=2)
    y = few.grouping(None).assign(few.classes)
    classes = ["bll", "fsrq", "msp", "other", "psr"]
    known = np.isin(y, classes)
    assert sorted(found["Source_Name"]) == sorted(few.names[known])
    assert set(found["CLASS"]) == set(classes)
    P = np.column_stack([found[f"P_{name}"] for name in classes])
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-6)


def test_by_expectation_propagation(few):
    """It names the same suspects as the sparse model, of the brightest sources."""
    bright = few[np.asarray(few.table["Signif_Avg"]) > 40.0]
    ep = find_outliers(bright, rmgpc=True, classes="bll,fsrq", features="extended", folds=2)
    sparse = find_outliers(bright, recipe=default_recipe(**QUICK), classes="bll,fsrq", features="extended", folds=2)
    assert sorted(ep["Source_Name"]) == sorted(sparse["Source_Name"])
    assert len(set(ep["Source_Name"][:10]) & set(sparse["Source_Name"][:10])) >= 5
    assert 0 < ep.meta["rho"] < 0.2
    assert ep.meta["robust"] == "True"
    # A source's own class counts for P_OUTLIER. The whole sample learns one ρ, whose mean is about that of P_OUTLIER.
    outlier = np.asarray(ep["P_OUTLIER"])
    assert np.isfinite(outlier).all()
    assert 0.0 < outlier.mean() < 0.2
    assert spearmanr(outlier, ep["P_WRONG"]).statistic > 0.5
    assert "P_OUTLIER" not in sparse.colnames


def test_the_command_by_expectation_propagation(tmp_path):
    options = ("--method", "rmgpc", "--min-significance", "150", "--classes", "agn=bll+fsrq,psr", "--folds", "2")
    run_well("outliers", DR4, "-o", tmp_path / "o.ecsv", *options)
    table = read_table(tmp_path / "o.ecsv")
    assert np.all(table["Signif_Avg"] > 150)
    assert set(table["CLASS"]) == {"agn", "psr"}


@pytest.mark.slow
def test_the_command(tmp_path):
    printed = run_well(
        "outliers", DR4, "-o", tmp_path / "o.ecsv", "--steps", "60", "--set", "num_inducing=15", "--folds", "2"
    )
    table = read_table(tmp_path / "o.ecsv")
    assert f"{len(table)} sources have a class." in " ".join(printed.split())
    assert str(table["Source_Name"][0]) in printed
    assert "Example:\n    fermiclass outliers" in run_well("outliers", "--help")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((DR4, "-o", "nowhere/o.fits"), "Create it first"),
        ((DR4, "-o", "o.fits", "--folds", "1"), "--folds"),
        ((DR4, "-o", "o.fits", "--method", "rmgpc", "--set", "num_inducing=3"), "leave out --set"),
        ((DR4, "-o", "o.fits", "--method", "rmgpc"), "Use fewer"),
    ],
)
def test_what_cannot_be_done(tmp_path, arguments, message):
    done = run("outliers", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
