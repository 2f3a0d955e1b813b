"""scikit-learn's own checks of an estimator, as cases of a test."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator


def learns(check):
    """Whether a check demands good predictions, and so many steps."""
    return check.func.__name__ in ("check_classifiers_train", "check_regressors_train")


def scikit_learn_checks(estimator, prefix="", chosen=lambda name: True):
    """Cases of all checks, but for arrays of other libraries, which need a mode of SciPy of their own."""
    for instance, check in estimator_checks_generator(estimator):
        name = check.func.__name__
        if "array_api" not in name and chosen(name):
            yield pytest.param(instance, check, id=prefix + name, marks=[pytest.mark.slow] if learns(check) else [])
