"""What the package promises as a whole: public names that resolve, and imports that stay light."""

import subprocess
import sys
import tomllib

import pytest

import fermiclass
from tests.conftest import slim_path
from tests.test_architecture import PACKAGE

HEAVY = ("tensorflow", "keras", "tensorflow_probability", "gpflow", "pandas", "sklearn", "pyarrow", "matplotlib")


def loaded_after(code, *arguments):
    """Which heavy packages a fresh interpreter has imported after running `code`."""
    report = f"\nimport sys\nprint([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code + report, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


def test_every_file_of_the_package_is_shipped():
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["fermiclass"]
    shipped = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    files = {path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {path for path in files if path.suffix != ".py"} <= shipped


def test_public_names_resolve():
    assert len(set(fermiclass.__all__)) == len(fermiclass.__all__)
    for name in fermiclass.__all__:
        assert getattr(fermiclass, name) is not None, name
    assert set(fermiclass.__all__) <= set(dir(fermiclass))


def test_the_first_fit_is_quiet():
    code = """if True:
    import numpy as np, fermiclass as fc
    fc.NIMGPClassifier(steps=2, num_inducing=2).fit(np.eye(8), np.arange(8) % 2)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="attribute clasify"):
        fermiclass.clasify  # noqa: B018
    assert not hasattr(fermiclass, "_no_such_name")


def test_imports_are_light():
    code = """
import fermiclass.cli.app, fermiclass.nimgp.domain, fermiclass.plots
import fermiclass.labelling.catalog_model, fermiclass.labelling.training, fermiclass.labelling.associations
import fermiclass.saved, fermiclass.labelling.recipe, fermiclass.labelling.labels, fermiclass.labelling.class_priors
import fermiclass as fc
fc.Catalog, fc.FermiclassError, fc.classify, fc.train, fc.load_model, fc.write_table
fc.explain, fc.retrain, fc.followup, fc.Explanation"""
    assert loaded_after(code) == "[]"


def test_expectation_propagation_does_without_tensorflow():
    modules = [f"fermiclass.nimgp.ep.{path.stem}" for path in (PACKAGE / "nimgp" / "ep").glob("*.py")]
    assert "tensorflow" not in loaded_after(f"import {', '.join(modules)}")


def test_commands_start_tensorflow_without_keras():
    code = """if True:
    import sys
    from fermiclass.show.terminal import load_tensorflow
    load_tensorflow(quiet=True)
    assert not {"keras", "matplotlib", "sklearn"} & set(sys.modules)
    import tensorflow as tf  # whoever wants Keras has it
    import keras.src.optimizers
    tf.optimizers.Adam()"""
    assert "keras" in loaded_after(code)


def test_reading_and_features_are_light():
    code = """
import sys
import fermiclass as fc
catalog = fc.read_catalog(sys.argv[1])
data = fc.extract_features(catalog)
assert data.X.shape == (7195, 20), data.X.shape
data.to_table()
"""
    assert loaded_after(code, str(slim_path("4FGL-DR4"))) == "[]"


def test_too_small_a_class_is_refused_before_tensorflow_is_imported():
    code = """
import sys
import fermiclass as fc
try:
    fc.classify(fc.read_catalog(sys.argv[1]), classes="bll,gc")
except fc.FermiclassError as error:
    assert "sources of class 'gc'" in str(error), error
else:
    raise SystemExit("not refused")
"""
    assert loaded_after(code, str(slim_path("4FGL-DR4"))) == "[]"
