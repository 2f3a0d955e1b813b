"""Tables of objects that may be counterparts: from a service, and their names, errors of positions, and fluxes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
from astropy import units as u
from astropy.table import Table, vstack
from numpy.typing import NDArray

from fermiclass.brought.column_names import own_names
from fermiclass.brought.other_list import PLACE_NAMES, OtherList, numbers_of, place_of
from fermiclass.catalog.releases import warn
from fermiclass.errors import CatalogError, in_one_line
from fermiclass.io import FloatArray
from fermiclass.io.plain import texts

CHI2_95 = -2.0 * np.log(0.05)  #: χ² of two coordinates that 95 % of the true positions have at most.
_LAT_NAME = "FGL J"  # a part of the name of a LAT source

_SIGMA, _63, _68, _90, _95 = 0.0, 1.0 - np.exp(-1.0), 0.68, 0.9, 0.95
#: Errors of positions: what part of the true positions they hold, 0 for 1 σ along each axis; their unit, where all who
#: write such columns have the same; and the names of their columns, in small letters: both axes of the sky, an ellipse
#: with the angle of its major axis, or a circle. The first that is there is taken.
_ERRORS: tuple[tuple[float, str, str], ...] = (
    (_95, "deg", "conf_95_semimajor conf_95_semiminor conf_95_posang"),  # LAT
    (_95, "arcsec", "err_ellipse_r0 err_ellipse_r1 err_ellipse_ang"),  # Chandra
    (_SIGMA, "arcsec", "eemaj eemin eepa, err_maj err_min err_ang, sigra sigdec"),  # AllWISE, 2MASS
    (_SIGMA, "", "e_raj2000 e_dej2000, e_ra_icrs e_de_icrs, e_ra e_dec, ra_err dec_err, ra_error dec_error"),
    (_SIGMA, "", "pos_err, poserr, pos_error, e_pos, unc_position, position_error"),
    (_63, "arcsec", "sc_poserr, radec_err"),  # XMM
    (_68, "", "err68, r68, pos_err_68, pos_r68"),
    (_90, "arcsec", "err90"),  # 2SXPS
    (_90, "", "r90, err_90, pos_err_90, pos_r90"),
    (_95, "", "err95, r95, err_95, pos_err_95, pos_r95"),
)
#: Names of columns, not known, that may be errors of positions.
_LIKE_ERRORS = re.compile(r"^e?_?pos|err_?(90|95|maj|ell|rad|circ)|^[xy]_?err|poserr", re.IGNORECASE)
_IN_NAME = {"_arcsec": u.arcsec, "_arcmin": u.arcmin, "_deg": u.deg, "_mas": u.mas}
_INFINITE = 1e6  # degrees, for an error without a limit

_NAMES = ("name", "iauname", "2sxps", "counterpart", "assoc", "object", "source", "id")
_FLUXES = ("flux", "fluxb", "total_flux", "ml_flux_1", "fint")  # 2SXPS, VLASS, eRASS
_WITH_FLUX = 30  # objects with a flux, at least, for categories by flux
_MOST_NAMED, _MOST_OF_LAT = 8, 0.9  # names, and the share of LAT sources from which on a column names them


VIZIER = "https://tapvizier.cds.unistra.fr/TAPVizieR/tap"

_QUERY = """SELECT mine.Source_Name, theirs.* FROM "{table}" AS theirs JOIN TAP_UPLOAD.mine AS mine
ON 1 = CONTAINS(POINT('ICRS', theirs."{ra}", theirs."{dec}"), CIRCLE('ICRS', mine.ra, mine.dec, mine.radius))"""


def fetch_candidates(
    sources: Table, table: str, *, service: str = VIZIER, ra: str = "RAJ2000", dec: str = "DEJ2000"
) -> Table:
    """Return the objects of a table of a TAP service within the semi-major axes of unassociated sources.

    A source without an object has a row without a position: it was searched.

    Parameters
    ----------
    sources
        A catalogue's table, or a label table.
    table
        Name of the table at the service, such as ``J/ApJ/914/42/table2``.
    service
        Address of the service (Table Access Protocol).
    ra, dec
        Its columns of ICRS positions, in degrees.

    Raises
    ------
    CatalogError
        When the service does not answer, or refuses.
    """
    import pyvo

    bare = np.char.strip(np.asarray(sources["CLASS1"]).astype(str)) == ""
    chosen = bare & np.isfinite(np.asarray(sources["Conf_95_SemiMajor"], float))
    names = {"ra": "RAJ2000", "dec": "DEJ2000", "radius": "Conf_95_SemiMajor"}
    mine = Table({name: np.asarray(sources[column], float)[chosen] for name, column in names.items()})
    mine["Source_Name"] = np.asarray(sources["Source_Name"]).astype(str)[chosen]
    query = _QUERY.format(table=table, ra=ra, dec=dec)
    try:
        answer = pyvo.dal.TAPService(service).run_sync(query, uploads={"mine": mine}, maxrec=1_000_000)
    except (pyvo.dal.DALAccessError, OSError) as error:
        raise CatalogError(f"{service} gives no objects of {table}: {in_one_line(error)}.") from error
    found = answer.to_table()
    vain = np.setdiff1d(mine["Source_Name"], np.asarray(found["Source_Name"]).astype(str))
    return vstack([found, Table({"Source_Name": vain})], metadata_conflicts="silent") if len(vain) else found


def object_columns(table: Table, source: str) -> dict[str, Any]:
    """Return the fields of `Candidates` that the columns of a plain table tell, known by their names.

    Raises CatalogError as :class:`OtherList` does, or when an error of a position has no unit or is no angle.
    """
    words = {name: texts(table[name]) for name in table.colnames if table[name].dtype.kind == "U"}
    counts = {name: (np.sum(np.char.find(each, _LAT_NAME) >= 0), np.sum(each != "")) for name, each in words.items()}
    of_lat = [name for name, (of_them, number) in counts.items() if of_them > _MOST_OF_LAT * number]
    listed = OtherList.of(table, source, name=_own_name(table, words, of_lat))
    taken = dict(listed.columns)
    names, notes = listed.names, []
    if taken.get("name") in of_lat:
        names = np.full(len(names), "")
        del taken["name"]
    notes.append(f"names: {taken.get('name', 'none')}")
    notes += [f"LAT sources: {', '.join(of_lat)}"] if of_lat else []
    place = [taken[name] for name in PLACE_NAMES if name in taken][:2]
    covariance, errors, note = _covariance(table, listed.dec, source)
    notes += [f"positions: {', '.join(place)}", note]
    own = {own.lower(): name for name, own in reversed(own_names(table.colnames).items())}
    used = [*of_lat, *place, *([taken["name"]] if "name" in taken else []), *errors]
    fields: dict[str, Any] = {"names": names, "ra": listed.ra, "dec": listed.dec, "covariance": covariance}
    fields |= {"categories": ("",), "membership": np.ones((len(table), 1))}
    named = max((int(of_them) for of_them, _ in counts.values()), default=0) / max(len(table), 1)
    fields["covers"] = "ellipses" if named > 0.99 else "claims" if named > 0.01 else "all"
    if "category" in own:
        found = np.unique(each := texts(table[own["category"]]))
        fields |= {"categories": tuple(found.tolist()), "membership": (each[:, None] == found).astype(float)}
        notes.append(f"{len(found)} categories: {own['category']}")
        used.append(own["category"])
    elif name := next((own[name] for name in _FLUXES if name in own), None):
        flux = numbers_of(table[name], "flux", f"'{source}'")
        if np.isfinite(flux).sum() >= _WITH_FLUX:
            unc = own.get(f"unc_{name.lower()}")
            error = np.zeros(len(flux)) if unc is None else numbers_of(table[unc], "", f"'{source}'")
            least = 1e-9 * np.abs(np.nan_to_num(flux)) + np.finfo(float).tiny
            fields |= {"flux": flux, "flux_error": np.fmax(error, least)}
            notes.append(f"flux: {name}, {'without errors' if unc is None else f'errors: {unc}'}")
            used += [name] if unc is None else [name, unc]
    limits = [own for name, own in own.items() if name.endswith("_ul")]
    notes += [f"upper limits are not used: {', '.join(limits)}"] if limits else []
    idle = [name for name in table.colnames if name not in {*used, *limits}]
    more = f" and {len(idle) - _MOST_NAMED} more" if len(idle) > _MOST_NAMED else ""
    notes += [f"not used: {', '.join(idle[:_MOST_NAMED])}{more}"] if idle else []
    empty = ~(np.isfinite(listed.ra) & np.isfinite(listed.dec))
    searched, vain = _searched(words, empty)
    notes += [f"{len(searched)} LAT sources were searched, {vain} of them in vain"] if searched else []
    lost = int(empty.sum()) - vain
    notes += [f"{lost} rows without a position are left out"] if lost else []
    return fields | {"searched": searched, "notes": (*notes,)}


def ellipse(major: FloatArray, minor: FloatArray, angle: FloatArray) -> FloatArray:
    """Return the covariance of a 95 % error ellipse, ``(n, 3)``: east-east, north-north, east-north."""
    a, b, theta = major**2 / CHI2_95, minor**2 / CHI2_95, np.radians(angle)
    sin2, cos2 = np.sin(theta) ** 2, np.cos(theta) ** 2
    return np.stack([a * sin2 + b * cos2, a * cos2 + b * sin2, (a - b) * np.sin(theta) * np.cos(theta)], axis=1)


def _own_name(table: Table, words: Mapping[str, NDArray[np.str_]], of_lat: list[str]) -> str | None:
    """Return the column with the names of objects: a usual one, or texts that differ; None where there is none."""
    places = {name for usual in PLACE_NAMES.values() for name in usual}
    texts_of_others = {name.lower(): name for name in words if name not in of_lat and name.lower() not in places}
    usual = next((texts_of_others[name] for name in _NAMES if name in texts_of_others), None)
    different = (name for name in texts_of_others.values() if len(np.unique(words[name])) > 0.9 * len(table))
    return usual or next(different, None)


def _searched(words: Mapping[str, NDArray[np.str_]], empty: NDArray[np.bool_]) -> tuple[frozenset[str], int]:
    """Return the LAT sources that a table names, and how many without an object; none if there is an object for all."""
    for each in words.values():
        if vain := int(np.sum(np.char.find(each[empty], _LAT_NAME) >= 0)):
            return frozenset(place_of(word) for word in each.tolist() if _LAT_NAME in word), vain
    return frozenset(), 0


def _covariance(table: Table, dec: FloatArray, source: str) -> tuple[FloatArray, list[str], str]:
    """Return the covariance of each position, ``(n, 3)`` deg², the columns that tell it, and a sentence on them."""
    there = {name.lower(): name for name in reversed(table.colnames)}
    for part, unit, names in _ERRORS:
        for usual, ending in product(map(str.split, names.split(",")), ("", *_IN_NAME)):
            found = [there[f"{name}{ending}"] for name in usual if f"{name}{ending}" in there]
            if len(found) < len(usual):
                continue
            known = [unit, unit, "deg"] if len(found) == 3 else [unit] * len(found)
            axes = [_in_degrees(table, *each, source, dec) for each in zip(found, known, strict=True)]
            to_95 = np.sqrt(CHI2_95 / (-2.0 * np.log(1.0 - part) if part else 1.0))
            major, minor, angle = axes if len(axes) == 3 else (axes[-1], axes[0], np.zeros(len(table)))
            kind = f"{100 * part:.0f} % radii" if part else "1 σ"
            kind += "" if table[found[0]].unit is not None or not unit else f", taken as {unit}"
            return (
                ellipse(to_95 * major, to_95 * minor, angle),
                found,
                f"errors of positions: {', '.join(found)} ({kind})",
            )
    if odd := [name for name in table.colnames if _LIKE_ERRORS.search(name)]:
        text = f"'{source}': the positions are taken as exact, beside {', '.join(odd)}"
        warn(f"{text}. Name the column of their error pos_err_arcsec")
    return np.zeros((len(table), 3)), [], "errors of positions: none, they count as exact"


def _in_degrees(table: Table, name: str, usual: str, source: str, dec: FloatArray) -> FloatArray:
    """Return a column of angles in degrees, 0 where there is none; an error of RA may be in seconds of time."""
    unit = table[name].unit or usual or _IN_NAME.get(f"_{name.lower().rpartition('_')[2]}")
    if unit is None:
        remedy = f"Name it {name}_arcsec or {name}_deg, or give it a unit"
        raise CatalogError(f"the column {name} of '{source}' has no unit. {remedy}.")
    try:
        if u.Unit(unit).physical_type == "time" and name.lower().startswith("e_ra"):
            factor = (15.0 * u.Unit(unit).to("s") / 3600.0) * np.cos(np.radians(dec))
        else:
            factor = u.Unit(unit).to("deg")
        values = np.abs(np.asarray(table[name], float) * factor)
        values = np.where(np.isnan(values), 0.0, np.minimum(values, _INFINITE))
        if not name.lower().endswith(("ang", "pa")) and np.median(values) > 1.0:
            raise ValueError(f"their median is {np.median(values):g} degrees")
        return values
    except (ValueError, TypeError) as error:
        what = f"the column {name} of '{source}' holds no angles of errors ({error})"
        raise CatalogError(f"{what}. Correct it, or name it otherwise.") from error
