"""Regression with uncertain inputs, after Dallaire, Besse & Chaib-draa (2011): their sections 4.1 and 4.2.

*sincsig* is ``sin(x)/x`` for x ≥ 0 and ``0.5 / (1 + exp(−10 x − 5)) + 0.5`` for x < 0, on [−10, 10].

The cart-pole has as inputs position φ and velocity of the cart, angle α and angular velocity of the pole, and the force
F. The output is the next state, by Euler's method with the accelerations that the paper prints. States and forces are
drawn uniformly. Inputs and outputs have noise with known standard deviations, uniform up to 2.5. The paper does not
state domains, constants and step. Here the domains are ±10 for φ, both velocities and F, and ±π for α; g is 9.8, the
masses are 1 and 0.1, the half-length is 0.5, and the step is 0.1.

The paper shows figures only. Each split is a new training set.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import norm
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fermiclass.errors import BenchmarkError
from fermiclass.io import FloatArray
from fermiclass.nimgp.estimators.of_papers import KERNELS, paper_method
from fermiclass.nimgp.names import LEARNED
from fermiclass_benchmarks.benchmark import Benchmark, PaperTable, Record
from fermiclass_benchmarks.methods import MethodOptions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NETWORK = "mlp"


class TrainingSet(NamedTuple):
    """Observed inputs ``(N, D)``, their variances, outputs ``(N, K)``, and the outputs' variances if they are known."""

    X: FloatArray
    X_var: FloatArray
    Y: FloatArray
    Y_var: FloatArray | None


class _Regression(Benchmark):
    """Gaussian processes, and the paper's network with two layers of five units."""

    num_splits = 25
    options: Sequence[str] = ()
    starts: int

    def check_data(self, cells: Sequence[str]) -> None:
        """Do nothing: the data are drawn."""

    def estimator(self, cell: str, method: str, options: MethodOptions) -> Any:
        """Return an unfitted process or network."""
        if method not in self.methods:
            raise BenchmarkError(
                f"the benchmark '{self.name}' has no method '{method}': choose among {', '.join(self.methods)} "
                "(--methods)"
            )
        if method == NETWORK:
            network = MLPRegressor(
                hidden_layer_sizes=(5, 5), activation="tanh", solver="lbfgs", alpha=0.1, max_iter=1000, random_state=0
            )
            return TransformedTargetRegressor(make_pipeline(StandardScaler(), network), transformer=StandardScaler())
        white = 0.0 if cell.startswith(_KNOWN) else LEARNED
        return paper_method(method, starts=self.starts, noise_variance=white)


def _fit(estimator: Any, data: TrainingSet, output: int = 0) -> Any:
    """Return a copy that is trained on one output. The network takes no errors."""
    y, y_var = data.Y[:, output], None if data.Y_var is None else data.Y_var[:, output]
    if not isinstance(estimator, TransformedTargetRegressor):
        return clone(estimator).fit(data.X, y, X_var=data.X_var, y_var=y_var)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(estimator).fit(data.X, y)


_SIZES, _BOUNDS = ("50", "100", "200", "300"), ("0.1", "0.4", "1", "3")
_KNOWN = "known"


class SincSig(_Regression):
    """The benchmark ``sincsig``: the paper's first experiment for several N, and its third for several noises.

    In the cells ``50`` to ``300``, N, inputs have noise up to 2.5, and outputs noise of 0.1, which is unknown (the
    caption of figure 3; the text has 0.01). In the cells ``known/50`` and so on outputs have known noise between 0.2
    and 0.5, and there is no white noise (the caption of figure 3; the text has 0 to 0.5). In cells such as ``100/0.4``,
    N and ν, inputs and outputs have known noise up to ν. The scores are the mean squared error over a grid of known
    inputs, and the mean log density of the true function there.
    """

    name = "sincsig"
    cells = (
        *_SIZES,
        *(f"100/{bound}" for bound in _BOUNDS),
        *(f"known/{size}" for size in _SIZES),
        *(f"{size}/{bound}" for size in ("50", "200", "300") for bound in _BOUNDS),
    )
    tables = MappingProxyType({"Uncertain inputs, figures 3, 5 and 6": PaperTable(optimisers=("project",))})
    methods = (*KERNELS, NETWORK)
    scores = MappingProxyType({"mse": ("MSE", ".3g"), "log_density": ("log density", ".3g")})
    options = ("noise",)
    starts = 2

    def run(self, cell: str, estimator: Any, split: int) -> Record:
        """Train and test on one training set."""
        first, _, second = cell.partition("/")
        rng = np.random.default_rng([split, self.cells.index(cell)])
        size, bound = first, 2.5
        output_std: float | tuple[float, float] = 0.1
        if first == _KNOWN:
            size, output_std = second, (0.2, 0.5)
        elif second:
            bound, output_std = float(second), (0.0, float(second))
        data = draw_sincsig(int(size), rng, bound=bound, output_std=output_std)
        fitted, grid = _fit(estimator, data), np.linspace(-10.0, 10.0, 100)
        if isinstance(fitted, TransformedTargetRegressor):
            return {"mse": float(np.mean((fitted.predict(grid[:, None]) - sincsig(grid)) ** 2))}
        mean, std = fitted.predict(grid[:, None], return_std=True)
        density = norm.logpdf(sincsig(grid), mean, std)
        return {"mse": float(np.mean((mean - sincsig(grid)) ** 2)), "log_density": float(np.mean(density))}


def sincsig(x: FloatArray) -> FloatArray:
    """Return the values of the true function."""
    return np.where(x >= 0, np.sinc(x / np.pi), 0.5 * expit(10.0 * x + 5.0) + 0.5)


def draw_sincsig(
    size: int, rng: np.random.Generator, *, bound: float, output_std: float | tuple[float, float]
) -> TrainingSet:
    """Draw N points. Standard deviations of inputs are uniform up to `bound`.

    The standard deviation of all outputs is the number `output_std`, and unknown. If it is a range, the standard
    deviations of the outputs are uniform in it, and known.
    """
    x, std = rng.uniform(-10, 10, size), rng.uniform(0, bound, size)
    known = isinstance(output_std, tuple)
    output = rng.uniform(*output_std, size) if isinstance(output_std, tuple) else np.full(size, output_std)
    X, y = x + std * rng.standard_normal(size), sincsig(x) + output * rng.standard_normal(size)
    return TrainingSet(X[:, None], std[:, None] ** 2, y[:, None], output[:, None] ** 2 if known else None)


_HALF_WIDTHS = np.array([10.0, 10.0, np.pi, 10.0, 10.0])
_G, _CART, _POLE, _HALF_LENGTH, _STEP = 9.8, 1.0, 0.1, 0.5, 0.1
_LARGEST_NOISE, _NUM_TEST = 2.5, 1000
OUTPUTS = ("position", "velocity", "angle", "angular velocity")


class CartPole(_Regression):
    """The benchmark ``cartpole``, its cells by N: mean squared errors of 1000 noiseless next states."""

    name = "cartpole"
    cells = ("50", "100", "200", "300")
    tables = MappingProxyType({"Uncertain inputs, figure 7": PaperTable(optimisers=("project",))})
    methods = ("classic", "uncertain", NETWORK)
    scores = MappingProxyType({output: (output, ".3g") for output in OUTPUTS})
    options = ("plot",)
    starts = 1

    def run(self, cell: str, estimator: Any, split: int) -> Record:
        """Train on one output at a time."""
        data = draw_cartpole(int(cell), np.random.default_rng([split, int(cell)]))
        x = np.random.default_rng([split, 0]).uniform(-_HALF_WIDTHS, _HALF_WIDTHS, (_NUM_TEST, 5))
        truth = next_state(x)
        return {
            output: float(np.mean((_fit(estimator, data, j).predict(x) - truth[:, j]) ** 2))
            for j, output in enumerate(OUTPUTS)
        }

    def figure(self, estimators: Mapping[tuple[str, str], Any], records: pd.DataFrame) -> Figure:
        """Draw the error of each output against N, one panel per output (the paper's figure 7)."""
        from fermiclass_benchmarks.figures import errors_figure

        return errors_figure(records.assign(size=records["cell"].astype(int)), OUTPUTS)


def next_state(state: FloatArray) -> FloatArray:
    """Return ``(n, 4)`` next states of states and forces ``(n, 5)``."""
    velocity, angle, spin, force = state.T[1:]
    sine, cosine, mass = np.sin(angle), np.cos(angle), _CART + _POLE
    pull = _POLE * _HALF_LENGTH
    turn = (_G * sine + cosine * (-force - pull * spin**2 * sine) / mass) / (
        _HALF_LENGTH * (4.0 / 3.0 - _POLE * cosine**2 / mass)
    )
    # The paper prints sin α in the last term; the equation of motion has cos α.
    push = (force + pull * (spin**2 * sine - turn * cosine)) / mass
    change = np.stack([velocity, push, spin, turn], axis=1)
    return np.asarray(state[:, :4] + _STEP * change)


def draw_cartpole(size: int, rng: np.random.Generator) -> TrainingSet:
    """Draw N noisy states with forces, and the noisy next states of the noiseless states."""
    x = rng.uniform(-_HALF_WIDTHS, _HALF_WIDTHS, (size, 5))
    std, output_std = rng.uniform(0, _LARGEST_NOISE, (size, 5)), rng.uniform(0, _LARGEST_NOISE, (size, 4))
    X = x + std * rng.standard_normal(x.shape)
    Y = next_state(x) + output_std * rng.standard_normal(output_std.shape)
    return TrainingSet(X, std**2, Y, output_std**2)
