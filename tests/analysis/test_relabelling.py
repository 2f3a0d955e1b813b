"""Labels of one's own: kinds of a class, sets, weights, and what they change."""

import numpy as np
import pytest
from astropy.table import Table

from fermiclass import ClassGrouping, extract_features, relabel, train
from fermiclass.errors import CatalogError, ClassError
from fermiclass.labelling.catalog_model import targets_of
from fermiclass.labelling.recipe import Recipe
from fermiclass.labelling.training import estimator_of
from fermiclass.nimgp.settings import Settings

KINDS = "hsp:bll,lsp:bll,fsrq,psr,msp,other"


@pytest.fixture(scope="module")
def few(dr4):
    return dr4[::4]


@pytest.fixture(scope="module")
def sed(few):
    """Made up: BL Lacs with a hard spectrum are high-peaked; half of them are known."""
    bll = np.flatnonzero(few.classes == "bll")[::2]
    hard = np.asarray(few.table["PL_Index"])[bll] < 2.0
    return Table({"Source_Name": few.names[bll], "label": np.where(hard, "hsp", "lsp")})


def test_kinds_of_a_class():
    grouping = ClassGrouping.parse(KINDS)
    assert grouping.names == ("hsp", "lsp", "fsrq", "psr", "msp", "other")
    assert grouping.assign(["bll", "fsrq", "snr", "rdg", ""]).tolist() == ["hsp|lsp", "fsrq", "other", "other", ""]
    assert ClassGrouping.parse(str(grouping)) == grouping
    assert set(grouping.tops["agn"]) == {"hsp", "lsp", "fsrq"}
    spiders = ClassGrouping.parse("bll,fsrq,psr,msp,spider:msp,other")
    assert spiders.assign(["msp", "psr"]).tolist() == ["msp|spider", "psr"]
    assert (spiders.label_of("MSP"), spiders.label_of("spider")) == ("msp", "spider")
    assert spiders.label_of("psr|bll") == "bll|psr"
    both = ClassGrouping.parse("agn,psr,young:psr,other")  # a pulsar of any kind, where none is named
    assert both.assign(["msp", "psr"]).tolist() == ["psr|young", "psr|young"]


@pytest.mark.parametrize("spec", ["hsp:bll,fsrq,psr", "hsp:blazar,lsp:blazar,psr", "hsp:bll,hsp:bll,psr"])
def test_kinds_that_cannot_be(spec):
    with pytest.raises(ClassError):
        ClassGrouping.parse(spec)


def test_labels_replace_and_add_classes(few):
    bll, none = few.names[few.classes == "bll"][:2], few.names[few.classes == ""][:2]
    names = [*bll, *none]
    table = Table({"name": names, "class": ["fsrq", "bll|fsrq", "PSR", "msp"], "weight": [1.0, 1.0, 1.0, 0.25]})
    made = relabel(few, table)
    features = extract_features(made, "six")
    found = dict(zip(few.names, zip(features.y, features.weight, strict=True), strict=True))
    assert [found[name] for name in names] == [("fsrq", 1), ("bll|fsrq", 1), ("psr", 1), ("msp", 0.25)]
    others = ~np.isin(few.names, names)
    np.testing.assert_array_equal(features.y[others], extract_features(few, "six").y[others])
    rows = Recipe(features="six").check(made).rows
    assert rows.weight[rows.names == none[1]] == 0.25
    estimator = estimator_of(Recipe(), rows)
    assert estimator.label_sets["bll|fsrq"] == ("bll", "fsrq")
    assert not np.any(np.isin(few.names[targets_of(made, made.grouping(None), "unassociated")], names))


def test_a_kind_is_learned(few, sed):
    made = relabel(few, sed)
    model = train(made, settings=Settings(method="nimgp-fo", steps=200, num_inducing=25), features="six", classes=KINDS)
    assert model.provenance.training_counts["hsp"] + model.provenance.training_counts["lsp"] == len(sed)
    plain = few.labels(ClassGrouping.parse("bll,fsrq,psr,msp,other"))
    shares = dict(zip(model.classes, model.training_shares, strict=True))  # with those of an unknown kind
    odds = np.sum(plain == "bll") / np.sum(plain == "fsrq")
    assert (shares["hsp"] + shares["lsp"]) / shares["fsrq"] == pytest.approx(odds)
    of_words = []
    for word, count in model.provenance.training_counts.items():
        label, _, weight = word.partition("@")
        inside = {name: shares[name] * (name in label.split("|")) for name in shares}
        of_words.append([count * float(weight or 1) * part / sum(inside.values()) for part in inside.values()])
    total = np.sum(of_words, axis=0)
    np.testing.assert_allclose(total / total.sum(), model.training_shares, rtol=1e-9)
    rest = few[(few.classes == "bll") & ~np.isin(few.names, sed["Source_Name"])]
    P = model.label(rest, "all")
    hard = np.asarray(rest.table["PL_Index"]) < 2.0
    assert np.mean((np.asarray(P["P_hsp"]) > np.asarray(P["P_lsp"])) == hard) > 0.85


def test_shares_are_of_weights(few):
    """Half the weight of all pulsars counts as half as many, however the weights are written."""
    settings = Settings(method="mgp", steps=1, num_inducing=5, label_noise=0)
    pulsars = few.names[few.classes == "psr"]
    half = relabel(few, Table({"name": pulsars, "class": ["psr"] * len(pulsars), "weight": [0.5] * len(pulsars)}))
    recipe = Recipe(settings=settings, features="six", classes="bll,fsrq,psr,msp,other")
    one, other = (train(each, recipe) for each in (few, half))
    expected = one.training_shares * np.where(np.array(one.classes) == "psr", 0.5, 1.0)
    np.testing.assert_allclose(other.training_shares, expected / expected.sum())


def test_a_label_that_is_repeated_counts_once(few):
    one, two, three = few.names[few.classes == ""][:3]
    table = Table({"name": [one, one.lower(), two, two, three], "class": ["psr", "psr", "psr", "bll", "bll"]})
    made = relabel(few, table)
    found = dict(zip(made.names, made.own_labels, strict=True))
    assert (found[one], found[two], found[three]) == ("psr", "", "bll")
    assert "2 rows match sources" in made.notes[-3]
    assert "2 rows match several sources, or share one" in made.notes[-2]
    weighed = relabel(few, Table({"name": [one, one], "class": ["psr", "psr"], "weight": [1.0, 0.5]}), needed=False)
    assert not np.any(weighed.own_labels == "psr")


@pytest.mark.parametrize(
    ("columns", "error", "word"),
    [
        *(({"label": ["bll"], "weight": [weight]}, CatalogError, "weight") for weight in (2.0, "high", [1.0, 0.5])),
        ({"colour": ["bll"]}, CatalogError, "no column of labels"),
        ({"label": ["quasar"]}, ClassError, "quasar"),
    ],
)
def test_what_cannot_be_a_label(few, columns, error, word):
    with pytest.raises(error, match=word):
        extract_features(relabel(few, Table({"name": few.names[:1], **columns})), "six")


def test_an_empty_word_is_no_label(few):
    """It is counted as none, and its source stays as it was."""
    table = Table({"name": few.names[:4], "label": ["psr", "", "nan", "NULL"]})
    made = relabel(few, table)
    assert made.notes[-1].endswith("(none) 3, psr 1")
    grouping = few.grouping("default")
    assert made.labels(grouping)[1:].tolist() == few.labels(grouping)[1:].tolist()
