"""Colour and shape of each class on the page, in light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fermiclass.plots.style import class_colours, class_markers

#: Background colours of the page, light and dark; the same as in its style sheet.
BACKGROUNDS = {"light": "#ffffff", "dark": "#161b22"}

#: Least contrast to the background. WCAG 2.1 (1.4.11) requires 3 of graphics that are needed to understand the content;
#: small marks on a dark background need more.
_LEAST_CONTRAST = {"light": 3.0, "dark": 4.5}

#: Outlines in a box from -10 to 10, for Matplotlib's markers.
_OUTLINES = {
    "o": "M-8 0A8 8 0 1 1 8 0A8 8 0 1 1 -8 0Z",
    "s": "M-7 -7H7V7H-7Z",
    "^": "M0 -9L9 7H-9Z",
    "v": "M0 9L9 -7H-9Z",
    "<": "M-9 0L7 -9V9Z",
    ">": "M9 0L-7 -9V9Z",
    "D": "M0 -9.5L9.5 0L0 9.5L-9.5 0Z",
    "d": "M0 -10L6 0L0 10L-6 0Z",
    "P": "M-3 -9H3V-3H9V3H3V9H-3V3H-9V-3H-3Z",
    "X": "M-9 -5L-5 -9L0 -4L5 -9L9 -5L4 0L9 5L5 9L0 4L-5 9L-9 5L-4 0Z",
    "p": "M0 -9L9 -2L5.5 8H-5.5L-9 -2Z",
    "h": "M0 -9L8 -4.5V4.5L0 9L-8 4.5V-4.5Z",
    "*": "M0 -10L2.5 -3.2L9.5 -3L4 1.3L6 8.1L0 4.1L-6 8.1L-4 1.3L-9.5 -3L-2.5 -3.2Z",
    ".": "M-4 0A4 4 0 1 1 4 0A4 4 0 1 1 -4 0Z",
}

#: Symbols of the page's plotting library with the same outline.
_SYMBOLS = {"o": "circle", "s": "rect", "^": "triangle", "D": "diamond"}


@dataclass(frozen=True)
class Mark:
    """The mark of a class: colours ``#rrggbb`` in light and dark, outline as an SVG path, and ECharts' symbol."""

    name: str
    light: str
    dark: str
    outline: str
    symbol: str | None


def class_marks(classes: Sequence[str]) -> tuple[Mark, ...]:
    """Return the marks of the classes: colours and shapes of :mod:`fermiclass.plots`, visible on both backgrounds."""
    colours, markers = class_colours(classes), class_markers(classes)

    def seen(name: str, ground: str) -> str:
        return readable(colours[name], BACKGROUNDS[ground], _LEAST_CONTRAST[ground])

    shapes = ((name, markers[name]) for name in classes)
    return tuple(Mark(n, seen(n, "light"), seen(n, "dark"), _OUTLINES[s], _SYMBOLS.get(s)) for n, s in shapes)


def readable(colour: str, background: str, least: float) -> str:
    """Return `colour` mixed with just enough black or white for a contrast of `least` to `background`."""
    from matplotlib.colors import to_hex, to_rgb

    far = 0.0 if _luminance(to_rgb(background)) > 0.5 else 1.0
    for share in np.linspace(0.0, 1.0, 101):
        red, green, blue = ((1.0 - share) * part + share * far for part in to_rgb(colour))
        mixed = to_hex((red, green, blue))
        if contrast(mixed, background) >= least:
            break
    return mixed


def contrast(colour: str, other: str) -> float:
    """Return (L₁ + 0.05)/(L₂ + 0.05), with the relative luminances L of WCAG: from 1 to 21."""
    from matplotlib.colors import to_rgb

    low, high = sorted((_luminance(to_rgb(colour)), _luminance(to_rgb(other))))
    return (high + 0.05) / (low + 0.05)


def _luminance(rgb: tuple[float, ...]) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgb]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
