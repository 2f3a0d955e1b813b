"""Give the estimators frames of all kinds: each is refused with a clear message, or is the same as NumPy arrays.

    python fuzz/frames.py --seconds 600
    python fuzz/frames.py --seed 17 --seconds 0

A seed decides the estimator, the numbers, and how X, X_var and y are dressed up: frames of pandas with columns in any
order, types of NumPy, nullable and Arrow types, sparse columns and objects, an index of any kind, series, masked
arrays, lists, Fortran order, strides, byte orders. What is missing or masked has to be refused, as have other rows and
other columns, by a ValueError or a TypeError with a message, and so has an array with a unit. "The same" is bit by bit.
The rows of NIMGP also come in another order, which changes nothing.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import tensorflow as tf
from astropy import units as u
from sklearn.base import clone, is_regressor

from fermiclass import NIMGPClassifier, NIMGPRegressor, RobustGPClassifier, UncertainGPRegressor

SMALL = {"steps": 1, "num_inducing": 3, "num_draws": 2}
ESTIMATORS = {
    "classifier": NIMGPClassifier(method="nimgp-fo", likelihood="step", **SMALL),
    "robust": RobustGPClassifier(max_iter=2, tol=1e-2),
    "regressor": NIMGPRegressor(**SMALL),
    "exact regressor": UncertainGPRegressor(starts=1, steps=1),
}
ROWS, NAMES = 10, ["flux", "index", "beta"]
NUMBER_TYPES = (
    "f8",
    "f4",
    "Float64",
    "Float32",
    "double[pyarrow]",
    "float[pyarrow]",
    "object",
    "sparse",
    "Int64",
    "i8",
)
LABEL_TYPES = ("O", "U", "string", "category", "string[pyarrow]")

FORMS = ("frame", "frame", "array", "list", "masked", "fortran", "strided", "swapped")
FAULTS = (
    "a missing value",
    "a masked value",
    "another column",
    "a column twice",
    "other rows",
    "a missing y",
    "a masked y",
    "a unit",
)


def as_column(values: np.ndarray, kind: str) -> Any:
    """Return numbers as a pandas column of a type, if it holds them."""
    if kind in ("Int64", "i8") and not np.array_equal(values, np.round(values)):
        kind = "f8"
    if kind == "sparse":
        return pd.arrays.SparseArray(values)
    return pd.array(values, dtype=kind) if kind[0].isupper() or "pyarrow" in kind else values.astype(kind)


def dress_numbers(rng: np.random.Generator, values: np.ndarray, index: Any, form: str) -> Any:
    """Return numbers (N, D) in a form; the columns of a frame have any order and types."""
    if form == "frame":
        order = rng.permutation(len(NAMES))
        kinds = [str(kind) for kind in rng.choice(NUMBER_TYPES, len(order))]
        if set(kinds) == {"sparse"}:  # refused with a message of its own
            kinds[0] = "f8"
        columns = {NAMES[k]: as_column(values[:, k], kind) for k, kind in zip(order, kinds, strict=True)}
        return pd.DataFrame(columns).set_axis(index)
    dressed = {
        "array": values,
        "list": values.tolist(),
        "masked": np.ma.array(values),
        "fortran": np.asfortranarray(values),
        "strided": np.repeat(values, 2, axis=0)[::2],
        "swapped": values.astype(">f8"),
    }
    return dressed[form]


def dress_y(rng: np.random.Generator, y: np.ndarray, index: Any) -> Any:
    """Return labels or outputs as a series of any type, an array, a list or a masked array."""
    form = rng.choice(["series", "series", "array", "list", "masked"])
    if form == "series":
        if y.dtype.kind == "U":
            kind = str(rng.choice(LABEL_TYPES))
            column = y.astype(kind) if len(kind) == 1 else pd.array(y, dtype=kind)
        else:
            column = as_column(y, str(rng.choice([kind for kind in NUMBER_TYPES if kind != "sparse"])))
        return pd.Series(column, index)
    return {"array": y, "list": y.tolist(), "masked": np.ma.array(y)}[str(form)]


def spoil(rng: np.random.Generator, fault: str, X: Any, X_var: Any, y: Any) -> tuple[Any, Any, Any]:
    """Return frames X and X_var, and y, with a fault."""
    row, column = int(rng.integers(ROWS)), int(rng.integers(len(NAMES)))
    either = int(rng.integers(2))
    pair = [X, X_var]
    match fault:
        case "a missing value":
            pair[either] = pair[either].astype("Float64")
            pair[either].iloc[row, column] = pd.NA
        case "a masked value":
            mask = np.zeros(X.shape, bool)
            mask[row, column] = True
            pair[either] = np.ma.array(pair[either].to_numpy(float), mask=mask)
        case "another column":
            pair[either] = pair[either].rename(columns={NAMES[column]: "other"})
        case "a column twice":
            pair[either] = pair[either].iloc[:, [0, 0, 1]]
        case "other rows":
            pair[either] = pair[either].iloc[np.roll(np.arange(ROWS), 1)]
        case "a unit":
            pair[either] = pair[either].to_numpy(float) * rng.choice([u.m, u.percent, u.km**2])
        case "a missing y":
            y = pd.Series(np.asarray(y).astype(object), X.index)
            y.iloc[row] = (None, np.nan, pd.NA)[rng.integers(3)]
        case _:
            y = np.ma.array(np.asarray(y), mask=np.arange(ROWS) == row)
    return pair[0], pair[1], y


def some_index(rng: np.random.Generator) -> Any:
    """Return names of rows: numbers, texts, times, or two levels."""
    kinds: list[Callable[[], Any]] = [
        lambda: pd.RangeIndex(ROWS),
        lambda: pd.Index([f"source {k}" for k in range(ROWS)]),
        lambda: pd.date_range("2020-01-01", periods=ROWS),
        lambda: pd.MultiIndex.from_product([["a", "b"], range(ROWS // 2)]),
    ]
    return kinds[rng.integers(len(kinds))]()


def answer(estimator: Any, X: Any, X_var: Any) -> np.ndarray:
    """Return the predictions of an estimator."""
    predict = estimator.predict if is_regressor(estimator) else estimator.predict_proba
    return np.asarray(predict(X, X_var=X_var))


def check(seed: int) -> str:
    """Fit and predict with frames and with arrays; return what came of it, or raise AssertionError."""
    rng = np.random.default_rng(seed)
    name = list(ESTIMATORS)[rng.integers(len(ESTIMATORS))]
    X = np.round(rng.normal(size=(ROWS, 3)), 1).astype(np.float32).astype(float)  # float32 holds them exactly
    X[:, 2] = np.round(3 * X[:, 2])
    X[:, 2] += np.arange(ROWS)  # no constant
    X_var = np.round(rng.gamma(2.0, 1.0, (ROWS, 3)) * 8) / 8
    y = X[:, 0] * 8 if "regressor" in name else np.array(["bll", "fsrq"])[np.arange(ROWS) % 2]
    index = some_index(rng)
    fault = str(rng.choice(FAULTS)) if rng.random() < 0.3 else ""
    forms = ("frame", "frame") if fault else (str(rng.choice(FORMS)), str(rng.choice(FORMS)))
    given_X, given_V = (dress_numbers(rng, values, index, form) for values, form in zip((X, X_var), forms, strict=True))
    given_y = dress_y(rng, y, index)
    rows = rng.permutation(ROWS) if name in ("classifier", "regressor") else np.arange(ROWS)  # other sums are rounded
    # Columns go by their names where both have names, else by position.
    names_X = list(given_X.columns) if forms[0] == "frame" else NAMES
    names_V = names_X if forms == ("frame", "frame") else list(given_V.columns) if forms[1] == "frame" else NAMES
    plain_X, plain_V = X[:, [NAMES.index(c) for c in names_X]], X_var[:, [NAMES.index(c) for c in names_V]]
    if fault:
        given_X, given_V, given_y = spoil(rng, fault, given_X, given_V, given_y)
    told = f"seed {seed}, {name}, fault '{fault}': " + ", ".join(map(kind_of, (given_X, given_V, given_y)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = answer(clone(ESTIMATORS[name]).fit(given_X, given_y, X_var=given_V), given_X, given_V)
        except (ValueError, TypeError) as error:
            if not fault or len(str(error)) < 20:
                raise AssertionError(f"{told}: refused, {error}") from error
            return fault
        assert not fault, f"{told}: not refused"
        again = clone(ESTIMATORS[name]).fit(plain_X[rows], y[rows], X_var=plain_V[rows])
        expected = answer(again, plain_X, plain_V)
    np.testing.assert_array_equal(found, expected, err_msg=told)
    return f"{name} the same"


def kind_of(values: Any) -> str:
    """Describe an object."""
    if hasattr(values, "dtypes"):
        return f"{type(values).__name__} of {np.ravel(values.dtypes).tolist()}"
    return type(values).__name__


def main() -> None:
    """Check one seed after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    tf.config.run_functions_eagerly(True)  # to trace a graph takes longer than to run it once
    end, seed, counts = time.monotonic() + chosen.seconds, chosen.seed, Counter[str]()
    while seed == chosen.seed or time.monotonic() < end:
        counts[check(seed)] += 1
        seed += 1
        if seed % 100 == 0:
            print(dict(counts), flush=True)
    print(f"{counts.total()} cases, seeds {chosen.seed} to {seed - 1}: {dict(counts)}")


if __name__ == "__main__":
    main()
