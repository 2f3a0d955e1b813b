"""Sources by any of their names, in the real releases."""

import numpy as np
import pytest
from astropy.table import Table

from fermiclass.catalog import RELEASES, Catalog
from fermiclass.catalog.names import describe_source, find_source
from fermiclass.errors import SourceError


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
    ],
)
def test_any_name(dr4, name, expected):
    assert dr4.names[find_source(dr4, name)] == expected


def test_every_source_is_found_by_its_own_name(dr4):
    for row in range(0, len(dr4), 997):
        assert find_source(dr4, dr4.names[row]) == row
        assert find_source(dr4, dr4.names[row].removeprefix("4FGL ")) == row


def test_every_release(slim_catalog):
    assert slim_catalog.names[find_source(slim_catalog, "3c 273")] == "4FGL J1229.0+0202"


def test_an_ambiguous_name_lists_the_candidates(dr4):
    message = (
        r"'crab nebula' is the name of 2 sources: 4FGL J0534\.5\+2201i \(pwn, Crab Nebula\); 4FGL J0534\.5\+2201s "
        r"\(pwn, Crab Nebula\)\. Give one of these"
    )
    with pytest.raises(SourceError, match=message):
        find_source(dr4, "crab nebula")


def test_many_candidates_are_cut_short():
    table = Table({"Source_Name": [f"4FGL J{k}" for k in range(11)], "CLASS1": ["bll"] * 11, "ASSOC1": ["twin"] * 11})
    catalog = Catalog(table, RELEASES[0], "t.fits", "0" * 64)
    with pytest.raises(
        SourceError, match=r"of 11 sources: 4FGL J0 \(bll, twin\); .*4FGL J7 \(bll, twin\), and 3 more\."
    ):
        find_source(catalog, "Twin")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "Mrk 421",
            r"no source of 4FGL-DR4\.fits\.gz is called 'Mrk 421'\. Nearest names: Mkn 421 \(4FGL J1104\.4\+3812\)",
        ),
        ("4FGL J1104.4+3811", r"Nearest names: 4FGL J1104\.4\+3812"),
        ("J1104.4+3811", r"Nearest names: .*4FGL J1104\.4\+3812"),
        ("zzzz qqq", r"is called 'zzzz qqq'\. Check its spelling\."),
        ("  ", r"the name of the source is empty\. Give one such as 'Mkn 421'"),
    ],
)
def test_an_unknown_name_gives_the_nearest(dr4, name, message):
    with pytest.raises(SourceError, match=message):
        find_source(dr4, name)


def test_a_primary_association_goes_before_a_secondary():
    table = Table(
        {"Source_Name": ["4FGL J1", "4FGL J2"], "CLASS1": ["", "bll"], "ASSOC1": ["", "A 1"], "ASSOC2": ["A 1", ""]}
    )
    catalog = Catalog(table, RELEASES[3], "t.fits", "0" * 64)
    assert find_source(catalog, "a1") == 1
    table.remove_column("ASSOC1")
    assert find_source(Catalog(table, RELEASES[3], "t.fits", "0" * 64), "a1") == 0


def test_descriptions(dr4):
    rows = [find_source(dr4, name) for name in ("Mkn 421", "4FGL J0000.3-7355")]
    assert [describe_source(dr4, row) for row in rows] == [
        "4FGL J1104.4+3812 (bll, Mkn 421)",
        "4FGL J0000.3-7355 (unassociated)",
    ]
    assert np.all(dr4.classes[rows] == ["bll", ""])
