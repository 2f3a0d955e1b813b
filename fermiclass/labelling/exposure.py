"""Lists of another exposure: at the same flux, their significances are those of a shorter or longer observation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from fermiclass.catalog import Catalog
from fermiclass.catalog.catalog import LATITUDE_EDGE
from fermiclass.catalog.releases import CatalogWarning
from fermiclass.features.definitions import FEATURES
from fermiclass.io import FloatArray
from fermiclass.nimgp.domain import TrainingDomain

_SIGNIFICANCE, _FLUX = "ln_Signif_Avg", "ln_Flux1000"
_BESIDE = ("PL_Index", "asinh_GLAT")
#: The ratio of significances from which on a list has another exposure. A list of 8 years has 0.81 for a model of 14,
#: 3FGL, of 4 years, 0.51. In the plane, sources of 4FGL-DR4 itself have ratios down to 0.5.
_OTHER, _OTHER_IN_THE_PLANE = 1.5, 2.5
_FAR = 0.35  # a list of 11 months is expected at √(11 months / 14 years) = 0.26
_NO_LABEL = (
    "Labels of such lists are wrong with confidence: all its sources count as in doubt, and none has a confident label."
)
_SOME_LABELS = "Significances, of curvature too, grow with exposure: labels are less certain than they seem."
_ERRORS = 3.0  # standard errors of the median, at least, that the ratio differs from 1


def exposure_ratio(domain: TrainingDomain, features: Sequence[str], catalog: Catalog) -> float:
    """Return the median ratio of Signif_Avg to that of training sources of the same flux, index and latitude.

    Powers one and two of ln F, PL_Index and asinh(b), as far as they are known, are fitted to ln S of the training
    sources. The median is that of the sources of at least 10° latitude, if any. The ratio is 1 for a release, without
    flux or significance, where the median is within three standard errors, or within a factor of :data:`_OTHER`.
    """
    both = [
        name for name in (_SIGNIFICANCE, _FLUX, *_BESIDE) if name in features and not FEATURES[name].missing(catalog)
    ]
    if catalog.release.years or both[:2] != [_SIGNIFICANCE, _FLUX]:
        return 1.0
    names, place = both[1:], {name: list(features).index(name) for name in both}
    there = {name: FEATURES[name].measure(catalog).value for name in place}
    x = _design(np.column_stack([domain.X[:, place[name]] for name in names]))
    y = domain.X[:, place[_SIGNIFICANCE]]
    coefficients = np.linalg.lstsq(x, y, rcond=None)[0]
    scatter = np.std(y - x @ coefficients)
    found = there[_SIGNIFICANCE] - _design(np.column_stack([there[name] for name in names])) @ coefficients
    high = np.isfinite(found) & (np.abs(catalog.column("GLAT")) >= LATITUDE_EDGE)
    found = found[high] if high.any() else found[np.isfinite(found)]
    if not len(found):
        return 1.0
    middle = float(np.median(found))
    least = max(np.log(_OTHER if high.any() else _OTHER_IN_THE_PLANE), _ERRORS * 1.25 * scatter / np.sqrt(len(found)))
    return float(np.exp(middle)) if abs(middle) > least else 1.0


def in_other_exposure(ratio: float, catalog: Catalog) -> bool:
    """Warn of a list of another exposure. Return whether it is so far off that no label of it may be confident."""
    if ratio == 1.0:
        return False
    doubtful = not _FAR < ratio < 1.0 / _FAR
    warnings.warn(
        f"{catalog}: Signif_Avg is {'low' if ratio < 1 else 'high'} for these fluxes, {ratio:.2g} times that of the "
        f"training catalogue, as with another exposure. {_NO_LABEL if doubtful else _SOME_LABELS} Check Flux1000 and "
        "its unit, or train on a catalogue of like exposure (--train-on)",
        CatalogWarning,
        stacklevel=3,
    )
    return doubtful


def _design(x: FloatArray) -> FloatArray:
    centred = x + np.array([20.5, *[0.0] * (x.shape[1] - 1)])  # ln of the usual flux
    return np.hstack([np.ones((len(x), 1)), centred, centred**2])
