"""The recipe: the same in a file and in memory; what is given replaces what it had; a file that is wrong says where."""

from dataclasses import replace

import gpflow
import numpy as np
import pytest
from astropy.table import Table

import fermiclass
from fermiclass import Recipe
from fermiclass.errors import ClassError, FermiclassError, RecipeError
from fermiclass.nimgp.names import METHODS, PER_SOURCE
from fermiclass.nimgp.settings import Settings
from tests.commands import refuses, run_well
from tests.conftest import slim_path
from tests.show.page.conftest import make_up_labels

GIVEN = {"unassociated": {"bll": 0.5, "fsrq": 0.3, "psr": 0.2}}


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(),
        Recipe.paper(),
        Recipe(features="six", classes="bll,fsrq,psr", min_significance=5.5, class_priors=GIVEN, evidence="none"),
        Recipe(targets="all").with_settings(
            random_state=None, kernel="se", inputs={"clip": None, "prior_variance": None}, hyper={"lengthscale": 2.0}
        ),
        Recipe().with_settings(label_sets={"x": ("bll", "psr")}, label_weights={"bll": 0.5}),
    ],
)
def test_a_file_gives_it_back(recipe):
    assert Recipe.from_toml(recipe.to_toml()) == recipe


def test_metadata_give_it_back():
    recipe = Recipe(
        features="PL_Index", classes="bll,fsrq,psr", min_significance=5.5, class_priors=GIVEN, evidence="none"
    )
    recipe = recipe.with_settings(method="mgp", steps=3, inputs={"clip": None})
    assert Recipe.from_meta(recipe.to_meta()) == recipe


def test_an_object_is_no_text():
    kernel = gpflow.kernels.RBF()
    kernel.K = lambda X, X2=None: X  # one's own
    with pytest.raises(RecipeError, match="the recipe cannot be written"):
        Recipe().with_settings(
            kernel=kernel, likelihood=type("Own", (), {"latent_dim": 2, "log_prob": None})()
        ).to_toml()


def test_what_is_absent_has_its_default():
    assert Recipe.from_toml("") == Recipe()
    assert Recipe.from_toml('features = "six"\n[settings]\nmethod = "nimgp"') == Recipe(features="six").with_settings(
        method="nimgp"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("features = [", "cannot be used"),
        ("x = " + "[" * 2000 + "]" * 2000, "cannot be used"),
        ('feature = "six"', "unknown entry 'feature', known are features, classes"),
        ("features = 6", "features=6 is not valid"),
        ('min_significance = "5"', "min_significance='5' is not valid"),
        ('evidence = "yes"', "evidence='yes' is not valid"),
        ('targets = "none"', "targets='none' is unknown: choose one of"),
        ("classes = 3", "classes=3 is not valid"),
        ("class_priors = 0.5", "class_priors=0.5 is not valid"),
        ("settings = 3", "cannot be used"),
        ("[settings]\nstep = 3", "unknown setting 'step', known are method"),
        ("[settings]\nsteps = 0", "steps=0 is not valid"),
        ("[settings.inputs]\nclips = 3", "clips"),
    ],
)
def test_a_wrong_file_says_where(text, message, tmp_path):
    with pytest.raises(RecipeError, match=message):
        Recipe.from_toml(text)
    (tmp_path / "recipe.toml").write_text(text)
    refuses(tmp_path, "'recipe.toml' cannot be used", "classify", "c.fits", "--config", "recipe.toml")


@pytest.mark.parametrize("arguments", [("--config", "none.toml"), ("--config", "here.toml", "--paper")])
def test_files_that_cannot_be_used(arguments, tmp_path):
    (tmp_path / "here.toml").write_text("")
    refuses(tmp_path, "cannot be", "train", "c.fits", "-o", "m", *arguments)


def test_what_is_given_replaces_what_it_had():
    recipe = Recipe.of(Recipe.paper(), settings=Settings(steps=7), features="six", classes=None)
    assert (recipe.features, recipe.classes, recipe.settings.steps) == ("six", "bll,fsrq,psr", 7)
    assert recipe.class_priors == "trained"
    assert (Recipe.paper().settings.epochs, Recipe.paper(steps=9).settings.epochs) == (750, None)
    with pytest.raises(ClassError, match="targets='some' is unknown"):
        Recipe.of(None, targets="some")


@pytest.mark.parametrize("name", ["train", "classify", "find_outliers", "take_census", "estimate"])
def test_a_word_that_is_no_field_of_a_recipe_is_refused(dr4, name):
    function, given = getattr(fermiclass, name), ["Redshift"] * (name == "estimate")
    with pytest.raises(RecipeError, match=r"'featurs', known are features, classes, .*with_settings"):
        function(dr4, *given, featurs="six")
    with pytest.raises(RecipeError, match=r"'six' is no recipe\. Write features='six' in full"):
        function(dr4, *given, "six")


@pytest.mark.parametrize("method", METHODS)
def test_another_method_has_minibatches_of_its_own(method):
    batch_size = Recipe().with_settings(method=method).settings.batch_size
    assert batch_size == (None if method in PER_SOURCE else 512)
    assert Recipe().with_settings(batch_size=64).with_settings(method=method).settings.batch_size == 64


def test_options_change_a_file_and_the_command_writes_what_it_used(few_file, tmp_path):
    (tmp_path / "one.toml").write_text(Recipe(features="six", classes="bll,fsrq,psr").with_settings(steps=3).to_toml())
    run_well(
        "train", few_file, "--config", "one.toml", "--features", "PL_Index", "--set", "num_inducing=5", "--seed", "4",
        "-o", "m", "--save-config", "other.toml", cwd=tmp_path,
    )  # fmt: skip
    found = Recipe.from_toml((tmp_path / "other.toml").read_text())
    expected = Recipe(features="PL_Index", classes="bll,fsrq,psr")
    assert found == expected.with_settings(steps=3, num_inducing=5, random_state=4)


def test_settings_that_exclude_each_other(tmp_path):
    (tmp_path / "one.toml").write_text('[settings]\nlikelihood = "step"')
    command = ("train", "c.fits", "-o", "m", "--config", "one.toml", "--set", "temperature=2")
    refuses(tmp_path, "temperature has no effect on the step likelihood", *command)


def test_what_a_file_leaves_out_of_a_group_of_settings_stays():
    partly = Recipe.from_toml("[settings.training]\ndecay = true\n")
    assert partly == Recipe()
    clipped = Recipe.from_toml("[settings.inputs]\nclip = 3.0\n").settings
    assert clipped.inputs == replace(Recipe().settings.inputs, clip=3.0)


@pytest.mark.parametrize(
    "given", [{"class_priors": "x"}, {"settings": {"steps": 3}}, {"features": 6}, {"evidence": "no"}]
)
def test_a_recipe_is_checked_when_it_is_made(given):
    with pytest.raises(FermiclassError, match=next(iter(given))):
        Recipe(**given)


@pytest.mark.parametrize("given", [{"label_weights": {"psrr": 2.0}}, {"label_sets": {"pulsar": ("psr", "mspp")}}])
def test_settings_of_classes_that_nobody_learns_are_refused(dr4, given):
    with pytest.raises(ClassError, match=next(iter(given))):
        Recipe(classes="bll,fsrq,psr").with_settings(**given).check(dr4)


def test_files_are_read(dr4, tmp_path):
    """Where a catalogue, a label table or a list is taken, its file is."""
    path = slim_path("4FGL-DR4")
    labels = make_up_labels(dr4[dr4.classes == ""][:40])
    fermiclass.write_table(labels, tmp_path / "labels.fits")
    fermiclass.write_table(Table({"name": dr4.names[:5], "XFLUX": np.arange(1.0, 6.0)}), tmp_path / "x.csv")
    assert Recipe().check(str(path)).catalog.origin == dr4.origin
    found, expected = (fermiclass.followup(each, by="entropy") for each in (tmp_path / "labels.fits", labels))
    assert found["Source_Name"].tolist() == expected["Source_Name"].tolist()
    assert list(fermiclass.join(path, tmp_path / "x.csv").column("XFLUX")[:5]) == [1.0, 2.0, 3.0, 4.0, 5.0]
    gone = fermiclass.compare(tmp_path / "labels.fits", [*labels["Source_Name"][:2], "Mkn 421"], catalog=path).rest
    assert gone["FATE"].tolist() == ["class"]
    assert fermiclass.evaluate(path, folds=2, methods="logistic", classes="bll,fsrq,psr").table.index[0] == "logistic"
    assert str(len(labels)) in fermiclass.report_page(str(tmp_path / "labels.fits"), catalog=path)


@pytest.mark.parametrize(
    "call",
    [
        lambda catalog: fermiclass.classify("4FGL.fits"),
        lambda catalog: fermiclass.classify(catalog, train_on="4FGL.fits"),
        lambda catalog: fermiclass.train("4FGL.fits"),
        lambda catalog: fermiclass.followup("labels.fits"),
        lambda catalog: fermiclass.join(catalog, "x.csv"),
        lambda catalog: fermiclass.join("4FGL.fits", catalog.table),
        lambda catalog: fermiclass.relabel(catalog, "x.csv"),
        lambda catalog: fermiclass.explain(catalog.table, catalog, 0),
        lambda catalog: fermiclass.report_page("labels.fits"),
        lambda catalog: fermiclass.estimate("4FGL.fits", "Redshift"),
        lambda catalog: fermiclass.find_outliers("4FGL.fits"),
        lambda catalog: fermiclass.take_census("4FGL.fits"),
        lambda catalog: fermiclass.learn_also("4FGL.fits", catalog.table),
    ],
)
def test_what_is_no_catalogue_and_no_table_has_one_message(dr4, call):
    with pytest.raises(FermiclassError, match=r"type|there is no file|it is a catalogue"):
        call(dr4)
