"""The settings of ``NIMGPClassifier()``: made-up rows with error bars, and ten data sets of the benchmarks.

    python docs/development/training/estimator_default.py made default boosting [--seed 1] [--to FILE]
    python docs/development/training/estimator_default.py benchmarks --data DATA default [--first 0] [--splits 1]
    python docs/development/training/estimator_default.py table FILE

A method is a key of METHODS, or ``default`` with changes such as ``default:method=mgp;steps=1000``. Each prints
held-out NLL, errors, processor time and wall time of training and prediction.
"""

from __future__ import annotations

import argparse
import ast
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

#: Data sets of ``fermiclass benchmark gpc`` and ``uci``, as its cells.
CELLS = {
    "gpc": ("banana/0", "magic/0", "ring/0", "twonorm/0", "penbased/0.25", "satimage/0.25"),
    "uci": ("glass/0.1", "vehicle/0.1", "vowel/0.1", "waveform/0.25"),
}

Rows = dict[str, np.ndarray]


def made_rows(seed: int, train: int, wrong: float) -> tuple[Rows, Rows]:
    """Return rows with error bars; a part of the labels to learn from are wrong, those of the test are right.

    The noiseless x are N(0, 1), the class scores smooth functions of x and a linear part, and the errors of each value
    differ: V is log-normal with the median 0.01, and a row of large errors has them in all features.
    """
    rng = np.random.default_rng(seed)
    D, C, n = 20, 6, train + 10_000
    x = rng.standard_normal((n, D))
    W, b = rng.standard_normal((D, 200)) / np.sqrt(D) / 1.5, rng.uniform(0.0, 2.0 * np.pi, 200)
    smooth = np.cos(x @ W + b) @ rng.standard_normal((200, C)) / np.sqrt(100.0)
    f = 20.0 * smooth + 10.0 * x @ rng.standard_normal((D, C)) / np.sqrt(D)
    y = np.argmax(f + rng.gumbel(size=f.shape), axis=1)
    V = 0.01 * np.exp(0.5 * rng.standard_normal((n, D)) + 1.0 * rng.standard_normal((n, 1)))
    X = x + np.sqrt(V) * rng.standard_normal((n, D))
    label = np.where(rng.random(n) < wrong, (y + rng.integers(1, C, n)) % C, y)
    return (
        {"X": X[:train], "X_var": V[:train], "y": label[:train]},
        {"X": X[train:], "X_var": V[train:], "y": y[train:]},
    )


def benchmark_rows(data: Path, cell: str, split: int) -> tuple[Rows, Rows]:
    """Return a split of a cell of ``gpc`` or ``uci``; in uci the variance of the added noise is given."""
    from fermiclass_benchmarks.gpc import GPC
    from fermiclass_benchmarks.uci import UCI

    of_gpc = cell in CELLS["gpc"]
    p = (GPC() if of_gpc else UCI(data)).problem(cell, split)
    V, V_test = p.X_var, p.X_var_test
    if not of_gpc:
        V, V_test = (np.full_like(a, float(cell.partition("/")[2])) for a in (V, V_test))
    _, y = np.unique(np.concatenate([p.y, p.y_test]), return_inverse=True)
    return ({"X": p.X, "X_var": V, "y": y[: len(p.y)]}, {"X": p.X_test, "X_var": V_test, "y": y[len(p.y) :]})


def _ours(train: Rows, test: Rows, **settings: Any) -> np.ndarray:
    import fermiclass as fc

    model = fc.NIMGPClassifier(**settings).fit(train["X"], train["y"], X_var=train["X_var"])
    p: np.ndarray = model.predict_proba(test["X"], X_var=test["X_var"])
    return p


def _boosting(train: Rows, test: Rows) -> np.ndarray:
    """Train boosting on features and error bars."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    with_errors = [np.hstack([rows["X"], np.sqrt(rows["X_var"])]) for rows in (train, test)]
    model = HistGradientBoostingClassifier(random_state=0).fit(with_errors[0], train["y"])
    p: np.ndarray = model.predict_proba(with_errors[1])
    return p


METHODS: dict[str, Callable[[Rows, Rows], np.ndarray]] = {"boosting": _boosting}


def method(name: str) -> Callable[[Rows, Rows], np.ndarray]:
    """Return a method by name."""
    if name in METHODS:
        return METHODS[name]
    base, _, changes = name.partition(":")
    if base != "default":
        raise SystemExit(f"no method {name}")
    settings = {}
    for change in filter(None, changes.split(";")):
        key, _, value = change.partition("=")
        try:
            settings[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            settings[key] = value
    return lambda train, test: _ours(train, test, **settings)


def run(data: str, split: int, train: Rows, test: Rows, names: list[str], to: str | None) -> None:
    """Print, and append to a file, a record of each method."""
    from fermiclass.show.terminal import load_tensorflow

    load_tensorflow(quiet=True)  # not in the time

    for name in names:
        cpu, wall = time.process_time(), time.perf_counter()
        p = method(name)(train, test)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        own = np.maximum(p[np.arange(len(p)), test["y"]], 1e-15)
        record = {"data": data, "split": split, "method": name, "nll": round(float(-np.log(own).mean()), 4)}
        record |= {"error": round(float(np.mean(p.argmax(1) != test["y"])), 4), "cpu": round(cpu, 1)}
        line = json.dumps(record | {"wall": round(wall, 1)})
        print(line, flush=True)
        if to:
            with Path(to).open("a") as file:
                file.write(line + "\n")


def table(path: str) -> None:
    """Print means over splits as a table."""
    found: dict[str, dict[str, list[list[float]]]] = {}
    for each in map(json.loads, Path(path).read_text().splitlines()):
        found.setdefault(each["data"], {}).setdefault(each["method"], []).append([each["nll"], each["cpu"]])
    names = list(dict.fromkeys(name for methods in found.values() for name in methods))
    print("| data |", " | ".join(names), "|")
    print("| --- |", " | ".join("---" for _ in names), "|")
    for data, methods in found.items():
        means = [np.mean(methods[name], axis=0) if name in methods else (np.nan, np.nan) for name in names]
        print(f"| {data} |", " | ".join(f"{nll:.3f}, {cpu:.0f} s" for nll, cpu in means), "|")


def main() -> None:
    """Run a sub-command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("made", "benchmarks"):
        command = commands.add_parser(name)
        command.add_argument("methods", nargs="+")
        command.add_argument("--to")
    made, benchmarks = commands.choices["made"], commands.choices["benchmarks"]
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--rows", type=int, default=50_000)
    made.add_argument("--wrong", type=float, default=0.03)
    benchmarks.add_argument("--data", type=Path, required=True)
    benchmarks.add_argument("--first", type=int, default=0)
    benchmarks.add_argument("--splits", type=int, default=1)
    benchmarks.add_argument("--cells", default=",".join(cell for cells in CELLS.values() for cell in cells))
    commands.add_parser("table").add_argument("path")
    given = parser.parse_args()
    if given.command == "table":
        table(given.path)
    elif given.command == "made":
        rows = made_rows(given.seed, given.rows, given.wrong)
        run(f"made {given.rows}, {given.wrong:.0%} wrong", given.seed, *rows, given.methods, given.to)
    else:
        for cell in given.cells.split(","):
            for split in range(given.first, given.first + given.splits):
                run(cell, split, *benchmark_rows(given.data, cell, split), given.methods, given.to)


if __name__ == "__main__":
    main()
