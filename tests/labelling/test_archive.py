"""Models on disk: the same model comes back, nothing is half written, nothing is run, and damage is named."""

import json
import pickle
import time
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fermiclass import NIMGPClassifier, load_model, save_model, train
from fermiclass.catalog import THREE_CLASSES
from fermiclass.errors import ModelFolderError, OutputError
from fermiclass.labelling.archive import check_model_folder, check_model_folder_writable
from fermiclass.labelling.selection import SelectionPrior
from fermiclass.labelling.training import default_estimator
from fermiclass.nimgp.settings import HyperOptions, InputOptions, TrainingOptions

TINY = {"steps": 40, "num_inducing": 15}
OLD = {"classes": THREE_CLASSES, "features": "extended"}


@pytest.fixture(scope="module")
def few(dr4):
    return dr4[::20]


@pytest.fixture(scope="module")
def model(few):
    return train(few, NIMGPClassifier(**TINY), features="six", classes=THREE_CLASSES, min_significance=4.5)


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


def change_config(folder, change):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    change(config)
    path.write_text(json.dumps(config))


def change_arrays(folder, change):
    with np.load(folder / "weights.npz") as stored:
        arrays = dict(stored)
    change(arrays)
    np.savez(folder / "weights.npz", **arrays)


# --- round trip ------------------------------------------------------------------------------------------------------


def test_the_same_labels_come_back(model, folder, few):
    assert sorted(content(folder)) == ["config.json", "weights.npz"]
    back = load_model(folder)
    same_labels(model, back, few)
    assert back.provenance == model.provenance
    assert back.features == model.features
    assert back.grouping == model.grouping
    assert back.imputation == model.imputation
    assert back.estimator.get_params() == model.estimator.get_params()
    np.testing.assert_array_equal(back.estimator.elbo_, model.estimator.elbo_)


@pytest.mark.parametrize(
    ("settings", "choice"),
    [
        ({"likelihood": "step", "training": TrainingOptions(precision="float64")}, {"classes": "agn=bll+fsrq,psr"}),
        (
            {"method": "mgp", "steps": np.int64(5), "inputs": InputOptions(clip=None)},
            {"features": "LP_beta,ln_Npred"},
        ),
        ({"inputs": InputOptions("population", max_noise=None), "random_state": None, "steps": 5}, {}),
        ({"inputs": InputOptions(prior_variance=None), "kernel": "se", "temperature": 1.5}, {}),
        ({"method": "nimgp-nn", "noise": "per-feature", "inputs": InputOptions("mixture"), "likelihood": "probit"}, {}),
        ({"method": "nimgp-fo", "kernel": "matern32+polynomial", "hyper": HyperOptions(degree=2)}, {}),
    ],
)
def test_other_settings_come_back(few, tmp_path, settings, choice):
    model = train(few, NIMGPClassifier(**TINY | settings), **OLD | choice)
    save_model(model, str(tmp_path / "model"))
    same_labels(model, load_model(str(tmp_path / "model")), few)


def test_the_same_model_gives_the_same_bytes(model, tmp_path, monkeypatch):
    save_model(model, tmp_path / "one")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 1e6)
    monkeypatch.setattr(time, "localtime", lambda *_: time.gmtime(now + 1e6))
    save_model(model, tmp_path / "other")
    assert content(tmp_path / "one") == content(tmp_path / "other")
    save_model(load_model(tmp_path / "one"), tmp_path / "third")
    assert content(tmp_path / "one") == content(tmp_path / "third")


def test_nothing_of_this_place_is_in_the_files(folder):
    for name, data in content(folder).items():
        assert str(Path(__file__).parent.parent).encode() not in data, name


def test_others_may_read_what_the_user_may_write(folder, tmp_path):
    (tmp_path / "usual").mkdir()
    assert folder.stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.fixture(scope="module")
def open_world(few):
    """A model of the default classes: a place for every source, and what association selects."""
    model = train(few, default_estimator(**TINY), features="six,asinh_GLAT")
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


# --- saving ----------------------------------------------------------------------------------------------------------


def test_a_model_is_replaced_and_nothing_left_behind(folder, few, tmp_path):
    before = content(folder)
    other = train(few, NIMGPClassifier("mgp", steps=1, num_inducing=5), **OLD)
    save_model(other, folder)
    assert content(folder).keys() == before.keys()
    assert content(folder) != before
    assert load_model(folder).estimator.method == "mgp"
    assert names_in(tmp_path) == ["model"]


def test_an_empty_folder_is_filled(model, tmp_path):
    (tmp_path / "empty").mkdir()
    save_model(model, tmp_path / "empty")
    assert names_in(tmp_path) == ["empty"]
    assert sorted(content(tmp_path / "empty")) == ["config.json", "weights.npz"]


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


def make_file(path):
    path.write_text("mine")


def make_folder_with(**files):
    def make(path):
        path.mkdir()
        for name, text in files.items():
            (path / name.replace("_", ".")).write_text(text)

    return make


def make_model_with_notes(path):
    make_folder_with(config_json='{"format": "fermiclass model"}', weights_npz="", notes_txt="mine")(path)


@pytest.mark.parametrize(
    ("make", "name", "message"),
    [
        (lambda path: None, "missing/model", r"there is no folder '.*missing'\. Create it first"),
        (make_file, "model", r"it is a file\. Give the name of a folder"),
        (make_file, "model/deeper", r"there is no folder '.*model'\. Create it first"),
        (make_folder_with(notes_txt="mine"), "model", r"the folder holds other files\. Give the name of a new one"),
        (make_folder_with(config_json="{}"), "model", r"the folder holds other files"),
        (make_folder_with(config_json="not JSON"), "model", r"the folder holds other files"),
        (make_folder_with(config_json="{}", thesis_tex="mine"), "model", r"the folder holds other files"),
        (make_folder_with(weights_npz="mine"), "model", r"the folder holds other files"),
        (make_model_with_notes, "model", r"the folder holds other files"),
        (lambda path: None, "m" * 300, r"File name too long\. Choose another place"),
    ],
)
def test_places_where_no_model_is_saved(model, tmp_path, make, name, message):
    make(tmp_path / "model")
    before = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
    with pytest.raises(OutputError, match=rf"cannot save a model in '.*{name}': {message}"):
        check_model_folder_writable(tmp_path / name)
    with pytest.raises(OutputError, match=rf"cannot save a model in '.*{name}': {message}"):
        save_model(model, tmp_path / name)
    assert {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")} == before


def test_checking_leaves_the_place_as_it_was(tmp_path):
    assert check_model_folder_writable(tmp_path / "model") == tmp_path / "model"
    assert not list(tmp_path.iterdir())


def test_what_json_cannot_hold_is_refused(few, tmp_path):
    odd = train(few, NIMGPClassifier("mgp", steps=1, num_inducing=5, random_state=np.random.RandomState(0)), **OLD)
    with pytest.raises(OutputError, match=r"cannot be saved.*RandomState"):
        save_model(odd, tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("beyond", "message"),
    [
        ({"num_draws": 2**20 + 1}, r"num_draws=1048577 is not valid: .* up to 1,048,576"),
        ({"kernel": "+".join(["linear"] * 51)}, r"kernel='linear.* is unknown: join some of"),
    ],
)
def test_what_would_not_be_loaded_is_refused(model, tmp_path, beyond, message):
    odd = replace(model, estimator=copy(model.estimator).set_params(**beyond))
    with pytest.raises(OutputError, match=message):
        save_model(odd, tmp_path / "model")
    assert not list(tmp_path.iterdir())


# --- loading what is damaged -----------------------------------------------------------------------------------------


def remove(name):
    return lambda folder: (folder / name).unlink()


def write(name, data):
    return lambda folder: (folder / name).write_bytes(data)


def cut(folder):
    path = folder / "weights.npz"
    path.write_bytes(path.read_bytes()[:-200])


def flip(folder):
    path = folder / "weights.npz"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))


def bare_array(folder):
    with (folder / "weights.npz").open("wb") as stream:
        np.save(stream, np.zeros(3))


def foreign_member(folder):
    import zipfile

    with zipfile.ZipFile(folder / "weights.npz", "a") as archive:
        archive.writestr("notes.txt", "mine")


def config(**changes):
    return lambda folder: change_config(folder, lambda stored: stored.update(changes))


def inside(key, **changes):
    return lambda folder: change_config(folder, lambda stored: stored[key].update(changes))


def without(*keys):
    def change(stored):
        for key in keys[:-1]:
            stored = stored[key]
        del stored[keys[-1]]

    return lambda folder: change_config(folder, change)


def array(name, make):
    return lambda folder: change_arrays(folder, lambda arrays: arrays.update({name: make(arrays.get(name))}))


def no_array(name):
    return lambda folder: change_arrays(folder, lambda arrays: arrays.pop(name))


DAMAGE = {
    "no folder": (
        lambda f: [p.unlink() for p in f.iterdir()] and f.rmdir(),
        r"is not a model folder: it has no config",
    ),
    "no config": (remove("config.json"), r"is not a model folder: it has no config\.json.*'fermiclass train' made"),
    "no weights": (remove("weights.npz"), r"has no weights\.npz\. Train the model again"),
    "config not JSON": (write("config.json", b"{"), r"config\.json' cannot be read: .*Train the model again"),
    "config not text": (write("config.json", b"\xff\xfe\x00"), r"config\.json' cannot be read: .*Train"),
    "config very deep": (write("config.json", b"[" * 100_000), r"config\.json' cannot be read: .*Train"),
    "config a list": (write("config.json", b"[]"), r"does not describe a fermiclass model"),
    "other format": (config(format="something"), r"does not describe a fermiclass model"),
    "later version": (
        config(format_version=10),
        r"has format version 10; this fermiclass reads versions 5 to 9\. Train .* or",
    ),
    "no version": (without("format_version"), r"has format version None; this fermiclass reads versions 5 to 9"),
    "unknown kind": (config(kind="regressor"), r"has a model of unknown kind, 'regressor'\. Train the model again"),
    "a list as kind": (config(kind=["rows"]), r"has a model of unknown kind, \['rows'\]"),
    "another kind": (config(kind="rows"), r"has missing or unknown entries: grouping, imputation, "),
    "missing entry": (without("grouping"), r"has missing or unknown entries: grouping"),
    "unknown entry": (config(colour="red"), r"has missing or unknown entries: colour"),
    "truncated weights": (cut, r"weights\.npz' cannot be read: .*Train the model again"),
    "a flipped byte": (flip, r"weights\.npz' cannot be read: .*Train the model again"),
    "empty weights": (write("weights.npz", b""), r"weights\.npz' cannot be read: it is no zip archive"),
    "text as weights": (write("weights.npz", b"not weights"), r"weights\.npz' cannot be read: .*it is no zip archive"),
    "a pickle as weights": (write("weights.npz", pickle.dumps([1.0])), r"weights\.npz' cannot be read: .*Train"),
    "one array as weights": (bare_array, r"weights\.npz' cannot be read: .*Train the model again"),
    "a foreign member": (foreign_member, r"notes\.txt is no array"),
    "NaN": (array("weights/posterior.q_mu", lambda a: a * np.nan), r"q_mu holds values that are not finite"),
    "infinite": (array("domain/X", lambda a: a + np.inf), r"domain/X holds values that are not finite"),
    "single precision": (array("domain/X", np.float32), r"domain/X holds values that are not finite or not doubles"),
    "text array": (
        array("domain/X", lambda a: a.astype(str)),
        r"domain/X holds values that are not finite or not doubles",
    ),
    "missing weight": (no_array("weights/posterior.q_mu"), r"posterior\.q_mu differ"),
    "missing inducing points": (no_array("weights/posterior.Z"), r"is damaged: KeyError: 'weights/posterior\.Z'"),
    "unknown weight": (array("weights/odd", lambda a: np.ones(2)), r"odd differ"),
    "missing array": (no_array("domain/X"), r"missing or unknown arrays: domain/X\. Train it again"),
    "unknown array": (array("odd", lambda a: np.ones(2)), r"missing or unknown arrays: odd\. Train it again"),
    "shape of weights": (array("weights/posterior.q_mu", lambda a: a[:, 1:]), r"q_mu have shape \(3, 14\).*\(3, 15\)"),
    "shape of inducing points": (
        array("weights/posterior.Z", lambda a: a[..., 1:]),
        r"posterior\.Z has shape \(3, 15, 5\), expected \(3, any number, 6\)",
    ),
    "another number of classes": (
        array("weights/posterior.Z", lambda a: a[1:]),
        r"posterior\.Z has shape \(2, 15, 6\), expected \(3, any number, 6\)",
    ),
    "shape of means": (array("estimator/mean_", lambda a: a[1:]), r"mean_ has shape \(5,\), expected \(6,\)"),
    "shape of domain": (
        array("domain/covariance", lambda a: a[1:]),
        r"domain/covariance has shape \(5, 6\), expected \(6, 6\)",
    ),
    "no shape at all": (array("domain/X", lambda a: np.array(1.0)), r"domain/X has shape \(\), expected \(\d+, 6\)"),
    "no prior": (no_array("weights/input_prior.precision"), r"the weights lack p\(x\) of"),
    "shape of prior": (array("weights/input_prior.mean", lambda a: a[1:]), r"the weights lack p\(x\) of"),
    "negative precision": (array("weights/input_prior.precision", lambda a: -a), r"p\(x\) has a negative precision"),
    "temperature of zero": (array("weights/temperature", lambda a: 0 * a), r"temperature is 0\.0, not positive"),
    "scale of zero": (array("estimator/scale_", lambda a: 0 * a), r"estimator/scale_ is not positive everywhere"),
    "negative variance": (array("domain/covariance", lambda a: -a), r"domain/covariance is not positive definite"),
    "unsorted depths": (array("domain/depths", lambda a: a[::-1]), r"domain/depths is negative somewhere, or not sort"),
    "negative kernel variance": (
        array("weights/kernel.kernels[0].variance", lambda a: -a),
        r"a parameter has a value that it cannot take, such as a variance of 0 or below",
    ),
    "fewer features": (
        lambda folder: change_config(folder, lambda stored: stored["features"].pop()),
        r"it imputes ln_Flux1000, .*, but its features are ln_Flux1000, .*\. Train it again",
    ),
    "features in another order": (
        lambda folder: change_config(folder, lambda stored: stored["features"].reverse()),
        r"it imputes .*, but its features are",
    ),
    "classes of another model": (config(classes=["a", "b", "c"]), r"its classes are a, b, c, but 'bll,fsrq,psr' makes"),
    "classes exchanged": (config(classes=["fsrq", "bll", "psr"]), r"its classes are fsrq, bll, psr, but"),
    "no classes": (config(classes=None), r"is damaged: TypeError: .*Train it again"),
    "unknown grouping": (config(grouping="bll,blz,psr"), r"'blz' is not a class of the catalogue"),
    "another grouping": (config(grouping="bll,psr"), r"its classes are bll, fsrq, psr, but 'bll,psr' makes"),
    "imputation": (without("imputation", "ln_significance"), r"the stored imputation is damaged .*Train it again\.$"),
    "imputation of NaN": (
        lambda folder: change_config(folder, lambda stored: stored["imputation"]["features"][0].update(median=np.nan)),
        r"the stored imputation is damaged .*not finite",
    ),
    "missing parameter": (without("estimator", "inputs"), r"inputs"),
    "unknown parameter": (inside("estimator", colour="red"), r"is damaged: .*unknown: colour"),
    "unknown method": (inside("estimator", method="gp"), r"method='gp' is not valid"),
    "unknown precision": (inside("estimator", training={"precision": "float16"}), r"precision='float16'"),
    "another likelihood": (inside("estimator", likelihood="step"), r"not fit such a model: likelihood\.epsilon"),
    "odd selection": (inside("selection", norm=-1.0), r"is damaged: .*the selection prior are out of range"),
    "unknown selection": (inside("selection", colour=1.0), r"is damaged: TypeError: .*colour"),
    "text as selection": (inside("selection", slope="steep"), r"is damaged: ValueError: .*steep"),
    "no selection": (without("selection"), r"has missing or unknown entries: selection"),
    "no neighbours": (config(domain_neighbours=0), r"domain_neighbours is 0, expected a whole number from 1 to \d+"),
    "many neighbours": (config(domain_neighbours=10**6), r"domain_neighbours is 1000000, expected a whole number"),
    "half a neighbour": (config(domain_neighbours=2.5), r"domain_neighbours is 2\.5, expected a whole number"),
    "odd provenance": (inside("provenance", odd="1.0"), "odd"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_named(folder, damage):
    spoil, message = DAMAGE[damage]
    spoil(folder)
    with pytest.raises(ModelFolderError, match=message):
        load_model(folder)


def test_damage_anywhere_in_the_weights_is_found(folder):
    """A byte changed or an early end: refused with a ModelFolderError, or the arrays are what they were."""
    path = folder / "weights.npz"
    intact = path.read_bytes()
    _, arrays = check_model_folder(folder)
    rng = np.random.default_rng(0)
    refused = 0
    for k in range(300):
        data = bytearray(intact)
        if k % 3:
            data[rng.integers(len(data))] ^= int(rng.integers(1, 256))
        else:
            del data[rng.integers(len(data)) :]
        path.write_bytes(bytes(data))
        try:
            _, found = check_model_folder(folder)
        except ModelFolderError:
            refused += 1
        else:
            for name in found.keys() & arrays.keys():
                np.testing.assert_array_equal(found[name], arrays[name])
    assert refused > 200


class Trap:
    """Unpickled, it would leave a file behind."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("how", ["array", "file"])
def test_loading_runs_no_code(folder, tmp_path, how):
    sprung = tmp_path / "sprung"
    pickle.loads(pickle.dumps(Trap(sprung)))
    assert sprung.exists()  # the trap works
    sprung.unlink()
    if how == "array":
        change_arrays(folder, lambda arrays: arrays.update({"domain/X": np.array([Trap(sprung)], dtype=object)}))
    else:
        (folder / "weights.npz").write_bytes(pickle.dumps(Trap(sprung)))
    with pytest.raises(
        ModelFolderError, match=r"cannot be read: .*(Python objects|no zip archive).*Train the model again"
    ):
        load_model(folder)
    assert not sprung.exists()


def test_damage_is_found_without_tensorflow(folder):
    """What can be checked before the slow import is: `check_model_folder` needs files and JSON only."""
    settings, arrays = check_model_folder(folder)
    assert settings["format"] == "fermiclass model"
    assert arrays["weights/posterior.Z"].shape == (3, 15, 6)
    write("config.json", b"[]")(folder)
    with pytest.raises(ModelFolderError, match="does not describe a fermiclass model"):
        check_model_folder(folder)
