"""Class priors of the sources to be labelled: how they are chosen, applied, written and read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog import CLASS_TREE, UNCERTAIN_CLASSES
from fermiclass.errors import CatalogError, ClassError
from fermiclass.io.arrays import FloatArray
from fermiclass.labelling.label_shift import Shares
from fermiclass.labelling.selection import SelectionPrior

if TYPE_CHECKING:
    from fermiclass.catalog import Catalog, ClassGrouping

#: Groups of sources to be labelled. Each has class priors of its own.
STATUSES = ("unassociated", *UNCERTAIN_CLASSES)

#: Ways to choose the class priors.
SHARES = ("trained", "selection", "estimated", "latitude")

#: |GLAT| in degrees that divides the unassociated sources for ``shares="latitude"``, and the names of both parts.
LATITUDE_EDGE = 10.0
LOW_LATITUDE, HIGH_LATITUDE = "unassociated low", "unassociated high"

#: Class priors by group of sources: estimated, or given as numbers by class.
GroupShares = Mapping[str, Shares | Mapping[str, float]]

#: Keys of the groups' class priors in the metadata of a label table.
SHARES_KEYS = {
    "unassociated": "w_unass",
    LOW_LATITUDE: "w_low",
    HIGH_LATITUDE: "w_high",
    "bcu": "w_bcu",
    "unk": "w_unk",
}
_SELECTION_KEY = "w_select"

#: Note in the metadata of a label table with estimated class priors.
ERRORS_KEY = "w_note"
ERRORS_NOTE = "The errors (+-) of estimated class priors are too small: they hold the scatter of the sources only"
_LEAST_SHARE = 1e-6


@dataclass(frozen=True, eq=False)
class ClassPriors:
    """Class priors by which the probabilities of the labelled sources are corrected.

    Attributes
    ----------
    way
        One of :data:`SHARES`, or ``'given'``.
    groups
        Class priors by group of sources; empty for 'trained' and 'selection'.
    selection
        Odds for each source, if `way` is 'selection'; else None.
    """

    way: str = "trained"
    groups: GroupShares = field(default_factory=dict)
    selection: SelectionPrior | None = None

    def ratios(
        self, sources: Catalog, grouping: ClassGrouping, classes: list[str], training_shares: Callable[[], FloatArray]
    ) -> FloatArray | None:
        """Return the factors of the probabilities, ``(n, C)``; None for no correction.

        `training_shares` is only called for priors of groups.

        Raises
        ------
        CatalogError
            When the priors are by latitude, and the catalogue lacks GLAT.
        ClassError
            When the priors name unknown groups or classes, or both a group and a part of it.
        """
        if self.selection is not None:
            return self.selection.ratios(sources, grouping, classes)
        return share_ratios(sources, self.groups, classes, training_shares()) if self.groups else None

    def to_meta(self, classes: Iterable[str]) -> dict[str, str]:
        """Return the entries of a label table's metadata; :func:`stated_priors` reads them."""
        entries = {"shares": self.way}
        if self.selection is not None:
            numbers = self.selection.to_dict().items()
            entries[_SELECTION_KEY] = ",".join(f"{name}={value:.6g}" for name, value in numbers)
        if any(isinstance(group, Shares) for group in self.groups.values()):
            entries[ERRORS_KEY] = ERRORS_NOTE
        return entries | {SHARES_KEYS[name]: shares_text(group, classes) for name, group in self.groups.items()}


def stated_priors(meta: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the class priors that a label table states, as text by group of sources and class.

    Raises
    ------
    ValueError
        When an entry is not a list of names and values.
    """
    found: dict[str, dict[str, str]] = {}
    for group, key in SHARES_KEYS.items():
        if key in meta:
            pairs = [part.partition("=") for part in str(meta[key]).split(",")]
            if not all(name and equals and value for name, equals, value in pairs):
                raise ValueError(f"{key} is {str(meta[key])!r}")
            found[group] = {name: value for name, _, value in pairs}
    return found


def default_shares(grouping: ClassGrouping) -> str:
    """Return 'selection' if the classes cover all sources, else 'trained'.

    Estimated priors are never the default, because they hold in a closed world only: each class must look the same
    among the training sources and the labelled sources, and there must be no further class.
    """
    of_agn = any(set(grouping.members[name]) <= set(CLASS_TREE["agn"]) for name in grouping.names)
    return "selection" if of_agn and "other" in grouping.names else "trained"


def statuses(catalog: Catalog, *, by_latitude: bool = False) -> NDArray[np.str_]:
    """Return for each source 'unassociated' or the part by latitude, or else the class code, ``(N,)``.

    Raises
    ------
    CatalogError
        When parts by latitude are asked for and the catalogue lacks GLAT.
    """
    unassociated: NDArray[np.str_] = np.full(len(catalog), STATUSES[0])
    if by_latitude:
        if not catalog.has_column("GLAT"):
            raise CatalogError(
                f"{catalog.source} has no column GLAT: shares by latitude need it. Choose --shares estimated."
            )
        near = np.abs(np.asarray(catalog.table["GLAT"], np.float64)) < LATITUDE_EDGE
        unassociated = np.where(near, LOW_LATITUDE, HIGH_LATITUDE)
    return np.where(catalog.classes == "", unassociated, catalog.classes)


def share_ratios(
    sources: Catalog, groups: GroupShares, classes: Sequence[str], training_shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return w_c/π_c for the group of each source, ``(n, C)``; 1 for sources outside the groups.

    Raises
    ------
    CatalogError
        When the shares are by latitude and the catalogue lacks GLAT.
    ClassError
        When the shares name unknown groups or classes, or both a group and a part of it.
    """
    ratios = np.ones((len(sources), len(classes)))
    by_latitude = any(name in groups for name in (LOW_LATITUDE, HIGH_LATITUDE))
    if by_latitude and STATUSES[0] in groups:
        raise ClassError(
            f"the shares name '{STATUSES[0]}' and a part of these sources: give '{STATUSES[0]}', or "
            f"'{LOW_LATITUDE}' and '{HIGH_LATITUDE}'"
        )
    status = statuses(sources, by_latitude=by_latitude)
    for name, shares in groups.items():
        given = shares.mean if isinstance(shares, Shares) else [shares.get(c, np.nan) for c in classes]
        w = np.maximum(np.asarray(given, float), _LEAST_SHARE)  # no class is ruled out entirely
        if name not in SHARES_KEYS or not np.all(np.isfinite(w)):
            raise ClassError(
                f"the shares of '{name}' do not fit: expected one of {', '.join(SHARES_KEYS)}, with a number "
                f"for each of {', '.join(classes)}"
            )
        ratios[status == name] = w / w.sum() / training_shares
    return ratios


def shares_text(shares: Shares | Mapping[str, float], classes: Iterable[str]) -> str:
    """Return the shares as text for the metadata of a label table."""
    if not isinstance(shares, Shares):
        return ",".join(f"{name}={share:.4g}" for name, share in shares.items())
    found = zip(classes, shares.mean, shares.std, strict=True)
    return ",".join(f"{name}={mean:.3f}+-{std:.3f}" for name, mean, std in found)
