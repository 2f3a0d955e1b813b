"""Settings as the parameters of scikit-learn estimators."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from fermiclass.nimgp.settings import FIELDS

_LONGEST_LINE = 116

Cls = TypeVar("Cls", bound=type)


def takes_settings(
    *names: str, first: str, changed: Mapping[str, Any] | None = None, about: Mapping[str, str] | None = None
) -> Callable[[Cls], Cls]:
    """Give a scikit-learn estimator the settings as parameters, with their defaults and descriptions.

    The decorated class gets an ``__init__`` that stores its arguments, and ``{settings}`` in its docstring becomes the
    descriptions: the main settings first, the others under "Other Parameters".

    Parameters
    ----------
    names
        The settings; all by default.
    first
        The one that may be given by position.
    changed
        Defaults that differ.
    about
        Descriptions that differ.
    """
    chosen = names or tuple(FIELDS)
    default = {name: FIELDS[name].default for name in chosen} | dict(changed or {})
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for name in sorted(chosen, key=lambda name: name != first):
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if name == first else inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, kind, default=default[name], annotation=FIELDS[name].type))
    signature = inspect.Signature(parameters)

    def decorate(cls: Cls) -> Cls:
        def __init__(self: Any, *args: Any, **given: Any) -> None:  # noqa: N807
            try:
                bound = signature.bind(self, *args, **given)
            except TypeError as error:
                raise TypeError(f"{cls.__name__}: {error}") from None
            bound.apply_defaults()
            for name in chosen:
                setattr(self, name, bound.arguments[name])

        __init__.__signature__ = signature  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[misc]
        # Python drops docstrings with -OO.
        cls.__doc__ = cls.__doc__ and cls.__doc__.replace("    {settings}\n", _describe(chosen, default, about or {}))
        return cls

    return decorate


def _describe(names: Iterable[str], default: Mapping[str, Any], about: Mapping[str, str]) -> str:
    """Return the sections "Parameters" and "Other Parameters" of a docstring."""
    sections: dict[bool, list[str]] = {True: [], False: []}
    for name in names:
        text = f"{about.get(name, FIELDS[name].metadata['about'])} Default: {default[name]!r}."
        choices = FIELDS[name].metadata["check"].choices if name not in about else ()
        kind = "{" + ", ".join(map(repr, choices)) + "}" if choices else str(FIELDS[name].type).replace("Any", "object")
        wrapped = textwrap.wrap(text, _LONGEST_LINE - 8, break_long_words=False, break_on_hyphens=False)
        sections[FIELDS[name].metadata["main"]] += [f"    {name} : {kind}", *(f"        {line}" for line in wrapped)]
    titles = {True: "Parameters", False: "Other Parameters"}
    parts = [["    " + titles[main], "    " + "-" * len(titles[main]), *sections[main], ""] for main in (True, False)]
    return "\n".join(line for part in parts for line in part)
