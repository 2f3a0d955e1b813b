"""Counterparts: the class of a source and the object that it is, in one posterior.

A source of class c has its counterpart in category k of a table with probability c_ck, the completeness. With f/ρ, the
excess of :meth:`fermiclass.catalog.candidates.Candidates.around`, the candidates j of a source say

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

from fermiclass.catalog import ClassGrouping
from fermiclass.catalog.candidates import KINDS, STATUSES, Candidates, Surroundings, apart
from fermiclass.catalog.releases import CatalogWarning
from fermiclass.errors import CatalogError
from fermiclass.io import FloatArray
from fermiclass.labelling.labels import STATUS, Labels
from fermiclass.labelling.prediction_columns import add_column

#: Metadata of a label table: what each table of counterparts says, as JSON.
COUNTERPARTS_KEY = "cptables"

#: Prefix of a column with the probability of a class without counterparts.
BEFORE = "Gamma_P_"

MOST_OF_CLAIMS = 50.0  #: A claimed counterpart changes the odds by this factor at most.

LEAST_SIGNIFICANCE = 2.0  #: A table with fewer standard errors of real counterparts changes nothing.

#: Mean u of a counterpart within the 95 % ellipse, whose −ln(1 − probability) is exponential up to 3; by chance ½.
_EDGE = -np.log(0.05)
_MEAN_OF_REAL = 1.0 / _EDGE - 0.05 / 0.95
_MEAN_BY_CHANCE, _STD_BY_CHANCE = 0.5, 1.0 / np.sqrt(12.0)

_NONE = 1.0  # sources without a counterpart that are added to each kind: the weak prior
_STEPS, _TOLERANCE = 2000, 1e-7
_LEAST_INFORMATION, _TINY = 1e-12, 1e-12
_LEAST_SHOWN = 0.01  # posterior of a candidate in the table of all


@dataclass(frozen=True)
class Strength:
    """What a table of counterparts says of the sources without an association."""

    name: str  #: Name of the table.
    sha256: str  #: Checksum of its content.
    covers: str  #: One of :data:`fermiclass.catalog.candidates.COVERS`.
    objects: int  #: Its objects in 95 % ellipses.
    chance: float  #: As many are expected by chance.
    share: float  #: Share of real counterparts among them, by where they lie in the ellipses.
    share_error: float  #: Standard error, of objects by chance.
    categories: tuple[str, ...]  #: Names of the K categories.
    completeness: Mapping[str, Sequence[float]]  #: c by kind, (K,) each; {} if the table changes nothing.
    errors: Mapping[str, Sequence[float]]  #: Their standard errors.
    statuses: Sequence[str] = STATUSES[:1]  #: The sources for which counterparts are sought.

    @property
    def says(self) -> bool:
        """Whether there are real counterparts among the objects."""
        return self.share > LEAST_SIGNIFICANCE * self.share_error

    @classmethod
    def fit(cls, candidates: Candidates, near: Surroundings, P: FloatArray, unassociated: NDArray[np.bool_]) -> Self:
        """Estimate the completeness from the unassociated ones of N sources with probabilities of kinds P, ``(N, 3)``.

        The share of real counterparts is ``(½ − ū) / (½ − 0.281)``: u is uniform by chance. It needs no density.
        """
        u = near.u[(near.u <= 1.0) & unassociated[near.source]]
        scale = _MEAN_BY_CHANCE - _MEAN_OF_REAL
        share = (_MEAN_BY_CHANCE - u.mean()) / scale if len(u) else 0.0
        error = _STD_BY_CHANCE / np.sqrt(max(len(u), 1)) / scale
        learned = near.covered & unassociated
        found = cls(
            candidates.source,
            candidates.sha256,
            candidates.covers,
            len(u),
            float(near.chance[unassociated].sum()),
            float(share),
            float(error),
            candidates.categories,
            {},
            {},
            candidates.statuses,
        )
        if found.says:
            kinds = [KINDS.index(kind) for kind in candidates.kinds]
            excess, p = summed(near, len(P))[learned], P[learned]
            c = _completeness(p[:, kinds], excess, 1.0 - p[:, kinds].sum(axis=1))
            total = 1.0 + np.einsum("na,nk,ak->n", p[:, kinds], excess - 1.0, c)
            score = p[:, kinds, None] * (excess[:, None, :] - 1.0) / total[:, None, None]
            sigma = 1.0 / np.sqrt(np.maximum(np.sum(score**2, axis=0), _LEAST_INFORMATION))
            completeness, errors = (dict(zip(candidates.kinds, each.tolist(), strict=True)) for each in (c, sigma))
            return replace(found, completeness=completeness, errors=errors)
        return found

    def factors(self, near: Surroundings, number: int) -> FloatArray:
        """Return BF of each kind, ``(N, 3)``; 1 for a source that the table does not cover."""
        factors = np.where(near.covered[:, None], self._factors(near, number), 1.0)
        return np.minimum(factors, MOST_OF_CLAIMS) if self.covers == "claims" else factors

    def posterior(self, near: Surroundings, after: FloatArray) -> FloatArray:
        """Return the probability that each of P pairs is a source and its counterpart, ``(P,)``.

        `after` are the probabilities of the kinds, ``(N, 3)``, with all tables.
        """
        of_pairs = near.excess @ self._by_kind.T
        return np.sum((after / self._factors(near, len(after)))[near.source] * of_pairs, axis=1)

    def _factors(self, near: Surroundings, number: int) -> FloatArray:
        return np.asarray(1.0 + (summed(near, number) - 1.0) @ self._by_kind.T)

    @property
    def _by_kind(self) -> FloatArray:
        return np.array([self.completeness.get(kind, np.zeros(len(self.categories))) for kind in KINDS], float)


def summed(near: Surroundings, number: int) -> FloatArray:
    """Return the summed excess of the candidates of each of N sources by category, ``(N, K)``."""
    total = np.zeros((number, near.excess.shape[1]))
    np.add.at(total, near.source, near.excess)
    return total


def _completeness(P: FloatArray, excess: FloatArray, rest: FloatArray) -> FloatArray:
    """Return c, ``(A, K)``, of greatest ``Σ_i ln [Σ_a P_ia BF_ia + rest_i]`` by EM, less a little for the prior.

    P ``(n, A)`` are the probabilities of the kinds that have counterparts, `rest` those of the others.
    """
    c = np.full((P.shape[1], excess.shape[1]), 0.5 / excess.shape[1])
    for _ in range(_STEPS):
        weight = P / (np.sum(P * (1.0 + (excess - 1.0) @ c.T), axis=1) + rest)[:, None]
        found = c * (weight.T @ excess)
        none = (1.0 - c.sum(axis=1)) * weight.sum(axis=0)
        new = found / (found.sum(axis=1) + none + _NONE)[:, None]
        done, c = np.max(np.abs(new - c)) < _TOLERANCE, new
        if done:
            break
    return c


def of_those(factors: FloatArray, P: FloatArray, strengths: Sequence[Strength]) -> FloatArray:
    """Return the mean factor of the kinds that have counterparts, of probabilities P, ``(N,)``; other kinds have 1."""
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
    learn: NDArray[np.bool_] | None = None,
) -> tuple[FloatArray, list[Strength]]:
    """Return the factors of N sources by kind, ``(N, 3)``, and what each table says; P are their probabilities by kind.

    Tables are independent given the class, and an object of several tables counts once: `_apart`. `status` is that of
    each source, ``(N,)``, one of :data:`fermiclass.catalog.SOURCE_STATUSES`. `learn` are the sources from which the
    completeness is learned, by default all; only unassociated ones teach.
    """
    factors, teach = np.ones(P.shape), (status == STATUSES[0]) & (True if learn is None else learn)
    strengths = [Strength.fit(each, each.around(sources), P, teach) for each in candidates]
    for k, (each, strength) in enumerate(zip(_apart(candidates, strengths), strengths, strict=True)):
        if strength.says and not len(each):  # all its objects are in earlier tables
            strengths[k] = replace(strength, completeness={}, errors={})
        elif strength.says:
            near = each.around(sources)
            again = Strength.fit(each, near, P, teach)
            strengths[k] = strength = replace(
                strength, categories=each.categories, completeness=again.completeness, errors=again.errors
            )
            asked = np.isin(status, strength.statuses)[:, None]
            factors *= np.where(asked, strength.factors(near, len(P)), 1.0)
        if not strength.says:
            warnings.warn(
                f"'{each.source}' changes no probability: by their places in the ellipses {strength.share:.2f} ± "
                f"{strength.share_error:.2f} of its {strength.objects} objects there are counterparts, less than "
                f"{LEAST_SIGNIFICANCE:g} σ",
                CatalogWarning,
                stacklevel=3,
            )
    return factors, strengths


def _apart(candidates: Sequence[Candidates], strengths: Sequence[Strength]) -> list[Candidates]:
    """Return the tables with each object in one of those that say something, which :func:`apart` parts."""
    used = iter(apart([each for each, strength in zip(candidates, strengths, strict=True) if strength.says]))
    return [next(used) if strength.says else each for each, strength in zip(candidates, strengths, strict=True)]


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
    for name, empty in (("CPT_NAME", ""), ("CPT_RA", np.nan), ("CPT_DEC", np.nan), ("P_CPT", 0.0), ("CPT_TABLE", "")):
        values = np.full(len(labels), empty, dtype=best[name].dtype)
        values[at] = best[name]
        labels[name] = Column(values, unit=best[name].unit, description=best[name].description, meta=best[name].meta)
    add_column(labels, "BF_CPT", factors, best["BF_CPT"].description, "stat.value")


def strengths_of(labels: Table) -> list[Strength]:
    """Return what the tables of counterparts said with which labels were made."""
    return [Strength(**each) for each in json.loads(str(labels.meta.get(COUNTERPARTS_KEY, "[]")))]


def counterpart_table(labels: Table, candidates: Sequence[Candidates], *, least: float = _LEAST_SHOWN) -> Table:
    """Return all candidates of labelled sources with a posterior of at least `least`, the most probable first.

    Parameters
    ----------
    labels
        A label table that was made with these tables of counterparts.
    candidates
        The tables, in the same order.
    least
        The smallest P_CPT.

    Raises
    ------
    CatalogError
        When the labels were made without these tables.
    """
    about = Labels(labels)
    strengths = strengths_of(labels)
    if [each.sha256 for each in strengths] != [each.sha256 for each in candidates] or about.grouping is None:
        names = ", ".join(each.name for each in strengths) or "none"
        raise CatalogError(f"the labels were made with other tables of counterparts: {names}. Give these.")
    of_kind = kinds_of_classes(about.grouping, about.classes).astype(float)
    after = np.stack([np.asarray(labels[f"P_{name}"], float) for name in about.classes], axis=1) @ of_kind
    status = np.asarray(labels[STATUS]).astype(str)
    parts: dict[str, list[Any]] = {
        name: [] for name in ("ROW", "CPT_NAME", "CPT_RA", "CPT_DEC", "P_CPT", "BF_CPT", "CPT_TABLE")
    }
    for each, strength in zip(_apart(candidates, strengths), strengths, strict=True):
        if not strength.completeness:
            continue
        near = each.around(labels)
        p, factors = strength.posterior(near, after), of_those(strength.factors(near, len(labels)), after, [strength])
        chosen = np.flatnonzero(np.isin(status, strength.statuses)[near.source] & (p >= least) & (p > 0))
        i, j = near.source[chosen], near.candidate[chosen]
        columns: tuple[Any, ...] = (i, each.names[j], each.ra[j], each.dec[j], p[chosen], factors[i])
        for name, column in zip(parts, (*columns, [each.source] * len(i)), strict=True):
            parts[name].extend(column)
    found = Table(parts, dtype=(int, str, float, float, float, float, str))
    found = found[np.lexsort((-np.asarray(found["P_CPT"]), np.asarray(found["ROW"])))]
    found.add_column(Column(np.asarray(labels["Source_Name"])[np.asarray(found["ROW"])], "Source_Name"), 0)
    for name, (description, ucd) in _COLUMNS.items():
        found[name].description, found[name].meta["ucd"] = description, ucd
    found["CPT_RA"].unit = found["CPT_DEC"].unit = "deg"
    return found


_COLUMNS = {
    "Source_Name": ("Name in the catalogue", "meta.id;meta.main"),
    "ROW": ("Row of the label table, from 0", "meta.record"),
    "CPT_NAME": ("Most probable counterpart in the tables of counterparts", "meta.id.assoc"),
    "CPT_RA": ("Its right ascension, J2000", "pos.eq.ra"),
    "CPT_DEC": ("Its declination, J2000", "pos.eq.dec"),
    "P_CPT": ("Probability that it is the counterpart", "stat.probability"),
    "BF_CPT": ("Factor of the odds of sources that have counterparts in the tables", "stat.value"),
    "CPT_TABLE": ("The table that has it", "meta.id.assoc;meta.dataset"),
}
