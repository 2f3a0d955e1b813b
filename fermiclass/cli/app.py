"""The command ``fermiclass`` with its subcommands. An error becomes one message and an exit status."""

from __future__ import annotations

import difflib
import gc
import importlib
import io
import logging
import platform
import re
import signal
import sys
import traceback
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fermiclass._version import __citation__, __version__
from fermiclass.errors import FermiclassError, OutputError, in_one_line
from fermiclass.nimgp.errors import NIMGPError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_ROOT, _LOG = logging.getLogger("fermiclass"), logging.getLogger(__name__)

USER_ERROR, BUG, INTERRUPTED = 2, 1, 130

#: Options of the group that may stand behind the command, too.
_ANYWHERE = re.compile(r"-q|--quiet|-v+|--verbose|--debug|--log(=.*)?", re.DOTALL)
_EPILOG = "-q, -v, --log FILE.log and --debug may stand anywhere: see fermiclass --help."

#: What the commands do, for the help of all; the module of a command is imported when the command runs.
ABOUT = {
    "info": "Print the content of a catalogue.",
    "features": "Write the table of features with their uncertainties.",
    "train": "Train on the associated sources of a catalogue and save the model.",
    "classify": "Label the sources of a catalogue that have no certain class.",
    "candidates": "Fetch candidate counterparts of unassociated sources.",
    "explain": "Explain the probabilities of one source.",
    "followup": "Rank labelled sources for follow-up observations.",
    "compare": "Compare labels with another list.",
    "report": "Write a self-contained HTML page of labelled sources.",
    "outliers": "Find associations that the data contradict.",
    "estimate": "Estimate a number that some sources have, for the others.",
    "evaluate": "Measure how far the probabilities can be trusted.",
    "train-rows": "Train on any number of rows in a file.",
    "classify-rows": "Label any number of rows in a file.",
}

#: Sections of the help of a command, with the names of their parameters.
SECTIONS = {
    "What you bring": ("columns", "bins", "joined", "own_labels", "also", "candidates"),
    "Model": ("features", "classes", "min_significance", "method", "steps", "seed"),
    "Recipe": ("config", "changes", "save_config", "paper"),
}

#: Entry points by which other distributions add commands. Their summaries say what the commands do.
ENTRY_POINTS = "fermiclass.commands"
_ELSEWHERE = {"benchmark": "it is a package of its own. Run pip install ./benchmarks in the folder of the clone"}


class CommandGroup(click.Group):
    """The commands of ours, whose modules are imported when they are asked for, and those of other distributions."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, as a user looks for them."""
        return [*ABOUT, *_others()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name, None if there is none."""
        if cmd_name in ABOUT:
            name = cmd_name.replace("-", "_")
            return _load(f"fermiclass.cli.{name}", name)
        if entry := _others().get(cmd_name):
            try:
                return _load(entry.module, entry.attr)
            except (ImportError, AttributeError) as error:
                raise FermiclassError(
                    f"the command '{cmd_name}' cannot be loaded ({in_one_line(error)}): install its package again"
                ) from error
        if cmd_name in _ELSEWHERE and not ctx.resilient_parsing:  # which completes words
            raise FermiclassError(f"the command '{cmd_name}' is not installed: {_ELSEWHERE[cmd_name]}")
        return None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Move options of the group to the front, and refuse empty arguments, which a command takes for its default."""
        for before, argument in zip(["the command", *args], args, strict=False):
            if not argument.strip() or (argument.startswith("--") and argument.endswith("=")):
                raise click.UsageError(
                    f"nothing is given after {argument.strip() or before}: give a value, or leave the option out", ctx
                )
        end = args.index("--") if "--" in args else len(args)
        front: list[str] = []
        rest: list[str] = []
        for before, word in zip(["", *args], args[:end], strict=False):
            (front if before == "--log" or _ANYWHERE.fullmatch(word) else rest).append(word)
        return super().parse_args(ctx, [*front, *rest, *args[end:]])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the command; the message of a wrong name has the nearest one."""
        close = difflib.get_close_matches(args[0], ABOUT, n=1)
        if close and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"there is no command '{args[0]}'. Did you mean '{close[0]}'?", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each command does, without importing it."""
        with formatter.section("Commands"):
            others = {name: entry.dist.metadata["Summary"] if entry.dist else "" for name, entry in _others().items()}
            formatter.write_dl([*ABOUT.items(), *others.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command. Exit statuses are `USER_ERROR`, `BUG` and `INTERRUPTED`."""
        with suppress(ValueError):  # in a thread, which has no say
            signal.signal(signal.SIGTERM, signal.default_int_handler)  # as batch systems send it
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # letters that its encoding lacks become question marks
                stream.reconfigure(errors="replace")
        warnings.showwarning = partial(_show_warning, set())
        try:
            return super().invoke(ctx)
        except (FermiclassError, NIMGPError) as error:
            self._fail(ctx, str(error), USER_ERROR)
        except KeyboardInterrupt as interrupt:
            self._fail(ctx, f"interrupted; {str(interrupt) or 'nothing was written'}", INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except MemoryError as error:
            about = "Close other programs, raise the limit (ulimit -v), or take fewer sources at once."
            self._fail(ctx, f"not enough memory ({in_one_line(error)}). {about}", USER_ERROR)
        except Exception as error:  # a bug is reported in one line too
            self._fail(
                ctx,
                f"something went wrong inside fermiclass ({type(error).__name__}: {in_one_line(error)}). "
                "Run the command again with --debug and report its output.",
                BUG,
            )

    def _fail(self, ctx: click.Context, message: str, status: int) -> None:
        _LOG.error("%s", message, exc_info=status != INTERRUPTED)
        if ctx.params.get("debug"):
            traceback.print_exc()
        click.echo(f"fermiclass: {'' if status == INTERRUPTED else 'error: '}{message}", err=True)
        sys.exit(status)


def _others() -> dict[str, EntryPoint]:
    """Return commands of other distributions by name."""
    from importlib.metadata import entry_points  # starts slowly

    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def _load(module: str, name: str) -> click.Command:
    gc.disable()  # what imports make stays: to search it for garbage takes a tenth of a second
    try:
        command: click.Command = getattr(importlib.import_module(module), name)
    finally:
        gc.freeze()
        gc.enable()
    command.epilog = command.epilog or _EPILOG
    return command


class SectionedCommand(click.Command):
    """A command whose help has its options in sections: :data:`SECTIONS`."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of each section; those of none come first."""
        records: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Options", *SECTIONS)}
        for each in self.get_params(ctx):
            title = next((title for title, names in SECTIONS.items() if each.name in names), "Options")
            if record := each.get_help_record(ctx):
                records[title].append(record)
        for title, rows in records.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _show_warning(shown: set[str], message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print a warning, unless its text was `shown` before."""
    if issubclass(category, UserWarning) and str(message) not in shown:
        shown.add(str(message))
        _LOG.warning("%s", message)
        click.echo(f"fermiclass: warning: {message}", err=True)


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fermiclass")
@click.version_option(__citation__, "--cite", message="%(version)s", help="Show how to cite fermiclass and exit.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors and warnings only.")
@click.option("-v", "--verbose", count=True, help="Print each stage on standard error; -vv prints more.")
@click.option(
    "--log",
    type=click.Path(path_type=Path),
    metavar="FILE.log",
    help="Append each stage, warning and error to a file, with times.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def main(ctx: click.Context, /, verbose: int, log: Path | None, **_: bool) -> None:
    """Probabilistic classes for the unassociated sources of the Fermi-LAT catalogue.

    \b
    Example:
      fermiclass classify 4FGL-DR4.fits -o labels.fits
    """  # noqa: D301 (\b keeps click from re-wrapping)
    if verbose:
        stages = logging.StreamHandler()
        stages.addFilter(lambda record: record.levelno < logging.WARNING)  # the others are there already
        _add(ctx, stages, "fermiclass: %(message)s", logging.INFO if verbose == 1 else logging.DEBUG)
    if log is not None:
        _add(ctx, _log_file(log), "%(asctime)s %(levelname)s %(name)s: %(message)s", logging.DEBUG)
        _LOG.info("fermiclass %s, Python %s: %s", __version__, platform.python_version(), " ".join(sys.argv[1:]))


def _log_file(path: Path) -> logging.FileHandler:
    from fermiclass.io.files import check_place, os_errors_as_output_errors  # no other option needs it

    target = check_place(path)
    if {path.suffix, target.suffix} != {".log"}:  # no table, model or catalogue ends like this
        raise OutputError(f"the log '{path}' does not end in .log: give it such a name, as the file is appended to.")
    with os_errors_as_output_errors(target):
        return logging.FileHandler(path, encoding="utf-8")


def _add(context: click.Context, handler: logging.Handler, form: str, level: int) -> None:
    """Add a handler until the command, and the report of its error, has ended."""
    handler.setFormatter(logging.Formatter(form))
    handler.setLevel(level)
    _ROOT.addHandler(handler)
    _ROOT.setLevel(logging.DEBUG)  # the handlers choose

    def remove() -> None:
        _ROOT.removeHandler(handler)
        _ROOT.setLevel(logging.NOTSET)
        handler.close()

    context.find_root().call_on_close(remove)
