"""How good it is on a catalogue: ``evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from fermiclass.commands.options import catalog_argument, class_options, common_options
from fermiclass.nimgp.names import LIKELIHOODS, METHODS
from fermiclass.terminal import load_tensorflow, progress_bar

if TYPE_CHECKING:
    from fermiclass.catalog import Catalog
    from fermiclass.evaluation import EstimatorMethod, NoveltyResult

_TEMPERATURE = "+temperature"

# Options that mean nothing with --ood, which has folds of its own and trains no method.
_NOT_WITH_OOD = ("future", "folds", "faint", "methods", "likelihood", "peers", "all_rows", "plot")


@click.command()
@catalog_argument
@click.option("--future", type=click.Path(path_type=Path), metavar="LATER", help="Score by a later release.")
@click.option(
    "--folds", type=click.IntRange(min=2), metavar="K", help="Score by K-fold cross-validation. [default: 10]"
)
@click.option(
    "--faint",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    metavar="F",
    help="Score the faintest fraction F of each class, learning from the others.",
)
@click.option("--ood", is_flag=True, help="Score OOD_SCORE: is it higher for classes that were kept out of training?")
@click.option(
    "--features",
    multiple=True,
    metavar="SET|a,b",
    help="Features: extended (default), six, paper, or names of features and numeric columns. "
    "Give it again for another set on the same sources.",
)
@class_options
@click.option(
    "--methods",
    default="nimgp",
    show_default=True,
    metavar="a,b",
    help=f"Of {', '.join(METHODS)} (each also as nimgp+temperature: sharpness set on held-out sources, six trainings "
    "for one) and peers by name.",
)
@click.option("--likelihood", type=click.Choice(LIKELIHOODS), default="softmax", show_default=True)
@click.option("--peers", is_flag=True, help="Also what a user of scikit-learn would pick, on the same sources.")
@click.option("--all", "all_rows", is_flag=True, help="Show all peers, not the best three of each kind of many.")
@click.option("--seed", type=click.IntRange(min=0, max=2**32 - 1), default=0, show_default=True)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the results to a file, too.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw reliability diagrams: .png, .pdf or .svg.")
@common_options
def evaluate(
    catalog: Path,
    future: Path | None,
    folds: int | None,
    faint: float | None,
    ood: bool,
    methods: str,
    likelihood: str,
    peers: bool,
    all_rows: bool,
    seed: int,
    json_file: Path | None,
    plot: Path | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Measure how far the probabilities can be trusted, across releases or within one; with --ood, OOD_SCORE.

    \b
    Example:
      fermiclass evaluate 4FGL-DR1.fits --future 4FGL-DR4.fits --peers
      fermiclass evaluate 4FGL-DR4.fits --folds 5 --methods mgp,nimgp+temperature
      fermiclass evaluate 4FGL-DR4.fits --features six --features extended
      fermiclass evaluate 4FGL-DR1.fits --faint 0.5 --plot calibration.png
      fermiclass evaluate 4FGL-DR1.fits --ood
    """  # noqa: D301
    from fermiclass import evaluation
    from fermiclass.catalog import read_catalog
    from fermiclass.features import DEFAULT_FEATURE_SET
    from fermiclass.files import check_figure_place, check_place, write_figure, write_json
    from fermiclass.settings import PAPER_CLASSES

    if ood:
        _check_ood_options()
    if sum(way is not None for way in (future, folds, faint)) > 1:
        raise click.UsageError("--future, --folds and --faint are different ways to score: give one of them")
    if json_file is not None:
        check_place(json_file, catalog, future)
    if plot is not None:
        check_figure_place(plot, catalog, future)
    options |= {
        "seed": seed,
        "features": options["features"] or (DEFAULT_FEATURE_SET,),
        "classes": options["classes"] or PAPER_CLASSES,
    }
    earlier = read_catalog(catalog)
    if ood:
        _evaluate_ood(earlier, json_file, quiet, **options)
        return
    later = None if future is None else read_catalog(future)
    picked = _methods(methods, likelihood, peers, seed)
    if not all(method.is_peer for method in picked):
        load_tensorflow(quiet=quiet)
    with progress_bar("methods", quiet=quiet) as progress:

        def advance(name: str, done: int, total: int) -> None:
            progress(done, total)

        if later is not None:
            result = evaluation.evaluate_future(earlier, later, picked, progress=advance, **options)
        elif faint is not None:
            result = evaluation.evaluate_faint(earlier, picked, fraction=faint, progress=advance, **options)
        else:
            result = evaluation.evaluate_folds(earlier, picked, folds=folds or 10, progress=advance, **options)
    if json_file is not None:
        write_json(json_file, {"likelihood": likelihood, **result.to_dict()})
    if plot is not None:
        write_figure(plot, evaluation.reliability_figure(result))
    if not quiet:
        evaluation.print_evaluation(result, all_rows=all_rows)


def _check_ood_options() -> None:
    context = click.get_current_context()
    given = [
        option.opts[0]
        for option in context.command.params
        if option.name in _NOT_WITH_OOD and context.get_parameter_source(option.name) is not ParameterSource.DEFAULT
    ]
    if given:
        raise click.UsageError(f"--ood is a way to score of its own and trains no method: leave out {', '.join(given)}")


def _evaluate_ood(
    catalog: Catalog, json_file: Path | None, quiet: bool, *, features: tuple[str, ...], **options: Any
) -> None:
    from fermiclass.evaluation import evaluate_novelty, name_feature_sets, print_novelty
    from fermiclass.files import write_json

    sets = name_feature_sets(features)
    results: dict[str, NoveltyResult] = {}
    with progress_bar("feature sets", quiet=quiet) as progress:
        for label, names in sets.items():
            progress(len(results), len(sets))
            results[label] = evaluate_novelty(catalog, features=names, **options)
    if json_file is not None:
        layouts = {label: result.to_dict() for label, result in results.items()}
        write_json(json_file, layouts if len(sets) > 1 else layouts.popitem()[1])
    if not quiet:
        for k, (label, result) in enumerate(results.items()):
            if k:
                click.echo()
            print_novelty(result, feature_set=sets[label] if len(sets) > 1 else None)


def _methods(names: str, likelihood: str, peers: bool, seed: int) -> list[Any]:
    from fermiclass.errors import BenchmarkError
    from fermiclass.evaluation import available_peers, peer_method, peer_methods

    chosen = [part.strip() for part in names.split(",")]
    methods = []
    for name in chosen:
        if chosen.count(name) > 1:
            raise BenchmarkError(f"the method '{name}' is named more than once: name each once (--methods)")
        if name.removesuffix(_TEMPERATURE) in METHODS:
            methods.append(_own_method(name, likelihood, seed))
        elif name.removesuffix("+unc") in available_peers():
            methods.append(peer_method(name, seed))
        else:
            known = ", ".join((*METHODS, *available_peers()))
            raise BenchmarkError(f"the method '{name}' is unknown: choose among {known} (--methods)")
    if peers:
        methods += [m for m in peer_methods(seed=seed, uncertainties=True) if m.name not in chosen]
    return methods


def _own_method(name: str, likelihood: str, seed: int) -> EstimatorMethod:
    from fermiclass.errors import BenchmarkError
    from fermiclass.estimators import NIMGPClassifier
    from fermiclass.evaluation import EstimatorMethod

    method = name.removesuffix(_TEMPERATURE)
    if method == name:
        return EstimatorMethod(name, NIMGPClassifier(method, likelihood=likelihood, random_state=seed))
    if likelihood == "step":
        raise BenchmarkError(
            f"'{name}' needs a likelihood that a temperature changes, which {likelihood} is not: give "
            f"--likelihood softmax, or --methods {method}"
        )
    estimator = NIMGPClassifier(method, likelihood=likelihood, temperature="folds", random_state=seed)
    return EstimatorMethod(name, estimator)
