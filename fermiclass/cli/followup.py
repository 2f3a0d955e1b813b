"""``fermiclass followup``."""

from __future__ import annotations

from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import click

from fermiclass.analysis.followup import CRITERIA
from fermiclass.analysis.followup import followup as rank
from fermiclass.catalog import CLASS_TREE
from fermiclass.catalog.classes import NATURES
from fermiclass.cli.folders import candidates_beside, look_for
from fermiclass.cli.options import FILE, BroughtIn, complete, file_option, names
from fermiclass.io.files import check_figure_place, write_figure
from fermiclass.io.target_lists import check_targets, write_targets
from fermiclass.labelling.labels import Labels
from fermiclass.show.summaries import print_followup
from fermiclass.show.terminal import train_with_bar


def _bits(text: str) -> tuple[int, ...]:
    if text == "none":
        return ()
    try:
        return tuple(int(bit) for bit in text.split(","))
    except ValueError:
        raise click.BadParameter(f"'{text}' is neither 'none' nor bits such as 4,8.", param_hint="--flags") from None


@click.command()
@click.argument("labels", type=FILE)
@file_option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    help="A file to write, can be repeated: a table (.fits, .fits.gz, .ecsv, .vot, .csv or .parquet), regions of ds9 "
    "(.reg), or a list of names and coordinates (.txt). [default: none]",
)
@click.option(
    "--columns", type=names, default="", metavar="a,b", help="Columns of the tables that -o writes. [default: all]"
)
@file_option(
    "--exclude",
    "excluded",
    multiple=True,
    metavar="FILE",
    help="Leave out the sources of another list, such as known pulsars or targets observed, by name or position; can "
    "be repeated. A table with names or positions, or a .txt file with a name in each line.",
)
@file_option(
    "--only", "among", multiple=True, metavar="FILE", help="Choose among the sources of a list, given as for --exclude."
)
@click.option("--exclude-known", is_flag=True, help="Leave out sources that others know as pulsars: column KNOWN.")
@click.option(
    "--by",
    type=click.Choice(list(CRITERIA)),
    help="Criterion of the ranking. information: information that a label would give the model. entropy: "
    "uncertainty of the class. noise: information that better measurements could give. ood: out-of-distribution "
    "score. significance: Signif_Avg. probability: probability of the wanted class, or of the most probable one. "
    "information and probability are multiplied by LASTS, the probability that a later list has the source. "
    "[default: probability with --want, else information]",
)
@click.option(
    "--want",
    metavar="CLASS",
    shell_complete=partial(complete, lambda: dict.fromkeys([*NATURES, *CLASS_TREE])),
    help="Rank candidates of one class, such as msp, or group, such as pulsar.",
)
@click.option(
    "--min-p",
    "--min-probability",
    "min_probability",
    type=float,
    metavar="P",
    help="Minimum probability of the wanted class, or of the most probable one. [default: 0.5 with --want, if ranked "
    "by probability]",
)
@click.option(
    "--contamination",
    type=float,
    metavar="F",
    help="In place of --min-p: the longest list of which a fraction F, such as 0.05, or less is expected not to be of "
    "the class --want, by its probabilities.",
)
@click.option(
    "--status",
    type=names,
    metavar="a,b",
    help="Keep sources of these kinds: unassociated, bcu, unk, associated, identified. [default: all]",
)
@click.option(
    "--flags",
    type=_bits,
    metavar="BITS|none",
    help="Leave out sources with any of these bits of LABEL_FLAGS. [default: 4,8 with --want, else none]",
)
@click.option("--max-ood", type=float, metavar="S", help="Maximum OOD_SCORE.")
@click.option("--min-lasts", type=float, metavar="P", help="Minimum LASTS: probability that a later list has it.")
@click.option("--dec", type=float, nargs=2, metavar="MIN MAX", help="Range of declination, deg.")
@click.option("--ra", type=float, nargs=2, metavar="MIN MAX", help="Range of right ascension, deg; -30 30 includes 0.")
@click.option("--abs-glat", type=float, nargs=2, metavar="MIN MAX", help="Range of absolute Galactic latitude, deg.")
@click.option("--min-significance", type=float, metavar="S", help="Minimum Signif_Avg.")
@click.option("--min-flux", type=float, metavar="F", help="Minimum Flux1000 in ph cm-2 s-1.")
@click.option(
    "--max-error", type=float, metavar="DEG", help="Maximum semi-major axis of the position's 95 % error ellipse."
)
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="Keep only the first N sources.")
@file_option(
    "--charts", help="Finder charts: error ellipses, and the sources around. A .pdf file; three fit on a .png or .svg."
)
@click.option(
    "--beam",
    type=click.FloatRange(0.0, 4.0, min_open=True),
    metavar="DEG",
    help="Draw a telescope's beam of this diameter, such as its full width at half maximum, into the charts.",
)
@click.option(
    "--why",
    is_flag=True,
    help="Add the column WHY: what moves the probability. The model of the labels is trained again, and the catalogues "
    "have to be in this folder or beside the labels.",
)
@file_option(
    "--catalog",
    help="The catalogue for charts and reasons. [default: that of the labels, if it is in this folder or beside them]",
)
def followup(
    labels: Path,
    outputs: tuple[Path, ...],
    columns: list[str],
    excluded: tuple[Path, ...],
    among: tuple[Path, ...],
    charts: Path | None,
    beam: float | None,
    why: bool,
    catalog: Path | None,
    **chosen: Any,
) -> None:
    """Rank labelled sources for follow-up observations.

    \b
    Example:
      fermiclass followup labels.fits --top 50 -o targets.vot
      fermiclass followup labels.fits --want pulsar --dec -30 90 --abs-glat 10 90 --status unassociated -o pulsars.csv
      fermiclass followup labels.fits --want pulsar --exclude observed.txt --top 30 -o targets.csv -o targets.reg
    """  # noqa: D301
    if beam is not None and charts is None:
        raise click.UsageError("--beam is drawn into charts: give --charts, too")
    for output in outputs:
        check_targets(output, labels, catalog, *excluded, *among)
    if charts is not None:
        check_figure_place(charts, labels, catalog, *excluded, *among)
    about = Labels.read(labels)
    around, candidates = None, candidates_beside(labels, about)
    if charts is not None or why:
        around = BroughtIn().again(catalog, about) if catalog else look_for(about.of, labels, "--catalog")
    ranking = rank(about.table, exclude=excluded, only=among, **chosen)
    if why and around is not None:
        from fermiclass.analysis.explain import add_reasons, explain_all
        from fermiclass.labelling.training import checked_again

        same = about.trained_on.sha256 == around.sha256
        training = around if same else look_for(about.trained_on, labels, "put beside the labels")
        model = train_with_bar(checked_again(about, training), what="training again")
        add_reasons(ranking, explain_all(model, around, list(map(str, ranking["Source_Name"])), train_on=training))
    if charts is not None and around is not None:
        from fermiclass.plots.finder import finder_pages

        pages = finder_pages(ranking, around.table, beam=beam, candidates=candidates)
        write_figure(charts, *(pages if charts.suffix.lower() == ".pdf" else islice(pages, 2)))  # two are too many
    for output in outputs:
        write_targets(ranking, output, columns)
    print_followup(ranking, [*outputs, *([charts] if charts else [])], rows=chosen["top"] or 10, candidates=candidates)
