"""What other programs say of our tables: fitsverify, and STILTS with the recipes of the documents."""

import re
import shlex
import shutil
import subprocess

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from astropy.table import Table

from fermiclass import extract_features, read_table, write_table
from tests.conftest import REPOSITORY, slim_path

FORMATS = {"fits": "", "fits.gz": "", "vot": "", "csv": " ifmt=csv", "ecsv": " ifmt=ecsv", "parquet": " ifmt=parquet"}
NO_READER = "No table handler available"


def tool(name):
    """The path of a program, or skip."""
    return shutil.which(name) or pytest.skip(f"{name} is not here: install the Debian package {name}")


def said(*command, cwd=None):
    """What a program prints, on both streams."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, cwd=cwd)
    return done.returncode, done.stdout + done.stderr


def follow(recipe, folder):
    tool("stilts")
    status, text = said(*shlex.split(recipe), cwd=folder)
    if NO_READER in text:
        pytest.skip("this STILTS does not read the format")
    assert status == 0, text


@pytest.fixture(scope="module")
def labels():
    return read_table(slim_path("4FGL-DR4-labels"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, labels, dr4):
    """The labels of DR4 in all formats, a feature table, and a list of candidates near every tenth source."""
    folder = tmp_path_factory.mktemp("tools")
    for ending in FORMATS:
        write_table(labels, folder / f"labels.{ending}")
    features = extract_features(dr4[:300]).to_table()
    for ending in ("fits", "vot"):
        write_table(features, folder / f"features.{ending}")
    some = labels[::10]
    ra, dec = np.asarray(some["RAJ2000"], float), np.asarray(some["DEJ2000"], float) + 0.05
    Table({"name": some["Source_Name"], "ra": ra, "dec": dec}).write(folder / "candidates.csv")
    return folder


@pytest.fixture(scope="module")
def recipes():
    """The commands of STILTS in docs/labels.md, by the file that they write."""
    text = (REPOSITORY / "docs" / "labels.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    (stilts .+)$", text, re.MULTILINE)
    return {re.search(r"out=(\S+)", command)[1]: command for command in commands}


@pytest.mark.parametrize("name", ["labels.fits", "features.fits", REPOSITORY / "catalogs" / "4FGL-DR4-labels.fits.gz"])
def test_fitsverify_finds_nothing(folder, name):
    status, text = said(tool("fitsverify"), folder / name)
    assert status == 0, text
    assert "**** Verification found 0 warning(s) and 0 error(s). ****" in text


@pytest.mark.parametrize("name", ["labels.vot", "features.vot"])
def test_votlint_finds_nothing(folder, name):
    assert said(tool("stilts"), "votlint", "ucd=true", "unit=true", folder / name) == (0, "")


@pytest.mark.parametrize("ending", FORMATS)
def test_the_recipe_that_selects(folder, recipes, labels, ending):
    """The same rows as with astropy, from every format that this STILTS reads."""
    command = recipes["pulsars.fits"].replace("in=labels.fits", f"in=labels.{ending}{FORMATS[ending]}")
    follow(command, folder)
    found = Table.read(folder / "pulsars.fits")
    undoubted = np.asarray(labels["LABEL_FLAGS"]) & 12 == 0
    expected = labels[(labels["STATUS"] == "unassociated") & (labels["Sum_P_pulsar"] > 0.5) & undoubted]
    assert len(expected) > 30
    assert [str(name) for name in found["Source_Name"]] == [str(name) for name in expected["Source_Name"]]
    np.testing.assert_allclose(found["Sum_P_pulsar"], expected["Sum_P_pulsar"], rtol=1e-12)
    np.testing.assert_allclose(found["Flux1000"], expected["Flux1000"], rtol=1e-6)  # text has as many digits


def test_the_recipe_that_matches_positions(folder, recipes, labels):
    follow(recipes["near.fits"], folder)
    found = Table.read(folder / "near.fits")
    candidates = Table.read(folder / "candidates.csv")
    at = SkyCoord(candidates["ra"], candidates["dec"], unit="deg")
    nearest, separation, _ = at.match_to_catalog_sky(SkyCoord(labels["RAJ2000"], labels["DEJ2000"], unit="deg"))
    near = separation <= 360 * u.arcsec
    expected = {
        (str(name), str(labels["Source_Name"][row]))
        for name, row in zip(candidates["name"][near], nearest[near], strict=True)
    }
    assert {(str(row["name"]), str(row["Source_Name"])) for row in found} == expected
    assert len(expected) > 400


def test_the_recipe_that_matches_names(folder, recipes, labels):
    follow(recipes["named.fits"], folder)
    assert set(Table.read(folder / "named.fits")["Source_Name"]) == set(labels["Source_Name"][::10])
