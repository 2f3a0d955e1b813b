"""Counterparts: the class of a source and the object that it is, in one posterior.

A source of class c has its counterpart in category k of a table with probability c_ck, the completeness. With f/ρ, the
excess of :meth:`fermiclass.brought.candidates.Candidates.around`, the candidates j of a source say

    BF_c = 1 − Σ_k c_ck + Σ_j c_ck(j) f(r_j) / ρ_k(j),    P'_c ∝ P_c BF_c,    P(j) = Σ_c P'_c c_ck(j) f_j / (ρ BF_c).

The completeness is learned from the sources without an association: those with one have a counterpart by construction.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from astropy.table import Column, Table
from numpy.typing import NDArray

from fermiclass.brought.candidates import KINDS, STATUSES, Candidates, Surroundings, apart, share_of_real
from fermiclass.catalog import ClassGrouping
from fermiclass.catalog.releases import CatalogWarning
from fermiclass.errors import CatalogError
from fermiclass.io import FloatArray
from fermiclass.labelling.labels import BF_CLAIM, STATUS, Labels
from fermiclass.labelling.prediction_columns import add_column

COUNTERPARTS_KEY = "cptables"  #: Metadata of a label table: what each table of counterparts says, as JSON.

BEFORE = "Gamma_P_"  #: Prefix of a column with the probability of a class without counterparts.

MOST_OF_CLAIMS = 50.0  #: A claimed counterpart changes the odds by this factor at most.

LEAST_SIGNIFICANCE = 2.0  #: A table with fewer standard errors of real counterparts changes nothing.

_NONE = 1.0  # sources without a counterpart that are added to each kind: the weak prior
#: Quantiles of flux at which categories may begin, their number less one, and the gain that one more is worth.
_QUANTILES, _MOST_CUTS, _LEAST_GAIN = (0.2, 0.35, 0.5, 0.65, 0.75, 0.85, 0.92, 0.96, 0.98, 0.99), 2, 3.0
_STEPS_FOR_CUTS = 300
_STEPS, _TOLERANCE = 2000, 1e-7
_LEAST_INFORMATION, _TINY = 1e-12, 1e-12
_MOST_CENTRED = 20  # objects at the places of LAT sources, so many times all others
_LEAST_SHOWN = 0.01  # posterior of a candidate in the table of all


@dataclass(frozen=True)
class Strength:
    """What a table of counterparts says of the sources without an association."""

    name: str  #: Name of the table.
    sha256: str  #: Checksum of its content.
    covers: str  #: One of :data:`fermiclass.brought.candidates.COVERS`.
    objects: int  #: Its objects in 95 % ellipses.
    chance: float  #: As many are expected by chance.
    share: float  #: Share of real counterparts among them, by where they lie in the ellipses.
    share_error: float  #: Standard error, of objects by chance.
    categories: tuple[str, ...]  #: Names of the K categories.
    completeness: Mapping[str, Sequence[float]]  #: c by kind, (K,) each; {} if the table changes nothing.
    errors: Mapping[str, Sequence[float]]  #: Their standard errors.
    statuses: Sequence[str] = STATUSES[:1]  #: The sources for which counterparts are sought.
    cuts: Sequence[float] = ()  #: Fluxes between the categories: :func:`find_cuts`.

    @property
    def says(self) -> bool:
        """Whether there are real counterparts among the objects."""
        return self.share > LEAST_SIGNIFICANCE * self.share_error

    @classmethod
    def of(cls, candidates: Candidates, near: Surroundings, unassociated: NDArray[np.bool_]) -> Self:
        """Return whether a table says anything of the unassociated ones of N sources, without a completeness."""
        u, of = near.u[(near.u <= 1.0) & unassociated[near.source]], candidates
        numbers = len(u), float(near.chance[unassociated].sum()), *share_of_real(u)
        return cls(of.source, of.sha256, of.covers, *numbers, of.categories, {}, {}, of.statuses)

    def factors(self, near: Surroundings, number: int, *, capped: bool = True) -> FloatArray:
        """Return BF of each kind, ``(N, 3)``; 1 for a source that the table does not cover."""
        factors = np.where(near.covered[:, None], 1.0 + (summed(near, number) - 1.0) @ self._by_kind.T, 1.0)
        return np.minimum(factors, MOST_OF_CLAIMS) if capped and self.covers == "claims" else factors

    def posterior(self, near: Surroundings, after: FloatArray, factors: FloatArray) -> FloatArray:
        """Return the probability that each pair is a source and its counterpart, from P' and BF of all, ``(N, 3)``."""
        return np.asarray(np.sum((after / factors)[near.source] * (near.excess @ self._by_kind.T), axis=1))

    @property
    def _by_kind(self) -> FloatArray:
        return np.array([self.completeness.get(kind, np.zeros(len(self.categories))) for kind in KINDS], float)


Used = Sequence[tuple[Candidates, Strength, Surroundings]]  # tables that say something, each object in one of them


def together(used: Used, status: NDArray[np.str_], claims: FloatArray, *, capped: bool = True) -> FloatArray:
    """Return BF of all tables by kind, ``(N, 3)``: ``1 + Σ (BF − 1)``, as a source has one counterpart at most.

    Those of `claims` are one more table.
    """
    total = claims.copy()
    for _, strength, near in used:
        asked = np.isin(status, strength.statuses)[:, None]
        total += np.where(asked, strength.factors(near, len(status), capped=capped) - 1.0, 0.0)
    return np.maximum(total, _TINY)


def _learned(used: Used, P: FloatArray, teach: NDArray[np.bool_], claims: FloatArray) -> list[Strength]:
    """Return the strengths with the completeness of all tables, which is learned together."""
    kinds = [k for k, kind in enumerate(KINDS) if any(kind in each.kinds for each, _, _ in used)]
    has = [np.array([[KINDS[k] in each.kinds] * len(each.categories) for k in kinds]) for each, _, _ in used]
    excess = np.hstack([np.where(near.covered[:, None], summed(near, len(P)), 1.0) for _, _, near in used])
    rows = teach & np.any([near.covered for _, _, near in used], axis=0)
    excess = excess[rows]
    p, base, rest = _with_claims(P[rows], claims[rows], kinds)
    unseen = np.prod([np.where(near.covered, near.unseen, 1.0) for _, _, near in used], axis=0)[rows]
    c = completeness(p, excess, rest, base, np.hstack(has), unseen)
    total = rest + np.sum(p * _factors(c, excess, base), axis=1)
    lost = (unseen / _seen(c, p, rest, base, unseen))[:, None, None]
    score = p[:, :, None] * ((excess[:, None, :] - 1.0) / total[:, None, None] - lost)
    flat = score.reshape(len(score), -1)[:, (which := np.hstack(has).ravel())]
    sigma: FloatArray = np.full(which.size, 1.0 / np.sqrt(_LEAST_INFORMATION))
    information = flat.T @ flat + _LEAST_INFORMATION * np.eye(which.sum())
    sigma[which] = np.sqrt(np.diag(np.linalg.inv(information)))  # of each c, whatever the others are
    ends = np.cumsum([len(each.categories) for each, _, _ in used])[:-1]
    found = []
    for (each, strength, _), *parts in zip(
        used, np.split(c, ends, axis=1), np.split(sigma.reshape(c.shape), ends, axis=1), strict=True
    ):
        by_kind = [
            {KINDS[k]: part[a].tolist() for a, k in enumerate(kinds) if KINDS[k] in each.kinds} for part in parts
        ]
        found.append(replace(strength, categories=each.categories, completeness=by_kind[0], errors=by_kind[1]))
    return found


def find_cuts(
    candidates: Candidates, sources: Table, P: FloatArray, teach: NDArray[np.bool_], claims: FloatArray
) -> list[float]:
    """Return the fluxes between the categories of a table, none without fluxes.

    Of :data:`_QUANTILES` of all fluxes up to two are taken, one after the other, as long as the evidence of the sources
    that teach, the greatest ``Σ_i ln [Σ_a P_ia BF_ia + rest_i]``, grows by more than :data:`_LEAST_GAIN`.
    """
    if candidates.flux is None:
        return []
    kinds = [KINDS.index(kind) for kind in candidates.kinds]
    near = candidates.around(sources)
    rows = teach & near.covered
    p, base, rest = _with_claims(P[rows], claims[rows], kinds)

    def evidence(cuts: Sequence[float]) -> float:
        membership = candidates.parted(cuts).membership
        share = membership.mean(axis=0)
        by_category = near.excess * (membership / np.where(share > 0, share, 1.0))[near.candidate]
        excess = summed(near._replace(excess=by_category), len(P))[rows]
        c = completeness(p, excess, rest, base, unseen=near.unseen[rows], steps=_STEPS_FOR_CUTS)
        total = np.sum(p * _factors(c, excess, base), axis=1) + rest
        return float(np.log(total / _seen(c, p, rest, base, near.unseen[rows])).sum())

    possible = np.unique(np.nanquantile(candidates.flux, _QUANTILES)).tolist()
    cuts: list[float] = []
    best = evidence(cuts)
    while len(cuts) < _MOST_CUTS and (trials := [sorted([*cuts, cut]) for cut in possible if cut not in cuts]):
        gains = [evidence(trial) - best for trial in trials]
        if max(gains) <= _LEAST_GAIN:
            break
        cuts, best = trials[int(np.argmax(gains))], best + max(gains)
    return cuts


def summed(near: Surroundings, number: int) -> FloatArray:
    """Return the summed excess of the candidates of each of N sources by category, ``(N, K)``."""
    total = np.zeros((number, near.excess.shape[1]))
    np.add.at(total, near.source, near.excess)
    return total


def _with_claims(P: FloatArray, claims: FloatArray, kinds: Sequence[int]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return p of some kinds, their factors of claims f, ``(n, A)``, and the rest, ``(n,)``: Σ p f + rest = 1."""
    every = 1.0 - P.sum(axis=1) + np.sum(P * claims, axis=1)
    p, base = P[:, kinds] / every[:, None], claims[:, kinds]
    return p, base, 1.0 - np.sum(p * base, axis=1)


def _factors(c: FloatArray, excess: FloatArray, base: Any) -> FloatArray:
    """Return BF of each kind, ``(n, A)``: that of no object of the tables, and those of the objects by category."""
    return np.maximum(base - c.sum(axis=1), 0.0) + excess @ c.T


def _seen(c: FloatArray, P: FloatArray, rest: FloatArray, base: Any, unseen: Any) -> FloatArray:
    """Return the probability of sources to be in the table, ``(n,)``."""
    return np.asarray(1.0 - unseen * (np.sum(P * np.maximum(base - c.sum(axis=1), 0.0), axis=1) + rest))


def completeness(
    P: FloatArray,
    excess: FloatArray,
    rest: FloatArray,
    base: Any = 1.0,
    has: Any = True,
    unseen: Any = 0.0,
    steps: int = _STEPS,
) -> FloatArray:
    """Return c, ``(A, K)``, of greatest ``Σ_i ln [Σ_a P_ia BF_ia + rest_i] / seen_i``, by EM; the prior makes it less.

    P ``(n, A)`` are of the kinds that have counterparts, `rest` of the others. `base` is BF at c = 0, ``(n, A)``, and
    `has` says which kind can have which category, ``(A, K)``. A source without counterpart would not be there with the
    probability `unseen`, ``(n,)``: for each that is there, ``(1 − seen) / seen`` were searched in vain.
    """
    c = np.full((P.shape[1], excess.shape[1]), 0.5 / excess.shape[1]) * has
    for _ in range(steps):
        weight = 1.0 / (np.sum(P * _factors(c, excess, base), axis=1) + rest)
        found = c * ((P * weight[:, None]).T @ excess)
        weight += unseen / _seen(c, P, rest, base, unseen)
        none = np.sum(P * np.maximum(base - c.sum(axis=1), 0.0) * weight[:, None], axis=0)
        new = found / (found.sum(axis=1) + none + _NONE)[:, None]
        done, c = np.max(np.abs(new - c)) < _TOLERANCE, new
        if done:
            break
    return c


def of_those(factors: FloatArray, P: FloatArray, strengths: Sequence[Strength]) -> FloatArray:
    """Return the mean factor of the kinds that have counterparts, of probabilities P, ``(N,)``."""
    has = np.array([any(kind in each.completeness for each in strengths) for kind in KINDS])
    weight = P * has + _TINY
    return np.asarray(np.sum(weight * factors, axis=1) / weight.sum(axis=1))


def kinds_of_classes(grouping: ClassGrouping, classes: Sequence[str]) -> NDArray[np.bool_]:
    """Return which of C classes is of which of :data:`KINDS`, ``(C, 3)``."""
    agn, pulsar = grouping.of_agn(classes), grouping.within("pulsar", classes)
    return np.stack([agn, pulsar, ~(agn | pulsar)], axis=1)


def weigh(
    candidates: Sequence[Candidates],
    sources: Table,
    P: FloatArray,
    status: NDArray[np.str_],
    claims: FloatArray | None = None,
    learn: NDArray[np.bool_] | None = None,
) -> tuple[FloatArray, list[Strength]]:
    """Return the factors of N sources by kind, ``(N, 3)``, and what each table says; P are their probabilities by kind.

    The counterpart is in one table at most: an object of several counts in the first, and c is learned together, from
    the unassociated ones of those that `learn`, by default all. `claims` are factors of claimed blazars, ``(N, 3)``.
    """
    claims = np.ones((len(sources), len(KINDS))) if claims is None else claims
    teach = (status == STATUSES[0]) & (True if learn is None else learn)
    strengths = []
    for objects in candidates:
        near = objects.around(sources)
        strengths.append(strength := Strength.of(objects, near, teach))
        if near.centred > _MOST_CENTRED * strength.objects:
            raise CatalogError(
                f"the positions in '{objects.source}' are those of the LAT sources: give those of the counterparts."
            )
        share, odd = f"{strength.share:.2f} ± {strength.share_error:.2f}", list[str]()
        if near.centred:
            odd.append(f"{near.centred} objects have the very places of LAT sources, and are no counterparts: not used")
        if strength.share - LEAST_SIGNIFICANCE * strength.share_error > 1.0:
            odd.append(
                "its objects lie nearer to the centres of the error ellipses than real counterparts do "
                f"(a share of {share}, 1 at most). Check its positions"
            )
        if not strength.says:
            odd.append(
                f"it changes no probability: by their places in the ellipses {share} of its {strength.objects} objects "
                f"there are counterparts, less than {LEAST_SIGNIFICANCE:g} σ"
            )
        for message in odd:
            warnings.warn(f"'{objects.source}': {message}", CatalogWarning, stacklevel=3)
    strengths = [
        replace(each, cuts=find_cuts(objects, sources, P, teach, claims)) if each.says else each
        for objects, each in zip(candidates, strengths, strict=True)
    ]
    used = _used(candidates, strengths, sources)
    learned = _learned(used, P, teach, claims) if used else []
    for (_, before, _), after in zip(used, learned, strict=True):
        strengths[strengths.index(before)] = after
    return together([(t, s, near) for (t, _, near), s in zip(used, learned, strict=True)], status, claims), strengths


def _used(candidates: Sequence[Candidates], strengths: Sequence[Strength], sources: Table) -> Used:
    """Return the tables that say something, with each object in one of them: :func:`apart`."""
    says = [k for k, strength in enumerate(strengths) if strength.says]
    parted = zip(says, apart([candidates[k].parted(strengths[k].cuts) for k in says]), strict=True)
    return [(each, strengths[k], each.around(sources)) for k, each in parted if len(each)]


def add_counterparts(
    labels: Table,
    candidates: Sequence[Candidates],
    strengths: Sequence[Strength],
    before: Mapping[str, FloatArray],
    factors: FloatArray,
) -> None:
    """Add to a label table its best candidates, the probabilities without counterparts, and what the tables say."""
    for name, p in before.items():
        add_column(labels, BEFORE + name, p, f"P_{name} without counterparts", "stat.probability")
    labels.meta[COUNTERPARTS_KEY] = json.dumps([asdict(each) for each in strengths])
    found = counterpart_table(labels, candidates, least=0.0)
    _, rows = np.unique(np.asarray(found["ROW"]), return_index=True)  # the most probable comes first
    best, at = found[rows], np.asarray(found["ROW"])[rows]
    for name in [name for name in _COLUMNS if name.startswith("CPT_") or name == "P_CPT"]:
        empty = "" if best[name].dtype.kind == "U" else 0.0 if name == "P_CPT" else np.nan
        values = np.full(len(labels), empty, dtype=best[name].dtype)
        values[at] = best[name]
        labels[name] = Column(values, unit=best[name].unit, description=best[name].description, meta=best[name].meta)
    add_column(labels, "BF_CPT", factors, best["BF_CPT"].description, "stat.value")


def one_or_several(candidates: Candidates | Sequence[Candidates]) -> list[Candidates]:
    """Return tables of candidates, given as one or several. Raises CatalogError for anything else."""
    found = [candidates] if isinstance(candidates, Candidates) else list(candidates)
    if odd := [type(each).__name__ for each in found if not isinstance(each, Candidates)]:
        raise CatalogError(f"counterparts are {odd[0]}: read them with fermiclass.Candidates.read or .of.")
    return found


def strengths_of(labels: Table) -> list[Strength]:
    """Return what the tables of counterparts said with which labels were made."""
    return [Strength(**each) for each in json.loads(str(labels.meta.get(COUNTERPARTS_KEY, "[]")))]


def counterpart_table(
    labels: Table, candidates: Candidates | Sequence[Candidates], *, least: float = _LEAST_SHOWN
) -> Table:
    """Return all candidates of labelled sources with a posterior of at least `least`, the most probable first.

    Parameters
    ----------
    labels
        A label table that was made with these tables of counterparts.
    candidates
        The table, or the tables in the same order.
    least
        The smallest P_CPT.

    Raises
    ------
    CatalogError
        When the labels were made without these tables.
    """
    candidates, about = one_or_several(candidates), Labels(labels)
    strengths = strengths_of(labels)
    if [each.sha256 for each in strengths] != [each.sha256 for each in candidates] or about.grouping is None:
        names = ", ".join(each.name for each in strengths) or "none"
        raise CatalogError(f"the labels were made with other tables of counterparts: {names}. Give these.")
    of_kind = kinds_of_classes(about.grouping, about.classes).astype(float)
    after = np.stack([np.asarray(labels[f"P_{name}"], float) for name in about.classes], axis=1) @ of_kind
    status = np.asarray(labels[STATUS]).astype(str)
    parts: dict[str, list[Any]] = {name: [] for name in list(_COLUMNS)[1:]}  # Source_Name comes last
    used = _used(candidates, strengths, labels)
    claims = np.ones((len(labels), len(KINDS)))
    if BF_CLAIM in labels.colnames:
        claims[:, KINDS.index("agn")] = labels[BF_CLAIM]
    total = together(used, status, claims, capped=False)
    for each, strength, near in used:
        p = strength.posterior(near, after, total)
        factors = of_those(strength.factors(near, len(labels)), after, [strength])
        chosen = np.flatnonzero(np.isin(status, strength.statuses)[near.source] & (p >= least) & (p > 0))
        i, j = near.source[chosen], near.candidate[chosen]
        columns: tuple[Any, ...] = (i, each.names[j], each.ra[j], each.dec[j], each.r95[j], p[chosen], factors[i])
        for name, column in zip(parts, (*columns, [each.source] * len(i)), strict=True):
            parts[name].extend(column)
    found = Table(parts, dtype=(int, str, *[float] * 5, str))
    found = found[np.lexsort((-np.asarray(found["P_CPT"]), np.asarray(found["ROW"])))]
    found.add_column(Column(np.asarray(labels["Source_Name"])[np.asarray(found["ROW"])], "Source_Name"), 0)
    for name, (description, ucd) in _COLUMNS.items():
        found[name].description, found[name].meta["ucd"] = description, ucd
    found["CPT_RA"].unit = found["CPT_DEC"].unit = found["CPT_R95"].unit = "deg"
    return found


_COLUMNS = {
    "Source_Name": ("Name in the catalogue", "meta.id;meta.main"),
    "ROW": ("Row of the label table, from 0", "meta.record"),
    "CPT_NAME": ("Most probable counterpart in the tables of counterparts", "meta.id.assoc"),
    "CPT_RA": ("Its right ascension, J2000", "pos.eq.ra"),
    "CPT_DEC": ("Its declination, J2000", "pos.eq.dec"),
    "CPT_R95": ("Radius of 95 % of its position along the major axis", "stat.error;pos.eq"),
    "P_CPT": ("Probability that it is the counterpart", "stat.probability"),
    "BF_CPT": ("Factor of the odds of sources that have counterparts in the tables", "stat.value"),
    "CPT_TABLE": ("The table that has it", "meta.id.assoc;meta.dataset"),
}
