"""Classes of the catalogue, and how they are grouped for training."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fermiclass.errors import ClassError

#: Meaning of the catalogue's class codes. In the catalogue, upper case means identified, lower case only associated.
CLASS_CODES: Mapping[str, str] = {
    "psr": "pulsar (from DR3 on: young)",
    "msp": "millisecond pulsar",
    "pwn": "pulsar wind nebula",
    "snr": "supernova remnant",
    "spp": "supernova remnant or pulsar wind nebula",
    "glc": "globular cluster",
    "hmb": "high-mass binary",
    "lmb": "low-mass binary",
    "bin": "binary",
    "nov": "nova",
    "sfr": "star-forming region",
    "gc": "Galactic centre",
    "bll": "BL Lac object",
    "fsrq": "flat-spectrum radio quasar",
    "bcu": "blazar of uncertain type",
    "rdg": "radio galaxy",
    "agn": "other active galactic nucleus",
    "nlsy1": "narrow-line Seyfert 1 galaxy",
    "ssrq": "steep-spectrum radio quasar",
    "css": "compact steep-spectrum radio source",
    "sey": "Seyfert galaxy",
    "sbg": "starburst galaxy",
    "gal": "normal galaxy",
    "unk": "counterpart of unknown nature",
}

NATURES = ("bll", "fsrq", "psr", "msp", "other")  #: Natures: what a source can be. Class codes tell less, or more.

_AGN = ("bll", "fsrq")  # one of them, unknown which
#: The natures that a source with each class code can have. An AGN without a type is either. Binaries and globular
#: clusters may shine by millisecond pulsars: nearly all binaries that were found far from the plane do. ``spp`` is an
#: overlap with a remnant or nebula, perhaps by chance, which may have a pulsar.
CODE_NATURES: Mapping[str, tuple[str, ...]] = {
    "bll": ("bll",),
    "fsrq": ("fsrq",),
    **dict.fromkeys(("bcu", "rdg", "agn", "nlsy1", "css", "ssrq", "sey", "sbg", "gal"), _AGN),
    "psr": ("psr",),
    "msp": ("msp",),
    **dict.fromkeys(("bin", "lmb", "glc"), ("msp", "other")),
    "spp": ("psr", "other"),
    **dict.fromkeys(("pwn", "snr", "hmb", "nov", "sfr", "gc"), ("other",)),
    "unk": NATURES,
}

CHANCE_CODES = ("spp",)  #: Codes whose sources may overlap by chance: what they can be is a guess.

#: The tree of classes: each top class with the catalogue's classes below it. All classes but ``unk`` have a place.
CLASS_TREE: Mapping[str, tuple[str, ...]] = {
    "agn": tuple(code for code, natures in CODE_NATURES.items() if set(natures) <= set(_AGN)),
    "pulsar": ("psr", "msp"),
    "other": tuple(code for code, natures in CODE_NATURES.items() if "other" in natures and code != "unk"),
}

THREE_CLASSES = "bll,fsrq,psr"  #: The three classes of the main paper, which leave no place for other sources.

UNCERTAIN_CLASSES = ("bcu", "unk")  #: Classes of associated sources whose nature is uncertain.

TARGETS = ("unassociated", "bcu", "uncertain", "all")  #: Choices of the sources to label.

#: Letters of a class's name at most: the names of columns made of it fit into a card of FITS, of 68 letters.
MOST_LETTERS = 60
_MOST_OF_A_TEXT = 5000  # letters of all classes
SOURCE_STATUSES = ("unassociated", *UNCERTAIN_CLASSES, "associated", "identified")  #: Values of `Catalog.status`.

DEFAULT_ITEM = "default"  #: The item that stands for the default classes of the catalogue.
_OTHER = "other"
_ALSO = "also"  # stands for a class that no catalogue has
_OR = "|"  # between groups of which one is right
_KIND = ":"  # between a kind and the class code of which it is one
_LEAST_OF_A_KIND = 5  # pulsars of each kind from which on both are learned


def natures_of(codes: ArrayLike, *, two_kinds: bool = True) -> NDArray[np.bool_]:
    """Return which of :data:`NATURES` a source with each class code can have, ``(N, 5)``; all for an unknown code.

    Without `two_kinds` of pulsars in the catalogue, what can be of either kind can be of both.
    """
    given = np.asarray(codes, dtype=str)
    possible = np.full((len(given), len(NATURES)), True)
    for code, natures in CODE_NATURES.items():
        possible[given == code] = np.isin(NATURES, natures)
    if not two_kinds:
        kinds = np.isin(NATURES, CLASS_TREE["pulsar"])
        possible |= kinds & possible[:, kinds].any(axis=1, keepdims=True)
    return possible


def default_classes(codes: ArrayLike) -> str:
    """Return the grouping that a catalogue with these class codes is learned with: :data:`NATURES`, or sets of them.

    Without :func:`has_two_kinds` both kinds of pulsars are one class, psr.
    """
    merged = {} if has_two_kinds(codes) else {"msp": "psr"}
    learned: dict[str, list[str]] = {}
    for code, natures in CODE_NATURES.items():
        if code not in UNCERTAIN_CLASSES:
            label = _OR.join(dict.fromkeys(merged.get(nature, nature) for nature in natures))
            learned.setdefault(label, []).append(code)
    several = [f"{label}={'+'.join(members)}" for label, members in learned.items() if _OR in label]
    return ",".join([*(label for label in learned if _OR not in label), *several])


def with_default(spec: str, codes: ArrayLike) -> str:
    """Return a text of classes with those of :func:`default_classes` in place of the item ``default``.

    Other items take the classes that they name from it. Kinds stand where their class stood, also in sets:
    ``default,hsp:bll,lsp:bll`` has ``hsp|lsp|fsrq`` for ``bll|fsrq``. A class that is named too stays.
    """
    items = _parts(spec)
    added = [item for item in items if item.lower() != DEFAULT_ITEM]
    if len(added) == len(items):
        return spec
    rights = {item: item.split("=")[-1].split(_KIND)[-1].lower() for item in added}
    taken = {code.strip() for right in rights.values() for code in right.split("+")}
    single = {item: right.strip() for item, right in rights.items() if "=" not in item}
    parted = {code for item, code in single.items() if _KIND in item}
    instead = {code: [item for item in single if single[item] == code] for code in parted}
    filled: list[str] = []
    for item in default_classes(codes).split(","):
        label, several, members = item.partition("=")
        groups = [each for group in label.split(_OR) for each in instead.get(group, [group])]
        left = [code for code in members.split("+") if code not in taken]
        if several and left:
            filled.append(f"{_OR.join(group.partition(_KIND)[0].strip() for group in groups)}={'+'.join(left)}")
        elif not several and (label in instead or label not in taken):
            filled += groups
    return ",".join([*filled, *(item for item in added if item not in filled)])


def has_two_kinds(codes: ArrayLike) -> bool:
    """Return whether class codes, (N,), tell millisecond pulsars from others (DR3 and later): five or more of each."""
    given = np.asarray(codes, dtype=str)
    return all(np.sum(given == kind) >= _LEAST_OF_A_KIND for kind in CLASS_TREE["pulsar"])


@dataclass(frozen=True)
class ClassGrouping:
    """A grouping of the catalogue's classes into the C classes to learn."""

    names: tuple[str, ...]  #: Names of the C groups, in the order given.
    #: The catalogue's classes in each group. ``other`` has all classes that are in no other group.
    members: Mapping[str, tuple[str, ...]]
    spec: str  #: The text of the grouping.
    #: Labels that stand for several groups, one of which is right, such as ``bll|fsrq``; with the names of these
    #: groups. `members` has the catalogue's classes of each label.
    sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: The group, or label of several groups, that has ``other``: what is named nowhere else. '' if there is none.
    rest: str = ""

    @classmethod
    def parse(cls, spec: str | ClassGrouping) -> ClassGrouping:
        """Parse items separated by commas, in any order.

        ======================  ========================================================================================
        item                    what it says
        ======================  ========================================================================================
        ``bll``                 A group of one class of the catalogue. ``psr`` includes ``msp`` unless ``msp`` is named
                                elsewhere, because releases before DR3 do not distinguish them.
        ``agn=bll+fsrq+bcu``    A group of several classes.
        ``other``               A group of every associated class that is named nowhere else, except bcu and unk. It may
                                stand wherever a class can: ``rest=other``.
        ``bll|fsrq=rdg+bcu``    Radio galaxies and bcu belong to one of these groups, unknown to which.
        ``hsp:bll``             A kind of bll that only labels of one's own tell (:func:`fermiclass.relabel`). A class
                                has two or more: ``hsp:bll,lsp:bll``, or ``msp,spider:msp``. A bll without such a label
                                is one of them, unknown which.
        ``subhalo=also``        A class that no catalogue has, of further sources (:func:`fermiclass.learn_also`).
        ======================  ========================================================================================

        :meth:`fermiclass.Catalog.grouping` also knows the item ``default``: :func:`with_default`.

        Raises ClassError when the text is malformed, names an unknown class or a class twice, or has fewer than two
        groups.
        """
        if isinstance(spec, ClassGrouping):
            return spec
        items = _split(spec)
        members, sets = _rest(spec, items, _check(spec, items))
        names = tuple(name for name in items.members if name not in items.sets)
        rest = next((name for name, codes in items.members.items() if _OTHER in codes), "")
        return cls(names, members, ",".join(_parts(spec)), sets, rest)

    def __str__(self) -> str:
        return self.spec

    @property
    def tops(self) -> Mapping[str, tuple[str, ...]]:
        """The top classes of :data:`CLASS_TREE` that consist of several groups, and these groups."""
        found: dict[str, tuple[str, ...]] = {}
        for top, codes in CLASS_TREE.items():
            inside = tuple(name for name in self.names if set(self.members[name]) <= set(codes))
            if len(inside) > 1 and self.members.get(top, (top,)) == (top,):
                found[top] = inside
        return found

    @property
    def own(self) -> tuple[str, ...]:
        """The groups with a class that no catalogue has."""
        return tuple(name for name in self.names if not {*self.members[name]} <= {*CLASS_CODES})

    def within(self, top: str, names: Iterable[str]) -> NDArray[np.bool_]:
        """Return which groups have only classes of a top class of :data:`CLASS_TREE`, ``(C,)``."""
        return np.array([set(self.members[name]) <= set(CLASS_TREE[top]) for name in names], dtype=bool)

    def of_agn(self, names: Iterable[str]) -> NDArray[np.bool_]:
        """Return which groups count as AGN, ``(C,)``: those of AGN only, and those with bll or fsrq, which are most."""
        mostly = np.array([not {"bll", "fsrq"}.isdisjoint(self.members[name]) for name in names], dtype=bool)
        return mostly | self.within("agn", names)

    def assign(self, classes: ArrayLike) -> NDArray[np.str_]:
        """Return the group of each class code, (N,), or its label of several groups; '' if it belongs to none."""
        codes = np.asarray(classes, dtype=str)
        groups = np.full(codes.shape, "", dtype=f"U{max(map(len, self.members))}")
        for name, members in self.members.items():
            groups[np.isin(codes, members)] = name
        # A later release may have classes that are not in CLASS_CODES. They are 'other' too.
        groups[~np.isin(codes, [*{"", *CLASS_CODES}.union(*self.members.values())])] = self.rest
        return groups

    def label_of(self, word: str) -> str:
        """Return the label of a word: a group, a class code, or several with ``|`` between; else ClassError."""
        groups = {name.lower(): name for name in self.names}
        found: list[str] = []
        for part in (part.strip().lower() for part in word.split(_OR)):
            label = groups.get(part) or (str(self.assign([part])[0]) if part in CLASS_CODES else "")
            if not label:
                raise ClassError(
                    f"'{word}' is no class that is learned: choose some of {', '.join(self.names)}, or name it in "
                    "--classes, such as hsp:bll for a kind of bll"
                )
            found += label.split(_OR)
        return _OR.join(name for name in self.names if name in found)


def _parts(spec: str) -> list[str]:
    if len(spec) > _MOST_OF_A_TEXT:
        raise ClassError(f"the classes are a text of {len(spec)} letters, expected up to {_MOST_OF_A_TEXT}")
    return [part.strip() for part in spec.split(",")]


class _Items(NamedTuple):
    """A text of classes, item by item: the codes of each group or label of several groups, as written."""

    members: dict[str, tuple[str, ...]]
    sets: dict[str, tuple[str, ...]]  #: Labels of several groups, and these groups.
    kinds: dict[str, str]  #: Groups that are kinds, and the class of which they are one.


def _split(spec: str) -> _Items:
    """Return the items of a text. Raises ClassError for an item that is malformed or whose name another one has."""
    items = _Items({}, {}, {})
    for item in _parts(spec):
        name, equals, right = (part.strip() for part in item.partition("="))
        if _KIND in name and not equals:
            name, _, right = (part.strip() for part in name.partition(_KIND))
            equals, items.kinds[name] = "=", right.lower()
        codes = tuple(code.strip().lower() for code in right.split("+")) if equals else (name.lower(),)
        name = name if equals else name.lower()
        alternatives = tuple(part.strip() for part in name.split(_OR))
        several = _OR.join(alternatives)
        distinct = len(set(alternatives)) == len(alternatives) > 1
        if equals and distinct and all((*alternatives, *codes)) and several not in items.sets:
            items.sets[several], items.members[several] = alternatives, codes
            continue
        letters = name.replace("_", "")
        if not (letters.isalnum() and letters.isascii() and len(name) <= MOST_LETTERS and all(codes)):
            raise ClassError(
                f"the classes '{spec}' are malformed at '{item}': write names of up to "
                f"{MOST_LETTERS} letters and digits separated by commas, groups as name=a+b, such as --classes "
                "agn=bll+fsrq,psr"
            )
        if name.lower() in {*map(str.lower, items.members), "max"}:  # P_MAX is another column of the label table
            raise ClassError(
                f"the classes '{spec}' cannot name a group '{name}': the names of groups must differ in more than "
                "case, and 'max' is reserved. Rename the group"
            )
        items.members[name] = codes
    return items


def _check(spec: str, items: _Items) -> list[str]:
    """Return the class codes that the items name. Raises ClassError if these, or the groups, do not fit each other."""
    named = [code for name, codes in items.members.items() if name not in items.kinds for code in codes]
    named += sorted(set(items.kinds.values()) - set(named))
    for code in named:
        if code not in (*CLASS_CODES, _OTHER, _ALSO):
            close = difflib.get_close_matches(code, [*CLASS_CODES, _OTHER], n=1)
            hint = f"did you mean '{close[0]}'? " if close else ""
            raise ClassError(
                f"'{code}' is not a class of the catalogue: {hint}Known are {', '.join(CLASS_CODES)}, and {_OTHER}"
            )
        if named.count(code) > 1 and code != _ALSO:
            raise ClassError(f"the classes '{spec}' name '{code}' more than once: put each class into one group")
    names = [name for name in items.members if name not in items.sets]
    for name, alternatives in items.sets.items():
        unknown = [each for each in alternatives if each not in names]
        if unknown:
            raise ClassError(
                f"the classes '{spec}' name '{name}', but '{unknown[0]}' is no group among {', '.join(names)}: "
                "name groups of which one is right, such as bll|fsrq=rdg+bcu"
            )
    if len(names) < 2:
        raise ClassError(
            f"the classes '{spec}' have only one group, expected at least two. Give two, such as agn=bll+fsrq,psr"
        )
    return named


def _rest(spec: str, items: _Items, named: list[str]) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Return members and sets, with what the items do not write: msp in psr, what is other, what kinds share."""
    members, sets = dict(items.members), dict(items.sets)
    if "psr" in named and "msp" not in named:
        named = [*named, "msp"]
        members = {name: (*codes, "msp") if "psr" in codes else codes for name, codes in members.items()}
    others = tuple(c for c in CLASS_CODES if c not in {*named, *UNCERTAIN_CLASSES})
    members = {
        name: tuple(c for code in codes for c in {_OTHER: others, _ALSO: (name.lower(),)}.get(code, (code,)))
        for name, codes in members.items()
    }
    for code in dict.fromkeys(items.kinds.values()):
        alternatives = tuple(name for name in members if name not in sets and code in members[name])
        if len(alternatives) < 2:
            raise ClassError(
                f"the classes '{spec}' have one kind of {code} only. Name the others, such as hsp:bll,lsp:bll or "
                "msp,spider:msp"
            )
        label, shared = _OR.join(alternatives), set.intersection(*(set(members[name]) for name in alternatives))
        sets[label], members[label] = alternatives, tuple(sorted(shared))
    return members, sets
