"""Every way to make labels × every way to use them × what a user brings in: the same answer, or one clear error."""

import json
import re

import numpy as np
import pytest
from astropy.table import Table

import fermiclass as fc
from fermiclass.catalog import CatalogWarning
from fermiclass.errors import CatalogError, ModelFolderError
from fermiclass.nimgp.settings import Settings
from tests.commands import refuses, run_well
from tests.conftest import without_graphs

CLASSES = ("bll", "fsrq", "psr")
SETTINGS = {"steps": 8, "num_inducing": 8}
QUICK = ("--steps", "8", "--set", "num_inducing=8", "--classes", ",".join(CLASSES))
CATALOG, OWN = "4FGL-DR4.fits", "mine.csv"
COLUMNS = {"PL_Index": "foo", "Unc_PL_Index": "foo_err"}
JOIN, LABELS, ALSO = ("--join", "x.csv"), ("--labels", "own.csv"), ("--also", "more.csv")

#: What is brought in, by the options that do it; and whether sources of one's own are labelled.
WAYS = {
    "nothing": ((), False),
    "both": ((*JOIN, *LABELS), False),
    "also": (ALSO, False),
    "own": (("--columns", "PL_Index=foo,Unc_PL_Index=foo_err"), True),
    "own with labels": (LABELS, True),
}
FILES = ("command.fits", "folder.fits", "python.fits", "config.fits")


class Door:
    """A folder with the files of one way, and the same catalogues in Python."""

    def __init__(self, folder, way, few_file):
        self.folder = folder
        self.options, self.is_own = WAYS[way]
        self.features = "PL_Index,ln_Flux1000" + (",ln_XFLUX" if JOIN[0] in self.options else "")
        self.labelled = OWN if self.is_own else CATALOG
        self.train_on = ("--train-on", CATALOG) if self.is_own else ()
        (folder / CATALOG).write_bytes(few_file.read_bytes())
        self.plain = fc.read_catalog(folder / CATALOG)
        self._write_tables()
        self.training = self.plain
        if JOIN[0] in self.options:
            self.training = fc.join(self.training, fc.read_table(folder / "x.csv"), "x.csv")
        if LABELS[0] in self.options:
            self.training = fc.relabel(self.training, fc.read_table(folder / "own.csv"), "own.csv")
        if ALSO[0] in self.options:
            self.training = fc.learn_also(self.training, folder / "more.csv")
        columns = COLUMNS if "--columns" in self.options else None
        self.sources = fc.read_sources(folder / OWN, columns) if self.is_own else self.training

    def _write_tables(self):
        table, classes = self.plain.table, self.plain.classes
        flux = np.random.default_rng(1).lognormal(size=len(table))
        Table({"Source_Name": table["Source_Name"], "XFLUX": flux, "Unc_XFLUX": 0.1 * flux}).write(
            self.folder / "x.csv"
        )
        relabelled = table["Source_Name"][classes == "bll"][:40]
        Table({"Source_Name": relabelled, "label": ["fsrq"] * 40}).write(self.folder / "own.csv")
        more = {"class": "subhalo", "Flux1000": 2e-10, "Flux1000_err": 2e-11, "PL_Index": 1.3, "PL_Index_err": 0.1}
        Table([more] * 20).write(self.folder / "more.csv")
        bare = table[classes == ""][:15]
        index = ("foo", "foo_err") if "--columns" in self.options else ("PL_Index", "PL_Index_err")
        names = {"name": "Source_Name", "ra": "RAJ2000", "dec": "DEJ2000", "Flux1000": "Flux1000"}
        names |= {"Flux1000_err": "Unc_Flux1000", index[0]: "PL_Index", index[1]: "Unc_PL_Index"}
        Table({name: np.asarray(bare[column]) for name, column in names.items()}).write(self.folder / OWN)

    def options_but(self, *without):
        """The options that are left without some."""
        pairs = zip(self.options[::2], self.options[1::2], strict=True)
        return tuple(word for pair in pairs if pair[0] not in without for word in pair)

    def run(self, *arguments):
        return run_well(*arguments, cwd=self.folder)

    def make(self):
        """Make labels at every door."""
        learned = (*QUICK, "--features", self.features)
        self.run("classify", self.labelled, *self.train_on, *self.options, *learned, "-o", "command.fits")
        self.run("train", CATALOG, *self.options_but("--columns"), *learned, "-o", "folder")
        self.run(
            "classify", self.labelled, *self.options_but("--labels", "--also"), "--model", "folder", "-o", "folder.fits"
        )
        recipe = fc.Recipe(features=self.features, classes=",".join(CLASSES)).with_settings(**SETTINGS)
        labels = fc.classify(self.sources, recipe=recipe, train_on=self.training if self.is_own else None)
        fc.write_table(labels, self.folder / "python.fits")
        (self.folder / "recipe.toml").write_text(self.run("info", "command.fits", "--recipe"))
        again = ("--config", "recipe.toml", "-o", "config.fits")
        self.run("classify", self.labelled, *self.train_on, *self.options, *again)
        self.model = fc.load_model(self.folder / "folder")
        tables = {file: fc.read_table(self.folder / file) for file in FILES}
        retrained = fc.retrain(tables["command.fits"], self.training)
        return tables | {"loaded": self.model.label(self.sources), "retrained": retrained.label(self.sources)}


@pytest.fixture(scope="module", params=WAYS)
def door(request, few_file, tmp_path_factory):
    with without_graphs():
        made = Door(tmp_path_factory.mktemp("door"), request.param, few_file)
        made.tables = made.make()
        made.P = probabilities(made.tables["command.fits"])
        yield made


def probabilities(table):
    return np.stack([np.asarray(table[f"P_{name}"], float) for name in CLASSES], axis=1)


def printed_probabilities(printed):
    return [float(re.search(rf"^ {name} +(\d\.\d{{3}}) ", printed, re.MULTILINE)[1]) for name in CLASSES]


def test_all_doors_give_the_same_labels(door):
    for name, table in door.tables.items():
        np.testing.assert_allclose(probabilities(table), door.P[: len(table)], atol=1e-4, err_msg=name)
        for key in ("trainbro", "counts", "features", "classes", "options"):
            assert str(table.meta.get(key)) == str(door.tables["command.fits"].meta.get(key)), (name, key)


def test_what_was_brought_in_is_written(door):
    for name, table in door.tables.items():
        kinds = {each["kind"] for key in ("brought", "trainbro") for each in json.loads(table.meta.get(key, "[]"))}
        assert kinds == {option.removeprefix("--") for option in door.options[::2]}, name


@pytest.mark.parametrize("file", [*FILES, "folder"])
def test_explain(door, file):
    name = str(door.tables["command.fits"]["Source_Name"][3])
    printed = door.run("explain", file, name, *door.options, "--catalog", door.labelled, *door.train_on)
    np.testing.assert_allclose(printed_probabilities(printed), door.P[3], atol=1e-3)


def test_explain_in_python(door):
    name = str(door.tables["command.fits"]["Source_Name"][3])
    explained = fc.explain(door.model, door.sources, name, train_on=door.training)
    np.testing.assert_allclose(explained.probabilities[: len(CLASSES)], door.P[3], atol=1e-4)


def test_without_what_was_brought_in_there_is_one_error(door):
    needed = door.options_but("--columns")  # the labels have the names of columns
    if not needed:
        return
    words = re.escape(" ".join(needed[:2]))
    name = str(door.tables["command.fits"]["Source_Name"][3])
    for file in (*FILES, "folder"):
        where = ("--catalog", door.labelled, "--train-on", CATALOG)
        refuses(door.folder, words, "explain", file, name, *where)
    with pytest.raises(CatalogError, match=words):
        fc.retrain(door.tables["python.fits"], door.plain)
    with pytest.raises(CatalogError, match=words):
        fc.explain(door.model, door.sources, name, train_on=door.plain)


def test_a_page_has_the_features_that_were_learned(door):
    for file in ("command.fits", "python.fits"):
        door.run("report", file, "--catalog", door.labelled, *door.options, "-o", "page.html")
        page = (door.folder / "page.html").read_text()
        assert all(f'"{feature}"' in page for feature in door.features.split(","))
    if "--join" in door.options:
        refuses(door.folder, "--join x.csv", "report", "python.fits", "--catalog", door.labelled, "-o", "other.html")


def test_other_uses(door):
    """They take the table as it is: what it was made from is of no matter."""
    best = [str(name) for name in fc.followup(door.tables["command.fits"], top=5)["Source_Name"]]
    for file in FILES[::3]:
        assert [str(name) for name in fc.followup(fc.read_table(door.folder / file), top=5)["Source_Name"]] == best
        door.run("compare", file, "command.fits", "--class-column", "PRED_CLASS", "-o", "compared.fits")
        compared = fc.read_table(door.folder / "compared.fits")
        np.testing.assert_array_equal(compared["OTHER_CLASS"], compared["PRED_CLASS"])
        (door.folder / "compared.fits").unlink()
    door.run("followup", "command.fits", "--top", "2", "--catalog", door.labelled, "--charts", "charts.png")


def test_outliers_features_and_the_census(door):
    """The census counts what classify sums."""
    if JOIN[0] not in door.options:
        return
    learned = ("--features", door.features, *QUICK, "--folds", "2")
    door.run("outliers", CATALOG, *door.options, *learned, "-o", "outliers.fits")
    from fermiclass.analysis.outliers import default_recipe

    recipe = default_recipe(**SETTINGS)
    found = fc.find_outliers(door.training, recipe=recipe, features=door.features, classes=",".join(CLASSES), folds=2)
    written = fc.read_table(door.folder / "outliers.fits")
    np.testing.assert_array_equal(written["Source_Name"], found["Source_Name"])
    np.testing.assert_allclose(written["P_WRONG"], found["P_WRONG"], atol=1e-4)
    door.run("features", CATALOG, *door.options, "--features", door.features, "-o", "features.fits")
    features = fc.read_table(door.folder / "features.fits")
    assert set(door.features.split(",")) <= {*features.colnames}
    assert np.sum(features["CLASS"] != door.plain.grouping(None).assign(door.plain.classes)) >= 40
    recipe = fc.Recipe(features=door.features, classes=",".join(CLASSES)).with_settings(**SETTINGS)
    by_recipe = fc.take_census(door.training, recipe=recipe, num_draws=3)
    words = {"settings": recipe.settings, "features": door.features, "classes": recipe.classes}
    by_words = fc.take_census(door.training, **words, num_draws=3)
    np.testing.assert_array_equal(by_recipe.draws, by_words.draws)


# --- labels that nothing can make again ------------------------------------------------------------------------------


@pytest.mark.usefixtures("eagerly")
def test_chosen_rows_are_another_catalogue(dr4, few):
    labels = fc.classify(few, settings=Settings(**SETTINGS), features="PL_Index", classes="bll,fsrq,psr")
    with pytest.raises(CatalogError, match="600 of 7195 rows, as chosen in Python"):
        fc.retrain(labels, dr4)
    again = fc.retrain(labels, dr4[::12])
    np.testing.assert_allclose(probabilities(again.label(few)), probabilities(labels), atol=1e-4)


@pytest.mark.usefixtures("eagerly")
def test_labels_with_another_content_are_refused(few):
    table = Table({"Source_Name": few.names[few.classes == "bll"][:20], "label": ["fsrq"] * 20})
    labels = fc.classify(
        fc.relabel(few, table, "own.csv"), settings=Settings(**SETTINGS), features="PL_Index", classes="bll,fsrq,psr"
    )
    with pytest.raises(CatalogError, match=r"own\.csv has changed"):
        fc.retrain(labels, fc.relabel(few, table[:10], "own.csv"))


def test_own_labels_are_shown_as_learned(door):
    if LABELS[0] not in door.options or door.is_own:
        return
    name = fc.read_table(door.folder / "own.csv")["Source_Name"][0]
    assert fc.explain(door.model, door.training, name).known == "fsrq"


def test_a_folder_of_two_models_is_refused(door, tmp_path):
    fc.save_model(door.model, tmp_path / "one")
    fc.save_model(
        fc.train(door.plain, settings=Settings(**SETTINGS), features="PL_Index", classes="bll,psr"), tmp_path / "two"
    )
    (tmp_path / "one" / "weights.npz").write_bytes((tmp_path / "two" / "weights.npz").read_bytes())
    with pytest.raises(ModelFolderError, match="are of different models"):
        fc.load_model(tmp_path / "one")


def test_the_order_of_joined_tables_counts(few):
    """A value that two tables have is that of the first."""
    tables = [Table({"Source_Name": few.names, "XFLUX": np.full(len(few), value)}) for value in (1.0, 2.0)]
    one, other = (fc.join(few, tables[k], f"{k}.csv").origin for k in (0, 1))
    with pytest.warns(CatalogWarning, match=f"whose values stay: {len(few)} of XFLUX"):
        both = [
            fc.join(fc.join(few, tables[k], f"{k}.csv"), tables[1 - k], f"{1 - k}.csv", needed=False) for k in (0, 1)
        ]
    both[0].origin.check(both[0].origin, "it")
    with pytest.raises(CatalogError, match=r"--join 0\.csv --join 1\.csv, in this order"):
        both[0].origin.check(both[1].origin, "it")
    with pytest.raises(CatalogError, match=r"without --join 1\.csv"):
        one.check(both[0].origin, "it")
    with pytest.raises(CatalogError, match=r"and --join 1\.csv: give the same"):
        other.check(few.origin, "it")
