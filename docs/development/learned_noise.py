"""What a learned probability of wrong labels finds, by objective and number of rows.

    python docs/development/learned_noise.py [--wrong 0.15]

Made-up rows of two features with error bars and three classes; the labels of the 4000 rows of the test are right.
"""

from __future__ import annotations

import argparse

import numpy as np

from fermiclass import NIMGPClassifier

CHOICES = {
    "predictive": {"objective": "predictive"},
    "elbo": {"objective": "elbo"},
    "elbo, nimgp-fo-marginal": {"objective": "elbo", "method": "nimgp-fo-marginal"},
}
VARIANCE = 0.01


def rows(number: int, seed: int, wrong: float) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and labels, a fraction of them wrong."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(number, 2))
    f = x[:, 0] + 0.5 * np.sin(2.0 * x[:, 1])
    y = np.where(f > 0.5, 2, np.where(f > -0.5, 1, 0))
    other = (y + rng.integers(1, 3, number)) % 3
    return x + np.sqrt(VARIANCE) * rng.normal(size=x.shape), np.where(rng.random(number) < wrong, other, y)


def main() -> None:
    """Print ρ and the NLL on right labels, without and with a learned ρ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wrong", type=float, default=0.15)
    wrong = parser.parse_args().wrong
    X_test, y_test = rows(4000, 99, 0.0)
    for number in (300, 1000, 3000, 10_000):
        X, y = rows(number, 1, wrong)
        for name, choice in CHOICES.items():
            said = []
            for label_noise in (0.0, "learned"):
                model = NIMGPClassifier(label_noise=label_noise, random_state=0, **choice)
                model.fit(X, y, X_var=np.full(X.shape, VARIANCE))
                P = model.predict_proba(X_test, X_var=np.full(X_test.shape, VARIANCE))
                said.append(f"{-np.log(P[np.arange(len(P)), y_test]).mean():.3f}")
            print(f"{number:6} {name:24} NLL {said[0]}, learned {said[1]}, ρ {model.label_noise_:.3f}", flush=True)


if __name__ == "__main__":
    main()
