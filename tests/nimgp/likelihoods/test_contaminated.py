"""Wrong labels: the bound against brute force over z, the prior on ρ, and what training makes of them."""

import numpy as np
import pytest
import tensorflow as tf
from sklearn.metrics import roc_auc_score

from fermiclass import NIMGPClassifier
from fermiclass.nimgp.likelihoods.named import make_likelihood, of_given_labels
from fermiclass.nimgp.model import build_model
from fermiclass.nimgp.names import LIKELIHOODS
from fermiclass.nimgp.posterior import LatentMoments
from fermiclass.nimgp.settings import Settings
from tests.nimgp.conftest import SEED

RATE = tf.constant(0.2, tf.float64)


def latent(C, n=7, seed=0):
    rng = np.random.default_rng(seed)
    L = 1 if C == 2 else C
    return LatentMoments(tf.constant(3.0 * rng.normal(size=(L, n))), tf.constant(rng.uniform(0.1, 2.0, (L, n))))


def labels(C, n=7):
    return tf.constant(np.arange(n) % C)


@pytest.mark.parametrize("C", [2, 4])
@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_bound_is_the_best_over_the_responsibility(name, C):
    """``max_r (1 − r) E log p(y | f) + r log(1/C) − KL(Bern(r) ‖ Bern(ρ))`` on a fine grid of r."""
    right = make_likelihood(name, C)
    bound = of_given_labels(right.variational_expectations, right, RATE, latent(C), labels(C), SEED).numpy()
    own = right.variational_expectations(latent(C), labels(C), SEED).numpy()
    r = np.linspace(1e-9, 1 - 1e-9, 200_001)[:, None]
    kl = r * np.log(r / RATE) + (1 - r) * np.log((1 - r) / (1 - RATE))
    np.testing.assert_allclose(bound, ((1 - r) * own - r * np.log(C) - kl).max(axis=0), atol=1e-6)


@pytest.mark.parametrize(("C", "sets"), [(2, None), (4, None), (3, np.array([[1, 0, 0], [0, 1, 1], [1, 0, 1]]))])
@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_average_is_that_over_z(name, C, sets):
    """A random label is a set of s classes with the probability s/C."""
    right = make_likelihood(name, C, sets=sets)
    mixed = np.exp(of_given_labels(right.log_predictive, right, RATE, latent(C), labels(C), SEED))
    own = np.exp(right.log_predictive(latent(C), labels(C), SEED))
    share = 1 / C if sets is None else sets.sum(axis=1)[labels(C)] / C
    np.testing.assert_allclose(mixed, (1 - RATE) * own + RATE * share, rtol=1e-6)


@pytest.mark.parametrize(("given", "learned", "value"), [("learned", True, 0.1), (0.2, False, 0.2)])
def test_by_settings(given, learned, value):
    model = build_model(Settings("mgp", label_noise=given), np.eye(3), num_classes=3, num_data=10)
    assert model.label_noise.numpy() == pytest.approx(value)
    assert bool(model.label_noise.trainable_variables) == learned
    density = np.log(9) + 8 * np.log1p(-value) if learned else 0.0
    assert float(model.label_noise.log_prior_density()) == pytest.approx(density)
    assert build_model(Settings("mgp", label_noise=0), np.eye(3), num_classes=3, num_data=10).label_noise is None


@pytest.mark.parametrize("method", ["mgp", "nimgp-fo-marginal"])
def test_wrong_labels_are_found_and_do_no_harm(method):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    X_var = np.full((300, 2), 0.05)
    X = 3.0 * np.array([[1, 0], [-1, 1], [-1, -1]])[truth] + rng.normal(size=(300, 2)) * 0.7
    wrong = rng.random(300) < 0.15
    y = np.where(wrong, (truth + rng.integers(1, 3, 300)) % 3, truth)
    settings = {"method": method, "num_inducing": 15, "steps": 200, "num_draws": 16}
    settings |= {"objective": "elbo", "learning_rate": 0.03}  # the predictive objective learns less noise from few rows
    half = np.arange(300) < 150
    robust, trusting = (
        NIMGPClassifier(**settings, label_noise=noise).fit(X[half], y[half], X_var=X_var[half])
        for noise in ("learned", 0.0)
    )
    # A softmax has soft edges of its own that explain some: less than the 0.16 that 16 of 150 are is learned.
    assert 0.03 < robust.label_noise_ < 0.3
    assert trusting.label_noise_ == 0.0
    suspicion = robust.predict_wrong_label(X[~half], y[~half], X_var=X_var[~half])
    assert roc_auc_score(wrong[~half], suspicion) > 0.97
    assert np.all(suspicion[~wrong[~half]] < 0.5)
    nll = [
        -np.mean(np.log(one.predict_proba(X[~half], X_var=X_var[~half])[np.arange(150), truth[~half]]))
        for one in (robust, trusting)
    ]
    assert nll[0] < nll[1] - 0.03
    with pytest.raises(ValueError, match="trusts every label"):
        trusting.predict_wrong_label(X, y)
