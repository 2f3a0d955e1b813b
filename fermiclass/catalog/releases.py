"""The catalogue's releases, described as data: a new release is one more record."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

#: Columns without which a table is no 4FGL catalogue to this package. GLON and GLAT are computed where missing.
REQUIRED_COLUMNS = (
    "Source_Name",
    "RAJ2000",
    "DEJ2000",
    "Signif_Avg",
    "Pivot_Energy",
    "Flux1000",
    "Unc_Flux1000",
    "LP_Index",
    "Unc_LP_Index",
    "LP_beta",
    "Unc_LP_beta",
    "LP_SigCurv",
    "CLASS1",
)


class CatalogWarning(UserWarning):
    """Something about a catalogue that the user should know."""


class UnknownReleaseWarning(CatalogWarning):
    """The catalogue is of no release described here; it is read as far as its columns allow."""


@dataclass(frozen=True)
class Release:
    """One release of a LAT catalogue.

    Attributes
    ----------
    name
        Such as 4FGL-DR4.
    catalogue
        Its header keyword CDS-NAME.
    versions
        File versions (header keyword VERSION), first and last.
    years
        Of data; 0 where unknown.
    sources
        Number of rows, 0 where unknown.
    renamed
        Standard column names (those of DR4) by this release's own, where they differ.
    units
        Units that the released file leaves out, by standard column name.
    reference
        The paper to cite.
    """

    name: str
    catalogue: str
    versions: tuple[int, int]
    years: int
    sources: int
    reference: str
    renamed: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)


_ONE_CLASS_COLUMN = {"CLASS": "CLASS1", "ASSOC": "ASSOC1"}
# The exponential cut-off's own parameters changed their meaning in DR3 (PLEC_Index became PLEC_IndexS, at the pivot
# energy): only columns of one meaning are renamed.
RELEASES: tuple[Release, ...] = (
    Release("4FGL-DR1", "4FGL", (1, 22), 8, 5066, "Abdollahi et al. 2020, ApJS 247, 33", _ONE_CLASS_COLUMN),
    Release("4FGL-DR2", "4FGL", (23, 27), 10, 5788, "Ballet et al. 2020, arXiv:2005.11208"),
    Release("4FGL-DR3", "4FGL", (28, 31), 12, 6659, "Abdollahi et al. 2022, ApJS 260, 53"),
    Release("4FGL-DR4", "4FGL", (32, 35), 14, 7195, "Ballet et al. 2023, arXiv:2307.12546"),
    Release(
        "FL8Y",
        "FL8Y",
        (1, 9),
        8,
        5524,
        "Fermi-LAT collaboration 2018, preliminary eight-year list",
        _ONE_CLASS_COLUMN,
        {"Unc_Flux1000": "ph cm-2 s-1"},
    ),
)

# File versions of a release differ by a few sources; a table with more is another release, whatever its header says.
_SLACK = 1.01

_UNKNOWN = Release("unknown", "", (0, 0), 0, 0, "", _ONE_CLASS_COLUMN)


def recognise(header: Mapping[str, object], columns: Collection[str], num_sources: int, source: str) -> Release:
    """Find the release of a table by its header, else by its number of sources.

    Parameters
    ----------
    header
        Keywords CDS-NAME and VERSION, as far as there.
    columns
        Column names.
    num_sources
        Number of rows.
    source
        Name of the file, for the warning.

    Returns
    -------
    Release
        For a table of no known release one that is called 'unknown', with an `UnknownReleaseWarning`.
    """
    catalogue = str(header.get("CDS-NAME", "")).strip()
    version = str(header.get("VERSION", "")).strip().lower().lstrip("v")
    if catalogue and version.isdigit():
        for release in RELEASES:
            first, last = release.versions
            fits = num_sources <= _SLACK * release.sources
            if release.catalogue == catalogue and first <= int(version) <= last and fits:
                return release
    elif not catalogue:
        # A table without its header: DataRelease came with DR2, and each release has its own number of sources.
        for release in RELEASES:
            if release.sources == num_sources:
                return release
    about = f"{catalogue or 'no name'}, version {version or 'none'}, {num_sources} sources"
    if not catalogue and "DataRelease" in columns:
        about += ", some release after 4FGL-DR1"
    warnings.warn(
        f"{source} is of no release that fermiclass knows ({about}): it is read as far as its columns allow, with the "
        f"meaning they have in {RELEASES[3].name}",
        UnknownReleaseWarning,
        stacklevel=3,
    )
    return _UNKNOWN
