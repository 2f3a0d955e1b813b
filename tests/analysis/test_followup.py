"""Follow-up lists: their order, what each constraint leaves, and what is refused."""

import re

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from astropy.table import MaskedColumn, Table, vstack

from fermiclass import followup
from fermiclass.analysis.facts import CLAIMS, KNOWN, past_candidates
from fermiclass.analysis.followup import ADDED, CRITERIA
from fermiclass.brought.other_list import OtherList
from fermiclass.errors import CatalogError, FermiclassError, SelectionError
from tests.show.page.conftest import make_up_labels


@pytest.fixture(scope="module")
def few(dr4):
    return dr4[np.isin(dr4.classes, ["", "bcu", "unk"])][::14]


@pytest.fixture(scope="module")
def labels(few):
    return make_up_labels(few)


def columns_of(labels):
    first = ["RANK", "Source_Name", "RA_HMS", "DEC_DMS"]
    return [*first, *(name for name in (*labels.colnames, *ADDED) if name not in first)]


@pytest.mark.parametrize("by", CRITERIA)
def test_the_highest_come_first(labels, by):
    ranking = followup(labels, by=by)
    weighted = by in ("information", "probability")
    score = np.asarray(ranking[CRITERIA[by]]) * (np.asarray(ranking["LASTS"]) if weighted else 1)
    assert len(ranking) == len(labels)
    assert np.all(np.diff(score) <= 0)
    np.testing.assert_array_equal(ranking["RANK"], np.arange(1, len(labels) + 1))
    assert sorted(ranking["Source_Name"]) == sorted(labels["Source_Name"])
    assert ranking.colnames == columns_of(labels)
    assert ranking.meta["rankedby"] == CRITERIA[by] + " * LASTS" * weighted
    assert ranking.meta["selected"] == f"all {len(labels)}"
    assert ranking.meta["creator"] == "fermiclass"
    assert "RANK" not in labels.colnames


def test_rows_stay_together(labels):
    ranking = followup(labels, by="ood")
    rows = {name: row for row, name in enumerate(labels["Source_Name"])}
    index = [rows[name] for name in ranking["Source_Name"]]
    for name in labels.colnames:
        np.testing.assert_array_equal(ranking[name], labels[name][index], err_msg=name)
        assert ranking[name].unit == labels[name].unit
        assert ranking[name].meta.get("ucd") == labels[name].meta.get("ucd")


def test_a_wanted_class(labels):
    ranking = followup(labels, want="pulsar", min_probability=0.0, flags=())
    assert ranking.meta["rankedby"] == "P_psr * LASTS"
    assert len(ranking) == len(labels)
    lasting = ranking["P_psr"] * ranking["LASTS"]
    assert np.all(np.diff(lasting) <= 0)
    assert ranking.meta["expected"] == f"{ranking['P_psr'].sum():.1f} pulsar, {lasting.sum():.1f} that last"
    assert "expected" not in followup(labels).meta
    ranking = followup(labels, want="pulsar", by="entropy", min_probability=0.6)
    assert set(ranking["PRED_CLASS"]) == {"psr"}
    assert np.all(np.diff(ranking["ENTROPY"]) <= 0)
    doubtful = np.asarray(labels["LABEL_FLAGS"]) & 12 > 0
    assert len(ranking) == np.sum((labels["P_psr"] >= 0.6) & ~doubtful) > 0
    assert np.all(followup(labels, min_probability=0.9)["P_MAX"] >= 0.9)


@pytest.mark.parametrize("contamination", [0.05, 0.3, 1.0])
def test_the_longest_list_of_a_contamination(labels, contamination):
    """One candidate more and it would expect too many others."""
    ranking = followup(labels, want="pulsar", contamination=contamination, flags=(), by="probability")
    p, every = np.asarray(ranking["P_psr"]), np.sort(np.asarray(labels["P_psr"]))[::-1]
    assert np.mean(1.0 - p) <= contamination
    np.testing.assert_array_equal(np.sort(p)[::-1], every[: len(p)])
    assert len(p) == len(every) or np.mean(1.0 - every[: len(p) + 1]) > contamination
    assert "past" not in ranking.meta


def test_a_wanted_group(labels):
    """Both kinds of pulsars are wanted together, or one of them."""
    table = labels.copy()
    table.meta["classes"] = "bll,fsrq,psr,msp"
    table["P_msp"], table["P_psr"] = 0.7 * labels["P_psr"], 0.3 * labels["P_psr"]
    table["Unc_P_msp"], table["Sum_P_pulsar"] = labels["Unc_P_psr"], labels["P_psr"]
    both = followup(table, want="pulsar")
    assert both.meta["rankedby"] == "Sum_P_pulsar * LASTS"
    assert list(both["Source_Name"]) == list(followup(labels, want="pulsar")["Source_Name"])
    of_classes = [f"P_{name}" for name in ("bll", "fsrq", "psr", "msp")]
    assert [name for name in both.colnames if name in of_classes] == of_classes  # msp comes before psr in other tables
    columns = {"MSP": "P_msp", "P_psr": "P_psr", "Sum_P_pulsar": "Sum_P_pulsar", "Pulsar": "Sum_P_pulsar"}
    for want, column in columns.items():
        one = followup(table, want=want, min_probability=0.2)
        assert one.meta["rankedby"] == f"{column} * LASTS"
        assert np.all(one[column] >= 0.2)
    table["PRED_CLASS"] = np.where(table["PRED_CLASS"] == "psr", "msp", table["PRED_CLASS"])
    assert len(followup(table, want="pulsar", by="entropy")) == len(followup(labels, want="pulsar", by="entropy")) > 0


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        ({"dec": (-30.0, 60.0)}, lambda t: (t["DEJ2000"] >= -30) & (t["DEJ2000"] <= 60)),
        ({"ra": (100.0, 200.0)}, lambda t: (t["RAJ2000"] >= 100) & (t["RAJ2000"] <= 200)),
        ({"ra": (330.0, 30.0)}, lambda t: (t["RAJ2000"] >= 330) | (t["RAJ2000"] <= 30)),
        ({"ra": (-30.0, 30.0)}, lambda t: (t["RAJ2000"] >= 330) | (t["RAJ2000"] <= 30)),
        ({"ra": (-180.0, 90.0)}, lambda t: (t["RAJ2000"] >= 180) | (t["RAJ2000"] <= 90)),
        ({"abs_glat": (10.0, 90.0)}, lambda t: np.abs(t["GLAT"]) >= 10),
        ({"abs_glat": (0.0, 5.0)}, lambda t: np.abs(t["GLAT"]) <= 5),
        ({"min_significance": 8.0}, lambda t: t["Signif_Avg"] >= 8),
        ({"flags": (8,)}, lambda t: np.asarray(t["LABEL_FLAGS"]) & 8 == 0),
        ({"min_lasts": 0.8}, lambda t: t["LASTS"] >= 0.8),
        ({"max_ood": 0.5}, lambda t: t["OOD_SCORE"] <= 0.5),
        ({"status": "bcu"}, lambda t: t["STATUS"] == "bcu"),
        ({"status": ("bcu", "unk")}, lambda t: np.isin(t["STATUS"], ["bcu", "unk"])),
    ],
)
def test_constraints(labels, constraint, expected):
    left = labels["Source_Name"][expected(labels)]
    assert 0 < len(left) < len(labels)
    ranking = followup(labels, **constraint)
    assert sorted(ranking["Source_Name"]) == sorted(left)
    assert ranking.meta["selected"].endswith(f" {len(left)}")


def test_candidates_of_a_class_are_probable_and_not_in_doubt(labels):
    """An imputed uncertainty (bit 1) is no doubt: most pulsars have Frac_Variability 0, hence none."""
    table = labels.copy()
    table["LABEL_FLAGS"][::3] |= 1
    good = (np.asarray(table["P_psr"]) >= 0.5) & (np.asarray(table["LABEL_FLAGS"]) & 12 == 0)
    ranking = followup(table, want="pulsar")
    assert sorted(ranking["Source_Name"]) == sorted(table["Source_Name"][good])
    assert np.any(np.asarray(ranking["LABEL_FLAGS"]) & 1)
    assert re.search(r"; P_psr >= 0\.5 \d+; without flags 4,8 \d+$", ranking.meta["selected"])


def test_unknown_values_fulfil_nothing_and_come_last(labels):
    table = labels.copy()
    table["Signif_Avg"][3] = np.nan
    masked = np.zeros(len(table), bool)
    masked[5] = True
    table["GLAT"] = MaskedColumn(table["GLAT"], mask=masked)
    assert followup(table, by="significance")["Source_Name"][-1] == table["Source_Name"][3]
    assert table["Source_Name"][3] not in followup(table, min_significance=-1e9)["Source_Name"]
    assert table["Source_Name"][5] not in followup(table, abs_glat=(0.0, 90.0))["Source_Name"]


def test_the_order_of_the_rows_does_not_matter(labels):
    table = labels.copy()
    table["ENTROPY"][:] = np.round(table["ENTROPY"], 1)  # ties
    order = np.random.default_rng(1).permutation(len(table))
    one, other = followup(table, by="entropy"), followup(table[order], by="entropy")
    np.testing.assert_array_equal(one["Source_Name"], other["Source_Name"])


def test_a_ranking_can_be_ranked_again(labels):
    again = followup(followup(labels, by="ood", top=100), by="entropy")
    assert again.colnames == columns_of(labels)
    np.testing.assert_array_equal(again["RANK"], np.arange(1, 101))
    assert np.all(np.diff(again["ENTROPY"]) <= 0)


def test_top_and_nothing_left(labels):
    np.testing.assert_array_equal(followup(labels, top=7)["Source_Name"], followup(labels)["Source_Name"][:7])
    none = followup(labels, dec=(89.9, 90.0))
    assert len(none) == 0
    assert none.colnames == columns_of(labels)
    assert none.meta["selected"].endswith("Dec 89.9 to 90 deg 0")


# --- other lists -----------------------------------------------------------------------------------------------------


def place(labels, row, axis="Conf_95_SemiMajor", fraction=0.0):
    """A position at a fraction of an axis of the error ellipse of a source."""
    source = labels[row]
    angle = source["Conf_95_PosAng"] + (90 if axis == "Conf_95_SemiMinor" else 0)
    here = SkyCoord(source["RAJ2000"], source["DEJ2000"], unit="deg")
    at = here.directional_offset_by(angle * u.deg, fraction * source[axis] * u.deg)
    return at.ra.deg, at.dec.deg


def left_out(labels, exclude):
    """Rows of the labels that a list excludes."""
    ranking = followup(labels, exclude=exclude)
    return np.flatnonzero(~np.isin(labels["Source_Name"], ranking["Source_Name"])).tolist(), ranking.meta["excluded"]


def test_other_lists_exclude_by_name_and_by_position(labels):
    rows = [("", *place(labels, 3, fraction=1.4)), ("", *place(labels, 4, "Conf_95_SemiMinor", 1.6))]
    rows += [("PSR J9", *place(labels, 5)), (labels["Source_Name"][6].removeprefix("4FGL "), np.nan, np.nan)]
    gone, note = left_out(labels, Table(rows=rows, names=("name", "ra", "dec")))
    assert gone == [3, 5, 6]
    assert "leaves out: 3 (" in note
    assert "no labelled source: 1" in note
    gone, _ = left_out(labels, [OtherList.of(Table({"name": [labels["Source_Name"][k]]})) for k in (7, 8)])
    assert gone == [7, 8]


@pytest.mark.parametrize(
    "form", ["table", "frame", "masked", "dict", "file", "path", "names", "array", "one", "several"]
)
def test_every_form_of_a_list_excludes_and_only_keeps_the_same(labels, tmp_path, form):
    names = labels["Source_Name"][[2, 9]].tolist()
    table, path = Table({"name": names}), tmp_path / "two.csv"
    table.write(path)
    masked = Table({"name": np.ma.MaskedArray([*names, "x"], mask=[False, False, True])})
    given = {
        **{"table": table, "frame": table.to_pandas(), "masked": masked, "dict": {"name": names}, "file": str(path)},
        **{"path": path, "names": names, "array": np.array(names), "one": names[0], "several": [path, table[:1]]},
    }[form]
    expected = {names[0]} if form == "one" else set(names)
    assert set(followup(labels, only=given)["Source_Name"]) == expected
    assert set(labels["Source_Name"]) - set(followup(labels, exclude=given)["Source_Name"]) == expected


@pytest.mark.parametrize("form", [5, [b"4FGL J0001.2-0747"], "nothing.csv", [None]])
def test_what_is_no_list_of_sources_is_refused(labels, form):
    with pytest.raises(FermiclassError, match=r"give a file, a table or names|there is no file"):
        followup(labels, exclude=form)


def test_names_of_earlier_catalogues_and_of_counterparts_exclude(labels):
    row = {name: np.flatnonzero(labels[name] != "")[2] for name in ("ASSOC_FGL", "ASSOC1")}
    gone, note = left_out(labels, [labels[name][k] for name, k in row.items()] + ["PSR J0000-8959"])
    assert gone == sorted(set(row.values()))
    assert "(PSR J0000-8959)" in note


def test_the_position_in_a_name_excludes(labels):
    k = int(np.argmin(np.abs(labels["DEJ2000"] + 30.0)))
    at = SkyCoord(labels["RAJ2000"][k], labels["DEJ2000"][k], unit="deg")
    digits = (
        at.ra.to_string("hour", sep="", fields=2, pad=True),
        at.dec.to_string(sep="", fields=2, pad=True, alwayssign=True),
    )
    assert left_out(labels, [f"PSR J{''.join(digits)}"])[0] == [k]


def test_known_pulsars_are_excluded_and_candidates_stay(dr4):
    """One of each kind of claim, and a source of which nobody says anything."""
    facts = Table.read(KNOWN, format="ascii.csv")
    assert set(facts["claim"]) == set(CLAIMS)
    names = ["4FGL J2051.7+5051", "4FGL J0212.1+5321", "4FGL J0447.2+2446", "4FGL J1646.5-4406", "4FGL J0026.1-0732"]
    labels = make_up_labels(dr4[np.isin(dr4.names, [*names, "4FGL J0540.0-7552", "4FGL J0000.3-7355"])])
    kept = followup(labels, exclude_known=True)
    assert sorted(set(labels["Source_Name"]) - set(kept["Source_Name"])) == sorted(names[:2])
    assert kept.meta["selected"] == "all 7; no known pulsar 5"
    said = dict(zip(kept["Source_Name"], kept["KNOWN"], strict=True))
    assert said[names[2]].startswith("PSR J0447+2447, millisecond pulsar at the position (ATNF")
    assert said[names[4]].startswith("claimed counterpart 3HSP J002611.6-073115")


@pytest.mark.parametrize("names", ["a", ""])
@pytest.mark.parametrize("want", [None, "bll"])
def test_a_position_excludes_as_without_names(labels, names, want):
    """Sources with the same name, or without one, stay, also where other constraints have taken rows before."""
    here = Table({"ra": labels["RAJ2000"][10:14], "dec": labels["DEJ2000"][10:14]})
    alike = labels.copy()
    alike["Source_Name"] = names
    kept, expected = (followup(each, want=want, min_probability=0.2, exclude=here) for each in (alike, labels))
    assert len(expected) < len(followup(labels, want=want, min_probability=0.2))
    assert sorted(kept["RAJ2000"]) == sorted(expected["RAJ2000"])
    assert kept.colnames == expected.colnames


def test_rows_that_can_be_several_sources_exclude_all(labels):
    two = vstack([labels[:2], labels[:1]], metadata_conflicts="silent")
    two["Source_Name"][2] = "twin"
    gone, note = left_out(two, Table({"name": ["here"], "ra": [two["RAJ2000"][0]], "dec": [two["DEJ2000"][0]]}))
    assert gone == [0, 2]
    assert "several sources and exclude all: 1 (here)" in note


def test_what_others_say_and_since_when(dr4, labels):
    named = dr4[np.isin(dr4.names, ["4FGL J2112.5-3043", "4FGL J0212.1+5321"])]
    ranking = followup(make_up_labels(named), by="significance")
    assert "debated" in ranking["KNOWN"][0]
    assert "PSR J0212+5321" in ranking["KNOWN"][1]
    assert ranking["FIRST_LIST"][0] == "1FGL"  # by way of 3FGL
    lists = dict(followup(labels)["Source_Name", "FIRST_LIST"].iterrows())
    for name, fgl, release in labels["Source_Name", "ASSOC_FGL", "DataRelease"].iterrows():
        assert lists[name] == f"DR{release}" if not fgl else lists[name] <= fgl[:4]


def test_what_became_of_earlier_candidates(labels):
    table = labels.copy()
    table["Sum_P_pulsar"], table["P_msp"], table["Unc_P_msp"] = table["P_psr"], 0.0, 0.0
    table.meta["classes"] = "bll,fsrq,psr,msp"
    past = followup(table, want="pulsar", top=20).meta["past"]
    assert list(past) == ["4FGL-DR1", "4FGL-DR2", "4FGL-DR3"]
    for numbers in past.values():
        assert numbers["sources"] == 20 >= numbers["expected"] >= numbers["lasting"] > 15
        assert sum(numbers[name] for name in ("pulsars", "spiders", "others", "unassociated", "gone")) == 20
    assert past["4FGL-DR1"]["pulsars"] > past["4FGL-DR3"]["pulsars"]  # DR1 has been searched for longer
    high = followup(table, want="pulsar", abs_glat=(80, 90)).meta["past"]
    assert high["4FGL-DR1"]["sources"] < 20
    assert "past" not in followup(table, want="pulsar", min_probability=0.3).meta  # the table begins at 0.5
    assert list(past_candidates(lambda some: some[:5], before="4FGL-DR2")) == ["4FGL-DR1"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "beauty"}, r"by='beauty' is unknown: choose one of information, entropy"),
        ({"want": "gc"}, r"'gc' is not a class of the labels: choose one of bll, fsrq, psr"),
        ({"dec": (50.0, -10.0)}, "dec is from 50 to -10 deg: give the smaller number first"),
        ({"ra": (0.0, 400.0)}, "ra=400 is not valid: give a number from -360 to 360"),
        ({"min_flux": float("inf")}, "min_flux=inf is not valid: give a number$"),
        ({"max_error": float("nan")}, "max_error=nan is not valid: give a number from 0"),
        ({"max_ood": 2.0}, "max_ood=2 is not valid: give a number from 0 to 1"),
        ({"status": "known"}, "status='known' is unknown: choose some of unassociated, bcu, unk, associated, ident"),
        ({"flags": (4, 5)}, "flags=5 is no bit of LABEL_FLAGS: choose some of 1, 2, 4, 8"),
        ({"contamination": 0.1}, "needs a wanted class"),
        ({"contamination": 0.1, "want": "psr", "min_probability": 0.5}, "no least probability"),
        ({"contamination": 2.0, "want": "psr"}, "contamination=2 is not valid: give a number from 0 to 1"),
        ({"top": 0}, "top=0 is not valid: give 1 or more"),
    ],
)
def test_refusals(labels, options, message):
    with pytest.raises(SelectionError, match=message):
        followup(labels, **options)


def test_labels_of_a_first_order_method_are_not_ranked_by_their_noise(labels):
    """They have no part of it: the order would be that of rounding."""
    first_order = labels.copy()
    first_order["NOISE_ENTROPY"] = np.random.default_rng(0).uniform(0, 2e-7, len(labels))
    with pytest.raises(
        SelectionError, match=r"NOISE_ENTROPY is 0 for all .*Rank by 'information', or label with --meth"
    ):
        followup(first_order, by="noise")
    assert len(followup(first_order, by="information")) == len(labels)
    assert len(followup(first_order[:0], by="noise")) == 0


def test_missing_columns(labels, dr4):
    without = labels.copy()
    without.remove_column("Flux1000")
    with pytest.raises(CatalogError, match="no column Flux1000"):
        followup(without, min_flux=1e-10)
    bare = labels.copy()
    bare.remove_column("INFORMATION")
    with pytest.raises(CatalogError, match=r"no column INFORMATION\. Give a table that 'fermiclass classify' wrote"):
        followup(bare)
    with pytest.raises(CatalogError, match="no column PRED_CLASS"):
        followup(dr4.table)
    assert issubclass(SelectionError, FermiclassError)
