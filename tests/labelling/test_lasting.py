"""LASTS: its formula, from which sources it was learned, and how well it says what became of the sources."""

import importlib.util
import json
import warnings

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fermiclass import read_catalog
from fermiclass.features.definitions import FEATURES
from fermiclass.labelling import lasting
from tests.conftest import REPOSITORY, slim_path

MODELS = json.loads((REPOSITORY / "fermiclass" / "labelling" / "lasting.json").read_text(encoding="utf-8"))
LEARNED_FROM = [(later, release) for later, about in MODELS.items() for release in about["sources"]]


@pytest.fixture(scope="module")
def script():
    """The script that makes the coefficients."""
    spec = importlib.util.spec_from_file_location("make_lasting", REPOSITORY / "catalogs" / "make_lasting.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def again(table):
    """A catalogue of a table whose release is not known, and therefore counts as DR4."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_catalog(table)


@pytest.mark.parametrize(("later", "release"), [LEARNED_FROM[k] for k in (2, 3, -1)])
def test_the_formula(later, release):
    few = read_catalog(slim_path(release))[::900]
    about = MODELS[later]["full"]
    for k, p in enumerate(lasting.lasting(few)):
        source = few[[k]]
        names = ("RAJ2000", "DEJ2000", "Signif_Avg", "Conf_95_SemiMajor", "Flags")
        ra, dec, s, error, flags = (float(source.table[name][0]) for name in names)
        code = source.classes[0]
        q = {name: FEATURES[name].measure(source).value[0] for name in lasting.SPECTRUM if name in about["inputs"]} | {
            "ln_Signif_Avg": np.log(s),
            "Signif_Avg^-2": 1 / s**2,
            "ln_Conf_95_SemiMajor": np.log(error),
            "unassociated": code == "",
            "untyped": code in ("bcu", "unk"),
            **{name: name == release for name in lasting.OLDER},
            **{f"Flags_{bit}": int(flags) // 2 ** (bit - 1) % 2 for bit in range(1, 16)},
        }
        z = {
            name: (min(max(q[name], low), high) - mean) / sd for name, (low, high, mean, sd) in about["inputs"].items()
        }
        z |= {
            f"1/S² times {name}": np.clip(z["Signif_Avg^-2"] * z[name], -5, 5) for name in lasting.PRODUCTS if name in z
        }
        i, j = int(ra // 15), int((dec + 90) // 15)
        constant, *slopes = about["coefficients"][5 if (i + j) % 2 else (i + 5 * j) // 2 % 5]
        eta = constant + sum(a * b for a, b in zip(slopes, z.values(), strict=True))
        assert p == pytest.approx(min(1 / (1 + np.exp(-eta)), lasting.MOST), rel=1e-12)


@pytest.mark.parametrize("later", MODELS)
def test_the_coefficients_are_those_of_the_script(script, later):
    """On another machine the last digits may differ."""
    vanished, releases = script.read_facts(), script.PAIRS[later]
    made, stored = script.learn(releases, vanished), MODELS[later]
    assert made["sources"] == stored["sources"]
    assert made["vanished"] == stored["vanished"] == {name: len(vanished[name]) for name in releases}
    for which in ("full", "small"):
        assert list(made[which]["inputs"]) == list(stored[which]["inputs"])
        np.testing.assert_allclose(made[which]["coefficients"], stored[which]["coefficients"], rtol=2e-3, atol=2e-4)


def test_a_regression_has_not_seen_its_part_of_the_sky(script, dr4):
    learned = dr4[script.learned_from(dr4)]
    inputs, part = lasting.inputs_of(learned), lasting.part_of_sky(learned)
    lasts = ~np.isin(learned.names, script.read_facts()["4FGL-DR4"])
    before, after = (
        np.array(script.fit(inputs, script.LEAST, fate, part)["coefficients"]) for fate in (lasts, lasts ^ (part == 2))
    )
    np.testing.assert_array_equal(before[2], after[2])
    assert np.all(np.any(before != after, axis=1) == (np.arange(6) != 2))
    assert part.max() < lasting.PARTS  # nothing in odd cells


@pytest.mark.parametrize("release", [release for _, release in LEARNED_FROM])
def test_expected_numbers_of_vanished_sources(script, release):
    """Each prediction is from a regression that did not see the source."""
    catalog = read_catalog(slim_path(release))
    rows = script.learned_from(catalog) & (catalog.classes == "")
    names = script.read_facts()[release]
    assert np.isin(names, catalog.names[script.learned_from(catalog)]).all()
    gone, p = np.isin(catalog.names[rows], names), 1 - lasting.lasting(catalog)[rows]
    assert np.all((p > 0) & (p < 1))
    assert roc_auc_score(gone, p) > {"3FGL": 0.75, "4FGL-DR4": 0.87}.get(release, 0.8)
    bins = np.digitize(np.asarray(catalog.table["Signif_Avg"])[rows], (4.5, 5, 6))
    for k in range(4):
        assert abs(gone[bins == k].sum() - p[bins == k].sum()) < 2 * np.sqrt((p * (1 - p))[bins == k].sum())


def test_it_does_not_depend_on_the_other_sources(dr4):
    np.testing.assert_allclose(lasting.lasting(dr4[100:900:7]), lasting.lasting(dr4)[100:900:7], rtol=1e-13)


def test_unknown_values_and_columns(dr4):
    """Without a column, significance, error radius and status must do; an unknown release is taken for DR4."""
    few = dr4[::50]
    np.testing.assert_array_equal(lasting.lasting(again(few.table.copy())), lasting.lasting(few))
    without, scrambled = few.table.copy(), few.table.copy()
    without.remove_columns(["Variability_Index", "Conf_95_SemiMajor"])
    small = lasting.lasting(again(without))
    assert np.all((small > 0) & (small < 1))
    assert np.corrcoef(small, lasting.lasting(few))[0, 1] > 0.8
    del scrambled["Flags"]
    scrambled["LP_Index"] = scrambled["LP_Index"][::-1]
    plain = scrambled.copy()
    plain["LP_Index"] = few.table["LP_Index"]
    np.testing.assert_array_equal(lasting.lasting(again(scrambled)), lasting.lasting(again(plain)))
    unknown = few.table.copy()
    for name in ("LP_Index", "Conf_95_SemiMajor", "Signif_Avg", "Variability_Index"):
        unknown[name][::2] = np.nan
    assert np.all(np.isfinite(lasting.lasting(again(unknown))))
