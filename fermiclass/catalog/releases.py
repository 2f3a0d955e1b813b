"""The releases of the catalogue as data: a new release is one more record."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

_OF_LOG_PARABOLA = ("LP_Index", "Unc_LP_Index", "LP_beta", "Unc_LP_beta")

#: Columns that a catalogue must have. GLON and GLAT are computed if they are missing.
REQUIRED_COLUMNS = (
    "Source_Name",
    "RAJ2000",
    "DEJ2000",
    "Signif_Avg",
    "Pivot_Energy",
    "Flux1000",
    "Unc_Flux1000",
    *_OF_LOG_PARABOLA,
    "LP_SigCurv",
    "CLASS1",
)

#: Numeric columns of the 4FGL releases with one number a source. They are known without a catalogue.
RAW_COLUMNS: tuple[str, ...] = (
    "RAJ2000", "DEJ2000", "GLON", "GLAT",
    "Conf_68_SemiMajor", "Conf_68_SemiMinor", "Conf_68_PosAng",
    "Conf_95_SemiMajor", "Conf_95_SemiMinor", "Conf_95_PosAng",
    "Signif_Avg", "Pivot_Energy", "Flux1000", "Energy_Flux100",
    "PL_Flux_Density", "PL_Index",
    "LP_Flux_Density", "LP_Index", "LP_beta", "LP_SigCurv", "LP_EPeak",
    "PLEC_Flux_Density", "PLEC_Index", "PLEC_Expfactor", "PLEC_IndexS", "PLEC_ExpfactorS", "PLEC_Exp_Index",
    "PLEC_SigCurv", "PLEC_EPeak",
    "Npred", "Variability_Index", "Frac_Variability", "Signif_Peak", "Flux_Peak",
    "Variability2_Index", "Frac2_Variability", "Signif2_Peak", "Flux2_Peak",
)  # fmt: skip

#: Edges of `Flux_Band` in MeV, by the number of bands: 5 in 3FGL, 7 in 4FGL DR1 and DR2, 8 from DR3 on (HDU
#: `EnergyBounds`).
BAND_EDGES: dict[int, tuple[float, ...]] = {
    5: (1e2, 3e2, 1e3, 3e3, 1e4, 1e5),
    7: (50.0, 1e2, 3e2, 1e3, 3e3, 1e4, 3e4, 3e5),
    8: (50.0, 1e2, 3e2, 1e3, 3e3, 1e4, 3e4, 1e5, 1e6),
}


class CatalogWarning(UserWarning):
    """A catalogue has a property that the user should know."""


class UnknownReleaseWarning(CatalogWarning):
    """The release of the catalogue is unknown. It is read as far as its columns allow."""


def warn(message: str, kind: type[Warning] = CatalogWarning) -> None:
    """Warn at the line outside fermiclass that led to it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals["__name__"].startswith("fermiclass"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, kind, stacklevel=level)


#: Facts of a release that other files have, and what is used where they are not known.
FACTS = {
    "selection": "class priors are estimated from the catalogue itself, in each run (labelling/selection.json)",
    "LASTS": "it has the terms of 4FGL-DR4 (labelling/lasting.json)",
    "past": "nothing is said of what became of its pulsar candidates (analysis/past_candidates.csv)",
}


@dataclass(frozen=True)
class Release:
    """One release of a LAT catalogue."""

    name: str  #: Name, such as 4FGL-DR4.
    catalogue: str  #: Value of the header keyword CDS-NAME.
    versions: tuple[int, int]  #: First and last version of the file (header keyword VERSION).
    years: int  #: Years of data; 0 if unknown.
    sources: int  #: Number of sources; 0 if unknown.
    reference: str  #: The paper to cite.
    bins: int = 0  #: Number of time bins of Variability_Index, which has one degree of freedom less; 0 if unknown.
    #: Standard column names (of DR4) by the names in this release, where they differ.
    renamed: Mapping[str, str] = field(default_factory=dict)
    #: Units that are missing in the released file, by standard column name.
    units: Mapping[str, str] = field(default_factory=dict)
    #: Value of the bit in Flags that marks soft sources in the Galactic plane; 0 where there is none.
    soft_galactic_bit: int = 0
    gas_bit: int = 1 << 5  #: Value of the bit that marks sources that may be clumps of gas; 0 where there is none.
    #: Mean and width of the Gaussian priors with which parameters were fitted, by column.
    priors: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    required: tuple[str, ...] = REQUIRED_COLUMNS  #: Columns that its catalogues must have, under their standard names.
    #: Columns that hold for sources whose SpectrumType is PowerLaw only, and the names under which they are kept for
    #: these sources; missing for others.
    of_power_laws: Mapping[str, str] = field(default_factory=dict)

    #: Which of :data:`FACTS` are known; None where nobody has looked, which is warned of.
    facts: tuple[str, ...] | None = None

    def prior_text(self, column: str) -> str:
        """Return the prior of a column in words."""
        if column not in self.priors:
            return "no prior"
        mean, width = self.priors[column]
        return f"a Gaussian prior of mean {mean:g} and width {width:g}"


_SOFT_GALACTIC = 1 << 13  # bit 14
_OF_CURVATURE = {"LP_beta": (0.1, 0.3)}  # Ballet et al. 2023; no error bar in FL16Y is larger than the width
_ONE_CLASS_COLUMN = {"CLASS": "CLASS1", "ASSOC": "ASSOC1"}
_SINGLE_BANDS = {  # which become Flux_Band and Unc_Flux_Band
    f"{name}{band}": f"{name}_Band_{number}"
    for name in ("Flux", "Unc_Flux")
    for number, band in enumerate(("100_300", "300_1000", "1000_3000", "3000_10000", "10000_100000"), start=1)
}
# The parameters of the exponential cut-off changed their meaning in DR3: PLEC_Index became PLEC_IndexS, at the pivot
# energy. Only columns of the same meaning are renamed.
_of_4fgl = partial(Release, facts=tuple(FACTS))
_with_soft = partial(Release, soft_galactic_bit=_SOFT_GALACTIC)
_with_priors = partial(_with_soft, priors=_OF_CURVATURE)
RELEASES: tuple[Release, ...] = (
    _of_4fgl("4FGL-DR1", "4FGL", (1, 22), 8, 5066, "Abdollahi et al. 2020, ApJS 247, 33", 8, _ONE_CLASS_COLUMN),
    _of_4fgl("4FGL-DR2", "4FGL", (23, 27), 10, 5788, "Ballet et al. 2020, arXiv:2005.11208", 10),
    _with_soft("4FGL-DR3", "4FGL", (28, 31), 12, 6659, "Abdollahi et al. 2022, ApJS 260, 53", 12, facts=tuple(FACTS)),
    _with_priors(
        "4FGL-DR4", "4FGL", (32, 35), 14, 7195, "Ballet et al. 2023, arXiv:2307.12546", 14, facts=("selection", "LASTS")
    ),
    _with_priors(
        *("FL16Y", "FL16Y", (1, 99), 16, 0, "Fermi-LAT collaboration 2025, 16-year source list", 16),
        gas_bit=0,
        facts=(),
    ),
    Release(
        *("FL8Y", "FL8Y", (1, 9), 8, 5524, "Fermi-LAT collaboration 2018, preliminary eight-year list", 8),
        _ONE_CLASS_COLUMN,
        {"Unc_Flux1000": "ph cm-2 s-1"},
        facts=(),
    ),
    # It fits a LogParabola to curved sources only. Signif_Curve compares a power law with a LogParabola, as LP_SigCurv
    # does, but for pulsars with an exponential cut-off.
    Release(
        *("3FGL", "3FGL", (13, 18), 4, 3034, "Acero et al. 2015, ApJS 218, 23", 48),
        {"PowerLaw_Index": "PL_Index", "Signif_Curve": "LP_SigCurv", **_SINGLE_BANDS},
        required=tuple(name for name in REQUIRED_COLUMNS if name not in _OF_LOG_PARABOLA),
        of_power_laws={"Unc_Spectral_Index": "Unc_PL_Index"},
        facts=("selection", "LASTS"),
    ),
)

# The versions of a release differ by a few sources. A later version may have more of them. A table with more sources
# still is another release, despite its header.
_SLACK, _LATER_SLACK = 1.01, 1.05
_MUCH_LONGER = 1.5  # ratio of the years of two releases from which labels suffer

# Releases since DR3 have the same soft Galactic bit, which earlier ones never set, and the last two the same priors.
_NEWEST = next(release for release in RELEASES if release.name == "4FGL-DR4")
_UNKNOWN = _with_priors("unknown", "", (0, 0), 0, 0, "", _NEWEST.bins, _ONE_CLASS_COLUMN, facts=())


def lacks_second_associations(release: Release) -> bool:
    """Whether a table of a release may lack the second associations that 4FGL-DR4 lost: it, and what follows it."""
    return not release.sources or (release.catalogue == _NEWEST.catalogue and release.versions >= _NEWEST.versions)


def warn_of_unknown_facts(release: Release) -> None:
    """Warn of a release of whose :data:`FACTS` nothing is known, and say what is used in their place."""
    if release.facts is None:
        used = "; ".join(f"{name}: {instead}" for name, instead in FACTS.items())
        warn(f"facts of {release.name} are not known. {used}")


def bins_of(release: str) -> int:
    """Return the number of time bins of Variability_Index in a release, by its name; 0 if it is not known."""
    return next((each.bins for each in (*RELEASES, _UNKNOWN) if each.name == release), 0)


def recognise(header: Mapping[str, object], columns: Collection[str], num_sources: int) -> tuple[Release, str]:
    """Return the release of a table by its header, or number of sources, and what is in doubt, '' for a known one.

    A later version of a release is this release; an unknown one is named 'unknown' and has the meaning of 4FGL-DR4.
    """
    catalogue = str(header.get("CDS-NAME", "")).strip()
    version = str(header.get("VERSION", "")).strip().lower().lstrip("v")
    for release in RELEASES:
        first, last = release.versions
        if catalogue:
            of_version = version.isdigit() and first <= int(version) <= last and release.catalogue == catalogue
            fits = of_version and (not release.sources or num_sources <= _SLACK * release.sources)
        else:  # The table has lost its header. Each release has its own number of sources.
            fits = release.sources > 0 and release.sources == num_sources
        if fits:
            return release, ""
    about = f"{catalogue or 'no name'}, version {version or 'none'}, {num_sources} sources"
    if not catalogue and "DataRelease" in columns:
        about += ", a release after 4FGL-DR1"  # which has no column DataRelease
    number = re.match(r"\d+", version)
    later = _UNKNOWN
    for release in RELEASES:
        begun = catalogue == release.catalogue and number and release.versions[0] <= int(number[0])
        if begun or catalogue == release.name:
            later = release
    if later.sources and num_sources > _LATER_SLACK * later.sources:
        later = _UNKNOWN
    if later is _UNKNOWN:
        means = f"read as far as its columns allow, with the meaning of columns, Flags and priors in {_NEWEST.name}"
    else:
        means = f"taken for another version of {later.name}, with the same meaning of columns, Flags and priors"
    return later, f"is not of a known release ({about}): it is {means}"


def warn_of_other_release(trained: str, labelled: Release, columns: Collection[str]) -> None:
    """Warn when training and labelled release, if known, have other exposures, or were fitted with other priors."""
    found = [release for release in RELEASES if release.name == trained]
    if not found or labelled not in RELEASES:
        return
    if max(found[0].years, labelled.years) > _MUCH_LONGER * min(found[0].years, labelled.years):
        warn(
            f"{labelled.name} has {labelled.years} years of data, and {trained}, the training catalogue, "
            f"{found[0].years}: significances grow with time, that of curvature above all, by which pulsars are known. "
            "Of the later classes of 3FGL a model of 4FGL-DR4 has an NLL of 0.48, and one of 3FGL 0.35. Train on "
            f"{labelled.name}"
        )
    for column in sorted({*found[0].priors, *labelled.priors} & set(columns)):
        if found[0].priors.get(column) != labelled.priors.get(column):
            warn(
                f"{labelled.name} fits {column} with {labelled.prior_text(column)}, and {trained}, the training "
                f"catalogue, with {found[0].prior_text(column)}: the values of faint sources differ for this reason "
                f"alone. Train on {labelled.name}, or leave {column} out (--features)"
            )
