"""Pictures: arrays and Axes in, Axes out.

Every function draws on the Axes it is given, or makes some with pyplot, and returns them. The same class has the same
colour in all of them, and a marker of its own for readers who see no colours. Nothing here needs TensorFlow.
"""

from fermiclass.plots.colours import CLASS_COLOURS, PALETTE, class_colours, class_markers
from fermiclass.plots.confusion import confusion_matrix
from fermiclass.plots.explanation import explanation, explanation_size, feature_effects, feature_strip
from fermiclass.plots.history import training_history
from fermiclass.plots.pairs import feature_labels, feature_pair, feature_pairs
from fermiclass.plots.relevances import ard_relevances, kernel_slopes
from fermiclass.plots.reliability import reliability_diagram
from fermiclass.plots.sky import sky_map
from fermiclass.plots.triangle import probability_triangle

__all__ = [
    "CLASS_COLOURS",
    "PALETTE",
    "ard_relevances",
    "class_colours",
    "class_markers",
    "confusion_matrix",
    "explanation",
    "explanation_size",
    "feature_effects",
    "feature_labels",
    "feature_pair",
    "feature_pairs",
    "feature_strip",
    "kernel_slopes",
    "probability_triangle",
    "reliability_diagram",
    "sky_map",
    "training_history",
]
