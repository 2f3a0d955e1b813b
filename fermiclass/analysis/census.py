"""A census of a catalogue: how many sources without a class are of each class, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from fermiclass.brought.sources import CatalogLike, catalog_of
from fermiclass.catalog import UNCERTAIN_CLASSES, Catalog
from fermiclass.catalog.catalog import LATITUDE_EDGE
from fermiclass.errors import ClassError
from fermiclass.features import FeatureTable, extract_features
from fermiclass.io import FloatArray
from fermiclass.labelling.associations import REFERENCE_RANGE
from fermiclass.labelling.recipe import Choices, Recipe
from fermiclass.labelling.training import estimator_of, train_checked
from fermiclass.labelling.training_rows import GUESS, GUESS_RANGE
from fermiclass.nimgp.estimators.folds import Split, fit_folds

if TYPE_CHECKING:
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

FOLDS = 5  #: Number of parts of the training sources. Each is held out once.

FLOOR = 1e-4  #: Smallest probability that counts: a classifier is not trusted to be more certain.

#: Standard deviations of the Gaussian priors about "well calibrated": of the coefficients of the place, and of the
#: slopes in the logarithms of the probabilities.
CALIBRATION, SHARPNESS = 0.5, 0.3

_PLACE = "ln_Signif_Avg,asinh_GLAT"


@dataclass(frozen=True, eq=False)
class Census:
    """Draws of the numbers of sources."""

    #: Names of the G groups of sources that the catalogue has: unassociated, unassociated low and high (below and from
    #: 10 degrees of Galactic latitude), bcu and unk, and given ones.
    groups: tuple[str, ...]
    sizes: tuple[int, ...]  #: Numbers of their sources, ``(G,)``.
    classes: tuple[str, ...]  #: Names of the C classes.
    draws: NDArray[np.int64]  #: Numbers of sources of each class, ``(num_draws, G, C)``.

    def interval(self, group: str, classes: Sequence[str], *, level: float = 0.9) -> tuple[float, float, float]:
        """Return the mean and the ends of the interval of the number of a group's sources of any of the classes.

        Raises ClassError when the census has no such group or class.
        """
        unknown = [name for name in classes if name not in self.classes]
        if group not in self.groups or unknown:
            raise ClassError(
                f"the census has no number of {', '.join(classes)} among '{group}': it has the groups "
                f"{', '.join(self.groups)} and the classes {', '.join(self.classes)}"
            )
        numbers = self.draws[:, self.groups.index(group)][:, np.isin(self.classes, classes)].sum(axis=1)
        low, high = np.quantile(numbers, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        return float(numbers.mean()), float(low), float(high)


def take_census(
    catalog: CatalogLike,
    recipe: Recipe | None = None,
    *,
    groups: Mapping[str, NDArray[np.bool_]] | None = None,
    num_draws: int = 400,
    seed: int = 0,
    **changes: Unpack[Choices],
) -> Census:
    """Count the sources of each class among those without one, with intervals that hold the errors of the method.

    The draws lie about the sums of the probabilities that `classify` gives by default, with its class priors. They
    hold the scatter of the sources, the classifier's own uncertainty and its miscalibration; and the ranges of the
    reference S₀ of the class priors, and of the weight of labels that are guesses. The census trains the model, one
    without each of :data:`FOLDS` parts of the training sources, and one for each end of the range of the weight.

    Parameters
    ----------
    catalog
        The catalogue, to learn from and to count, or its file.
    recipe, changes
        As for :func:`fermiclass.train`.
    groups
        More groups of sources by name, as masks of the catalogue's rows, ``(N,)``. Only sources without a class count.
    num_draws, seed
        Number of draws; seed of these and of the parts.

    Raises
    ------
    ClassError, FeatureError, RecipeError
        As :func:`fermiclass.train`; also when no source is without a class.
    """
    catalog = catalog_of(catalog)
    rng = np.random.default_rng(seed)
    recipe = Recipe.of(recipe, **changes)
    is_target = catalog.is_target(catalog.grouping(recipe.classes))
    if not np.any(is_target):
        raise ClassError(f"{catalog.source} has no source without a class: there is nothing to count")
    checked = recipe.check(catalog)
    everything, table = checked.table, checked.rows
    place = extract_features(catalog, _PLACE).X
    model = train_checked(checked)
    ends_of_weight = [checked.with_guesses(weight) for weight in (GUESS / GUESS_RANGE, GUESS * GUESS_RANGE)]
    of_weights = [  # without guesses the weight changes nothing
        (model if np.array_equal(each.rows.weight, table.weight) else train_checked(each)).estimator
        for each in ends_of_weight
    ]
    names = model.classes
    part = rng.permutation(len(table)) % FOLDS
    unfitted = estimator_of(recipe, table)
    splits = [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(FOLDS)]
    fitted = fit_folds(unfitted, splits, table.X, table.y, table.X_var, table.weight)
    held_out = _held_out(fitted, splits, table, names, place[table.rows])

    parts = _parts(catalog) | dict(groups or {})
    drawn: dict[str, NDArray[np.int64]] = {}
    for status in ("", *UNCERTAIN_CLASSES):
        chosen = is_target & (catalog.classes == status)
        if not np.any(chosen):
            continue
        new = everything[chosen]
        p = _predict(model.estimator, new)
        low, usual, high = (
            np.log(model.with_reference(factor).selection.ratios(catalog[chosen], model.grouping, names))
            for factor in (1.0 / REFERENCE_RANGE, 1.0, REFERENCE_RANGE)
        )
        ends = [[_log(_predict(one, new)) - _log(p) for one in of_weights], [low - usual, high - usual]]
        masks = {name: mask[chosen] for name, mask in parts.items() if np.any(mask[chosen])}
        numbers = draw_numbers(
            *held_out,
            Predictions(p, place[chosen]),
            list(masks.values()),
            rng,
            refits=np.array([_predict(one, new) for one in fitted]),
            ratios=model.ratios(catalog[chosen]),
            ranges=np.array(ends),
            num_draws=num_draws,
        )
        for k, name in enumerate(masks):
            drawn[name] = numbers[:, k] + drawn.get(name, 0)
    sizes = tuple(int(np.sum(parts[name] & is_target)) for name in drawn)
    return Census(tuple(drawn), sizes, tuple(names), np.stack(list(drawn.values()), axis=1))


def _parts(catalog: Catalog) -> dict[str, NDArray[np.bool_]]:
    """Return the masks of the census's own groups, ``(N,)`` each."""
    unassociated = catalog.classes == ""
    low = np.abs(np.asarray(catalog.table["GLAT"], float)) < LATITUDE_EDGE
    return {
        "unassociated": unassociated,
        "unassociated low": unassociated & low,
        "unassociated high": unassociated & ~low,
        **{status: catalog.classes == status for status in UNCERTAIN_CLASSES},
    }


def _held_out(
    fitted: Sequence[NIMGPClassifier], splits: Sequence[Split], table: FeatureTable, names: list[str], place: FloatArray
) -> tuple[Predictions, NDArray[np.intp]]:
    """Return the predictions of the sources of one class by the model without their part, and their classes."""
    p = np.empty((len(table), len(names)))
    for one, (_, test) in zip(fitted, splits, strict=True):
        p[test] = _predict(one, table[test])
    has_class = np.isin(table.y, names)
    return Predictions(p[has_class], place[has_class]), np.searchsorted(names, table.y[has_class])


def _predict(estimator: NIMGPClassifier, table: FeatureTable) -> FloatArray:
    return np.asarray(estimator.predict_proba(table.X, X_var=table.X_var), dtype=np.float64)


class Predictions(NamedTuple):
    """Probabilities of the C classes and places z of n sources, ``(n, C)`` and ``(n, P)``."""

    p: FloatArray
    place: FloatArray


def draw_numbers(
    held_out: Predictions,
    y: NDArray[np.intp],
    sources: Predictions,
    groups: Sequence[NDArray[np.bool_]],
    rng: np.random.Generator,
    *,
    refits: FloatArray | None = None,
    ratios: FloatArray | None = None,
    ranges: FloatArray | None = None,
    num_draws: int = 200,
) -> NDArray[np.int64]:
    """Draw the numbers of sources of each class in G groups of the m sources to count, ``(num_draws, G, C)``.

    With g(z) = (1, z, products of z) and the logarithms l_c of a source's probabilities, calibrated probabilities are
    ``q_c ∝ exp[l_c + a_cᵀ (g(z), l)]``. The held-out sources, of classes `y` ``(n,)``, give the best â, and a weighted
    likelihood bootstrap (Newton & Raftery 1994, J. R. Stat. Soc. B 56, 3) gives draws a of it. The calibration is an
    error of either sign: a draw of the numbers uses t â + (a − â) with t from N(0, 1), about the given probabilities.

    `refits` are probabilities of the m sources by the K models that made `held_out`, ``(K, m, C)``: their scatter
    (jackknife) is the classifier's own uncertainty. `ratios` are factors of the probabilities by the class priors,
    ``(m, C)``. `ranges` are changes of ln p at the lower and upper ends of the ranges of J numbers, ``(J, 2, m, C)``: a
    draw has a u, uniform in [−1, 1], and adds −u times the change at the lower end, or u times that at the upper end.
    """
    n, num_classes = held_out.p.shape
    logs, new_logs = _log(held_out.p), _log(sources.p)
    inputs = np.column_stack([basis(held_out.place, held_out.place), logs])
    new_basis = basis(sources.place, held_out.place)
    prior_std = np.array([CALIBRATION] * new_basis.shape[1] + [SHARPNESS] * num_classes)
    known = np.eye(num_classes)[y]
    log_ratios = np.zeros_like(new_logs) if ratios is None else np.log(ratios)
    moves = np.zeros((1, *sources.p.shape))
    if refits is not None:  # with standard normal factors, the sum of moves of ln p has the jackknife's covariance
        moves = np.sqrt((len(refits) - 1.0) / len(refits)) * (_log(refits) - _log(refits).mean(axis=0))
    ranges = np.zeros((0, 2, *sources.p.shape)) if ranges is None else ranges

    zero = np.zeros((len(prior_std), num_classes))
    best = fit_calibration(inputs, np.ones(n), zero, prior_std, zero, offset=logs, target=known)
    drawn = np.empty((num_draws, len(groups), num_classes), dtype=np.int64)
    for k in range(num_draws):
        moved = new_logs + np.tensordot(rng.standard_normal(len(moves)), moves, axes=1)
        weights = np.asarray(rng.exponential(size=n))
        centre = prior_std[:, None] * rng.standard_normal(zero.shape)
        a = fit_calibration(inputs, weights, centre, prior_std, best, offset=logs, target=known)
        a += (rng.standard_normal() - 1.0) * best
        u = rng.uniform(-1.0, 1.0, len(ranges))
        by_hand = np.tensordot(np.maximum([-u, u], 0.0).T, ranges, axes=2)
        p = softmax(moved + np.column_stack([new_basis, moved]) @ a + log_ratios + by_hand, axis=1)
        of_class = (p.cumsum(axis=1) > rng.random((len(p), 1))).argmax(axis=1)
        drawn[k] = [np.bincount(of_class[group], minlength=num_classes) for group in groups]
    return drawn


def basis(place: FloatArray, held_out: FloatArray) -> FloatArray:
    """Return g(z) = (1, z, all products of two) of n places, standardised and clipped to 98 % of the held-out ones."""
    low, high = np.quantile(held_out, [0.01, 0.99], axis=0)
    inside = np.clip(held_out, low, high)
    spread = inside.std(axis=0)
    z = (np.clip(place, low, high) - inside.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    one, other = np.triu_indices(z.shape[1])
    return np.column_stack([np.ones(len(z)), z, z[:, one] * z[:, other]])


def fit_calibration(
    inputs: FloatArray,
    weights: FloatArray,
    centre: FloatArray,
    std: FloatArray,
    start: FloatArray,
    *,
    offset: FloatArray,
    target: FloatArray,
) -> FloatArray:
    """Return the coefficients a (K, C) of the highest posterior of a logistic regression, with h_ic = Σ_k a_kc f_ik.

    They maximise ``Σ_i w_i [Σ_c t_ic h_ic − ln Σ_c exp(offset_ic + h_ic)] − ½ Σ_kc (a_kc − m_kc)² / σ_k²`` for inputs f
    ``(n, K)``, weights w ``(n,)``, centre m ``(K, C)``, standard deviations σ ``(K,)`` and known classes t ``(n, C)``.
    """
    curvature = _curvature(inputs, weights, softmax(offset + inputs @ start, axis=1), std)
    L = np.linalg.cholesky(curvature)  # with a = start + L⁻ᵀ φ the search takes few steps

    def value(phi: FloatArray) -> tuple[float, FloatArray]:
        a = start + np.linalg.solve(L.T, phi).reshape(start.shape)
        h = inputs @ a
        total = offset + h
        away = (a - centre) / std[:, None]
        gradient = inputs.T @ (weights[:, None] * (target - softmax(total, axis=1))) - away / std[:, None]
        objective = weights @ (np.sum(target * h, axis=1) - logsumexp(total, axis=1)) - 0.5 * np.sum(away**2)
        return -float(objective), -np.linalg.solve(L, gradient.ravel())

    phi = minimize(value, np.zeros(start.size), jac=True, method="L-BFGS-B", options={"ftol": 1e-8}).x
    return np.asarray(start + np.linalg.solve(L.T, phi).reshape(start.shape))


def _curvature(inputs: FloatArray, weights: FloatArray, p: FloatArray, std: FloatArray) -> FloatArray:
    """Return Σ_i w_i f_i f_iᵀ ⊗ (diag p_i − p_i p_iᵀ) + diag(1/σ²), ``(K C, K C)``."""
    scatter = p[:, :, None] * (np.eye(p.shape[1]) - p[:, None, :])
    H = np.einsum("n,nk,nl,ncd->kcld", weights, inputs, inputs, scatter, optimize=True)
    prior = np.repeat(std, p.shape[1]) ** -2.0
    return np.asarray(H.reshape(len(prior), -1) + np.diag(prior))


def _log(p: FloatArray) -> FloatArray:
    p = np.maximum(p, FLOOR)
    return np.asarray(np.log(p / p.sum(axis=-1, keepdims=True)))
