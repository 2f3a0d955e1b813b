"""Features with error bars: definitions, error propagation, imputation, and the input table of a classifier."""

from fermiclass.features.definitions import (
    DEFAULT_FEATURE_SET,
    FEATURE_SETS,
    FEATURES,
    PAPER_MIN_SIGNIFICANCE,
    Feature,
    parse_features,
    supported_features,
)
from fermiclass.features.imputation import Imputation
from fermiclass.features.table import FeatureTable, extract_features, known_features

__all__ = [
    "DEFAULT_FEATURE_SET",
    "FEATURES",
    "FEATURE_SETS",
    "PAPER_MIN_SIGNIFICANCE",
    "Feature",
    "FeatureTable",
    "Imputation",
    "extract_features",
    "known_features",
    "parse_features",
    "supported_features",
]
