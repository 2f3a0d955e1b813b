"""The evaluation as the command has it: a protocol, and methods by their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Unpack

from fermiclass.brought.candidates import Candidates
from fermiclass.brought.sources import CatalogLike, catalog_of
from fermiclass.errors import BenchmarkError, SelectionError
from fermiclass.evaluation import protocols
from fermiclass.evaluation.baselines import available_baselines
from fermiclass.evaluation.counterparts import Bin, calibration, with_counterparts
from fermiclass.evaluation.methods import (
    Method,
    baseline_method,
    baseline_methods,
    estimator_method,
    is_baseline,
    model_method,
    open_baselines,
)
from fermiclass.evaluation.results import Evaluation
from fermiclass.evaluation.results import evaluate as run
from fermiclass.labelling.counterparts import one_or_several
from fermiclass.labelling.recipe import Learning, Recipe
from fermiclass.nimgp.names import FULL_BATCH, METHODS

#: The name of the model of ``classify``, and the suffix of an estimator as in the paper.
DEFAULT, CORE = "default", "@core"


def evaluate(
    catalog: CatalogLike,
    *,
    open_world: CatalogLike | None = None,
    faint: float | None = None,
    folds: int | None = None,
    targets: str = "unassociated",
    cells: str = "all",
    methods: Sequence[str] = (DEFAULT,),
    baselines: bool = False,
    counterparts: Candidates | Sequence[Candidates] = (),
    recipe: Recipe | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    **changes: Unpack[Learning],
) -> Evaluation:
    """Measure how far the probabilities can be trusted, as the command ``fermiclass evaluate`` does.

    Parameters
    ----------
    catalog
        The catalogue to learn from, or its file.
    open_world, targets, cells
        A later release that gives the classes, and what it scores: :func:`fermiclass.evaluation.open_world`.
    faint
        Fraction of each class to score, the faintest sources: :func:`fermiclass.evaluation.bright_to_faint`.
    folds
        Number of folds: :func:`fermiclass.evaluation.folds`; 10 if nothing else is given.
    methods
        Names of methods: ``'default'``, the model of ``classify``; a method of the estimator, with or without
        ``'@core'``; or a baseline.
    baselines
        Whether all baselines are there, too.
    counterparts
        As for :func:`fermiclass.classify`; with `open_world` only.
    recipe, changes
        As for :func:`fermiclass.train`.
    progress
        As for :func:`fermiclass.evaluation.evaluate`.

    Returns
    -------
    Evaluation
        Its ``table`` has the scores of each method.

    Raises
    ------
    SelectionError
        When there are several protocols, or what is for `open_world` only is given without it.
    BenchmarkError
        When a method is unknown, or named twice.
    FermiclassError
        As the functions of the protocols.
    """
    if sum(way is not None for way in (open_world, faint, folds)) > 1:
        raise SelectionError("an open world, faint sources and folds cannot be combined: give one of them")
    if (cells, targets) != ("all", "unassociated") and open_world is None:
        raise SelectionError("cells and targets are for an open world (--open): give it a later release")
    tables = one_or_several(counterparts)
    if tables and (open_world is None or targets != "unassociated"):
        raise SelectionError("counterparts are for unassociated sources of an open world (--open)")
    recipe = Recipe.of(recipe, **changes)
    earlier, seed = catalog_of(catalog), recipe.settings.random_state or 0
    wanted = [methods] if isinstance(methods, str) else list(methods)
    picked, bins = methods_named(wanted, recipe, open_world is not None, baselines), list[Bin]()
    if open_world is not None:
        open_world = catalog_of(open_world, "open_world")
        known = protocols.open_world(earlier, open_world, recipe, targets=targets, cells=cells)
    elif faint is not None:
        known = protocols.bright_to_faint(earlier, faint, recipe)
    else:
        known = protocols.folds(earlier, folds or 10, recipe, seed=seed)
    if tables and open_world is not None:
        known, own, found = with_counterparts(known, tables, DEFAULT)
        bins = calibration(found, earlier, open_world)
        picked = [*own, *(each for each in picked if each.name != DEFAULT)]
    return replace(run(known, picked, progress=progress), counterparts=tuple(bins))


def methods_named(names: Sequence[str], recipe: Recipe, open_world: bool, baselines: bool = False) -> list[Method]:
    """Return the methods with these names, and maybe all baselines. Raises BenchmarkError for unknown names."""
    seed = recipe.settings.random_state or 0
    methods, available = list[Method](), available_baselines()
    for name in names:
        if names.count(name) > 1:
            raise BenchmarkError(f"the method '{name}' is named more than once: name each method once (--methods)")
        if name == DEFAULT:
            methods.append(model_method(name, recipe.settings))
        elif name in METHODS:
            methods.append(model_method(name, recipe.with_settings(method=name).settings))
        elif name.removesuffix(CORE) in METHODS:
            from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

            settings = {**FULL_BATCH, "method": name.removesuffix(CORE), "likelihood": recipe.settings.likelihood}
            methods.append(estimator_method(name, NIMGPClassifier(**settings, random_state=seed)))
        elif is_baseline(name):
            method = baseline_method(name, seed)
            if method.variant and not open_world and not name.endswith("+unc"):
                raise BenchmarkError(f"the method '{name}' is for --open: leave out '{method.variant}' (--methods)")
            methods.append(method)
        else:
            known = ", ".join((DEFAULT, *METHODS, *available))
            raise BenchmarkError(f"the method '{name}' is unknown: choose among {known} (--methods)")
    if baselines:
        all_of_them = open_baselines() if open_world else [*available, *(f"{name}+unc" for name in available)]
        methods += baseline_methods([name for name in all_of_them if name not in names], seed=seed)
    return methods
