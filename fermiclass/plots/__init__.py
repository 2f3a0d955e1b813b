"""Plots: functions of arrays that draw on Axes and return them.

Every function draws on given Axes, or makes new ones with pyplot. A class has the same colour and marker in all plots.
"""

from fermiclass.plots.evaluation import confusion_matrix, evaluation_figure, reliability_diagram
from fermiclass.plots.explanation import (
    ard_relevances,
    explanation,
    explanation_size,
    feature_effects,
    feature_strip,
    log_odds_slopes,
)
from fermiclass.plots.finder import finder_chart, finder_pages
from fermiclass.plots.sources import feature_labels, feature_pair, probability_triangle, sky_map
from fermiclass.plots.style import CLASS_COLOURS, PALETTE, class_colours, class_markers

__all__ = [
    "CLASS_COLOURS",
    "PALETTE",
    "ard_relevances",
    "class_colours",
    "class_markers",
    "confusion_matrix",
    "evaluation_figure",
    "explanation",
    "explanation_size",
    "feature_effects",
    "feature_labels",
    "feature_pair",
    "feature_strip",
    "finder_chart",
    "finder_pages",
    "log_odds_slopes",
    "probability_triangle",
    "reliability_diagram",
    "sky_map",
]
