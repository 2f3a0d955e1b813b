"""How good the labels are: methods on sources whose class is known, metrics, and baselines of scikit-learn."""

from fermiclass.evaluation.baselines import available_baselines
from fermiclass.evaluation.crossmatch import match_sources
from fermiclass.evaluation.methods import (
    Method,
    baseline_method,
    baseline_methods,
    default_method,
    estimator_method,
    model_method,
    open_baselines,
)
from fermiclass.evaluation.protocols import Population, Targets, bright_to_faint, folds, open_world
from fermiclass.evaluation.results import Evaluation, Result, evaluate

__all__ = [
    "Evaluation",
    "Method",
    "Population",
    "Result",
    "Targets",
    "available_baselines",
    "baseline_method",
    "baseline_methods",
    "bright_to_faint",
    "default_method",
    "estimator_method",
    "evaluate",
    "folds",
    "match_sources",
    "model_method",
    "open_baselines",
    "open_world",
]
