"""Models on disk: the same model comes back, nothing is half written, nothing is run, and damage is named."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import gpflow
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from fermiclass import NIMGPClassifier, NIMGPRegressor, Recipe, RobustGPClassifier, load_model, save_model, train
from fermiclass.catalog import THREE_CLASSES
from fermiclass.cli.folders import read_folder
from fermiclass.errors import ModelFolderError, OutputError
from fermiclass.io.model_folder import CATALOGUE, FORMAT_VERSION, check_model_folder_writable, read_model_folder
from fermiclass.labelling.associations import SelectionPrior
from fermiclass.nimgp.settings import InputOptions, Settings, TrainingOptions
from tests.conftest import without_graphs

TINY = {"steps": 3, "num_inducing": 10, "num_draws": 16}
OLD = {"classes": THREE_CLASSES, "features": "extended"}

pytestmark = pytest.mark.usefixtures("eagerly")


@pytest.fixture(scope="module")
def model(few):
    with without_graphs():
        return train(few, settings=Settings(**TINY), features="six", classes=THREE_CLASSES, min_significance=4.5)


@pytest.fixture
def folder(model, tmp_path):
    save_model(model, tmp_path / "model")
    return tmp_path / "model"


def same_labels(one, other, catalog):
    before, after = one.label(catalog, "all"), other.label(catalog, "all")
    assert before.colnames == after.colnames
    for name in before.colnames:
        np.testing.assert_array_equal(before[name], after[name], err_msg=name)
        assert before[name].dtype == after[name].dtype
    assert before.meta == after.meta


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def damaged(folder, change):
    """Change the configuration and the arrays of a folder, which still say that they belong together."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    with np.load(folder / "weights.npz") as stored:
        arrays = dict(stored)
    change(config, arrays)
    np.savez_compressed(folder / "weights.npz", **arrays)
    config["weights"] = hashlib.sha256((folder / "weights.npz").read_bytes()).hexdigest()
    path.write_text(json.dumps(config))


def test_the_same_labels_come_back(model, folder, few):
    assert sorted(content(folder)) == ["config.json", "weights.npz"]
    back = load_model(folder)
    same_labels(model, back, few)
    assert back.provenance == model.provenance
    assert back.features == model.features
    assert back.grouping == model.grouping
    assert back.imputation == model.imputation
    assert back.estimator.get_params() == model.estimator.get_params()
    np.testing.assert_array_equal(back.estimator.objective_, model.estimator.objective_)


@pytest.mark.parametrize(
    ("settings", "choice"),
    [
        ({"likelihood": "step", "training": TrainingOptions(precision="float64")}, {"classes": "agn=bll+fsrq,psr"}),
        ({"inputs": InputOptions(prior_variance=None), "random_state": None, "temperature": 1.5}, {}),
        ({"method": "nimgp-nn", "noise": "per-feature", "likelihood": "probit"}, {"features": "PL_Index"}),
        ({"method": "nimgp", "inputs": InputOptions("mixture")}, {"features": "PL_Index,LP_Index"}),
    ],
)
def test_other_settings_come_back(few, tmp_path, settings, choice):
    model = train(few, settings=Settings(**TINY | settings), **OLD | choice)
    save_model(model, str(tmp_path / "model"))
    same_labels(model, load_model(str(tmp_path / "model")), few[::10])


@pytest.fixture(scope="module")
def open_world(few):
    """A model of the default classes: a place for every source, and what association selects."""
    with without_graphs():
        model = train(few, recipe=Recipe().with_settings(**TINY), features="six,asinh_GLAT")
    return replace(model, selection=SelectionPrior(slope=-0.7, intercept=1.5, gradient=-0.4, norm=1.25))


def test_the_default_comes_back(open_world, few, tmp_path):
    save_model(open_world, tmp_path / "model")
    back = load_model(tmp_path / "model")
    assert back.selection == open_world.selection
    assert back.grouping == open_world.grouping
    assert back.estimator.label_sets["bll|fsrq"] == ("bll", "fsrq")
    same_labels(open_world, back, few)
    one, other = (model.label(few, class_priors="selection") for model in (open_world, back))
    np.testing.assert_array_equal(one["P_other"], other["P_other"])
    assert one.meta == other.meta


@pytest.mark.parametrize("kernel", ["se", gpflow.kernels.RBF() + gpflow.kernels.Linear(active_dims=[1])])
def test_a_classifier_alone_comes_back(kernel, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"u": rng.normal(size=50), "Unc_u": 0.1, "v": rng.normal(size=50)})
    classifier = NIMGPClassifier(method="nimgp-fo", kernel=kernel, steps=5, num_inducing=5).fit(
        frame, frame["u"] > frame["v"]
    )
    with pytest.raises(OutputError, match="classes"):
        save_model(classifier, tmp_path / "model")
    classifier.fit(frame, np.where(frame["u"] > frame["v"], "a", "b"))
    save_model(classifier, tmp_path / "model")
    back = load_model(tmp_path / "model")
    np.testing.assert_array_equal(back.predict_proba(frame), classifier.predict_proba(frame))
    with pytest.raises(ValueError, match="Unc_u"):
        back.predict_proba(frame[["u", "v"]])
    with pytest.raises(ModelFolderError, match="load_model"):
        read_folder(tmp_path / "model", CATALOGUE)


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_a_regressor_comes_back(likelihood, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"u": rng.normal(size=50), "Unc_u": 0.1, "v": rng.normal(size=50)})
    y = (frame["u"] > 0).astype(float)
    regressor = NIMGPRegressor(likelihood=likelihood, steps=5, num_inducing=5, num_draws=16).fit(frame, y)
    save_model(regressor, tmp_path / "model")
    back = load_model(tmp_path / "model")
    for one, other in zip(*(each.predict(frame, return_std=True) for each in (regressor, back)), strict=True):
        np.testing.assert_array_equal(one, other)
    damaged(tmp_path / "model", lambda config, arrays: arrays.pop("weights/outputs.scale"))
    with pytest.raises(ModelFolderError, match=r"outputs\.scale"):
        load_model(tmp_path / "model")


def test_other_estimators_are_refused(tmp_path):
    with pytest.raises(OutputError, match="RobustGPClassifier cannot be saved in a folder: pickle it"):
        save_model(RobustGPClassifier(), tmp_path / "model")
    for unfitted in (NIMGPClassifier(), NIMGPRegressor()):
        with pytest.raises(NotFittedError):
            save_model(unfitted, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_model_is_replaced_and_nothing_left_behind(folder, few, tmp_path):
    before = content(folder)
    other = train(few, settings=Settings(method="mgp", steps=1, num_inducing=5), **OLD)
    save_model(other, folder)
    assert content(folder).keys() == before.keys()
    assert content(folder) != before
    assert load_model(folder).estimator.method == "mgp"
    assert names_in(tmp_path) == ["model"]


def test_a_link_is_saved_through(model, folder, tmp_path):
    (tmp_path / "link").symlink_to(folder, target_is_directory=True)
    before = content(folder)
    (folder / "weights.npz").write_bytes(b"")
    save_model(model, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert content(folder) == before
    assert names_in(tmp_path) == ["link", "model"]


@pytest.mark.parametrize("failing", ["write_bytes", "replace"])
def test_a_failure_keeps_the_old_model(model, folder, tmp_path, monkeypatch, failing):
    before = content(folder)

    def fail(path, *arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, failing, fail)
        with pytest.raises(OutputError, match=r"cannot save a model in '.*model': No space left on device\. Choose"):
            save_model(model, folder)
    assert content(folder) == before
    assert names_in(tmp_path) == ["model"]


def test_an_interruption_keeps_the_old_model(model, folder, tmp_path, monkeypatch):
    before = content(folder)
    original = Path.replace

    def interrupt(path, target):
        if not target.exists():  # the old one is aside
            raise KeyboardInterrupt("by the user")
        return original(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt, match="by the user"):
            save_model(model, folder)
    assert content(folder) == before
    assert names_in(tmp_path) == ["model"]


OURS = {"config.json": '{"format": "fermiclass model"}', "weights.npz": ""}


@pytest.mark.parametrize(
    ("files", "name", "message"),
    [
        ({}, "missing/model", "there is no folder"),
        ({"a": "mine"}, "model/a", "it is a file"),
        ({"notes.txt": "mine"}, "model", "other files"),
        ({"config.json": "{}"}, "model", "other files"),
        ({"config.json": "not JSON"}, "model", "other files"),
        (OURS | {"notes.txt": "mine"}, "model", "other files"),
        ({}, "m" * 300, "File name too long"),
    ],
)
def test_places_where_no_model_is_saved(model, tmp_path, files, name, message):
    (tmp_path / "model").mkdir()
    for each, text in files.items():
        (tmp_path / "model" / each).write_text(text)
    before = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
    for check in (check_model_folder_writable, lambda path: save_model(model, path)):
        with pytest.raises(OutputError, match=message):
            check(tmp_path / name)
    assert {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")} == before


MU, Z = "weights/posterior.q_mu", "weights/posterior.Z"

#: What is done to configuration and arrays, and a word of the message: all that could give other labels without a word.
DAMAGE = {
    "other version": (lambda c, a: c.update(format_version=FORMAT_VERSION - 1), f"version {FORMAT_VERSION - 1}"),
    "another kind": (lambda c, a: c.update(kind="rows"), "features"),
    "missing entry": (lambda c, a: c["model"].pop("recipe"), "recipe"),
    "NaN": (lambda c, a: a.update({MU: a[MU] * np.nan}), "q_mu"),
    "unknown weight": (lambda c, a: a.update({"weights/odd": np.ones(2)}), "odd"),
    "missing array": (lambda c, a: a.pop("domain/X"), "domain/X"),
    "shape of weights": (lambda c, a: a.update({MU: a[MU][:, 1:]}), "q_mu"),
    "shape of domain": (lambda c, a: a.update({"domain/covariance": a["domain/covariance"][1:]}), "domain"),
    "fewer features": (lambda c, a: c["model"]["recipe"].update(features="LP_Index"), "imputes"),
    "classes exchanged": (lambda c, a: c.update(classes=["fsrq", "bll", "psr"]), "classes"),
    "unknown parameter": (lambda c, a: c["estimator"].update(colour="red"), "colour"),
    "text as slope": (lambda c, a: c["model"]["selection"].update(slope="x"), "slope='x'"),
    "objects": (lambda c, a: a.update({Z: np.array([None])}), "no archive of the arrays of a model"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_named(folder, damage):
    change, word = DAMAGE[damage]
    damaged(folder, change)
    with pytest.raises(ModelFolderError, match=word):
        load_model(folder)


def test_files_that_are_missing_or_of_another_model_are_named(folder):
    (folder / "weights.npz").write_bytes(b"")
    with pytest.raises(ModelFolderError, match="of different models"):
        load_model(folder)
    (folder / "config.json").unlink()
    with pytest.raises(ModelFolderError, match="is not a model folder"):
        load_model(folder)


def test_damage_anywhere_in_the_weights_is_found(folder):
    """A byte changed or an early end: refused, or the arrays are what they were."""
    path = folder / "weights.npz"
    intact, arrays = path.read_bytes(), read_model_folder(folder).arrays
    rng = np.random.default_rng(0)
    refused = 0
    for k in range(60):
        data = bytearray(intact)
        if k % 3:
            data[rng.integers(len(data))] ^= int(rng.integers(1, 256))
        else:
            del data[rng.integers(len(data)) :]
        path.write_bytes(bytes(data))
        try:
            found = read_model_folder(folder).arrays
        except ModelFolderError:
            refused += 1
        else:
            for name in found.keys() & arrays.keys():
                np.testing.assert_array_equal(found[name], arrays[name])
    assert refused > 40
