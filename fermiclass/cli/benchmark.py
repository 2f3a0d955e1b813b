"""``fermiclass benchmark``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.core import ParameterSource

from fermiclass.benchmarks.registry import STUDIES, TABLES, Source
from fermiclass.cli.group import INTERRUPTED
from fermiclass.cli.options import common_options, kernel_option, seed_option
from fermiclass.nimgp.names import LIKELIHOODS
from fermiclass.show.terminal import load_tensorflow, progress_bar

if TYPE_CHECKING:
    from fermiclass.benchmarks.executors import Executor
    from fermiclass.benchmarks.methods import MethodOptions
    from fermiclass.benchmarks.problem import Benchmark

# Parameters that every benchmark has.
_GENERAL = {"name", "json_file", "quiet", "verbose", "log", "debug"}
#: Modules of the regression benchmarks that save their results piece by piece.
_REGRESSIONS = {
    "noisy-regression": "fermiclass.benchmarks.noisy_regression",
    "lp-index": "fermiclass.benchmarks.lp_index",
    "cartpole": "fermiclass.benchmarks.cartpole",
}
# Parameters that do not change the results: places of files and of the work.
_NO_SETTING = {"json_file", "plot", "quiet", "data", "results", "workers", "dask"}


@click.command()
@click.argument("name", type=click.Choice([*TABLES, *STUDIES]))
@click.option(
    "--methods",
    default="default",
    show_default=True,
    metavar="a,b",
    help="Methods: mgp, nimgp, nimgp-nn, nimgp-fo, mgp-aug, mgp-sampling (as in the paper); default (with which "
    "classify labels); classifier (NIMGPClassifier without settings); default:nimgp-nn, classifier:nimgp-nn and so on "
    "(the same with another treatment of input noise); rmgpc and smgpc (expectation propagation, "
    "robust to wrong labels or not); baselines such as logistic. All our methods except rmgpc and smgpc accept a "
    f"likelihood after @, such as mgp@probit: {', '.join(LIKELIHOODS)}, or step-fixed, probit-fixed, logit-fixed "
    "(label noise of 0.001, not learned). A likelihood can end in -robust (learns the fraction of wrong labels) or "
    "-predictive (trained by log E p(y|f), not by the bound), such as softmax-robust.",
)
@click.option("--datasets", metavar="a,b", help="Data sets of the benchmark.")
@click.option(
    "--noise",
    multiple=True,
    metavar="V",
    help="Variance of the noise that is added to the inputs; in rmgpc, fraction of labels that are drawn again.",
)
@click.option("--splits", type=click.IntRange(min=1), metavar="N", help="Number of splits. [default: all]")
@click.option("--paper", is_flag=True, help="Use the optimiser of the paper too; slower.")
@click.option("--likelihood", type=click.Choice(LIKELIHOODS), help="Likelihood of our methods without an @.")
@kernel_option
@click.option("--steps", type=click.IntRange(min=1), metavar="N", help="Number of training steps of our methods.")
@click.option(
    "--noise-model",
    type=click.Choice(["given", "learned"]),
    help="Whether our methods get the variance of the noise or learn it. [default: as in the paper]",
)
@seed_option
@click.option(
    "--data", type=click.Path(path_type=Path), default=".", metavar="DIR", help="Folder with astro454/, uci/ and so on."
)
@click.option("--openml", is_flag=True, help="Download data sets that are not in DIR from OpenML.")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Save the results in FILE, split by split. The same command continues where it was stopped.",
)
@click.option(
    "--per-round",
    type=click.IntRange(min=1, max=100),
    metavar="K",
    help="Number of rows that are labelled before the next training, in the benchmark 'active'. [default: 1]",
)
@click.option("--plot", type=click.Path(path_type=Path), help="Figure of toy, active or cartpole: .png, .pdf or .svg.")
@click.option(
    "--block",
    type=click.IntRange(min=1),
    default=25,
    show_default=True,
    help="Number of splits that are trained together; always 1 in gpc and flights.",
)
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Number of processes.")
@click.option("--dask", metavar="ADDRESS", help="Run on the workers of this Dask scheduler.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), metavar="FILE", help="Write the results to FILE.")
@common_options
def benchmark(name: str, json_file: Path | None, quiet: bool, **options: Any) -> None:
    """Measure methods on known data, and compare the results with published ones.

    Most benchmarks classify. sincsig, cartpole, noisy-regression (counts, and numbers with outliers) and lp-index are
    regressions with uncertain inputs. outliers finds wrong labels of the catalogues. timing (few sources) and scale
    (more rows than fit into memory) measure the time of training and prediction. For lp-index and outliers DIR is the
    folder of the catalogues.

    \b
    Example:
      fermiclass benchmark astro454 --data DIR --methods mgp,nimgp,default,logistic --splits 20
      fermiclass benchmark astro454 --data DIR --datasets six,four --paper
      fermiclass benchmark uci --data DIR --datasets glass,wine --noise 0.25 --workers 2 --results uci.jsonl
      fermiclass benchmark gpc --datasets letter,ring --methods mgp@step,mgp@softmax-bound,forest --results gpc.jsonl
      fermiclass benchmark gpc --datasets ring --methods mgp@softmax,svm --kernel se+polynomial --steps 3000
      fermiclass benchmark rmgpc --data DIR --datasets wine --noise 0.1 --methods rmgpc,smgpc,svm --splits 20
      fermiclass benchmark timing
      fermiclass benchmark scale
      fermiclass benchmark sincsig
      fermiclass benchmark lp-index --data catalogs
      fermiclass benchmark outliers --data catalogs --splits 10
    """  # noqa: D301
    from fermiclass.benchmarks.environment import PACKAGES, machine
    from fermiclass.io.files import check_place, write_json
    from fermiclass.io.versions import versions

    if json_file is not None:
        check_place(json_file, options["results"])
    head = {"command": _settings_given(), "versions": versions(PACKAGES), "machine": machine()}
    results = (_table if name in TABLES else _study)(name, head=head, quiet=quiet, **options)
    if json_file is not None:
        write_json(json_file, results | head)
    if not quiet:
        _print(results)


def _table(
    name: str,
    *,
    head: dict[str, Any],
    quiet: bool,
    methods: str,
    datasets: str | None,
    noise: tuple[str, ...],
    splits: int | None,
    data: Path,
    openml: bool,
    results: Path | None,
    block: int,
    workers: int,
    dask: str | None,
    per_round: int | None,
    plot: Path | None,
    **options: Any,
) -> dict[str, Any]:
    from fermiclass.benchmarks.methods import MethodOptions, is_own, parse_methods
    from fermiclass.benchmarks.records import RecordFile
    from fermiclass.benchmarks.runner import run
    from fermiclass.benchmarks.selection import choose_cells, choose_splits
    from fermiclass.benchmarks.summary import summarise
    from fermiclass.io.files import check_figure_place, write_figure

    if dask is not None and workers > 1:
        raise click.UsageError("--workers and --dask cannot be combined: give one of them")
    # The workers of Dask have other working folders, so the path must be complete.
    chosen = TABLES[name](Source(data if dask is None else data.resolve(), openml, per_round or 1))
    if per_round is not None and not hasattr(chosen, "per_round"):
        raise click.UsageError(f"the benchmark '{name}' labels no rows: leave out --per-round")
    draw = getattr(chosen, "figure", None)
    if plot is not None and draw is None:
        raise click.UsageError(f"the benchmark '{name}' has no figure: leave out --plot")
    if plot is not None:
        check_figure_place(plot)
    cells, num_splits = choose_cells(chosen, datasets, noise), choose_splits(chosen, splits)
    for cell in cells:
        chosen.problem(cell, 0)  # reports unreadable data before any work
    names = parse_methods(methods)
    file = None if results is None else RecordFile(results, {"benchmark": name, **head})
    tensorflow = any(is_own(method) for method in names)
    if tensorflow and workers == 1 and dask is None:
        load_tensorflow(quiet=quiet)
    estimators = _estimators(chosen, cells, names, MethodOptions(**options))
    try:
        with progress_bar("splits", quiet=quiet) as progress:
            records = run(
                chosen,
                estimators,
                num_splits=num_splits,
                block_size=min(block, getattr(chosen, "largest_block", block)),
                execute=_executor(workers, dask, tensorflow),
                file=file,
                progress=progress,
            )
    except KeyboardInterrupt:
        _end_interrupted(file)
    if plot is not None and draw is not None:
        write_figure(plot, draw(estimators, records))
    return summarise(chosen, records, num_splits)


def _estimators(
    benchmark: Benchmark, cells: Sequence[str], methods: Sequence[str], options: MethodOptions
) -> dict[tuple[str, str], Any]:
    """Return an unfitted estimator for each cell of the benchmark and each method."""
    from fermiclass.benchmarks.methods import make_estimator

    return {
        (cell, method): make_estimator(
            method, benchmark.settings(cell), options, fast=_fast(benchmark, cell, method, options.likelihood)
        )
        for cell in cells
        for method in methods
    }


def _fast(benchmark: Benchmark, cell: str, method: str, likelihood: str | None) -> Mapping[str, Any] | None:
    """Return the settings that replace the optimiser of the paper for a cell and a method."""
    fast = getattr(benchmark, "fast", None)
    if not callable(fast):
        return fast
    return fast(cell, method if "@" in method or likelihood is None else f"{method}@{likelihood}")


def _executor(workers: int, dask: str | None, tensorflow: bool) -> Executor:
    from fermiclass.benchmarks import executors

    if dask is not None:
        return executors.dask(dask)
    return executors.here if workers == 1 else executors.processes(workers, tensorflow=tensorflow)


def _study(name: str, *, head: dict[str, Any], quiet: bool, **options: Any) -> dict[str, Any]:
    context = click.get_current_context()
    given = [
        option.opts[0]
        for option in context.command.params
        if option.name not in _GENERAL and context.get_parameter_source(str(option.name)) != ParameterSource.DEFAULT
    ]
    unknown = [option for option in given if option not in STUDIES[name]]
    if unknown:
        raise click.UsageError(f"the benchmark '{name}' has no option {', '.join(unknown)}: leave it out")
    if name in _REGRESSIONS:
        return _regression(name, head=head, quiet=quiet, **options)
    if name == "scale":  # its processes load TensorFlow
        from fermiclass.benchmarks import scale

        with progress_bar("processes", quiet=quiet) as progress:
            return scale.run(progress=progress)
    load_tensorflow(quiet=quiet)
    if name == "sincsig":
        from fermiclass.benchmarks import sincsig

        with progress_bar("training sets", quiet=quiet) as progress:
            return sincsig.run(progress=progress)
    if name == "outliers":
        from fermiclass.benchmarks import suspects

        with progress_bar("rankings", quiet=quiet) as progress:
            return suspects.run(options["data"], seeds=options["splits"] or 10, progress=progress)
    from fermiclass.benchmarks import timing

    with progress_bar("repetitions", quiet=quiet) as progress:
        return timing.run(progress=progress)


def _regression(
    name: str,
    *,
    head: dict[str, Any],
    quiet: bool,
    splits: int | None,
    datasets: str | None,
    data: Path,
    results: Path | None,
    plot: Path | None,
    **options: Any,
) -> dict[str, Any]:
    from fermiclass.benchmarks.records import RecordFile
    from fermiclass.benchmarks.selection import choose_names
    from fermiclass.io.files import check_figure_place, write_figure

    module = import_module(_REGRESSIONS[name])
    chosen: dict[str, Any] = {"folder": data} if "--data" in STUDIES[name] else {}
    if splits is not None:
        chosen["num_sets"] = splits
    if datasets is not None:
        chosen["problems"] = choose_names(name, datasets, list(module.PROBLEMS))
    if plot is not None:
        check_figure_place(plot)
    file = None
    if results is not None:
        file = RecordFile(results, {"benchmark": name, **head}, needed=module.NEEDED)
        file.load()  # reports a wrong file before any work
    load_tensorflow(quiet=quiet)
    try:
        with progress_bar("trainings", quiet=quiet) as progress:
            found: dict[str, Any] = module.run(file=file, progress=progress, **chosen)
    except KeyboardInterrupt:
        _end_interrupted(file)
    if plot is not None:
        write_figure(plot, module.figure(found))
    return found


def _end_interrupted(file: object) -> NoReturn:
    """End after an interruption; if results are saved, say that the command can be continued."""
    if file is None:
        raise KeyboardInterrupt
    click.echo("fermiclass: interrupted; the same command continues from here", err=True)
    sys.exit(INTERRUPTED)


def _settings_given() -> dict[str, Any]:
    """Return the options that change the results, by their names on the command line."""
    context = click.get_current_context()
    kept = {p.opts[-1].lstrip("-"): context.params[p.name] for p in context.command.params if p.name in context.params}
    dropped = {p.opts[-1].lstrip("-") for p in context.command.params if p.name in _NO_SETTING}
    return {name: v for name, v in kept.items() if name not in dropped and not (v is None or v is False or v == ())}


def _print(results: dict[str, Any]) -> None:
    from fermiclass.benchmarks.scale import print_scale
    from fermiclass.benchmarks.sincsig import print_sincsig
    from fermiclass.benchmarks.suspects import print_suspects
    from fermiclass.benchmarks.tables import print_benchmark
    from fermiclass.benchmarks.timing import print_timing

    name = results["benchmark"]
    if name in _REGRESSIONS:
        import_module(_REGRESSIONS[name]).print_results(results)
        return
    own = {"timing": print_timing, "scale": print_scale, "sincsig": print_sincsig, "outliers": print_suspects}
    own.get(name, print_benchmark)(results)
