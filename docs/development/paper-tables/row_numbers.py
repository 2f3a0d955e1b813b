"""What the row number does as an input, in data sets of "Scalable Gaussian Process Classification with Additive Noise".

    python docs/development/paper-tables/row_numbers.py --datasets magic,satimage --splits 5
    python docs/development/paper-tables/row_numbers.py --datasets magic,satimage --splits 1 --gp

The paper's D of every data set is one more than its number of features. Its package of data (Bayesian Benchmarks) reads
files whose first column is the row number, and keeps this column. Here the row number, in the order of KEEL, becomes an
input as well. A support vector machine has it standardised and times a weight. With --gp a Gaussian process with
RobustMax and a learned ε learns its length-scale from 0.3, and those of the features from √D. It has 100 inducing
points; the paper has 300. Accuracies are in percent.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.svm import SVC

from fermiclass import NIMGPClassifier
from fermiclass_benchmarks import gpc
from fermiclass_benchmarks.benchmark import score_labels

WEIGHTS = (0, 1, 10, 100)
MOST = 6000  # training rows of the support vector machine


def inputs(X: np.ndarray, weight: float) -> np.ndarray:
    """Return inputs with the standardised row number before them; without it if the weight is 0."""
    number = np.arange(len(X)) - (len(X) - 1) / 2
    return np.column_stack([weight * number / number.std(), X]) if weight else X


def process(dim: int, **settings: int) -> NIMGPClassifier:
    """Return an untrained process."""
    return NIMGPClassifier(
        method="mgp",
        likelihood="step",
        objective="elbo",
        label_noise=0.0,
        kernel="se",
        num_inducing=100,
        batch_size=1024,
        learning_rate=0.05,
        training={"decay": True},
        hyper={"epsilon": None, "lengthscale": np.sqrt(dim), "variance": 5.0, "white": 1e-8},
        **settings,
    )


def trained(X: np.ndarray, y: np.ndarray, *, numbered: bool) -> NIMGPClassifier:
    """Train a process; the first input may be the row number."""
    start = process(X.shape[1], steps=1).fit(X, y)
    if numbered:
        (name,) = (name for name in start.fitted_.parameters if "lengthscale" in name)
        start.fitted_.parameters[name] = start.fitted_.parameters[name].copy()
        start.fitted_.parameters[name][:, 0] = 0.3
    return process(X.shape[1], steps=1200).fit(X, y, start=start)


def main() -> None:
    """Print one line for each data set and model."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--datasets", default="magic,satimage")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--gp", action="store_true")
    options = parser.parse_args()
    for name in options.datasets.split(","):
        X, y = gpc.load(name)
        chance = np.sum((np.unique(y, return_counts=True)[1] / len(y)) ** 2)
        print(f"{name}: neighbouring rows of the same class {np.mean(y[1:] == y[:-1]):.3f}, by chance {chance:.3f}")
        for weight in WEIGHTS[:2] if options.gp else WEIGHTS:
            splits = [rows(len(X), split) for split in range(options.splits)]
            found = [score(inputs(X, weight), y, split, numbered=weight > 0, gp=options.gp) for split in splits]
            accuracy, *of_gp = np.mean(found, axis=0)
            each = ", ".join(f"{100 * of_split[0]:.1f}" for of_split in found)
            more = ", NLL {:.4f}, bound {:.0f}".format(*of_gp) if options.gp else ""
            print(f"  weight {weight}: accuracy {100 * accuracy:.1f} ({each}){more}", flush=True)


def rows(size: int, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows of a split of the benchmark."""
    test, train = np.split(np.random.default_rng((gpc._SEED, split)).permutation(size), [round(gpc._TEST * size)])
    return train, test


def score(
    X: np.ndarray, y: np.ndarray, split: tuple[np.ndarray, np.ndarray], *, numbered: bool, gp: bool
) -> tuple[float, ...]:
    """Return the accuracy on the test rows; of a Gaussian process their NLL, and the bound, too."""
    train, test = split
    if not gp:
        machine = SVC(C=10.0, gamma=1 / (X.shape[1] - numbered)).fit(X[train[:MOST]], y[train[:MOST]])
        return (float(machine.score(X[test], y[test])),)
    fitted = trained(X[train], y[train], numbered=numbered)
    scores = score_labels(y[test], fitted.predict_proba(X[test]), fitted.classes_)
    return 1.0 - scores["error"], scores["nll"], float(fitted.objective_[-1])


if __name__ == "__main__":
    main()
