"""Printed summaries of the commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.cells import cell_len
from rich.console import JustifyMethod
from rich.measure import Measurement
from rich.padding import PaddingDimensions
from rich.table import Table as RichTable
from rich.text import Text

from fermiclass.catalog import CLASS_CODES
from fermiclass.features import DEFAULT_FEATURE_SET, FEATURE_SETS, extract_features, supported_features
from fermiclass.io.target_lists import sexagesimal
from fermiclass.labelling.class_priors import stated_priors
from fermiclass.labelling.counterparts import strengths_of
from fermiclass.labelling.labels import (
    ASSOCIATION_COLUMNS,
    CONFIDENT,
    LASTS,
    SUM_PREFIX,
    Labels,
    counterparts_of,
    second_association,
    shown,
)
from fermiclass.show.caveats import caveats
from fermiclass.show.terminal import console_for_tables, say

if TYPE_CHECKING:
    from astropy.table import Table

    from fermiclass.analysis.compare import Comparison
    from fermiclass.analysis.estimate import Estimates
    from fermiclass.brought.candidates import Candidates
    from fermiclass.catalog import Catalog
    from fermiclass.labelling.catalog_model import CatalogModel
    from fermiclass.rows import RowsModel

_MOST_SUSPICIOUS = 10
_MOST_CANDIDATES = 3
_WIDE, _LONG, _FOLDED = 10_000, 24, 8  # letters: any table fits; a long word; no column of texts is narrower


def print_info(catalog: Catalog) -> None:
    """Print release, classes, and the numbers of missing and imputed values of each feature."""
    release = catalog.release
    about = f", {release.years} years of data ({release.reference})" if release.years else ""
    about += f": {len(catalog)} sources, from {catalog.source}"
    say(Text.assemble((release.name, "bold"), about))
    say(f"SHA-256 {catalog.sha256}\n")
    print_sources(catalog, [])

    classes, identified = Counter(catalog.classes.tolist()), Counter(catalog.classes[catalog.identified].tolist())
    rows = [
        (code, n, identified[code], n - identified[code], CLASS_CODES.get(code, ""))
        if code
        else ("(none)", n, "", "", "unassociated")
        for code, n in sorted(classes.items(), key=lambda item: (-item[1], item[0]))
    ]
    say(rich_table("class", ">sources", ">identified", ">associated", "meaning", rows=rows))

    table = extract_features(catalog, supported_features(catalog))
    known = np.any(~table.imputed_value | np.isfinite(table.upper), axis=0)
    supported = [feature for feature, is_known in zip(table.features, known, strict=True) if is_known]
    lines = []
    for j in np.flatnonzero(known):
        feature, missing = table.features[j], table.imputed_value[:, j]
        measured = np.any(table.X_var[~missing, j] > 0)
        imputed = str(table.imputed_uncertainty[:, j].sum()) if measured else "no error bar"
        sets = ", ".join(name for name, members in FEATURE_SETS.items() if feature in members)
        lines.append((feature.name, missing.sum(), imputed, sets))
    say(rich_table("feature", ">missing", ">errors imputed", "in the set", rows=lines))
    for name, members in FEATURE_SETS.items():
        lacking = [feature.name for feature in members if feature not in supported]
        say(f"Set {name}: {'lacks ' + ', '.join(lacking) if lacking else 'supported'}.")
    of_default = [feature in supported and feature in FEATURE_SETS[DEFAULT_FEATURE_SET] for feature in table.features]
    flagged = int(np.sum((table.imputed_value | table.imputed_uncertainty)[:, of_default].any(axis=1)))
    say(
        "A missing value is averaged over as the training sources have it. An unknown uncertainty becomes the usual "
        "uncertainty at the source's significance. Such sources are flagged: "
        f"{flagged} with the default features."
    )


def recipe_text(labels: Labels) -> str:
    """Return the recipe of labels as a configuration file; comments say from which catalogues they were made."""
    of, trained_on, meta = labels.of, labels.trained_on, labels.meta
    lines = [f"made by {meta.get('creator', 'fermiclass')} ({meta.get('versions', '')})"]
    same = (of.source, of.sha256) == (trained_on.source, trained_on.sha256)
    for what, origin in {"catalogue": of, **({} if same else {"--train-on": trained_on})}.items():
        brought = "".join(f" {each}" for each in origin.brought)
        lines.append(f"{what}: {origin.source}{brought}, SHA-256 {origin.sha256}")
    return "".join(f"# {line}\n" for line in lines) + labels.recipe.to_toml()


def print_sources(catalog: Catalog, left_out: Sequence[str]) -> None:
    """Print what was taken from where, and the features that are left out because no source has them."""
    if catalog.notes:
        say(f"{catalog.source}: {'; '.join(catalog.notes)}.")
    if left_out:
        say(f"Left out of the model, as no source has a value: {', '.join(left_out)}.")


def print_counterparts(labels: Table, candidates: Sequence[Candidates], path: Path) -> None:
    """Print what the tables of counterparts say, and where all candidates are."""
    rows = []
    for each in strengths_of(labels):
        share = f"{each.share:.2f} ± {each.share_error:.2f}"
        first = (each.name, each.objects, f"{each.chance:.1f}", share, each.covers)
        lines = [
            (f"{kind} {category}".strip(), f"{c:.3f} ± {error:.3f}")
            for kind, completeness in each.completeness.items()
            for category, c, error in zip(each.categories, completeness, each.errors[kind], strict=True)
        ] or [("", "not used")]
        rows += [(*(first if k == 0 else ("",) * len(first)), *line) for k, line in enumerate(lines)]
    columns = ("table", "?>inside", "?>by chance", ">real", "?covers", "kind", ">c")
    say(rich_table(*columns, rows=rows))
    for read in candidates:
        say(f"{'; '.join(read.notes)}.")
    number = int(np.sum(np.asarray(labels["P_CPT"]) >= 0.5))
    say(
        "Counterparts: objects inside the 95 % ellipses, those expected by chance, the share of real ones by their "
        "places in the ellipses, and the part c of the sources of a kind that have one."
    )
    say(f"{number} sources have a counterpart with a probability of 0.5 or more. All candidates: {path}")


def print_training(model: CatalogModel, folder: Path) -> None:
    """Print the training sources of a model and its folder."""
    counts, source = model.provenance.training_counts, model.provenance.origin.source
    words = ", ".join(f"{n} {label.replace('|', ' or ').replace('@', ' of weight ')}" for label, n in counts.items())
    say(f"Trained {model.fitted.settings.method} on {sum(counts.values())} sources of {source} ({words}): {folder}")


def print_rows_training(model: RowsModel, folder: Path) -> None:
    """Print the training rows of a model, the columns that it needs, and its folder."""
    columns, about = model.columns, model.provenance
    without = [f for f, noise in zip(columns.features, columns.uncertainties, strict=True) if noise is None]
    exact = f" (without error bars: {', '.join(without)})" if without else ""
    say(
        f"Trained {model.fitted.settings.method} on {about.rows}, {about.num_rows:,} rows with a label. Classes: "
        f"{', '.join(map(str, model.fitted.target.classes))}. Features: {', '.join(columns.features)}{exact}. "
        f"Model: {folder}"
    )


def print_outliers(outliers: Table, path: Path) -> None:
    """Print the number of suspicious labels, and the most suspicious ones."""
    wrong = np.asarray(outliers["P_WRONG"])
    say(
        f"{len(outliers)} sources have a class. The expected number of wrong classes is {wrong.sum():.0f}; "
        f"{np.sum(wrong > 0.5)} classes are wrong with a probability above 0.5. The most suspicious sources:"
    )
    if "rhoerr" in outliers.meta:
        rho, error = outliers.meta["rho"], outliers.meta["rhoerr"]
        say(f"The share of labels of a random class is {rho:.4f} ± {error:.4f}.")
    has = [name for name in ASSOCIATION_COLUMNS if name in outliers.colnames]
    rows = [
        (
            row["Source_Name"],
            row["CLASS1"],
            shown(row["P_WRONG"]),
            f"{row['PRED_CLASS']} {shown(row['P_' + row['PRED_CLASS']])}",
            " ".join(f"{n} {name}" for name, n in Counter(row["NEIGHBOUR_CLASSES"].split(", ")).most_common()),
            *(f"{row[name]:.3f}" for name in has),
        )
        for row in outliers[:_MOST_SUSPICIOUS]
    ]
    columns = ("source", "class", ">wrong", "looks like", "nearest", *(">" + name.rpartition("_")[2] for name in has))
    say(rich_table(*columns, rows=rows))
    if has:
        say("BAY, LR: the catalogue's own probabilities of the association; 0 means that it gives none.")
    say(f"All sources, the most suspicious first: {path}")


def print_labels(labels: Table, model: CatalogModel, path: Path) -> None:
    """Print numbers of labelled sources by class, and of confident labels, the class priors, and the flags."""
    learned = model.provenance
    say(f"Trained on {sum(learned.training_counts.values())} sources of {learned.origin.source}.")
    about = Labels(labels)
    counts = ((n.words, n.best, n.confident, round(n.expected), round(n.lasting)) for n in about.counts())
    confident = np.sum(np.asarray(labels["P_MAX"]) >= CONFIDENT)
    rows = [*counts, (), ("all", len(labels), confident, len(labels), round(np.sum(labels[LASTS])))]
    say(rich_table("class", ">most probable", f">P ≥ {CONFIDENT}", ">expected", ">that last", rows=rows))
    if stated := stated_priors(labels.meta):
        names = [str(name) for name in model.fitted.target.classes]
        priors = [
            (group, *(f"{given[name]:.4g}" if name in given else "" for name in names))
            for group, given in stated.items()
        ]
        say(rich_table("class priors", *(f">{name}" for name in names), rows=priors))
    for sentence in caveats(about):
        say(sentence)
    say(f"Labels: {path}", wrap=False)


def print_estimates(found: Estimates, column: str) -> None:
    """Print how good estimates of a number are, beside the mean and a forest."""
    rows = (
        (test, method, n, f"{rmse:.3g}", f"{r2:.2f} ± {error:.2f}", "" if np.isnan(inside) else f"{inside:.1%}")
        for test, method, n, rmse, r2, error, inside in found.scores.iterrows()
    )
    say(rich_table("test", "method", ">sources", ">RMSE", ">R²", ">in 90 % interval", rows=rows))
    limits = f" {found.limits} upper limits are not learned from." if found.limits else ""
    say(f"as bright: weighted by Signif_Avg like the {len(found.table)} sources without {column}.{limits}")


def print_followup(
    ranking: Table, paths: Sequence[Path] = (), *, rows: int = 10, candidates: Table | None = None
) -> None:
    """Print the number of sources left by each constraint, the first ones, and what is known of them."""
    score = ranking.meta["rankedby"]
    say(f"Sources left by each constraint: {ranking.meta['selected']}. By {score}, highest first:")
    if "excluded" in ranking.meta:
        say(ranking.meta["excluded"])
    if "expected" in ranking.meta:
        say(f"Expected among these {len(ranking)} sources: {ranking.meta['expected']} ({LASTS}).")
    score = score.removesuffix(f" * {LASTS}")
    of_class = score[2:] if score.startswith("P_") and score != "P_MAX" else ""
    is_probability = score.startswith(("P_", SUM_PREFIX))
    scores = (">P",) if is_probability else (">P", ">score")
    columns = ("source", ">RA J2000", ">Dec", "?>r95'", "?>b", "?>σ", "?class", *scores, "?>last", "?>flag", "?>since")
    first, lines = ranking[:rows], []
    for row, ra, dec in zip(first, *sexagesimal(first, short=True), strict=True):
        radius = 60.0 * row["Conf_95_SemiMajor"] if "Conf_95_SemiMajor" in ranking.colnames else np.nan
        numbers = ((radius, ".1f"), (row["GLAT"], "+.1f"), (row["Signif_Avg"], ".1f"))
        cells = [str(row["Source_Name"]), ra, dec, *(format(x, form) if np.isfinite(x) else "" for x, form in numbers)]
        cells += [of_class or str(row["PRED_CLASS"]), shown(row[score if is_probability else "P_MAX"]).replace(" ", "")]
        cells += [] if is_probability else [f"{row[score]:.3f}"]
        lines.append((*cells, f"{row[LASTS]:.2f}", row["LABEL_FLAGS"], row["FIRST_LIST"]))
    say(rich_table(*columns, rows=lines, padding=0))
    for row in first[np.asarray(first["KNOWN"]) != ""]:
        say(f"Known: {row['Source_Name']}: {row['KNOWN']}.")
    for row in first:
        if "WHY" in first.colnames and row["WHY"]:
            say(f"Why: {row['Source_Name']}: {row['WHY']}.")
        if second := second_association(row):
            say(f"Second association: {row['Source_Name']}: {second}.")
        if found := "; ".join(counterparts_of(row, candidates, most=_MOST_CANDIDATES)):
            say(f"Counterpart: {row['Source_Name']}: {found}.")
    if ranking.meta.get("past"):
        _print_past(ranking.meta["past"])
    for path in paths:
        say(f"{len(ranking)} sources: {path}", wrap=False)


def _print_past(past: Mapping[str, Mapping[str, Any]]) -> None:
    """Print what became of the pulsar candidates of earlier releases."""
    from fermiclass.analysis.facts import JUDGE

    say(f"What the same choice gave of the unassociated sources of earlier releases, and what {JUDGE} says of them:")
    columns = (">sources", "?>expected", "?>that last", ">pulsars", ">spiders", ">others", ">no class", ">gone")
    keys = ("sources", "expected", "lasting", "pulsars", "spiders", "others", "unassociated", "gone")
    rows = ((release, *map(numbers.get, keys)) for release, numbers in past.items())
    say(rich_table("release", *columns, rows=rows, padding=0))
    say(
        "expected: pulsars, by the default model trained on that release. spiders: bin, lmb, glc. A source without a "
        "class may still be a pulsar."
    )


def print_comparison(comparison: Comparison, path: Path | None) -> None:
    """Print the matches, the agreement, ranks, ROC areas, and the first disagreements."""
    moves = "MOVE" in comparison.table.colnames
    for sentence in comparison.sentences():
        say(sentence)
    if comparison.unknown:
        words = ", ".join(f"{word} ({count})" for word, count in comparison.unknown.items())
        say(f"Classes of the list that the labels do not have are left out: {words}.")
    if number := comparison.numbers["no_news"]:
        say(f"{number} bcu that the other list calls bcu or AGN, too, are left out: it says nothing new.")
    if comparison.agreement:
        classes = list(next(iter(comparison.confusion.values())))
        agreement = []
        for word, of in comparison.agreement.items():
            figures = f"{of['n']:.0f}", f"{100 * of['agree']:.0f} %", f"{of['mean_p']:.3f}"
            agreement.append((word, *figures, *comparison.confusion[word].values()))
        say(rich_table("other list", ">n", ">agree", ">mean P", *(f"?>{name}" for name in classes), rows=agreement))
        say(
            "agree: PRED_CLASS is this class. mean P: mean of our probability of it. The other columns count our "
            "PRED_CLASS."
        )
    if comparison.ranks is not None:
        say(
            f"Rank correlation of the two probabilities (Spearman): {comparison.ranks['rho']:.3f}, "
            f"{comparison.ranks['n']} sources."
        )
    if comparison.roc:
        say("How well our probabilities tell these sources from the others (area under the ROC curve, 1 is best):")
        areas = [(word, at["positive"], at["negative"], f"{at['auc']:.3f}") for word, at in comparison.roc.items()]
        say(rich_table("class", ">sources", ">others", ">area", rows=areas))
    by_class = "OTHER_CLASS" in comparison.table.colnames
    column, theirs = ("P_OTHER_CLASS", "OTHER_CLASS") if by_class else ("OTHER_P", "OTHER_NAME")
    lines = (
        (row["Source_Name"], row["PRED_CLASS"], shown(row["P_MAX"]), row[theirs], shown(row[column]))
        + ((f"{row['MOVE']:.3f}",) if moves else ())
        for row in comparison.table[comparison.disagrees][:_MOST_SUSPICIOUS]
    )
    if np.any(comparison.disagrees):
        say("The largest moves first, ½ Σ |ΔP|:" if moves else "The clearest disagreements first:")
        names = ("source", "here", ">P", "other", ">P here of other" if by_class else ">P other")
        say(rich_table(*names, *([">move"] if moves else []), rows=lines))
    if path is not None:
        say(f"{len(comparison.table)} sources: {path}", wrap=False)


def rich_table(*columns: str, rows: Iterable[Iterable[object]] = (), padding: PaddingDimensions = (0, 1)) -> RichTable:
    """Return a table of these columns and rows; an empty row is a line between others.

    A heading that begins with ``>`` is aligned to the right, over numbers that no line breaks. Columns that begin with
    ``?`` are left out, the last one first, where the terminal is too narrow. The first column, and one without a
    heading, stay as they are.
    """
    texts, console = [list(map(str, row)) for row in rows], console_for_tables()
    numbers = [name.startswith((">", "?>")) for name in columns]
    names = [name.lstrip("?>") for name in columns]
    chosen, widths, least = list(range(len(columns))), list[int](), list[int]()
    for k, name in enumerate(names):
        cells = [name, *(row[k] for row in texts if row)]
        parts = cells if k == 0 or not name else [word for cell in cells for word in cell.split()]
        widths.append(max(cell_len(line) for cell in cells for line in cell.split("\n")))
        longest = max(map(cell_len, parts + cells[1:] * numbers[k]), default=0)
        least.append(longest if numbers[k] else min(longest, _LONG))  # a longer word of a text is folded
    while True:
        table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=padding)
        for k in chosen:
            justify: JustifyMethod = "right" if numbers[k] else "left"
            table.add_column(names[k], justify=justify, overflow="fold", min_width=least[k])
        for row in texts:
            if row:
                table.add_row(*(row[k] for k in chosen))
            else:
                table.add_section()
        whole = Measurement.get(console, console.options.update(max_width=_WIDE), table).maximum
        room = console.width - whole + sum(widths[k] for k in chosen)
        optional = [k for k in chosen if columns[k].startswith("?")]
        if not optional or sum(least[k] for k in chosen) <= room:
            break
        chosen.remove(optional[-1])
    narrow = [width if number else min(width, _FOLDED) for number, width in zip(numbers, least, strict=True)]
    for floor in (least, narrow):  # the column that has most above it gives way
        while sum(widths[k] for k in chosen) > room and (most := max(widths[k] - floor[k] for k in chosen)) > 0:
            widths[next(k for k in chosen if widths[k] - floor[k] == most)] -= 1
    for column, k in zip(table.columns, chosen, strict=True):
        column.width = widths[k] if texts else None  # rows may be added to an empty one
    return table
