"""Shares of the classes in groups of sources: unassociated ones, here or there on the sky, bcu and unk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog import UNCERTAIN_CLASSES
from fermiclass.errors import CatalogError, ClassError
from fermiclass.shares import Shares

if TYPE_CHECKING:
    from fermiclass.catalog import Catalog, ClassGrouping

#: Groups of sources to be labelled whose shares of the classes are estimated apart.
STATUSES = ("unassociated", *UNCERTAIN_CLASSES)

#: Ways to choose the shares.
SHARES = ("trained", "estimated", "latitude")

#: |GLAT| in degrees that parts the unassociated sources for ``shares="latitude"``, and the names of the parts.
LATITUDE_EDGE = 10.0
LOW_LATITUDE, HIGH_LATITUDE = "unassociated low", "unassociated high"

#: Shares of the classes by status: estimated, or given as numbers by class.
GroupShares = Mapping[str, Shares | Mapping[str, float]]

#: Keys of the groups' shares in the label table's metadata.
SHARES_KEYS = {
    "unassociated": "w_unass",
    LOW_LATITUDE: "w_low",
    HIGH_LATITUDE: "w_high",
    "bcu": "w_bcu",
    "unk": "w_unk",
}
_LEAST_SHARE = 1e-6


def default_shares(grouping: ClassGrouping) -> str:
    """Return 'estimated', or 'trained' where a class gathers all ``other`` sources.

    That shares can be estimated rests on every class looking the same among the sources to be labelled as among those
    learned from. A class that is a mixture of kinds does not, and takes over what no class explains well.
    """
    return "trained" if "other" in grouping.names else "estimated"


def statuses(catalog: Catalog, *, by_latitude: bool = False) -> NDArray[np.str_]:
    """Return 'unassociated', or which part of these, or the class code, ``(N,)``.

    Raises
    ------
    CatalogError
        When the catalogue lacks GLAT, which parts them.
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
    """Return w_c/π_c for the group of every source, ``(n, C)``, 1 for sources of no group.

    Raises
    ------
    CatalogError
        When the shares are by latitude, and the catalogue lacks GLAT.
    ClassError
        When the shares name other groups or classes, or both a group and a part of it.
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
        w = np.maximum(np.asarray(given, float), _LEAST_SHARE)  # so that no class is ruled out for good
        if name not in SHARES_KEYS or not np.all(np.isfinite(w)):
            raise ClassError(
                f"the shares of '{name}' do not fit: expected one of {', '.join(SHARES_KEYS)}, with a number "
                f"for each of {', '.join(classes)}"
            )
        ratios[status == name] = w / w.sum() / training_shares
    return ratios


def shares_text(shares: Shares | Mapping[str, float], classes: Iterable[str]) -> str:
    """Return the shares as they stand in the label table's metadata."""
    if not isinstance(shares, Shares):
        return ",".join(f"{name}={share:.4g}" for name, share in shares.items())
    found = zip(classes, shares.mean, shares.std, strict=True)
    return ",".join(f"{name}={mean:.3f}+-{std:.3f}" for name, mean, std in found)
