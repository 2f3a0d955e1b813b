"""VOTable: columns with unit, UCD, utype and system of coordinates, and where the data are from.

Metadata are PARAM elements of the table. What the note "Data Origin in the VO" (IVOA 2024) asks of a file is said again
in INFO elements of the resource, by its names: ``title``, ``server_software``, ``is_derived_from``.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fermiclass.tables import flat_value

if TYPE_CHECKING:
    from astropy.io.votable.tree import TableElement, VOTableFile
    from astropy.table import Table

_TYPES: tuple[tuple[type, str], ...] = ((bool, "boolean"), (int, "long"), (float, "double"))

#: Systems of coordinates, and the columns of each by UCD with their utypes (of the note "Referencing STC in VOTable").
_SYSTEMS = (
    ("icrs", "ICRS", ("pos.eq.ra", "pos.eq.dec")),
    ("galactic", "galactic", ("pos.galactic.lon", "pos.galactic.lat")),
)
_POSITION = "stc:AstroCoords.Position2D.Value2"

#: In UTF-8, the characters that XML 1.0 cannot hold, however they are written.
_NOT_IN_XML = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()

#: UCDs of metadata.
_UCDS = {"creator": "meta.id;meta.software", "catalog": "meta.id;meta.file", "release": "meta.version"}


def to_votable(table: Table) -> bytes:
    """Return a table of bool, int, float and text as a VOTable file; the same table gives the same bytes."""
    from astropy.io.votable.tree import Info, Param, VOTableFile
    from astropy.io.votable.ucd import check_ucd
    from astropy.utils.exceptions import AstropyWarning

    bare = table.copy()
    bare.meta.clear()
    stream = io.BytesIO()
    with warnings.catch_warnings():
        # VOUnit deprecates erg, the unit of energy fluxes here; names that XML cannot have as ID get another.
        warnings.simplefilter("ignore", AstropyWarning)
        file = VOTableFile.from_table(bare)
        element = file.get_first_table()
        element.name = "fermiclass"
        for field in element.fields:
            if field.ucd and not check_ucd(field.ucd, check_controlled_vocabulary=True):
                field.ucd = None  # some of the catalogue's own are not to the standard, and make a file invalid
        _add_systems(file, element)
        for name, value in _origin(table.meta):
            file.resources[0].infos.append(Info(name=name, value=value))
        for key, item in table.meta.items():
            flat = flat_value(item)
            datatype = next((name for kind, name in _TYPES if isinstance(flat, kind)), "unicodeChar")
            size = "*" if datatype == "unicodeChar" else None
            ucd = _UCDS.get(key)
            element.params.append(Param(file, name=key, value=flat, datatype=datatype, arraysize=size, ucd=ucd))
        file.to_xml(stream)
    return _NOT_IN_XML.sub(_REPLACEMENT, stream.getvalue())


def from_votable(content: bytes) -> Table:
    """Return the first table of a VOTable file, its PARAM elements as metadata."""
    from astropy.io.votable import parse
    from astropy.utils.exceptions import AstropyWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AstropyWarning)
        element = parse(io.BytesIO(content), verify="ignore").get_first_table()
    table = element.to_table(use_names_over_ids=True)
    table.meta.clear()
    table.meta.update({param.name: param.value for param in element.params})
    for name in table.colnames:  # XML breaks and indents long descriptions
        about = table[name].description
        table[name].description = " ".join(about.split()) if about else about
    return table


def _add_systems(file: VOTableFile, element: TableElement) -> None:
    """Say of columns of coordinates which system and which axis they are."""
    from astropy.io.votable.tree import CooSys

    found = {str(field.ucd).partition(";")[0].lower(): field for field in reversed(element.fields) if field.ucd}
    for identifier, system, axes in _SYSTEMS:
        if found.keys() >= set(axes):
            # Positions hold for J2000 as far as gamma-ray astronomy can tell; none of these systems has an equinox.
            file.coordinate_systems.append(CooSys(ID=identifier, system=system, epoch="J2000"))
            for number, axis in enumerate(axes, start=1):
                found[axis].ref = identifier
                found[axis].utype = f"{_POSITION}.C{number}"


def _origin(meta: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    catalog, sha256 = meta.get("catalog"), meta.get("sha256")
    if catalog:
        release = str(meta.get("release", ""))
        yield "title", f"{catalog if release in ('', 'unknown') else release}: table by fermiclass"
    if meta.get("creator"):
        yield "server_software", str(meta["creator"])
    if catalog:
        yield "is_derived_from", f"{catalog}, SHA-256 {sha256}" if sha256 else str(catalog)
