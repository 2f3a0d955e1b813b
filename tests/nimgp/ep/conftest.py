"""Small models."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from fermiclass.nimgp.ep.factors import LabelNoise, Labels
from fermiclass.nimgp.ep.inference import Rules, find_fixed_point
from fermiclass.nimgp.ep.posterior import Covariance, PriorAndLabels

TIGHT = Rules(tolerance=1e-11, max_rounds=5000)


@pytest.fixture(autouse=True)
def one_thread():
    """Small matrices are slower on several threads."""
    with threadpool_limits(1):
        yield


def make_data(num=18, num_classes=3, num_wrong=2, seed=0):
    """Classes along the first of two features, the first labels wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(num, 2))
    y = np.digitize(X[:, 0], np.linspace(-0.8, 0.8, num_classes - 1))
    y[:num_wrong] = (y[:num_wrong] + 1) % num_classes
    return X, y


def make_model(X, y, label_noise, *, gamma=2.0, noise=0.0, num_classes=3):
    """Of isotropic covariances, without noise one for all classes."""
    covariance = Covariance(np.full(1, gamma), np.broadcast_to(noise, num_classes).astype(float))
    return covariance, PriorAndLabels(covariance.K(X), Labels.of(y, num_classes), label_noise)


@pytest.fixture(params=["rmgpc", "smgpc", "both"])
def settings(request):
    """Label noise and latent noise."""
    return {
        "rmgpc": (LabelNoise(), 0.0),
        "smgpc": (None, np.array([0.1, 0.3, 0.2])),
        "both": (LabelNoise(2.0, 5.0), np.array([0.1, 0.3, 0.2])),
    }[request.param]


@pytest.fixture
def solved(settings):
    """Data, covariance, model and fixed point."""
    label_noise, noise = settings
    X, y = make_data()
    covariance, model = make_model(X, y, label_noise, noise=noise)
    return X, covariance, model, find_fixed_point(model, rules=TIGHT)
