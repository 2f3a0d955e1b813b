"""Finder charts: the error ellipse of a source, and the sources of the catalogue around it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from astropy.table import Table
from numpy.typing import ArrayLike

from fermiclass.io import FloatArray
from fermiclass.io.target_lists import ELLIPSE, PLACE, angles, sexagesimal
from fermiclass.labelling.labels import counterpart, second_association, shown
from fermiclass.plots.style import SMALL, array_of, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TARGET, _OTHERS, _CANDIDATE, _BEAM = "#D55E00", "#333333", "#0072B2", "#009E73"
_LEAST_WIDTH = 0.2  # deg, of the close field
_WIDE = (2.0, 4.0)  # deg, the least and the largest width of the field around it
_NEIGHBOURS = 12  # for which there is room in it
_ON_A_PAGE = 3
_TOO_SMALL = 0.03  # fraction of the field: there is no room for a cross in such an ellipse
_SAID = 0.1  # P_CPT from which on it stands beside a candidate
_BARS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0)  # arcmin


def finder_chart(
    places: ArrayLike,
    ellipses: ArrayLike,
    names: Sequence[str],
    *,
    width: float,
    beam: float | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw the error ellipses around a source in the tangential plane, north up and east to the left.

    `places` has right ascension and declination, ``(n, 2)``; the source is the first, in the middle of a field of this
    width; the first of the `names` is not drawn. `ellipses` has semi-major and semi-minor axis and position angle from
    north to east, ``(n, 3)``, NaN without one. `beam` is the diameter of a telescope's beam. All are in degrees. Raises
    ValueError when shapes differ.
    """
    from matplotlib.patches import Circle, Ellipse

    positions, shapes = (
        array_of((len(names), k), x, what) for k, x, what in ((2, places, "places"), (3, ellipses, "ellipses"))
    )
    axes = axes_or_new(axes, (4.0, 4.0))
    half = 30.0 * width  # arcmin
    axes.set(xlim=(half, -half), ylim=(-half, half), aspect="equal", xticks=[], yticks=[])
    offsets = 60.0 * _tangential(positions, positions[0])
    for k in np.flatnonzero((np.abs(offsets) <= half).all(axis=1)):  # NaN is in no field
        (x, y), (major, minor, angle) = offsets[k], shapes[k]
        style: dict[str, Any] = {"color": _OTHERS if k else _TARGET, "lw": 0.8 if k else 1.8}
        if not 60.0 * major < _TOO_SMALL * half:
            axes.plot(x, y, "+", markersize=6 if k else 9, markeredgewidth=style["lw"], color=style["color"])
        if major > 0 and minor > 0:
            turn = 90.0 - np.nan_to_num(angle)  # from the axis to the east
            axes.add_patch(Ellipse((x, y), 120.0 * major, 120.0 * minor, angle=turn, fill=False, **style))
        right, up = x > 0, y < 0.9 * half  # where there is room for the name
        place: dict[str, Any] = {"ha": "left" if right else "right", "va": "bottom" if up else "top", "fontsize": 6}
        beside = (4 if right else -4, 2 if up else -2)
        if k:
            axes.annotate(names[int(k)], (x, y), beside, textcoords="offset points", parse_math=False, **place)
    if beam is not None:
        axes.add_patch(Circle((0.0, 0.0), 30.0 * beam, fill=False, color=_BEAM, lw=1.2, ls="--"))
    _scale_and_directions(axes, half)
    return axes


def finder_pages(
    targets: Table, around: Table, *, beam: float | None = None, candidates: Table | None = None
) -> Iterator[Figure]:
    """Yield pages of A4 with the charts of a follow-up list, three on each: the ellipse, and the field around it.

    `around` has the catalogue's sources, and `candidates` all candidate counterparts, of
    :func:`fermiclass.counterpart_table`; without them the best one is marked. `beam` is the diameter of a telescope's
    beam, in degrees. Targets without a position have no chart.
    """
    from matplotlib.figure import Figure

    placed = np.flatnonzero(np.isfinite(_columns(targets, PLACE)).all(axis=1))
    for first in range(0, max(1, len(placed)), _ON_A_PAGE):
        page = Figure(figsize=(8.27, 11.69))
        for k, row in enumerate(placed[first : first + _ON_A_PAGE]):
            _draw_target(page, 0.975 - 0.325 * k, targets[row : row + 1], around, beam, candidates)
        yield page


def _draw_target(
    page: Figure, top: float, target: Table, around: Table, beam: float | None, candidates: Table | None
) -> None:
    """Draw the close and the wide field of one target, below its name and what is known of it."""
    others = around[np.asarray(around["Source_Name"]).astype(str) != str(target["Source_Name"][0])]
    places, ellipses = (np.concatenate([_columns(t, names) for t in (target, others)]) for names in (PLACE, ELLIPSE))
    codes = zip(others["Source_Name"], others["CLASS1"], strict=True)
    names = ["", *(f"{str(name).removeprefix('4FGL ')} {str(code).strip()}" for name, code in codes)]
    close = max(_LEAST_WIDTH, 6.0 * float(np.nan_to_num(ellipses[0, 0])), 1.2 * (beam or 0.0))
    away = np.sort(np.nan_to_num(np.abs(_tangential(places, places[0])).max(axis=1), nan=np.inf))  # NaN: the far side
    wide = float(np.clip(2.0 * np.append(away, [np.inf] * _NEIGHBOURS)[_NEIGHBOURS], *_WIDE))
    row, (ra, dec) = target[0], (texts[0] for texts in sexagesimal(target))
    title = f"{row['RANK']}. {row['Source_Name']}   {ra} {dec} (J2000)"
    page.text(0.07, top, title, va="top", weight="bold", parse_math=False)
    page.text(0.07, top - 0.018, _about(target), va="top", fontsize=SMALL, linespacing=1.3, parse_math=False)
    for left, width in ((0.07, close), (0.53, wide)):
        axes = page.add_axes((left, top - 0.297, 0.4, 0.235), anchor="W")
        finder_chart(places, ellipses, names, width=width, beam=beam, axes=axes)
        if counterpart(row) and width == close:
            _mark(axes, target if candidates is None else candidates, row["Source_Name"], places[0])
    axes.indicate_inset((30.0 * close, -30.0 * close, -60.0 * close, 60.0 * close), edgecolor=_TARGET)


def _mark(axes: Axes, candidates: Table, name: str, centre: FloatArray) -> None:
    """Mark the candidate counterparts of a source, larger ones for more probable ones, with their 95 % errors."""
    from matplotlib.patches import Circle

    chosen = candidates[np.asarray(candidates["Source_Name"]) == name]
    offsets = 60.0 * _tangential(_columns(chosen, ("CPT_RA", "CPT_DEC")), centre)
    for row, (x, y) in zip(chosen, offsets, strict=True):
        p, radius = float(row["P_CPT"]), 60.0 * float(row["CPT_R95"])
        axes.plot(x, y, "x", color=_CANDIDATE, markersize=3.0 + 5.0 * p, markeredgewidth=0.6 + p)
        axes.add_patch(Circle((x, y), radius, fill=False, color=_CANDIDATE, lw=0.7))
        if p >= _SAID:
            style: dict[str, Any] = {"textcoords": "offset points", "fontsize": 6, "color": _CANDIDATE}
            axes.annotate(f"{p:.2f}", (x, y), (4, 4), **style)


def _about(target: Table) -> str:
    """Return what is known of a target in a few lines."""
    row, (major, minor, angle) = target[0], _columns(target, ELLIPSE)[0]
    ellipse = f"95 % ellipse {60 * major:.1f}' × {60 * minor:.1f}', PA {angle % 180:.0f}°"
    wanted = str(target.meta["rankedby"]).removesuffix(" * LASTS")
    wanted = wanted if wanted.startswith(("P_", "Sum_P_")) else "P_MAX"
    facts = [f"l {row['GLON']:.3f}°, b {row['GLAT']:+.3f}°", ellipse if major > 0 else "no error ellipse"]
    facts += [f"{row['Signif_Avg']:.1f} σ", f"{wanted} {shown(row[wanted])}", f"most probably {row['PRED_CLASS']}"]
    said = (("since", "FIRST_LIST"), ("counterpart", "ASSOC1"), ("known:", "KNOWN"))
    facts += [f"{word} {row[name]}" for word, name in said if str(row[name]).strip()]
    facts += [f"second association {second}" for second in [second_association(row)] if second]
    facts += [f"best counterpart × {found}" for found in [counterpart(row)] if found]
    return "\n".join(textwrap.wrap("; ".join(facts), 112, max_lines=3))


def _columns(table: Table, names: Sequence[str]) -> FloatArray:
    return np.column_stack([angles(table, name) for name in names])


def _tangential(places: FloatArray, centre: FloatArray) -> FloatArray:
    """Return the gnomonic projection to east and north of positions, ``(n, 2)`` in degrees; NaN on the far side."""
    (ra, dec), (ra0, dec0) = np.radians(places).T, np.radians(centre)
    depth = np.sin(dec0) * np.sin(dec) + np.cos(dec0) * np.cos(dec) * np.cos(ra - ra0)
    depth = np.where(depth > 0, depth, np.nan)
    east = np.cos(dec) * np.sin(ra - ra0) / depth
    north = (np.cos(dec0) * np.sin(dec) - np.sin(dec0) * np.cos(dec) * np.cos(ra - ra0)) / depth
    return np.degrees(np.column_stack([east, north]))


def _scale_and_directions(axes: Axes, half: float) -> None:
    """Draw a scale bar below the field, and arrows to north and east in its lower right corner."""
    length = max(bar for bar in _BARS if bar <= 0.7 * half)
    axes.plot([half, half - length], [-1.07 * half] * 2, color="black", lw=2.0, solid_capstyle="butt", clip_on=False)
    text = f"{length:g}'" if length < 60 else f"{length / 60:g}°"
    axes.text(0.97 * half - length, -1.07 * half, text, ha="left", va="center", fontsize=SMALL)
    arrow = {"arrowstyle": "-|>", "color": "black", "lw": 1.0, "shrinkA": 0.0, "shrinkB": 0.0}
    corner = (-0.88 * half, -0.9 * half)
    for letter, step in (("N", (0.0, 0.2 * half)), ("E", (0.2 * half, 0.0))):
        tip = (corner[0] + step[0], corner[1] + step[1])
        axes.annotate("", tip, corner, arrowprops=arrow)
        axes.text(tip[0] + 0.3 * step[0], tip[1] + 0.3 * step[1], letter, ha="center", va="center", fontsize=SMALL)
