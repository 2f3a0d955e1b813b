"""How good it is: ``evaluate`` and ``benchmark``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fermiclass.commands.options import catalog_argument, common_options
from fermiclass.terminal import load_tensorflow, progress_bar

_OWN_METHODS = ("nimgp", "mgp")


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
@click.option(
    "--features",
    multiple=True,
    default=("six",),
    metavar="SET|a,b",
    help="Features: six (default), paper, extended, or names of features and numeric columns. "
    "Give it again for another set on the same sources.",
)
@click.option(
    "--classes",
    default="bll,fsrq,psr",
    metavar="a,b,c",
    help="Classes to learn, such as bll,fsrq,psr (default; psr includes msp) or agn=bll+fsrq,psr,other.",
)
@click.option("--min-significance", type=float, metavar="S", help="Use sources with Signif_Avg above S only.")
@click.option("--methods", default="nimgp", show_default=True, metavar="a,b", help="Of nimgp, mgp and peers by name.")
@click.option("--likelihood", type=click.Choice(["softmax", "step"]), default="softmax", show_default=True)
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
    """Measure how far the probabilities can be trusted, across releases or within one.

    \b
    Example:
      fermiclass evaluate 4FGL-DR1.fits --future 4FGL-DR4.fits --peers
      fermiclass evaluate 4FGL-DR4.fits --folds 5 --methods nimgp,mgp
      fermiclass evaluate 4FGL-DR1.fits --faint 0.5 --features six --features extended
    """  # noqa: D301
    from fermiclass import evaluation
    from fermiclass.catalog import read_catalog
    from fermiclass.files import check_figure_place, check_place, write_figure, write_json

    if sum(way is not None for way in (future, folds, faint)) > 1:
        raise click.UsageError("--future, --folds and --faint are different ways to score: give one of them")
    if json_file is not None:
        check_place(json_file)
    if plot is not None:
        check_figure_place(plot)
    options["seed"] = seed
    earlier = read_catalog(catalog)
    later = None if future is None else read_catalog(future)
    picked = _methods(methods, likelihood, peers, seed)
    if any(method.name in _OWN_METHODS for method in picked):
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
        write_json(json_file, result.to_dict())
    if plot is not None:
        write_figure(plot, evaluation.reliability_figure(result))
    if not quiet:
        evaluation.print_evaluation(result, all_rows=all_rows)


def _methods(names: str, likelihood: str, peers: bool, seed: int) -> list[Any]:
    from fermiclass.errors import BenchmarkError
    from fermiclass.estimators import NIMGPClassifier
    from fermiclass.evaluation import EstimatorMethod, available_peers, peer_method, peer_methods

    methods = []
    for name in [part.strip() for part in names.split(",")]:
        if name in _OWN_METHODS:
            methods.append(EstimatorMethod(name, NIMGPClassifier(name, likelihood=likelihood, random_state=seed)))
        elif name.removesuffix("+unc") in available_peers():
            methods.append(peer_method(name, seed))
        else:
            known = ", ".join((*_OWN_METHODS, *available_peers()))
            raise BenchmarkError(f"the method '{name}' is unknown: choose among {known} (--methods)")
    if peers:
        taken = {method.name for method in methods}
        methods += [m for m in peer_methods(seed=seed, uncertainties=True) if m.name not in taken]
    return methods


@click.command()
@click.argument("name", type=click.Choice(["astro454", "cost"]))
@click.option("--methods", default="default", metavar="a,b", help="Of mgp, nimgp; default: what classify would use.")
@click.option("--likelihood", type=click.Choice(["softmax", "step"]), default="softmax", show_default=True)
@click.option("--splits", type=click.IntRange(1, 100), default=100, show_default=True, help="How many of the splits.")
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="Folder that holds astro454/.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the results to a file, too.")
@common_options
def benchmark(
    name: str, methods: str, likelihood: str, splits: int, data: Path | None, json_file: Path | None, quiet: bool
) -> None:
    """Measure on known data: the main paper's 454 sources, or what steps and predictions cost.

    \b
    Example:
      fermiclass benchmark astro454 --data DIR --methods mgp,nimgp --splits 20
      fermiclass benchmark cost
    """  # noqa: D301
    from fermiclass.benchmarks import astro454, cost
    from fermiclass.files import check_place, write_json
    from fermiclass.summaries import print_benchmark

    if json_file is not None:
        check_place(json_file)
    if name == "cost":
        load_tensorflow(quiet=quiet)
        with progress_bar("repetitions", quiet=quiet) as progress:
            results = cost.run(progress=progress)
    else:
        loaded = astro454.load(data or Path())
        chosen = astro454.parse_methods(methods, likelihood)
        load_tensorflow(quiet=quiet)
        with progress_bar("splits", quiet=quiet) as progress:
            results = astro454.run(loaded, chosen(), num_splits=splits, progress=progress)
    if json_file is not None:
        write_json(json_file, results)
    if not quiet:
        print_benchmark(results)
