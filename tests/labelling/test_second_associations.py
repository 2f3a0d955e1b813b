"""CLASS2 as evidence: rates and posteriors of a simulated catalogue, and what has no evidence."""

import numpy as np
import pytest

from fermiclass.catalog import ClassGrouping, default_classes
from fermiclass.labelling.associations import RATIO, SecondAssociations
from tests.conftest import make_up_catalog

GROUPING = ClassGrouping.parse(default_classes([]))
CLASSES = ["bll", "fsrq", "other", "psr"]
CHANCE = {"agn": 0.04, "psr": 0.01, "other": 0.005}
FRACTIONS = {"agn": 0.6, "psr": 0.25, "other": 0.15}
CODE = {"agn": "bcu", "psr": "PSR", "other": "snr"}


def catalogue(class1, class2):
    return make_up_catalog(class1, CLASS2=class2)


def simulate(n, seed=0):
    """Draw unassociated sources, their kinds, and their CLASS2 by the model."""
    rng = np.random.default_rng(seed)
    kinds = list(FRACTIONS)
    kind = rng.choice(kinds, size=n, p=list(FRACTIONS.values()))
    class2 = np.full(n, "unk")  # says nothing, as no CLASS2 does
    edges = np.cumsum([[CHANCE[k] * (RATIO if k == own else 1.0) for k in kinds] for own in kind], axis=1)
    u = rng.uniform(size=(n, 1))
    said = (u > edges).sum(axis=1)
    for j, name in enumerate(kinds):
        class2[said == j] = CODE[name]
    return catalogue([""] * n, class2), kind, said


def test_rates_and_posteriors_are_those_of_the_draws():
    catalog, kind, said = simulate(200_000)
    second = SecondAssociations.fit(catalog, FRACTIONS)
    assert dict(second.chance) == pytest.approx(CHANCE, rel=0.1)
    prior = np.array([0.3, 0.3, 0.15, 0.25])
    p = prior * second.factors(catalog, GROUPING, CLASSES)
    p /= p.sum(axis=1, keepdims=True)
    for j in range(4):
        rows = said == j
        found = [np.mean(kind[rows] == name) for name in ("agn", "other", "psr")]
        expected = [p[rows][0, :2].sum(), *p[rows][0, 2:]]
        np.testing.assert_allclose(found, expected, atol=5 * np.sqrt(0.25 / rows.sum()))


def test_only_unassociated_sources_have_evidence():
    second = SecondAssociations(CHANCE)
    sources = catalogue(["", "bcu", "unk", "psr"], ["bll"] * 4)
    factors = second.factors(sources, GROUPING, CLASSES)
    np.testing.assert_array_equal(factors, [[RATIO, RATIO, 1, 1], *[[1, 1, 1, 1]] * 3])
    both = second.factors(sources, ClassGrouping.parse("mixed=bll+snr,other"), ["mixed", "other"])
    np.testing.assert_array_equal(both, np.ones((4, 2)))


@pytest.mark.parametrize("class2", [[""], ["unk"], []])
def test_a_catalogue_that_says_nothing_has_no_effect(class2):
    catalog = catalogue([""] * len(class2), class2)
    second = SecondAssociations.fit(catalog, FRACTIONS)
    assert second == SecondAssociations()
    np.testing.assert_array_equal(second.factors(catalog, GROUPING, CLASSES), 1.0)
    catalog.table.remove_column("CLASS2")
    np.testing.assert_array_equal(SecondAssociations(CHANCE).factors(catalog, GROUPING, CLASSES), 1.0)


def test_rates_of_a_small_catalogue_leave_room_for_no_class2():
    """Where all sources have CLASS2, and none is of the kind, the likelihood of no CLASS2 stays above 0."""
    second = SecondAssociations.fit(catalogue([""] * 3, ["bll", "psr", "snr"]), dict.fromkeys(FRACTIONS, 0.0))
    assert SecondAssociations.from_dict(second.chance) == second
    assert np.all(second.factors(catalogue([""], [""]), GROUPING, CLASSES) > 0)


def test_it_is_stored():
    second = SecondAssociations(CHANCE)
    assert SecondAssociations.from_dict(second.chance) == second
    for wrong in ({"agn": -0.1}, {"agn": 0.5}, {"star": 0.01}, {"agn": float("nan")}):
        with pytest.raises(ValueError, match="out of range"):
            SecondAssociations.from_dict(wrong)
