"""Training on rows, labelling rows, and models that come back from disk."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from astropy.table import Table

import fermiclass as fc
from fermiclass.errors import OutputError, RowsError
from fermiclass.io.tables import write_table
from fermiclass.nimgp.errors import CheckpointError
from fermiclass.nimgp.training.checkpoints import Checkpoint
from fermiclass.rows import RowsModel, open_rows, open_training_rows
from fermiclass.rows.chunk import Columns
from fermiclass.rows.opening import ArrayRows

SMALL = {
    "method": "nimgp-nn",
    "num_inducing": 12,
    "batch_size": 64,
    "steps": 60,
    "num_draws": 16,
    "learning_rate": 0.05,
}
FEW = {**SMALL, "steps": 5}
FEATURES = ["x0", "x1", "x2"]


def make_data(seed, n=600):
    """Features, variances and classes of n sources."""
    rng = np.random.default_rng(seed)
    y = np.array(["bll", "fsrq", "psr"])[rng.integers(0, 3, n)]
    centre = np.select([y == "bll", y == "fsrq"], [-2.0, 0.0], 2.0)
    X_var = rng.uniform(0.05, 0.3, (n, 3))
    return 10.0 + np.stack([centre, -centre, np.zeros(n)], axis=1) + rng.normal(size=(n, 3)) * np.sqrt(X_var), X_var, y


@pytest.fixture(scope="module")
def data():
    return make_data(1)


@pytest.fixture(autouse=True)
def _eagerly(eagerly):
    """Also what is trained for longer is not traced for each test that predicts."""


@pytest.fixture(scope="module")
def label(data):
    """Labels of these sources, of which one in seven is not known."""
    return np.where(np.arange(600) % 7, data[2], "")


@pytest.fixture(scope="module")
def path(data, label, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "sources.parquet"
    columns = {"Source_Name": [f"4FGL {k}" for k in range(600)], "kind": np.arange(600)}
    for name, x, variance in zip(FEATURES, data[0].T, data[1].T, strict=True):
        columns |= {name: x, f"Unc_{name}": np.sqrt(variance)}
    write_table(Table({**columns, "CLASS": label}), path)
    return path


@pytest.fixture(scope="module")
def rows(path):
    return open_training_rows(path)


@pytest.fixture(scope="module")
def model(rows):
    states = []
    model = fc.fit_rows(fc.NIMGPClassifier(**SMALL), rows, progress=states.append)
    assert [state.step for state in states] == [20, 40, 60]
    return model


def fit(X, y=None, X_var=None, settings=SMALL, **options):
    return fc.fit_rows(fc.NIMGPClassifier(**settings), ArrayRows(X, y, X_var=X_var), **options).estimator


def test_it_learns(model, data, label, path):
    X, X_var, y = make_data(2)
    estimator, known = model.estimator, label != ""
    assert list(estimator.classes_) == ["bll", "fsrq", "psr"]
    np.testing.assert_allclose(estimator.mean_, data[0][known].mean(axis=0))
    np.testing.assert_allclose(estimator.scale_, data[0][known].std(axis=0))
    assert np.mean(estimator.predict(X, X_var=X_var) == y) > 0.9
    assert (model.provenance.rows, model.provenance.num_rows) == (path.name, known.sum())


def test_a_label_of_two_classes_stands_for_either(data):
    """As ``fermiclass features`` writes it. A label with a part that is no class stays a class of its own."""
    X, X_var, y = data
    n = np.arange(len(y))
    open_label = np.where((n % 3 == 0) & (y != "psr"), "bll|fsrq", np.where(n % 11 == 0, "psr|new", y))
    assert list(fit(X, open_label, X_var, FEW).classes_) == ["bll", "fsrq", "psr", "psr|new"]
    stated = {**FEW, "label_sets": {"BLL": ("bll", "fsrq")}}  # it gets no column of its own
    y = np.where(n % 3 == 0, "BLL", y)
    assert list(fit(X, y, X_var, stated).classes_) == ["bll", "fsrq", "psr"]


def test_labels_have_weights(data):
    X, X_var, y = data
    of_psr = [
        fit(X, y, X_var, {**SMALL, "label_weights": {"psr": weight}})
        .predict_proba(X, X_var=X_var)[y == "psr", 2]
        .mean()
        for weight in (1.0, 1e-3)
    ]
    assert of_psr[0] > 0.8 > 0.4 > of_psr[1]


def test_a_checkpoint(rows, tmp_path):
    path = tmp_path / "training.npz"
    first = fc.fit_rows(fc.NIMGPClassifier(**FEW), rows, checkpoint=path).estimator  # the last step is always kept
    again = fc.fit_rows(fc.NIMGPClassifier(**FEW), rows, checkpoint=path).estimator
    np.testing.assert_array_equal(first.weights_["posterior.q_mu"], again.weights_["posterior.q_mu"])
    with pytest.raises(CheckpointError, match="another training, with steps="):
        fc.fit_rows(fc.NIMGPClassifier(**SMALL), rows, checkpoint=path)
    with pytest.raises(OutputError, match="there is no folder"):
        fc.fit_rows(fc.NIMGPClassifier(**SMALL), rows, checkpoint=tmp_path / "nowhere" / "training.npz")
    with pytest.raises(ValueError, match="random_state"):
        fc.fit_rows(fc.NIMGPClassifier(random_state=None, **SMALL), rows, checkpoint=path)


@pytest.mark.slow
def test_resumed_half_way(rows, tmp_path, monkeypatch):
    """It goes on where it was, and ends as if nothing had been."""

    def stop(state):
        if state.step == 40:
            raise KeyboardInterrupt

    estimator, path, steps = fc.NIMGPClassifier(**SMALL), tmp_path / "training.npz", []
    monkeypatch.setattr("fermiclass.nimgp.training.checkpoints.Checkpoint", partial(Checkpoint, seconds=0))
    with pytest.raises(KeyboardInterrupt):
        fc.fit_rows(estimator, rows, checkpoint=path, progress=stop)
    resumed = fc.fit_rows(estimator, rows, checkpoint=path, progress=lambda state: steps.append(state.step)).estimator
    assert steps == [40, 60]
    for name, values in fc.fit_rows(estimator, rows).estimator.weights_.items():
        np.testing.assert_array_equal(resumed.weights_[name], values, err_msg=name)


def test_a_checkpoint_of_other_rows(data, tmp_path):
    X, X_var, y = data
    path = tmp_path / "training.npz"
    fit(X, y, X_var, FEW, checkpoint=path)
    for other, odd in (
        ((X, y, 4 * X_var), "contents="),
        ((X, np.where(np.arange(len(y)) == 5, "", y), X_var), "contents=.*rows="),
        ((X, np.char.add("x", y), X_var), "classes="),
    ):
        with pytest.raises(CheckpointError, match=f"another training, with {odd}"):
            fit(*other, FEW, checkpoint=path)
    other = ArrayRows(X, y, X_var=X_var, feature_names=FEATURES[::-1])
    with pytest.raises(CheckpointError, match="features="):
        fc.fit_rows(fc.NIMGPClassifier(**FEW), other, checkpoint=path)


@pytest.mark.parametrize(
    ("settings", "y", "message"),
    [
        ({"method": "nimgp"}, "abc", "method='nimgp' has parameters for every source"),
        ({"method": "mgp-aug"}, "abc", "method='mgp-aug' has parameters for every source"),
        ({"method": "mgp"}, None, "found no labels"),
        ({"method": "mgp"}, "a", "at least two classes"),
        ({"method": "mgp"}, ["MAX", "bll"], "'MAX' and P_MAX name the same column"),
        ({"method": "mgp"}, ["AGN", "agn"], "'agn' and 'AGN' name the same column"),
        ({"method": "mgp"}, ["bll", "x" * 61], "in 60 letters"),
        ({"method": "mgp"}, ["bll", "p\x00sr"], "cannot be printed"),
        ({"method": "mgp"}, [False, True], "is a truth value"),
        ({"method": "mgp"}, [f"source {k}" for k in range(300)], "are these labels names or measurements"),
        ({"method": "mgp"}, [f"source {k}" for k in range(1001)], "more than 1000 distinct labels"),
    ],
)
def test_what_cannot_be_learned(settings, y, message, monkeypatch):
    monkeypatch.setattr("fermiclass.nimgp.estimators.streams.fit_prepared", lambda *_, **__: pytest.fail("it trains"))
    y = None if y is None else np.array(list(y))[np.arange(1100) % len(y)]
    with pytest.raises(ValueError, match=message):
        fit(np.random.default_rng(0).normal(size=(1100, 1)), y, settings=settings)


def test_labels_on_disk_are_those_in_memory(model, rows, data, tmp_path):
    path, done = tmp_path / "labels.parquet", []
    fc.predict_rows(model, rows, path, block_rows=250, progress=done.append)
    assert done == [250, 500, 600]
    labels = open_rows(path, ["P_bll", "P_fsrq", "P_psr"], label="PRED_CLASS").read(0, 600)
    expected = model.estimator.predict_proba(data[0], X_var=data[1])
    np.testing.assert_allclose(labels.X, expected, atol=1e-6)
    np.testing.assert_array_equal(labels.y, model.estimator.classes_[expected.argmax(axis=1)])


def test_no_rows_to_label(model, tmp_path):
    fc.predict_rows(model, ArrayRows(np.empty((0, 3)), X_var=np.empty((0, 3))), tmp_path / "labels.parquet")
    assert len(fc.read_table(tmp_path / "labels.parquet")) == 0


def test_rows_unlike_the_training_rows_are_flagged(model, tmp_path):
    X = model.estimator.mean_ + np.array([[-2.0, 2.0, 0.0], [2.0, -2.0, 0.0], [60.0, 0.0, 0.0]])
    rows = ArrayRows(X, X_var=np.full((3, 3), 0.1))
    fc.predict_rows(model, rows, tmp_path / "labels.parquet")
    labels = fc.read_table(tmp_path / "labels.parquet")
    assert np.all(np.asarray(labels["OOD_SCORE"])[:2] < 0.9)
    assert labels["OOD_SCORE"][2] == 1.0
    assert labels["LABEL_FLAGS"].tolist() == [0, 0, 4]
    fc.predict_rows(replace(model, domain=None), rows, tmp_path / "labels.parquet")
    assert fc.read_table(tmp_path / "labels.parquet").colnames[-1] == "NOISE_ENTROPY"


def test_the_same_labels_come_back(model, path, tmp_path):
    fc.save_model(model, tmp_path / "model")
    again = fc.load_model(tmp_path / "model")
    assert isinstance(again, RowsModel)
    assert (again.columns, again.provenance) == (model.columns, model.provenance)
    for one, name in ((model, "before"), (again, "after")):
        rows = one.open(path, keep=["Source_Name", "CLASS"])
        fc.predict_rows(one, rows, tmp_path / f"{name}.parquet", block_rows=77)
    assert (tmp_path / "before.parquet").read_bytes() == (tmp_path / "after.parquet").read_bytes()
    labels = fc.read_table(tmp_path / "before.parquet")
    assert labels.colnames[:4] == ["Source_Name", "CLASS", "P_bll", "P_fsrq"]
    assert labels["Source_Name"].tolist() == [f"4FGL {k}" for k in range(600)]


def test_arrays_have_no_names(data, tmp_path):
    np.save(tmp_path / "X.npy", data[0][:, :2])
    np.save(tmp_path / "y.npy", (data[2] == "psr").astype(int))
    model = fc.fit_rows(fc.NIMGPClassifier(**FEW), open_training_rows(tmp_path))
    assert model.columns == Columns(("x0", "x1"), (None, None), "CLASS")
    fc.predict_rows(model, model.open(tmp_path), tmp_path / "labels.parquet")
    assert set(fc.read_table(tmp_path / "labels.parquet")["PRED_CLASS"]) == {"0", "1"}
    fc.save_model(model, tmp_path / "model")
    assert fc.load_model(tmp_path / "model").estimator.classes_.tolist() == [0, 1]


def test_what_cannot_be_labelled(model, path, data, tmp_path):
    labels = tmp_path / "labels.parquet"
    with pytest.raises(RowsError, match="learned from x0, x1, x2, these rows have x2, x1, x0"):
        fc.predict_rows(model, ArrayRows(data[0], feature_names=FEATURES[::-1]), labels)
    clash = fc.read_table(path)
    clash.rename_column("kind", "P_bll")
    write_table(clash, tmp_path / "clash.parquet")
    with pytest.raises(RowsError, match="names of results: P_bll"):
        fc.predict_rows(model, model.open(tmp_path / "clash.parquet", keep=["P_bll"]), labels)
    with pytest.raises(OutputError, match="ending of rows"):
        fc.predict_rows(model, ArrayRows(*data[::2], X_var=data[1]), tmp_path / "labels.csv")
    odd = replace(model, fitted=SimpleNamespace(target=SimpleNamespace(classes=np.array(["MAX", "bll"]))))
    with pytest.raises(RowsError, match="P_MAX"):
        fc.predict_rows(odd, ArrayRows(data[0], X_var=data[1]), labels)
    assert [place.name for place in tmp_path.iterdir()] == ["clash.parquet"]


def test_lost_error_bars_are_no_zeros(model, data, tmp_path):
    """Arrays with their error bars have the labels of the table; without, they are refused, and 0 has to be said."""
    X, X_var, _ = data
    np.save(tmp_path / "X.npy", X)
    for place in (tmp_path, tmp_path / "X.npy"):
        with pytest.raises(RowsError, match=r"error bars of x0, x1, x2, which '.*X.npy' lacks: .*X_var\.npy"):
            fc.predict_rows(model, model.open(place), tmp_path / "labels.parquet")
    for V in (X_var, 0 * X):
        np.save(tmp_path / "X_var.npy", V)
        with pytest.raises(RowsError, match="error bars"):
            fc.predict_rows(model, model.open(tmp_path / "X.npy"), tmp_path / "labels.parquet")
        fc.predict_rows(model, model.open(tmp_path), tmp_path / "labels.parquet")
        found = fc.read_table(tmp_path / "labels.parquet")["P_psr"]
        np.testing.assert_allclose(found, model.estimator.predict_proba(X, X_var=V)[:, 2], atol=1e-6)
