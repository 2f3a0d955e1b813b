"""Checks of settings: which values one can have, and how a message says so."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple


class Check(NamedTuple):
    """Which values a setting can have.

    Attributes
    ----------
    accepts
        Whether a value can be used.
    problem
        Text that follows ``name=value`` in the message: what is wrong, and what is expected.
    choices
        The values, where they are few.
    """

    accepts: Callable[[Any], bool]
    problem: str
    choices: tuple[str, ...] = ()


def is_a(kind: Any, value: Any) -> bool:
    """Return whether a value is of a kind of number; True and False are none."""
    return isinstance(value, kind) and not isinstance(value, bool)


def one_of(choices: tuple[str, ...]) -> Check:
    """Accept some names."""
    return Check(
        lambda value: isinstance(value, str) and value in choices,
        f"is unknown: choose one of {', '.join(choices)}",
        choices,
    )


def whole(most: int | None = None) -> Check:
    """Accept whole numbers from 1."""
    limit = "" if most is None else f" and up to {most:,}"
    return Check(
        lambda value: is_a(Integral, value) and 0 < value <= (value if most is None else most),
        f"is not valid: expected a whole number above 0{limit}",
    )


def number(*, zero: bool = False, most: float | None = None) -> Check:
    """Accept numbers above 0, or from 0."""
    limit = "of 0 or more" if zero else "above 0"
    upper = "" if most is None else f" and up to {most:g}"
    return Check(
        lambda value: is_a(Real, value) and (value > 0 or (zero and value == 0)) and (most is None or value <= most),
        f"is not valid: expected a number {limit}{upper}",
    )


def fraction(*, zero: bool = False) -> Check:
    """Accept numbers between 0 and 1."""
    lowest = "from 0 to below 1" if zero else "between 0 and 1"
    return Check(
        lambda value: is_a(Real, value) and (0 < value < 1 or (zero and value == 0)),
        f"is not valid: expected a number {lowest}",
    )


def truth() -> Check:
    """Accept True and False."""
    return Check(lambda value: type(value).__name__ in ("bool", "bool_"), "is not valid: expected True or False")


def or_(check: Check, other: str | None) -> Check:
    """Accept None, or one text, too."""
    shown = "None" if other is None else f"'{other}'"
    return Check(
        lambda value: value is None if other is None and value is None else value == other or check.accepts(value),
        f"{check.problem}, or {shown}",
        check.choices,
    )
