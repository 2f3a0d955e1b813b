"""Class priors: how they are written into a label table and read from it, and what they do to probabilities."""

import numpy as np
import pytest
from astropy.table import Table

from fermiclass.catalog import DEFAULT_CLASSES, RELEASES, THREE_CLASSES, Catalog, ClassGrouping
from fermiclass.errors import ClassError
from fermiclass.labelling.class_priors import SHARES, SHARES_KEYS, ClassPriors, default_shares, stated_priors
from fermiclass.labelling.label_shift import estimate_shares
from fermiclass.labelling.retraining import stored_shares
from fermiclass.labelling.selection import SelectionPrior

CLASSES = ["bll", "fsrq", "psr"]
PI = np.array([0.5, 0.3, 0.2])
GIVEN = {"unassociated": {"bll": 0.25, "fsrq": 0.125, "psr": 0.625}, "bcu": {"bll": 0.5, "fsrq": 0.4, "psr": 0.1}}

#: What the version before wrote into its labels of 4FGL-DR4.
OLD_TABLE = {
    "shares": "estimated",
    "w_unass": "bll=0.291+-0.012,fsrq=0.150+-0.012,psr=0.559+-0.013",
    "w_bcu": "bll=0.529+-0.017,fsrq=0.435+-0.017,psr=0.036+-0.007",
    "w_unk": "bll=0.419+-0.046,fsrq=0.032+-0.018,psr=0.549+-0.046",
}


def estimated():
    return estimate_shares(np.random.default_rng(0).dirichlet(np.ones(3), 300), PI)


def sources(classes):
    table = Table({"Source_Name": [f"4FGL {k}" for k in range(len(classes))], "CLASS1": list(classes)})
    table["Signif_Avg"], table["GLAT"] = np.full(len(classes), 5.0), np.full(len(classes), 2.0)
    return Catalog(table, RELEASES[3], "made up", "0" * 64)


def test_given_priors_come_back():
    meta = ClassPriors("given", GIVEN).to_meta(CLASSES)
    assert meta["shares"] == "given"
    assert "w_note" not in meta  # they have no errors
    found = {group: {name: float(p) for name, p in priors.items()} for group, priors in stated_priors(meta).items()}
    assert found == GIVEN == stored_shares(meta)


@pytest.mark.parametrize(
    ("way", "groups"), [("estimated", ("unassociated", "bcu")), ("latitude", tuple(SHARES_KEYS)[1:])]
)
def test_estimated_priors_are_stated_with_their_errors(way, groups):
    shares = estimated()
    meta = ClassPriors(way, dict.fromkeys(groups, shares)).to_meta(CLASSES)
    assert meta["shares"] == way == stored_shares(meta)
    assert "too small" in meta["w_note"]
    stated = stated_priors(meta)
    assert set(stated) == set(groups)
    for priors in stated.values():
        for name, text in priors.items():
            mean, _, std = text.partition("+-")
            c = CLASSES.index(name)
            assert (float(mean), float(std)) == pytest.approx((shares.mean[c], shares.std[c]), abs=5e-4)


def test_priors_of_the_selection_are_stated():
    prior = SelectionPrior(-0.75, 1.5, -0.5, 1.25)
    meta = ClassPriors("selection", selection=prior).to_meta(CLASSES)
    assert meta == {"shares": "selection", "w_select": "slope=-0.75,intercept=1.5,gradient=-0.5,norm=1.25"}
    numbers = dict(pair.split("=") for pair in meta["w_select"].split(","))
    assert SelectionPrior.from_dict(numbers) == prior
    assert stated_priors(meta) == {}
    assert stored_shares(meta) == "selection"


def test_trained_priors_state_nothing():
    assert ClassPriors().to_meta(CLASSES) == {"shares": "trained"}


def test_keys_fit_into_fits_headers():
    """Values may be long, and FITS continues only the cards of keys of 8 letters."""
    written = ClassPriors("given", dict.fromkeys(SHARES_KEYS, GIVEN["bcu"]), SelectionPrior()).to_meta(CLASSES)
    assert all(len(key) <= 8 for key in written)
    assert len(written) == 1 + len(SHARES_KEYS) + 1


def test_tables_of_the_version_before_are_read():
    stated = stated_priors(OLD_TABLE)
    assert list(stated) == ["unassociated", "bcu", "unk"]
    assert stated["unassociated"] == {"bll": "0.291+-0.012", "fsrq": "0.150+-0.012", "psr": "0.559+-0.013"}
    assert stored_shares(OLD_TABLE) == "estimated"


@pytest.mark.parametrize("damaged", ["", "bll", "bll=", "=0.5", "bll=0.5,"])
def test_damaged_metadata_are_refused(damaged):
    with pytest.raises(ValueError, match="w_bcu is"):
        stated_priors({"shares": "given", "w_bcu": damaged})


# --- what they do ----------------------------------------------------------------------------------------------------


def test_trained_priors_do_nothing_and_ask_for_nothing():
    def never():
        raise AssertionError("the training shares are not needed")

    assert ClassPriors().ratios(sources(["", "bcu"]), ClassGrouping.parse(THREE_CLASSES), CLASSES, never) is None
    ratios = ClassPriors("selection", selection=SelectionPrior()).ratios(
        sources(["", "psr"]), ClassGrouping.parse(DEFAULT_CLASSES), CLASSES, never
    )
    np.testing.assert_array_equal(ratios, 1.0)


def test_priors_of_groups_are_relative_to_the_training():
    ratios = ClassPriors("given", GIVEN).ratios(
        sources(["", "bcu", "unk", ""]), ClassGrouping.parse(THREE_CLASSES), CLASSES, lambda: PI
    )
    w = {group: np.array([priors[name] for name in CLASSES]) for group, priors in GIVEN.items()}
    np.testing.assert_allclose(ratios, [w["unassociated"] / PI, w["bcu"] / PI, np.ones(3), w["unassociated"] / PI])


def test_priors_of_other_groups_are_refused():
    for groups in ({"agn": GIVEN["bcu"]}, {"bcu": {"bll": 1.0}}):
        with pytest.raises(ClassError, match="do not fit"):
            ClassPriors("given", groups).ratios(
                sources(["bcu"]), ClassGrouping.parse(THREE_CLASSES), CLASSES, lambda: PI
            )


@pytest.mark.parametrize(
    ("classes", "expected"),
    [(DEFAULT_CLASSES, "selection"), ("agn=bll+fsrq+bcu,other", "selection"), (THREE_CLASSES, "trained"),
     ("psr,other", "trained"), ("mixed=bll+snr,psr,other", "trained")],
)  # fmt: skip
def test_the_default(classes, expected):
    assert default_shares(ClassGrouping.parse(classes)) == expected
    assert expected in SHARES
