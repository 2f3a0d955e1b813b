"""Compare settings of ``NIMGPClassifier`` on the four tests that the default was chosen with.

    python docs/development/compare_settings.py
    python docs/development/compare_settings.py kernel=se
    python docs/development/compare_settings.py method=nimgp-fo objective=predictive --features six

Each NAME=VALUE is a parameter of ``NIMGPClassifier``. The script prints the NLL of the four tests, for the tests across
releases as trained and with the class priors estimated.
"""

from __future__ import annotations

import argparse
import ast
from pathlib import Path
from typing import Any

import fermiclass as fc
from fermiclass.evaluation import EstimatorMethod, evaluate_faint, evaluate_future

CATALOGS = Path(__file__).parents[2] / "catalogs"


CLASSES = "bll,fsrq,psr"


def value_of(text: str) -> Any:
    """Return a number, True, False or None for what reads as one, else the text."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def losses(features: str, settings: dict[str, Any]) -> dict[str, list[float]]:
    """Return the NLL of each test: as trained, and with estimated class priors where the test has them."""
    dr1, dr2, dr3 = (fc.read_catalog(CATALOGS / f"4FGL-{name}.fits.gz") for name in ("DR1", "DR2", "DR3"))
    methods = [EstimatorMethod("it", fc.NIMGPClassifier(**settings))]
    tests = {
        "fainter half": evaluate_faint(dr1, methods, fraction=0.5, features=features, classes=CLASSES),
        "faintest 70 %": evaluate_faint(dr1, methods, fraction=0.7, features=features, classes=CLASSES),
        "DR1 -> DR2": evaluate_future(dr1, dr2, methods, features=features, classes=CLASSES),
        "DR2 -> DR3": evaluate_future(dr2, dr3, methods, features=features, classes=CLASSES),
    }
    return {name: [result.scores.nll for result in test.methods.values()] for name, test in tests.items()}


def main() -> None:
    """Print a line for each test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--features", default="extended")
    arguments = parser.parse_args()
    settings = {name: value_of(text) for name, _, text in (each.partition("=") for each in arguments.settings)}
    for name, values in losses(arguments.features, settings).items():
        print(f"{name}: {' / '.join(f'{nll:.3f}' for nll in values)}", flush=True)


if __name__ == "__main__":
    main()
