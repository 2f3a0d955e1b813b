"""Comparison with another list: what is matched, what agrees, and what comes first."""

import re

import numpy as np
import pytest
from astropy import units as u
from astropy.coordinates import Latitude, Longitude
from astropy.table import Column, Table, vstack
from sklearn.metrics import roc_auc_score

from fermiclass.analysis.compare import compare
from fermiclass.brought.other_list import OtherList
from fermiclass.errors import CatalogError, ClassError, SelectionError
from fermiclass.io.plain import plain_table
from fermiclass.io.tables import read_table, write_table
from fermiclass.plots.evaluation import comparison_figure
from tests.cli.test_cli import run, run_well
from tests.show.page.conftest import make_up_labels


@pytest.fixture(scope="module")
def labels(dr4):
    return make_up_labels(dr4[dr4.classes == ""][::8])


@pytest.fixture
def published(labels):
    """Every second source: our class, but for the first three, which are called pulsars."""
    chosen = labels[::2]
    words = {"bll": "BL Lac", "fsrq": "FSRQ", "psr": "PSR"}
    said = np.array([words[name] for name in chosen["PRED_CLASS"]])
    said[:3] = "PSR"
    return Table({"Name": chosen["Source_Name"], "RA": chosen["RAJ2000"], "DEC": chosen["DEJ2000"], "Class": said})


@pytest.mark.parametrize("name", ["4FGL", "Source_Name_4FGL", "4FGL-DR4", "PSRJ", "JNAME"])
def test_names_of_other_programs(name):
    """psrqpy's tables have positions as text and as numbers."""
    row = {name: ["J0437-4715"], "RAJ": ["04:37:15.8"], "DECJ": ["-47:15:09.1"]}
    for other in (row, {name: row[name], "RAJD": [69.3158], "DECJD": [-47.2525]}):
        found = OtherList.of(Table(other))
        assert found.names.tolist() == row[name]
        np.testing.assert_allclose([found.ra[0], found.dec[0]], [69.3158, -47.2525], atol=1e-4)


def test_labels_compared_with_others_are_predictions(labels):
    """Not the classes of the catalogue, which such tables have, too."""
    found = compare(labels, OtherList.of(labels))
    assert {word: of["agree"] for word, of in found.agreement.items()} == dict.fromkeys(found.agreement, 1.0)
    assert sum(of["n"] for of in found.agreement.values()) == len(labels)


def test_probabilities_need_no_known_classes(labels):
    other = Table({"name": labels["Source_Name"], "class": [""] * len(labels), "P": labels["P_psr"]})
    found = compare(labels, OtherList.of(other, probability="P"), of="psr")
    assert found.ranks == {"n": len(labels), "rho": pytest.approx(1.0)}
    assert not found.agreement


def test_classes(labels, published):
    found = compare(labels, OtherList.of(published))
    n = len(published)
    expected = {"labels": len(labels), "others": n, "by_name": n, "by_position": 0, "unmatched": 0, "no_news": 0}
    expected["new"] = len(labels) - n
    assert found.numbers == expected
    assert found.unknown == {}
    for word, name in {"BL Lac": "bll", "FSRQ": "fsrq", "PSR": "psr"}.items():
        rows = np.asarray(published["Class"]) == word
        p = np.asarray(labels[f"P_{name}"])[::2][rows]
        right = np.asarray(labels["PRED_CLASS"])[::2][rows] == name
        assert found.agreement[word] == {"n": rows.sum(), "agree": right.mean(), "mean_p": pytest.approx(p.mean())}
        assert found.confusion[word][name] == right.sum()
    p = np.asarray(found.table["P_OTHER_CLASS"])
    assert np.all(np.diff(p) >= 0)  # the surest disagreement first
    np.testing.assert_allclose(found.table["SURPRISE"], -np.log(np.maximum(p, 1e-5)))
    assert found.table["SEPARATION"].max() < 1e-4
    same = {"BL Lac": "bll", "FSRQ": "fsrq", "PSR": "psr"}
    other = [same[word] for word in found.table["OTHER_CLASS"]]
    np.testing.assert_array_equal(found.disagrees, np.asarray(found.table["PRED_CLASS"]) != other)


def test_what_became_of_a_list(dr4, labels, tmp_path):
    """Names alone: with a label, with a class now, of a source that another row is, and gone."""
    names = [labels["Source_Name"][0], "PSR J1653-0158", "Mkn 421", "4FGL J0000.1-8888", labels["Source_Name"][0]]
    for given in (names, tmp_path / "names.txt"):
        (tmp_path / "names.txt").write_text("\n".join(names))
        found = compare(labels, given, catalog=dr4)
        assert list(found.table["Source_Name"]) == names[:1]
        assert list(found.rest["OTHER_NAME"]) == names[1:]
        assert list(found.rest["FATE"]) == ["class", "class", "gone", "another"]
        assert list(found.rest["CLASS1"][:2]) == ["MSP", "BLL"]
    assert found.rest.colnames == [*compare(labels, names).rest.colnames, "FATE", "Source_Name", "CLASS1", "ASSOC1"]


def test_what_changed_since_other_labels(labels):
    """The earlier list lacks some sources, and two have swapped classes there."""
    before = Table(labels, copy=True)[10:]
    swapped = np.flatnonzero(np.abs(before["P_bll"] - before["P_psr"]) > 0.5)[:2]
    before["P_bll"][swapped], before["P_psr"][swapped] = before["P_psr"][swapped], before["P_bll"][swapped].copy()
    before["PRED_CLASS"][swapped] = ["psr" if row["P_psr"] > row["P_bll"] else "bll" for row in before[swapped]]
    found = compare(labels, before)
    assert (found.numbers["new"], found.numbers["unmatched"], found.disagrees.sum()) == (10, 0, 2)
    assert set(found.table["Source_Name"][:2]) == set(before["Source_Name"][swapped])
    moves = np.abs(before["P_bll"] - before["P_psr"])[swapped]
    np.testing.assert_allclose(found.table["MOVE"], [*sorted(moves, reverse=True), *[0.0] * (len(before) - 2)])


def test_a_bcu_that_is_still_one_agrees_with_nothing(dr4):
    """What the list says of other sources, and of bcu that got a type, counts as ever."""
    labels = make_up_labels(dr4[np.isin(dr4.classes, ["", "bcu"])][::20])
    is_bcu = np.asarray(labels["STATUS"]) == "bcu"
    said = np.where(np.arange(len(labels)) % 3 == 0, "FSRQ", np.where(np.arange(len(labels)) % 2 == 0, "bcu", "AGN"))
    other = OtherList.of(Table({"Name": labels["Source_Name"], "Class": said}))
    found = compare(labels, other, truth=True)
    assert found.numbers["no_news"] == np.sum(is_bcu & (said != "FSRQ")) > 0
    for word in ("FSRQ", "bcu", "AGN"):
        assert found.agreement[word]["n"] == np.sum((said == word) & ((word == "FSRQ") | ~is_bcu))
    nothing = np.isnan(found.table["SURPRISE"])
    assert nothing.sum() == found.numbers["no_news"]
    assert not np.any(found.disagrees & nothing)
    only = OtherList.of(Table({"Name": labels["Source_Name"][is_bcu], "Class": ["bcu"] * is_bcu.sum()}))
    with pytest.raises(ClassError, match="calls all common sources bcu or AGN"):
        compare(labels, only)


def spelt(names, way):
    """Names without their catalogue, in small letters, or with a dash as from a PDF."""
    if way == "short":
        return [str(name).removeprefix("4FGL ") for name in names]
    return [str(name).lower() if way == "small" else str(name).replace("-", way) for name in names]


@pytest.mark.parametrize("way", ["short", "small", "\u2010", "\u2011", "\u2013", "\u2212"])
def test_names_in_other_spellings(labels, published, way):
    published["Name"] = spelt(published["Name"], way)
    del published["RA"], published["DEC"]
    assert compare(labels, OtherList.of(published)).numbers["by_name"] == len(published)


POSITIONS = {
    "hour angles": lambda ra, dec: (ra.to("hourangle"), dec),
    "minutes of arc": lambda ra, dec: (ra.to("arcmin"), dec.to("arcmin")),
    "decimal text": lambda ra, dec: ([f"{x:.8f}" for x in ra.deg], [f"{x:.8f}" for x in dec.deg]),
    "decimal text of hours": lambda ra, dec: (Column([f"{x:.9f}" for x in ra.hour], unit="hourangle"), dec),
    "sexagesimal": lambda ra, dec: (ra.to_string("hourangle", precision=5), dec.to_string("deg", precision=4)),
    "letters": lambda ra, dec: (ra.to_string("deg", precision=4), dec.to_string("deg", precision=4)),
    "west as negative": lambda ra, dec: (np.where(ra.deg > 180, ra.deg - 360, ra.deg), dec),
    "one is missing": lambda ra, dec: (np.append(ra.deg, np.nan), np.append(dec.deg, 1.0)),
    "one is blank": lambda ra, dec: ([*(f"{x:.8f}" for x in ra.deg), " "], [*(f"{x:.8f}" for x in dec.deg), ""]),
}


@pytest.mark.parametrize("way", POSITIONS)
def test_positions_in_other_units_match_the_same_sources(labels, published, way, tmp_path):
    """The positions are 3 arcmin off, so that a mistake of a minute of arc changes the separations."""
    ra, dec = Longitude(np.float64(published["RA"]), "deg"), Latitude(np.float64(published["DEC"]) + 0.05, "deg")
    expected = compare(labels, OtherList.of(Table({"RA": ra.deg, "DEC": dec.deg})), of="pulsar")
    given = Table(dict(zip(("RA", "DEC"), POSITIONS[way](ra, dec), strict=True)))
    write_table(given, tmp_path / "other.ecsv")
    found = compare(labels, OtherList.of(read_table(tmp_path / "other.ecsv")), of="pulsar")
    assert expected.numbers["by_position"] > 0.95 * len(published)
    assert found.numbers["by_position"] == expected.numbers["by_position"]
    assert found.numbers["unmatched"] == expected.numbers["unmatched"] + len(given) - len(published)
    assert list(found.table["Source_Name"]) == list(expected.table["Source_Name"])
    np.testing.assert_allclose(found.table["SEPARATION"], expected.table["SEPARATION"], atol=1e-7)


def test_sources_far_from_all_and_labels_without_a_position_have_no_match(labels, published):
    del published["Name"]
    published["DEC"] += 0.05
    far = vstack([published, Table({"RA": [0.0], "DEC": [-89.999], "Class": ["PSR"]})])
    with_all = compare(labels, OtherList.of(far))
    assert with_all.numbers["by_name"] == 0
    assert len(set(with_all.table["Source_Name"])) == len(with_all.table) == with_all.numbers["by_position"]
    lost = Table(labels, copy=True)
    lost["RAJ2000"][::2] = np.nan
    assert compare(lost, OtherList.of(far, radius=10.0)).numbers["unmatched"] >= 1
    lost["RAJ2000"] = np.nan
    for one, radius in ((labels, 0.001), (lost, 10.0)):
        with pytest.raises(CatalogError, match=r"none of \d+ sources of '<Table>' is among the \d+ labelled ones"):
            compare(one, OtherList.of(far, radius=radius))


def test_a_name_that_two_labels_have_is_matched_by_position(labels, published):
    expected = compare(labels, OtherList.of(published))
    twice = Table(labels, copy=True)
    twice["Source_Name"][:4] = twice["Source_Name"][0]
    published["Name"][:2] = twice["Source_Name"][0]
    found = compare(twice, OtherList.of(published))
    assert found.numbers["by_position"] == 2
    for column in ("P_MAX", "RAJ2000", "OTHER_CLASS"):
        assert sorted(found.table[column]) == sorted(expected.table[column])


def test_wider_and_unknown_classes(labels, published):
    published["Class"][3:6] = "agn"
    published["Class"][6] = "?"
    found = compare(labels, OtherList.of(published))
    assert found.unknown == {"?": 1}
    agn = np.asarray(labels["P_bll"] + labels["P_fsrq"])[::2][3:6]
    assert found.agreement["agn"]["mean_p"] == pytest.approx(agn.mean())
    assert found.table["Source_Name"][-1] == published["Name"][6]  # it cannot disagree


def test_probabilities(labels, published):
    table = Table({"4FGL": published["Name"], "P_young": 1.0 - np.asarray(labels["P_psr"])[::2]})
    found = compare(labels, OtherList.of(table, probability="P_young"), of="pulsar")
    assert found.ranks == {"n": len(table), "rho": pytest.approx(-1.0)}
    assert np.all(np.diff(np.abs(found.table["DIFFERENCE"])) <= 0)
    assert found.agreement == {}
    assert len(comparison_figure(found).axes) == 1


def test_a_truth(labels, published):
    found = compare(labels, OtherList.of(published), truth=True)
    is_psr = np.asarray(published["Class"]) == "PSR"
    curve = found.roc["psr"]
    assert curve["auc"] == pytest.approx(roc_auc_score(is_psr, np.asarray(labels["P_psr"])[::2]))
    assert (curve["positive"], curve["negative"]) == (is_psr.sum(), (~is_psr).sum())
    found = compare(labels, OtherList.of(Table({"Name": published["Name"][:20]})), of="pulsar", truth=True)
    assert found.roc["psr"]["negative"] == len(labels) - 20
    assert len(comparison_figure(found).axes) == 2


def test_words_that_may_be_one_class_or_another_are_no_counterexamples(labels, published):
    """A bcu may be a bll: it counts neither for it nor against it. PSR and psr are one word."""
    table = Table(published, copy=True)
    table["Class"] = np.resize(["bll", "psr", "bcu", "PSR", "BCU", "msp"], len(table))
    found = compare(labels, OtherList.of(table), truth=True)
    number = {word: int(np.sum(np.char.lower(table["Class"]) == word)) for word in ("bll", "psr", "bcu", "msp")}
    assert set(found.agreement) >= {"bll", "psr", "bcu"}
    assert not {"PSR", "BCU"} & set(found.agreement)
    pulsars = sum(number[word] for word in ("psr", "msp") if word in found.agreement)
    assert set(found.roc) == {"bll", "bll or fsrq", "psr"}
    assert (found.roc["bll"]["positive"], found.roc["bll"]["negative"]) == (number["bll"], pulsars)
    agn = number["bll"] + number["bcu"]
    assert (found.roc["bll or fsrq"]["positive"], found.roc["bll or fsrq"]["negative"]) == (agn, pulsars)
    assert (found.roc["psr"]["positive"], found.roc["psr"]["negative"]) == (pulsars, agn)


def test_codes_of_several_natures(dr4):
    """A binary is a millisecond pulsar or other. A pulsar is of any kind, unless the list tells the kinds apart."""
    classes = "bll,fsrq,psr,msp,other,msp|other=bin+lmb+glc"
    labels = make_up_labels(dr4[dr4.classes == ""][:40], names=classes.split(",")[:5])
    labels.meta["classes"] = classes
    P = {name: np.asarray(labels[f"P_{name}"]) for name in ("psr", "msp", "other")}
    table = Table({"Name": labels["Source_Name"], "Class": np.resize(["PSR", "bin", "bll"], len(labels))})
    found = compare(labels, OtherList.of(table), truth=True)
    assert found.agreement["PSR"]["mean_p"] == pytest.approx((P["psr"] + P["msp"])[::3].mean())
    assert found.agreement["bin"]["mean_p"] == pytest.approx((P["msp"] + P["other"])[1::3].mean())
    assert found.unknown == {}
    table["Class"][2] = "msp"
    found = compare(labels, OtherList.of(table))
    assert found.agreement["PSR"]["mean_p"] == pytest.approx(P["psr"][::3].mean())
    ranked = Table({"Name": labels["Source_Name"], "P": P["psr"] + P["msp"]})
    assert compare(labels, OtherList.of(ranked, probability="P"), of="pulsar").ranks["rho"] == pytest.approx(1.0)


def test_refusals(labels, published):
    with pytest.raises(SelectionError, match="'gc' is not a class of the labels: choose one of bll, fsrq, psr"):
        compare(labels, OtherList.of(published), of="gc")
    with pytest.raises(SelectionError, match=r"not known what class the other list is of: .*\(--of\)"):
        compare(labels, OtherList.of(published["Name", "RA"]), truth=True)
    star = Table(published, copy=True)
    star["Class"] = "star"
    with pytest.raises(
        ClassError, match=r"no class of the other list is known: it has star, the labels have bll, fsrq"
    ):
        compare(labels, OtherList.of(star))
    with pytest.raises(CatalogError, match=r"neither a column of names nor of positions .*it has Class"):
        OtherList.of(published["Class", "RA"])
    with pytest.raises(CatalogError, match="'<Table>' has no column Klasse; it has Name, RA, DEC, Class"):
        OtherList.of(published, class_column="Klasse")
    with pytest.raises(CatalogError, match="'<Table>': column Class does not hold numbers"):
        OtherList.of(published, probability="Class")
    for odd in (90.0, -99.0):
        with pytest.raises(CatalogError, match=f"column P has {odd:g}, which is no probability"):
            OtherList.of(Table({"name": ["a", "b", "c"], "P": [0.5, np.nan, odd]}), probability="P")
    for ra, dec, word in (
        (["5.5", "5:30"], [1, 2], "sexagesimal"),
        ([5.5, 5] * u.km, [1, 2], "length"),
        ([1, 2], [91, 2], "beyond"),
        ([5000, 2], [1, 2], "beyond"),
        (Column([1, 2], unit=u.Unit("rods", parse_strict="silent")), [1, 2], "unrecognized"),
    ):
        with pytest.raises(CatalogError, match=f"does not hold angles .*{word}"):
            OtherList.of(plain_table(Table({"RA": ra, "DEC": dec})))
    with pytest.raises(CatalogError, match="radius=0 is not valid"):
        OtherList.of(published, radius=0.0)


def test_the_command(labels, published, tmp_path):
    write_table(labels, tmp_path / "labels.fits")
    write_table(published, tmp_path / "published.csv")
    lists = (tmp_path / "labels.fits", tmp_path / "published.csv")
    printed = run_well("compare", *lists, "--truth", "-o", tmp_path / "both.ecsv", "--plot", tmp_path / "both.png")
    words = " ".join(printed.split())
    assert f"{len(published)} sources are in both lists ({len(published)} by name, 0 by position); 0 of" in words
    assert re.search(r"area under the ROC curve.* psr \d+ \d+ [01]\.\d{3}", words)
    assert (tmp_path / "both.png").read_bytes().startswith(b"\x89PNG")
    both = read_table(tmp_path / "both.ecsv")
    assert both.meta["compared"] == "published.csv"
    first = both[0]
    assert first["OTHER_CLASS"] == "PSR"
    assert str(first["Source_Name"]) in printed
    done = run("compare", tmp_path / "labels.fits", tmp_path / "nothing.csv", "-o", tmp_path / "no.csv")
    assert done.returncode == 2
    assert "there is no file" in done.stderr
    assert not (tmp_path / "no.csv").exists()
