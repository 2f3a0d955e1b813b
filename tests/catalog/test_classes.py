import numpy as np
import pytest

from fermiclass.catalog import CLASS_CODES, TARGETS, ClassGrouping
from fermiclass.errors import ClassError

CODES = np.array(["bll", "fsrq", "psr", "msp", "rdg", "bcu", "unk", ""])


@pytest.mark.parametrize(
    ("spec", "groups"),
    [
        ("bll,fsrq,psr", ["bll", "fsrq", "psr", "psr", "", "", "", ""]),
        ("bll,fsrq,psr,msp", ["bll", "fsrq", "psr", "msp", "", "", "", ""]),
        ("bll,fsrq,psr,msp,other", ["bll", "fsrq", "psr", "msp", "other", "", "", ""]),
        ("bll,fsrq,psr,other", ["bll", "fsrq", "psr", "psr", "other", "", "", ""]),
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
    again = ClassGrouping.parse(str(grouping))
    assert (again.names, dict(again.members)) == (grouping.names, dict(grouping.members))
    assert list(grouping.members) == list(grouping.names)


def test_a_grouping_is_itself():
    grouping = ClassGrouping.parse("bll,fsrq")
    assert ClassGrouping.parse(grouping) is grouping


def test_no_class_is_in_two_groups():
    members = ClassGrouping.parse("agn=bll+fsrq,psr,other").members
    listed = [code for codes in members.values() for code in codes]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(CLASS_CODES) - {"bcu", "unk"}


def test_other_takes_a_class_that_nobody_described():
    assert ClassGrouping.parse("bll,psr,other").assign(["magnetar"]) == ["other"]
    assert ClassGrouping.parse("bll,psr").assign(["magnetar"]) == [""]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "malformed"),
        ("bll", "only one"),
        ("blazar=bll+fsrq", "only one"),
        ("bll,,psr", "malformed at ''"),
        ("bll,x=", "malformed"),
        ("bll,=psr", "malformed"),
        ("bll,x=psr+", "malformed"),
        ("bll;psr", "malformed"),
        ("bll,x=psr=msp", "."),
        ("bll,fsqr", "did you mean 'fsrq'"),
        ("bll,quark", "'quark' is not a class of the catalogue"),
        ("bll,psr,bll", "cannot name a group 'bll'"),
        ("x=bll,X=psr", "cannot name a group 'X'"),
        ("max=bll,psr", "none 'max'"),
        ("x=bll+psr,bll", "'bll' more than once"),
        ("x=bll+bll,psr", "'bll' more than once"),
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
        ("bll,bcu", "uncertain", [0, 0, 0, 0, 0, 0, 1, 1]),
        ("bll,other", "uncertain", [0, 0, 0, 0, 0, 1, 1, 1]),
        ("bll,psr", "all", [1, 1, 1, 1, 1, 1, 1, 1]),
    ],
)
def test_targets(spec, targets, expected):
    np.testing.assert_array_equal(ClassGrouping.parse(spec).is_target(CODES, targets), np.array(expected, bool))


def test_unknown_targets():
    with pytest.raises(ClassError, match=f"targets='none' is unknown: choose one of {', '.join(TARGETS)}"):
        ClassGrouping.parse("bll,psr").is_target(CODES, "none")


def test_every_class_of_every_release_has_a_meaning(slim_catalog):
    assert set(slim_catalog.classes) - {""} <= set(CLASS_CODES)
