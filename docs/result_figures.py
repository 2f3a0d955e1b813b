"""The figures of ``docs/result.md`` and ``docs/trust.md``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from fermiclass import plots

if TYPE_CHECKING:
    from astropy.table import Table
    from make_result import Results

DPI = 150


def draw(results: Results, folder: Path) -> None:
    """Draw all figures into a folder, as ``result-*.png``."""
    for name, make in {"sky": sky, "latitude": latitude, "error-bars": error_bars}.items():
        figure = make(results)
        # no versions and times in the file: the same picture is the same bytes
        figure.savefig(folder / f"result-{name}.png", dpi=DPI, metadata={"Software": None})
        plt.close(figure)


def purity(pairs: dict[str, Any], names: Sequence[str], path: Path) -> None:
    """Draw the purity of pulsar candidates against the limit of P, beside the base rate, for pairs of lists."""
    figure, panels = plt.subplots(1, len(names), figsize=(7.2, 3.0), layout="constrained", sharey=True)
    colours = plots.class_colours(["other", "psr"])
    for axes, name in zip(panels, names, strict=True):
        for reading, of, colour in (("face", "pulsars", "other"), ("spiders", "pulsars and spiders", "psr")):
            everything, *rows = (row for row in pairs[name]["candidates"][reading] if row["n"])
            x = np.arange(len(rows)) + (0.12 if reading == "spiders" else -0.12)
            y, ends = (np.array([row[what] for row in rows]) for what in ("purity", "purity_interval"))
            error = np.abs(ends.T - y)
            axes.errorbar(x, y, error, fmt="o", color=colours[colour], capsize=2, label=f"{of} (line: base rate)")
            axes.axhline(everything["purity"], color=colours[colour], linestyle="--", linewidth=1)
        axes.set_xticks(np.arange(len(rows)), [f"{row['threshold']:g}\n{row['n']}" for row in rows])
        axes.set(title=name, xlabel="limit of P(pulsar); number of candidates", ylim=(0, 1.05))
    panels[0].set_ylabel("purity, with 90 % interval")
    panels[0].legend(loc="lower left", frameon=False, fontsize=8)
    figure.savefig(path, dpi=DPI, metadata={"Software": None})
    plt.close(figure)


def sky(results: Results) -> Figure:
    """Draw the unassociated sources on the sky."""
    from make_result import CLASSES

    table = results.sources
    axes = plots.sky_map(table["GLON"], table["GLAT"], table["PRED_CLASS"], table["P_MAX"], names=CLASSES)
    assert isinstance(axes.figure, Figure)
    return axes.figure


def latitude(results: Results) -> Figure:
    """Draw the numbers of each class by Galactic latitude, and the share of pulsars as three ways have it."""
    from make_result import CLASSES, LATITUDES, grouped
    from make_result import latitude as latitude_of

    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.1), layout="constrained", sharey=False)
    place = np.arange(len(LATITUDES) - 1)
    names = [f"{low:.0f}–{high:.0f}" for low, high in pairwise(LATITUDES)]
    colours = plots.class_colours(CLASSES)

    def by_bin(table: Table, p: np.ndarray) -> np.ndarray:
        return np.histogram(latitude_of(table), LATITUDES, weights=p)[0]

    table = results.sources
    below = np.zeros(len(place))
    for name in ("psr", "msp", "other", "bll", "fsrq"):
        height = by_bin(table, np.asarray(table[f"P_{name}"], float))
        left.bar(place, height, 0.8, bottom=below, color=colours[name], alpha=0.85, label=name)
        below += height
    left.set_ylabel("unassociated sources")
    left.set_ylim(0.0, 540.0)
    left.legend(frameon=False, ncols=5, fontsize="small", loc="upper right", columnspacing=0.8, handlelength=1.2)

    for way, style, colour, label in (
        ("default", "^-", colours["psr"], "the default"),
        ("trained", "--", "0.5", "class priors as trained"),
        ("three", ":", "0.2", "three classes, as trained"),
    ):
        p = grouped(results.ways[way])[:, 1]
        share = by_bin(results.ways[way], p) / by_bin(results.ways[way], np.ones(len(p)))
        right.plot(place, share, style, color=colour, linewidth=1.4, markersize=6, label=label)
    right.set_ylabel("share of pulsars")
    right.set_ylim(0.0, 0.8)
    right.legend(frameon=False, fontsize="small", loc="upper right")
    for axes in (left, right):
        axes.set_xticks(place, names, fontsize="small", rotation=30)
        axes.set_xlabel("|Galactic latitude|, deg")
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def error_bars(results: Results) -> Figure:
    """Draw what error bars change: by how much the probabilities move, and how sure one is."""
    from make_result import moved

    significance = np.asarray(results.labels["Signif_Avg"], float)
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.1), layout="constrained")
    order = np.argsort(significance, kind="stable")
    groups = np.array_split(order, 9)
    at = np.array([np.median(significance[rows]) for rows in groups])
    distance = moved(results)
    levels = np.array([np.percentile(distance[rows], [50, 84, 97.5]) for rows in groups])
    left.scatter(significance, distance, s=3, lw=0, color="0.8", rasterized=True)
    for k, (name, style) in enumerate({"half of the sources": "-", "84 %": "--", "97.5 %": ":"}.items()):
        left.plot(at, levels[:, k], style, color="#0072B2", linewidth=1.6, label=f"{name} move by less")
    left.set_ylim(0.0, 0.21)
    left.set_ylabel("shift of the probabilities, ½ Σ |ΔP|")
    left.legend(frameon=False, fontsize="small")

    for table, colour, marker, name in (
        (results.without_errors, "#D55E00", "s", "without error bars (mgp)"),
        (results.labels, "#0072B2", "o", "with error bars (the default)"),
    ):
        sure = np.asarray(table["P_MAX"], float) > 0.9
        share = [sure[rows].mean() for rows in groups]
        right.plot(at, share, marker=marker, markersize=4, color=colour, label=name)
    right.set_ylabel("share of sources with P_MAX > 0.9")
    right.set_ylim(0.0, 0.5)
    right.legend(frameon=False, fontsize="small", loc="lower right")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xlim(3.8, 40.0)
        axes.set_xticks([4, 6, 10, 20, 40], ["4", "6", "10", "20", "40"])
        axes.minorticks_off()
        axes.set_xlabel("significance, σ")
        axes.spines[["top", "right"]].set_visible(False)
    return figure
