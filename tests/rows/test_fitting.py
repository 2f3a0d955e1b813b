"""Training and labelling with rows on disk."""

from functools import partial

import numpy as np
import pytest
from astropy.table import Table
from sklearn.base import clone

import fermiclass as fc
from fermiclass.errors import OutputError
from fermiclass.io.tables import write_table
from fermiclass.nimgp.errors import CheckpointError
from fermiclass.nimgp.training.checkpoints import Checkpoint
from fermiclass.rows import ArrayRows, ParquetRows, open_rows

FEATURES = [f"x{j}" for j in range(3)]
ERRORS = [f"Unc_x{j}" for j in range(3)]
SMALL = {
    "method": "nimgp-nn",
    "num_inducing": 12,
    "batch_size": 64,
    "steps": 60,
    "num_draws": 16,
    "learning_rate": 0.05,
}


def make_data(rng, n=600):
    y = np.array(["bll", "fsrq", "psr"])[rng.integers(0, 3, n)]
    centre = np.select([y == "bll", y == "fsrq"], [-2.0, 0.0], 2.0)
    X_var = rng.uniform(0.05, 0.3, (n, 3))
    return 10.0 + np.stack([centre, -centre, np.zeros(n)], axis=1) + rng.normal(size=(n, 3)) * np.sqrt(X_var), X_var, y


@pytest.fixture(scope="module")
def data():
    return make_data(np.random.default_rng(1))


@pytest.fixture(scope="module")
def parquet(data, tmp_path_factory):
    X, X_var, y = data
    path = tmp_path_factory.mktemp("rows") / "sources.parquet"
    columns = dict(zip([*FEATURES, *ERRORS], [*X.T, *np.sqrt(X_var).T], strict=True))
    write_table(Table({**columns, "CLASS1": np.where(np.arange(len(y)) % 7, y, "")}), path)
    return path


@pytest.fixture(scope="module")
def rows(parquet):
    return ParquetRows(parquet, FEATURES, uncertainties=ERRORS, label="CLASS1", dtype=np.float64)


@pytest.fixture(scope="module")
def fitted(rows):
    states = []
    estimator = fc.NIMGPClassifier(**SMALL).fit_rows(rows, progress=states.append)
    assert [state.step for state in states] == [20, 40, 60]
    return estimator


def test_it_learns(fitted, data):
    X, X_var, y = make_data(np.random.default_rng(2))
    assert list(fitted.classes_) == ["bll", "fsrq", "psr"]
    labelled = np.arange(len(data[0])) % 7 > 0
    np.testing.assert_allclose(fitted.mean_, data[0][labelled].mean(axis=0))
    np.testing.assert_allclose(fitted.scale_, data[0][labelled].std(axis=0))
    assert np.mean(fitted.predict(X, X_var=X_var) == y) > 0.9
    assert fitted.elbo_[-1] > fitted.elbo_[0]


def test_a_label_of_two_classes_stands_for_either(data):
    """As ``fermiclass features`` writes it. A label with a part that is no class stays a class of its own."""
    X, X_var, y = data
    n = np.arange(len(y))
    open_label = np.where((n % 3 == 0) & (y != "psr"), "bll|fsrq", np.where(n % 11 == 0, "psr|new", y))
    estimator = fc.NIMGPClassifier(**SMALL).fit_rows(ArrayRows(X, open_label, X_var=X_var, dtype=float))
    assert list(estimator.classes_) == ["bll", "fsrq", "psr", "psr|new"]
    stated = fc.NIMGPClassifier(**SMALL, label_sets="bll|fsrq=bll+fsrq")
    stated.fit_rows(ArrayRows(X, open_label, X_var=X_var, dtype=float))
    np.testing.assert_array_equal(stated.weights_["posterior.q_mu"], estimator.weights_["posterior.q_mu"])


def test_the_same_rows_the_same_model_whatever_the_format(fitted, data):
    X, X_var, y = data
    again = fc.NIMGPClassifier(**SMALL).fit_rows(
        ArrayRows(X, np.where(np.arange(len(y)) % 7, y, ""), X_var=X_var, dtype=float)
    )
    for name, values in fitted.weights_.items():
        np.testing.assert_allclose(again.weights_[name], values, atol=1e-3, err_msg=name)


def test_a_checkpoint(rows, tmp_path):
    path = tmp_path / "training.npz"
    few = {**SMALL, "steps": 20}
    first = fc.NIMGPClassifier(**few).fit_rows(rows, checkpoint=path)  # the last step is always kept
    again = fc.NIMGPClassifier(**few).fit_rows(rows, checkpoint=path)
    np.testing.assert_array_equal(again.elbo_, first.elbo_)
    np.testing.assert_array_equal(first.weights_["posterior.q_mu"], again.weights_["posterior.q_mu"])
    with pytest.raises(CheckpointError, match="a checkpoint of another training, with steps="):
        fc.NIMGPClassifier(**SMALL).fit_rows(rows, checkpoint=path)


@pytest.mark.slow
def test_resumed_half_way(rows, tmp_path, monkeypatch):
    """It goes on where it was, ends as if nothing had been, and says so if it cannot."""

    def stop(state):
        if state.step == 40:
            raise KeyboardInterrupt

    path = tmp_path / "training.npz"
    keep = partial(Checkpoint, seconds=0)
    monkeypatch.setattr("fermiclass.nimgp.training.checkpoints.Checkpoint", keep)
    with pytest.raises(KeyboardInterrupt):
        fc.NIMGPClassifier(**SMALL).fit_rows(rows, checkpoint=path, progress=stop)
    steps = []
    resumed = fc.NIMGPClassifier(**SMALL).fit_rows(rows, checkpoint=path, progress=lambda s: steps.append(s.step))
    assert steps == [40, 60]
    undisturbed = fc.NIMGPClassifier(**SMALL).fit_rows(rows)
    np.testing.assert_array_equal(resumed.elbo_, undisturbed.elbo_)
    for name, values in undisturbed.weights_.items():
        np.testing.assert_array_equal(resumed.weights_[name], values, err_msg=name)
    X, X_var, y = make_data(np.random.default_rng(2))
    assert np.mean(resumed.predict(X, X_var=X_var) == y) > 0.9
    with pytest.raises(OutputError, match="there is no folder"):
        fc.NIMGPClassifier(**SMALL).fit_rows(rows, checkpoint=tmp_path / "nowhere" / "training.npz")
    with pytest.raises(ValueError, match="needs a whole number as random_state"):
        fc.NIMGPClassifier(random_state=None, **SMALL).fit_rows(rows, checkpoint=path)


def test_a_checkpoint_of_other_rows(rows, data, tmp_path):
    X, X_var, y = data
    path = tmp_path / "training.npz"
    few = {**SMALL, "steps": 20}
    first = ArrayRows(X, y, X_var=X_var)
    swapped = np.select([y == "bll", y == "psr"], ["psr", "bll"], y)
    fc.NIMGPClassifier(**few).fit_rows(first, checkpoint=path)
    for other, odd in (
        (ArrayRows(X[::-1], y[::-1], X_var=X_var[::-1]), "contents="),
        (ArrayRows(X, y, X_var=4 * X_var), "contents="),
        (ArrayRows(X, swapped, X_var=X_var), "contents="),
        (ArrayRows(X, np.where(np.arange(len(y)) == 5, "", y), X_var=X_var), "contents=.*rows="),
        (ArrayRows(X, np.char.add("x", y), X_var=X_var), "classes="),
        (ArrayRows(X, y, X_var=X_var, feature_names=FEATURES[::-1]), "features="),
    ):
        with pytest.raises(CheckpointError, match=f"a checkpoint of another training, with {odd}"):
            fc.NIMGPClassifier(**few).fit_rows(other, checkpoint=path)


@pytest.mark.slow
def test_epochs_are_passes_over_the_rows(rows):
    steps = []
    settings = {**SMALL, "batch_size": None, "epochs": 40}
    fc.NIMGPClassifier(**settings).fit_rows(rows, progress=lambda state: steps.append(state.steps))
    assert set(steps) == {40}  # 514 rows with a label, all in one batch of up to 1,024
    steps.clear()
    settings = {**SMALL, "epochs": 3}
    fc.NIMGPClassifier(**settings).fit_rows(rows, progress=lambda state: steps.append(state.steps))
    assert set(steps) == {3 * 8}


def test_no_rows_to_label(fitted, tmp_path):
    none = ArrayRows(np.empty((0, 3)), feature_names=FEATURES)
    fitted.predict_rows(none, tmp_path / "labels.parquet")
    assert len(fc.read_table(tmp_path / "labels.parquet")) == 0


@pytest.mark.parametrize("ending", ["parquet", "fits"])
def test_labels_on_disk_are_those_in_memory(fitted, rows, data, tmp_path, ending):
    path, done = tmp_path / f"labels.{ending}", []
    fitted.predict_rows(rows, path, block_rows=250, progress=done.append)
    assert done == [250, 500, 600]
    labels = open_rows(path, ["P_bll", "P_fsrq", "P_psr"], label="PRED_CLASS", dtype=float).read(0, 600)
    expected = fitted.predict_proba(data[0], X_var=data[1])
    np.testing.assert_allclose(labels.X, expected, atol=1e-6)
    np.testing.assert_array_equal(labels.y, fitted.classes_[expected.argmax(axis=1)])


def test_labels_by_the_workers_of_a_cluster(fitted, rows, tmp_path):
    distributed = pytest.importorskip("distributed")
    alone, together = tmp_path / "alone.parquet", tmp_path / "together.parquet"
    fitted.predict_rows(rows, alone, block_rows=100)
    with distributed.Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        fitted.predict_rows(rows, together, block_rows=100, client=client)
    assert alone.read_bytes() == together.read_bytes()


def test_what_cannot_be(fitted, rows, data, tmp_path):
    X, _, y = data
    for method in ("nimgp", "mgp-aug"):
        with pytest.raises(ValueError, match=f"method='{method}' has parameters for every source in memory: choose"):
            fc.NIMGPClassifier(method).fit_rows(rows)
    with pytest.raises(ValueError, match="at least two classes; found no labels"):
        fc.NIMGPClassifier("mgp").fit_rows(ArrayRows(X))
    with pytest.raises(ValueError, match="at least two classes; found only 1 class"):
        fc.NIMGPClassifier("mgp").fit_rows(ArrayRows(X, np.full(len(X), "psr")))
    with pytest.raises(ValueError, match="temperature='folds' needs the rows in memory"):
        fc.NIMGPClassifier("mgp", temperature="folds").fit_rows(rows)
    with pytest.raises(ValueError, match="learned from x0, x1, x2, these rows have x2, x1, x0"):
        fitted.predict_rows(ArrayRows(X, feature_names=FEATURES[::-1]), tmp_path / "labels.parquet")
    other = clone(fitted).set_params(steps=1)
    other.row_features_ = ("of", "another", "training")
    other.fit(X[:50], y[:50]).predict_rows(ArrayRows(X[:5]), tmp_path / "labels.parquet")
    (tmp_path / "labels.parquet").unlink()
    with pytest.raises(OutputError, match="cannot be written in blocks"):
        fitted.predict_rows(rows, tmp_path / "labels.csv")
    assert list(tmp_path.iterdir()) == []
