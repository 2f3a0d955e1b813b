"""The command line: each command loads, calls, writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fermiclass._version import __version__
from fermiclass.terminal import CommandGroup, debug_option, load_tensorflow, progress_bar

if TYPE_CHECKING:
    from fermiclass.catalog import Catalog
    from fermiclass.pipeline import TrainedModel

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _options(*options: Decorator) -> Decorator:
    def apply(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return apply


_common_options = _options(
    click.option("--quiet", is_flag=True, help="Print errors and warnings only."),
    debug_option,
)

_feature_options = _options(
    click.option(
        "--features",
        metavar="SET|a,b",
        help="Features: six (default), paper, extended, or names of features and numeric columns.",
    ),
    click.option(
        "--classes",
        metavar="a,b,c",
        help="Classes to learn, such as bll,fsrq,psr (default; psr includes msp) or agn=bll+fsrq,psr,other.",
    ),
    click.option("--min-significance", type=float, metavar="S", help="Use sources with Signif_Avg above S only."),
)

_model_options = _options(
    click.option("--method", type=click.Choice(["mgp", "nimgp"]), help="How input noise is treated. [default: nimgp]"),
    click.option("--likelihood", type=click.Choice(["softmax", "step"]), help="[default: softmax]"),
    click.option(
        "--inducing", "num_inducing", type=click.IntRange(min=1), metavar="M", help="Inducing points a class."
    ),
    click.option("--steps", type=click.IntRange(min=1), help="Training steps."),
    click.option("--epochs", type=click.IntRange(min=1), help="Passes over the training sources, instead of --steps."),
    click.option("--seed", type=click.IntRange(min=0, max=2**32 - 1), default=0, show_default=True),
    click.option("--paper", is_flag=True, help="The protocol of the main paper, for whatever else is not given."),
)

_catalog_argument = click.argument("catalog", type=click.Path(path_type=Path))


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fermiclass")
def main() -> None:
    """Probabilistic classes for the unassociated sources of the Fermi-LAT catalogue.

    \b
    Example:
      fermiclass classify 4FGL-DR4.fits -o labels.fits
    """  # noqa: D301 (\b keeps click from re-wrapping)


@main.command()
@_catalog_argument
@_common_options
def info(catalog: Path, quiet: bool) -> None:
    """Say what is in a catalogue: release, classes, missing values, features.

    \b
    Example:
      fermiclass info 4FGL-DR4.fits
    """  # noqa: D301
    from fermiclass.catalog import read_catalog
    from fermiclass.summaries import print_info

    loaded = read_catalog(catalog)
    if not quiet:
        print_info(loaded)


@main.command()
@_catalog_argument
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The table to write.")
@_feature_options
@click.option("--paper", is_flag=True, help="The main paper's features, for whatever else is not given.")
@_common_options
def features(catalog: Path, output: Path, paper: bool, quiet: bool, **chosen: Any) -> None:
    """Write the feature table with its uncertainties, a row for every source.

    \b
    Example:
      fermiclass features 4FGL-DR4.fits -o features.ecsv
      fermiclass features 4FGL-DR1.fits --paper --min-significance 30 -o astro454.csv
    """  # noqa: D301
    from fermiclass.catalog import read_catalog
    from fermiclass.features import extract_features
    from fermiclass.tables import check_writable, write_table

    check_writable(output)
    table = extract_features(
        read_catalog(catalog),
        chosen["features"] or ("paper" if paper else "six"),
        chosen["classes"] or "bll,fsrq,psr",
        min_significance=chosen["min_significance"],
    )
    write_table(table.to_table(), output)
    if not quiet:
        click.echo(f"{len(table)} sources, {len(table.features)} features: {output}")


@main.command()
@_catalog_argument
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The model folder to write.")
@_feature_options
@_model_options
@_common_options
def train(catalog: Path, output: Path, quiet: bool, **chosen: Any) -> None:
    """Train on the associated sources of a catalogue and save the model.

    \b
    Example:
      fermiclass train 4FGL-DR4.fits -o dr4-model
      fermiclass classify 4FGL-DR4.fits --model dr4-model
    """  # noqa: D301
    from fermiclass.catalog import read_catalog
    from fermiclass.model_folder import check_model_folder_writable, save_model
    from fermiclass.summaries import print_training

    check_model_folder_writable(output)
    model = _train(read_catalog(catalog), chosen, quiet)
    save_model(model, output)
    if not quiet:
        print_training(model, output)


@main.command()
@_catalog_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The label table to write: .fits, .fits.gz, .ecsv, .vot, .csv or .parquet. [default: CATALOG-labels.fits]",
)
@click.option("--model", "model_folder", type=click.Path(path_type=Path), help="Use a model that 'train' saved.")
@click.option("--train-on", type=click.Path(path_type=Path), metavar="CATALOG", help="Learn from another catalogue.")
@click.option(
    "--targets",
    type=click.Choice(["unassociated", "uncertain", "all"]),
    default="uncertain",
    show_default=True,
    help="Which sources to label; 'uncertain': unassociated, bcu and unk.",
)
@_feature_options
@_model_options
@_common_options
def classify(
    catalog: Path,
    output: Path | None,
    model_folder: Path | None,
    train_on: Path | None,
    targets: str,
    quiet: bool,
    **chosen: Any,
) -> None:
    """Label the sources of a catalogue that have no class, with a probability for each class.

    \b
    Example:
      fermiclass classify 4FGL-DR4.fits
      fermiclass classify 4FGL-DR4.fits --train-on 4FGL-DR3.fits --targets unassociated -o labels.vot
    """  # noqa: D301
    from fermiclass.catalog import read_catalog
    from fermiclass.summaries import print_labels
    from fermiclass.tables import check_writable, write_table

    stem = catalog.name.removesuffix(".gz").removesuffix(".fits").removesuffix(".fit")
    output = output or Path(f"{stem}-labels.fits")
    check_writable(output)
    if model_folder is not None:
        _refuse_with_model(train_on, chosen)
        model = _load(model_folder, quiet)
        loaded = read_catalog(catalog)
    else:
        loaded = read_catalog(catalog)
        model = _train(loaded if train_on is None else read_catalog(train_on), chosen, quiet)
    with progress_bar("labelling", quiet=quiet) as progress:
        labels = model.label(loaded, targets, progress=progress)
    write_table(labels, output)
    if not quiet:
        print_labels(labels, model, output)


@main.command()
@click.argument("name", type=click.Choice(["astro454", "cost"]))
@click.option("--methods", default="default", metavar="a,b", help="Of mgp, nimgp; default: what classify would use.")
@click.option("--likelihood", type=click.Choice(["softmax", "step"]), default="softmax", show_default=True)
@click.option("--splits", type=click.IntRange(1, 100), default=100, show_default=True, help="How many of the splits.")
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="Folder that holds astro454/.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the results to a file, too.")
@_common_options
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


def _train(catalog: Catalog, chosen: dict[str, Any], quiet: bool) -> TrainedModel:
    from fermiclass import pipeline, settings

    paper = chosen["paper"]
    if chosen["steps"] and chosen["epochs"]:
        raise click.UsageError("--steps and --epochs are two ways to say the same: give one of them")
    data = {
        "features": chosen["features"] or (settings.PAPER_FEATURES if paper else "six"),
        "classes": chosen["classes"] or settings.PAPER_CLASSES,
        "min_significance": chosen["min_significance"],
    }
    if paper and data["min_significance"] is None:
        data["min_significance"] = settings.PAPER_MIN_SIGNIFICANCE
    pipeline.training_table(catalog, **data)  # faults of the input come to light before TensorFlow starts
    load_tensorflow(quiet=quiet)
    from fermiclass.estimators import NIMGPClassifier

    given = {key: chosen[key] for key in ("method", "likelihood", "num_inducing", "steps", "epochs") if chosen[key]}
    preset = dict(settings.PAPER_ESTIMATOR) if paper else {}
    if "steps" in given:
        preset.pop("epochs", None)
    if given.get("likelihood", "step") != "step":
        preset.pop("epsilon", None)
    estimator = NIMGPClassifier(**{**preset, **given}, random_state=chosen["seed"])
    with progress_bar("training", quiet=quiet) as progress:
        return pipeline.train(catalog, estimator, **data, progress=lambda state: progress(state.step, state.steps))


def _load(folder: Path, quiet: bool) -> TrainedModel:
    from fermiclass import model_folder

    model_folder.check_model_folder(folder)
    load_tensorflow(quiet=quiet)
    return model_folder.load_model(folder)


def _refuse_with_model(train_on: Path | None, chosen: dict[str, Any]) -> None:
    given = [
        f"--{name.replace('num_', '').replace('_', '-')}" for name, value in chosen.items() if value and name != "seed"
    ]
    if train_on is not None:
        given.append("--train-on")
    if given:
        raise click.UsageError(f"--model brings its own settings: leave out {', '.join(given)}")
