"""What the associations of a catalogue say of its sources without one: which AGN get associated, and what CLASS2 says.

Whether an AGN is associated depends on its place and brightness: counterpart catalogues are incomplete in the Galactic
plane, and faint sources have large error ellipses. For pulsars and other sources no such rule is known; their odds
against each other stay as trained. CLASS2 is the class of a counterpart that is too improbable for ASSOC1.
"""

from __future__ import annotations

import functools
import json
import math
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog import CLASS_TREE, Catalog, ClassGrouping
from fermiclass.catalog.catalog import DISC, LATITUDE_EDGE
from fermiclass.catalog.releases import CatalogWarning
from fermiclass.io import FloatArray
from fermiclass.labelling.claims import Claims

#: Odds of fsrq against bll among AGN without a type, relative to AGN with a type: broad lines give an fsrq its type
#: early. Models of DR1 to DR4 expect 74 fsrq among the bcu that FL16Y types in one half of the sky; FL16Y has 35.
UNTYPED_FSRQ = 0.5

#: Odds of a pulsar or another source among bcu, relative to the trained odds. FL16Y classifies 731 bcu of DR4 in one
#: half of the sky, and 2 are not AGN; it is more than that, because lists keep the associations of earlier ones.
BCU_NOT_AGN = 0.02

REFERENCE_RANGE = 1.5  #: Factor within which S₀ may be right: later lists allow it, and its fit cannot tell.

#: How much more often a source of a kind has a second association of this kind than other sources have one by chance.
#: Of the sources that 4FGL leaves unassociated and FL16Y classifies in the even cells of the sky, 24 % of the AGN and
#: 4 % of the others have CLASS2 of an AGN (docs/development/open-world/second_associations.py).
RATIO = 6.0

_LEAST = 20  # number of sources of each kind that a regression needs
_SURE = 1e-12  # no probability is nearer to 0 or 1
_REFERENCES, _INSIDE = (1.0, 1e3), 1.01  # bounds of S₀, and the factor within which a value is at a bound
_AGN, _SECOND = CLASS_TREE["agn"], "CLASS2"
_MOST_BY_CHANCE = 0.05  # largest rate: then no source has CLASS2 with a probability of more than 0.4


@dataclass(frozen=True)
class SelectionPrior:
    """Odds of an AGN among unassociated sources, relative to the odds among the training sources.

    ``r(S, b) = τ(b) (S / S₀)^slope`` with the significance S = Signif_Avg, and ``τ(b) = [1 + exp(α + β asinh(|b|/3°))]
    / τ₀``. A logistic regression of *unassociated* (weighted by their probability to be an AGN) against *associated
    AGN* on ln S, at 10 degrees and more from the Galactic plane, gives the slope; one of *AGN without a type* (bcu)
    against *AGN with a type* on asinh(|b|/3°) gives α and β: the classifier learns from AGN with a type, which become
    rarer towards the plane. τ₀ is the mean over these. S₀ is the significance at which an AGN's odds stay as trained,
    found by a rule of thumb (:func:`_reference`) that later lists support within :data:`REFERENCE_RANGE`.
    """

    slope: float = 0.0  #: Exponent of the significance, at most 0.
    intercept: float = -np.inf  #: Coefficient α.
    gradient: float = 0.0  #: Coefficient β.
    norm: float = 1.0  #: Mean τ₀.
    reference: float = 1.0  #: Significance S₀.

    def __post_init__(self) -> None:
        if not min(self.norm, self.reference) > 0 or self.slope > 0:
            raise ValueError(f"{self} is not valid: expected a slope of at most 0, norm and reference above 0")

    @classmethod
    def fit(cls, catalog: Catalog, p_agn: FloatArray, trained_odds: float) -> SelectionPrior:
        """Estimate the prior from a training catalogue; with too few sources, or without GLAT, it has no effect.

        `p_agn` is the probability, as trained, that each source is an AGN, ``(N,)``, `trained_odds` are the odds of an
        AGN among the training sources.
        """
        ln_s, near, known = _coordinates(catalog)
        is_agn = np.isin(catalog.classes, _AGN) & known
        unassociated = (catalog.classes == "") & known
        far = np.abs(catalog.column("GLAT")) >= LATITUDE_EDGE
        typed = is_agn & (catalog.classes != "bcu")
        latitude = _regression(near, is_agn & (catalog.classes == "bcu"), typed)
        if latitude is None:
            return cls()
        intercept, gradient = latitude
        norm = float(np.mean(1.0 + np.exp(intercept + gradient * near[typed])))
        by_latitude = cls(0.0, intercept, gradient, norm)
        corrected = p_agn * by_latitude.odds(catalog)
        weight = np.where(unassociated, corrected / (corrected + 1.0 - p_agn), 1.0)
        slope = _regression(ln_s, unassociated & far, is_agn & far, weight)
        if slope is None or slope[1] >= 0.0:
            return by_latitude
        found, mixed = replace(by_latitude, slope=slope[1]), unassociated & far
        reference = _reference(found.odds(catalog)[mixed], found.slope, p_agn[mixed], trained_odds)
        if not _REFERENCES[0] * _INSIDE < reference < _REFERENCES[1] / _INSIDE:
            warnings.warn(
                f"the features do not tell how completely {catalog.source} has the AGN: the class priors are those of "
                "the training sources. Learn from a release of 4FGL (--train-on)",
                CatalogWarning,
                stacklevel=2,
            )
            return cls()
        return replace(found, reference=reference)

    def odds(self, sources: Catalog) -> FloatArray:
        """Return r for unassociated sources, ``(n,)``; 1 for all others, and if S or b is unknown."""
        ln_s, near, _ = _coordinates(sources)
        latitude = 1.0 + np.exp(self.intercept + (self.gradient * near if self.gradient else 0.0))
        significance = np.exp(self.slope * (ln_s - np.log(self.reference))) if self.slope else 1.0
        odds = latitude / self.norm * significance
        return np.where(np.isfinite(odds) & (sources.classes == ""), odds, 1.0)

    def expecting(
        self, fraction: float, p_agn: FloatArray, sources: Catalog, columns: Collection[str]
    ) -> SelectionPrior:
        """Return the prior of a model with other features, of these columns of the catalogue.

        Without GLAT or Signif_Avg it has no factor of them. A constant, in τ₀, makes a fraction of n unassociated
        sources AGN, which have the probabilities p as trained: ``mean[r p / (r p + 1 − p)] = fraction``.
        """
        if self == SelectionPrior() or not len(sources):  # no correction is known, or none is needed
            return self
        from scipy.optimize import brentq
        from scipy.special import expit, logit

        kept = self if "GLAT" in columns else replace(self, intercept=-np.inf, gradient=0.0, norm=1.0)
        kept = kept if "Signif_Avg" in columns else replace(kept, slope=0.0)
        log_odds = logit(np.clip(p_agn, _SURE, 1.0 - _SURE)) + np.log(kept.odds(sources))
        shift = brentq(lambda x: float(np.mean(expit(log_odds + x))) - fraction, -50.0, 50.0)
        return replace(kept, norm=kept.norm * math.exp(-shift))

    def ratios(self, sources: Catalog, grouping: ClassGrouping, classes: Sequence[str]) -> FloatArray:
        """Return the factors of the probabilities, ``(n, C)``.

        For unassociated sources, that of AGN classes is r; for bcu, that of fsrq without bll is :data:`UNTYPED_FSRQ`,
        and that of classes that are not of AGN :data:`BCU_NOT_AGN`. All others are 1, whatever the other classes are.
        """
        of_agn = grouping.of_agn(classes)
        of_fsrq = [{"bll", "fsrq"} & set(grouping.members[name]) == {"fsrq"} for name in classes]
        ratios = np.where(of_agn, self.odds(sources)[:, None], 1.0)
        of_bcu = np.where(of_fsrq, UNTYPED_FSRQ, np.where(of_agn, 1.0, BCU_NOT_AGN))
        return np.where((sources.classes == "bcu")[:, None], of_bcu, ratios)

    def to_dict(self) -> dict[str, float]:
        """Return the numbers by name, in a form that JSON can hold."""
        return {name: float(value) for name, value in asdict(self).items() if np.isfinite(value)}


def _coordinates(catalog: Catalog) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Return ln Signif_Avg, asinh(|GLAT|/3°), and the mask of sources with both, ``(N,)`` each."""
    significance, latitude = catalog.column("Signif_Avg"), catalog.column("GLAT")
    positive = np.where(significance > 0, significance, np.nan)
    ln_s, near = np.log(positive), np.arcsinh(np.abs(latitude) / DISC)
    return ln_s, near, np.isfinite(ln_s) & np.isfinite(near)


def _reference(r: FloatArray, slope: float, p: FloatArray, odds: float | FloatArray) -> float:
    """Return S₀ that maximises ``Π (a p + 1 − p) / (a odds + 1)`` with ``a = r S₀^−slope``.

    The sources have the odds r at S₀ = 1, and are AGN with p as trained. With the odds at their significance and
    latitude each factor would be a likelihood; with those of all training sources S₀ comes out twice as large, and
    labels are better on FL16Y (docs/development/open-world/selection.py).
    """
    from scipy.optimize import minimize_scalar  # a quarter of a second, which no other command needs

    def loss(ln_s0: float) -> float:
        a = r * np.exp(-slope * ln_s0)
        return -math.fsum(np.log((a * p + 1.0 - p) / (a * odds + 1.0)))  # the same in any order of the sources

    return float(np.exp(minimize_scalar(loss, bounds=np.log(_REFERENCES), method="bounded").x))


def _regression(
    x: FloatArray, one: NDArray[np.bool_], other: NDArray[np.bool_], weight: FloatArray | None = None
) -> tuple[float, float] | None:
    """Return intercept and slope of the log odds of `one` against `other` in x; None if either has too few sources."""
    from sklearn.linear_model import LogisticRegression

    if min(one.sum(), other.sum()) < _LEAST:
        return None
    chosen = one | other
    fitted = LogisticRegression(C=1e6, max_iter=1000).fit(
        x[chosen, None], one[chosen], sample_weight=None if weight is None else weight[chosen]
    )
    return float(fitted.intercept_[0]), float(fitted.coef_[0, 0])


@dataclass(frozen=True)
class SecondAssociations:
    """Likelihood of CLASS2 for each kind k of source, a top class of :data:`fermiclass.catalog.CLASS_TREE`.

    A source of the kind has CLASS2 of it with probability ρ b_k, and another one with b_k, by chance; ρ is
    :data:`RATIO`. If fractions f_k of the unassociated sources have such a CLASS2, and m_k are of the kind by the
    model, then ``b_k = f_k / [1 + (ρ − 1) m_k]``.
    """

    chance: Mapping[str, float] = field(default_factory=dict)  #: b_k by kind; {} for no effect.

    def __post_init__(self) -> None:
        if not set(self.chance) <= set(CLASS_TREE) or not all(0 <= b <= _MOST_BY_CHANCE for b in self.chance.values()):
            raise ValueError(f"chance={self.chance} is not valid: expected up to {_MOST_BY_CHANCE} by kind of source")

    @classmethod
    def fit(cls, catalog: Catalog, fractions: Mapping[str, float]) -> SecondAssociations:
        """Estimate b from a catalogue and the expected fractions m of its unassociated sources by kind."""
        kind = kinds_of(catalog[catalog.classes == ""])
        if not len(kind) or not np.any(kind):
            return cls()
        rates = {name: float(np.mean(kind == name)) / (1 + (RATIO - 1) * m) for name, m in fractions.items()}
        return cls({name: min(b, _MOST_BY_CHANCE) for name, b in rates.items()})

    def __bool__(self) -> bool:
        return bool(self.chance)

    def factors(self, sources: Catalog, grouping: ClassGrouping, classes: Sequence[str]) -> FloatArray:
        """Return the likelihood of each class up to a factor of the source, ``(n, C)``; 1 without evidence."""
        factors = np.ones((len(sources), len(classes)))
        if not self.chance or _SECOND not in sources.table.colnames:
            return factors
        of_kind = {name: np.where(grouping.within(name, classes), RATIO, 1.0) for name in self.chance}
        kind, bare = kinds_of(sources), sources.classes == ""
        for name, ratio in of_kind.items():
            factors[bare & (kind == name)] = ratio
        none = 1.0 - np.sum([b * of_kind[name] for name, b in self.chance.items()], axis=0)
        factors[bare & (kind == "")] = none / none.max()
        return factors


def kinds_of(sources: Catalog) -> NDArray[np.str_]:
    """Return the kind of each source's CLASS2, a top class of CLASS_TREE, ``(n,)``; '' where it says nothing."""
    if _SECOND not in sources.table.colnames:
        return np.full(len(sources), "")
    codes = np.char.lower(np.char.strip(np.ma.filled(np.ma.asarray(sources.table[_SECOND]), "").astype(str)))
    kinds = np.full(len(sources), "", dtype="U6")
    for name, members in CLASS_TREE.items():
        kinds[np.isin(codes, members)] = name
    return kinds


class Associations(NamedTuple):
    """What the associations of a catalogue say, as the default features tell it."""

    selection: SelectionPrior
    second: SecondAssociations
    claims: Claims
    fractions: Mapping[str, float]  #: Expected fractions of the unassociated sources by kind.


@functools.cache
def of_release(name: str) -> Associations | None:
    """Return what the associations of a release say; None for other catalogues."""
    content = json.loads(files("fermiclass.labelling").joinpath("selection.json").read_text(encoding="utf-8"))
    if (kept := content.get(name)) is None:
        return None
    said = SelectionPrior(**kept["selection"]), SecondAssociations(kept["second"]), Claims(kept["claims"])
    return Associations(*said, kept["fractions"])
