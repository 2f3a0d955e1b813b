"""``fermiclass evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fermiclass.catalog import read_catalog
from fermiclass.cli.options import (
    FILE,
    bring_in,
    catalog_argument,
    common_options,
    feature_options,
    join_option,
    labels_option,
    names,
    seed_option,
    setting_option,
)
from fermiclass.errors import BenchmarkError
from fermiclass.features import DEFAULT_FEATURE_SET
from fermiclass.io.files import check_figure_place, check_place, write_figure, write_json
from fermiclass.labelling.retraining import JOINED
from fermiclass.nimgp.names import FULL_BATCH, METHODS
from fermiclass.show.terminal import load_tensorflow, stages

if TYPE_CHECKING:
    from fermiclass.evaluation import Method

_DEFAULT = "default"


def _later(about: str, name: str, *flags: str) -> Any:
    return click.option(*flags, name, type=FILE, metavar="LATER", help=about)


@click.command()
@catalog_argument
@_later(
    "Score unassociated sources by any class that a later release gives them: AGN, pulsar or other.",
    "open_world",
    "--open",
)
@_later("Score sources without a class that have one of the model's classes in a later release.", "future", "--future")
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
@join_option
@labels_option
@feature_options
@click.option(
    "--methods",
    default=_DEFAULT,
    show_default=True,
    metavar="a,b",
    help=f"'{_DEFAULT}', the model of classify with its classes and class priors; {', '.join(METHODS)}; or baselines "
    f"by name, also with +unc: with the error bars as features. With --open a named method is '{_DEFAULT}' with that "
    "treatment of the error bars; else it maximises the evidence lower bound, and learns from sources of one class.",
)
@setting_option("likelihood", help="Likelihood of the methods that are named.")
@click.option(
    "--baselines",
    is_flag=True,
    help="Add all baselines: other classifiers, mostly of scikit-learn. With --open each learns from two sets of "
    "features in three trainings; else each is there with +unc, too.",
)
@seed_option
@click.option("--json", "json_file", type=FILE, help="Write the results to this file.")
@click.option("--plot", type=FILE, help="Figure of the results: .png, .pdf or .svg.")
@common_options
def evaluate(
    catalog: Path,
    open_world: Path | None,
    future: Path | None,
    faint: float | None,
    folds: int | None,
    targets: str,
    cells: str,
    joined: tuple[Path, ...],
    own_labels: Path | None,
    methods: str,
    likelihood: str | None,
    baselines: bool,
    seed: int,
    json_file: Path | None,
    plot: Path | None,
    quiet: bool,
    features: str | None,
    classes: str | None,
    min_significance: float | None,
) -> None:
    """Measure how far the probabilities can be trusted, across releases or within one.

    \b
    Example:
      fermiclass evaluate 4FGL-DR1.fits --open 4FGL-DR4.fits --baselines
      fermiclass evaluate 4FGL-DR1.fits --open 4FGL-DR4.fits --targets bcu
      fermiclass evaluate 4FGL-DR1.fits --future 4FGL-DR4.fits
      fermiclass evaluate 4FGL-DR1.fits --faint 0.5 --methods nimgp,mgp,forest --plot results.pdf
      fermiclass evaluate 4FGL-DR4.fits --folds 5 --json results.json
    """  # noqa: D301
    from fermiclass import evaluation
    from fermiclass.plots.evaluation import evaluation_figure
    from fermiclass.show.evaluation import print_evaluation

    if sum(way is not None for way in (open_world, future, faint, folds)) > 1:
        raise click.UsageError("--open, --future, --faint and --folds cannot be combined: give one of them")
    if (cells, targets) != ("all", "unassociated") and open_world is None:
        raise click.UsageError("--cells and --targets are for --open: give it a later release")
    later = open_world or future
    if json_file is not None:
        check_place(json_file, catalog, later, *joined, own_labels)
    if plot is not None:
        check_figure_place(plot, catalog, later, *joined, own_labels)
    what: dict[str, Any] = {
        "features": features or DEFAULT_FEATURE_SET,
        "classes": classes,
        "min_significance": min_significance,
    }
    earlier = bring_in(read_catalog(catalog), joined, own_labels)
    if open_world is not None:
        scored = evaluation.open_world(earlier, read_catalog(open_world), targets=targets, cells=cells, **what)
    elif future is not None:
        scored = evaluation.later_release(earlier, read_catalog(future), **what)
    elif faint is not None:
        scored = evaluation.bright_to_faint(earlier, faint, **what)
    else:
        scored = evaluation.folds(earlier, folds or 10, seed=seed, **what)
    chosen = names(methods)
    if not set(chosen).isdisjoint((_DEFAULT, *METHODS)):
        load_tensorflow(quiet=quiet)
    picked = _methods(chosen, likelihood, open_world is not None, baselines, seed)
    with stages("methods", quiet=quiet) as progress:
        result = evaluation.evaluate(scored, picked, progress=lambda name, done, total: progress(done, total, name))
    if json_file is not None:
        files = [path.name for path in (*joined, own_labels) if path is not None]
        write_json(json_file, result.to_dict() | ({JOINED: files} if files else {}))
    if plot is not None:
        write_figure(plot, evaluation_figure(result))
    if not quiet:
        print_evaluation(result)


def _methods(chosen: list[str], likelihood: str | None, open_world: bool, baselines: bool, seed: int) -> list[Method]:
    from fermiclass import evaluation

    given: dict[str, Any] = {"likelihood": likelihood} if likelihood else {}
    methods = []
    available = evaluation.available_baselines()
    for name in chosen:
        if chosen.count(name) > 1:
            raise BenchmarkError(f"the method '{name}' is named more than once: name each method once (--methods)")
        if name == _DEFAULT:
            methods.append(evaluation.default_method(seed=seed, **given))
        elif name in METHODS and open_world:
            methods.append(evaluation.default_method(name, seed=seed, method=name, **given))
        elif name in METHODS:
            from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

            methods.append(
                evaluation.estimator_method(
                    name, NIMGPClassifier(**{**FULL_BATCH, "method": name}, random_state=seed, **given)
                )
            )
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
