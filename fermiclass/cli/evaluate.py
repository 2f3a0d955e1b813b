"""``fermiclass evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fermiclass.catalog import read_catalog
from fermiclass.cli import options
from fermiclass.cli.app import SectionedCommand
from fermiclass.cli.options import BroughtIn, CandidateTables
from fermiclass.io.files import check_figure_place, check_place, write_figure, write_json
from fermiclass.labelling.recipe import Recipe
from fermiclass.nimgp.names import METHODS
from fermiclass.show.terminal import load_tensorflow, progress_bar

_DEFAULT, _CORE = "default", "@core"  # by_name imports scikit-learn


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
@options.counterparts_option
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
@options.recipe_options
@options.file_option("--json", "json_file", help="Write the results to this file.")
@options.file_option("--plot", help="Figure of the results: .png, .pdf or .svg.")
@options.with_recipe()
def evaluate(
    catalog: Path,
    open_world: Path | None,
    scored: str,
    brought: BroughtIn,
    candidates: CandidateTables,
    recipe: Recipe,
    methods: str,
    json_file: Path | None,
    plot: Path | None,
    **chosen: Any,
) -> None:
    """Measure how far the probabilities can be trusted, across releases or within one.

    \b
    Example:
      fermiclass evaluate 4FGL-DR1.fits --open 4FGL-DR4.fits --baselines
      fermiclass evaluate 4FGL-DR1.fits --open 4FGL-DR4.fits --targets bcu
      fermiclass evaluate 4FGL-DR1.fits --faint 0.5 --methods nimgp,mgp,forest --plot results.pdf
      fermiclass evaluate 4FGL-DR4.fits --folds 5 --json results.json
    """  # noqa: D301
    from fermiclass.evaluation.by_name import evaluate
    from fermiclass.plots.evaluation import evaluation_figure
    from fermiclass.show.evaluation import print_counterparts_test, print_evaluation

    if json_file is not None:
        check_place(json_file, catalog, open_world, *brought.files, *candidates.files)
    if plot is not None:
        check_figure_place(plot, catalog, open_world, *brought.files, *candidates.files)
    if candidates.files:
        load_tensorflow()
    with progress_bar("methods") as progress:

        def tell(name: str, done: int, total: int) -> None:
            if name.removesuffix(_CORE) in (_DEFAULT, *METHODS):
                load_tensorflow(quiet=True)  # all checks are done
            progress(done, total, name)

        result = evaluate(
            brought.into(read_catalog(catalog)),
            open_world=None if open_world is None else read_catalog(open_world),
            targets=scored,
            methods=options.names(methods),
            counterparts=candidates.read(),
            recipe=recipe,
            progress=tell,
            **chosen,
        )
    if json_file is not None:
        write_json(json_file, result.to_dict())
    if plot is not None:
        write_figure(plot, evaluation_figure(result))
    print_evaluation(result)
    if result.counterparts:
        print_counterparts_test(result)
