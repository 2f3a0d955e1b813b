"""Models of rows: which columns they find, and that they come back from disk."""

import json

import numpy as np
import pytest
from astropy.table import Table

import fermiclass as fc
from fermiclass.errors import ModelFolderError, OutputError, RowsError
from fermiclass.io.tables import write_table
from fermiclass.rows import ArrayRows
from fermiclass.rows.columns import Columns
from fermiclass.rows.model import RowsModel, find_columns, open_to_learn, train_rows

SMALL = {"num_inducing": 8, "batch_size": 64, "steps": 60, "learning_rate": 0.05, "num_draws": 16}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    y = rng.choice(["bll", "psr", ""], 300, p=[0.4, 0.4, 0.2])
    x = np.where(y == "psr", 2.0, -2.0) + rng.normal(size=300)
    return Table(
        {
            "Source_Name": [f"4FGL {k}" for k in range(300)],
            "x": x,
            "Unc_x": np.full(300, 0.5),
            "z": rng.normal(size=300),
            "CLASS": y,
            "kind": np.where(y == "psr", 1, 0),
        }
    )


@pytest.fixture(scope="module")
def path(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "sources.parquet"
    write_table(table, path)
    return path


@pytest.fixture(scope="module")
def model(path):
    rows, columns = open_to_learn(path)
    return train_rows(rows, columns, fc.NIMGPClassifier("nimgp-fo-marginal", **SMALL), source="sources")


def test_columns_are_found_by_their_names(path):
    assert find_columns(path) == Columns(("x",), ("Unc_x",), "CLASS")
    assert find_columns(path, ["z", "x"]) == Columns(("z", "x"), (None, "Unc_x"), "CLASS")
    assert find_columns(path, ["z"], uncertainties=["Unc_x"], label="kind") == Columns(("z",), ("Unc_x",), "kind")


def test_columns_that_cannot_be_found(table, tmp_path):
    bare = table["x", "z"]
    write_table(bare, tmp_path / "bare.parquet")
    with pytest.raises(RowsError, match=r"has no pair of columns such as LP_Index.*\(--features\)"):
        find_columns(tmp_path / "bare.parquet")
    with pytest.raises(RowsError, match=r"has no column 'CLASS'\. Name the one with the labels \(--label\)"):
        find_columns(tmp_path / "bare.parquet", ["x"])
    with pytest.raises(RowsError, match="there is no file or folder"):
        find_columns(tmp_path / "nothing.parquet")


def test_arrays_have_no_names(table, tmp_path):
    np.save(tmp_path / "X.npy", np.column_stack([table["x"], table["z"]]))
    np.save(tmp_path / "y.npy", np.asarray(table["kind"]))
    rows, columns = open_to_learn(tmp_path)
    assert columns == Columns(("x0", "x1"), (None, None), "CLASS")
    np.save(tmp_path / "X_var.npy", np.ones((300, 2)))
    assert open_to_learn(tmp_path)[1].uncertainties == ("Unc_x0", "Unc_x1")
    model = train_rows(rows, columns, fc.NIMGPClassifier("mgp", **SMALL))
    opened = model.open(tmp_path)
    model.label(opened, tmp_path / "labels.parquet")
    assert set(fc.read_table(tmp_path / "labels.parquet")["PRED_CLASS"]) == {"0", "1"}
    fc.save_model(model, tmp_path / "model")
    assert fc.load_model(tmp_path / "model").estimator.classes_.tolist() == [0, 1]


def test_the_same_labels_come_back(model, path, table, tmp_path):
    fc.save_model(model, tmp_path / "model")
    again = fc.load_model(tmp_path / "model")
    assert isinstance(again, RowsModel)
    assert (again.columns, again.provenance) == (model.columns, model.provenance)
    for one, name in ((model, "before"), (again, "after")):
        one.label(one.open(path, keep=["Source_Name", "CLASS"]), tmp_path / f"{name}.parquet", block_rows=77)
    assert (tmp_path / "before.parquet").read_bytes() == (tmp_path / "after.parquet").read_bytes()
    labels = fc.read_table(tmp_path / "before.parquet")
    assert labels.colnames[:4] == ["Source_Name", "CLASS", "P_bll", "P_psr"]
    assert labels["Source_Name"].tolist() == table["Source_Name"].tolist()
    known = np.asarray(table["CLASS"]) != ""
    assert np.mean(np.asarray(labels["PRED_CLASS"] == table["CLASS"])[known]) > 0.9


def test_rows_with_a_label_are_counted(model, table):
    assert model.provenance.num_rows == np.sum(np.asarray(table["CLASS"]) != "") < 300


def test_rows_unlike_the_training_rows_are_flagged(model, tmp_path):
    write_table(Table({"x": [-2.0, 2.0, 60.0], "Unc_x": np.full(3, 0.5)}), tmp_path / "new.parquet")
    model.label(model.open(tmp_path / "new.parquet"), tmp_path / "labels.parquet")
    labels = fc.read_table(tmp_path / "labels.parquet")
    assert np.all(np.asarray(labels["OOD_SCORE"])[:2] < 0.9)
    assert labels["OOD_SCORE"][2] == 1.0
    assert labels["LABEL_FLAGS"].tolist() == [0, 0, 4]
    assert labels["LABEL_FLAGS"].description == "Bits: 4 outside the training domain"


def test_a_model_of_version_8_labels_without_a_score(model, path, tmp_path):
    fc.save_model(model, tmp_path / "model")
    place = tmp_path / "model" / "config.json"
    config = json.loads(place.read_text()) | {"format_version": 8}
    del config["domain_neighbours"]
    place.write_text(json.dumps(config))
    with np.load(tmp_path / "model" / "weights.npz") as stored:
        arrays = {name: stored[name] for name in stored.files if not name.startswith("domain/")}
    np.savez_compressed(tmp_path / "model" / "weights.npz", **arrays)
    again = fc.load_model(tmp_path / "model")
    again.label(again.open(path), tmp_path / "labels.parquet")
    assert fc.read_table(tmp_path / "labels.parquet").colnames[-1] == "NOISE_ENTROPY"


def test_what_cannot_be_kept(model, path, table, tmp_path):
    with pytest.raises(
        OutputError, match=r"needs the width of texts in advance, which is unknown for Source_Name\. Write a \.parquet"
    ):
        model.label(model.open(path, keep=["Source_Name"]), tmp_path / "labels.fits")
    model.label(model.open(path, keep=["kind"]), tmp_path / "numbers.fits")
    assert fc.read_table(tmp_path / "numbers.fits")["kind"].tolist() == table["kind"].tolist()
    clash = Table(table, copy=True)
    clash.rename_column("kind", "P_bll")
    write_table(clash, tmp_path / "clash.parquet")
    with pytest.raises(RowsError, match="kept columns have names of results: P_bll"):
        model.label(model.open(tmp_path / "clash.parquet", keep=["P_bll"]), tmp_path / "labels.parquet")
    with pytest.raises(RowsError, match="these rows have x0, x1"):
        model.label(ArrayRows(np.zeros((3, 2))), tmp_path / "labels.parquet")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["clash.parquet", "numbers.fits"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": ["bll"]}, "its classes are not a sorted list of two or more texts or whole numbers"),
        ({"classes": ["psr", "bll"]}, "its classes are not a sorted list of two or more texts or whole numbers"),
        ({"classes": ["bll", 1]}, "its classes are not a sorted list"),
        ({"classes": ["bll", "fsrq", "psr"]}, r"posterior\.Z has shape \(1, 8, 1\), expected \(3, any number, 1\)"),
        ({"features": ["x", "z"]}, "1 columns of uncertainties were named for 2 features"),
        ({"features": [3]}, "the names of its columns are not text"),
        ({"label": None}, "the names of its columns are not text"),
        ({"provenance": 3}, "is damaged: TypeError"),
        ({"grouping": "bll,psr"}, "missing or unknown entries: grouping"),
    ],
)
def test_damage_is_named(model, tmp_path, change, message):
    fc.save_model(model, tmp_path / "model")
    place = tmp_path / "model" / "config.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | change))
    with pytest.raises(ModelFolderError, match=message):
        fc.load_model(tmp_path / "model")
