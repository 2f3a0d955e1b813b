"""Methods in the open world: what labels the targets, ours and the baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.catalog import CLASS_TREE, DEFAULT_CLASSES, Catalog, ClassGrouping
from fermiclass.evaluation.methods import baseline_method
from fermiclass.evaluation.open_world import (
    TOPS,
    OpenEvaluation,
    OpenScores,
    OpenTargets,
    mean_scores,
    scores_of_labels,
)
from fermiclass.features import DEFAULT_FEATURE_SET, extract_features
from fermiclass.labelling.class_priors import default_class_priors
from fermiclass.labelling.training import default_estimator, train

if TYPE_CHECKING:
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

#: Features of the baselines: what published work uses, without coordinates.
BASELINE_FEATURES = "extended"

#: Name of the mean of all baselines.
MEAN = "mean of baselines"


def evaluate_open(
    earlier: Catalog,
    later: Catalog,
    *,
    estimators: dict[str, NIMGPClassifier] | None = None,
    baselines: Iterable[str] = (),
    features: str = DEFAULT_FEATURE_SET,
    classes: str = DEFAULT_CLASSES,
    shares: str | None = None,
    cells: str = "all",
    min_significance: float | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> OpenEvaluation:
    """Train on the associated sources of a release, and score its other sources by any later class.

    Parameters
    ----------
    earlier, later
        Two releases.
    estimators
        Unfitted estimators by name; by default the one that labels catalogues.
    baselines
        Names of baselines; they learn AGN (without bcu), pulsars and others from `BASELINE_FEATURES`, as trained, and
        bll against fsrq apart. With two or more, their mean is a baseline too.
    features, classes, shares, min_significance
        As for :func:`fermiclass.labelling.training.classify`.
    cells
        See :meth:`OpenTargets.of`.
    seed
        Seed of the baselines, and of the default estimator.
    progress
        Called with the number of methods done and of all.

    Raises
    ------
    CatalogError
        When no source has a later class.
    ClassError, FeatureError
        As :func:`fermiclass.labelling.training.train`.
    """
    targets = OpenTargets.of(earlier, later, cells=cells)
    grouping = ClassGrouping.parse(classes)
    chosen = {"default": default_estimator(random_state=seed)} if estimators is None else estimators
    names = list(baselines)
    methods: dict[str, OpenScores] = {}

    def advance() -> None:
        if progress is not None:
            progress(len(methods), len(chosen) + len(names))

    advance()
    for name, estimator in chosen.items():
        model = train(earlier, estimator, features=features, classes=classes, min_significance=min_significance)
        labels = model.label(earlier, "uncertain", class_priors=shares)
        methods[name] = scores_of_labels(targets, earlier, labels, grouping)
        advance()
    for name in names:
        methods[name] = _baseline_scores(name, earlier, targets, seed)
        advance()
    if len(names) > 1:
        methods[MEAN] = mean_scores([methods[name] for name in names])
    priors = shares or default_class_priors(grouping)
    meta = {"features": features, "classes": str(grouping), "shares": priors, "seed": seed}
    return OpenEvaluation(str(earlier.source), str(later.source), cells, targets, methods, meta)


def _baseline_scores(name: str, catalog: Catalog, targets: OpenTargets, seed: int) -> OpenScores:
    agn = "+".join(code for code in CLASS_TREE["agn"] if code != "bcu")
    p = _probabilities(name, catalog, f"agn={agn},psr,other", TOPS, targets.candidates, seed)
    types = np.empty((0, 2))
    if len(targets.typed):
        types = _probabilities(name, catalog, "bll,fsrq", ("bll", "fsrq"), targets.typed, seed)
    at = np.searchsorted(targets.candidates, targets.rows)
    return OpenScores(targets, p[at], p[:, TOPS.index("psr")], types[:, 1], is_baseline=True)


def _probabilities(name: str, catalog: Catalog, classes: str, order: tuple[str, ...], rows: Any, seed: int) -> Any:
    table = extract_features(catalog, BASELINE_FEATURES, classes)
    trained = baseline_method(name, seed).fit(table[table.labelled], order)
    return trained.predict(table[rows])
