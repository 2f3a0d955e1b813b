"""``fermiclass evaluate``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fermiclass.catalog import read_catalog
from fermiclass.cli import options
from fermiclass.cli.app import SectionedCommand
from fermiclass.cli.options import BroughtIn, CandidateTables
from fermiclass.errors import BenchmarkError
from fermiclass.io.files import check_figure_place, check_place, write_figure, write_json
from fermiclass.labelling.recipe import Recipe
from fermiclass.nimgp.names import FULL_BATCH, METHODS
from fermiclass.show.terminal import load_tensorflow, stages

if TYPE_CHECKING:
    from fermiclass.evaluation import Method

_DEFAULT, _CORE = "default", "@core"


@click.command(cls=SectionedCommand)
@options.catalog_argument
@options.file_option(
    "--open",
    "open_world",
    metavar="LATER",
    help="Score unassociated sources by any class that a later release gives them: AGN, pulsar or other.",
)
@click.option(
    "--faint",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    metavar="F",
    help="Score the faintest fraction F of each class; train on the other sources.",
)
@click.option(
    "--folds", type=click.IntRange(min=2), metavar="K", help="Score by K-fold cross-validation. [default: 10]"
)
@click.option(
    "--targets",
    "scored",
    type=click.Choice(["unassociated", "bcu"]),
    default="unassociated",
    show_default=True,
    help="With --open: score unassociated sources, or bcu that the later release calls bll or fsrq.",
)
@click.option(
    "--cells",
    type=click.Choice(["all", "even", "odd"]),
    default="all",
    show_default=True,
    help="With --open: score the whole sky, or the even or odd cells of a chessboard of 15 degrees.",
)
@options.counterparts_options
@options.brought_to_catalog_options
@options.feature_options
@click.option(
    "--methods",
    default=_DEFAULT,
    show_default=True,
    metavar="a,b",
    help=f"'{_DEFAULT}', the model of classify with its classes and class priors; {', '.join(METHODS)}; or baselines "
    f"by name, also with +unc: with the error bars as features. A named method is '{_DEFAULT}' with that treatment of "
    f"the error bars. With {_CORE}, as in nimgp{_CORE}, it is the estimator as in the paper: it maximises the evidence "
    "lower bound, and learns from sources of one class.",
)
@click.option(
    "--baselines",
    is_flag=True,
    help="Add all baselines: other classifiers, mostly of scikit-learn. With --open each learns from two sets of "
    "features in three trainings; else each is there with +unc, too.",
)
@options.recipe_seed_option
@options.config_option
@options.set_option
@options.file_option("--json", "json_file", help="Write the results to this file.")
@options.file_option("--plot", help="Figure of the results: .png, .pdf or .svg.")
@options.common_options
@options.with_recipe()
def evaluate(
    catalog: Path,
    open_world: Path | None,
    faint: float | None,
    folds: int | None,
    scored: str,
    cells: str,
    brought: BroughtIn,
    candidates: CandidateTables,
    recipe: Recipe,
    methods: str,
    baselines: bool,
    json_file: Path | None,
    plot: Path | None,
    quiet: bool,
) -> None:
    """Measure how far the probabilities can be trusted, across releases or within one.

    \b
    Example:
      fermiclass evaluate 4FGL-DR1.fits --open 4FGL-DR4.fits --baselines
      fermiclass evaluate 4FGL-DR1.fits --open 4FGL-DR4.fits --targets bcu
      fermiclass evaluate 4FGL-DR1.fits --faint 0.5 --methods nimgp,mgp,forest --plot results.pdf
      fermiclass evaluate 4FGL-DR4.fits --folds 5 --json results.json
    """  # noqa: D301
    from fermiclass import evaluation
    from fermiclass.evaluation import Method
    from fermiclass.plots.evaluation import evaluation_figure
    from fermiclass.show.evaluation import print_counterparts_test, print_evaluation

    if sum(way is not None for way in (open_world, faint, folds)) > 1:
        raise click.UsageError("--open, --faint and --folds cannot be combined: give one of them")
    if (cells, scored) != ("all", "unassociated") and open_world is None:
        raise click.UsageError("--cells and --targets are for --open: give it a later release")
    if candidates.files and (open_world is None or scored != "unassociated"):
        raise click.UsageError("--counterparts is for unassociated sources and --open: give it a later release")
    if json_file is not None:
        check_place(json_file, catalog, open_world, *brought.files, *candidates.files)
    if plot is not None:
        check_figure_place(plot, catalog, open_world, *brought.files, *candidates.files)
    counterparts = candidates.read()
    earlier = brought.into(read_catalog(catalog))
    seed = recipe.settings.random_state or 0
    if open_world is not None:
        later = read_catalog(open_world)
        known = evaluation.open_world(earlier, later, recipe, targets=scored, cells=cells)
    elif faint is not None:
        known = evaluation.bright_to_faint(earlier, faint, recipe)
    else:
        known = evaluation.folds(earlier, folds or 10, recipe, seed=seed)
    chosen = options.names(methods)
    if not {name.removesuffix(_CORE) for name in chosen}.isdisjoint((_DEFAULT, *METHODS)):
        load_tensorflow(quiet=quiet)
    own, bins = list[Method](), []
    if counterparts:
        known, own, found = evaluation.with_counterparts(known, counterparts, _DEFAULT)
        bins = evaluation.calibration(found, earlier, later)
        chosen = [name for name in chosen if name != _DEFAULT]
    picked = [*own, *_methods(chosen, recipe, open_world is not None, baselines)]
    with stages("methods", quiet=quiet) as progress:
        result = evaluation.evaluate(known, picked, progress=lambda name, done, total: progress(done, total, name))
    if json_file is not None:
        added: dict[str, Any] = {"brought": [str(each) for each in earlier.brought]} if earlier.brought else {}
        if bins:
            added["counterparts"] = [asdict(each) for each in bins]
        write_json(json_file, result.to_dict() | added)
    if plot is not None:
        write_figure(plot, evaluation_figure(result))
    if not quiet:
        print_evaluation(result)
        if bins:
            print_counterparts_test(result, own[0].name, own[1].name, bins)


def _methods(chosen: list[str], recipe: Recipe, open_world: bool, baselines: bool) -> list[Method]:
    from fermiclass import evaluation

    seed = recipe.settings.random_state or 0
    methods = []
    available = evaluation.available_baselines()
    for name in chosen:
        if chosen.count(name) > 1:
            raise BenchmarkError(f"the method '{name}' is named more than once: name each method once (--methods)")
        if name == _DEFAULT:
            methods.append(evaluation.model_method(name, recipe.settings))
        elif name in METHODS:
            methods.append(evaluation.model_method(name, recipe.with_settings(method=name).settings))
        elif name.removesuffix(_CORE) in METHODS:
            from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

            settings = {**FULL_BATCH, "method": name.removesuffix(_CORE), "likelihood": recipe.settings.likelihood}
            methods.append(evaluation.estimator_method(name, NIMGPClassifier(**settings, random_state=seed)))
        elif evaluation.is_baseline(name):
            method = evaluation.baseline_method(name, seed)
            if method.variant and not open_world and not name.endswith("+unc"):
                raise BenchmarkError(f"the method '{name}' is for --open: leave out '{method.variant}' (--methods)")
            methods.append(method)
        else:
            known = ", ".join((_DEFAULT, *METHODS, *available))
            raise BenchmarkError(f"the method '{name}' is unknown: choose among {known} (--methods)")
    if baselines:
        with_errors = [*available, *(f"{name}+unc" for name in available)]
        all_of_them = evaluation.open_baselines() if open_world else with_errors
        methods += evaluation.baseline_methods([name for name in all_of_them if name not in chosen], seed=seed)
    return methods
