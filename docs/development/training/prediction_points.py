"""Error and processor time of predictions against the number of draws.

    python docs/development/training/prediction_points.py DR4 nimgp
    python docs/development/training/prediction_points.py DR4 nimgp-fo

The script trains on a release and predicts 512 of its unassociated sources with many draws of the features, then with
fewer. The error is the difference of the probabilities from those with many draws: root mean square, the largest, and
that of the probabilities' standard deviations (root mean square). First-order methods need no draws of the features;
the script compares their points of the latent functions with many.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import fermiclass as fc
from fermiclass.features import extract_features
from fermiclass.labelling.training import train
from fermiclass.nimgp.likelihoods.draws import gaussian_points
from fermiclass.nimgp.names import FIRST_ORDER
from fermiclass.nimgp.prediction.predictor import ClassPredictor

MANY = 2**14
MANY_POINTS = 2**17
DRAWS = (16, 32, 64, 128, 256)


def softmax_moments(mean: np.ndarray, scale: np.ndarray, num_points: int) -> np.ndarray:
    """Return mean and standard deviation of softmax(f), ``(2, n, C)``, for f ~ N(mean, scale²), both (n, C)."""
    points = gaussian_points(num_points, mean.shape[1])
    found = []
    for m, s in zip(mean, scale, strict=True):
        p = np.exp(m + s * points)
        p /= p.sum(axis=1, keepdims=True)
        found.append([p.mean(axis=0), p.std(axis=0)])
    return np.stack(found, axis=1)


def compare_points(mean: np.ndarray, scale: np.ndarray) -> None:
    """Print a line for each number of points of the latent functions."""
    true = softmax_moments(mean, scale, MANY_POINTS)
    print("points  rms       largest   rms of std")
    for num_points in (16, 64, 256, 1024):
        error = softmax_moments(mean, scale, num_points) - true
        rms, of_std = np.sqrt(np.mean(error**2, axis=(1, 2)))
        print(f"{num_points:6d}  {rms:.6f}  {np.abs(error[0]).max():.6f}  {of_std:.6f}")


def main() -> None:
    """Print a line for each number of draws and points."""
    release, method = sys.argv[1:]
    catalog = fc.read_catalog(f"catalogs/4FGL-{release}.fits.gz")
    model = train(catalog, recipe=fc.Recipe().with_settings(method=method))
    sources = catalog[catalog.classes == ""]
    sources = sources[np.random.default_rng(0).permutation(len(sources))[:512]]
    table = extract_features(sources, model.features, model.grouping, imputation=model.imputation)
    trained = model.estimator.fitted_
    X, X_var = trained.inputs(table.X, table.X_var)

    if trained.settings.method in FIRST_ORDER:
        mean, var = trained.predictor.moments(X, X_var)
        compare_points(mean.T, var.T**0.5)
        return

    predictor = ClassPredictor(trained.predictor.model, input_prior=trained.prior)
    true = predictor.predict(X, X_var, num_draws=MANY)
    print("draws  rms      largest  rms of std  processor time")
    for draws in DRAWS:
        predictor.predict(X[:1], X_var[:1], num_draws=draws)  # traces the graph
        begin = time.process_time()
        found = predictor.predict(X, X_var, num_draws=draws)
        seconds = time.process_time() - begin
        error, of_std = found.probabilities - true.probabilities, found.std - true.std
        rms, rms_of_std = np.sqrt(np.mean(error**2)), np.sqrt(np.mean(of_std**2))
        print(f"{draws:5d}  {rms:.5f}  {np.abs(error).max():.5f}  {rms_of_std:.5f}     {seconds:.2f} s")


if __name__ == "__main__":
    main()
