"""scikit-learn's own checks of an estimator, as cases of a test."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

LONG = {"check_classifiers_classes", "check_classifiers_train", "check_regressors_train"}


def learns(check):
    """Whether a check demands good predictions, and so many steps."""
    return check.func.__name__ in ("check_classifiers_train", "check_regressors_train")


def scikit_learn_checks(estimator, prefix="", chosen=lambda name: True):
    """Cases of all checks, but for arrays of other libraries, which need a mode of SciPy of their own.

    Weights equal repeated rows in the objective, and not in standardisation, draws and centres, as one check demands.
    """
    checks = [(instance, check, check.func.__name__) for instance, check in estimator_checks_generator(estimator)]
    return [
        pytest.param(instance, check, id=prefix + name, marks=[pytest.mark.slow] if name in LONG else [])
        for instance, check, name in checks
        if "array_api" not in name and "sample_weight_equivalence" not in name and chosen(name)
    ]
