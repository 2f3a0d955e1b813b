"""Regression without GPflow: one message that says what to install."""

import sys

import numpy as np
import pytest

from fermiclass import NIMGPRegressor, UncertainGPRegressor
from fermiclass.nimgp.errors import MissingPackageError

X = np.random.default_rng(0).normal(size=(24, 2))


@pytest.fixture
def without_gpflow(monkeypatch):
    """As where the extra is not installed: a module that uses GPflow cannot be imported."""
    users = [
        name for name, module in sys.modules.items() if name.startswith("fermiclass.") and hasattr(module, "gpflow")
    ]
    for name in users:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gpflow", None)


@pytest.mark.parametrize(
    "regressor", [NIMGPRegressor(steps=1, num_inducing=4), UncertainGPRegressor(starts=1, steps=1)]
)
@pytest.mark.usefixtures("without_gpflow")
def test_a_regressor_says_what_to_install(regressor):
    with pytest.raises(MissingPackageError, match=r"regression needs GPflow, .*pip install 'fermiclass\[regression\]'"):
        regressor.fit(X, X[:, 0])
