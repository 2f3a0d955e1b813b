"""``fermiclass benchmark``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from fermiclass.cli.options import FILE, names, seed_option
from fermiclass.io.files import check_figure_place, check_place, os_errors_as_output_errors, write_figure, write_json
from fermiclass.io.plain import versions
from fermiclass.nimgp.names import KERNELS, LIKELIHOODS
from fermiclass.show.terminal import progress_bar, say
from fermiclass_benchmarks import BENCHMARKS, PAPERS, make_benchmark

_CONTINUES = "the same command continues from here"

ALL = "all"  #: The name for all tables of the paper.
_OF_WORK = {"name", "results", "workers", "quiet", "verbose", "log", "debug"}
_OF_ALL = _OF_WORK | {"papers", "quick", "data", "openml", "seed"}
# Options that every benchmark has. A benchmark declares the others.
_COMMON = _OF_WORK | {"methods", "datasets", "splits", "json_file"}
_NO_SETTING = _OF_WORK | {"json_file", "plot", "data"}  # do not change the results


def _kernel(text: str) -> str:
    if not set(text.split("+")) <= set(KERNELS):
        raise click.BadParameter(f"'{text}' is not a sum of some of {', '.join(KERNELS)}.")
    return text


@click.command()
@click.argument("name", type=click.Choice([*BENCHMARKS, ALL]))
@click.option(
    "--methods",
    metavar="a,b",
    help="Methods: mgp, nimgp, nimgp-nn, nimgp-fo, mgp-aug, mgp-sampling (as in the paper); default (with which "
    "classify labels); classifier (nimgp, softmax, all rows a step); default:nimgp-nn, classifier:nimgp-nn and so on "
    "(the same with another treatment of input noise); rmgpc and smgpc (expectation propagation, robust to wrong "
    "labels or not); baselines such as logistic. All our methods except rmgpc and smgpc accept a likelihood after @, "
    f"such as mgp@probit: {', '.join(LIKELIHOODS)}, or step-fixed, probit-fixed, logit-fixed (label noise of 0.001, "
    "not learned). A likelihood can end in -robust (learns the fraction of wrong labels) or -predictive (trained by "
    "log E p(y|f), not by the bound), such as softmax-robust. nimgp@authors starts q(x) as the authors' code does, and "
    "nimgp-fo@fixed keeps V at 0.1 and learns none, @fixed-0.25 and @fixed-0.5 at another. "
    "[default: those of the paper's table]",
)
@click.option("--datasets", metavar="a,b", help="Data sets of the benchmark.")
@click.option(
    "--noise",
    multiple=True,
    metavar="V",
    help="Variance of the noise that is added to the inputs; in rmgpc, fraction of labels that are drawn again.",
)
@click.option("--splits", type=click.IntRange(min=1), metavar="N", help="Number of splits. [default: all]")
@click.option(
    "--paper/--fast",
    default=None,
    help="The optimiser of the paper, slower, or ours: fewer and larger steps, with which methods may have another "
    "order. [default: the paper's for astro454, ours for all others]",
)
@click.option(
    "--kernel",
    metavar="a+b",
    type=_kernel,
    help=f"Kernel of our methods, a sum of some of {', '.join(KERNELS)}. [default: as in the paper or in classify]",
)
@click.option("--steps", type=click.IntRange(min=1), metavar="N", help="Number of training steps of our methods.")
@seed_option
@click.option("--data", type=FILE, default=".", metavar="DIR", help="Folder with astro454/, uci/ and so on.")
@click.option("--openml", is_flag=True, help="Download data sets that are not in DIR from OpenML.")
@click.option(
    "--results",
    type=FILE,
    metavar="FILE",
    help="Save results in FILE (for all: a folder), split by split. The same command continues where it was stopped.",
)
@click.option("--papers", type=click.Choice([*PAPERS]), default="main", show_default=True, help="For all: the paper.")
@click.option("--quick", is_flag=True, help="For all: one split, our optimiser, and no slow tables.")
@click.option(
    "--per-round",
    type=click.IntRange(min=1, max=100),
    default=1,
    show_default=True,
    metavar="K",
    help="Number of rows that are labelled before the next training.",
)
@click.option("--plot", type=FILE, help="Figure of the results: .png, .pdf or .svg.")
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Number of processes.")
@click.option("--json", "json_file", type=FILE, metavar="FILE", help="Write the results to FILE.")
def benchmark(name: str, json_file: Path | None, **options: Any) -> None:
    """Measure methods on known data, and compare the results with published ones.

    Most benchmarks classify; sincsig and cartpole are regressions with uncertain inputs. Each has some of the options
    below, and says so if it lacks one.

    \b
    Example:
      fermiclass benchmark astro454 --data DIR --methods mgp,nimgp,default,logistic --splits 20 --fast
      fermiclass benchmark astro454 --data DIR --datasets six,four
      fermiclass benchmark uci --data DIR --datasets glass,wine --noise 0.25 --workers 2 --results uci.jsonl
      fermiclass benchmark gpc --datasets letter,ring --methods mgp@step,mgp@softmax-bound,forest --results gpc.jsonl
      fermiclass benchmark rmgpc --data DIR --datasets wine --noise 0.1 --methods rmgpc,smgpc,svm --splits 20
      fermiclass benchmark cartpole --plot cartpole.png
      fermiclass benchmark all --data DIR --results FOLDER --quick
    """  # noqa: D301
    from fermiclass_benchmarks.harness import RecordFile, run
    from fermiclass_benchmarks.methods import METHOD_OPTIONS, MethodOptions
    from fermiclass_benchmarks.tables import print_results, summarise

    workers, plot, splits = (options[option] for option in ("workers", "plot", "splits"))
    if name == ALL:
        _fill_tables(options)
        return
    chosen = make_benchmark(name, **{option: options[option] for option in ("data", "openml", "per_round")})
    given = _given(name, {*chosen.options, *_COMMON})
    if splits is not None and splits > chosen.num_splits:
        raise click.UsageError(f"the benchmark '{name}' has {chosen.num_splits} splits, not {splits}: ask for fewer")
    for file in (json_file, plot):
        if file is not None:
            (check_place if file is json_file else check_figure_place)(file, options["results"])
    head = _head(name, given, options)
    records = None if options["results"] is None else RecordFile(options["results"], {"benchmark": name, **head})
    methods = names(options["methods"] or "") or chosen.methods
    if repeated := [method for method in methods if methods.count(method) > 1]:
        raise click.UsageError(f"the method '{repeated[0]}' is named more than once: name each once (--methods)")
    options["paper"] = chosen.paper_first if options["paper"] is None else options["paper"]
    of_methods = MethodOptions(**{option: options[option] for option in METHOD_OPTIONS})
    cells = chosen.choose_cells(options["datasets"], options["noise"])
    estimators = {(cell, method): chosen.estimator(cell, method, of_methods) for cell in cells for method in methods}
    chosen.check_data(cells)
    try:
        with progress_bar("splits") as progress:
            found = run(
                chosen,
                estimators,
                splits or chosen.num_splits,
                workers=workers,
                file=records,
                progress=progress,
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt("" if records is None else _CONTINUES) from None
    if plot is not None:
        write_figure(plot, chosen.figure(estimators, found))
    results = summarise(chosen, found, splits or chosen.num_splits)
    if json_file is not None:
        write_json(json_file, results | head)
    print_results(chosen, results)


def _fill_tables(options: dict[str, Any]) -> None:
    from fermiclass_benchmarks.papers import run_tables
    from fermiclass_benchmarks.tables import print_results

    given, folder = _given(ALL, _OF_ALL), options["results"]
    if folder is None:
        raise click.UsageError("all tables need a folder: give --results")
    with os_errors_as_output_errors(folder):
        folder.mkdir(exist_ok=True)
    check_place(folder / "results.csv")
    head = _head(ALL, given, options)
    how = {option: options[option] for option in ("papers", "data", "openml", "seed", "quick", "workers")}
    try:
        with progress_bar("splits") as progress:
            for title, benchmark, results in run_tables(
                folder,
                head,
                progress=progress,
                leave_out=lambda error: click.echo(f"fermiclass: left out: {error}", err=True),
                **how,
            ):
                say(f"\n{title}\n", wrap=False)
                print_results(benchmark, results)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_CONTINUES) from None


def _head(name: str, given: Mapping[str, str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what says how results were made: the command, and versions."""
    from fermiclass_benchmarks.harness import PACKAGES

    values = {flag.lstrip("-"): options[parameter] for parameter, flag in given.items() if parameter not in _NO_SETTING}
    return {"command": {"name": name} | values, "versions": versions(PACKAGES)}


def _given(name: str, known: Collection[str]) -> dict[str, str]:
    """Return the parameters that the command line gives, and the names of their options."""
    context = click.get_current_context()
    given = {
        str(parameter.name): parameter.opts[-1]
        for parameter in context.command.params
        if context.get_parameter_source(str(parameter.name)) != ParameterSource.DEFAULT
        and parameter.name in context.params
    }
    unknown = [option for parameter, option in given.items() if parameter not in known]
    if unknown:
        raise click.UsageError(f"the benchmark '{name}' has no option {', '.join(unknown)}: leave it out")
    return given
