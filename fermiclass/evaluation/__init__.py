"""How good the labels are: tests across releases and folds, metrics, and what users would pick instead."""

from fermiclass.evaluation.crossmatch import Matches, later_classes, match_sources
from fermiclass.evaluation.methods import EstimatorMethod, Method, Predictor, peer_method, peer_methods
from fermiclass.evaluation.metrics import Difference, ReliabilityBin, paired_difference
from fermiclass.evaluation.peers import PEERS, PeerClassifier, available_peers
from fermiclass.evaluation.protocols import SHARES_SUFFIX, evaluate_faint, evaluate_folds, evaluate_future
from fermiclass.evaluation.report import evaluation_table, print_evaluation, reliability_figure
from fermiclass.evaluation.results import Evaluation, MethodResult
from fermiclass.evaluation.scores import Scores, SignificanceBin

__all__ = [
    "PEERS",
    "SHARES_SUFFIX",
    "Difference",
    "EstimatorMethod",
    "Evaluation",
    "Matches",
    "Method",
    "MethodResult",
    "PeerClassifier",
    "Predictor",
    "ReliabilityBin",
    "Scores",
    "SignificanceBin",
    "available_peers",
    "evaluate_faint",
    "evaluate_folds",
    "evaluate_future",
    "evaluation_table",
    "later_classes",
    "match_sources",
    "paired_difference",
    "peer_method",
    "peer_methods",
    "print_evaluation",
    "reliability_figure",
]
