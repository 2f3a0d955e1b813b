"""How good the labels are: tests across releases and folds, metrics, and what users would pick instead."""

from fermiclass.evaluation.comparisons import (
    BinDifference,
    CorrectionEffect,
    NoiseGain,
    PeerComparison,
    VersusPeers,
    best_peer,
    correction_effects,
    noise_gains,
    versus_peers,
)
from fermiclass.evaluation.crossmatch import Matches, later_classes, match_sources
from fermiclass.evaluation.feature_sets import name_feature_sets
from fermiclass.evaluation.figures import reliability_figure
from fermiclass.evaluation.methods import EstimatorMethod, Method, Predictor, peer_method, peer_methods
from fermiclass.evaluation.metrics import Difference, ReliabilityBin, paired_difference
from fermiclass.evaluation.novelty import (
    NoveltyResult,
    Separation,
    evaluate_novelty,
    novelty_table,
    print_novelty,
)
from fermiclass.evaluation.peers import PEERS, PeerClassifier, available_peers
from fermiclass.evaluation.protocols import evaluate_faint, evaluate_folds, evaluate_future
from fermiclass.evaluation.report import (
    evaluation_table,
    peers_table,
    print_evaluation,
    shares_table,
    significance_table,
)
from fermiclass.evaluation.results import SHARES_SUFFIX, Evaluation, MethodResult, Variant
from fermiclass.evaluation.scores import Scores, SignificanceBin

__all__ = [
    "PEERS",
    "SHARES_SUFFIX",
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
    "PeerClassifier",
    "PeerComparison",
    "Predictor",
    "ReliabilityBin",
    "Scores",
    "Separation",
    "SignificanceBin",
    "Variant",
    "VersusPeers",
    "available_peers",
    "best_peer",
    "correction_effects",
    "evaluate_faint",
    "evaluate_folds",
    "evaluate_future",
    "evaluate_novelty",
    "evaluation_table",
    "later_classes",
    "match_sources",
    "name_feature_sets",
    "noise_gains",
    "novelty_table",
    "paired_difference",
    "peer_method",
    "peer_methods",
    "peers_table",
    "print_evaluation",
    "print_novelty",
    "reliability_figure",
    "shares_table",
    "significance_table",
    "versus_peers",
]
