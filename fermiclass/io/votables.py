"""VOTable: columns with unit, UCD and coordinate system; metadata are PARAM elements of the table."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Collection

from astropy.io.votable import parse
from astropy.io.votable.tree import CooSys, Param, TableElement, VOTableFile
from astropy.io.votable.ucd import check_ucd
from astropy.table import Table
from astropy.utils.exceptions import AstropyWarning
from astropy.utils.xml.iterparser import get_xml_iterator

from fermiclass.io.plain import check_dimensions, flat_value, plain_table, the_table

_TYPES: tuple[tuple[type, str], ...] = ((bool, "boolean"), (int, "long"), (float, "double"))

#: Coordinate systems, and the UCDs of their columns.
_SYSTEMS = (
    ("icrs", "ICRS", ("pos.eq.ra", "pos.eq.dec")),
    ("galactic", "galactic", ("pos.galactic.lon", "pos.galactic.lat")),
)

#: Characters in UTF-8 that XML 1.0 cannot hold in any form.
_NOT_IN_XML = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]")
#: Astropy escapes < > & in the value of a PARAM twice.
_PARAM_VALUE = re.compile(rb'(<PARAM [^>]*? value=")([^"]*)')
_ESCAPED_TWICE = re.compile(rb"&amp;(lt|gt|amp);")

#: UCDs of the metadata.
_UCDS = {"creator": "meta.id;meta.software", "catalog": "meta.id;meta.file", "release": "meta.version"}


def to_votable(table: Table) -> bytes:
    """Return a table of bool, int, float and text as a VOTable file; the same table gives the same bytes."""
    bare = check_dimensions(table, 2).copy()
    bare.meta.clear()
    stream = io.BytesIO()
    with warnings.catch_warnings(action="ignore", category=AstropyWarning):
        # VOUnit deprecates erg, the unit of our energy fluxes. Names that are not valid as an XML ID get another ID.
        file = VOTableFile.from_table(bare)
        element = file.get_first_table()
        element.name = "fermiclass"
        for field in element.fields:
            if field.ucd and not check_ucd(field.ucd, check_controlled_vocabulary=True):
                field.ucd = None  # some UCDs of the catalogue break the standard and make a file invalid
        _add_systems(file, element)
        for key, item in table.meta.items():
            flat = flat_value(item)
            datatype = next((name for kind, name in _TYPES if isinstance(flat, kind)), "unicodeChar")
            size = "*" if datatype == "unicodeChar" else None
            ucd = _UCDS.get(key)
            element.params.append(Param(file, name=key, value=flat, datatype=datatype, arraysize=size, ucd=ucd))
        # astropy's writer in C writes past its buffer and damages the memory of the process (astropy issue 20419); the
        # one in Python gives the same bytes.
        file.to_xml(stream, _debug_python_based_parser=True)
    content = _PARAM_VALUE.sub(lambda found: found[1] + _ESCAPED_TWICE.sub(rb"&\1;", found[2]), stream.getvalue())
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}".encode(), content)


def from_votable(content: bytes, columns: Collection[str] = ()) -> Table:
    """Return the table of a VOTable file that has some columns, or else the first one; PARAM elements are metadata.

    Raises ValueError when there is no table, several have the columns, or the data are elsewhere: any file or address
    may stand there, which is not opened.
    """
    # The parser of astropy.io.votable itself, so that encodings, entities and name spaces are understood alike.
    with get_xml_iterator(io.BytesIO(content)) as elements:
        for starts, tag, attributes, _ in elements:
            if starts and tag == "STREAM" and "href" in attributes:
                place = attributes["href"]
                raise ValueError(f"its data are not in the file but at '{place}', which is not opened: put them in")
    with warnings.catch_warnings(action="ignore", category=AstropyWarning):
        # Units and names of other tools may break the standard and still be clear.
        tables = list(parse(io.BytesIO(content), verify="ignore").iter_tables())
        element = the_table(tables, [[field.name for field in table.fields] for table in tables], columns)
        table = element.to_table(use_names_over_ids=True)
    table.meta = {param.name: param.value for param in (*element.infos, *element.params)}
    for name in table.colnames:  # long descriptions have line breaks and indents in XML
        about = table[name].description
        table[name].description = " ".join(about.split()) if about else about
    return plain_table(table)


def _add_systems(file: VOTableFile, element: TableElement) -> None:
    """Add coordinate systems, to which the columns of coordinates refer."""
    found = {str(field.ucd).partition(";")[0].lower(): field for field in reversed(element.fields) if field.ucd}
    for identifier, system, axes in _SYSTEMS:
        if found.keys() >= set(axes):
            # The epoch is J2000 within the precision of gamma-ray positions. None of these systems has an equinox.
            file.coordinate_systems.append(CooSys(ID=identifier, system=system, epoch="J2000"))
            for axis in axes:
                found[axis].ref = identifier
