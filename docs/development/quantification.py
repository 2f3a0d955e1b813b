"""Quantification: how many of a group of sources are of each class, from draws that hold all known errors.

The sum of the probabilities of a group is an expected number. Its error has four parts: the scatter of the sources, the
classifier's own uncertainty, its miscalibration, and class priors that differ from those of the training sources. All
four are drawn here. It needs the probabilities of training sources by models that have not seen them (*held-out*
sources), and the place z of each source: significance and latitude. With f(z) = (1, z), g(z) = (1, z, products of z)
and the logarithms l_c of a source's probabilities,

    q_c(x, z) ∝ exp[l_c + a_cᵀ (g(z), l)]       probabilities, calibrated with the held-out sources
    π_c(z) ∝ exp[b_cᵀ g(z)]                     their mean at a place, the share of a class among training sources
    r_c(z) = exp[d_cᵀ f(z)]                     odds of the class among the sources to count, relative to the former

The sources to count give d without any label, by their marginal likelihood (as in
:mod:`fermiclass.labelling.label_shift`), place by place:

    Σ_i ln [Σ_c q_c(x_i, z_i) r_c(z_i) / Σ_c π_c(z_i) r_c(z_i)]

The priors of a and d are Gaussians about "nothing differs". With given class priors, d is 0. A class has to look the
same among the training sources and those to count only where significance and latitude are the same.

Draws come from the weighted likelihood bootstrap (Newton & Raftery 1994, J. R. Stat. Soc. B 56, 3): each draw weights
the sources with numbers from the exponential distribution, moves the centre of the prior by a draw from it, and
maximises. The held-out sources are not fitted to those to count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from fermiclass.io.arrays import FloatArray
from fermiclass.analysis.census import _curvature, _jackknife, _log

#: Standard deviation of the prior of π's coefficients, which is no restriction.
_WIDE = 10.0


@dataclass(frozen=True)
class QuantificationPrior:
    """Standard deviations of the Gaussian priors about "nothing differs".

    Attributes
    ----------
    calibration
        Of a, for the coefficients of g(z).
    sharpness
        Of a, for the slopes in the logarithms of the probabilities.
    shift, shift_slope
        Of d, for the constant and for the slopes in z: 0.7 is a factor of 2 in the odds.
    """

    calibration: float = 0.5
    sharpness: float = 0.3
    shift: float = 0.7
    shift_slope: float = 0.35


@dataclass(frozen=True, eq=False)
class Predictions:
    """Probabilities and places of n sources.

    Attributes
    ----------
    p
        Probabilities of the C classes, ``(n, C)``.
    place
        Place z, such as ln significance and a measure of latitude, ``(n, P)``.
    """

    p: FloatArray
    place: FloatArray

    @property
    def log_p(self) -> FloatArray:
        """Logarithms of the probabilities, of at least :data:`FLOOR`, ``(n, C)``."""
        return _log(self.p)


@dataclass(frozen=True, eq=False)
class HeldOut(Predictions):
    """Predictions of training sources by models that have not seen them.

    Attributes
    ----------
    y
        Index of the class, ``(n,)``.
    """

    y: NDArray[np.intp]


def draw_numbers(
    held_out: HeldOut,
    sources: Predictions,
    groups: Sequence[NDArray[np.bool_]],
    rng: np.random.Generator,
    *,
    refits: FloatArray | None = None,
    ratios: FloatArray | None = None,
    estimate: bool = True,
    recalibrate: bool = True,
    prior: QuantificationPrior | None = None,
    num_draws: int = 200,
) -> NDArray[np.int64]:
    """Draw the numbers of sources of each class in G groups of the m sources to count, ``(num_draws, G, C)``.

    Parameters
    ----------
    held_out
        Predictions of training sources.
    sources
        Predictions of the sources to count, as trained.
    groups
        Masks of the sources of each group, ``(m,)`` each.
    rng
        Generator of the draws.
    refits
        Probabilities of the m sources by the K models that made `held_out`, ``(K, m, C)``, each trained without a K-th
        part of the training sources. Their scatter (jackknife) is the classifier's own uncertainty.
    ratios
        Odds of each class relative to training that are expected for each source, ``(m, C)``: r is 1 for these.
    estimate
        Whether class priors are estimated from the sources to count; otherwise they are those of training, times
        `ratios`.
    recalibrate
        Whether the probabilities are moved by the calibration. Otherwise the calibration is an error of either sign: a
        is t â + (a − â), with the best fit â and t from N(0, 1), and the draws lie about the probabilities as given.
    prior
        Standard deviations of the priors.
    """
    num_classes = held_out.p.shape[1]
    model = _Model(held_out, sources, ratios, prior or QuantificationPrior(), estimate=estimate)
    moves = _jackknife(refits) if refits is not None else np.zeros((1, *sources.p.shape))
    still = np.zeros_like(sources.p)
    start = model.fit(_Perturbation(None), still, None)
    drawn = np.empty((num_draws, len(groups), num_classes), dtype=np.int64)
    for k in range(num_draws):
        moved = np.tensordot(rng.standard_normal(len(moves)), moves, axes=1)
        fit = model.fit(_Perturbation(rng), moved, start)
        if not recalibrate:
            fit = replace(fit, a=fit.a + (rng.standard_normal() - 1.0) * start.a)
        r = model.probabilities(fit, moved)
        of_class = (r.cumsum(axis=1) > rng.random((len(r), 1))).argmax(axis=1)
        drawn[k] = [np.bincount(of_class[group], minlength=num_classes) for group in groups]
    return drawn


@dataclass(frozen=True, eq=False)
class _Fit:
    """Coefficients a, b and d."""

    a: FloatArray
    b: FloatArray
    d: FloatArray


@dataclass(frozen=True, eq=False)
class _Perturbation:
    """Weights of sources and centres of priors of one draw; without a generator all weights are 1, all centres 0."""

    rng: np.random.Generator | None

    def weights(self, n: int) -> FloatArray:
        return np.ones(n) if self.rng is None else self.rng.exponential(size=n)

    def centre(self, std: FloatArray, num_classes: int) -> FloatArray:
        shape = (len(std), num_classes)
        return np.zeros(shape) if self.rng is None else std[:, None] * self.rng.standard_normal(shape)


class _Model:
    """Data and priors of the fits."""

    def __init__(
        self,
        held_out: HeldOut,
        sources: Predictions,
        ratios: FloatArray | None,
        prior: QuantificationPrior,
        *,
        estimate: bool,
    ) -> None:
        self.estimate = estimate
        self.num_classes = held_out.p.shape[1]
        self.known = np.eye(self.num_classes)[held_out.y]
        self.l, self.L = held_out.log_p, sources.log_p
        self.expected = np.zeros_like(self.L) if ratios is None else np.log(ratios)
        basis = Basis(held_out.place)
        self.f, self.F = basis.slopes(held_out.place), basis.slopes(sources.place)
        self.g, self.G = basis.products(held_out.place), basis.products(sources.place)
        num_slopes = self.f.shape[1] - 1
        self.std_a = np.array([prior.calibration] * self.g.shape[1] + [prior.sharpness] * self.num_classes)
        self.std_b = np.full(self.g.shape[1], _WIDE)
        self.std_d = np.array([prior.shift] + [prior.shift_slope] * num_slopes)

    def fit(self, draw: _Perturbation, moved: FloatArray, start: _Fit | None) -> _Fit:
        weights, C = draw.weights(len(self.l)), self.num_classes
        old = start or _Fit(*(np.zeros((len(std), C)) for std in (self.std_a, self.std_b, self.std_d)))
        inputs = np.column_stack([self.g, self.l])
        a = fit_odds(inputs, weights, draw.centre(self.std_a, C), self.std_a, old.a, offset=self.l, target=self.known)
        if not self.estimate:
            return _Fit(a, old.b, old.d)
        q = softmax(self.l + inputs @ a, axis=1)
        b = fit_odds(self.g, weights, 0.0 * old.b, self.std_b, old.b, offset=np.zeros_like(self.l), target=q)
        log_q, log_pi = self._calibrated(a, moved), log_softmax(self.G @ b, axis=1)
        d = fit_odds(
            self.F,
            draw.weights(len(self.F)),
            draw.centre(self.std_d, C),
            self.std_d,
            old.d,
            offset=log_pi + self.expected,
            mixture=log_q + self.expected,
        )
        return _Fit(a, b, d)

    def probabilities(self, fit: _Fit, moved: FloatArray) -> FloatArray:
        """Return the probabilities of the sources to count, ``(m, C)``."""
        p: FloatArray = softmax(self._calibrated(fit.a, moved) + self.expected + self.F @ fit.d, axis=1)
        return p

    def _calibrated(self, a: FloatArray, moved: FloatArray) -> FloatArray:
        logs = self.L + moved
        q: FloatArray = log_softmax(logs + np.column_stack([self.G, logs]) @ a, axis=1)
        return q


class Basis:
    """Smooth functions of the place.

    The place is standardised by the held-out sources, and kept within the range of 98 % of them: nothing is
    extrapolated.
    """

    def __init__(self, place: FloatArray) -> None:
        self.low, self.high = np.quantile(place, [0.01, 0.99], axis=0)
        inside = np.clip(place, self.low, self.high)
        spread = inside.std(axis=0)
        self.mean, self.std = inside.mean(axis=0), np.where(spread > 0, spread, 1.0)

    def slopes(self, place: FloatArray) -> FloatArray:
        """Return f(z) = (1, z), ``(n, 1 + P)``."""
        z = (np.clip(place, self.low, self.high) - self.mean) / self.std
        return np.column_stack([np.ones(len(z)), z])

    def products(self, place: FloatArray) -> FloatArray:
        """Return g(z), with all squares and products of two, ``(n, 1 + P + P(P + 1)/2)``."""
        f = self.slopes(place)
        one, other = np.triu_indices(f.shape[1] - 1)
        return np.column_stack([f, f[:, 1 + one] * f[:, 1 + other]])


def fit_odds(
    inputs: FloatArray,
    weights: FloatArray,
    centre: FloatArray,
    std: FloatArray,
    start: FloatArray,
    *,
    offset: FloatArray,
    target: FloatArray | None = None,
    mixture: FloatArray | None = None,
) -> FloatArray:
    """Return the log odds θ (K, C) of the highest posterior.

    With h_ic = Σ_k θ_kc f_ik they maximise

        Σ_i w_i [Σ_c t_ic h_ic − ln Σ_c exp(offset_ic + h_ic)] − ½ Σ_kc (θ_kc − m_kc)² / σ_k².

    This is logistic regression; the target t is a known class, or probabilities of classes. With `mixture`, the log
    probabilities of an unknown class, the first term is ln Σ_c exp(mixture_ic + h_ic).

    Parameters
    ----------
    inputs, weights
        f ``(n, K)`` and w ``(n,)``.
    centre, std
        m ``(K, C)`` and σ ``(K,)``.
    start
        Where the search begins, ``(K, C)``.
    offset, target, mixture
        ``(n, C)`` each; either `target` or `mixture`.
    """
    from scipy.optimize import minimize

    curvature = _curvature(inputs, weights, softmax(offset + inputs @ start, axis=1), std)
    L = np.linalg.cholesky(curvature)  # with θ = start + L⁻ᵀ φ the search takes few steps

    def value(phi: FloatArray) -> tuple[float, FloatArray]:
        theta = start + np.linalg.solve(L.T, phi).reshape(start.shape)
        h = inputs @ theta
        p, log_total = _normalised(offset + h)
        if mixture is None:
            assert target is not None
            expected, first = target, np.sum(target * h, axis=1)
        else:
            expected, first = _normalised(mixture + h)
        away = (theta - centre) / std[:, None]
        gradient = inputs.T @ (weights[:, None] * (expected - p)) - away / std[:, None]
        objective = weights @ (first - log_total) - 0.5 * np.sum(away**2)
        return -float(objective), -np.linalg.solve(L, gradient.ravel())

    phi = minimize(value, np.zeros(start.size), jac=True, method="L-BFGS-B", options={"ftol": 1e-8}).x
    best: FloatArray = start + np.linalg.solve(L.T, phi).reshape(start.shape)
    return best


def _normalised(h: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the softmax of h (n, C), and the logarithm of the sum of the exponentials (n,)."""
    top = h.max(axis=1)
    e = np.exp(h - top[:, None])
    total = e.sum(axis=1)
    return e / total[:, None], top + np.log(total)
