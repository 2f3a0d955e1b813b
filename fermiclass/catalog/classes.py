"""Classes of the catalogue, and how they are grouped for training."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fermiclass.errors import ClassError

#: What the catalogue's class codes mean. Upper case in the catalogue: identified; lower case: associated only.
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

#: Associated, yet without a class that says what they are.
UNCERTAIN_CLASSES = ("bcu", "unk")

#: Which sources to label.
TARGETS = ("unassociated", "uncertain", "all")

_OTHER = "other"


@dataclass(frozen=True)
class ClassGrouping:
    """Which of the catalogue's classes are learned, and under which names.

    Attributes
    ----------
    names
        The C group names, in the order given.
    members
        The catalogue's classes of each group; for ``other`` the classes named nowhere else.
    spec
        The text it was parsed from.
    """

    names: tuple[str, ...]
    members: Mapping[str, tuple[str, ...]]
    spec: str

    @classmethod
    def parse(cls, spec: str | ClassGrouping) -> ClassGrouping:
        """Parse comma-separated groups: ``bll,fsrq,psr``, ``agn=bll+fsrq+bcu,psr``, ``bll,fsrq,psr,msp,other``.

        ``psr`` includes ``msp`` unless ``msp`` is named elsewhere, since releases before DR3 do not tell them apart;
        ``other`` is every associated class named nowhere else, except bcu and unk.

        Raises
        ------
        ClassError
            When the text is malformed, names an unknown class or one class twice, or fewer than two groups.
        """
        if isinstance(spec, ClassGrouping):
            return spec
        members: dict[str, tuple[str, ...]] = {}
        for item in spec.split(","):
            name, equals, right = (part.strip() for part in item.partition("="))
            codes = tuple(code.strip().lower() for code in right.split("+")) if equals else (name.lower(),)
            name = name if equals else name.lower()
            if not name.replace("_", "").isalnum() or not all(codes):
                raise ClassError(
                    f"the classes '{spec}' are malformed at '{item.strip()}': write names separated by commas, groups "
                    "as name=a+b, such as --classes agn=bll+fsrq,psr"
                )
            if name.lower() in {*map(str.lower, members), "max"}:  # P_MAX is another column of the label table
                raise ClassError(
                    f"the classes '{spec}' cannot name a group '{name}' (again): give each group a name of its own, "
                    "differing in more than case, and none 'max'"
                )
            members[name] = codes
        named = [code for codes in members.values() for code in codes if code != _OTHER]
        for code in named:
            if code not in CLASS_CODES:
                close = difflib.get_close_matches(code, [*CLASS_CODES, _OTHER], n=1)
                hint = f"did you mean '{close[0]}'? " if close else ""
                raise ClassError(
                    f"'{code}' is not a class of the catalogue: {hint}Known are {', '.join(CLASS_CODES)}, and {_OTHER}"
                )
            if named.count(code) > 1:
                raise ClassError(f"the classes '{spec}' name '{code}' more than once: a class belongs to one group")
        if "psr" in named and "msp" not in named:
            members = {name: (*codes, "msp") if "psr" in codes else codes for name, codes in members.items()}
        if len(members) < 2:
            raise ClassError(
                f"the classes '{spec}' are only one: a classifier needs two at least, such as agn=bll+fsrq,psr"
            )
        rest = tuple(c for c in CLASS_CODES if c not in {*named, *UNCERTAIN_CLASSES, *members.get("psr", ())})
        members = {
            name: tuple(c for code in codes for c in (rest if code == _OTHER else (code,)))
            for name, codes in members.items()
        }
        return cls(tuple(members), members, ",".join(part.strip() for part in spec.split(",")))

    def __str__(self) -> str:
        return self.spec

    def assign(self, classes: ArrayLike) -> NDArray[np.str_]:
        """Return the group of each class code (N,), '' where it belongs to none."""
        codes = np.asarray(classes, dtype=str)
        groups = np.full(codes.shape, "", dtype=f"U{max(map(len, self.names))}")
        for name, members in self.members.items():
            groups[np.isin(codes, members)] = name
        if any(part.strip().lower() == _OTHER for part in self.spec.split(",")):
            # A later release may have classes without an entry in CLASS_CODES: they are other, too.
            groups[~np.isin(codes, ("", *CLASS_CODES))] = _OTHER
        return groups

    def is_target(self, classes: ArrayLike, targets: str = "uncertain") -> NDArray[np.bool_]:
        """Return which sources (N,) are to be labelled.

        ``'unassociated'``: no class at all; ``'uncertain'``: also bcu and unk, less what the grouping trains on;
        ``'all'``: every source.
        """
        codes = np.asarray(classes, dtype=str)
        if targets == "unassociated":
            return np.asarray(codes == "")
        if targets == "uncertain":
            return np.isin(codes, ("", *UNCERTAIN_CLASSES)) & (self.assign(codes) == "")
        if targets == "all":
            return np.ones(codes.shape, dtype=bool)
        raise ClassError(f"targets='{targets}' is unknown: choose one of {', '.join(TARGETS)}")
