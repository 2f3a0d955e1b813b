"""Comparison of labels with another list: matches, agreement, ranks, the surest disagreements, and what is gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from astropy.table import Column, Table
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.metrics import auc, roc_curve

from fermiclass.brought.joining import list_of, same_sources
from fermiclass.brought.other_list import OtherList, Pairs, names_of
from fermiclass.brought.sources import CatalogLike, catalog_of
from fermiclass.catalog import CLASS_TREE, Catalog
from fermiclass.catalog.source_names import position_in_name
from fermiclass.errors import CatalogError, ClassError, SelectionError
from fermiclass.io import FloatArray
from fermiclass.labelling.labels import Labels, labels_of

#: What can become of a source of another list that has no label, in words: it has a class now, its place is that of a
#: source that another row is, or that has neither class nor label; or nothing is there.
FATES = {"class": "with a class now", "another": "at the place of another source", "gone": "gone"}

_LEAST = 1e-5  # least probability in the surprise −ln P

#: Words of others for classes that the catalogue has a code for, in lower case without spaces, hyphens and points.
_SYNONYMS = {
    "pulsar": "psr", "yng": "psr", "young": "psr", "youngpulsar": "psr", "millisecondpulsar": "msp", "mspsr": "msp",
    "bllac": "bll", "bllacobject": "bll", "blazar": "bcu", "bzb": "bll", "bzq": "fsrq", "quasar": "fsrq",
}  # fmt: skip


_OF_SOURCE = ("Source_Name", "CLASS1", "ASSOC1")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Comparison of two lists, for the sources that are in both."""

    #: A row for each of the n sources in both lists, the most interesting disagreement first: ``Source_Name``,
    #: position, ``STATUS``, ``PRED_CLASS``, ``P_MAX``, ``OTHER_NAME``, ``SEPARATION``, and as far as the other list has
    #: them ``OTHER_CLASS``, ``P_OTHER_CLASS``, ``SURPRISE``, ``OTHER_P``, ``DIFFERENCE``; of labels of the same classes
    #: ``MOVE``, ``½ Σ |ΔP|``, by which these are in order.
    table: Table
    #: Number of ``labels``, ``others`` (rows of the other list), ``by_name``, ``by_position``, ``unmatched``, ``new``
    #: (labels of other sources); and ``no_news``: bcu that the other list takes for an AGN, without an OTHER_CLASS.
    numbers: Mapping[str, int]
    #: Which rows of the table disagree, ``(n,)``: PRED_CLASS is no such class, or the probabilities differ.
    disagrees: NDArray[np.bool_]
    #: For each class of the other list: number, how often PRED_CLASS is such a class, and the mean of the probability.
    agreement: Mapping[str, Mapping[str, float]]
    confusion: Mapping[str, Mapping[str, int]]  #: Numbers of sources by class of the other list and PRED_CLASS.
    unknown: Mapping[str, int]  #: Words of the other list that stand for no class of the labels, and their numbers.
    #: Rank correlation of two probabilities: Spearman's coefficient ``rho``, and the number of sources ``n``.
    ranks: Mapping[str, float] | None
    #: False and true positive rates, area, and numbers for each set of classes, where the other list is a truth.
    roc: Mapping[str, Mapping[str, Any]]
    #: The rows of the other list without a label: ``OTHER_NAME``, and by the catalogue the ``FATE`` (:data:`FATES`),
    #: with name, ``CLASS1`` and ``ASSOC1`` of the source there.
    rest: Table

    def sentences(self, most: int = 5) -> Iterator[str]:
        """Yield sentences on the sources in both lists, and on what became of those without a label."""
        n, rest = self.numbers, self.rest
        yield (
            f"{n['by_name'] + n['by_position']} sources are in both lists ({n['by_name']} by name, {n['by_position']} "
            f"by position); {n['unmatched']} of {n['others']} in the other list have no label."
        )
        if "MOVE" in self.table.colnames:
            yield f"{n['new']} of {n['labels']} sources are new; {self.disagrees.sum()} have another class."
        if len(rest) and "FATE" not in rest.colnames:
            yield "The catalogue of the labels says whether these have a class now: --catalog FILE."
            return
        for fate, words in FATES.items():
            names = []
            for row in rest[np.asarray(rest["FATE"]) == fate] if len(rest) else ():
                here = dict.fromkeys(str(row[name]) for name in _OF_SOURCE if name in row.colnames and row[name])
                names.append(str(row["OTHER_NAME"]) + f" ({', '.join(here)})" * bool(here))
            if names:
                yield f"{len(names)} {words}: {', '.join(names[:most])}{', ...' if len(names) > most else '.'}"


def compare(
    labels: Table | str | PathLike[str],
    other: Any,
    *,
    of: str | None = None,
    truth: bool = False,
    catalog: CatalogLike | None = None,
    **columns: Any,
) -> Comparison:
    """Compare a label table with another list of sources.

    Parameters
    ----------
    labels
        A label table, or its file.
    other
        The other list: a file, table, frame or dictionary with names or positions, or names alone. With labels of
        another catalogue the comparison says what has changed.
    of
        The class or group, such as ``'pulsar'``, of the other list's probability; or, without one, of all its sources.
    truth
        Whether P_<class> is tested against the other list.
    catalog
        The catalogue that says what became of sources without a label: the one that was labelled.
    columns
        Columns of the other list where they have unusual names: name, ra, dec, class_column and probability; and radius
        in degrees, the largest separation of sources without a common name.

    Raises
    ------
    CatalogError
        When no source is in both lists.
    ClassError
        When no class of the other list is known here.
    SelectionError
        When it is not said of which class probabilities are, or what is true.
    """
    labels, catalog = labels_of(labels), None if catalog is None else catalog_of(catalog)
    about, other = Labels(labels), list_of(other, **columns)
    ra, dec, _ = np.array([position_in_name(name) or (np.nan,) * 3 for name in other.names.tolist()]).reshape(-1, 3).T
    unplaced = ~np.isfinite(other.ra + other.dec)
    other = replace(other, ra=np.where(unplaced, ra, other.ra), dec=np.where(unplaced, dec, other.dec))
    classes = about.classes
    of_classes, column = ((), "") if of is None else about.wanted(of)
    if of is None and (other.probability is not None or (truth and other.classes is None)):
        raise SelectionError(
            "it is not known what class the other list is of: give the class of its probabilities, or of all its "
            f"sources (--of), one of {', '.join(classes)}; or its column of classes (--class-column)"
        )
    pairs = _nearest(labels, other)
    mine, theirs = pairs.mine, pairs.theirs
    if not len(mine):
        raise CatalogError(
            f"none of {len(other)} sources of '{other.source}' is among the {len(labels)} labelled ones. Check its "
            "names and positions, or give a larger --radius."
        )
    kept = ("Source_Name", "RAJ2000", "DEJ2000", "GLAT", "STATUS", "PRED_CLASS", "P_MAX")
    table = labels[[name for name in kept if name in labels.colnames]][mine]
    table["OTHER_NAME"] = Column(other.names[theirs], description="Name in the other list")
    about_separation = "Distance of the two positions, NaN if unknown"
    table["SEPARATION"] = Column(pairs.separation, unit="deg", description=about_separation)
    table.meta["compared"] = other.source
    said = np.full(len(mine), of or "") if other.classes is None else other.classes[theirs]
    cases = Counter(word.lower() for word in set(said.tolist()))  # catalogues write identified sources in capitals
    said = np.array([w.lower() if cases[w.lower()] > 1 else w for w in said.tolist()], dtype=said.dtype)
    no_news = np.isin([_code(word) for word in said.tolist()], ["bcu", "agn"])
    no_news &= np.asarray(table["STATUS"], str) == "bcu" if "STATUS" in table.colnames else False
    said = np.where(no_news, "", said)
    meant: dict[str, list[int]] = {}
    unknown: dict[str, int] = {}
    if other.classes is not None:
        meant, unknown = _meant(said, other.classes, about)
        if no_news.all() and other.probability is None:
            raise ClassError(
                f"'{other.source}' calls all common sources bcu or AGN, and so does the catalogue: compare others"
            )
        if not meant and other.probability is None:
            raise ClassError(
                f"no class of the other list is known: it has {', '.join(list(unknown)[:5]) or 'empty ones only'}, the "
                f"labels have {', '.join(classes)}. Give the right column (--class-column)."
            )
    elif other.probability is None and of is not None:
        meant = {of: [classes.index(name) for name in of_classes]}
    agreement, confusion, disagrees = _agree(table, said, meant, labels[mine], classes)
    ranks = None
    if of is not None and other.probability is not None:
        ranks = _ranks(table, other.probability[theirs], np.asarray(labels[column], float)[mine])
        disagrees |= np.abs(np.asarray(table["DIFFERENCE"])) > 0
    roc = dict(_rocs(labels, classes, mine, said, meant, single=other.classes is None)) if truth else {}
    _add_moves(table, labels[mine], other.table, theirs, classes)
    column = next((name for name in ("MOVE", "SURPRISE", "DIFFERENCE") if name in table.colnames), "P_MAX")
    score = np.asarray(table[column])
    order = np.lexsort((np.asarray(table["Source_Name"]), -np.nan_to_num(np.abs(score), nan=-1.0)))
    numbers = {
        "labels": len(labels), "others": len(other), "by_name": int(pairs.by_name.sum()),
        "by_position": int(np.sum(~pairs.by_name)), "unmatched": len(other) - len(np.unique(theirs)),
        "new": len(labels) - len(mine), "no_news": int(no_news.sum()),
    }  # fmt: skip
    rest = _fates(replace(other, table=None), np.setdiff1d(np.arange(len(other)), theirs), labels, catalog)
    return Comparison(table[order], numbers, disagrees[order], agreement, confusion, unknown, ranks, roc, rest)


def _add_moves(table: Table, now: Table, before: Table | None, theirs: NDArray[np.intp], classes: list[str]) -> None:
    """Add MOVE to the table, if the other list has the same probabilities as labels."""
    names = [f"P_{name}" for name in classes]
    if before is not None and {*names, *(f"Unc_{name}" for name in names)} <= {*before.colnames}:
        P, Q = (np.array([np.asarray(each[name], float) for name in names]) for each in (now, before[theirs]))
        about = "Half the sum of the differences of the probabilities"
        table["MOVE"] = Column(0.5 * np.abs(P - Q).sum(axis=0), description=about, meta={"ucd": "stat.value"})


def _fates(other: OtherList, rows: NDArray[np.intp], labels: Table, catalog: Catalog | None) -> Table:
    """Return rows of the other list that no label is of, with what became of them by the catalogue, if it is given."""
    rest = Table({"OTHER_NAME": Column(other.names[rows], description="Name in the other list")})
    if catalog is not None:
        source = np.full(len(other), -1)
        for mine, theirs in zip(*same_sources(catalog.table, other), strict=True):
            best = source[theirs]
            source[theirs] = mine if best < 0 or not catalog.classes[best] else best
        found, taken = source[rows], np.unique(same_sources(labels, other)[1])
        has_class = (found >= 0) & (catalog.classes[found] != "")
        fates = np.select([has_class, (found >= 0) | np.isin(rows, taken)], [*FATES][:2], [*FATES][2])
        rest["FATE"] = Column(fates, description="What became of it")
        for name in _OF_SOURCE:
            if name in catalog.table.colnames:
                rest[name] = Column(np.where(found >= 0, np.asarray(catalog.table[name], str)[found], ""))
    return rest


def _nearest(labels: Table, other: OtherList) -> Pairs:
    """Return the nearest label of each row of the other list, each label at most once; a name goes before a place."""
    at = (np.asarray(labels[name], float) for name in ("RAJ2000", "DEJ2000"))
    found = other.pairs(np.asarray(labels["Source_Name"], str), *at, earlier=names_of(labels))
    for side in ("theirs", "mine"):
        found = found[np.sort(np.unique(getattr(found, side), return_index=True)[1])]
    return found


def _code(word: str) -> str:
    """Return the class code that a word of another list stands for, or the word in plain letters."""
    plain = "".join(letter for letter in word.lower() if letter not in " -._")
    return _SYNONYMS.get(plain, plain)


def _meant(
    said: NDArray[np.str_], words: NDArray[np.str_], labels: Labels
) -> tuple[dict[str, list[int]], dict[str, int]]:
    """Return the classes, by index, that each word said stands for, and the words that stand for none.

    A pulsar is of any kind if no `words` of the list are of millisecond pulsars. What is one of several classes, such
    as a binary, stands for these.
    """
    classes, grouping = labels.classes, labels.grouping
    members = {name: (name,) for name in classes} if grouping is None else grouping.members
    sets = {} if grouping is None else grouping.sets
    wide = {"agn": CLASS_TREE["agn"], "bcu": CLASS_TREE["agn"]}
    if "msp" not in {_code(word) for word in np.unique(words)}:
        wide["psr"] = CLASS_TREE["pulsar"]
    meant: dict[str, list[int]] = {}
    unknown: dict[str, int] = {}
    for word, count in sorted(Counter(said.tolist()).items()):
        code = _code(word)
        inside = set(wide.get(code, (code,)))
        several = {code, *(name for label, names in sets.items() if code in members[label] for name in names)}
        found = [c for c, name in enumerate(classes) if name in several or inside & set(members.get(name, ()))]
        if found:
            meant[word] = found
        elif code:
            unknown[word] = count
    return meant, unknown


def _agree(
    table: Table, said: NDArray[np.str_], meant: Mapping[str, list[int]], labels: Table, classes: list[str]
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]], NDArray[np.bool_]]:
    """Add OTHER_CLASS, P_OTHER_CLASS and SURPRISE; return agreement and confusion by class, and rows that disagree."""
    wrong = np.zeros(len(table), bool)
    if not meant:
        return {}, {}, wrong
    P = np.array([np.asarray(labels[f"P_{name}"], float) for name in classes]).T
    p, predicted = np.full(len(table), np.nan), np.asarray(table["PRED_CLASS"], str)
    agreement: dict[str, dict[str, float]] = {}
    confusion: dict[str, dict[str, int]] = {}
    for word, inside in meant.items():
        rows = said == word
        p[rows] = P[rows][:, inside].sum(axis=1)
        wrong[rows] = ~np.isin(predicted[rows], [classes[c] for c in inside])
        agree, mean_p = float(1.0 - wrong[rows].mean()), float(p[rows].mean())
        agreement[word] = {"n": int(rows.sum()), "agree": agree, "mean_p": mean_p}
        confusion[word] = {name: int(np.sum(predicted[rows] == name)) for name in classes}
    table["OTHER_CLASS"] = Column(said, description="Class in the other list")
    table["P_OTHER_CLASS"] = Column(p, description="Our probability of that class", meta={"ucd": "stat.probability"})
    surprise = -np.log(np.maximum(p, _LEAST))
    table["SURPRISE"] = Column(surprise, description="-ln P_OTHER_CLASS", meta={"ucd": "stat.value"})
    return agreement, confusion, wrong


def _ranks(table: Table, q: FloatArray, p: FloatArray) -> dict[str, float]:
    """Add OTHER_P and DIFFERENCE to the table; return how the two probabilities rank the sources."""
    table["OTHER_P"] = Column(q, description="Probability in the other list", meta={"ucd": "stat.probability"})
    table["DIFFERENCE"] = Column(p - q, description="Our probability less OTHER_P", meta={"ucd": "stat.value"})
    known = np.isfinite(q)
    varied = known.sum() > 1 and np.ptp(q[known]) > 0 and np.ptp(p[known]) > 0
    rho = float(spearmanr(p[known], q[known]).statistic) if varied else float("nan")
    return {"n": int(known.sum()), "rho": rho}


def _rocs(
    labels: Table,
    classes: list[str],
    mine: NDArray[np.intp],
    said: NDArray[np.str_],
    meant: Mapping[str, list[int]],
    *,
    single: bool,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the ROC curve of each set of classes that a word stands for, against sources of no class of it.

    A list of a `single` class is tested against all other labels.
    """
    sets = {word: frozenset(inside) for word, inside in meant.items()}
    for inside in sorted(set(sets.values()), key=sorted):
        score = np.sum([np.asarray(labels[f"P_{classes[c]}"], float) for c in inside], axis=0)
        if single:
            is_one = np.isin(np.arange(len(labels)), mine)
        else:
            within = np.isin(said, [word for word, of_word in sets.items() if of_word <= inside])
            chosen = within | np.isin(said, [word for word, of_word in sets.items() if not of_word & inside])
            score, is_one = score[mine][chosen], within[chosen]
        if 0 < is_one.sum() < len(is_one):
            false, true, _ = roc_curve(is_one, score)
            found = {"false": false, "true": true, "auc": float(auc(false, true))}
            numbers = {"positive": int(is_one.sum()), "negative": int(np.sum(~is_one))}
            yield " or ".join(classes[c] for c in sorted(inside)), found | numbers
