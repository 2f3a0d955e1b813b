"""Sources by any of their names, in the real releases."""

import re

import pytest

from fermiclass import read_sources
from fermiclass.catalog.releases import CatalogWarning
from fermiclass.catalog.source_names import find_source
from fermiclass.errors import SourceError
from tests.conftest import make_up_catalog


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("4FGL J1104.4+3812", "4FGL J1104.4+3812"),
        ("4fglj1104.4+3812", "4FGL J1104.4+3812"),
        ("J1104.4+3812", "4FGL J1104.4+3812"),
        ("j0000.3−7355", "4FGL J0000.3-7355"),
        ("Mkn 421", "4FGL J1104.4+3812"),
        ("MKN421", "4FGL J1104.4+3812"),
        ("  bl lac ", "4FGL J2202.7+4216"),
        ("3FGL J0007.0+7302", "4FGL J0007.0+7303"),
        ("J0007.0+7302", "4FGL J0007.0+7303"),
        ("2AGL J0007+7308", "4FGL J0007.0+7303"),
        ("3FHL J0001.2-0748", "4FGL J0001.2-0747"),
        ("Vela X", "4FGL J0834.3-4542e"),
        ("Geminga Pulsar", "4FGL J0633.9+1746"),
        ("geminga", "4FGL J0633.9+1746"),
        ("Mrk 421", "4FGL J1104.4+3812"),
        ("Markarian 501", "4FGL J1653.8+3945"),
    ],
)
def test_any_name(dr4, name, expected):
    assert dr4.names[find_source(dr4, name)] == expected


def test_every_release(slim_catalog):
    of_3fgl = slim_catalog.release.name == "3FGL"
    name = "3FGL J1229.1+0202" if of_3fgl else "4FGL J1229.0+0202"
    row = find_source(slim_catalog, name)
    assert find_source(slim_catalog, "3c 273") == row
    for row in range(0, len(slim_catalog), 997):
        assert find_source(slim_catalog, slim_catalog.names[row]) == row
        assert find_source(slim_catalog, slim_catalog.names[row].removeprefix("4FGL ")) == row


@pytest.mark.parametrize(
    ("name", "sources"),
    [
        ("crab nebula", ["4FGL J0534.5+2201i (pwn, Crab Nebula); 4FGL J0534.5+2201s", ". Give one of these."]),
        ("Vela", ["4FGL J0834.3-4542e (pwn, Vela X)", "4FGL J0835.3-4510 (psr, PSR J0835-4510)", "4FGL J0851.9-4620e"]),
        ("crab", ["4FGL J0534.5+2201i", "4FGL J0534.5+2201s", "4FGL J0534.5+2200 (psr, PSR J0534+2200)"]),
        ("2FGL J0534.5+2201", ["4FGL J0534.5+2201i", "4FGL J0534.5+2201s", "4FGL J0534.5+2200"]),
    ],
)
def test_a_name_of_several_sources_lists_them(dr4, name, sources):
    with pytest.raises(SourceError, match=f"can be {len(sources)} sources") as error:
        find_source(dr4, name)
    assert all(source in str(error.value) for source in sources)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("1FGL J1104.4+3812", "4FGL J1104.4+3812"),
        ("2FGL J0835.3-4510", "4FGL J0835.3-4510"),
        ("2fglj0007.0+7303", "4FGL J0007.0+7303"),
    ],
)
def test_a_name_of_an_earlier_list_is_a_position(dr4, name, expected):
    with pytest.warns(CatalogWarning, match=f"no source is called '{re.escape(name)}'; .* {re.escape(expected)}"):
        assert dr4.names[find_source(dr4, name)] == expected


def test_positions_south_of_the_equator():
    """−0° is not +0°, and right ascension goes around."""
    catalog = make_up_catalog(["", ""], RAJ2000=[0.02, 180.0], DEJ2000=[-0.75, 0.75])
    with pytest.warns(CatalogWarning):
        assert find_source(catalog, "1FGL J2359.9-0045") == 0
    with pytest.raises(SourceError, match="no source"):
        find_source(catalog, "1FGL J1200.0-0045")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "Mkn 4211",
            r"no source of 4FGL-DR4\.fits\.gz is called 'Mkn 4211' \(in Source_Name, ASSOC_4FGL, ASSOC1, .*\)\. "
            r"Nearest names: Mkn 421 \(4FGL J1104\.4\+3812\)",
        ),
        ("4FGL J1104.4+3811", r"Nearest names: 4FGL J1104\.4\+3812"),
        ("J1104.4+3811", r"Nearest names: .*4FGL J1104\.4\+3812"),
        ("zzzz qqq", r"is called 'zzzz qqq' \(in .*\)\. Check its spelling\."),
        ("  ", r"the name of the source is empty\. Give one such as 'Mkn 421'"),
    ],
)
def test_an_unknown_name_gives_the_nearest(dr4, name, message):
    with pytest.raises(SourceError, match=message):
        find_source(dr4, name)


def test_a_primary_association_goes_before_a_secondary():
    assert find_source(make_up_catalog(["", "bll"], ASSOC1=["", "A 1"], ASSOC2=["A 1", ""]), "a1") == 1
    assert find_source(make_up_catalog(["", "bll"], ASSOC2=["A 1", ""]), "a1") == 0


def test_rows_tell_sources_of_one_name_apart():
    catalog = read_sources([{"name": "aba"[k], "ra": 10.0, "dec": k + 1.0, "TS": 50.0} for k in range(3)])
    with pytest.raises(SourceError, match=r"2 sources: row 1 at 10.000, \+1.000 deg; row 3 at 10.000, \+3.000 deg\."):
        find_source(catalog, "a")
    assert [find_source(catalog, name) for name in ("b", "row 3", "Row 1")] == [1, 2, 0]
    with pytest.raises(SourceError, match="is called 'row 4'"):
        find_source(catalog, "row 4")
