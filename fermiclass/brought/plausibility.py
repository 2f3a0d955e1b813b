"""Plausibility of sources that are in no catalogue: single values, and values that contradict each other."""

from __future__ import annotations

import numpy as np
from astropy.table import Table
from numpy.typing import NDArray

from fermiclass.catalog.plausibility import EXPECTED, FEW, count_sources, set_values, that_count
from fermiclass.catalog.releases import warn

#: Pairs of columns: what the first is as the second tells it, least and largest ratio of both, and from which value on
#: they count. For a photon of Flux1000, all but the faintest sources of 4FGL have 2 to 1000 GeV of Energy_Flux100.
_RELATED = (
    ("Signif_Avg", "TS", np.sqrt, 0.5, 2.0, 3.0),
    ("LP_SigCurv", "delta_TS", np.sqrt, 0.5, 2.0, 3.0),
    ("Energy_Flux100", "Flux1000", lambda flux: 1.602e-3 * flux, 1.9, 600.0, 0.0),
)
#: A product of columns over another, and the range of its median. In 4FGL the relative error of a flux is about 1.4
#: over the significance, and 99 % of the sources have 0.8 to 3.3 in place of 1.4.
_RATIOS = (
    (("Signif_Avg", "Unc_Flux1000"), "Flux1000", 0.6, 4.0),
    (("Signif_Avg", "Unc_Energy_Flux100"), "Energy_Flux100", 0.6, 4.0),
    (("Unc_LP_Index",), "LP_Index", 0.0, 0.7),
    (("Unc_PL_Index",), "PL_Index", 0.0, 0.7),
)

_SOME = 5  # fewer sources than this tell no relation of two columns


def take_implausible_as_missing(table: Table, source: str) -> NDArray[np.bool_]:
    """Take implausible values of sources that are in no catalogue as missing, in place; return their rows, ``(N,)``.

    A column with an implausible median goes as a whole: its unit, or its sign, is in doubt. A single value is
    implausible at ten times the highest usual median, and at half the lowest one (or 1 below it, if it may be
    negative). A value with an error above the range, and values of :data:`_RELATED` columns that contradict each
    other, are not known. Warns with CatalogWarning for each such column.
    """
    in_doubt = np.zeros(len(table), bool)
    for name in sorted((name for name in table.colnames if name in EXPECTED), key=lambda name: "_UL" in name):
        values, expected = that_count(table, name), EXPECTED[name]
        least = max(expected.least, 0.5 * expected.low if expected.positive else expected.low - 1.0)
        most = min(expected.most, 10.0 * expected.high)
        usable = np.isfinite(values)
        odd = usable & ((values < least) | (values > most))
        of = name.removeprefix("Unc_")
        lost = usable & (values > most)  # an error bar that is too long says that nothing is known
        if of != name and of in table.colnames and lost.any() and table[of].shape == lost.shape:
            set_values(table, of, np.where(lost, np.nan, table[of]))
        if values.ndim == 1 and usable.sum() >= FEW:
            odd |= usable & (not expected.low <= float(np.median(values[usable])) <= expected.high)
        if np.any(odd):
            rows = odd.reshape(len(table), -1).any(axis=1)
            in_doubt |= rows
            unit = f" {expected.unit}" * bool(expected.unit)
            warn(
                f"{source}: column {name} is implausible for {count_sources(int(rows.sum()))}, such as "
                f"{values[odd].flat[0]:.3g}{unit}: taken as not known. Check its unit and its sign"
            )
            set_values(table, name, np.where(odd, np.nan, table[name]))
    for one, other, told, least, most, start in (each for each in _RELATED if {*each[:2]} <= {*table.colnames}):
        values, others = (np.asarray(table[name], np.float64) for name in (one, other))
        with np.errstate(invalid="ignore"):
            should_be = told(others)
            odd = ((values < least * should_be) | (values > most * should_be)) & (np.maximum(values, should_be) > start)
        if np.any(odd):
            in_doubt |= odd
            warn(
                f"{source}: {one} and {other} contradict each other for {count_sources(int(odd.sum()))}, such as "
                f"{values[odd][0]:.3g} and {others[odd][0]:.3g}: both are taken as not known. Check what they are"
            )
            for name in {one, other, f"{one}_UL", f"{other}_UL"} & {*table.colnames}:
                set_values(table, name, np.where(odd, np.nan, table[name]))
    return in_doubt


def warn_of_ratios(table: Table, source: str) -> None:
    """Warn where columns of sources that are in no catalogue do not fit each other, such as errors that are values."""
    for names, of, low, high in _RATIOS:
        if {*names, of} <= {*table.colnames}:
            with np.errstate(invalid="ignore", divide="ignore"):
                ratio = np.abs(np.prod([np.asarray(table[name], float) for name in names], axis=0) / table[of])
            ratio = ratio[np.isfinite(ratio)]
            if len(ratio) >= _SOME and not low <= (middle := np.median(ratio)) <= high:
                what = f"the median of {' · '.join(names)} / {of} is {middle:.2g}, expected {low:g} to {high:g}"
                warn(f"{source}: columns do not fit each other: {what}. Check which is which")
