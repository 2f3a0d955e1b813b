import itertools

import numpy as np
import pytest

from fermiclass.catalog import CLASS_CODES, CLASS_TREE, TARGETS, ClassGrouping, default_classes, has_two_kinds
from fermiclass.errors import ClassError
from tests.conftest import make_up_catalog

CODES = np.array(["bll", "fsrq", "psr", "msp", "rdg", "bcu", "unk", ""])


@pytest.mark.parametrize(
    ("spec", "groups"),
    [
        ("bll,fsrq,psr", ["bll", "fsrq", "psr", "psr", "", "", "", ""]),
        ("bll,fsrq,psr,msp", ["bll", "fsrq", "psr", "msp", "", "", "", ""]),
        ("bll,fsrq,psr,msp,other", ["bll", "fsrq", "psr", "msp", "other", "", "", ""]),
        ("bll,fsrq,psr,other", ["bll", "fsrq", "psr", "psr", "other", "", "", ""]),
        ("bll,pulsar=psr,other", ["bll", "other", "pulsar", "pulsar", "other", "", "", ""]),
        ("x=other,y=psr+bll", ["y", "x", "y", "y", "x", "", "", ""]),
        ("other,bll", ["bll", "other", "other", "other", "other", "", "", ""]),
        ("blazar=bll+fsrq+bcu,psr", ["blazar", "blazar", "psr", "psr", "", "blazar", "", ""]),
        ("pulsar=psr,bll", ["bll", "", "pulsar", "pulsar", "", "", "", ""]),
        ("young=psr,old=msp+rdg", ["", "", "young", "old", "old", "", "", ""]),
        (" BLL , x = Fsrq + psr ", ["bll", "x", "x", "x", "", "", "", ""]),
    ],
)
def test_grammar(spec, groups):
    grouping = ClassGrouping.parse(spec)
    np.testing.assert_array_equal(grouping.assign(CODES), groups)
    assert ClassGrouping.parse(str(grouping)) == grouping
    assert list(grouping.members) == list(grouping.names)


PULSARS = ["psr", "msp"] * 5
DEFAULT_LABELS = {
    **{"bll": "bll", "fsrq": "fsrq", "psr": "psr", "msp": "msp", "pwn": "other", "gc": "other", "hmb": "other"},
    **{"bin": "msp|other", "lmb": "msp|other", "glc": "msp|other", "spp": "psr|other"},
    **{"rdg": "bll|fsrq", "agn": "bll|fsrq", "gal": "bll|fsrq", "bcu": "", "unk": "", "": "", "magnetar": "other"},
}


@pytest.mark.parametrize("pulsars", [PULSARS, PULSARS[:-1], ["psr"] * 50, []])
def test_the_default_has_a_place_for_every_source(pulsars):
    """Both kinds of pulsars are one class unless the catalogue has five of each."""
    grouping, two_kinds = ClassGrouping.parse(default_classes(pulsars)), pulsars is PULSARS
    assert has_two_kinds(pulsars) == two_kinds
    expected = list(DEFAULT_LABELS.values())
    if not two_kinds:
        expected = [label.replace("msp", "psr") for label in expected]
    assert grouping.names == (("bll", "fsrq", "psr", "msp", "other") if two_kinds else ("bll", "fsrq", "psr", "other"))
    assert grouping.tops == {"agn": ("bll", "fsrq")} | ({"pulsar": ("psr", "msp")} if two_kinds else {})
    np.testing.assert_array_equal(grouping.assign(list(DEFAULT_LABELS)), expected)
    placed = {code for code in CLASS_CODES if grouping.assign([code]) != [""]}
    assert placed == set(CLASS_CODES) - {"bcu", "unk"}
    assert set().union(*CLASS_TREE.values()) == set(CLASS_CODES) - {"unk"}


def test_labels_of_several_groups():
    grouping = ClassGrouping.parse("bll, fsrq, young=psr, old=msp, bll | fsrq = bcu+RDG, young|old = glc")
    assert grouping.names == ("bll", "fsrq", "young", "old")
    assert grouping.sets == {"bll|fsrq": ("bll", "fsrq"), "young|old": ("young", "old")}
    codes, labels = ["bcu", "rdg", "glc", "msp", "unk"], ["bll|fsrq", "bll|fsrq", "young|old", "old", ""]
    np.testing.assert_array_equal(grouping.assign(codes), labels)
    assert grouping.tops == {"agn": ("bll", "fsrq"), "pulsar": ("young", "old")}
    assert ClassGrouping.parse(str(grouping)) == grouping
    # What a set takes is no target, and is not in `other` either.
    assert not make_up_catalog(["bcu"]).is_target(grouping, "uncertain")[0]
    assert "rdg" not in ClassGrouping.parse("bll,fsrq,other,bll|fsrq=rdg").members["other"]


@pytest.mark.parametrize(
    ("spec", "tops"),
    [
        ("bll,fsrq,psr", {"agn": ("bll", "fsrq")}),
        ("agn=bll+fsrq,psr,other", {}),
        ("bll,psr", {}),
        ("agn=bll+rdg,fsrq,psr", {}),  # a top class that is a group is no sum
        ("bll,fsrq,rest=rdg+agn,psr,msp", {"agn": ("bll", "fsrq", "rest"), "pulsar": ("psr", "msp")}),
    ],
)
def test_top_classes_are_sums_of_several_groups(spec, tops):
    grouping = ClassGrouping.parse(spec)
    assert (grouping.tops, grouping.sets) == (tops, {})


@pytest.mark.parametrize("spec", ["bll,fsrq,pulsar=psr,other", "agn=bll+fsrq,compact=psr+hmb,other,agn|other=bcu"])
def test_order_and_names_of_groups_change_nothing(spec):
    codes, items = [*CLASS_CODES, "magnetar", ""], spec.split(",")
    expected = ClassGrouping.parse(spec).assign(codes)
    for order in itertools.permutations(items):
        np.testing.assert_array_equal(ClassGrouping.parse(",".join(order)).assign(codes), expected)
    renamed = ClassGrouping.parse(spec.replace("|other", "|rest").replace(",other", ",rest=other")).assign(codes)
    np.testing.assert_array_equal(np.char.replace(renamed, "rest", "other"), expected)


AGN, MAYBE_MSP = "rdg+agn+nlsy1+css+ssrq+sey+sbg+gal", "msp|other=bin+lmb+glc,psr|other=spp"


@pytest.mark.parametrize(
    ("spec", "whole"),
    [
        ("default", f"bll,fsrq,psr,msp,other,bll|fsrq={AGN},{MAYBE_MSP}"),
        (" Default, hsp:bll,lsp : BLL", f"hsp:bll,lsp : BLL,fsrq,psr,msp,other,hsp|lsp|fsrq={AGN},{MAYBE_MSP}"),
        ("hsp:bll,default,bll", f"hsp:bll,bll,fsrq,psr,msp,other,hsp|bll|fsrq={AGN},{MAYBE_MSP}"),
        (
            "default,msp,spider:msp",
            f"bll,fsrq,psr,msp,spider:msp,other,bll|fsrq={AGN},msp|spider|other=bin+lmb+glc,psr|other=spp",
        ),
        ("default,snr", f"bll,fsrq,psr,msp,other,bll|fsrq={AGN},{MAYBE_MSP},snr"),
        ("default,x=spp+rdg", f"bll,fsrq,psr,msp,other,bll|fsrq={AGN[4:]},msp|other=bin+lmb+glc,x=spp+rdg"),
        ("default,msp|psr=glc", f"bll,fsrq,psr,msp,other,bll|fsrq={AGN},msp|other=bin+lmb,psr|other=spp,msp|psr=glc"),
        ("bll,fsrq,psr", "bll,fsrq,psr"),
    ],
)
def test_items_are_added_to_the_default(spec, whole):
    assert make_up_catalog(PULSARS).grouping(spec) == ClassGrouping.parse(whole)


def test_what_the_default_lacks():
    with pytest.raises(ClassError, match="one kind of msp only"):
        make_up_catalog(PULSARS).grouping("default,spider:msp")
    with pytest.raises(ClassError, match="'bll' is no group among"):
        make_up_catalog(PULSARS).grouping("default,agn=bll+fsrq")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "malformed"),
        ("bll", "only one"),
        ("blazar=bll+fsrq", "only one"),
        ("bll,,psr", "malformed at ''"),
        (f"{'a' * 61}=bll,psr", "write names of up to 60 letters and digits"),
        ("é=bll,psr", "malformed at 'é=bll'"),
        ("bll,x=", "malformed"),
        ("bll,x=psr=msp", "."),
        ("bll,fsqr", "did you mean 'fsrq'"),
        ("bll,quark", "'quark' is not a class of the catalogue"),
        ("bll,psr,bll", "cannot name a group 'bll'"),
        ("x=bll,X=psr", "cannot name a group 'X'"),
        ("max=bll,psr", "'max' is reserved"),
        ("x=bll+psr,bll", "'bll' more than once"),
        ("other,x=bll+other,psr", "'other' more than once"),
        ("bll,psr,bll|fsrq=rdg", "'bll.fsrq'.* 'fsrq' is no group among bll, psr"),
        ("bll,fsrq,bll|fsrq", "malformed at 'bll.fsrq'"),
        ("bll,fsrq,bll|fsrq=", "malformed at 'bll.fsrq='"),
        ("bll,fsrq,bll|fsrq=bll", "'bll' more than once"),
        ("bll,fsrq,bll|fsrq=rdg,bll|fsrq=agn", "malformed at 'bll.fsrq=agn'"),
        ("bll,fsrq,bll|bll=rdg", "malformed at 'bll.bll=rdg'"),
    ],
)
def test_faults_are_named(spec, message):
    with pytest.raises(ClassError, match=message):
        ClassGrouping.parse(spec)


@pytest.mark.parametrize(
    ("spec", "targets", "expected"),
    [
        ("bll,fsrq,psr", "unassociated", [0, 0, 0, 0, 0, 0, 0, 1]),
        ("bll,fsrq,psr", "uncertain", [0, 0, 0, 0, 0, 1, 1, 1]),
        ("bll,fsrq,psr", "bcu", [0, 0, 0, 0, 0, 1, 0, 0]),
        ("bll,bcu", "bcu", [0, 0, 0, 0, 0, 0, 0, 0]),
        ("bll,bcu", "uncertain", [0, 0, 0, 0, 0, 0, 1, 1]),
        ("bll,other", "uncertain", [0, 0, 0, 0, 0, 1, 1, 1]),
        ("bll,psr", "all", [1, 1, 1, 1, 1, 1, 1, 1]),
    ],
)
def test_targets(spec, targets, expected):
    np.testing.assert_array_equal(
        make_up_catalog(CODES).is_target(ClassGrouping.parse(spec), targets), np.array(expected, bool)
    )


def test_unknown_targets():
    with pytest.raises(ClassError, match=f"targets='none' is unknown: choose one of {', '.join(TARGETS)}"):
        make_up_catalog(CODES).is_target(ClassGrouping.parse("bll,psr"), "none")


def test_every_class_of_every_release_has_a_meaning(slim_catalog):
    assert set(slim_catalog.classes) - {""} <= set(CLASS_CODES)
