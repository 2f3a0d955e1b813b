"""The estimators' contract: scikit-learn's own checks, variances, limits, invariances."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from fermiclass.estimators import NIMGPClassifier

SMALL = {"steps": 60, "num_inducing": 15, "num_draws": 16, "learning_rate": 0.1}


@parametrize_with_checks([NIMGPClassifier(**SMALL), NIMGPClassifier("mgp", likelihood="step", **SMALL)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)
