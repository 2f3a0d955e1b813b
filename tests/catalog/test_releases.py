import json
import re

import numpy as np
import pytest
from astropy.table import Table, vstack

from fermiclass.analysis.facts import PAST, first_list_of
from fermiclass.catalog import CLASS_CODES, RELEASES, CatalogWarning, read_catalog
from fermiclass.catalog.reading import lost_second_associations
from fermiclass.catalog.releases import UnknownReleaseWarning, _with_priors, recognise
from fermiclass.catalog.source_names import find_source
from fermiclass.errors import CatalogError
from fermiclass.io.tables import read_table
from fermiclass.labelling.associations import of_release
from tests.conftest import REPOSITORY, slim_path

# Counted from the released files.
COUNTS = {
    "3FGL": {"bll": 660, "fsrq": 484, "psr": 167, "msp": 0, "bcu": 573, "unk": 0, "": 1010},
    "4FGL-DR1": {"bll": 1131, "fsrq": 694, "psr": 239, "msp": 0, "bcu": 1312, "unk": 92, "": 1337},
    "4FGL-DR2": {"bll": 1308, "fsrq": 744, "psr": 271, "msp": 0, "bcu": 1384, "unk": 115, "": 1667},
    "4FGL-DR3": {"bll": 1456, "fsrq": 794, "psr": 137, "msp": 155, "bcu": 1493, "unk": 134, "": 2157},
    "4FGL-DR4": {"bll": 1490, "fsrq": 820, "psr": 141, "msp": 179, "bcu": 1623, "unk": 140, "": 2423},
}
SOURCES = {"3FGL": 3034, "4FGL-DR1": 5066, "4FGL-DR2": 5788, "4FGL-DR3": 6659, "4FGL-DR4": 7195}
LASTING = json.loads((REPOSITORY / "fermiclass" / "labelling" / "lasting.json").read_text())
BY_NAME = {release.name: release for release in RELEASES}
NEWEST = [release for release in RELEASES if release.catalogue == "4FGL"][-1]


def test_every_slim_release_is_recognised_and_counted(slim_catalog):
    name = slim_catalog.release.name
    assert slim_catalog.release is BY_NAME[name]
    assert len(slim_catalog) == SOURCES[name]
    assert {code: int(np.sum(slim_catalog.classes == code)) for code in COUNTS[name]} == COUNTS[name]


def test_records_do_not_overlap():
    for number in range(1, 101):
        for catalogue in ("3FGL", "4FGL", "FL8Y", "FL16Y"):
            fitting = [r for r in RELEASES if r.catalogue == catalogue and r.versions[0] <= number <= r.versions[1]]
            assert len(fitting) <= 1
    assert len({r.sources for r in RELEASES}) == len({r.name for r in RELEASES}) == len(RELEASES)
    assert all(r.reference for r in RELEASES)


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
def test_header_identifies_a_release_and_a_selection_of_it(release):
    header = {"CDS-NAME": release.catalogue, "VERSION": f"v{release.versions[1]}"}
    for rows in (release.sources, 10):
        assert recognise(header, (), rows) == (release, "")
    if release.sources:  # known by them without a header, but for a list that grows
        assert recognise({}, (), release.sources) == (release, "")


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
def test_a_record_names_the_facts_that_files_have(release):
    kept = {
        "selection": of_release(release.name) is not None,
        "LASTS": release.name == "3FGL" or release.name in LASTING["FL16Y"]["sources"],
        "past": release.name in set(read_table(PAST)["release"]),
    }
    assert set(release.facts) == {name for name, known in kept.items() if known}


def test_a_new_release_says_what_is_not_known_of_it(dr4, monkeypatch):
    """A record as CONTRIBUTING has it: a made-up DR5 with new sources, and the second associations lost again."""
    new = _with_priors("4FGL-DR5", "4FGL", (36, 39), 16, 7800, "Author et al. 2027", 16)
    monkeypatch.setattr("fermiclass.catalog.releases.RELEASES", (*RELEASES, new))
    table = dr4.table.copy()
    table.meta = {"CDS-NAME": "4FGL", "VERSION": "v36"}
    table["DataRelease"][:40] = 5
    table["ASSOC_FGL"][:40] = ""
    lost = np.isin(table["Source_Name"], list(lost_second_associations()))
    for name in ("ASSOC2", "CLASS2"):
        table[name][lost] = ""
    with pytest.warns(CatalogWarning, match="facts of 4FGL-DR5 are not known. selection: .*LASTS: .*past: "):
        catalog = read_catalog(table)
    assert catalog.release is new
    np.testing.assert_array_equal(catalog.soft_galactic, dr4.soft_galactic)
    np.testing.assert_array_equal(catalog.table["CLASS2"], dr4.table["CLASS2"])
    assert set(first_list_of(catalog.table)[:40]) == {"DR5"}
    np.testing.assert_array_equal(first_list_of(catalog.table)[40:], first_list_of(dr4.table)[40:])


def test_the_16_year_list_has_first_lists_and_bare_names(dr4):
    table = dr4.table[:2].copy()
    table["ASSOC_FGL"] = [dr4.names[0], "3FGL J0202.4+0406"]
    table["Source_Name"] = [name.replace("4FGL", "FL16Y") for name in dr4.names[:2]]
    table.remove_column("DataRelease")
    table.meta = {"CDS-NAME": "FL16Y", "VERSION": "v41"}
    catalog = read_catalog(table)
    assert first_list_of(catalog.table).tolist() == ["4FGL", "3FGL"]
    assert find_source(catalog, dr4.names[1].split()[1]) == 1


def test_the_16_year_list_has_any_number_of_sources():
    assert BY_NAME["FL16Y"].sources == 0
    for rows in (1, 3900, 20_000):
        assert recognise({"CDS-NAME": "FL16Y", "VERSION": "v41"}, (), rows) == (BY_NAME["FL16Y"], "")
    assert "FL16Y, version none" in recognise({"CDS-NAME": "FL16Y"}, (), 3900)[1]


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ({"CDS-NAME": "4FGL", "VERSION": "v99"}, 20_000),
        ({"CDS-NAME": "5FGL", "VERSION": "v1"}, 9000),
        ({"CDS-NAME": "4FGL", "VERSION": "v35"}, 9000),
        ({"CDS-NAME": "4FGL", "VERSION": "nightly"}, 7300),
        ({}, 1234),
        ({}, 0),
    ],
)
def test_what_fits_no_record_is_unknown(header, rows):
    release, doubt = recognise(header, ("Source_Name", "DataRelease"), rows)
    assert release.name == "unknown"
    assert re.match(f"is not of a known release .*{rows} sources", doubt)


def test_unknown_release_is_read_as_far_as_its_columns_allow(dr4):
    table = dr4.table.copy()
    table.meta["VERSION"] = "v40"
    table["A_New_Column"] = np.arange(len(table))
    table.remove_columns(["Flux_Band", "PLEC_SigCurv"])
    with pytest.warns(UnknownReleaseWarning, match="version 40"):
        catalog = read_catalog(table)
    assert len(catalog) == len(dr4)
    assert "A_New_Column" in catalog.table.colnames
    assert {"Flux_Band", "PLEC_SigCurv"}.isdisjoint(catalog.table.colnames)
    np.testing.assert_array_equal(catalog.classes, dr4.classes)


@pytest.mark.parametrize(
    ("name", "version", "more", "taken"),
    [("4FGL", f"v{NEWEST.versions[1] + 1}", 0, NEWEST.name), ("4FGL-DR4", "v35", 0, "4FGL-DR4"),
     ("4FGL", "v35.1", 0, "4FGL-DR4"), ("4FGL", "v35", 80, "4FGL-DR4"),
     ("4FGL-DR99", "v40", 0, "unknown"), ("4FGL", "v35", 720, "unknown"), ("", "", 1, "unknown")],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*more than once")
def test_a_later_version_keeps_the_meaning_of_its_release(dr4, name, version, more, taken):
    table = vstack([dr4.table, dr4.table[:more]], metadata_conflicts="silent")
    table.meta = {"CDS-NAME": name, "VERSION": version}
    with pytest.warns(UnknownReleaseWarning, match="meaning of columns, Flags and priors"):
        catalog = read_catalog(table)
    assert catalog.release.name == taken
    meant = BY_NAME.get(taken, dr4.release)
    assert (catalog.release.priors, catalog.release.soft_galactic_bit) == (meant.priors, meant.soft_galactic_bit)


@pytest.mark.parametrize("version", ["v1", "v35", "v99"])
@pytest.mark.filterwarnings("ignore::fermiclass.catalog.releases.UnknownReleaseWarning")
def test_a_column_of_the_user_is_no_class(dr4, version):
    table = dr4.table[:50].copy()
    table.add_columns([np.full(50, "psr"), np.full(50, "mine")], indexes=[0, 0], names=["CLASS", "ASSOC"])
    table.meta = {"CDS-NAME": "4FGL" if version != "v99" else "5FGL", "VERSION": version}
    catalog = read_catalog(table)
    np.testing.assert_array_equal(catalog.classes, dr4.classes[:50])
    np.testing.assert_array_equal(catalog.table["ASSOC1"], dr4.table["ASSOC1"][:50])
    np.testing.assert_array_equal(catalog.table["ASSOC"], "mine")


def test_3fgl_has_the_standard_columns_for_what_it_calls_otherwise():
    catalog = read_catalog(slim_path("3FGL"))
    table, steep = catalog.table, catalog.table["SpectrumType"] == "PowerLaw"
    np.testing.assert_array_equal(table["PL_Index"][steep], table["Spectral_Index"][steep])
    np.testing.assert_array_equal(table["Unc_PL_Index"][steep], table["Unc_Spectral_Index"][steep])
    assert np.isnan(table["Unc_PL_Index"][~steep]).all()
    assert 0 < np.sum(~steep) < np.sum(steep)
    assert table["Flux_Band"].unit == table["Flux1000"].unit
    given = Table.read(slim_path("3FGL"), 1)
    np.testing.assert_array_equal(table["Flux_Band"][:, 4], given["Flux10000_100000"])
    np.testing.assert_array_equal(table["Unc_Flux_Band"][:, 0], given["Unc_Flux100_300"])
    # The bands from 1 GeV together are those of Flux1000, 1 to 100 GeV.
    ratio = table["Flux_Band"][:, 2:].sum(axis=1) / table["Flux1000"]
    assert np.nanmedian(np.abs(ratio - 1)[table["Signif_Avg"] > 20]) < 0.05


def test_first_versions_had_one_class_column():
    first = read_catalog(slim_path("4FGL-DR1")).table
    first.remove_column("CLASS2")
    first.rename_column("CLASS1", "CLASS")
    first.meta["VERSION"] = "v17"
    catalog = read_catalog(first)
    assert catalog.release.name == "4FGL-DR1"
    assert np.sum(catalog.classes == "bll") == 1131
    first.meta["VERSION"] = "v35"
    with pytest.raises(CatalogError, match="lacks columns: CLASS1"):
        read_catalog(first)


def test_fl8y_as_released(shared_data):
    catalog = read_catalog(shared_data / "catalogs" / "gll_psc_8year_v5.fit.gz")
    assert catalog.release.name == "FL8Y"
    assert len(catalog) == 5524
    assert np.sum(catalog.classes == "bll") == 1029
    assert "CLASS1" in catalog.table.colnames
    # the one column that its file leaves without a unit
    assert catalog.table["Unc_Flux1000"].unit == catalog.table["Flux1000"].unit


def test_the_16_year_list_as_released(shared_data):
    path = shared_data / "catalogs" / "gll_psc_16year_v41_even.fit.gz"
    if not path.is_file():
        pytest.skip(f"the 16-year list is not at hand: no file {path}")
    catalog = read_catalog(path)
    assert catalog.release is BY_NAME["FL16Y"]
    assert len(catalog) > 3000
    assert {"bll", "fsrq", "psr", "msp", "bcu", ""} <= set(catalog.classes) <= {"", *CLASS_CODES}
    assert catalog.soft_galactic.any()
