"""``fermiclass evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from fermiclass.cli.options import catalog_argument, class_options, common_options, seed_option, setting_option
from fermiclass.nimgp.names import METHODS
from fermiclass.show.terminal import load_tensorflow, stages

if TYPE_CHECKING:
    from fermiclass.catalog import Catalog
    from fermiclass.evaluation import EstimatorMethod, NoveltyResult

_TEMPERATURE = "+temperature"

# Options that have no effect with --ood, which has its own folds and trains no method.
_NOT_WITH_OOD = ("future", "cells", "folds", "faint", "methods", "likelihood", "baselines", "all_rows", "plot")


@click.command()
@catalog_argument
@click.option(
    "--future", type=click.Path(path_type=Path), metavar="LATER", help="Score by the classes of a later release."
)
@click.option(
    "--open",
    "open_world",
    type=click.Path(path_type=Path),
    metavar="LATER",
    help="Score unassociated sources by any class that a later release gives them: AGN, pulsar or other.",
)
@click.option(
    "--cells",
    type=click.Choice(["all", "even", "odd"]),
    default="all",
    show_default=True,
    help="With --open: score the whole sky, or the even or odd cells of a chessboard of 15 degrees.",
)
@click.option(
    "--folds", type=click.IntRange(min=2), metavar="K", help="Score by K-fold cross-validation. [default: 10]"
)
@click.option(
    "--faint",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    metavar="F",
    help="Score the faintest fraction F of each class; train on the other sources.",
)
@click.option(
    "--ood",
    is_flag=True,
    help="Test the out-of-distribution score: is it higher for classes without training sources? By default, these are "
    "all classes except bll, fsrq and psr.",
)
@click.option(
    "--features",
    multiple=True,
    metavar="SET|a,b",
    help="Features: galactic (default), extended, six, paper, or names of features and numeric columns. "
    "Repeat the option to compare feature sets on the same sources.",
)
@class_options
@click.option(
    "--methods",
    default="nimgp",
    metavar="a,b",
    help=f"Methods: {', '.join(METHODS)}, and baselines by name. A method can end in +temperature, such as "
    "nimgp+temperature: then held-out sources set the sharpness of its probabilities, with six trainings. [default: "
    "nimgp; with --open the model of 'classify']",
)
@setting_option("likelihood", default="softmax")
@click.option(
    "--peers", "baselines", is_flag=True, help="Add the baselines: other classifiers, mostly of scikit-learn."
)
@click.option("--all", "all_rows", is_flag=True, help="Show all baselines, not only the best three of each group.")
@seed_option
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the results to this file.")
@click.option("--plot", type=click.Path(path_type=Path), help="Figure of reliability diagrams: .png, .pdf or .svg.")
@common_options
def evaluate(
    catalog: Path,
    future: Path | None,
    open_world: Path | None,
    cells: str,
    folds: int | None,
    faint: float | None,
    ood: bool,
    methods: str,
    likelihood: str,
    baselines: bool,
    all_rows: bool,
    seed: int,
    json_file: Path | None,
    plot: Path | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Measure how reliable the probabilities are, across releases or within one; with --ood, test OOD_SCORE.

    \b
    Example:
      fermiclass evaluate 4FGL-DR1.fits --future 4FGL-DR4.fits --peers
      fermiclass evaluate 4FGL-DR4.fits --folds 5 --methods mgp,nimgp+temperature
      fermiclass evaluate 4FGL-DR4.fits --features six --features extended
      fermiclass evaluate 4FGL-DR1.fits --faint 0.5 --plot calibration.png
      fermiclass evaluate 4FGL-DR1.fits --ood
      fermiclass evaluate 4FGL-DR1.fits --open 4FGL-DR4.fits --peers
    """  # noqa: D301
    from fermiclass import evaluation
    from fermiclass.catalog import DEFAULT_CLASSES, THREE_CLASSES, read_catalog
    from fermiclass.features import DEFAULT_FEATURE_SET
    from fermiclass.io.files import check_figure_place, check_place, write_figure, write_json
    from fermiclass.plots.evaluation import reliability_figure
    from fermiclass.show.evaluation import print_evaluation

    if open_world is not None:
        chosen = {"seed": seed, "json_file": json_file, "plot": plot, "quiet": quiet, **options}
        _evaluate_open(catalog, open_world, cells, methods, baselines, **chosen)
        return
    if cells != "all":
        raise click.UsageError("--cells is for --open: give it a later release")
    if ood:
        _refuse_beside(_NOT_WITH_OOD, "--ood trains no method and has its own protocol")
    if sum(way is not None for way in (future, folds, faint)) > 1:
        raise click.UsageError("--future, --folds and --faint cannot be combined: give one of them")
    if json_file is not None:
        check_place(json_file, catalog, future)
    if plot is not None:
        check_figure_place(plot, catalog, future)
    options |= {
        "seed": seed,
        "features": options["features"] or (DEFAULT_FEATURE_SET,),
        "classes": options["classes"] or (THREE_CLASSES if ood else DEFAULT_CLASSES),
    }
    earlier = read_catalog(catalog)
    if ood:
        _evaluate_ood(earlier, json_file, quiet, **options)
        return
    later = None if future is None else read_catalog(future)
    picked = _methods(methods, likelihood, baselines, seed)
    if not all(method.is_baseline for method in picked):
        load_tensorflow(quiet=quiet)
    with stages("methods", quiet=quiet) as progress:

        def advance(name: str, done: int, total: int) -> None:
            progress(done, total, name)

        if later is not None:
            result = evaluation.evaluate_future(earlier, later, picked, progress=advance, **options)
        elif faint is not None:
            result = evaluation.evaluate_faint(earlier, picked, fraction=faint, progress=advance, **options)
        else:
            result = evaluation.evaluate_folds(earlier, picked, folds=folds or 10, progress=advance, **options)
    if json_file is not None:
        write_json(json_file, {"likelihood": likelihood, **result.to_dict()})
    if plot is not None:
        write_figure(plot, reliability_figure(result))
    if not quiet:
        print_evaluation(result, all_rows=all_rows)


def _evaluate_open(
    catalog: Path,
    later: Path,
    cells: str,
    methods: str,
    baselines: bool,
    *,
    seed: int,
    json_file: Path | None,
    plot: Path | None,
    quiet: bool,
    features: tuple[str, ...],
    classes: str | None,
    min_significance: float | None,
) -> None:
    from fermiclass.catalog import DEFAULT_CLASSES, read_catalog
    from fermiclass.evaluation.baselines import available_baselines
    from fermiclass.evaluation.open_methods import evaluate_open
    from fermiclass.features import DEFAULT_FEATURE_SET
    from fermiclass.io.files import check_figure_place, check_place, write_figure, write_json
    from fermiclass.labelling.training import default_estimator
    from fermiclass.plots.open_world import open_world_figure
    from fermiclass.show.open_world import print_open

    not_with_open = ("future", "folds", "faint", "ood", "likelihood", "all_rows")
    _refuse_beside(not_with_open, "--open trains what classify would use, and has its own protocol")
    if len(features) > 1:
        raise click.UsageError("--open takes one set of features: give --features once")
    if json_file is not None:
        check_place(json_file, catalog, later)
    if plot is not None:
        check_figure_place(plot, catalog, later)
    earlier, future = read_catalog(catalog), read_catalog(later)
    load_tensorflow(quiet=quiet)
    given = click.get_current_context().get_parameter_source("methods") is not ParameterSource.DEFAULT
    own = [name.strip() for name in methods.split(",")] if given else []
    unknown = [name for name in own if name not in METHODS]
    if unknown:
        raise click.UsageError(f"--open knows the methods {', '.join(METHODS)}, not {', '.join(unknown)}")
    with stages("methods", quiet=quiet) as progress:
        result = evaluate_open(
            earlier,
            future,
            estimators={name: default_estimator(method=name, random_state=seed) for name in own} or None,
            baselines=available_baselines() if baselines else (),
            features=features[0] if features else DEFAULT_FEATURE_SET,
            classes=classes or DEFAULT_CLASSES,
            cells=cells,
            min_significance=min_significance,
            seed=seed,
            progress=lambda done, total: progress(done, total, ""),
        )
    if json_file is not None:
        write_json(json_file, result.to_dict())
    if plot is not None:
        write_figure(plot, open_world_figure(result))
    if not quiet:
        print_open(result)


def _refuse_beside(names: tuple[str, ...], why: str) -> None:
    """Refuse options that have no effect beside another one."""
    context = click.get_current_context()
    given = [
        option.opts[0]
        for option in context.command.params
        if option.name in names and context.get_parameter_source(option.name) is not ParameterSource.DEFAULT
    ]
    if given:
        raise click.UsageError(f"{why}: leave out {', '.join(given)}")


def _evaluate_ood(
    catalog: Catalog, json_file: Path | None, quiet: bool, *, features: tuple[str, ...], **options: Any
) -> None:
    from fermiclass.evaluation import evaluate_novelty, name_feature_sets
    from fermiclass.io.files import write_json
    from fermiclass.show.novelty import print_novelty

    sets = name_feature_sets(features)
    results: dict[str, NoveltyResult] = {}
    with stages("feature sets", quiet=quiet) as progress:
        for label, names in sets.items():
            progress(len(results), len(sets), "")
            results[label] = evaluate_novelty(catalog, features=names, **options)
    if json_file is not None:
        layouts = {label: result.to_dict() for label, result in results.items()}
        write_json(json_file, layouts if len(sets) > 1 else layouts.popitem()[1])
    if not quiet:
        for k, (label, result) in enumerate(results.items()):
            if k:
                click.echo()
            print_novelty(result, feature_set=sets[label] if len(sets) > 1 else None)


def _methods(names: str, likelihood: str, baselines: bool, seed: int) -> list[Any]:
    from fermiclass.errors import BenchmarkError
    from fermiclass.evaluation import available_baselines, baseline_method, baseline_methods

    chosen = [part.strip() for part in names.split(",")]
    methods = []
    for name in chosen:
        if chosen.count(name) > 1:
            raise BenchmarkError(f"the method '{name}' is named more than once: name each method once (--methods)")
        if name.removesuffix(_TEMPERATURE) in METHODS:
            methods.append(_own_method(name, likelihood, seed))
        elif name.removesuffix("+unc") in available_baselines():
            methods.append(baseline_method(name, seed))
        else:
            known = ", ".join((*METHODS, *available_baselines()))
            raise BenchmarkError(f"the method '{name}' is unknown: choose among {known} (--methods)")
    if baselines:
        methods += [m for m in baseline_methods(seed=seed, uncertainties=True) if m.name not in chosen]
    return methods


def _own_method(name: str, likelihood: str, seed: int) -> EstimatorMethod:
    from fermiclass.errors import BenchmarkError
    from fermiclass.evaluation import EstimatorMethod
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

    method = name.removesuffix(_TEMPERATURE)
    if method == name:
        return EstimatorMethod(name, NIMGPClassifier(method, likelihood=likelihood, random_state=seed))
    if likelihood == "step":
        raise BenchmarkError(
            f"'{name}' is not possible with the likelihood {likelihood}, which a temperature does not change: give "
            f"--likelihood softmax, or --methods {method}"
        )
    estimator = NIMGPClassifier(method, likelihood=likelihood, temperature="folds", random_state=seed)
    return EstimatorMethod(name, estimator)
