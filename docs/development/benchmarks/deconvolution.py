"""The natural rival with error bars: extreme deconvolution of each class, on the sources that a later list classifies.

    python docs/development/benchmarks/deconvolution.py LATER.fits RELEASE...

p(x | class) is a mixture of one to three Gaussians, deconvolved from the error bars (Bovy, Hogg & Roweis 2011), a class
is as frequent as in the training, and one slope of ln p calibrates it. It learns the same rows as the default, with the
same features and evidence. The loss of each; the default's less the best, with its own factors, and with the same.
"""

import sys

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold

import fermiclass as fc
from fermiclass import evaluation
from fermiclass.nimgp.inputs.prior import InputPrior


class Deconvolution(ClassifierMixin, BaseEstimator):
    """Bayes' rule with a deconvolved mixture of `components` Gaussians for each class."""

    def __init__(self, components=1, slope=None):
        self.components, self.slope = components, slope

    def fit(self, X, y, *, X_var):
        """Fit one mixture to each class."""
        self.classes_, counts = np.unique(y, return_counts=True)
        self.mean_, self.scale_ = X.mean(axis=0), X.std(axis=0)
        self.slope_ = self.slope or self._slope(X, y, X_var)
        X, V = (X - self.mean_) / self.scale_, X_var / self.scale_**2
        self.mixtures_ = [
            InputPrior.population(X[y == c], V[y == c], components=self.components) for c in self.classes_
        ]
        self.log_share_ = np.log(counts / len(y))
        return self

    def predict_proba(self, X, *, X_var):
        """Return class probabilities, ``(n, C)``."""
        X, V = (X - self.mean_) / self.scale_, X_var / self.scale_**2
        log_p = np.stack([_log_density(mixture, X, V) for mixture in self.mixtures_], axis=1) + self.log_share_
        return softmax(self.slope_ * log_p, axis=1)

    def _slope(self, X, y, V):
        """Return the slope of ln p with the least NLL in three folds: densities of 20 features are far too sure."""
        code, log_p = np.searchsorted(self.classes_, y), np.zeros((len(y), len(self.classes_)))
        for learn, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
            one = Deconvolution(self.components, 1.0).fit(X[learn], y[learn], X_var=V[learn])
            log_p[test] = np.log(np.maximum(one.predict_proba(X[test], X_var=V[test]), 1e-300))
        rows = np.arange(len(y))
        return minimize_scalar(lambda b: -log_softmax(b * log_p, axis=1)[rows, code].mean(), bounds=(0, 2)).x


def _log_density(mixture, X, V):
    terms = []
    for weight, mean, precision in zip(mixture.weights, mixture.mean, mixture.precision, strict=True):
        covariance = np.linalg.inv(precision) + V[:, :, None] * np.eye(X.shape[1])
        d = X - mean
        square = np.einsum("ni,ni->n", d, np.linalg.solve(covariance, d[..., None])[..., 0])
        terms.append(np.log(weight) - (square + np.linalg.slogdet(covariance)[1]) / 2)
    return np.logaddexp.reduce(terms)


later = fc.read_catalog(sys.argv[1])
for catalog in map(fc.read_catalog, sys.argv[2:]):
    world = evaluation.open_world(catalog, later, cells="even" if later.release.name == "FL16Y" else "all")
    rivals = [evaluation.estimator_method(f"deconvolution-{k}", Deconvolution(k), is_baseline=True) for k in (1, 2, 3)]
    result = evaluation.evaluate(world, [evaluation.default_method(), *rivals]).to_dict()
    print(catalog.release.name, {name: round(each["nll"], 3) for name, each in result["methods"].items()})
    print(result["methods"]["default"]["versus_baselines"]["all"], result["same_factors"]["default"]["all"], flush=True)
