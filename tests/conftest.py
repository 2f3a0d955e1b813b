"""Where the real data are."""

import contextlib
import os
from importlib.util import find_spec
from pathlib import Path

# As the commands do: the same seed gives the same bytes, and small operations are faster on one thread.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# The same few examples in every run; ten minutes of others by `--hypothesis-profile=long`.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
settings.register_profile("few", UNHURRIED, max_examples=40, derandomize=True)
settings.register_profile("long", UNHURRIED, max_examples=5000)
settings.load_profile("few")

REPOSITORY = Path(__file__).parent.parent
RELEASES = ("3FGL", "4FGL-DR1", "4FGL-DR2", "4FGL-DR3", "4FGL-DR4")


def slim_path(release):
    """The slim catalogue of a release, part of the repository, or skip the test or the module: the sdist has none."""
    path = REPOSITORY / "catalogs" / f"{release}.fits.gz"
    return path if path.exists() else pytest.skip(f"needs catalogs/{path.name}", allow_module_level=True)


# It imports what the extra test-all brings; its tests have the marker notebooks.
collect_ignore = [] if find_spec("nbformat") and find_spec("jupytext") else ["documents/test_notebooks.py"]


@pytest.hookimpl(tryfirst=True)  # before the choice by markers
def pytest_collection_modifyitems(items):
    """Mark what needs a browser, and the room whose tests take long."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
        if item.path.is_relative_to(REPOSITORY / "tests" / "robustness"):
            item.add_marker("slow")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """As many processes as there are cores, but no more than four: each holds TensorFlow."""
    return min(os.cpu_count() or 1, 4)


@pytest.fixture(scope="session", autouse=True)
def no_writer_in_c():
    """astropy's writer of VOTables in C damages the memory of the process: astropy issue 20419."""
    from astropy.io.votable import tree

    tree._has_c_tabledata_writer = False


@pytest.fixture(scope="session")
def shared_data():
    """The folder with the larger data: FERMICLASS_DATA, or ../shared beside the repository."""
    folder = Path(os.environ.get("FERMICLASS_DATA", REPOSITORY.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"the larger data are not at hand: no folder {folder / 'data'} (set FERMICLASS_DATA)")
    return folder


@pytest.fixture(scope="session", params=RELEASES)
def slim_catalog(request):
    """Each release in turn."""
    from fermiclass import read_catalog

    return read_catalog(slim_path(request.param))


@pytest.fixture(scope="session")
def dr4():
    """The current release."""
    from fermiclass import read_catalog

    return read_catalog(slim_path("4FGL-DR4"))


@pytest.fixture(scope="session")
def few(dr4):
    """600 sources of all kinds, 242 of them with one of the three classes."""
    return dr4[::12]


@pytest.fixture(scope="session")
def few_file(tmp_path_factory):
    """The same as a file."""
    from astropy.io import fits

    path = tmp_path_factory.mktemp("few") / "4FGL-DR4.fits"
    with fits.open(slim_path("4FGL-DR4")) as hdus:
        rows = np.arange(len(hdus[1].data)) % 12 == 0
        fits.BinTableHDU(hdus[1].data[rows], hdus[1].header).writeto(path)
    return path


@pytest.fixture(scope="session")
def default_model(dr4):
    """A model of the default, of few steps."""
    from fermiclass import Recipe, train

    return train(dr4, Recipe().with_settings(steps=5, num_inducing=10))


@pytest.fixture(scope="session")
def model(few):
    """Of three classes and six features, hardly trained."""
    from fermiclass import train
    from fermiclass.catalog import THREE_CLASSES
    from fermiclass.nimgp.settings import Settings

    return train(few, settings=Settings(steps=40, num_inducing=15), features="six", classes=THREE_CLASSES)


def make_up_catalog(classes, release="4FGL-DR4", **columns):
    """Sources of these classes, called 4FGL 0 and so on if no column says otherwise."""
    from astropy.table import Table

    from fermiclass.catalog import RELEASES, Catalog

    names = {"Source_Name": [f"4FGL {k}" for k in range(len(classes))], "CLASS1": list(classes)}
    (known,) = (one for one in RELEASES if one.name == release)
    return Catalog(Table(names | columns), known, f"{release}.fits", "0" * 64)


@contextlib.contextmanager
def without_graphs():
    """To trace one costs more than to run it for a few steps or sources, which fill no large block."""
    import tensorflow as tf

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fermiclass.nimgp.prediction.predictor._POINTS_PER_BLOCK", 512)
        tf.config.run_functions_eagerly(True)
        yield
        tf.config.run_functions_eagerly(False)


@pytest.fixture
def eagerly():
    with without_graphs():
        yield


@pytest.fixture
def unchecked():
    """GPflow's checks of shapes cost more than what they check."""
    from check_shapes import disable_check_shapes

    with disable_check_shapes():
        yield
