"""How good the labels are: tests across releases and folds, metrics, and baselines of scikit-learn."""

from fermiclass.evaluation.baselines import BASELINES, BaselineClassifier, available_baselines
from fermiclass.evaluation.comparisons import (
    BaselineComparison,
    BinDifference,
    CorrectionEffect,
    NoiseGain,
    VersusBaselines,
    best_baseline,
    correction_effects,
    noise_gains,
    versus_baselines,
)
from fermiclass.evaluation.crossmatch import Matches, later_classes, match_sources
from fermiclass.evaluation.feature_sets import name_feature_sets
from fermiclass.evaluation.method_results import SHARES_SUFFIX, MethodResult, Variant
from fermiclass.evaluation.methods import EstimatorMethod, Method, TrainedMethod, baseline_method, baseline_methods
from fermiclass.evaluation.metrics import Difference, ReliabilityBin, paired_difference
from fermiclass.evaluation.novelty import (
    NoveltyResult,
    Separation,
    evaluate_novelty,
)
from fermiclass.evaluation.protocols import evaluate_faint, evaluate_folds, evaluate_future
from fermiclass.evaluation.results import Evaluation
from fermiclass.evaluation.scores import Scores, SignificanceBin

__all__ = [
    "BASELINES",
    "SHARES_SUFFIX",
    "BaselineClassifier",
    "BaselineComparison",
    "BinDifference",
    "CorrectionEffect",
    "Difference",
    "EstimatorMethod",
    "Evaluation",
    "Matches",
    "Method",
    "MethodResult",
    "NoiseGain",
    "NoveltyResult",
    "ReliabilityBin",
    "Scores",
    "Separation",
    "SignificanceBin",
    "TrainedMethod",
    "Variant",
    "VersusBaselines",
    "available_baselines",
    "baseline_method",
    "baseline_methods",
    "best_baseline",
    "correction_effects",
    "evaluate_faint",
    "evaluate_folds",
    "evaluate_future",
    "evaluate_novelty",
    "later_classes",
    "match_sources",
    "name_feature_sets",
    "noise_gains",
    "paired_difference",
    "versus_baselines",
]

#: The name of `baseline_method` in earlier versions.
peer_method = baseline_method
