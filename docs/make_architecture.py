"""The drawing of the rooms: ``docs/figures/architecture.svg``.

    python docs/make_architecture.py

`LAYERS` is the order of imports, which a test compares with the package: a room imports rooms of lower layers only.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

FIGURE = Path(__file__).parent / "figures" / "architecture.svg"

#: The rooms from the top to the bottom, with what each is for; rooms of one layer do not import each other.
LAYERS: tuple[dict[str, str], ...] = (
    {"cli": "one file for each command"},
    {"benchmarks": "public data, methods, protocols"},
    {"show": "printed summaries, HTML page"},
    {"plots": "pictures"},
    {"evaluation": "tests, metrics, baselines", "analysis": "explain, follow up, outliers"},
    {"labelling": "train, label, class priors, model folder"},
    {"features": "values with error bars", "rows": "tables larger than memory"},
    {"catalog": "releases, reading, classes", "nimgp": "Gaussian processes"},
    {"io": "tables, files, SAMP"},
)
#: Imported by all but ``nimgp``.
BOTTOM = "errors"
#: Rooms that import ``nimgp``, which itself imports none.
USERS_OF_THE_CORE = ("cli", "benchmarks", "analysis", "evaluation", "labelling", "rows")

_LEFT, _RIGHT, _HEIGHT, _STEP = 40, 640, 50, 74
_COLOURS = {
    "nimgp": "#d9ead3",
    "cli": "#dbe7f6",
    "benchmarks": "#dbe7f6",
    "show": "#fdebd0",
    "plots": "#fdebd0",
    "analysis": "#efe2f5",
    "evaluation": "#efe2f5",
}
_CORE = (
    *("the core: Gaussian processes", "with noisy inputs", ""),
    *("inputs · kernels", "likelihoods", "training · prediction", "estimators · ep · expected"),
)
_OTHER, _INK, _LINE = "#f2f0ea", "#222222", "#667788"


class Box(NamedTuple):
    """A room in the drawing."""

    x: float
    y: float
    width: float
    height: float


def boxes() -> dict[str, Box]:
    """Return where each room stands: a tower on the left, the core on the right beside the rooms that use it."""
    places: dict[str, Box] = {}
    full = _RIGHT - _LEFT - 30.0
    rows = [[name for name in layer if name != "nimgp"] for layer in LAYERS]
    for row, names in enumerate(rows):
        width = (full - 20.0 * (len(names) - 1)) / len(names)
        for k, name in enumerate(names):
            places[name] = Box(_LEFT + k * (width + 20.0), 30.0 + row * _STEP, width, _HEIGHT)
    places[BOTTOM] = Box(_LEFT, 30.0 + len(LAYERS) * _STEP, full, 34.0)
    top, end = places["labelling"].y, places["catalog"].y + _HEIGHT
    places["nimgp"] = Box(_RIGHT + 50.0, top, 210.0, end - top)
    return places


def draw() -> str:
    """Return the SVG."""
    places = boxes()
    words = {name: text for layer in LAYERS for name, text in layer.items()} | {BOTTOM: "errors of the input"}
    words["nimgp"] = ""
    height = places[BOTTOM].y + places[BOTTOM].height + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 930 {height:.0f}" role="img" '
        'font-family="Helvetica, Arial, sans-serif">',
        "<title>The rooms of fermiclass and the direction of imports</title>",
        f'<rect width="930" height="{height:.0f}" fill="#ffffff"/>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0 0 L8 4 L0 8 z" fill="{_LINE}"/></marker></defs>',
    ]
    tower = [[name for name in layer if name != "nimgp"] for layer in (*LAYERS, {BOTTOM: ""})]
    for upper, lower in pairwise(tower):
        y = places[upper[0]].y + _HEIGHT
        for box in (places[name] for name in max(upper, lower, key=len)):
            parts.append(_arrow(f"M{box.x + box.width / 2} {y + 2} V{y + _STEP - _HEIGHT - 3}"))
    core = places["nimgp"]
    for name in USERS_OF_THE_CORE:
        parts.append(_to_core(places[name], core, USERS_OF_THE_CORE.index(name)))
    for name, box in places.items():
        parts.append(_room(name, words[name], box))
    x, y = core.x + core.width / 2, core.y + 62
    for k, line in enumerate(_CORE):
        parts.append(_text(x, y + 19 * k, line, 13))
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _to_core(box: Box, core: Box, lane: int) -> str:
    start, y = box.x + box.width + 2, box.y + box.height / 2
    if core.y < y < core.y + core.height:
        return _arrow(f"M{start} {y} H{core.x - 3}")
    return _arrow(f"M{start} {y} H{core.x + core.width - 30 * (lane + 1)} V{core.y - 3}")


def _arrow(path: str) -> str:
    return f'<path d="{path}" fill="none" stroke="{_LINE}" stroke-width="1.5" marker-end="url(#tip)"/>'


def _room(name: str, words: str, box: Box) -> str:
    x, y, width, height = box
    shape = (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="8" '
        f'fill="{_COLOURS.get(name, _OTHER)}" stroke="{_LINE}"/>'
    )
    middle = x + width / 2
    if name == "nimgp":
        return shape + _text(middle, y + 32, name, 18, bold=True)
    if height < _HEIGHT:
        return shape + _text(middle, y + height / 2 + 5, f"{name}: {words}", 13)
    return shape + _text(middle, y + 21, name, 16, bold=True) + _text(middle, y + 40, words, 13)


def _text(x: float, y: float, text: str, size: int, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}"{weight} fill="{_INK}" text-anchor="middle">{text}</text>'


if __name__ == "__main__":
    FIGURE.write_text(draw(), encoding="utf-8")
