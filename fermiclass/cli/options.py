"""Options that commands share."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial, reduce, wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from fermiclass.brought.candidates import COVERS, KINDS, STATUSES, Candidates
from fermiclass.brought.sources import learn_also, read_sources
from fermiclass.catalog import Catalog
from fermiclass.catalog.origin import Origin
from fermiclass.errors import RecipeError, in_one_line
from fermiclass.features import FEATURE_SETS
from fermiclass.io.files import check_place, write_bytes
from fermiclass.labelling.class_priors import WAYS, GroupPriors, read_priors
from fermiclass.labelling.labels import Labels
from fermiclass.labelling.recipe import Recipe
from fermiclass.nimgp.names import LEARNED
from fermiclass.nimgp.settings import FIELDS

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FILE = click.Path(path_type=Path)  # a file or folder, which need not exist
file_option = partial(click.option, type=FILE)


def names(text: str) -> list[str]:
    """Return the names of a comma-separated list."""
    return [name.strip() for name in text.split(",")] if text.strip() else []


def complete(words: Callable[[], Iterable[str]], context: Any, parameter: Any, incomplete: str) -> list[str]:
    """Return what completes the last of some words, with commas between them, in a shell."""
    first, comma, last = incomplete.rpartition(",")
    return [first + comma + word for word in words() if word.startswith(last)]


def _options(*options: Decorator) -> Decorator:
    return lambda command: reduce(lambda one, option: option(one), reversed(options), command)


def label_noise(text: str) -> float | str:
    """Return the value of ``--label-noise``."""
    if text == LEARNED:
        return text
    with suppress(ValueError):
        if 0 <= (rate := float(text)) < 1:
            return rate
    raise click.BadParameter(f"'{text}' is neither '{LEARNED}' nor a number from 0 to below 1.")


_ABOUT = {
    "method": "Treatment of the error bars",
    "likelihood": "Likelihood of a class given the latent functions",
    "label_noise": "Probability that a label is wrong, learned or given",
    "num_inducing": "Number of inducing points for each class",
    "steps": "Number of training steps",
    "batch_size": "Number of rows in a step",
    "learning_rate": "First step size of Adam",
}


def setting_option(name: str, *, flag: str | None = None, **changes: Any) -> Decorator:
    """Return the option of a setting, with the choices and the default of :class:`Settings`, but for `changes`."""
    setting = FIELDS[name]
    choices = [one for one in setting.metadata["allowed"] if isinstance(one, str)]
    attributes: dict[str, Any] = {"help": f"{_ABOUT[name]}. [default: {setting.default}]"}
    if "int" in str(setting.type) or name == "num_inducing":
        attributes["type"] = click.IntRange(min=1)
    elif choices:
        attributes["type"] = click.Choice(choices)
    return click.option(flag or f"--{name.replace('_', '-')}", name, **attributes | changes)


def _class_priors(text: str) -> str | GroupPriors:
    if text in WAYS:
        return text
    try:
        return read_priors(Path(text).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise click.BadParameter(
            f"the class priors cannot be read from '{text}' ({error}). Give one of {', '.join(WAYS)}, or a JSON file "
            'such as {"unassociated": {"bll": 0.5, "fsrq": 0.3, "psr": 0.2}, "bcu": {...}}.'
        ) from error


#: ``--class-priors``: one of the named ways, or the numbers of a JSON file.
class_priors_option = partial(click.option, "--class-priors", metavar="trained|selection|FILE", type=_class_priors)

_SEED = click.IntRange(min=0, max=2**32 - 1)
seed_option = click.option("--seed", type=_SEED, default=0, show_default=True)
recipe_seed_option = click.option("--seed", type=_SEED, help="Seed of all draws. [default: 0, or that of --config]")

classes_option = click.option(
    "--classes",
    metavar="a,b,c",
    help="Classes to learn, such as bll,fsrq,psr,other (psr then includes msp, and other all that is not named), "
    "agn=bll+fsrq,psr, or bll,fsrq,psr,bll|fsrq=rdg (a radio galaxy is one of the two). By default bll, fsrq, psr, "
    "msp (where the catalogue tells it from psr) and other, and each class code teaches what it can be; "
    "default,hsp:bll,lsp:bll adds to these.",
)
features_option = click.option(
    "--features",
    metavar="SET|a,b",
    shell_complete=partial(
        complete, lambda: [*FEATURE_SETS, *dict.fromkeys(f.name for fs in FEATURE_SETS.values() for f in fs)]
    ),
    help="Features: gas (default), galactic, extended, six, paper, or names of features and numeric columns.",
)

#: ``--min-significance``. What it limits differs between commands.
significance_option = partial(click.option, "--min-significance", type=float, metavar="S")

feature_options = _options(
    features_option, classes_option, significance_option(help="Learn from sources with Signif_Avg above S only.")
)

config_option = file_option(
    "--config", metavar="FILE.toml", help="Recipe to start from: a file that --save-config wrote."
)


def _changes(context: click.Context, parameter: click.Parameter, pairs: tuple[str, ...]) -> dict[str, Any]:
    """Return settings by name from ``NAME=VALUE``: values of TOML, or words; 'none' is None."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not (name and equals and text):
            raise click.BadParameter(f"'{pair}' is not of the form NAME=VALUE, such as num_inducing=100.")
        if name in found:
            raise click.BadParameter(f"'{name}' is given twice.")
        try:
            found[name] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            found[name] = None if text == "none" else text
    return found


set_option = click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_changes,
    help="Change one entry of the recipe, such as likelihood=probit, num_inducing=100, temperature=1.2, "
    "training.draw_pairs=64, evidence=none or also_share=0.05. 'fermiclass info --recipe' prints all.",
)

recipe_options = _options(recipe_seed_option, config_option, set_option)
model_options = _options(
    setting_option("method", help="Treatment of the error bars. [default: nimgp-fo]"),
    setting_option("steps", help=f"{_ABOUT['steps']}. [default: 500]"),
    recipe_options,
    file_option("--save-config", metavar="FILE.toml", help="Write the recipe, to repeat the labels with --config."),
    click.option("--paper", is_flag=True, help="Settings of Villacampa-Calvo et al. (2021), where none are given."),
)


def _columns(text: str) -> dict[str, str]:
    pairs = [item.partition("=") for item in names(text)]
    if not all(standard.strip() and given.strip() for standard, _, given in pairs):
        raise click.BadParameter(f"'{text}' is not of the form Flux1000=flux,Unc_Flux1000=flux_err.")
    return {standard.strip(): given.strip() for standard, _, given in pairs}


join_option = file_option(
    "--join",
    "joined",
    metavar="FILE",
    multiple=True,
    help="Bring columns from another table, by Source_Name or by position in the error ellipse, such as XFLUX and "
    "Unc_XFLUX for --features gas,ln_XFLUX.",
)


@dataclass(frozen=True)
class BroughtIn:
    """What the options ``--join``, ``--labels``, ``--also`` and ``--columns`` bring into a catalogue."""

    joined: tuple[Path, ...] = ()
    own_labels: Path | None = None
    columns: dict[str, str] | None = None
    bins: int | None = None
    also: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read."""
        return (*self.joined, *(path for path in (self.own_labels, self.also) if path))

    def into(self, catalog: Catalog, *, labels: bool = True, needed: bool = True) -> Catalog:
        """Return a catalogue with the columns, and labels and further sources; `needed` as for `fermiclass.join`."""
        from fermiclass.brought.joining import join, relabel

        for path in self.joined:
            catalog = join(catalog, path, needed=needed)
        if labels and self.own_labels is not None:
            catalog = relabel(catalog, self.own_labels, needed=needed)
        if labels and self.also is not None:
            catalog = learn_also(catalog, self.also)
        return catalog

    def again(self, path: Path, labels: Labels, *, training: bool = False) -> Catalog:
        """Return the catalogue that was labelled, or learned from, with the columns of that time by default."""
        known = Origin() if "sha256" not in labels.meta else labels.trained_on if training else labels.of
        return self.into(self.table(path, known), labels=known.has_labels, needed=False)

    def read(self, path: Path, *, labels: bool = True, needed: bool = True) -> Catalog:
        """Return a catalogue or a table of one's own with what is brought in."""
        return self.into(self.table(path, Origin()), labels=labels, needed=needed)

    def table(self, path: Path, known: Origin) -> Catalog:
        """Return a catalogue or a table of one's own, with the columns of an origin by default."""
        return read_sources(path, self.columns or known.columns, self.bins or known.bins)


def _brought(*options: Decorator) -> Decorator:
    """Return options of :class:`BroughtIn`, which the command gets in one, ``brought``."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def run(**given: Any) -> Any:
            values = {each.name: given.pop(each.name) for each in fields(BroughtIn) if each.name in given}
            return command(brought=BroughtIn(**values), **given)

        return _options(*options)(run)

    return decorate


_of_tables = (
    join_option,
    file_option(
        "--labels",
        "own_labels",
        metavar="FILE",
        help="Learn from labels of your own in place of classes, by Source_Name or position: columns label and, if you "
        "like, weight. A label is a class of --classes, or several, such as bll|fsrq.",
    ),
    file_option(
        "--also",
        metavar="FILE",
        help="Learn from further sources, too: any table with error bars and a column class, which may be a class that "
        "no catalogue has.",
    ),
)
brought_to_catalog_options = _brought(*_of_tables)
brought_options = _brought(
    click.option(
        "--columns",
        metavar="A=a,B=b",
        type=_columns,
        help="Columns A, B ... of the catalogue by their names in a table of your own, such as Flux1000=flux. Usual "
        "names, and those of fermipy and gammapy, are known.",
    ),
    click.option(
        "--variability-bins",
        "bins",
        type=click.IntRange(min=2),
        metavar="N",
        help="Number of time bins of Variability_Index in a table of your own; without it this column is left out.",
    ),
    *_of_tables,
)


def _candidate_table(path: str) -> tuple[Path, dict[str, Any]]:
    """Return the file, and arguments of :meth:`Candidates.read`, from ``FILE:covers:kinds:statuses`` in any order."""
    said: dict[str, Any] = {}
    words = {"covers": COVERS, "kinds": KINDS, "statuses": STATUSES}
    while ":" in path and not Path(path).exists():
        path, _, last = path.rpartition(":")
        given = names(last)
        what = next((each for each, known in words.items() if given and {*given} <= {*known}), None)
        if what is None or what in said or (what == "covers" and len(given) > 1):
            known = "; ".join(", ".join(each) for each in words.values())
            raise click.BadParameter(f"'{last}' behind {path} is not one of these: {known}; or is there twice.")
        said[what] = given[0] if what == "covers" else given
    return Path(path), said


@dataclass(frozen=True)
class CandidateTables:
    """What the option ``--counterparts`` says."""

    tables: tuple[tuple[Path, dict[str, Any]], ...]

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read."""
        return tuple(path for path, _ in self.tables)

    def read(self) -> list[Candidates]:
        """Return the tables."""
        return [Candidates.read(path, **said) for path, said in self.tables]


counterparts_option = click.option(
    "--counterparts",
    "candidates",
    multiple=True,
    type=_candidate_table,
    callback=lambda context, parameter, tables: CandidateTables(tables),
    metavar="FILE[:WORDS]",
    help="Table of objects that may be the counterparts of sources: names and positions, maybe with errors, a category "
    "or a flux. It is evidence of classes. Words say what it covers (all, ellipses or claims; by default told by names "
    "of LAT sources in it), of which kinds of sources its objects are counterparts (agn by default; pulsar, other), "
    "and for which sources they are sought (unassociated by default; bcu, unk): hii.csv:all:pulsar,other.",
)


# --- the recipe ------------------------------------------------------------------------------------------------------

SETTINGS = ("method", "steps")
RECIPE_FIELDS = ("features", "classes", "min_significance", "targets", "class_priors")


def with_recipe(base: Callable[[], Recipe] = Recipe) -> Decorator:
    """Give a command a ``recipe`` in place of the options that change one; without --config it starts from `base`."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def run(*, save_config: Path | None = None, **chosen: Any) -> Any:
            if save_config is not None:
                check_place(save_config, *(path for path in chosen.values() if isinstance(path, Path)))
            recipe = _recipe(base, chosen)
            result = command(recipe=recipe, **chosen)
            if save_config is not None:
                write_bytes(save_config, recipe.to_toml().encode())
            return result

        return run

    return decorate


def _recipe(base: Callable[[], Recipe], chosen: dict[str, Any]) -> Recipe:
    """Take the options of a recipe out of all options, and return the recipe."""

    def take(*names: str) -> dict[str, Any]:
        found = {name: chosen.pop(name, None) for name in names}
        return {name: value for name, value in found.items() if value is not None}

    settings, changed, others = take(*SETTINGS), take(*RECIPE_FIELDS), take("config", "paper", "seed", "changes")
    config, paper = others.get("config"), others.get("paper")
    if config and paper:
        raise click.UsageError("--config and --paper cannot be combined: give one of them")
    recipe = read_recipe(config) if config else Recipe.paper() if paper else base()
    if "seed" in others:
        settings["random_state"] = others["seed"]
    of_recipe = {each.name for each in fields(Recipe)} - {"settings"}
    for name, value in others.get("changes", {}).items():
        options, _, inner = name.partition(".")
        if name in settings or name in changed:
            raise click.UsageError(f"--set {name} and its own option cannot be combined: give one of them")
        if name in of_recipe:
            changed[name] = value
        elif name in FIELDS:
            settings[name] = value
        elif inner and is_dataclass(getattr(recipe.settings, options, None)):
            try:
                settings[options] = replace(settings.get(options, getattr(recipe.settings, options)), **{inner: value})
            except TypeError as error:
                raise click.UsageError(f"--set {name}: {options} has no setting '{inner}'") from error
        else:
            near = difflib.get_close_matches(name, [*of_recipe, *FIELDS], 3)
            raise click.UsageError(f"--set {name}: there is no such entry; near it are {', '.join(near) or 'none'}")
    if {"steps", "epochs"} <= settings.keys():
        raise click.UsageError("steps and epochs cannot be combined: give one of them")
    if "temperature" in settings and settings.get("likelihood", recipe.settings.likelihood) == "step":
        raise click.UsageError("temperature has no effect on the step likelihood, which learns its ε: leave it out")
    try:
        return replace(recipe.with_settings(**settings), **changed)
    except (TypeError, ValueError) as error:  # settings that exclude each other
        raise click.UsageError(in_one_line(error)) from error


def read_recipe(path: Path) -> Recipe:
    """Return the recipe of a configuration file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise RecipeError(f"the configuration file '{path}' cannot be read: {in_one_line(error)}.") from error
    return Recipe.from_toml(text, f"'{path.name}'")


def given_options(*names: str) -> list[click.Parameter]:
    """Return which of the parameters with these names were given on the command line."""
    context = click.get_current_context()
    given = [name for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    return [each for each in context.command.params if each.name in given]


catalog_argument = click.argument("catalog", type=FILE)


def table_option(what: str = "The table to write", *, default: str | None = None) -> Decorator:
    """Return ``-o`` for a table of any format; without a default it is required."""
    formats = ".fits, .fits.gz, .ecsv, .vot, .csv or .parquet"
    ending = "." if default is None else f". [default: {default}]"
    return file_option("-o", "--output", required=default is None, help=f"{what}: {formats}{ending}")


rows_argument = click.argument("rows", type=FILE)

hdu_option = click.option(
    "--hdu",
    default="1",
    show_default=True,
    metavar="N|NAME",
    type=lambda text: int(text) if text.isdigit() else text,
    help="The table of a FITS file.",
)
