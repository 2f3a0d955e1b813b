"""What the scripts here share: the command line, and tests with halves of 4FGL-DR4, of which one is scored."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import fermiclass as fc


def arguments(about: str | None, *names: str, **options: Any) -> argparse.Namespace:
    """Return the arguments by name, several of ``name+``, and options of the types of their defaults, text for None."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in names:
        parser.add_argument(name.removesuffix("+"), **({"nargs": "+"} if name.endswith("+") else {}))
    for name, default in options.items():
        of_kind: dict[type, dict[str, Any]] = {bool: {"action": "store_true"}, list: {"nargs": "+"}, type(None): {}}
        parser.add_argument(f"--{name}", default=default, **of_kind.get(type(default), {"type": type(default)}))
    return parser.parse_args()


def half_to_score(catalog: fc.Catalog, rng: np.random.Generator) -> np.ndarray:
    """Return the rows of half of the sources with one class."""
    grouping = catalog.grouping(None)
    typed = np.flatnonzero(np.isin(grouping.assign(catalog.classes), grouping.names))
    return np.sort(rng.permutation(typed)[: len(typed) // 2])


def model_of_others(catalog: fc.Catalog, held_out: np.ndarray, features: str = "gas") -> fc.CatalogModel:
    """Return a model that learned from all but these rows."""
    return fc.train(catalog[np.setdiff1d(np.arange(len(catalog)), held_out)], features=features)


def losses(catalog: fc.Catalog, held_out: np.ndarray, features: str = "gas") -> np.ndarray:
    """Return −ln P(true class) of these rows, by a model of the others."""
    model = model_of_others(catalog, held_out, features)
    test = model.features_of(catalog[held_out])
    P = model.predict(test).probabilities
    return -np.log(np.maximum(P[np.arange(len(P)), [model.classes.index(name) for name in test.y]], 1e-5))


def paired(loss: np.ndarray, reference: np.ndarray, digits: int = 4) -> str:
    """Return the mean difference of losses of the same sources, with its standard error."""
    apart = loss - reference
    return f"{apart.mean():+.{digits}f} ± {apart.std() / np.sqrt(len(apart)):.{digits}f}"
