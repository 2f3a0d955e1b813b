"""Compare settings of ``NIMGPClassifier``, from ``FULL_BATCH`` on, on the four tests that the default was chosen with.

    python docs/development/choosing-the-default/compare_settings.py
    python docs/development/choosing-the-default/compare_settings.py kernel=se
    python docs/development/choosing-the-default/compare_settings.py method=nimgp-fo objective=predictive --features six

Each NAME=VALUE is a parameter of ``NIMGPClassifier``, in place of that of ``FULL_BATCH``. The script prints the NLL of
the four tests. The second figures of the page, with estimated class priors, are those of the script in commit e5c2511.
"""

from __future__ import annotations

import argparse
import ast
from typing import Any

import fermiclass as fc
from fermiclass.evaluation import bright_to_faint, estimator_method, evaluate, later_release
from fermiclass.nimgp.names import FULL_BATCH

CLASSES = "bll,fsrq,psr"


def value_of(text: str) -> Any:
    """Return a number, True, False or None for what reads as one, else the text."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def losses(features: str, settings: dict[str, Any]) -> dict[str, float]:
    """Return the NLL of each test."""
    dr1, dr2, dr3 = (fc.read_catalog(f"catalogs/4FGL-{name}.fits.gz") for name in ("DR1", "DR2", "DR3"))
    method = estimator_method("it", fc.NIMGPClassifier(**{**FULL_BATCH, **settings}))
    about: dict[str, Any] = {"features": features, "classes": CLASSES}
    tests = {
        "fainter half": bright_to_faint(dr1, 0.5, **about),
        "faintest 70 %": bright_to_faint(dr1, 0.7, **about),
        "DR1 -> DR2": later_release(dr1, dr2, **about),
        "DR2 -> DR3": later_release(dr2, dr3, **about),
    }
    return {name: evaluate(targets, [method]).table.loc["it", "nll"] for name, targets in tests.items()}


def main() -> None:
    """Print a line for each test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--features", default="extended")
    arguments = parser.parse_args()
    settings = {name: value_of(text) for name, _, text in (each.partition("=") for each in arguments.settings)}
    for name, nll in losses(arguments.features, settings).items():
        print(f"{name}: {nll:.3f}", flush=True)


if __name__ == "__main__":
    main()
