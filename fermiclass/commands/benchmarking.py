"""How good it is on known data: ``benchmark``."""

from __future__ import annotations

from pathlib import Path

import click

from fermiclass.commands.options import common_options
from fermiclass.terminal import load_tensorflow, progress_bar


@click.command()
@click.argument("name", type=click.Choice(["astro454", "cost"]))
@click.option(
    "--methods",
    default="default",
    metavar="a,b",
    help="Of mgp, nimgp, peers such as logistic; default: what classify would use.",
)
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
